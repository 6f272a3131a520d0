package service

import (
	"cmp"
	"context"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/slots"
)

// readHours begins to read when the calendar's owner works, if neither the request nor a setting says when
// meetings may take place. The function that it returns waits for the result and puts it into the question. If
// the provider does not tell it, or not in time, the question keeps its hours.
func (c calendarClient) readHours(ctx context.Context, in FindSlots) func(*slots.Question) {
	teller, can := c.driver.(calendar.HoursTeller)
	rules, err := c.rules()
	if !can || err != nil || in.Rules.Or(rules).Hours != nil {
		return func(*slots.Question) {}
	}
	told := make(chan *slots.Hours, 1)
	reading, cancel := withShare(ctx, readingShare)
	go func() {
		defer cancel()
		hours, err := c.hours.get(c.connection, func() (*slots.Hours, error) {
			return ask(reading, c.endpoint, read("working-hours"), func(ctx context.Context) (*slots.Hours, error) {
				week, ok, err := teller.WorkingHours(ctx)
				if err != nil || !ok {
					return nil, err
				}
				return hoursOf(week), nil
			})
		})
		if err != nil {
			c.opts.Log.WarnContext(ctx, "the working hours could not be read; slots are from Monday to Friday, 9 to 17",
				"connection", c.connection.ID, "error", err)
		}
		told <- hours
	}()
	return func(q *slots.Question) {
		if hours := <-told; hours != nil {
			q.Hours.Weekly = hours.Weekly
		}
	}
}

func hoursOf(w calendar.WorkingWeek) *slots.Hours {
	clock := func(d time.Duration) slots.Clock { return slots.Clock(d / time.Minute) }
	return &slots.Hours{Weekly: []slots.Weekly{{
		Opening: slots.Opening{Start: clock(w.Start), End: clock(w.End)}, Days: w.Days, Zone: w.Zone,
	}}}
}

// readMoved begins to read the meeting that is to be moved: how long it takes, unless the request says how long it is
// to take, since who moves a meeting changes when it is; and in which calendar it is, where somebody may have dragged
// it to another. The function that it returns waits for the result.
func (c calendarClient) readMoved(ctx context.Context, in FindSlots) func() moved {
	if in.RescheduleMeetingID == "" || in.Rules.Duration != nil && c.tellsCalendars() {
		return func() moved { return moved{} }
	}
	told := make(chan moved, 1)
	reading, cancel := withShare(ctx, readingShare)
	go func() {
		defer cancel()
		told <- c.movedOf(reading, in)
	}()
	return func() moved { return <-told }
}

// moved is what is known of a meeting that is to be moved.
type moved struct {
	length time.Duration // in whole minutes; 0: it cannot be read, or is a number of days
	where  string        // the calendar in which it was found; "": it is not known, or need not be
}

// putLength puts a length into a question and its input, unless the request says how long a meeting is to take. If it
// is not known, or no slot can be as long, both stay as they are.
func (c calendarClient) putLength(length time.Duration, q *slots.Question, in *FindSlots) {
	rules, err := c.rules()
	if err != nil || in.Rules.Duration != nil || slots.LimitDuration.Check(int(length/time.Minute)) != nil {
		return
	}
	q.Duration, in.Rules.Duration = length, &length
	if in.Rules.Or(rules).Interval == nil {
		q.Interval = length
	}
}

func (c calendarClient) movedOf(ctx context.Context, in FindSlots) (m moved) {
	event, err := c.toMove(ctx, in)
	if err != nil {
		return m
	}
	m.length = lengthOf(event)
	if !c.tellsCalendars() {
		if m.where, err = c.locate(ctx, event); err != nil {
			m.where = ""
		}
	}
	return m
}

// toMove reads the meeting that is to be moved. It is not looked for in each calendar that is searched, one after the
// other: the answer waits for it.
func (c calendarClient) toMove(ctx context.Context, in FindSlots) (calendar.Event, error) {
	ids, _, err := c.candidates(ctx, in.RescheduleMeetingID, named(cmp.Or(in.movesIn, first(in.CalendarIDs))))
	if err != nil {
		return calendar.Event{}, err
	}
	return c.readEvent(ctx, ids, in.RescheduleMeetingID)
}

// lengthOf returns the length of an event in whole minutes. It is 0 if that is a number of days.
func lengthOf(e calendar.Event) time.Duration {
	if e.Start.AllDay {
		return 0
	}
	span := spanOf(e)
	return (span.To.Sub(span.From) + time.Minute - 1).Truncate(time.Minute)
}
