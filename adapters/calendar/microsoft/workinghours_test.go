package microsoft_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

var workdays = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}

func TestWorkingHours(t *testing.T) {
	t.Parallel()
	in := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return zone
	}
	night := fake.WorkingHours{
		DaysOfWeek: []string{"sunday", "thursday"}, StartTime: "20:30:00.0000000", EndTime: "04:00:00.0000000",
		TimeZone: map[string]any{"name": "Europe/Vienna"},
	}
	custom, never := night, night
	custom.TimeZone = map[string]any{"@odata.type": "#microsoft.graph.customTimeZone", "name": "Customized Time Zone"}
	never.DaysOfWeek = []string{}
	nightly := calendar.WorkingWeek{
		Days: []time.Weekday{time.Sunday, time.Thursday}, Start: 20*time.Hour + 30*time.Minute, End: 4 * time.Hour,
	}
	anywhere := nightly
	nightly.Zone = in("Europe/Vienna")
	for name, c := range map[string]struct {
		how     fake.Options
		mailbox string
		want    calendar.WorkingWeek
		unknown bool
	}{
		"as Outlook has them": {how: fake.Options{Zone: "America/New_York"}, want: calendar.WorkingWeek{
			Days: workdays, Start: 8 * time.Hour, End: 17 * time.Hour, Zone: in("America/New_York"),
		}},
		"with application permissions": {mailbox: email, want: calendar.WorkingWeek{
			Days: workdays, Start: 8 * time.Hour, End: 17 * time.Hour, Zone: in("Etc/UTC"),
		}},
		"over midnight, in a zone by its IANA name": {how: fake.Options{Works: &night}, want: nightly},
		"in a zone that has no name":                {how: fake.Options{Works: &custom}, want: anywhere},
		"on no day":                                 {how: fake.Options{Works: &never}, unknown: true},
		"of a personal account":                     {how: fake.Options{Personal: true}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, c.how, nil)
			a.mailbox = c.mailbox
			got, ok, err := a.open().(calendar.HoursTeller).WorkingHours(t.Context())
			if err != nil || ok == c.unknown {
				t.Fatalf("%+v, %v, %v", got, ok, err)
			}
			if zone := got.Zone; zone != nil && c.want.Zone != nil && zone.String() == c.want.Zone.String() {
				got.Zone, c.want.Zone = nil, nil
			}
			if ok && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// An outage is not taken for an account without working hours, nor is an answer that is none: callers would be offered
// other hours, for as long as those are remembered.
func TestWorkingHoursThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"an outage":           {http.StatusServiceUnavailable, `{"error":{"code":"ErrorServerBusy"}}`},
		"the page of a proxy": {http.StatusOK, "<html>"},
		"cut off":             {http.StatusOK, `{"value":[{"workingHours":{`},
		"another answer":      {http.StatusOK, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, fake.Options{}, nil)
			d := a.open().(calendar.HoursTeller)
			a.FailWith("me/calendar/getSchedule", answer.status, answer.body)
			if _, ok, err := d.WorkingHours(t.Context()); ok || err == nil || fault.From(err).Code == fault.Invalid {
				t.Errorf("%v, %v", ok, err)
			}
		})
	}
}
