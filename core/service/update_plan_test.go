package service

import (
	"testing"
	"time"

	"frontdesk/core/calendar"
)

// Providers keep texts with white space of their own: Exchange ends lines with CRLF, and a body with one more.
func TestAChangeIsThereWhateverBecameOfItsWhiteSpace(t *testing.T) {
	t.Parallel()
	plan := updatePlan{Title: "Second  visit ", Description: "Bring ID.\r\n\r\nAnd a pen.\n"}
	event := calendar.Event{Title: "Second visit", Description: "Bring ID.\n\nAnd a pen."}
	if !plan.isAppliedTo(event, time.UTC) {
		t.Error("it counts as not made")
	}
	event.Description = "Bring ID."
	if plan.isAppliedTo(event, time.UTC) {
		t.Error("another text counts as the one that was asked for")
	}
}

func TestAChangeIsThereWhereTheGuestsAreAsked(t *testing.T) {
	t.Parallel()
	guests := func(emails ...string) (list []calendar.Attendee) {
		for _, email := range emails {
			list = append(list, calendar.Attendee{Email: email})
		}
		return list
	}
	for _, rule := range []struct {
		name   string
		wanted []string
		there  []calendar.Attendee
		want   bool
	}{
		{"the same in other letters and order", []string{"kim@example.com", "Pat@example.com"},
			guests("pat@Example.com", "kim@example.com"), true},
		{"one more", []string{"kim@example.com"}, guests("kim@example.com", "pat@example.com"), false},
		{"one less", []string{"kim@example.com", "pat@example.com"}, guests("kim@example.com"), false},
		{"the organizer, whom the provider lists", []string{"kim@example.com"},
			guests("desk@example.com", "kim@example.com"), true},
		{"the organizer, who was named", []string{"desk@example.com", "kim@example.com"},
			guests("desk@example.com", "kim@example.com"), true},
		{"a room without an address", []string{"kim@example.com"}, guests("", "kim@example.com"), true},
		{"a person whose address is a name", []string{"kim@example.com"}, guests("Jane Doe", "kim@example.com"), true},
		{"no change of guests", nil, guests("kim@example.com"), true},
	} {
		t.Run(rule.name, func(t *testing.T) {
			event := calendar.Event{Organizer: calendar.Person{Email: "Desk@example.com"}, Attendees: rule.there}
			if got := (updatePlan{Attendees: rule.wanted}).isAppliedTo(event, time.UTC); got != rule.want {
				t.Errorf("made: %t, want %t", got, rule.want)
			}
		})
	}
}
