package calendartest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"frontdesk/core/calendar"
)

func formChecks() []Check {
	return []Check{
		{Name: "a whole day is reported as a day, its end exclusive", Bound: can[DayMaker],
			Do: with(dayIsReported)},
		{Name: "a whole day lies in the zone of the query", Bound: can[DayMaker], Do: with(dayLiesInTheZone)},
		{Name: "a whole day stays one when its title changes", Bound: can[DayMaker],
			Do: with(dayStaysADay)},
		{Name: "a whole day that is moved to a time becomes an event of that time",
			Bound: can[DayMaker], Do: with(dayBecomesATime)},
		{Name: "a floating time is reported as one", Bound: can[FloatingMaker], Do: with(floatingIsReported)},
		{Name: "a floating time lies in the zone of the query", Bound: can[FloatingMaker],
			Do: with(floatingLiesInTheZone)},
		{Name: "an event that leaves its owner free is reported as such", Bound: can[FreeMaker],
			Do: with(freeIsReported)},
	}
}

// distantZones lie so far apart that a day in one is another day in the other.
var distantZones = []string{"Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York"}

// day returns the date of the n-th day of the run.
func (r *run) day(n int) calendar.Time {
	return calendar.Day(r.at(n, 0, 0).Date())
}

// floating returns a wall clock of the n-th day.
func (r *run) floating(n, hour int) calendar.Time {
	return calendar.Time{Instant: r.at(n, hour, 0), Floating: true}
}

// listOne returns the one event of a title, as listed, that Provider created.
func (r *run) listOne(ctx context.Context, q calendar.Query, title string) (event calendar.Event, err error) {
	return event, r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, q, title)
		if err != nil {
			return err
		}
		if len(listed) != 1 {
			return fmt.Errorf("%d events of that title are listed, want 1: %+v", len(listed), listed)
		}
		event = listed[0]
		r.booked = append(r.booked, refOf(event))
		return nil
	})
}

// makeDays creates an event of two days and returns it as listed.
func (r *run) makeDays(ctx context.Context, title string) (calendar.Event, error) {
	title += " " + newKey()[:8]
	if err := r.Provider.(DayMaker).MakeDays(ctx, r.Calendar, title, r.day(2), r.day(4)); err != nil {
		return calendar.Event{}, err
	}
	return r.listOne(ctx, r.query(0, 6), title)
}

func dayIsReported(ctx context.Context, r *run) error {
	listed, err := r.makeDays(ctx, "Whole days")
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(listed))
	if err != nil {
		return err
	}
	for what, e := range map[string]calendar.Event{"Events": listed, "Event": read} {
		if tell(e.Start) != tell(r.day(2)) || tell(e.End) != tell(r.day(4)) {
			return fmt.Errorf("%s: from %+v to %+v, want the days %s and %s exclusive", what, e.Start, e.End,
				tell(r.day(2)), tell(r.day(4)))
		}
	}
	return nil
}

// liesInZones looks for an event from firstHour of day 2 to lastHour of day 3, in local time, in distant
// zones.
func (r *run) liesInZones(ctx context.Context, title string, firstHour, lastHour int) error {
	for _, name := range distantZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return err
		}
		year, month, day := r.at(0, 0, 0).Date()
		local := func(n, hour int) time.Time { return time.Date(year, month, day+n, hour, 0, 0, 0, zone) }
		for _, w := range []struct {
			what     string
			from, to time.Time
			listed   bool
		}{
			{"before it", local(1, 0), local(2, firstHour), false},
			{"of its first hour", local(2, firstHour), local(2, firstHour+1), true},
			{"of its last hour", local(3, lastHour-1), local(3, lastHour), true},
			{"after it", local(3, lastHour), local(5, 0), false},
		} {
			q := calendar.Query{CalendarID: r.Calendar, From: w.from, To: w.to, Zone: name}
			err := r.seen(ctx, func() error {
				listed, err := r.listTitled(ctx, q, title)
				if err == nil && (len(listed) == 1) != w.listed {
					return fmt.Errorf("%s: the window %s lists %d events", name, w.what, len(listed))
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func dayLiesInTheZone(ctx context.Context, r *run) error {
	listed, err := r.makeDays(ctx, "Whole days somewhere")
	if err != nil {
		return err
	}
	return r.liesInZones(ctx, listed.Title, 0, 24)
}

func dayStaysADay(ctx context.Context, r *run) error {
	listed, err := r.makeDays(ctx, "Whole days named anew")
	if err != nil {
		return err
	}
	title := listed.Title + ", still"
	if _, err := r.driver.Change(ctx, refOf(listed), calendar.Change{Title: &title}); err != nil {
		return err
	}
	after, err := r.read(ctx, refOf(listed))
	if err != nil {
		return err
	}
	if after.Title != title {
		return fmt.Errorf("the title is %q, want %q", after.Title, title)
	}
	return wantSame("after the change", listed, after, "Title")
}

func dayBecomesATime(ctx context.Context, r *run) error {
	listed, err := r.makeDays(ctx, "Whole days given a time")
	if err != nil {
		return err
	}
	start, end := r.at(3, 15, 0), r.at(3, 16, 0)
	if _, err := r.driver.Change(ctx, refOf(listed), calendar.Change{
		Start: &start, End: &end, Zone: zoneUsed,
	}); err != nil {
		return err
	}
	after, err := r.read(ctx, refOf(listed))
	return errors.Join(err, wantSpan("after the change", after, start, end))
}

func floatingIsReported(ctx context.Context, r *run) error {
	title := "Wherever you are " + newKey()[:8]
	if err := r.Provider.(FloatingMaker).MakeFloating(ctx, r.Calendar, title, r.floating(2, 9),
		r.floating(2, 10)); err != nil {
		return err
	}
	listed, err := r.listOne(ctx, r.query(0, 6), title)
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(listed))
	if err != nil {
		return err
	}
	for what, e := range map[string]calendar.Event{"Events": listed, "Event": read} {
		if tell(e.Start) != tell(r.floating(2, 9)) || tell(e.End) != tell(r.floating(2, 10)) {
			return fmt.Errorf("%s: from %+v to %+v, want %s to %s without a zone", what,
				e.Start, e.End, tell(r.floating(2, 9)), tell(r.floating(2, 10)))
		}
	}
	return nil
}

func floatingLiesInTheZone(ctx context.Context, r *run) error {
	title := "Floating somewhere " + newKey()[:8]
	if err := r.Provider.(FloatingMaker).MakeFloating(ctx, r.Calendar, title, r.floating(2, 9),
		r.floating(3, 10)); err != nil {
		return err
	}
	return r.liesInZones(ctx, title, 9, 10)
}

func freeIsReported(ctx context.Context, r *run) error {
	title := "Does not make busy " + newKey()[:8]
	if err := r.Provider.(FreeMaker).MakeFree(ctx, r.Calendar, title, r.at(2, 9, 0),
		r.at(2, 10, 0)); err != nil {
		return err
	}
	listed, err := r.listOne(ctx, r.query(0, 6), title)
	if err == nil && !listed.IsFree {
		return errors.New("IsFree is not set")
	}
	return err
}
