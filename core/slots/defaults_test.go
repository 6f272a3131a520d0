package slots_test

import (
	"reflect"
	"testing"
	"time"

	"frontdesk/core/slots"
)

func TestTheNearerRuleWins(t *testing.T) {
	t.Parallel()
	minutes := func(n int) *int { return &n }
	request, wrong := slots.Defaults{DurationMinutes: minutes(20)}.Rules()
	if wrong != nil {
		t.Fatal(wrong)
	}
	connection, _ := slots.Defaults{DurationMinutes: minutes(40), BufferAfterMinutes: minutes(10)}.Rules()
	tenant, _ := slots.Defaults{
		OpenHours: map[string]string{"monday": "08:00-12:00"}, DurationMinutes: minutes(60),
		BufferBeforeMinutes: minutes(5), BufferAfterMinutes: minutes(5), MinimumNoticeMinutes: minutes(90),
		BookingWindowDays: minutes(30), TentativeAsBusy: new(bool),
	}.Rules()
	got := request.Or(connection).Or(tenant).Question()
	want := slots.Question{
		Duration: 20 * time.Minute, Interval: 20 * time.Minute, Before: 5 * time.Minute, After: 10 * time.Minute,
		MinimumNotice: 90 * time.Minute, BookingWindowDays: 30, TentativeIsFree: true,
		Hours: slots.Hours{
			Weekly: []slots.Weekly{{Opening: slots.Opening{Start: 480, End: 720}, Days: []time.Weekday{time.Monday}}},
			Dates:  map[slots.Date][]slots.Opening{},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	half := 30 * time.Minute
	standard := slots.Question{Duration: half, Interval: half, Hours: slots.WorkingWeek()}
	if got := (slots.Rules{}).Question(); !reflect.DeepEqual(got, standard) {
		t.Errorf("without rules got %+v, want %+v", got, standard)
	}
}

func TestSettingsThatCannotBeAreNamed(t *testing.T) {
	t.Parallel()
	zero, many := 0, 1<<20
	_, wrong := slots.Defaults{
		OpenHours: map[string]string{"monday": "early"}, DurationMinutes: &zero, SlotIntervalMinutes: &zero,
		BufferBeforeMinutes: &many, BufferAfterMinutes: &many, MinimumNoticeMinutes: &many,
		BookingWindowDays: &many,
	}.Rules()
	var names []string
	for _, w := range wrong {
		names = append(names, w.Name)
	}
	want := []string{
		"open_hours", "duration_minutes", "slot_interval_minutes", "buffer_before_minutes", "buffer_after_minutes",
		"minimum_notice_minutes", "booking_window_days",
	}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("named %v, want %v", names, want)
	}
}
