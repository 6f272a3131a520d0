package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/singleflight"
	"frontdesk/core/store/storetest"
)

// settled waits for what the process reads and stores in the background.
func (p *process) settled(t *testing.T, c apikey.Caller) {
	t.Helper()
	id := c.Connections[adapter.KindCalendar].ID
	for _, key := range []string{id, "save " + id} {
		nothing := func(context.Context) (struct{}, error) { return struct{}{}, nil }
		_, _ = singleflight.Do(background, p.Calendar.kept.background, key, nothing) // or joins what is under way
	}
}

// anyZone lists a week and names no zone, so that the calendar's counts.
func anyZone(t *testing.T) ListEvents {
	t.Helper()
	return ListEvents{Start: when(t, "2030-03-04"), End: when(t, "2030-03-11")}
}

func (p *process) list(t *testing.T, c apikey.Caller, in ListEvents) []string {
	t.Helper()
	answer, err := p.Calendar.List(background, c, in)
	if err != nil {
		t.Fatal(err)
	}
	p.settled(t, c)
	return subjects(answer)
}

// asksFor fails unless the provider was asked that often for the list of calendars.
func (w *world) asksFor(t *testing.T, lists int) {
	t.Helper()
	if got := w.meetings.called("calendars"); got != lists {
		t.Errorf("the list of calendars was asked for %d times, want %d", got, lists)
	}
}

// Neither the list nor the events are answered before both are asked for.
func TestAFirstCallIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*process, apikey.Caller) error{
		"list-events": func(p *process, c apikey.Caller) error {
			_, err := p.Calendar.List(background, c, anyZone(t))
			return err
		},
		"find-slots": func(p *process, c apikey.Caller) error {
			_, err := p.Calendar.FindSlots(background, c, FindSlots{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.calendars[0].Zone = "" // the tenant's
			asked := map[bool]chan struct{}{true: make(chan struct{}), false: make(chan struct{})}
			w.meetings.script(func(_ *process, call string) reaction {
				return reaction{before: func(ctx context.Context) error {
					isList := call == "calendars"
					close(asked[isList]) // panics if it is asked twice
					select {
					case <-asked[!isList]:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}
			})
			if err := call(p, c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAZoneThatWasGuessedWrongIsNotUsed(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.put(calendar.Event{ // on Sunday in UTC, and on Monday in Berlin
		CalendarID: "side", Title: "early", Start: calendar.At(when(t, "2030-03-03T23:30:00Z").In(time.UTC), "UTC"),
		End: calendar.At(when(t, "2030-03-03T23:45:00Z").In(time.UTC), "UTC"),
	})
	in := anyZone(t)
	in.CalendarIDs = []string{"side"}
	if got := p.list(t, c, in); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	w.clock.advance(2 * sureFor)
	w.meetings.mu.Lock()
	w.meetings.calendars[1].Zone = "America/New_York"
	w.meetings.mu.Unlock()
	if got := p.list(t, c, in); len(got) != 0 {
		t.Errorf("the zone has changed at the provider, and got %v", got)
	}
}

func TestTheListOfCalendarsIsKeptWithTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	c := w.tenant("acme")
	first := w.start()
	first.list(t, c, anyZone(t))
	first.list(t, c, anyZone(t))
	w.asksFor(t, 1)

	second := w.start() // another replica, or the same one after a restart
	second.list(t, c, anyZone(t))
	w.asksFor(t, 1)

	w.clock.advance(askAfter) // used, and read again in the background, once
	second.list(t, c, anyZone(t))
	second.list(t, c, anyZone(t))
	w.asksFor(t, 2)
	first.list(t, c, anyZone(t)) // the other replica has it from the store
	w.asksFor(t, 2)

	w.clock.advance(sureFor) // no longer used unless it is confirmed
	second.list(t, c, anyZone(t))
	w.asksFor(t, 3)
}

func TestAChangedConnectionHasNoListOfCalendars(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	p.list(t, c, anyZone(t))
	changed := c.Connections[adapter.KindCalendar]
	changed.Revision++ // other settings, or another account
	c.Connections[adapter.KindCalendar] = changed
	p.list(t, c, anyZone(t))
	w.asksFor(t, 2)
	p.list(t, c, anyZone(t))
	w.asksFor(t, 2)
}

func TestNoTenantSeesTheCalendarsOfAnother(t *testing.T) {
	t.Parallel()
	w, p, acme := sqliteWorld(t)
	other := w.tenant("other")
	p.list(t, acme, anyZone(t))
	p.list(t, other, anyZone(t))
	w.asksFor(t, 2)
}

func TestAListThatCannotBeReadBehindIsNotAskedForByEveryCall(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	p.list(t, c, anyZone(t))
	w.clock.advance(askAfter)
	w.meetings.script(func(_ *process, call string) reaction {
		return reaction{before: func(context.Context) error {
			if call != "calendars" {
				return nil
			}
			return fault.New(fault.NotFound, fault.ReasonProviderUnavailable, "Not now.") // not tried again
		}}
	})
	for range 5 {
		p.list(t, c, anyZone(t))
	}
	w.asksFor(t, 2)
	w.clock.advance(askAgainAfter)
	p.list(t, c, anyZone(t))
	w.asksFor(t, 3)
	w.clock.advance(sureFor)
	if _, err := p.Calendar.List(background, c, anyZone(t)); err == nil {
		t.Error("a list that is too old and cannot be read again was used")
	}
}

func TestACalendarThatIsGoneEndsTheUseOfTheList(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	p.list(t, c, anyZone(t))
	w.clock.advance(2 * askAfter)
	w.meetings.mu.Lock()
	w.meetings.calendars[0].ID = "moved"
	w.meetings.mu.Unlock()
	w.meetings.once("calendars", reaction{before: func(context.Context) error {
		return fault.New(fault.NotFound, fault.ReasonProviderUnavailable, "Not now.")
	}})
	if _, err := p.Calendar.List(background, c, anyZone(t)); !errors.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	p.settled(t, c)
	if _, err := p.Calendar.List(background, c, anyZone(t)); err != nil {
		t.Errorf("the calendar that is the default now is not found: %v", err)
	}
}

// A caller who asks for what does not exist costs no list of calendars each time.
func TestAnUnknownCalendarLeavesARecentListInUse(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	in := anyZone(t)
	in.CalendarIDs = []string{"unknown"}
	for range 3 {
		if _, err := p.Calendar.List(background, c, in); !errors.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	}
	w.asksFor(t, 1)
}

// Where busy times have to be read from events, a calendar that fails once is read all the same.
func TestACalendarThatFailsOnceAmongOthersIsReadAgain(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	failed := false
	w.meetings.script(func(_ *process, call string) reaction {
		return reaction{before: func(context.Context) error {
			if !strings.HasPrefix(call, "events/side") || failed {
				return nil
			}
			failed = true
			return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "Not now.")
		}}
	})
	answer, err := p.Calendar.FindSlots(background, c, FindSlots{CalendarIDs: []string{"main", "side", "third"}})
	if err != nil || !answer.Complete || !failed {
		t.Errorf("got %+v, %v", answer, err)
	}
}
