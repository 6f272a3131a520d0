package main

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	freshdeskfake "frontdesk/adapters/crm/freshdesk/fake"
	hubspotfake "frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/adapters/crm/rest/servertest"
	salesforcefake "frontdesk/adapters/crm/salesforce/fake"
	zendeskfake "frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/oauth/oauthtest"
)

// crmAccounts opens an account at each fake ticket system, and returns a function that connects it.
func crmAccounts() map[string]func(t *testing.T) (p *fakeProvider, connect func(d *deployment, r *running)) {
	clients := oauthtest.Options{Clients: map[string]string{"desk": "desk-secret"}}
	return map[string]func(t *testing.T) (*fakeProvider, func(d *deployment, r *running)){
		"salesforce by consent": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := &fakeProvider{name: "salesforce", title: "Salesforce"}
			base := p.serve(t, func(string) http.Handler {
				fake := salesforcefake.New(salesforcefake.Options{Accounts: []string{customer}, OAuth: clients})
				p.oauth, p.revoke = fake.OAuth, fake.Revoke
				return fake
			})
			p.environ = []string{
				"FRONTDESK_PROVIDERS__SALESFORCE__CLIENT_ID=desk",
				"FRONTDESK_PROVIDERS__SALESFORCE__CLIENT_SECRET=desk-secret",
				"FRONTDESK_PROVIDERS__SALESFORCE__LOGIN_URL=" + base,
			}
			return p, func(d *deployment, r *running) { p.connect(d, r) }
		},
		"salesforce by a certificate": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := &fakeProvider{name: "salesforce", title: "Salesforce"}
			base := p.serve(t, func(string) http.Handler {
				return salesforcefake.New(salesforcefake.Options{
					Accounts: []string{customer}, Certificates: map[string]*rsa.PublicKey{"app": &robotKey().PublicKey},
					OAuth: oauthtest.Options{Clients: map[string]string{"app": "unused"}},
				})
			})
			p.environ = []string{
				"FRONTDESK_PROVIDERS__SALESFORCE__LOGIN_URL=" + base,
				"PRIVATE_KEY=" + string(pem.EncodeToMemory(&pem.Block{
					Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(robotKey()),
				})),
			}
			return p, func(d *deployment, _ *running) {
				d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "salesforce", "--set",
					"flow=jwt_bearer",
					"--set", "client_id=app", "--set", "username="+customer, "--secret", "private_key=env:PRIVATE_KEY")
			}
		},
		"salesforce by an app of one's own": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := &fakeProvider{name: "salesforce", title: "Salesforce"}
			base := p.serve(t, func(string) http.Handler {
				return salesforcefake.New(salesforcefake.Options{
					Accounts: []string{customer},
					OAuth:    oauthtest.Options{Clients: map[string]string{"app": "desk-secret-token"}},
				})
			})
			return p, func(d *deployment, _ *running) {
				d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "salesforce", "--set",
					"flow=client_credentials",
					"--set", "client_id=app", "--set", "base_url="+base, "--secret", "client_secret=env:ACCESS_TOKEN")
			}
		},
		"hubspot by consent": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := fakeHubSpot(t, hubspotfake.Options{OAuth: clients})
			return p, func(d *deployment, r *running) { p.connect(d, r) }
		},
		"hubspot by a private app": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := fakeHubSpot(t, hubspotfake.Options{Tokens: map[string][]string{"desk-secret-token": nil}})
			return p, func(d *deployment, _ *running) {
				d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "hubspot", "--secret",
					"access_token=env:ACCESS_TOKEN")
			}
		},
		"zendesk by consent": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := &fakeProvider{name: "zendesk", title: "Zendesk"}
			base := p.serve(t, func(string) http.Handler {
				fake := zendeskfake.New(zendeskfake.Options{Email: customer, OAuth: clients})
				p.oauth, p.revoke = fake.OAuth, fake.Revoke
				return fake
			})
			p.environ = []string{
				"FRONTDESK_PROVIDERS__ZENDESK__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__ZENDESK__CLIENT_SECRET=desk-secret",
				"FRONTDESK_PROVIDERS__ZENDESK__BASE_URL=" + base,
			}
			return p, func(d *deployment, r *running) { p.connect(d, r, "--set", "base_url="+base) }
		},
		"Request Tracker by settings": requestTracker,
		"freshdesk by a key": func(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
			p := &fakeProvider{name: "freshdesk", title: "Freshdesk"}
			base := p.serve(t, func(string) http.Handler {
				return freshdeskfake.New(freshdeskfake.Options{APIKey: "desk-secret-token"})
			})
			return p, func(d *deployment, _ *running) {
				d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "freshdesk",
					"--set", "base_url="+base, "--set", "requester_email=calls@example.com", "--secret",
					"api_key=env:ACCESS_TOKEN")
			}
		},
	}
}

