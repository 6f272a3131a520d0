package calendartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func seriesChecks() []Check {
	instances := trait(func(t calendar.Traits) bool { return t.Instances })
	changesInstances := both(instances, can[SeriesMaker])
	return []Check{
		{Name: "a series is listed as its instances in the window, each with an id of its own",
			Bound: can[SeriesMaker], Do: with(seriesIsExpanded)},
		{Name: "an instance is read by its id", Bound: can[SeriesMaker], Do: with(instanceIsRead)},
		{Name: "paging through a series loses nothing and repeats nothing", Bound: can[SeriesMaker],
			Do: with(seriesIsPaged)},
		{Name: "a series keeps its wall clock when clocks are set", Bound: can[SeriesMaker],
			Do: with(seriesKeepsWallClock)},
		{Name: "an instance that never was is EVENT_NOT_FOUND", Bound: can[SeriesMaker],
			Do: with(instanceThatNeverWas)},
		{Name: "changing an instance changes that instance alone", Bound: changesInstances,
			Do: with(instanceIsChangedAlone)},
		{Name: "moving an instance moves it alone, even out of the window", Bound: changesInstances,
			Do: with(instanceIsMovedAlone)},
		{Name: "cancelling an instance cancels that instance alone", Bound: changesInstances,
			Do: with(instanceIsCancelledAlone)},
		{Name: "cancelling a cancelled instance is EVENT_NOT_FOUND", Bound: changesInstances,
			Do: with(instanceIsCancelledAgain)},
	}
}

// makeSeries creates a daily series. It returns a query that covers it, and its instances as listed.
func (r *run) makeSeries(
	ctx context.Context, title string, count int,
) (calendar.Query, []calendar.Event, error) {
	s := Series{
		CalendarID: r.Calendar, Title: title + " " + newKey()[:8], Start: r.at(0, 15, 0), Length: 45 * time.Minute,
		Zone: zoneUsed, Rule: fmt.Sprintf("FREQ=DAILY;COUNT=%d", count),
	}
	q := r.query(0, count)
	if err := r.Provider.(SeriesMaker).MakeSeries(ctx, s); err != nil {
		return q, nil, err
	}
	var listed []calendar.Event
	err := r.seen(ctx, func() (err error) {
		listed, err = r.listTitled(ctx, q, s.Title)
		if err == nil && len(listed) != count {
			return fmt.Errorf("%d instances of the series are listed, want %d: %v", len(listed), count, listed)
		}
		return err
	})
	for _, e := range listed {
		r.booked = append(r.booked, refOf(e))
	}
	return q, listed, err
}

func seriesIsExpanded(ctx context.Context, r *run) error {
	_, all, err := r.makeSeries(ctx, "Daily", 6)
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for i, e := range all {
		ids[e.ID] = true
		if e.SeriesID == "" || e.SeriesID != all[0].SeriesID || e.SeriesID == e.ID {
			return fmt.Errorf("instance %d has the id %q and the series %q, the first one's is %q", i, e.ID,
				e.SeriesID, all[0].SeriesID)
		}
	}
	if len(ids) != len(all) {
		return fmt.Errorf("%d instances share %d ids", len(all), len(ids))
	}
	// The window starts within the second instance and ends as the fifth starts.
	q := r.query(0, 0)
	q.From, q.To = all[1].Start.Instant.Add(10*time.Minute), all[4].Start.Instant
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, q, all[0].Title)
		return errors.Join(err, wantIDs("in the middle", listed, all[1:4]...))
	})
}

func instanceIsRead(ctx context.Context, r *run) error {
	_, all, err := r.makeSeries(ctx, "Read one by one", 3)
	if err != nil {
		return err
	}
	for _, listed := range all {
		read, err := r.Open().Event(ctx, refOf(listed))
		if err != nil {
			return err
		}
		if err := wantSame("the instance read beside the one listed", listed, read); err != nil {
			return err
		}
	}
	return nil
}

func seriesIsPaged(ctx context.Context, r *run) error {
	q, all, err := r.makeSeries(ctx, "Over pages", 7)
	if err != nil {
		return err
	}
	q.Limit = 2
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, q, all[0].Title)
		return errors.Join(err, wantIDs("in pages of 2", listed, all...))
	})
}

