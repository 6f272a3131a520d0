package service

import (
	"cmp"
	"context"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/parallel"
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
	var hours *slots.Hours
	reading, cancel := calendar.WithShare(ctx, readingShare)
	asking := parallel.New()
	asking.Go(func() (err error) {
		defer cancel()
		hours, err = c.hours.get(c.connection, func() (*slots.Hours, error) {
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
		return nil
	})
	return func(q *slots.Question) {
		_ = asking.Wait() // no function fails
		if hours != nil {
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

// readLength begins to read how long the meeting takes that is to be moved, unless the request says how long it is to
// take: who moves a meeting changes when it is. The function that it returns waits for the result and puts it into the
// question and the input. If the meeting cannot be read, or no slot can be as long, both stay as they are.
func (c calendarClient) readLength(ctx context.Context, in FindSlots) func(*slots.Question, *FindSlots) {
	rules, err := c.rules()
	if err != nil || in.RescheduleMeetingID == "" || in.Rules.Duration != nil {
		return func(*slots.Question, *FindSlots) {}
	}
	var length time.Duration
	reading, cancel := calendar.WithShare(ctx, readingShare)
	asking := parallel.New()
	asking.Go(func() error {
		defer cancel()
		length = c.lengthOf(reading, in)
		return nil
	})
	return func(q *slots.Question, of *FindSlots) {
		_ = asking.Wait() // no function fails
		if slots.LimitDuration.Check(int(length/time.Minute)) != nil {
			return
		}
		q.Duration, of.Rules.Duration = length, &length
		if in.Rules.Or(rules).Interval == nil {
			q.Interval = length
		}
	}
}

// lengthOf returns the length of the meeting that is to be moved, in whole minutes. It is 0 if that cannot be read or
// is a number of days.
func (c calendarClient) lengthOf(ctx context.Context, in FindSlots) time.Duration {
	// Not in each calendar that is searched, one after the other: the answer waits for it.
	ids, _, err := c.candidates(ctx, in.RescheduleMeetingID, named(cmp.Or(in.movesIn, first(in.CalendarIDs))))
	if err != nil {
		return 0
	}
	event, err := c.readEvent(ctx, ids, in.RescheduleMeetingID)
	if err != nil || event.Start.AllDay {
		return 0
	}
	span := spanOf(event)
	return (span.To.Sub(span.From) + time.Minute - 1).Truncate(time.Minute)
}
