package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	fields := []string{
		"title", "description", "start_time", "end_time", "timezone", "attendee_emails", "selected_calendar_ids",
		"conferencing_type", "location_url",
	}
	ids := []string{"event_id", "calendar_id"}
	labels := []string{"New", "In progress", "On hold", "Closed", "High", "Höchste"}
	for rule, c := range map[string]struct {
		given string
		known []string
		want  string
	}{
		"a letter left out":                 {"titel", fields, "title"},
		"a letter too many":                 {"start_timee", fields, "start_time"},
		"two letters swapped":               {"start_itme", fields, "start_time"},
		"other letter case":                 {"Timezone", fields, "timezone"},
		"a camel's humps":                   {"startTime", fields, "start_time"},
		"an underscore too many":            {"time_zone", fields, "timezone"},
		"a hyphen":                          {"end-time", fields, "end_time"},
		"the plural of one of its words":    {"attendees", fields, "attendee_emails"},
		"one of its words":                  {"emails", fields, "attendee_emails"},
		"its first word":                    {"location", fields, "location_url"},
		"its last words":                    {"calendar_ids", fields, "selected_calendar_ids"},
		"its words in another order":        {"url_location", fields, "location_url"},
		"a word of two names means neither": {"time", fields, ""},
		"of names with the word the shorter": {"calendar", []string{"selected_calendar_ids", "calendar_id"},
			"calendar_id"},
		"the nearest of several":         {"event_ids", ids, "event_id"},
		"a label":                        {"hihg", labels, "High"},
		"a label beyond ASCII":           {"Hochste", labels, "Höchste"},
		"a label without its space":      {"inprogress", labels, "In progress"},
		"another word":                   {"summary", fields, ""},
		"too short to be sure":           {"id", []string{"to", "of"}, ""},
		"spaces around it":               {" title ", fields, "title"},
		"nothing":                        {"", fields, ""},
		"nothing known":                  {"title", nil, ""},
		"signs alone":                    {"___", fields, ""},
		"a great length":                 {strings.Repeat("title", 1<<18), fields, ""},
		"a known name of a great length": {"title", []string{strings.Repeat("title", 1000)}, ""},
		"what is not UTF-8":              {"\xff\xfe\xfd", fields, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			if got := Nearest(c.given, c.known); got != c.want {
				t.Errorf("%.40q is near %q, want %q", c.given, got, c.want)
			}
		})
	}
}
