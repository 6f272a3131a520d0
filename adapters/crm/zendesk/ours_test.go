package zendesk

import (
	"testing"

	"frontdesk/core/adapter"
)

// A tenant that sets the address of an account must not learn the secret of the operator's OAuth client.
func TestTheGatewaysSecretIsToldToZendeskAlone(t *testing.T) {
	named := adapter.Addresses{"base_url": "http://127.0.0.1:9111"}
	for address, want := range map[string]bool{
		"https://acme.zendesk.com":          true,
		"https://ACME.Zendesk.com":          true,
		"http://127.0.0.1:9111":             true, // the operator's base_url
		"http://127.0.0.1:9112":             false,
		"https://127.0.0.1:9111":            false,
		"http://127.0.0.2:9111":             false,
		"http://localhost:9111":             false,
		"http://[::1]:9111":                 false,
		"https://10.1.2.3":                  false,
		"https://192.168.0.1":               false,
		"http://acme.zendesk.com":           false,
		"https://acme.zendesk.com:8443":     false,
		"https://zendesk.com.evil.example":  false,
		"https://evilzendesk.com":           false,
		"https://desk.example":              false,
		"https://198.51.100.7":              false,
		"https://acme.zendesk.com.":         false,
		"https://[2001:4860:4860::8888]":    false,
		"https://user@desk.example/zendesk": false,
		"https://user@acme.zendesk.com":     false,
	} {
		v := adapter.Values{Settings: map[string]any{"base_url": address}}
		a, err := Adapter().With(v)
		if err == nil {
			err = a.CheckGrant(v, named)
		}
		if got := err == nil; got != want {
			t.Errorf("%s: %t, want %t (%v)", address, got, want, err)
		}
		v.Settings["client_id"], v.Credentials = "own", map[string]string{"client_secret": "withheld"}
		if a, err := Adapter().With(v); err == nil && a.CheckGrant(v, named) != nil &&
			address != "https://user@desk.example/zendesk" {
			t.Errorf("%s is refused to a client of the tenant's own", address)
		}
	}
}
