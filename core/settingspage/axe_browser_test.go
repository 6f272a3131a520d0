package settingspage_test

import (
	"net/http"
	"strings"
	"testing"

	"frontdesk/core/apikey"
	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// pages returns the path of each page that can be opened: for somebody who is not signed in, or who is. Only
// the provider leads to the page of a finished sign-in.
func (w *world) pages(signedIn bool, tenant, connection, key, request string) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, r := range routes(w.t) {
		before := strings.Contains(r.Path, "/sign-in") || strings.Contains(r.Path, "/signed-in")
		if r.Method != http.MethodGet || before == signedIn || strings.Contains(r.Path, "/oidc") ||
			r.Operation == above {
			continue
		}
		all[r.Path] = w.at(strings.ReplaceAll(r.Path, "{request}", request), tenant, connection, key)
	}
	return all
}

// No page for whoever is not signed in has a barrier that axe-core knows, in light and in dark, and Tab leads
// through each; nor have the answers to a form that is filled in wrongly, or that is not allowed, such a barrier.
// TestEveryPageCanBeReadAndUsed has the others.
func TestNoPageHasABarrier(t *testing.T) {
	t.Parallel()
	auditor := browsertest.NewAuditor(t)
	w := start(t, sqlite(t))
	key := w.tenant("acme")
	request := w.busy("acme")
	p := person{w, browsertest.Start(t)}
	for name, path := range w.pages(false, "acme", "acme", key, request) {
		p.b.Open(w.url + path)
		auditor.Check(p.b, name)
		p.walk(name)
	}
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat@example.com"}))
	auditor.Check(p.b, "a link that works")
	p.walk("a link that works")
	p.press("Sign in")
	p.b.Open(w.url + "/settings")
	p.fill("Name of a new tenant", "Not Good")
	p.press("Create the tenant")
	auditor.Check(p.b, "a form with faults")
	p.b.Open(w.url + "/settings/tenants/acme/connections/acme")
	p.press("Verify now")
	auditor.Check(p.b, "a notice")
	p.b.Open(w.url + "/settings/tenants/acme/keys")
	p.press("Create the key")
	auditor.Check(p.b, "the new key")
	p.b.Open(w.url + "/settings/tenants/nobody")
	auditor.Check(p.b, "nothing there")
	p.b.Open(w.url + w.link(signin.NewLink{Role: apikey.RoleViewer}))
	p.press("Sign in")
	p.b.Open(w.url + "/settings/tenants/acme")
	auditor.Check(p.b, "what a viewer may not change")
}
