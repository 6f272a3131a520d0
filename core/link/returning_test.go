package link

import (
	"strings"
	"testing"
)

func TestCustomersReturnOnlyBelowWhatTheOperatorNamed(t *testing.T) {
	d := NewDirectory(Options{ReturnURLs: []string{
		"https://platform.example.com/connections", "https://whole.example.com", "http://127.0.0.1:8000/dev/",
	}, TenantsURL: "https://desk.example.com/settings/tenants"})
	for address, may := range map[string]bool{
		"": false,
		"https://platform.example.com/connections":           true,
		"https://platform.example.com/connections/":          true,
		"https://platform.example.com/connections/7?tab=a&b": true,
		"https://PLATFORM.example.com/connections/7":         true,
		"https://whole.example.com":                          true,
		"https://whole.example.com/anything":                 true,
		"http://127.0.0.1:8000/dev/x":                        true,
		"https://desk.example.com/settings/tenants/acme":     true,

		"https://desk.example.com/settings/sign-in/x":                           false,
		"https://desk.example.com/connect/x":                                    false,
		"https://platform.example.com":                                          false,
		"https://platform.example.com/":                                         false,
		"https://platform.example.com/connectionsX":                             false,
		"https://platform.example.com/connections/../admin":                     false,
		"https://platform.example.com/connections/%2e%2e/admin":                 false,
		"https://platform.example.com/connections/..%2fadmin":                   false,
		"https://platform.example.com/connections//x":                           false,
		"https://platform.example.com/connections\\..\\admin":                   false,
		"https://platform.example.com:8443/connections":                         false,
		"https://platform.example.com.evil.example/connections":                 false,
		"https://platform.example.com@evil.example/connections":                 false,
		"https://user:pass@platform.example.com/connections":                    false,
		"https://evil.example/https://platform.example.com/":                    false,
		"http://platform.example.com/connections":                               false,
		"//platform.example.com/connections":                                    false,
		"/connections":                                                          false,
		"javascript:alert(1)//platform.example.com/connections":                 false,
		"https:platform.example.com/connections":                                false,
		"https:\\\\platform.example.com\\connections":                           false,
		"https://platform.example.com/connections#x":                            false,
		"https://platform.example.com/connections\n":                            false,
		" https://platform.example.com/connections":                             false,
		"https://platform.example.com/connections?" + strings.Repeat("a", 2048): false,
		"https://pl\u00e4tform.example.com/connections":                         false,
		"http://127.0.0.1:8000/developer":                                       false,
		"http://127.0.0.1/dev/":                                                 false,
	} {
		if got := d.mayReturn(address); got != may {
			t.Errorf("%q: %t, want %t", address, got, may)
		}
	}
	if NewDirectory(Options{}).mayReturn("https://whole.example.com") {
		t.Error("without an address of the operator's, customers return somewhere")
	}
}

func TestTheWayBackTellsTheOutcome(t *testing.T) {
	l := Link{Connection: "office & co", ReturnURL: "https://whole.example.com/x?tab=1&outcome=connected"}
	for _, c := range []struct{ got, want string }{
		{l.ReturnTo(OutcomeConnected, ""),
			"https://whole.example.com/x?connection=office+%26+co&outcome=connected&tab=1"},
		{l.ReturnTo(OutcomeFailed, ReasonConsentDeclined),
			"https://whole.example.com/x?connection=office+%26+co&outcome=failed&reason=CONSENT_DECLINED&tab=1"},
		{Link{Connection: "office"}.ReturnTo(OutcomeConnected, ""), ""},
		{l.ReturnOrigin(), "https://whole.example.com"},
		{Link{}.ReturnOrigin(), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
