package consent

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/link"
	"frontdesk/core/page"
)

var placeholder = regexp.MustCompile(`\{[A-Za-z]+\}`)

// placeholders returns the placeholders of a text. A provider may begin a sentence in one language only.
func placeholders(text string) []string {
	found := placeholder.FindAllString(strings.ReplaceAll(text, "{Provider}", "{provider}"), -1)
	slices.Sort(found)
	return found
}

// Every language says everything, with the same values, and nothing of it in English.
func TestEveryLanguageHasAllWords(t *testing.T) {
	all, err := readWords()
	if err != nil {
		t.Fatal(err)
	}
	english := all[language.English]
	keys := []string{"defect"}
	for reason := range byReason {
		keys = append(keys, reason)
	}
	for code := range byCode {
		keys = append(keys, string(code))
	}
	slices.Sort(keys)
	for lang, w := range all {
		if got := slices.Sorted(maps.Keys(w.Failures)); !slices.Equal(got, keys) {
			t.Errorf("%s: the failures are %v, want %v", lang, got, keys)
		}
		if got, want := slices.Sorted(maps.Keys(w.Pages)), slices.Sorted(maps.Keys(english.Pages)); !slices.Equal(got, want) {
			t.Errorf("%s: the texts are %v, want %v", lang, got, want)
		}
		for key, text := range w.Pages {
			if !slices.Equal(placeholders(text), placeholders(english.Pages[key])) || text == "" ||
				lang != language.English && text == english.Pages[key] {
				t.Errorf("%s: %s is %q", lang, key, text)
			}
		}
		for key, says := range w.Failures {
			for i, text := range says {
				if text == "" || lang != language.English && text == english.Failures[key][i] ||
					slices.ContainsFunc(placeholders(text), func(p string) bool { return p != "{provider}" }) {
					t.Errorf("%s: %s says %q", lang, key, text)
				}
			}
		}
		if !slices.Equal(placeholders(w.Until), []string{"{day}", "{month}", "{time}", "{year}"}) ||
			slices.Contains(w.Months[:], "") {
			t.Errorf("%s: a moment is %q, and the months are %v", lang, w.Until, w.Months)
		}
		for _, scope := range describedScopes(t) {
			if text := w.Allows[scope]; (text == "") != (lang == language.English) || text == scope {
				t.Errorf("%s: %q is %q", lang, scope, text)
			}
		}
	}
	at := time.Date(2026, 3, 1, 9, 5, 0, 0, time.FixedZone("", 3600))
	for lang, want := range map[string]string{
		"en": "1 March 2026, 08:05 UTC", "de": "1. März 2026, 08:05 Uhr UTC", "es": "1 de marzo de 2026, 08:05 UTC",
		"fr": "1 mars 2026 à 08:05 UTC",
	} {
		if got := all[lang].Moment(at); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}

// describedScopes returns the descriptions of scopes that adapters declare, from their source.
func describedScopes(t *testing.T) (texts []string) {
	t.Helper()
	err := filepath.WalkDir("../../adapters", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Words" {
					texts = append(texts, constant(t, pair.Value))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || len(texts) < 8 {
		t.Fatalf("the scopes are described as %q, %v", texts, err)
	}
	return texts
}

func constant(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	case *ast.BinaryExpr:
		return constant(t, e.X) + constant(t, e.Y)
	}
	t.Fatalf("a description is a %T", e)
	return ""
}

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="24"><script>alert(1)</script><circle r="9"/></svg>`

func branded(t *testing.T, root string) page.Brand {
	t.Helper()
	file := filepath.Join(t.TempDir(), "logo")
	if err := os.WriteFile(file, []byte(svg), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := page.NewBrand(`Bücher & <Söhne>`, "+49 30 1234-5", file, root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Pages are in the language that the browser asks for, with the operator's name, logo and support.
func TestPagesAreInTheVisitorsLanguage(t *testing.T) {
	d := &still{}
	handler := surface(t, "https://gw.example/fd", d, slog.New(slog.DiscardHandler), branded(t, "/fd"))
	get := func(path, accept string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", accept)
		handler.ServeHTTP(w, r)
		return w
	}
	for accept, want := range map[string]struct{ lang, connect, wrong, questions string }{
		"":                                  {"en", "Connect Meet", "This link has expired", "Questions?"},
		"de-AT,de;q=0.9,en":                 {"de", "Meet verbinden", "Dieser Link ist abgelaufen", "Fragen?"},
		"es-419":                            {"es", "Conectar Meet", "Este enlace ha caducado", "¿Tiene preguntas?"},
		"pt;q=0.9, fr-CA;q=0.5":             {"fr", "Connecter Meet", "Ce lien a expiré", "Des questions\u202f?"},
		strings.Repeat("de,", 40000) + "de": {"en", "Connect Meet", "This link has expired", "Questions?"},
		"<script>":                          {"en", "Connect Meet", "This link has expired", "Questions?"},
	} {
		d.err = nil
		asked := get("/connect/t", accept)
		d.err = fault.New(fault.NotFound, link.ReasonExpired, "It has expired.")
		wrong := get("/connect/t", accept)
		for heading, w := range map[string]*httptest.ResponseRecorder{want.connect: asked, want.wrong: wrong} {
			body := w.Body.String()
			for _, text := range []string{
				`<html lang="` + want.lang + `">`, "<h1>" + heading + "</h1>",
				"<title>" + heading + " – Bücher &amp; &lt;Söhne&gt;</title>", want.questions,
				`<a href="tel:&#43;493012345">`, `alt="Bücher &amp; &lt;Söhne&gt;"`, `src="/fd/brand/`,
			} {
				if !strings.Contains(body, text) {
					t.Errorf("%.20q: %s lacks %s in\n%s", accept, heading, text, body)
				}
			}
			if w.Header().Get("Content-Language") != want.lang || w.Header().Get("Vary") != "Accept-Language" ||
				!strings.HasSuffix(w.Header().Get("Content-Security-Policy"), "; img-src 'self'") {
				t.Errorf("%.20q: the headers are %v", accept, w.Header())
			}
		}
	}
	logo := regexp.MustCompile(`src="/fd(/brand/[0-9a-f]{16}\.svg)"`).FindStringSubmatch(get("/connect/t", "").Body.String())
	if logo == nil {
		t.Fatal("there is no logo")
	}
	w := get(logo[1], "")
	if w.Code != http.StatusOK || w.Body.String() != svg || w.Header().Get("Content-Type") != "image/svg+xml" ||
		!strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
		!strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("the logo is %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := get("/brand/other.svg", ""); w.Code != http.StatusNotFound {
		t.Errorf("another logo is %d", w.Code)
	}
}

