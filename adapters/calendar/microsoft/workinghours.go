package microsoft

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// WorkingHours returns the hours that the mailbox's owner has set in Outlook. getSchedule tells them without the
// permission MailboxSettings.Read (learn.microsoft.com/graph/api/calendar-getschedule). Of personal accounts it
// tells nothing.
func (d *driver) WorkingHours(ctx context.Context) (calendar.WorkingWeek, bool, error) {
	var none calendar.WorkingWeek
	account, err := d.Account(ctx)
	if err != nil || account.Email == "" {
		return none, false, err
	}
	now := d.now().UTC().Truncate(time.Minute)
	answer, err := ask[graph.GetSchedulePostResponse](ctx, d, exchange{}, graph.Request{
		Method: http.MethodPost, Path: d.user() + "/calendar/getSchedule", Prefer: preferTimes,
		Body: graph.GetSchedulePostRequestBody{
			Schedules: []string{account.Email},
			StartTime: inUniversalTime(now), EndTime: inUniversalTime(now.Add(time.Hour)),
		},
	})
	if err == nil && answer.Value == nil {
		err = noList()
	}
	if err != nil {
		_, isUnread := errors.AsType[*graph.Unreadable](err)
		switch fault.From(err).Code {
		case fault.Invalid, fault.Forbidden, fault.NotFound, fault.Unsupported:
			if !isUnread {
				return none, false, nil // not for this account
			}
		}
		return none, false, err
	}
	if len(answer.Value) != 1 {
		return none, false, nil
	}
	w, ok := readWorkingHours(answer.Value[0].WorkingHours)
	return w, ok, nil
}

func inUniversalTime(t time.Time) *graph.DateTimeTimeZone {
	zone, clock := "UTC", t.Format(wallClock)
	return &graph.DateTimeTimeZone{DateTime: &clock, TimeZone: &zone}
}

func readWorkingHours(h *graph.WorkingHours) (w calendar.WorkingWeek, ok bool) {
	if h == nil {
		return w, false
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if slices.Contains(h.DaysOfWeek, strings.ToLower(day.String())) {
			w.Days = append(w.Days, day)
		}
	}
	// A zone that somebody made up has no name that anybody else knows.
	if h.TimeZone != nil && text(h.TimeZone.Name) != "" {
		w.Zone = readZone(text(h.TimeZone.Name))
	}
	var startErr, endErr error
	w.Start, startErr = timeOfDay(text(h.StartTime))
	w.End, endErr = timeOfDay(text(h.EndTime))
	return w, len(w.Days) > 0 && startErr == nil && endErr == nil && w.Start != w.End
}

// timeOfDay parses "08:00:00.0000000".
func timeOfDay(text string) (time.Duration, error) {
	t, err := time.Parse("15:04:05", text)
	if err != nil {
		return 0, err
	}
	return t.Sub(t.Truncate(24 * time.Hour)), nil
}
