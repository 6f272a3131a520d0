package connection

import (
	"maps"
	"net/http"
	"testing"

	"frontdesk/core/adapter"
)

// A second credential goes out in its own header beside the scheme's, unless it is absent. The adapter sees that it
// is there, and not what it is.
func TestASecondCredentialHasItsOwnHeader(t *testing.T) {
	second := func(a adapter.Auth) adapter.Auth {
		a.Second, a.SecondHeader = "app", "X-App"
		return a
	}
	token := adapter.Auth{Scheme: adapter.Header, HeaderName: "X-Token", Prefix: "token ", Password: "token"}
	for _, c := range []struct {
		rule               string
		auth               adapter.Auth
		given, sent, shown map[string]string
	}{
		{"beside a token", second(token), map[string]string{"token": "t", "app": "a"},
			map[string]string{"X-Token": "token t", "X-App": "a"}, map[string]string{"token": withheld, "app": withheld}},
		{"beside a password",
			second(adapter.Auth{Scheme: adapter.Basic, Username: "user", Password: "password"}),
			map[string]string{"user": "pat", "password": "p", "app": "a"},
			map[string]string{"Authorization": "Basic cGF0OnA=", "X-App": "a"},
			map[string]string{"user": "pat", "password": withheld, "app": withheld}},
		{"beside a bearer token", second(adapter.Auth{Scheme: adapter.Bearer, Password: "token"}),
			map[string]string{"token": "t", "app": "a"},
			map[string]string{"Authorization": "Bearer t", "X-App": "a"},
			map[string]string{"token": withheld, "app": withheld}},
		{"alone", second(adapter.Auth{}), map[string]string{"app": "a"}, map[string]string{"X-App": "a"},
			map[string]string{"app": withheld}},
		{"absent", second(token), map[string]string{"token": "t"}, map[string]string{"X-Token": "token t"},
			map[string]string{"token": withheld}},
		{"of an adapter that wants none", token, map[string]string{"token": "t"},
			map[string]string{"X-Token": "token t"}, map[string]string{"token": withheld}},
		{"under the scheme's own name, which counts",
			adapter.Auth{Scheme: adapter.Bearer, Password: "token", Second: "app", SecondHeader: "Authorization"},
			map[string]string{"token": "t", "app": "a"}, map[string]string{"Authorization": "Bearer t"},
			map[string]string{"token": withheld, "app": withheld}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			given := maps.Clone(c.given)
			by, shown, err := authorise(adapter.Adapter{Declaration: adapter.Declaration{Auth: c.auth}}, Connection{},
				given, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := &http.Request{Header: http.Header{}}
			if err := by.authorise(r); err != nil {
				t.Fatal(err)
			}
			sent := map[string]string{}
			for name := range r.Header {
				sent[name] = r.Header.Get(name)
			}
			if !maps.Equal(sent, c.sent) || !maps.Equal(shown, c.shown) || !maps.Equal(given, c.given) {
				t.Errorf("sent %q and shown %q, want %q and %q", sent, shown, c.sent, c.shown)
			}
		})
	}
}

// A credential that cannot be put on a request is refused by its name, the second one as well.
func TestCredentialsThatAreNoHeaderAreRefused(t *testing.T) {
	auth := adapter.Auth{Scheme: adapter.Basic, Username: "user", Password: "password", Second: "app"}
	for _, c := range []struct {
		rule, name, value string
		refused           bool
	}{
		{"a key", "app", "k-1:x", false},
		{"a second credential with a line break", "app", "k\n", true},
		{"a password with a line break", "password", "p\r\nX-Other: y", true},
		{"a password with a colon", "password", "p:q", false},
		{"a user name with a colon", "user", "a:b", true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			faults := unfit(auth, map[string]string{c.name: c.value})
			switch {
			case !c.refused && len(faults) > 0:
				t.Errorf("refused: %v", faults)
			case c.refused && (len(faults) != 1 || faults[0].Path != "credentials."+c.name):
				t.Errorf("got %v", faults)
			}
		})
	}
}
