package service

import (
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
