// Package timezone translates between the Windows names of time zones, which Outlook and Exchange write, and
// those of the IANA database:
//
//	name, ok := timezone.ToWindows("Europe/Berlin") // "W. Europe Standard Time", true
//
// A Windows name stands for many IANA names, of which FromWindows returns one. The others have the same rules
// today, but not always the same rules in the past.
//
// Localize tells when the clocks of a zone show a local time, also where they skip it or show it twice.
package timezone

import (
	"strings"
	"sync"
)

// FromWindows returns the IANA name of a Windows zone.
func FromWindows(name string) (iana string, ok bool) {
	iana, ok = tables().iana[name]
	return iana, ok
}

// ToWindows returns the Windows name of a zone by its IANA name, current or former.
func ToWindows(iana string) (name string, ok bool) {
	name, ok = tables().windows[iana]
	return name, ok
}

type names struct {
	iana    map[string]string // by Windows name
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
