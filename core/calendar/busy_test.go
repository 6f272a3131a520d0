package calendar_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func TestBusyTimes(t *testing.T) {
	noon := time.Date(2027, 3, 8, 12, 0, 0, 0, time.UTC)
	day := calendar.Span{From: noon.Add(-12 * time.Hour), To: noon.Add(12 * time.Hour)}
	lunch := calendar.Span{From: noon, To: noon.Add(time.Hour)}
	throttled := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Wait.")
	gone := fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "Gone.")
	refused := fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "Connect again.")
	read := calendar.Reading{CalendarID: "read", Busy: []calendar.Span{lunch}}
	of := func(err error) calendar.Reading { return calendar.Reading{CalendarID: "other", Err: err} }
	unknown := func(err error) calendar.Busy {
		return calendar.Busy{CalendarID: "other", Span: day, Unknown: err}
	}
	told := calendar.Busy{CalendarID: "read", Span: lunch}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		rule     string
		ctx      context.Context
		readings []calendar.Reading
		want     []calendar.Busy
		err      error
	}{
		{"nothing asked", t.Context(), nil, nil, nil},
		{"all read", t.Context(), []calendar.Reading{read, {CalendarID: "empty"}}, []calendar.Busy{told}, nil},
		{"one throttled", t.Context(), []calendar.Reading{of(throttled), read},
			[]calendar.Busy{unknown(throttled), told}, nil},
		{"one throttled beside an empty one", t.Context(), []calendar.Reading{of(throttled), {CalendarID: "empty"}},
			[]calendar.Busy{unknown(throttled)}, nil},
		{"all throttled", t.Context(), []calendar.Reading{of(throttled), of(throttled)}, nil, throttled},
		{"one throttled, one that does not exist", t.Context(), []calendar.Reading{of(throttled), of(gone)}, nil,
			throttled},
		{"none exists", t.Context(), []calendar.Reading{of(gone)}, []calendar.Busy{unknown(gone)}, nil},
		{"one disconnected", t.Context(), []calendar.Reading{read, of(refused)}, nil, refused},
		{"time is over", ended, []calendar.Reading{read, of(throttled)}, nil, throttled},
		{"time is over once all is read", ended, []calendar.Reading{read}, []calendar.Busy{told}, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := calendar.BusyTimes(c.ctx, day, c.readings)
			if !errors.Is(err, c.err) || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, c.want, c.err)
			}
		})
	}
}
