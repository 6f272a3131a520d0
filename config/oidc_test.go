package config

import (
	"strings"
	"testing"
)

// The settings of an OpenID provider are complete and readable, or each fault is named without a secret.
func TestOpenIDProvider(t *testing.T) {
	const issuer, role = "FRONTDESK_SETTINGS_PAGE__OIDC__ISSUER=https://login.example.com", "FRONTDESK_SETTINGS_PAGE__OIDC__ROLES="
	const client = "FRONTDESK_SETTINGS_PAGE__OIDC__CLIENT_ID=frontdesk"
	secret := "FRONTDESK_SETTINGS_PAGE__OIDC__CLIENT_SECRET="
	cfg, err := Load("", []string{
		issuer, client, secret + "env:HIDDEN", "HIDDEN=Canary-5d21", role +
			"pat@example.com=admin,groups:a=viewer@acme",
	}, nil)
	if got := cfg.SettingsPage.OIDC; err != nil || got.ClientSecret != "Canary-5d21" || len(got.Roles) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		environ []string
		wants   string
	}{
		"no client": {[]string{issuer, role + "pat@example.com=admin"}, "settings_page.oidc.client_id"},
		"nobody":    {[]string{issuer, client}, "settings_page.oidc.roles"},
		"a role unknown": {[]string{issuer, client, role + "pat@example.com=root"},
			"settings_page.oidc.roles (FRONTDESK_SETTINGS_PAGE__OIDC__ROLES) must be"},
		"an open domain": {[]string{issuer, client, role + "example.com=admin"},
			"settings_page.oidc.roles (FRONTDESK_SETTINGS_PAGE__OIDC__ROLES) must be"},
		"an issuer's way": {[]string{"FRONTDESK_SETTINGS_PAGE__OIDC__ISSUER=login.example.com"},
			"settings_page.oidc.issuer"},
		"no such secret": {[]string{secret + "env:HIDDEN"}, "settings_page.oidc.client_secret"},
	} {
		if _, err := Load("", c.environ, nil); err == nil || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: %v, want a fault of %s", name, err, c.wants)
		}
	}
}