func fakeHubSpot(t *testing.T, o hubspotfake.Options) *fakeProvider {
	p := &fakeProvider{name: "hubspot", title: "HubSpot"}
	base := p.serve(t, func(string) http.Handler {
		fake := hubspotfake.New(o)
		p.oauth, p.revoke = fake.OAuth, fake.Revoke
		return fake
	})
	p.environ = []string{
		"FRONTDESK_PROVIDERS__HUBSPOT__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__HUBSPOT__CLIENT_SECRET=desk-secret",
		"FRONTDESK_PROVIDERS__HUBSPOT__AUTH_URL=" + base + hubspotfake.AuthorizePath,
		"FRONTDESK_PROVIDERS__HUBSPOT__TOKEN_URL=" + base + hubspotfake.TokenPath,
		"FRONTDESK_PROVIDERS__HUBSPOT__API_URL=" + base,
	}
	return p
}

// requestTracker returns a real Request Tracker, connected only by settings.
func requestTracker(t *testing.T) (*fakeProvider, func(*deployment, *running)) {
	server := servertest.RequestTracker(t)
	example, err := os.ReadFile("../../adapters/crm/rest/examples/request-tracker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	text := strings.Replace(string(example), "https://rt.acme.example", server.URL, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &fakeProvider{
		name: "helpdesk", environ: []string{"RT_USERNAME=" + server.User, "RT_PASSWORD=" + server.Password},
	}
	return p, func(d *deployment, _ *running) { d.must("apply", "-f", file) }
}

// One script for every ticket system: opened tickets are fetched by the number as a caller says it, with the
// same responses.
func TestTicketsOfEveryCRM(t *testing.T) {
	t.Parallel()
	for name, start := range crmAccounts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, connect := start(t)
			d := newDeployment(t, "", slices.Concat(p.environ, longDeadlines(), []string{
				"ACCESS_TOKEN=desk-secret-token", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
			})...)
			d.must("tenant", "create", "acme")
			r := d.servePublicly()
			connect(d, r)
			ticketScript(t, r, d.must("key", "create", "--tenant", "acme"))
			// Request Tracker's verification reads a ticket, which exists by now.
			d.must("connection", "verify", "--tenant", "acme", p.name)
			if log := r.log(); strings.Contains(log, "desk-secret") {
				t.Errorf("a secret is in the log:\n%s", log)
			}
		})
	}
}