func TestALogoIsAnImageOfReasonableSize(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{
		"\x89PNG\r\n\x1a\n....":                    ".png",
		"\xff\xd8\xff\xe0....":                     ".jpg",
		"RIFF\x00\x00\x00\x00WEBPVP8 ":             ".webp",
		"\xef\xbb\xbf <?xml version='1.0'?><svg/>": ".svg",
		"":                             "",
		"<html><svg/></html>":          "",
		"<?xml version='1.0'?><html/>": "",
		"GIF89a":                       "",
		"<svg>" + strings.Repeat(" ", 256<<10) + "x": "",
	} {
		file := filepath.Join(dir, "logo")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := page.NewBrand("Office", "", file, "")
		if want == "" && (err == nil || !strings.Contains(err.Error(), file)) ||
			want != "" && !strings.HasSuffix(b.LogoURL, want) {
			t.Errorf("%.20q: %q, %v", content, b.LogoURL, err)
		}
	}
	if _, err := page.NewBrand("Office", "", filepath.Join(dir, "none"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := page.NewBrand("", "", filepath.Join(dir, "logo"), ""); err == nil {
		t.Error("a logo needs no name")
	}
	for support, want := range map[string]page.Contact{
		"": {}, "help@example.com": {URL: "mailto:help@example.com", Text: "help@example.com"},
		"https://example.com/help/": {URL: "https://example.com/help/", Text: "example.com/help"},
		"(030) 12 34-5":             {URL: "tel:03012345", Text: "(030) 12 34-5"},
		"+49 (0)30 1234":            {URL: "tel:+49301234", Text: "+49 (0)30 1234"},
	} {
		if b, err := page.NewBrand("", support, "", ""); err != nil || b.Support != want {
			t.Errorf("%q: %+v, %v", support, b.Support, err)
		}
	}
}