func seriesKeepsWallClock(ctx context.Context, r *run) error {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	for _, forward := range []bool{true, false} {
		change, err := nextChange(zone, r.base, forward)
		if err != nil {
			return err
		}
		year, month, day := change.In(zone).AddDate(0, 0, -10).Date()
		s := Series{
			CalendarID: r.Calendar, Title: "At nine " + newKey()[:8],
			Start: time.Date(year, month, day, 9, 0, 0, 0, zone), Length: time.Hour, Zone: zone.String(),
			Rule: "FREQ=WEEKLY;COUNT=4",
		}
		if err := r.Provider.(SeriesMaker).MakeSeries(ctx, s); err != nil {
			return err
		}
		q := calendar.Query{
			CalendarID: r.Calendar, From: s.Start.AddDate(0, 0, -1), To: s.Start.AddDate(0, 0, 30), Zone: zoneUsed,
		}
		err = r.seen(ctx, func() error {
			listed, err := r.listTitled(ctx, q, s.Title)
			if err != nil {
				return err
			}
			if len(listed) != 4 {
				return fmt.Errorf("%d instances are listed, want 4", len(listed))
			}
			for i, e := range listed {
				start := time.Date(year, month, day+7*i, 9, 0, 0, 0, zone)
				err := errors.Join(wantSpan("instance", e, start, start.Add(time.Hour)),
					wantZone("instance", e.Start, zone.String()))
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// instanceThatNeverWas asks for instances by ids that resemble those of a series but name no instance.
func instanceThatNeverWas(ctx context.Context, r *run) error {
	_, all, err := r.makeSeries(ctx, "Asked beyond its end", 2)
	if err != nil {
		return err
	}
	for _, id := range []string{all[0].ID + "x", all[0].ID + "_20000101T000000Z", all[1].ID + all[0].ID} {
		_, err := r.driver.Event(ctx, calendar.EventRef{CalendarID: r.Calendar, ID: id})
		if err := conformance.WantFault("Event", err, fault.NotFound, fault.ReasonEventNotFound); err != nil {
			return err
		}
	}
	return nil
}

func instanceIsChangedAlone(ctx context.Context, r *run) error {
	q, all, err := r.makeSeries(ctx, "Changed in one", 4)
	if err != nil {
		return err
	}
	title, description := all[0].Title+", changed", "Of this day alone"
	guests := guests(1)
	change := calendar.Change{Title: &title, Description: &description, Attendees: &guests}
	answer, err := r.driver.Change(ctx, refOf(all[2]), change)
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(all[2]))
	if err != nil {
		return err
	}
	err = errors.Join(
		wantSame("the changed instance", all[2], read, "Title", "Description", "Attendees", "Organizer"),
		wantSame("the answer beside what is read after it", read, answer),
		wantList("invited to the changed instance", addressesOf(read), guests...),
	)
	if err != nil || read.Title != title || read.Description != description {
		return errors.Join(err, fmt.Errorf("the instance's title is %q and its description %q", read.Title,
			read.Description))
	}
	return r.others(ctx, q, all, 2, title)
}

// others checks that all instances but one are unchanged, and that this one is listed once. title is its
// current title; if title is "", the listing of it is not checked.
func (r *run) others(
	ctx context.Context, q calendar.Query, before []calendar.Event, one int, title string,
) error {
	rest := slices.Delete(slices.Clone(before), one, one+1)
	return r.seen(ctx, func() error {
		listed, err := r.list(ctx, q)
		if err != nil {
			return err
		}
		same := slices.DeleteFunc(withTitle(listed, before[one].Title), func(e calendar.Event) bool {
			return e.ID == before[one].ID && title == before[one].Title
		})
		if err := wantIDs("the other instances", same, rest...); err != nil {
			return err
		}
		for i := range same {
			if err := wantSame("another instance", rest[i], same[i]); err != nil {
				return err
			}
		}
		if title == "" {
			return nil
		}
		times := 0
		for _, e := range listed {
			if e.ID == before[one].ID {
				times++
			}
		}
		if times != 1 {
			return fmt.Errorf("the changed instance is listed %d times", times)
		}
		return nil
	})
}

func instanceIsMovedAlone(ctx context.Context, r *run) error {
	q, all, err := r.makeSeries(ctx, "Moved in one", 4)
	if err != nil {
		return err
	}
	// The instance stays within its day: Exchange lets no instance pass its neighbours.
	start, end := all[1].Start.Instant.Add(2*time.Hour), all[1].End.Instant.Add(3*time.Hour)
	if _, err := r.driver.Change(ctx, refOf(all[1]), calendar.Change{
		Start: &start, End: &end, Zone: zoneUsed,
	}); err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(all[1]))
	if err != nil {
		return err
	}
	err = errors.Join(wantSpan("the moved instance", read, start, end),
		wantSame("the moved instance", all[1], read, "Times"))
	if err != nil {
		return err
	}
	if err := r.others(ctx, q, all, 1, all[1].Title); err != nil {
		return err
	}
	// The instance is no longer listed at its old time, but is listed at its new one.
	return r.seen(ctx, func() error {
		there, here := q, q
		there.From, there.To = all[1].Start.Instant, all[1].End.Instant
		here.From, here.To = start, end
		was, err1 := r.listTitled(ctx, there, all[1].Title)
		now, err2 := r.listTitled(ctx, here, all[1].Title)
		return errors.Join(err1, err2, wantIDs("where the instance was", was),
			wantIDs("where the instance is", now, all[1]))
	})
}

func instanceIsCancelledAlone(ctx context.Context, r *run) error {
	q, all, err := r.makeSeries(ctx, "Cancelled in one", 4)
	if err != nil {
		return err
	}
	if err := r.driver.Cancel(ctx, refOf(all[1])); err != nil {
		return err
	}
	return errors.Join(r.wantGone(ctx, refOf(all[1])), r.others(ctx, q, all, 1, ""))
}

func instanceIsCancelledAgain(ctx context.Context, r *run) error {
	_, all, err := r.makeSeries(ctx, "Cancelled twice in one", 3)
	if err != nil {
		return err
	}
	if err := r.driver.Cancel(ctx, refOf(all[1])); err != nil {
		return err
	}
	err = r.driver.Cancel(ctx, refOf(all[1]))
	return conformance.WantFault("Cancel again", err, fault.NotFound, fault.ReasonEventNotFound)
}
