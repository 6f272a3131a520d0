package settingspage_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontdesk/config"
	"frontdesk/core/apikey"
	"frontdesk/core/language"
	"frontdesk/core/settingspage"
	"frontdesk/core/signin"
)

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// Every language says everything, with the same values, and nothing of it in English.
func TestEveryLanguageHasAllWords(t *testing.T) {
	t.Parallel()
	type says struct {
		Pages    map[string]string
		Failures map[string][2]string
	}
	all := map[string]says{}
	for _, lang := range language.All() {
		text, err := os.ReadFile("words/" + lang + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var s says
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		all[lang] = s
	}
	english := all[language.English].Pages
	failures := []string{"FOREIGN_REQUEST", "HOST_REFUSED", "HTTPS_REQUIRED", signin.ReasonNotAllowed,
		signin.ReasonProvider, signin.ReasonDeclined, signin.ReasonNotBegun, signin.ReasonLinkUnusable,
		"SIGN_IN_THROTTLED", "internal", "invalid", "not_found", "unavailable"}
	delete(all, language.English)
	for lang, s := range all {
		if got := slices.Sorted(maps.Keys(s.Failures)); !slices.Equal(got, failures) {
			t.Errorf("%s: the failures are %v, want %v", lang, got, failures)
		}
		got, want := slices.Sorted(maps.Keys(s.Pages)), slices.Sorted(maps.Keys(english))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the texts are %v, want %v", lang, got, want)
		}
		for key, text := range s.Pages {
			got, want := placeholder.FindAllString(text, -1), placeholder.FindAllString(english[key], -1)
			if !slices.Equal(got, want) || text == "" || text == english[key] {
				t.Errorf("%s: %s is %q", lang, key, text)
			}
		}
		for key, text := range s.Failures {
			if text[0] == "" || text[1] == "" {
				t.Errorf("%s: %s is %q", lang, key, text)
			}
		}
	}
}

// Who is not signed in is spoken to in the browser's language, and sees the operator's name, logo and
// support.
func TestTheSignInPageIsInTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	logo := filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(logo, []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, sqlite(t), func(c *config.Config) {
		c.Pages.Name, c.Pages.Support, c.Pages.Logo = "Bücher & <Söhne>", "help@office.example", logo
	})
	w.tenant("acme")
	link := w.link(signin.NewLink{Tenant: "acme", Role: apikey.RoleViewer, Person: "pat"})
	for accept, want := range map[string]struct{ lang, title, link, as, wrong, questions string }{
		"": {"en", "Sign in", "Sign in to Bücher", "viewer of the tenant", "There is nothing here", "Questions?"},
		"de-AT,de;q=0.9,en": {"de", "Anmelden", "Bei Bücher", "können den Mandanten",
			"Dieser Link funktioniert nicht", "Fragen?"},
		"es-419": {"es", "Iniciar sesión", "Iniciar sesión en Bücher", "puede ver el cliente",
			"Este enlace no funciona", "¿Tiene preguntas?"},
		"pt;q=0.9, fr-CA;q=0.5": {"fr", "Se connecter", "Se connecter à Bücher", "pouvez voir le client",
			"Ce lien ne fonctionne pas", "Des questions\u202f?"},
	} {
		b := w.browser()
		b.header.Set("Accept-Language", accept)
		for _, c := range []struct{ path, heading, says string }{
			{settingspage.Root + "/sign-in", want.title, "frontdesk admin link"},
			{link, want.link, want.as},
			{settingspage.Root + "/sign-in/fds_none", want.wrong, signin.ReasonLinkUnusable},
		} {
			p := b.get(c.path)
			for _, text := range []string{`<html lang="` + want.lang + `">`, "<h1>" + c.heading, c.says,
				want.questions,
				" – Bücher &amp; &lt;Söhne&gt;</title>", `<a href="mailto:help@office.example">`,
				`src="/brand/`, `alt="Bücher &amp; &lt;Söhne&gt;"`} {
				if !strings.Contains(p.body, text) {
					t.Errorf("%q: %s lacks %s in\n%s", accept, c.path, text, p.body)
				}
			}
			if p.header.Get("Content-Language") != want.lang || strings.ContainsAny(withoutStyle(p.body), "{}") ||
				!strings.HasSuffix(p.header.Get("Content-Security-Policy"), "; img-src 'self'") {
				t.Errorf("%q: %s: %v\n%s", accept, c.path, p.header, p.body)
			}
		}
	}
	src := regexp.MustCompile(`src="(/brand/[^"]+)"`).FindStringSubmatch(w.browser().get(link).body)
	if src == nil || w.browser().get(src[1]).status != http.StatusOK {
		t.Errorf("there is no logo at %q", src)
	}
}

func withoutStyle(body string) string {
	return regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(body, "")
}

// Particulars for the operator stay in the words that the fault has. The pages behind the sign-in are
// English.
func TestParticularsAndOtherPagesAreEnglish(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	stranger := &browser{w, "", http.Header{"Host": {"attacker.example"}, "Accept-Language": {"de"}}}
	if p := stranger.get(settingspage.Root); !strings.Contains(p.body, "nicht die des Gateways") ||
		!strings.Contains(p.body, `lang="en">The settings page is served at `+w.url) {
		t.Error(p.body)
	}
	b := w.signedIn(signin.NewLink{})
	b.header.Set("Accept-Language", "de")
	if p := b.get(settingspage.Root); !strings.Contains(p.body, `<html lang="en">`) ||
		!strings.Contains(p.body, "Skip to the content") || strings.Contains(p.body, "Questions?") {
		t.Error(p.body)
	}
}
