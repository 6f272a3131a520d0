package adapter

import (
	"slices"
	"testing"

	"frontdesk/core/fault"
)

// A tenant's settings may name the server of an account, whatever the adapter. The operator's client is sent
// only to the provider and to addresses that the operator named.
func TestTheOperatorsClientIsShownWhereTheOperatorNamed(t *testing.T) {
	type settings struct {
		Base     string `setting:"base" help:"Address."`
		ClientID string `setting:"client_id" help:"Client."`
	}
	named := Addresses{
		"api_url": "https://api.maker.example/v2", "base_url": "http://10.0.0.7:8443", "unset": "",
	}
	for base, want := range map[string]bool{
		"https://acme.desk.example":                    true,
		"https://a.b.DESK.example":                     true,
		"https://api.maker.example":                    true,
		"https://API.maker.example/elsewhere":          true,
		"http://10.0.0.7:8443":                         true,
		"http://10.0.0.7":                              false,
		"https://10.0.0.7:8443":                        false,
		"http://10.0.0.7:8443@evil.example":            false,
		"http://u@10.0.0.7:8443":                       false,
		"http://api.maker.example":                     false,
		"https://api.maker.example:444":                false,
		"https://desk.example":                         false,
		"https://evil-desk.example":                    false,
		"https://acme.desk.example.evil.example":       false,
		"https://acme.desk.example@evil.example":       false,
		"https://evil.example/acme.desk.example":       false,
		"https://evil.example?.desk.example":           false,
		"https://evil.example#.desk.example":           false,
		"https://acme.desk.example:8443":               false,
		"http://acme.desk.example":                     false,
		"http://127.0.0.1:9111":                        false,
		"http://localhost":                             false,
		"http://[::1]:9111":                            false,
		"http://169.254.169.254":                       false,
		"//acme.desk.example":                          false,
		"ftp://acme.desk.example":                      false,
		"https://%61cme.desk.example.":                 false,
		"https://acme.desk.example\\@evil.example/":    false,
		"https://evil.example\\.desk.example":          false,
		"https://acme.desk.example%2eevil.example":     false,
		"https://acme.desk.example\u3002evil.example/": false,
	} {
		grant := GrantOf(func(s settings, _ Addresses) (Grant, error) {
			return Grant{
				Flow: Consent, TokenURL: s.Base + "/token", ClientID: s.ClientID, TenantAddress: true,
				Domains: []string{"desk.example"},
			}, nil
		})
		_, err := grant(Values{Settings: map[string]any{"base": base}}, named)
		if got := err == nil; got != want {
			t.Errorf("%s: shown is %t, want %t", base, got, want)
		}
		if f := fault.From(err); f != nil && (f.Code != fault.Invalid || f.Fields[0].Path != "settings.base_url") {
			t.Errorf("%s: %v", base, err)
		}
		if _, err := grant(Values{Settings: map[string]any{"base": base, "client_id": "own"}}, named); err != nil {
			t.Errorf("%s, with a client of the tenant's own: %v", base, err)
		}
	}
}

func TestOptionalScopesGoWhereTheProviderTakesThem(t *testing.T) {
	scopes := []Scope{{Name: "read"}, {Name: "extra", Optional: true}, {Name: "write"}}
	for _, c := range []struct {
		parameter               string
		inScope, inTheParameter []string
	}{
		{"", []string{"read", "extra", "write"}, nil},
		{"optional_scope", []string{"read", "write"}, []string{"extra"}},
	} {
		g := Grant{Scopes: scopes, Optionals: c.parameter}
		if got := g.ScopeNames(); !slices.Equal(got, c.inScope) {
			t.Errorf("with the parameter %q: scope is %q", c.parameter, got)
		}
		if got := g.OptionalNames(); !slices.Equal(got, c.inTheParameter) {
			t.Errorf("with the parameter %q: it is %q", c.parameter, got)
		}
	}
}
