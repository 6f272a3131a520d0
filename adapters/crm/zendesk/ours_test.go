package zendesk

import "testing"

func TestTheGatewaysSecretIsToldToZendeskAlone(t *testing.T) {
	for address, want := range map[string]bool{
		"https://acme.zendesk.com":          true,
		"https://ACME.Zendesk.com":          true,
		"http://127.0.0.1:9111":             true, // reached only where the operator opens it
		"https://10.1.2.3":                  true,
		"http://acme.zendesk.com":           false,
		"https://acme.zendesk.com:8443":     false,
		"https://zendesk.com.evil.example":  false,
		"https://evilzendesk.com":           false,
		"https://desk.example":              false,
		"https://198.51.100.7":              false,
		"https://acme.zendesk.com.":         false,
		"https://[2001:4860:4860::8888]":    false,
		"https://user@desk.example/zendesk": false,
	} {
		if got := ours(address); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