func ticketScript(t *testing.T, r *running, key string) {
	t.Helper()
	c := r.as(key)
	const body = `{"subject": "Broken door handle", "description": "The front door.\nSince Monday.", "priority": "high"}`
	made := c.post(200, "tickets/create-ticket", body, "Idempotency-Key: call-1")
	number := made.text("ticket", "ticket_number")
	if number == "" || made.text("ticket", "id") == "" ||
		made.text("ticket", "subject") != "Broken door handle" || made.text("ticket", "status") == "" ||
		!strings.EqualFold(made.text("ticket", "priority"), "high") || made.text("ticket", "created_at") == "" {
		t.Errorf("made: %s", made.body)
	}
	if again := c.post(200, "tickets/create-ticket", body,
		"Idempotency-Key: call-1"); string(again.body) != string(made.body) {
		t.Errorf("repeated: %s\nwant %s", again.body, made.body)
	}
	for _, spoken := range []string{number, "#" + strings.TrimLeft(number, "0"), " " + number + " "} {
		found := c.post(200, "tickets/get-ticket", `{"ticket_number": "`+spoken+`"}`)
		for _, field := range []string{
			"id", "ticket_number", "subject", "status", "priority", "owner_id", "contact_id", "account_id",
			"created_at",
		} {
			if found.text("ticket", field) != made.text("ticket", field) {
				t.Errorf("%q of %q: %q, when it was made %q", field, spoken, found.text("ticket", field),
					made.text("ticket", field))
			}
		}
		if text := found.text("ticket", "description"); text != "The front door.\nSince Monday." {
			t.Errorf("the description of %q is %q", spoken, text)
		}
	}
	for _, attack := range []string{"99999999", "1' OR '1'='1", "1/../2", "1 OR 1=1", "1%00", `1\\u0022`} {
		a, err := c.call(http.MethodPost, "/v1/tickets/get-ticket", `{"ticket_number": "`+attack+`"}`)
		if err != nil || (a.reason() != "TICKET_NOT_FOUND" && a.reason() != "INVALID_REQUEST") {
			t.Errorf("%q: %v, %d %s", attack, err, a.status, a.body)
		}
	}
	refused := c.post(400, "tickets/create-ticket",
		`{"subject": "x", "status": "no such status", "priority": "no such priority"}`)
	if text := string(refused.body); refused.reason() != "INVALID_REQUEST" ||
		!strings.Contains(text, made.text("ticket", "status")) {
		t.Errorf("labels that are not there: %s", text)
	}
}

// An account has a required field of its own. Verifying reports it before the first call, and the command
// line sets it.
func TestARequiredFieldIsSetOnTheCommandLine(t *testing.T) {
	t.Parallel()
	p := &fakeProvider{name: "freshdesk", title: "Freshdesk"}
	base := p.serve(t, func(string) http.Handler {
		return freshdeskfake.New(freshdeskfake.Options{APIKey: "desk-secret-token", Fields: []freshdeskfake.Field{
			{Name: "cf_room", Type: "custom_text", Required: true}, {Name: "cf_floor", Type: "custom_number"},
		}})
	})
	d := newDeployment(t, "", "ACCESS_TOKEN=desk-secret-token", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
	d.must("tenant", "create", "acme")
	add := func(set ...string) []string {
		args := []string{
			"connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "freshdesk", "--secret",
			"api_key=env:ACCESS_TOKEN",
		}
		for _, s := range append(set, "base_url="+base, "requester_email=calls@example.com") {
			args = append(args, "--set", s)
		}
		return args
	}
	refuse := func(code int, says string, args ...string) {
		t.Helper()
		if out, errs, exit := d.do("", args...); exit != code || !strings.Contains(out+errs, says) {
			t.Errorf("%v: exit %d, want %d with %q\n%s%s", args, exit, code, says, out, errs)
		}
	}
	d.must(add()...)
	refuse(exitFailed, "cf_room", "connection", "verify", "--tenant", "acme", "freshdesk")
	refuse(exitFailed, "cf_room", "doctor")
	refuse(exitFailed, "Did you mean {subject}?", add("fields.cf_room={subjct}")...)
	refuse(exitUsage, "--set fields", add("fields={}", "fields.cf_room=12")...)
	for _, fields := range [][]string{
		{"fields.cf_room={subject}", "fields.cf_floor=3"}, {`fields={"cf_room": "{subject}", "cf_floor": 3}`},
	} {
		d.must(add(fields...)...)
		d.must("connection", "verify", "--tenant", "acme", "freshdesk")
	}
	if made := d.servePublicly().as(d.must("key", "create", "--tenant", "acme")).
		post(200, "tickets/create-ticket", `{"subject": "Broken door handle"}`); made.text("ticket", "id") == "" {
		t.Errorf("made: %s", made.body)
	}
}
