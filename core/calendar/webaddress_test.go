package calendar_test

import (
	"testing"

	"frontdesk/core/calendar"
)

func TestTheWebAddressOfALocation(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://zoom.us/j/123?pwd=a.b#c":              "https://zoom.us/j/123?pwd=a.b#c",
		" http://meet.example.com/1\n":                 "http://meet.example.com/1",
		"https://zoom.us/j/123; Room 5":                "https://zoom.us/j/123",
		"https://zoom.us/j/123, https://example.com/2": "https://zoom.us/j/123",
		"https://zoom.us/j/123\nMeeting ID: 123":       "https://zoom.us/j/123",
		"https://zoom.us/j/123\u00a0or by phone":       "https://zoom.us/j/123",
		"https://zoom.us/j/123). Room 5":               "https://zoom.us/j/123",
		"https://zoom.us/j/123/ (Room 5)":              "https://zoom.us/j/123/",
		"https://meet.example.com/1,2;3":               "https://meet.example.com/1,2;3",
		"https://meet.example.com/a_(b)":               "https://meet.example.com/a_(b)",
		"HTTPS://zoom.us/j/123":                        "HTTPS://zoom.us/j/123",
		"Room 5":                                       "",
		"Room 5, https://zoom.us/j/123":                "",
		"See https://meet.example.com":                 "",
		"javascript://zoom.us/%0aalert(1)":             "",
		"ftp://example.com/":                           "",
		"mailto:room5@example.com":                     "",
		"https:":                                       "",
		"https:// zoom.us":                             "",
		"//zoom.us/j/123":                              "",
		"https://zoom.us/%zz Room 5":                   "",
		"":                                             "",
	} {
		if got := calendar.WebAddress(location); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
	}
}
