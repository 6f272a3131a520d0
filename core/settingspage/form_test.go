package settingspage_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/signin"
)

// A form that is refused opens at what is wrong with it, and not at a beginning that looks as if it was saved: at the
// first wrong field, or at the faults that belong to no field (WCAG 2.2, technique G199; 3.3.1).
func TestARefusedFormOpensAtItsFirstFault(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	focus := regexp.MustCompile(`(?:id="([^"]+)"|role="(alert)")[^>]* autofocus`)
	const at = "/settings/tenants/acme"
	settings := url.Values{"settings.max_phone_numbers": {"ten"}, "settings.timezone": {"Mars"}}
	dates := url.Values{"dates": {"Easter"}, "duration_minutes": {"long"}}
	for path, c := range map[string]struct {
		form url.Values
		want string
	}{
		"/settings/tenants":                        {url.Values{"name": {"acme"}}, "name"},
		at:                                         {settings, "settings.timezone"},
		at + "/delete":                             {url.Values{"name": {"other"}}, "name"},
		at + "/opening-hours":                      {dates, "dates"},
		at + "/add-connection/calendar/sandbox":    {url.Values{"settings.latency": {"long"}}, "settings.latency"},
		at + "/connections/acme":                   {url.Values{"settings.latency": {"long"}}, "settings.latency"},
		at + "/keys":                               {url.Values{"label": {"agent"}}, "alert"},
		at + "/webhooks":                           {url.Values{"url": {"nowhere"}}, "url"},
		at + "/connections/acme/opening-hours":     {url.Values{"monday": {"noon"}, "dates": {"Easter"}}, "monday"},
		at + "/opening-hours/preview":              {url.Values{"booking_window_days": {"far"}}, "booking_window_days"},
		"/settings/admin-keys":                     {url.Values{"role": {"viewer"}, "tenant": {"nobody"}}, "tenant"},
		at + "/add-connection/crm/rest/servicenow": {url.Values{"name": {"Not Good"}}, "name"},
	} {
		p := b.post(path, c.form)
		var got []string
		for _, found := range focus.FindAllStringSubmatch(p.body, -1) {
			got = append(got, found[1]+found[2])
		}
		if p.status != http.StatusUnprocessableEntity || !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %d opens at %q, want %q", path, p.status, got, c.want)
		}
		if shown := b.get(path); regexp.MustCompile(` (autofocus|aria-invalid=)`).MatchString(shown.body) {
			t.Errorf("%s opens in its middle before anything is wrong", path)
		}
	}
}

// Some refusals name no field, such as that of a name that is taken. The page of the form tells them all the same.
func TestARefusalThatNamesNoFieldIsTold(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	const at = "/settings/tenants/acme"
	form := url.Values{"name": {"reception"}, "platform": {"tools"}, "scopes": {"calendar:read"}}
	if p := b.post(at+"/agents", form); p.status != http.StatusSeeOther {
		t.Fatalf("the first agent: %d %s", p.status, p.body)
	}
	form.Set("platform", "vapi")
	told := regexp.MustCompile(`role="alert" tabindex="-1" autofocus>\s*<ul>\s*<li>The[^<]* already [^<]*</li>`)
	for path, taken := range map[string]string{"/agents": "reception", "/add-connection/calendar/sandbox": "acme"} {
		form.Set("name", taken)
		if p := b.post(at+path, form); p.status != http.StatusUnprocessableEntity || !told.MatchString(p.body) {
			t.Errorf("%s: %d, and nothing tells what is wrong", path, p.status)
		}
	}
}

func TestATenantIsFoundHoweverItsNameIsTyped(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	w.tenant("zebra")
	for typed, found := range map[string]bool{"acm": true, "Acme": true, " ACME ": true, "acme2": false} {
		p := w.signedIn(signin.NewLink{}).get("/settings?search=" + url.QueryEscape(typed))
		if strings.Contains(p.body, "tenants/acme/keys") != found || strings.Contains(p.body, "tenants/zebra/keys") {
			t.Errorf("%q finds %s", typed, p.body)
		}
	}
}

// Whoever sends a form after the session has ended learns that it changed nothing, in the browser's language.
func TestAFormAfterTheSessionTellsThatNothingWasChanged(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	w.advance(31 * time.Minute)
	for lang, says := range map[string]string{
		"en": "Your session had ended, so nothing was changed.",
		"de": "Ihre Sitzung war beendet, deshalb wurde nichts geändert.",
		"es": "Su sesión había terminado, así que no se ha cambiado nada.",
		"fr": "Votre session était terminée : rien n’a donc été modifié.",
	} {
		b.header.Set("Accept-Language", lang)
		sent := b.post("/settings/tenants/acme", url.Values{"settings.timezone": {"Europe/Paris"}})
		if p := b.get(sent.to); !strings.Contains(p.body, says) {
			t.Errorf("%s: %d to %q: %s", lang, sent.status, sent.to, p.body)
		}
		if p := b.get(b.get("/settings").to); strings.Contains(p.body, says) {
			t.Errorf("%s: who sent no form is told of one: %s", lang, p.body)
		}
	}
	if p := b.post("/settings/sign-out", nil); p.to != "/settings/sign-in" {
		t.Errorf("who signs out twice, or after the session, is to do it again: %s", p.to)
	}
}

// A refused form is shown at the address that it was sent to. Opening that address again, by Enter in the address bar,
// shows the page of the form.
func TestTheAddressOfAFormLeadsToItsPage(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	const at = "/settings/tenants/acme"
	for path, want := range map[string]string{
		"/settings/tenants": "/settings", at + "/opening-hours/preview": at + "/opening-hours",
		at + "/connections/acme/verify":               at + "/connections/acme",
		at + "/phone-numbers/adopt":                   at + "/phone-numbers",
		at + "/add-connection/calendar/google/link":   at + "/add-connection/calendar/google",
		at + "/webhooks/wh_1/deliveries/evt_1/resend": at + "/webhooks/wh_1",
		"/settings/sign-out":                          "/settings", "/settings/oidc": "/settings",
	} {
		if p := b.get(path); p.status != http.StatusSeeOther || p.to != want {
			t.Errorf("%s: %d to %q, want %q", path, p.status, p.to, want)
		}
	}
}
