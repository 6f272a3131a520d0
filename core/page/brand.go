package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"
)

// Brand is whose pages customers see: those of the operator. The zero value is nobody's.
type Brand struct {
	Name    string
	Support Contact
	LogoURL string // the path of the logo; "": there is none

	logo     []byte
	logoType string
}

// Contact is whom customers ask. The zero value is nobody.
type Contact struct {
	URL  template.URL // of the scheme mailto, tel or https
	Text string       // as people write it
}

// BrandPath is the path below which the logo is served, for api.Page.
const BrandPath = "/brand/"

const maxLogoBytes = 256 << 10

// NewBrand returns the brand of an operator. The support is an e-mail address, a telephone number or an https
// URL, or empty. The logo is a file with a PNG, JPEG, WebP or SVG image, or empty. The root is the path of the
// gateway's public URL.
func NewBrand(name, support, logoFile, root string) (Brand, error) {
	b := Brand{Name: name, Support: contactOf(support)}
	if logoFile == "" {
		return b, nil
	}
	if name == "" {
		return b, errors.New("needs a name, for people who do not see the image")
	}
	file, err := os.Open(logoFile)
	if err != nil {
		return b, err // which names the file
	}
	defer file.Close()
	if b.logo, err = io.ReadAll(io.LimitReader(file, maxLogoBytes+1)); err != nil {
		return b, fmt.Errorf("%s cannot be read: %w", logoFile, err)
	}
	if len(b.logo) > maxLogoBytes {
		return b, fmt.Errorf("%s is larger than %d KiB", logoFile, maxLogoBytes>>10)
	}
	mediaType, extension := imageType(b.logo)
	if b.logoType = mediaType; mediaType == "" {
		return b, fmt.Errorf("%s must be a PNG, JPEG, WebP or SVG image", logoFile)
	}
	sum := sha256.Sum256(b.logo)
	b.LogoURL = root + BrandPath + hex.EncodeToString(sum[:8]) + extension
	return b, nil
}

// imageType returns the media type of an image and the extension of its file's name; "": it is none of those.
func imageType(image []byte) (mediaType, extension string) {
	switch {
	case bytes.HasPrefix(image, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png", ".png"
	case bytes.HasPrefix(image, []byte("\xff\xd8\xff")):
		return "image/jpeg", ".jpg"
	case len(image) > 12 && string(image[:4]) == "RIFF" && string(image[8:12]) == "WEBP":
		return "image/webp", ".webp"
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(image, []byte("\xef\xbb\xbf")))
	for _, begins := range []string{"<?xml", "<!--", "<!DOCTYPE svg", "<svg"} {
		if bytes.HasPrefix(text, []byte(begins)) && bytes.Contains(text, []byte("<svg")) {
			return "image/svg+xml", ".svg"
		}
	}
	return "", ""
}

func contactOf(support string) Contact {
	switch {
	case support == "":
		return Contact{}
	case strings.HasPrefix(support, "https://"):
		return Contact{template.URL(support), strings.TrimSuffix(strings.TrimPrefix(support, "https://"), "/")}
	case strings.Contains(support, "@"):
		return Contact{template.URL("mailto:" + support), support}
	}
	dialled := support
	if strings.HasPrefix(support, "+") {
		dialled = strings.Replace(support, "(0)", "", 1) // is dialled inside the country only
	}
	number := strings.Map(func(r rune) rune {
		if r == '+' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, dialled)
	return Contact{template.URL("tel:" + number), support}
}

// Policy completes a policy of [Set.Policy] for a page that shows the brand.
func (b Brand) Policy(of string) string {
	if b.LogoURL == "" {
		return of
	}
	return of + "; img-src 'self'"
}

// Logo returns the logo and its media type. An SVG image must be served so that it can run no script.
func (b Brand) Logo() (image []byte, mediaType string) { return b.logo, b.logoType }
