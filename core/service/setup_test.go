package service

import (
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
)

// reconfigure changes the caller's calendar connection.
func (w *world) reconfigure(c apikey.Caller, change func(*connection.Connection)) apikey.Caller {
	changed := connection.Set{}
	for kind, conn := range c.Connections {
		if kind == adapter.KindCalendar {
			change(&conn)
			conn.Revision++
		}
		changed[kind] = conn
	}
	c.Connections = changed
	return w.with(c)
}

// A call that was cut off has its effect in the calendar to which its connection led when it began.
func TestACallThatWasCutOffActsNotInAnotherCalendar(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
		call string
		do   func(*testing.T, *process, apikey.Caller) error
	}{
		"a booking": {"book", func(t *testing.T, p *process, c apikey.Caller) error {
			_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "one", 10))
			return err
		}},
		"a change": {"change", func(t *testing.T, p *process, c apikey.Caller) error {
			_, err := p.Calendar.Update(asKey(c), c, key("k"), UpdateMeeting{EventID: "there", Title: "new"})
			return err
		}},
		"a cancellation": {"cancel", func(t *testing.T, p *process, c apikey.Caller) error {
			_, err := p.Calendar.Cancel(asKey(c), c, key("k"), CancelMeeting{EventID: "there"})
			return err
		}},
	}
	for change, with := range map[string]struct {
		to        func(*connection.Connection)
		elsewhere bool
	}{
		"another default calendar": {func(c *connection.Connection) {
			c.Settings = map[string]any{"calendar_id": "side"}
		}, true},
		"another account": {func(c *connection.Connection) { c.Email = "other@example.com" }, true},
		"the same account": {func(c *connection.Connection) {
			c.Email, c.Settings = "Office@example.com", map[string]any{adapter.SettingSlots: map[string]any{}}
		}, false},
	} {
		for name, cut := range calls {
			for _, acted := range []bool{false, true} {
				t.Run(name+", "+change, func(t *testing.T) {
					w, p, c := sqliteWorld(t)
					w.meetings.put(calendar.Event{
						ID: "there", Start: calendar.At(hour(14), "UTC"), End: calendar.At(hour(15), "UTC"),
					})
					lost := reaction{before: fails(cutOff())}
					if acted {
						lost = reaction{after: fails(cutOff())}
					}
					w.meetings.times(3, cut.call, lost)
					wantReason(t, cut.do(t, p, c), fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
					w.meetings.script(nil)
					if with.elsewhere {
						w.meetings.calendars[0].IsDefault, w.meetings.calendars[1].IsDefault = false, true
					}
					c = w.reconfigure(c, with.to)
					p.recover(t)
					err := cut.do(t, p, c)
					effects := w.meetings.booked + w.meetings.changed + w.meetings.cancelled
					switch {
					case !with.elsewhere && (err != nil || effects != 1):
						t.Errorf("%v; %d effects", err, effects)
					case with.elsewhere && effects > 1:
						t.Errorf("%d effects", effects)
					case with.elsewhere:
						wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
						if !fault.From(err).IsUnknowable() {
							t.Errorf("it may be repeated: %v", err)
						}
					}
				})
			}
		}
	}
}

// Whoever asks for the cancellation once more is told of the calendar to which the connection leads now.
func TestACancellationInAnotherCalendarIsNoneOfTheSameMeeting(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
	w.cancelsInDoubt(p, c, id, reaction{before: fails(cutOff())})
	w.meetings.script(func(_ *process, call string) reaction {
		if call == "cancel" { // the other account has no such event
			return reaction{before: fails(fault.New(fault.NotFound, fault.ReasonEventNotFound, "No such event."))}
		}
		return reaction{}
	})
	c = w.reconfigure(c, func(c *connection.Connection) { c.Email = "other@example.com" })
	_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
	wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
}
