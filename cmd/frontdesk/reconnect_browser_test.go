package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/core/page/browsertest"
)

// A connection breaks, the platform is told, the settings page shows it, and its button leads through the
// provider's consent until it works again; at Google and at Microsoft.
func TestABrokenConnectionIsReconnectedInTheBrowser(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	b.Look(1280, 900, "light")
	google, microsoft := fakeGoogle(t), fakeMicrosoft(t)
	microsoft.title = "Microsoft 365 and Outlook.com"
	events := newPlatform(t)
	d := newDeployment(t, "", append(append(google.environ, microsoft.environ...),
		"FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
	d.must("tenant", "create", "acme")
	events.use(strings.TrimSpace(d.must("webhook", "add", "--tenant", "acme", "--url", events.URL)))
	r := d.servePublicly()
	b.Open(d.must("admin", "link", "--person", "pat"))
	b.Press("Sign in")
	shows := func(selector, text string) {
		t.Helper()
		if got := b.Text(selector); !strings.Contains(got, text) {
			t.Fatalf("%s of the page %q lacks %q: %s", selector, b.Text("h1"), text, b.Text("main"))
		}
	}
	consent := func(heading string, p *fakeProvider, button string) {
		t.Helper()
		shows("h1", heading+" "+p.title)
		b.Press("Continue to " + p.title)
		shows("h1", "Sign in")
		b.Loading(func() { b.Eval(`document.querySelector('button[name=`+button+`]').click()`, nil) })
	}

	told := ""
	for _, p := range []*fakeProvider{google, microsoft} {
		// The link that the page makes leads a customer to the provider.
		b.Open(r.api + "/settings/tenants/acme/add-connection")
		b.Press(p.title)
		b.Press("Make a link to send")
		b.Open(b.Text(".secret"))
		consent("Connect", p, "approve")
		shows("h1", p.title+" is connected")
		told = strings.TrimSpace(told + " connection.connected")
		events.wait(t, told)

		agent := r.as(d.must("key", "create", "--tenant", "acme", "--connection", p.name))
		agent.post(http.StatusOK, "calendar/list-calendars", "{}")
		p.revoke()
		if got := agent.post(http.StatusBadRequest, "calendar/list-calendars",
			"{}"); got.reason() != "RECONNECT_REQUIRED" {
			t.Fatalf("after the access was withdrawn: %s", got.body)
		}
		told += " connection.reconnect_required"
		events.wait(t, told)

		b.Open(r.api + "/settings")
		shows(".attention", p.name+" of acme ("+p.name+"): needs reconnecting")
		b.Press(p.name)
		shows("h1", "Connection "+p.name)
		for deadline := time.Now().Add(patience); !strings.Contains(b.Text("dl"), "since"); { // the log is written
			if time.Now().After(deadline) {
				t.Fatalf("since when is not told: %s", b.Text("dl"))
			}
			time.Sleep(20 * time.Millisecond)
			b.Open(r.api + "/settings/tenants/acme/connections/" + p.name)
		}
		shows(".badge", "It needs reconnecting")
		shows("dl", "must connect it again")
		b.Press("Reconnect")
		consent("Reconnect", p, "deny")
		shows("h1", "You declined")
		b.Loading(func() {
			b.Call("Page.navigate", map[string]any{"url": r.api + "/settings/tenants/acme/connections/" + p.name}, nil)
		})
		b.Press("Reconnect")
		consent("Reconnect", p, "approve")
		shows("h1", "Connection "+p.name) // the way back
		if got := b.Text("dl"); strings.Contains(got, "fails") || strings.Contains(got, "needs") {
			t.Errorf("after the consent: %s", got)
		}
		b.Press("Verify now")
		shows(".notice", "The connection works.")
		told += " connection.recovered"
		events.wait(t, told)
		agent.post(http.StatusOK, "calendar/list-calendars", "{}")
		b.Open(r.api + "/settings")
		shows("main", "no connection waits for a person")
	}
}
