package caldav

import (
	"strings"
	"testing"

	"frontdesk/core/upstream"
)

// FuzzMultistatus checks that parsing any response to PROPFIND and REPORT ends, and expands no entity that
// the server defines.
func FuzzMultistatus(f *testing.F) {
	for _, seed := range []string{
		`<multistatus xmlns="DAV:"><response><href>/a/</href><propstat><prop><displayname>x</displayname></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>`,
		`<D:multistatus xmlns:D="DAV:"><D:response><D:href>/a</D:href><D:status>HTTP/1.1 404</D:status></D:response></D:multistatus>`,
		`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><multistatus xmlns="DAV:"><response><href>&e;</href></response></multistatus>`,
		`<error xmlns="DAV:"><no-uid-conflict xmlns="urn:ietf:params:xml:ns:caldav"><href xmlns="DAV:">/x</href></no-uid-conflict></error>`,
		"<multistatus xmlns=\"DAV:\">\x00\x0b<response>", strings.Repeat("<a>", 1000), "\xff\xfe<\x00", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var m multistatus
		if upstream.UnmarshalXML(t.Context(), body, &m) == nil {
			for _, r := range m.Responses {
				_ = r.properties()
				_ = statusOf(r.Status)
				if strings.Contains(r.Href, "root:") && !strings.Contains(string(body), "root:") {
					t.Fatalf("a file of this machine is in %q", r.Href)
				}
			}
		}
		_, uid := conditions(body)
		if uid != strings.TrimSpace(uid) {
			t.Fatalf("%q", uid)
		}
	})
}

// FuzzAddresses checks that any id is parsed, and that no id that climbs counts as within a calendar.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{
		"/cal/a.ics", "/cal/a.ics#20270302T100000", "/cal/../other/a.ics", "/cal/%2e%2e/x", "/cal/", "",
		"//evil.example/x", "/cal/a%2fb", "/cal/%zz",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		resource, _, _, _ := split(id)
		_, _ = canonicalPath(resource), lastSegment(id)
		if !within("/cal/", resource) {
			return
		}
		if !strings.HasPrefix(canonicalPath(resource), canonicalPath("/cal/")) {
			t.Fatalf("%q is taken to be within the calendar", id)
		}
	})
}
