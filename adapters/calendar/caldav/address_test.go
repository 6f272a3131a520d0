package caldav

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"frontdesk/core/fault"
)

func TestOneResourceHasOneID(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://cal.example.com/dav/")
	a := &account{base: base}
	for href, want := range map[string]string{
		"/dav/a%40b/x.ics":                      "/dav/a@b/x.ics",
		"/dav/a@b/x.ics":                        "/dav/a@b/x.ics",
		"https://cal.example.com/dav/a@b/x.ics": "/dav/a@b/x.ics",
		"x.ics":                                 "/dav/x.ics",
		"/dav/two%20words/%C3%BC.ics":           "/dav/two%20words/%C3%BC.ics",
		"/dav/a%2Fb/x.ics":                      "/dav/a%2Fb/x.ics", // an escaped slash does not separate
		"/dav/100%25/x%23y.ics":                 "/dav/100%25/x%23y.ics",
		"https://p42-cal.example.com/dav/x.ics": "https://p42-cal.example.com/dav/x.ics",
		"http://cal.example.com/dav/x.ics":      "http://cal.example.com/dav/x.ics",
	} {
		u, err := base.Parse(href)
		if err != nil {
			t.Fatal(err)
		}
		got := (&driver{}).id(a, u)
		if got != want {
			t.Errorf("%s: %s, want %s", href, got, want)
		}
		back, err := a.locate(got)
		if err != nil || (&driver{}).id(a, back) != got {
			t.Errorf("%s leads to %v, %v", got, back, err)
		}
	}
}

func TestTagsAreMadeFitForIfMatch(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`"abc"`: `"abc"`, `W/"abc"`: `"abc"`, `abc`: `"abc"`, ` "abc" `: `"abc"`, `"abc-gzip"`: `"abc"`,
		`W/"abc;gzip"`: `"abc"`, `"abc--gzip"`: `"abc"`,
		``: ``, `""`: ``, `W/""`: ``, "\"a\r\nb\"": ``, `"a"b"`: ``,
	} {
		if got := strongTag(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

func TestPreconditionsTellWhatTheStatusDoesNot(t *testing.T) {
	t.Parallel()
	const c, d = `<C:`, `<D:`
	for _, test := range []struct {
		status int
		failed string
		code   fault.Code
		reason string
	}{
		{403, "", fault.Forbidden, fault.ReasonPermissionDenied},
		{403, d + "need-privileges/>", fault.Forbidden, fault.ReasonPermissionDenied},
		{403, c + "allowed-attendee-scheduling-object-change/>", fault.Forbidden, fault.ReasonPermissionDenied},
		{403, c + "max-attendees-per-instance/>", fault.Invalid, fault.ReasonProviderRefused},
		{403, c + "max-resource-size/>", fault.Invalid, fault.ReasonProviderRefused},
		{403, c + "valid-calendar-data/>", fault.Invalid, fault.ReasonProviderRefused},
		{403, c + "supported-calendar-component/>", fault.Invalid, fault.ReasonProviderRefused},
		{409, c + "max-date-time/>", fault.Invalid, fault.ReasonProviderRefused},
		{403, d + "number-of-matches-within-limits/>", fault.Exhausted, fault.ReasonTooManyEvents},
		{507, d + "number-of-matches-within-limits/>", fault.Exhausted, fault.ReasonTooManyEvents},
		{507, d + "quota-not-exceeded/>", fault.Exhausted, fault.ReasonStorageFull},
		{507, "", fault.Exhausted, fault.ReasonStorageFull},
		{429, "", fault.RateLimited, fault.ReasonProviderRateLimited},
		{503, "<<<", fault.Unavailable, fault.ReasonProviderUnavailable},
	} {
		body := `<?xml version="1.0"?><D:error xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">` +
			test.failed + `</D:error>`
		got := refusal(answer{status: test.status, header: http.Header{}, body: []byte(body)})
		if got.Code != test.code || got.Reason != test.reason {
			t.Errorf("%d %s: %v %v", test.status, test.failed, got, got.Metadata)
		}
	}
}

// Somebody with a few aliases has a dozen addresses: Cyrus tells all of them, and the preferred one twice
// (cyrusimap/cyrus-imapd#5521).
func TestTheAddressesOfAnOrdinaryOwnerAreRemembered(t *testing.T) {
	t.Parallel()
	var p prop
	text := `<p xmlns:c="urn:ietf:params:xml:ns:caldav"><c:calendar-user-address-set>` +
		strings.Repeat(`<href xmlns="DAV:">mailto:front.desk.of.the.practice@example.com</href>`, 12) +
		`</c:calendar-user-address-set></p>`
	if err := xml.Unmarshal([]byte(text), &p); err != nil || len(p.Addresses.List) != 12 {
		t.Fatal(err, len(p.Addresses.List))
	}
	if size := p.addressBytes(); size > maxOwnerBytes {
		t.Errorf("they take %d bytes", size)
	}
}
