package calendartest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
)

// field is one field of an event, as text.
type field struct {
	name string
	of   func(calendar.Event) string
}

// fields are the fields of an event that stay when nothing is changed. Version may change.
var fields = []field{
	{"ID", func(e calendar.Event) string { return e.ID }},
	{"CalendarID", func(e calendar.Event) string { return e.CalendarID }},
	{"SeriesID", func(e calendar.Event) string { return e.SeriesID }},
	{"Title", func(e calendar.Event) string { return e.Title }},
	{"Description", func(e calendar.Event) string { return e.Description }},
	{"Times", func(e calendar.Event) string { return tell(e.Start) + " to " + tell(e.End) }},
	{"Organizer", func(e calendar.Event) string { return strings.ToLower(e.Organizer.Email) }},
	{"Attendees", func(e calendar.Event) string { return fmt.Sprint(attendees(e)) }},
	{"URL", func(e calendar.Event) string { return e.URL }},
	{"IsCancelled", func(e calendar.Event) string { return fmt.Sprint(e.IsCancelled) }},
	{"IsFree", func(e calendar.Event) string { return fmt.Sprint(e.IsFree) }},
}

// tell formats a time. Times that mean the same have the same text.
func tell(t calendar.Time) string {
	switch {
	case t.AllDay && t.Floating:
		return "both a day and floating"
	case t.AllDay:
		return t.Instant.UTC().Format(time.DateOnly)
	case t.Floating:
		return t.Instant.UTC().Format("2006-01-02T15:04:05")
	}
	zone, err := time.LoadLocation(t.Zone)
	if err != nil || t.Zone == "Local" {
		return t.Instant.UTC().Format(time.RFC3339Nano) + " in a zone that is none: " + t.Zone
	}
	return t.Instant.In(zone).Format(time.RFC3339Nano)
}

// attendees returns the invited addresses with their responses. It omits the organizer, whom some providers
// list.
func attendees(e calendar.Event) []string {
	answers := map[string]string{}
	for _, a := range e.Attendees {
		if !strings.EqualFold(a.Email, e.Organizer.Email) {
			answers[strings.ToLower(a.Email)] = a.Response
		}
	}
	list := make([]string, 0, len(answers))
	for _, email := range slices.Sorted(maps.Keys(answers)) {
		list = append(list, email+" "+answers[email])
	}
	return list
}

// addressesOf returns the addresses alone.
func addressesOf(e calendar.Event) []string {
	list := attendees(e)
	for i, a := range list {
		list[i], _, _ = strings.Cut(a, " ")
	}
	return list
}

// wantSame returns an error for each difference between two readings of one event, except in the fields
// named.
func wantSame(what string, want, got calendar.Event, except ...string) error {
	var all []error
	for _, f := range fields {
		if w, g := f.of(want), f.of(got); w != g && !slices.Contains(except, f.name) {
			all = append(all, fmt.Errorf("%s: %s is %q, want %q", what, f.name, g, w))
		}
	}
	return errors.Join(all...)
}

// wantIDs returns an error if events are missing, repeated or unexpected in a list of events.
func wantIDs(what string, got []calendar.Event, want ...calendar.Event) error {
	ids := func(list []calendar.Event) []string {
		var all []string
		for _, e := range list {
			all = append(all, e.ID)
		}
		slices.Sort(all)
		return all
	}
	if g, w := ids(got), ids(want); !slices.Equal(g, w) {
		return fmt.Errorf("%s: got the events %q, want %q", what, g, w)
	}
	return nil
}

// wantSpan returns nil when the event takes place at these instants.
func wantSpan(what string, e calendar.Event, from, to time.Time) error {
	if e.Start.AllDay || e.Start.Floating || e.End.AllDay || e.End.Floating {
		return fmt.Errorf("%s: from %+v to %+v, want instants", what, e.Start, e.End)
	}
	if !e.Start.Instant.Equal(from) || !e.End.Instant.Equal(to) {
		return fmt.Errorf("%s: from %s to %s, want %s to %s", what, tell(e.Start), tell(e.End),
			from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// wantZone returns nil if the time's zone is the named one, under this or another name.
func wantZone(what string, t calendar.Time, name string) error {
	want, err := time.LoadLocation(name)
	if err != nil {
		return err
	}
	got, err := time.LoadLocation(t.Zone)
	if err != nil || t.Zone == "" || t.Zone == "Local" {
		return fmt.Errorf("%s: kept in the zone %q, want %s", what, t.Zone, name)
	}
	for month := range 12 {
		day := t.Instant.AddDate(0, month, 0)
		if g, w := day.In(got).Format(time.RFC3339), day.In(want).Format(time.RFC3339); g != w {
			return fmt.Errorf("%s: kept in the zone %s, want %s", what, t.Zone, name)
		}
	}
	return nil
}

// wantList returns nil when the lists hold the same texts, in any order.
func wantList(what string, got []string, want ...string) error {
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: got %q, want %q", what, got, want)
	}
	return nil
}
