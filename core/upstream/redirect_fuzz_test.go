package upstream

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzRedirect checks where a redirect leads: to http or https, without userinfo, never from https to http,
// and without the credentials of another host.
func FuzzRedirect(f *testing.F) {
	for _, seed := range []string{
		"/x", "//other.example/", "https://other.example/", "http://dav.example.com:80/",
		"https://user:pw@dav.example.com/", "javascript:x", "https://dav.example.com.evil.example/",
		"https:\\\\other.example", "https://dav.example.com@evil.example/", "https://evil.example#@dav.example.com",
		"\thttps://x", "https://DAV.example.com./", "https://%64av.example.com/", "https://[::1]/", "?q", "https:",
		"https:///x",
	} {
		f.Add("https://dav.example.com/home", seed, 302)
		f.Add("http://127.0.0.1:8080/", seed, 307)
	}
	f.Fuzz(func(t *testing.T, from, location string, status int) {
		at, err := url.Parse(from)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
			return
		}
		hop, err := http.NewRequest(http.MethodGet, from, nil)
		if err != nil {
			return
		}
		hop.Header.Set("Authorization", "Basic s3cret")
		next, err := new(transport).redirect(hop, &http.Response{
			StatusCode: status, Header: http.Header{"Location": {location}},
		}, at)
		if err != nil || next == nil {
			return
		}
		if next.URL.Scheme != "http" && next.URL.Scheme != "https" || next.URL.User != nil ||
			at.Scheme == "https" && next.URL.Scheme == "http" {
			t.Fatalf("%s and %q lead to %s", from, location, next.URL)
		}
		if mine := sameOrigin(at, next.URL); !mine && next.Header.Get("Authorization") != "" {
			t.Fatalf("%s and %q carry credentials to %s", from, location, next.URL)
		}
		if trusted := mayCarryCredentials(at, next.URL); trusted && !sameOrigin(at, next.URL) &&
			!strings.HasPrefix(next.URL.String(), "https:") {
			t.Fatalf("%s trusts %s", from, next.URL)
		}
	})
}

// FuzzEgress checks that two forms of one address are both refused or both allowed, and that IPv4's special
// networks cannot be reached through IPv6.
func FuzzEgress(f *testing.F) {
	for _, seed := range []string{
		"127.0.0.1", "10.0.0.1", "169.254.169.254", "8.8.8.8", "192.0.2.1", "100.64.0.1",
	} {
		a := netip.MustParseAddr(seed).As4()
		f.Add(a[0], a[1], a[2], a[3])
	}
	guard := &egress{}
	f.Fuzz(func(t *testing.T, a, b, c, d byte) {
		plain := netip.AddrFrom4([4]byte{a, b, c, d})
		refused := guard.refuses(plain) != ""
		mapped := netip.AddrFrom16(plain.As16())
		nat64 := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: a, b, c, d})
		if got := guard.refuses(mapped) != ""; got != refused {
			t.Fatalf("%s is refused: %t, and %s: %t", plain, refused, mapped, got)
		}
		if got := guard.refuses(nat64) != ""; got != refused {
			t.Fatalf("%s is refused: %t, and %s: %t", plain, refused, nat64, got)
		}
		for _, tunnel := range []netip.Addr{
			netip.AddrFrom16([16]byte{0x20, 0x02, a, b, c, d}), netip.AddrFrom16([16]byte{12: a, b, c, d}),
			netip.AddrFrom16([16]byte{0x20, 0x01, 0, 0, a, b, c, d}),
		} {
			if guard.refuses(tunnel) == "" {
				t.Fatalf("%s is reached", tunnel)
			}
		}
	})
}
