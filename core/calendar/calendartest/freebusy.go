package calendartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func freeBusyChecks() []Check {
	return []Check{
		{Name: "free/busy tells the booked times", Bound: tellsBusy, Do: with(busyIsReported)},
		{Name: "free/busy tells nothing of cancelled and of free events", Bound: tellsBusy,
			Do: with(freeIsNotBusy)},
		{Name: "free/busy tells the instances of a series", Bound: both(can[SeriesMaker], tellsBusy),
			Do: with(seriesIsBusy)},
		{Name: "free/busy agrees with the events", Bound: tellsBusy, Do: with(busyAgrees)},
		{Name: "free/busy tells each calendar's times as that calendar's",
			Bound: both(hasSecond, tellsBusy), Do: with(busyPerCalendar)},
		{Name: "free/busy and the events count alike: what the account declined is free, any other invitation is busy",
			Bound: both(can[Inviter], can[Answerer], hasEmail, tellsBusy), Do: with(onFreeDay(declinedIsFree))},
		{Name: "free/busy names a calendar that cannot be read, and tells the others",
			Bound: tellsBusy, Do: with(onFreeDay(unknownIsNamed))},
	}
}

func tellsBusy(h Harness) bool {
	_, can := h.Open().(calendar.FreeBusyer)
	return can
}

// onFreeDay lets a check begin on a day on which the account is not busy, if it finds one. The account has events
// of its own, and other checks leave series that somebody else made.
func onFreeDay(do func(context.Context, *run) error) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		for range 50 {
			busy, err := r.busy(ctx, calendar.Span{From: r.at(0, 0, 0), To: r.at(1, 0, 0)}, r.Calendar)
			if err != nil || len(busy) == 0 {
				break // the check itself tells of an error
			}
			r.base = randomDay(r.Now())
		}
		return do(ctx, r)
	}
}

// busy returns the busy spans of the calendars, clipped to the span, joined and in order.
func (r *run) busy(ctx context.Context, span calendar.Span, calendarIDs ...string) ([]calendar.Span, error) {
	list, err := r.driver.(calendar.FreeBusyer).FreeBusy(ctx, calendarIDs, span)
	if err != nil {
		return nil, fmt.Errorf("FreeBusy: %w", err)
	}
	spans := make([]calendar.Span, 0, len(list))
	for _, b := range list {
		if !slices.Contains(calendarIDs, b.CalendarID) {
			return nil, fmt.Errorf("FreeBusy answered times of %q, which was not asked for", b.CalendarID)
		}
		spans = append(spans, b.Span)
	}
	return joinSpans(spans, span), nil
}

// joinSpans sorts spans, clips them to within and joins those that overlap or touch.
func joinSpans(spans []calendar.Span, within calendar.Span) []calendar.Span {
	var all []calendar.Span
	slices.SortFunc(spans, func(a, b calendar.Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		if s.From.Before(within.From) {
			s.From = within.From
		}
		if s.To.After(within.To) {
			s.To = within.To
		}
		if !s.From.Before(s.To) {
			continue
		}
		if last := len(all) - 1; last >= 0 && !s.From.After(all[last].To) {
			if s.To.After(all[last].To) {
				all[last].To = s.To
			}
			continue
		}
		all = append(all, s)
	}
	return all
}

func wantSpans(what string, got []calendar.Span, want ...calendar.Span) error {
	same := slices.EqualFunc(got, want,
		func(a, b calendar.Span) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) })
	if !same {
		return fmt.Errorf("%s: busy %v, want %v", what, got, want)
	}
	return nil
}

