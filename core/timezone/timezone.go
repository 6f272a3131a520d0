// Package timezone translates between the names that Windows gives time zones, which Outlook and Exchange
// write, and those of the IANA database:
//
//	name, ok := timezone.ToWindows("Europe/Berlin") // "W. Europe Standard Time", true
//
// A name of Windows stands for many IANA names, so the way back answers one of them: the rules of the others
// are the same today, not always those of the past.
package timezone

import (
	"strings"
	"sync"
)

// FromWindows returns the IANA name of a zone of Windows.
func FromWindows(name string) (iana string, ok bool) {
	iana, ok = tables().iana[name]
	return iana, ok
}

// ToWindows returns the name that Windows gives the zone of an IANA name, old or new.
func ToWindows(iana string) (name string, ok bool) {
	name, ok = tables().windows[iana]
	return name, ok
}

type names struct {
	iana    map[string]string // by the name of Windows
	windows map[string]string // by IANA name
}

var tables = sync.OnceValue(func() names {
	t := names{iana: map[string]string{}, windows: map[string]string{}}
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(table), "\n\t", " "), "\n") {
		windows, list, _ := strings.Cut(line, ": ")
		for i, iana := range strings.Fields(list) {
			if i == 0 {
				t.iana[windows] = iana
			}
			t.windows[iana] = windows
		}
	}
	return t
})
