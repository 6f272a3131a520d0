package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// withClients returns an operator's configuration of OAuth clients.
func withClients() []string {
	return []string{
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=the-client",
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=s3cret-canary",
		"FRONTDESK_SERVER__PUBLIC_URL=https://gw.example/desk",
	}
}

var linkForm = regexp.MustCompile(`^https://gw\.example/desk/connect/fdc_[0-9A-Za-z]{38}\n$`)

func TestALinkIsAllOfStandardOutput(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", withClients()...)
	d.must("tenant", "create", "acme")
	out, errs, code := d.do("", "connect-link", "--tenant", "acme", "--provider", "google", "--set",
		"calendar_id=team@example.com", "--expires", "2h")
	if code != exitOK || !linkForm.MatchString(out) {
		t.Fatalf("exit %d, standard output %q\n%s", code, out, errs)
	}
	for _, says := range []string{
		"Google Calendar", "acme", `"google"`, "It is valid until ",
		"https://gw.example/desk/oauth/callback/google",
	} {
		if !strings.Contains(errs, says) {
			t.Errorf("no %q on standard error:\n%s", says, errs)
		}
	}
	if strings.Contains(errs, "fdc_") || strings.Contains(errs, "canary") {
		t.Errorf("a secret is on standard error: %s", errs)
	}
	if listed := d.must("connection", "list", "--tenant", "acme", "--json"); listed != "[]" {
		t.Errorf("a link alone makes a connection: %s", listed)
	}
}

// Every command prints the same redirect URI for a tenant's own OAuth client.
func TestTheRedirectURIOfATenantsOwnClientIsTold(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", append(withClients(), "OWN_SECRET=canary-own")...)
	d.must("tenant", "create", "acme")
	_, added, _ := d.do("", "connection", "add", "--tenant", "acme", "--kind", "calendar",
		"--provider", "google",
		"--set", "client_id=own", "--secret", "client_secret=env:OWN_SECRET")
	_, linked, _ := d.do("", "connect-link", "--tenant", "acme", "--provider", "google")
	pattern := regexp.MustCompile(
		`redirect URI with the OAuth client: (https://gw\.example/desk/oauth/callback/google/[0-9a-f]{24})\n`)
	first, second := pattern.FindStringSubmatch(added), pattern.FindStringSubmatch(linked)
	if first == nil || second == nil || first[1] != second[1] {
		t.Fatalf("connection add tells\n%s\nconnect-link tells\n%s", added, linked)
	}
	if listed := d.must("connection", "list", "--tenant", "acme", "--json"); !strings.Contains(listed,
		`"redirect_uri": "`+first[1]+`"`) {
		t.Errorf("connection list tells %s, want %s", listed, first[1])
	}
}

func TestALinkIsRefusedWhereItWouldLeadNowhere(t *testing.T) {
	t.Parallel()
	bare, h := newDeployment(t, ""), newDeployment(t, "", withClients()...)
	for _, deployment := range []*deployment{bare, h} {
		deployment.must("tenant", "create", "acme")
		deployment.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox",
			"--name", "desk")
	}
	for _, c := range []struct {
		says       string
		deployment *deployment
		code       int
		args       []string
		errs       []string
	}{
		{"no tenant", h, exitUsage, []string{"--provider", "google"}, []string{"--tenant"}},
		{"no provider", h, exitUsage, []string{"--tenant", "acme"}, []string{"--provider"}},
		{"a kind there is not", h, exitUsage,
			[]string{"--tenant", "acme", "--provider", "google", "--kind", "mail"},
			[]string{"--kind", "calendar, crm or telephony"}},
		{"a duration that is none", h, exitUsage,
			[]string{"--tenant", "acme", "--provider", "google", "--expires", "soon"}, []string{"--expires"}},
		{"an unknown tenant", h, exitFailed, []string{"--tenant", "nobody", "--provider", "google"},
			[]string{`"nobody"`}},
		{"an unknown provider", h, exitFailed, []string{"--tenant", "acme", "--provider", "outlook"},
			[]string{`"outlook"`, "google"}},
		{"a provider of another kind", h, exitFailed,
			[]string{"--tenant", "acme", "--provider", "google", "--kind", "crm"},
			[]string{"provider must be one of"}},
		{"a provider with passwords", h, exitFailed, []string{"--tenant", "acme", "--provider", "caldav"},
			[]string{"do not give consent", "connection add"}},
		{"a sandbox", h, exitFailed, []string{"--tenant", "acme", "--provider", "sandbox"},
			[]string{"do not give consent"}},
		{"a name that another provider's connection has", h, exitFailed,
			[]string{"--tenant", "acme", "--provider", "google", "--name", "desk"},
			[]string{`"desk"`, "sandbox", "--name"}},
		{"a setting that is none", h, exitFailed,
			[]string{"--tenant", "acme", "--provider", "google", "--set", "colour=red"}, []string{"settings.colour"}},
		{"too long a life", h, exitFailed,
			[]string{"--tenant", "acme", "--provider", "google", "--expires", "8000h"}, []string{"expires"}},
		{"no OAuth client", bare, exitFailed, []string{"--tenant", "acme", "--provider", "google"},
			[]string{"providers.google.client_id", "providers.google.client_secret", "setting client_id",
				"credential client_secret"}},
	} {
		t.Run(c.says, func(t *testing.T) {
			out, errs, code := c.deployment.do("", append([]string{"connect-link"}, c.args...)...)
			if code != c.code || out != "" {
				t.Errorf("exit %d, want %d; standard output %q\n%s", code, c.code, out, errs)
			}
			for _, says := range c.errs {
				if !strings.Contains(errs, says) {
					t.Errorf("no %q in %s", says, errs)
				}
			}
		})
	}
}

func TestALinkLeadsToThePageOfTheGatewayThatServes(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL, append(withClients(), "FRONTDESK_LOG__LEVEL=debug")...)
		d.must("tenant", "create", "acme")
		r := d.serve()
		token := strings.TrimPrefix(d.must("connect-link", "--tenant", "acme", "--provider", "google"),
			"https://gw.example/desk/connect/")
		customer := r.as("")
		page := customer.do(http.StatusOK, http.MethodGet, "/connect/"+token, "")
		for _, says := range []string{
			"Connect Google Calendar", "acme", "accounts.google.com", "See, create, change and cancel events",
		} {
			if !strings.Contains(string(page.body), says) {
				t.Errorf("no %q in\n%s", says, page.body)
			}
		}
		customer.do(http.StatusNotFound, http.MethodGet, "/connect/"+token[:41], "")
		customer.do(http.StatusNotFound, http.MethodGet, "//connect/"+token, "")
		customer.do(http.StatusBadRequest, http.MethodGet,
			"/oauth/callback/google?code=canary-code&state=canary-state", "")
		if log := r.logged("connect-finish"); strings.Contains(log, token[:41]) ||
			strings.Contains(log, "canary") || !strings.Contains(log, "connect-page") {
			t.Errorf("the log:\n%s", log)
		}
	})
}
