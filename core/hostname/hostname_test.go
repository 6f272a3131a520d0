package hostname_test

import (
	"net/url"
	"testing"

	"frontdesk/core/hostname"
)

func TestIsOwn(t *testing.T) {
	for _, c := range []struct {
		host, base string
		want       bool
	}{
		{"desk.example.com", "https://desk.example.com", true},
		{"Desk.Example.com:443", "https://desk.example.com/base", true},
		{"desk.example.com", "https://desk.example.com:443", true},
		{"desk.example.com:8443", "https://desk.example.com:8443", true},
		{"desk.example.com:8443", "https://desk.example.com", false},
		{"desk.example.com:443", "http://desk.example.com", false},
		{"evil.example", "https://desk.example.com", false},
		{"desk.example.com.evil.example", "https://desk.example.com", false},
		{"", "https://desk.example.com", false},
		{"localhost:8080", "https://desk.example.com", true},
		{"LOCALHOST", "https://desk.example.com", true},
		{"127.0.0.1:9", "https://desk.example.com", true},
		{"[::1]:9", "https://desk.example.com", true},
		{"[::ffff:127.0.0.1]", "https://desk.example.com", true},
		{"127.0.0.1.evil.example", "https://desk.example.com", false},
		{"192.0.2.1", "https://desk.example.com", false},
	} {
		base, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostname.IsOwn(c.host, base); got != c.want {
			t.Errorf("%q at %s: %t", c.host, c.base, got)
		}
	}
}
