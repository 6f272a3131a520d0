package api

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/normalize"
	"frontdesk/core/service"
	"frontdesk/core/slots"
)

func TestFindSlotsHandsOverWhatWasAsked(t *testing.T) {
	g := startGateway(t)
	berlin, err := normalize.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day := func(text string) normalize.InputTime {
		at, err := normalize.ParseTime(text, normalize.DateTimeOrDate)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	minutes := func(n int) *time.Duration { d := time.Duration(n) * time.Minute; return &d }
	number := func(n int) *int { return &n }
	for rule, c := range map[string]struct {
		body string
		want service.FindSlots
	}{
		"nothing": {"", service.FindSlots{}},
		"unset fields of proto3 JSON": {`{"start":"","calendar_ids":[],"open_hours":[],"buffer":null,
			"tentative_as_busy":null}`, service.FindSlots{}},
		"everything": {`{"start":"2026-12-01","end":"2026-12-08T12:00:00Z","time_zone":"America/New_York",
			"duration_minutes":45,"slot_interval_minutes":15,"calendar_ids":["a","b","a"],"availability":"any",
			"open_hours":[{"days":["monday","sunday"],"start":"9:00","end":"24:00","time_zone":"Europe/Berlin",
				"exdates":["2026-12-07"]},{"days":["friday"],"start":"20:00","end":"02:00"}],
			"specific_time_availability":[{"date":"2026-12-02","start":"10:00","end":"11:00"},
				{"date":"2026-12-02","start":"14:00","end":"15:00"},{"date":"2026-12-03"}],
			"buffer":{"before_minutes":5,"after_minutes":10},"minimum_notice_minutes":120,"booking_window_days":30,
			"tentative_as_busy":false,"reschedule_meeting_id":"evt_1","hold_id":"hd_1","limit":9,"per_day":3}`,
			service.FindSlots{
				Start: day("2026-12-01"), End: day("2026-12-08T12:00:00Z"), Timezone: "America/New_York",
				CalendarIDs: []string{"a", "b"}, Availability: slots.Any,
				Rules: slots.Rules{
					Hours: &slots.Hours{Weekly: []slots.Weekly{
						{Opening: slots.Opening{Start: 540, End: 1440}, Days: []time.Weekday{time.Monday, time.Sunday},
							Except: []slots.Date{{Year: 2026, Month: 12, Day: 7}}, Zone: berlin},
						{Opening: slots.Opening{Start: 1200, End: 120}, Days: []time.Weekday{time.Friday}},
					}},
					Duration: minutes(45), Interval: minutes(15), Before: minutes(5), After: minutes(10),
					MinimumNotice: minutes(120), BookingWindowDays: number(30), TentativeAsBusy: new(bool),
				},
				SpecificTimes: map[slots.Date][]slots.Opening{
					{Year: 2026, Month: 12, Day: 2}: {{Start: 600, End: 660}, {Start: 840, End: 900}},
					{Year: 2026, Month: 12, Day: 3}: nil,
				},
				RescheduleMeetingID: "evt_1", HoldID: "hd_1", Limit: number(9), PerDay: number(3),
			}},
	} {
		if a := g.post(slotsPath, c.body); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", rule, a.status, a.body)
		}
		if !reflect.DeepEqual(g.input, c.want) {
			t.Errorf("%s: the use case got\n%#v, want\n%#v", rule, g.input, c.want)
		}
	}
}

func TestFaultsOfFindSlotsAreNamedByTheirPlace(t *testing.T) {
	g := startGateway(t)
	for rule, c := range map[string]struct {
		body string
		want map[string]string
	}{
		"scalars": {`{"start":"soon","time_zone":"Mars","duration_minutes":0,"slot_interval_minutes":1441,
			"limit":51,"per_day":0,"availability":"anyone","booking_window_days":-1,"tentative_as_busy":"no"}`,
			map[string]string{
				"start": "RFC 3339", "time_zone": "IANA", "duration_minutes": "from 1 to 1,440",
				"slot_interval_minutes": "from 1 to 1,440", "limit": "from 1 to 50", "per_day": "from 1 to 50",
				"availability": "must be collective or any", "booking_window_days": "from 0 to 730",
				"tentative_as_busy": "must be true or false, not a string",
			}},
		"objects within lists": {`{"open_hours":[{"days":["monday"],"start":"09:00","end":"17:00"},7,
			{"day":["monday"],"start":"9am","end":25},{"days":["funday","mondy"],"start":"09:00","end":"09:00",
			"exdates":["2026-02-30"],"time_zone":"Mars"}]}`, map[string]string{
			"open_hours[1]": "must be an object, not a number", "open_hours[2].day": "did you mean days?",
			"open_hours[2].days": "is required", "open_hours[2].start": "time of day",
			"open_hours[2].end": "must be a string", "open_hours[3].days[0]": "day of the week",
			"open_hours[3].days[1]": "did you mean monday?", "open_hours[3].end": "must not end when it starts",
			"open_hours[3].exdates[0]": "must be a date", "open_hours[3].time_zone": "IANA",
		}},
		"an object": {`{"buffer":{"before":5,"after_minutes":-1}}`, map[string]string{
			"buffer.before": "did you mean before_minutes?", "buffer.after_minutes": "from 0 to 1,440",
		}},
		"wrong kinds": {`{"buffer":5,"open_hours":{"days":["monday"]},"specific_time_availability":[{"start":"09:00"}]}`,
			map[string]string{
				"buffer": "must be an object, not a number", "open_hours": "must be an array of objects, not an object",
				"specific_time_availability[0].date": "is required", "specific_time_availability[0].end": "time of day",
			}},
		"too much": {`{"open_hours":[` + strings.Repeat(`{"days":["monday"],"start":"09:00","end":"17:00"},`, 14) +
			`{"days":["monday"],"start":"09:00","end":"17:00"}]}`,
			map[string]string{"open_hours": "has 15 entries, at most 14"}},
	} {
		t.Run(rule, func(t *testing.T) {
			a := g.post(slotsPath, c.body)
			if a.status != http.StatusBadRequest || a.v1().reason() != "INVALID_REQUEST" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			got := a.v1().violations()
			for name, part := range c.want {
				if detail, found := got[name]; !found || !strings.Contains(detail, part) {
					t.Errorf("%s: said %q, want %q", name, got[name], part)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("it also says %v", got)
			}
		})
	}
	if g.calls != 0 {
		t.Errorf("%d of them reached the use case", g.calls)
	}
}