func busyIsReported(ctx context.Context, r *run) error {
	b := r.booking("Busy", 0)
	if _, err := r.book(ctx, b); err != nil {
		return err
	}
	for what, span := range map[string]calendar.Span{
		"the event's own time": {From: b.Start, To: b.End},
		"within the event":     {From: b.Start.Add(10 * time.Minute), To: b.Start.Add(20 * time.Minute)},
	} {
		err := r.seen(ctx, func() error {
			got, err := r.busy(ctx, span, r.Calendar)
			return errors.Join(err, wantSpans(what, got, span))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func freeIsNotBusy(ctx context.Context, r *run) error {
	b := r.booking("Not busy", 0)
	if _, err := r.bookAndCancel(ctx, b); err != nil {
		return err
	}
	span := calendar.Span{From: b.Start, To: b.End}
	if maker, can := r.Provider.(FreeMaker); can {
		if err := maker.MakeFree(ctx, r.Calendar, b.Title, b.Start, b.End); err != nil {
			return err
		}
	}
	return r.seen(ctx, func() error {
		events, err := r.list(ctx, calendar.Query{CalendarID: r.Calendar, From: b.Start, To: b.End, Zone: zoneUsed})
		if err != nil {
			return err
		}
		got, err := r.busy(ctx, span, r.Calendar)
		return errors.Join(err, wantSpans("after the cancellation", got, busyOf(events, span, r.Email)...))
	})
}

// busyOf returns the busy spans of the events in a window, for an account with that address. Whole days and
// floating times are read in zoneUsed.
func busyOf(events []calendar.Event, within calendar.Span, email string) []calendar.Span {
	zone, err := time.LoadLocation(zoneUsed)
	if err != nil {
		zone = time.UTC
	}
	instantOf := func(t calendar.Time) time.Time {
		if !t.AllDay && !t.Floating {
			return t.Instant
		}
		u := t.Instant.UTC()
		return time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), 0, zone)
	}
	var spans []calendar.Span
	for _, e := range events {
		isDeclined := slices.ContainsFunc(e.Attendees, func(a calendar.Attendee) bool {
			return email != "" && strings.EqualFold(a.Email, email) && a.Response == "declined"
		})
		if !e.IsFree && !e.IsCancelled && !isDeclined {
			spans = append(spans, calendar.Span{From: instantOf(e.Start), To: instantOf(e.End)})
		}
	}
	return joinSpans(spans, within)
}

func seriesIsBusy(ctx context.Context, r *run) error {
	_, all, err := r.makeSeries(ctx, "Busy each day", 3)
	if err != nil {
		return err
	}
	span := calendar.Span{From: all[1].Start.Instant, To: all[1].End.Instant}
	return r.seen(ctx, func() error {
		got, err := r.busy(ctx, span, r.Calendar)
		return errors.Join(err, wantSpans("at the second instance", got, span))
	})
}

func busyAgrees(ctx context.Context, r *run) error {
	b := r.booking("Beside others", 0)
	for i := range 4 { // each overlaps the next, but the last is apart
		b.Key = newKey()
		if i == 3 {
			b.Start, b.End = r.at(0, 20, 0), r.at(0, 20, 30)
		}
		if _, err := r.book(ctx, b); err != nil {
			return err
		}
		length := b.End.Sub(b.Start)
		b.Start, b.End = b.Start.Add(length/2), b.End.Add(length)
	}
	q := r.query(0, 0)
	q.From, q.To = r.at(0, 15, 30), r.at(0, 23, 0)
	span := calendar.Span{From: q.From, To: q.To}
	return r.seen(ctx, func() error {
		events, err := r.list(ctx, q)
		if err != nil {
			return err
		}
		got, err := r.busy(ctx, span, r.Calendar)
		return errors.Join(err, wantSpans("beside the events", got, busyOf(events, span, r.Email)...))
	})
}

func busyPerCalendar(ctx context.Context, r *run) error {
	b := r.booking("Busy in the second", 0)
	b.CalendarID = r.Second
	if _, err := r.book(ctx, b); err != nil {
		return err
	}
	span := calendar.Span{From: b.Start, To: b.End}
	return r.seen(ctx, func() error {
		list, err := r.driver.(calendar.FreeBusyer).FreeBusy(ctx, []string{r.Calendar, r.Second}, span)
		if err != nil {
			return err
		}
		var second []calendar.Span
		for _, busy := range list {
			if busy.CalendarID == r.Second {
				second = append(second, busy.Span)
			}
		}
		return wantSpans("the second calendar", joinSpans(second, span), span)
	})
}

func hasEmail(h Harness) bool { return h.Email != "" }

func declinedIsFree(ctx context.Context, r *run) error {
	q, invited, err := r.invite(ctx, "Invited", "", 1)
	if err != nil {
		return err
	}
	span := calendar.Span{From: invited[0].Start.Instant, To: invited[0].End.Instant}
	for _, answer := range []struct {
		response string // "": none yet
		busy     []calendar.Span
	}{{"", []calendar.Span{span}}, {"tentative", []calendar.Span{span}}, {"declined", nil},
		{"accepted", []calendar.Span{span}}} {
		if answer.response != "" {
			err := r.Provider.(Answerer).Answer(ctx, refOf(invited[0]), r.Email, answer.response)
			if err != nil {
				return err
			}
		}
		if err := r.seen(ctx, func() error {
			events, err := r.listTitled(ctx, q, invited[0].Title)
			if err != nil {
				return err
			}
			got, err := r.busy(ctx, span, r.Calendar)
			return errors.Join(err, wantSpans("with the answer "+answer.response, got, answer.busy...),
				wantSpans("the events with the answer "+answer.response, busyOf(events, span, r.Email), answer.busy...))
		}); err != nil {
			return err
		}
	}
	return nil
}

func unknownIsNamed(ctx context.Context, r *run) error {
	b := r.booking("Beside an unknown one", 0)
	if _, err := r.book(ctx, b); err != nil {
		return err
	}
	span := calendar.Span{From: b.Start.Add(-time.Hour), To: b.End.Add(time.Hour)}
	nobodys := r.unknownCalendar()
	return r.seen(ctx, func() error {
		list, err := r.driver.(calendar.FreeBusyer).FreeBusy(ctx, []string{nobodys, r.Calendar}, span)
		if err != nil {
			return fmt.Errorf("FreeBusy: %w", err)
		}
		var known, unknown []calendar.Span
		for _, busy := range list {
			if busy.CalendarID != nobodys {
				known = append(known, busy.Span)
				continue
			}
			unknown = append(unknown, busy.Span)
			if err := conformance.WantFault("FreeBusy", busy.Unknown, fault.NotFound,
				fault.ReasonCalendarNotFound); err != nil {
				return err
			}
		}
		return errors.Join(
			wantSpans("the known calendar", joinSpans(known, span), calendar.Span{From: b.Start, To: b.End}),
			wantSpans("the unknown calendar", joinSpans(unknown, span), span))
	})
}
