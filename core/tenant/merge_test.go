package tenant_test

import (
	"reflect"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

func TestMergedSettings(t *testing.T) {
	ten, five := tenant.Duration(10*time.Minute), tenant.Duration(5*time.Minute)
	three := 3
	was := tenant.Settings{
		Timezone: "Europe/Paris", RejectPast: true, DedupeWindow: &ten, StatusWords: map[string]string{"open": "New"},
	}
	for _, c := range []struct {
		rule   string
		given  map[string]any
		want   tenant.Settings
		faults []fault.Field
	}{
		{"nothing", nil, was, nil},
		{"what is given takes the place", map[string]any{
			"timezone": "UTC", "dedupe_window": "5m", "max_phone_numbers": 3.0, "prevent_double_booking": true,
			"status_words": map[string]any{"done": "Closed"},
		}, tenant.Settings{
			Timezone: "UTC", RejectPast: true, PreventDoubleBooking: true, DedupeWindow: &five, MaxPhoneNumbers: &three,
			StatusWords: map[string]string{"done": "Closed"},
		}, nil},
		{"null is the default", map[string]any{
			"timezone": nil, "reject_past": nil, "dedupe_window": nil, "status_words": nil,
		}, tenant.Settings{}, nil},
		{"every fault at once", map[string]any{
			"timezon": "UTC", "reject_past": "yes", "timezone": 7.0, "dedupe_window": "soon", "max_phone_numbers": 1.5,
			"priority_words": []any{"a"}, "unverified_caller_fields": 5.0, "max_purchases_per_day": -1.0,
		}, was, []fault.Field{
			{Path: "settings.dedupe_window", Message: `must be a duration such as "10m" or "1h30m", or 0.`},
			{Path: "settings.max_phone_numbers", Message: "must be an integer."},
			{Path: "settings.priority_words", Message: "must map words to labels."},
			{Path: "settings.reject_past", Message: "must be true or false."},
			{Path: "settings.timezon", Message: "is not a setting of a tenant", Hint: "timezone"},
			{Path: "settings.timezone", Message: "must be a string."},
			{Path: "settings.unverified_caller_fields", Message: "must be a list of strings."},
			{Path: "settings.max_purchases_per_day", Message: "must be from 0 to 10000."},
		}},
		{"a list, or words with commas", map[string]any{"unverified_caller_fields": "name, account"},
			tenant.Settings{
				Timezone: "Europe/Paris", RejectPast: true, DedupeWindow: &ten, StatusWords: was.StatusWords,
				UnverifiedCallerFields: tenant.List{"name", "account"},
			}, nil},
		{"fields of a caller that there are not", map[string]any{"unverified_caller_fields": []any{"nam"}},
			tenant.Settings{
				Timezone: "Europe/Paris", RejectPast: true, DedupeWindow: &ten, StatusWords: was.StatusWords,
				UnverifiedCallerFields: tenant.List{"nam"},
			}, []fault.Field{{
				Path: "settings.unverified_caller_fields", Hint: "name",
				Message: `must be of name, contact_id, email, phone_numbers, account, open_tickets, meeting_titles, not "nam".`,
			}}},
		{"unusable values", map[string]any{"timezone": "Mars/Base", "max_phone_numbers": -1.0}, tenant.Settings{
			Timezone: "Mars/Base", RejectPast: true, DedupeWindow: &ten, StatusWords: was.StatusWords,
			MaxPhoneNumbers: new(-1),
		}, []fault.Field{
			{Path: "settings.timezone", Message: "must be an IANA time zone name such as America/New_York."},
			{Path: "settings.max_phone_numbers", Message: "must be from 0 to 5000."},
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, faults := was.Merge("settings.", c.given)
			if !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(faults, c.faults) {
				t.Errorf("got %+v\n%+v", got, faults)
			}
		})
	}
	if was.Timezone != "Europe/Paris" || was.StatusWords["open"] != "New" {
		t.Errorf("the settings before are changed: %+v", was)
	}
}
