package adapter

import (
	"context"
	"reflect"
	"testing"

	"frontdesk/core/calendar"
	"frontdesk/core/slots"
)

func TestEveryCalendarConnectionMayHaveRulesForSlots(t *testing.T) {
	type settings struct {
		Name string `setting:"name" required:"true" help:"A name."`
	}
	var opened settings
	a := Calendar(Declaration{Name: "x", AuthOf: AuthBy(func(settings) (Auth, error) { return Auth{}, nil })},
		func(_ context.Context, s settings, _ Environment) (calendar.Driver, error) {
			opened = s
			return nil, nil
		})
	number := func(n int) *int { return &n }
	want := slots.Defaults{
		OpenHours: map[string]string{"monday": "09:00-17:00"}, DurationMinutes: number(45), BufferAfterMinutes: number(0),
	}
	for rule, given := range map[string]any{
		"as JSON values": map[string]any{
			"open_hours": map[string]any{"monday": "09:00-17:00"}, "duration_minutes": 45.0, "buffer_after_minutes": 0.0,
		},
		"typed": map[string]any{
			"open_hours": map[string]any{"monday": "09:00-17:00"}, "duration_minutes": "45", "buffer_after_minutes": "0",
		},
		"as text": `{"open_hours": {"monday": "09:00-17:00"}, "duration_minutes": 45, "buffer_after_minutes": 0}`,
	} {
		v := Values{Settings: map[string]any{"name": "n", "slots": given}}
		if err := a.Check(v); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
		if got, err := SlotDefaults(v.Settings); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", rule, got, err)
		}
		if _, err := a.OpenCalendar(t.Context(), v, Environment{}); err != nil || opened.Name != "n" {
			t.Errorf("%s: opened with %+v, %v", rule, opened, err)
		}
		if _, err := a.With(v); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if got, err := SlotDefaults(nil); err != nil || !reflect.DeepEqual(got, slots.Defaults{}) {
		t.Errorf("without rules: %+v, %v", got, err)
	}

	err := a.Check(Values{Settings: map[string]any{"slots": map[string]any{
		"open_hours": map[string]any{"funday": "09:00-17:00"}, "duration_minutes": 0.0,
	}}})
	if got := pathsOf(err); !reflect.DeepEqual(got, []string{
		"settings.name", "settings.slots.open_hours", "settings.slots.duration_minutes",
	}) {
		t.Errorf("wrong are %v", got)
	}
	err = a.Check(Values{Settings: map[string]any{"name": "n", "slots": map[string]any{"opening": 1}}})
	if got := pathsOf(err); !reflect.DeepEqual(got, []string{"settings.slots.opening"}) {
		t.Errorf("wrong are %v", got)
	}
}
