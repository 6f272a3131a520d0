// Package page renders the HTML pages that the gateway serves to people. The templates belong to the packages
// that serve the pages, and share one style sheet:
//
//	pages, err := page.Parse(files, "pages/*.html")
//	html, err := pages.Render("problem.html", view)
//	w.Header().Set("Content-Security-Policy", pages.Policy())
//
// A template puts {{.Style}} into its one style element and takes everything else from .View. A page works
// without script and loads nothing from elsewhere: the policy allows only the style, by its hash, and the
// given addresses that a form may lead to.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io/fs"
	"strings"
)

//go:embed style.css
var style string

//go:embed support.html
var shared embed.FS

// Set holds the parsed templates of one package's pages.
type Set struct{ templates *template.Template }

// Parse reads the templates whose names match the pattern. The template "support" is there already: the line
// that says whom to ask, for a view with a Brand and Words.
func Parse(files fs.FS, pattern string) (*Set, error) {
	templates, err := template.ParseFS(shared, "*.html")
	if err == nil {
		templates, err = templates.ParseFS(files, pattern)
	}
	if err != nil {
		return nil, err
	}
	return &Set{templates: templates}, nil
}

// Render executes the template with that name and returns the page.
func (s *Set) Render(name string, view any) ([]byte, error) {
	var b bytes.Buffer
	err := s.templates.ExecuteTemplate(&b, name, struct {
		Style template.CSS
		View  any
	}{template.CSS(style), view})
	return b.Bytes(), err
}

// Policy returns the Content-Security-Policy of a page whose form may lead to these sources. Without sources,
// the page may have no form.
func (s *Set) Policy(forms ...string) string {
	sum := sha256.Sum256([]byte(style))
	if len(forms) == 0 {
		forms = []string{"'none'"}
	}
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action " + strings.Join(forms, " ") + "; frame-ancestors 'none'"
}
