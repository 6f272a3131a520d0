package calendartest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
)

// run is the state of one check: a driver, days that other checks hardly use, and what it booked.
type run struct {
	Harness
	driver calendar.Driver
	traits calendar.Traits
	base   time.Time
	booked []calendar.EventRef
}

// with runs a check with a new run, and removes afterwards what it booked.
func with(do func(ctx context.Context, r *run) error) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) error {
		driver := h.Open()
		r := &run{Harness: h, driver: driver, traits: driver.Traits(), base: randomDay(h.Now())}
		defer r.clean(context.WithoutCancel(ctx))
		return do(ctx, r)
	}
}

// randomDay returns the start of a day, in UTC, between 40 and 240 days from now.
func randomDay(now time.Time) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 40+mathrand.IntN(200))
}

// clean removes what was booked. It ignores errors, because a check may have stopped the provider.
func (r *run) clean(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, ref := range r.booked {
		_ = r.driver.Cancel(ctx, ref)
	}
}

// can reports whether the harness's Provider implements T.
func can[T any](h Harness) bool { return conformance.Can[T](h.Provider) }

func idempotent(h Harness) bool  { return h.Open().Traits().IdempotentBook }
func hasSecond(h Harness) bool   { return h.Second != "" }
func hasReadOnly(h Harness) bool { return h.ReadOnly != "" }

// both returns a condition that holds if all of the given conditions hold.
func both(conditions ...func(Harness) bool) func(Harness) bool {
	return func(h Harness) bool {
		return !slices.ContainsFunc(conditions, func(holds func(Harness) bool) bool { return !holds(h) })
	}
}

func trait(has func(calendar.Traits) bool) func(Harness) bool {
	return func(h Harness) bool { return has(h.Open().Traits()) }
}

// zoneUsed is the zone that checks book in unless they name another. No provider has it as its default.
const zoneUsed = "America/St_Johns"

// at returns a moment of the n-th day of the run.
func (r *run) at(day, hour, minute int) time.Time {
	return r.base.AddDate(0, 0, day).Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

// booking returns an ordinary booking of an hour from 15:00 UTC of the day, with a unique key and title.
func (r *run) booking(title string, day int) calendar.Booking {
	return calendar.Booking{
		Key: newKey(), CalendarID: r.Calendar, Title: title + " " + newKey()[:8], Description: "About " + title,
		Start: r.at(day, 15, 0), End: r.at(day, 16, 0), Zone: zoneUsed,
	}
}

// newKey returns a random key in the gateway's format.
func newKey() string {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	return strings.ToLower(base32.HexEncoding.EncodeToString(random[:]))
}

// book books an event and records it for removal.
func (r *run) book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	event, err := r.driver.Book(ctx, b)
	if err != nil {
		return event, fmt.Errorf("Book: %w", err)
	}
	if event.ID == "" {
		return event, errors.New("Book answered an event without an ID")
	}
	r.booked = append(r.booked, refOf(event))
	return event, nil
}

func (r *run) read(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	event, err := r.driver.Event(ctx, ref)
	if err != nil {
		return event, fmt.Errorf("Event: %w", err)
	}
	return event, nil
}

func refOf(e calendar.Event) calendar.EventRef {
	return calendar.EventRef{CalendarID: e.CalendarID, ID: e.ID}
}

// query returns a query from the start of firstDay to the end of lastDay.
func (r *run) query(firstDay, lastDay int) calendar.Query {
	return calendar.Query{
		CalendarID: r.Calendar, From: r.at(firstDay, 0, 0), To: r.at(lastDay+1, 0, 0), Zone: zoneUsed,
	}
}

const mostPages = 2000

// list reads every page and verifies the contract of pages.
func (r *run) list(ctx context.Context, q calendar.Query) ([]calendar.Event, error) {
	var all []calendar.Event
	cursors := map[string]bool{}
	for range mostPages {
		page, err := r.driver.Events(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("Events: %w", err)
		}
		if q.Limit > 0 && len(page.Events) > q.Limit {
			return nil, fmt.Errorf("Events answered %d events in a page, want %d at most", len(page.Events), q.Limit)
		}
		all = append(all, page.Events...)
		if page.Next == "" {
			return all, nil
		}
		if cursors[page.Next] {
			return nil, fmt.Errorf("Events answered the cursor %q twice", page.Next)
		}
		cursors[page.Next] = true
		q.Cursor = page.Next
	}
	return nil, fmt.Errorf("Events does not come to an end within %d pages", mostPages)
}

// withTitle returns the events with that title that are not cancelled, ordered by start.
func withTitle(events []calendar.Event, title string) []calendar.Event {
	var found []calendar.Event
	for _, e := range events {
		if e.Title == title && !e.IsCancelled {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b calendar.Event) int { return a.Start.Instant.Compare(b.Start.Instant) })
	return found
}

// listTitled lists the events of a query and applies withTitle to them.
func (r *run) listTitled(ctx context.Context, q calendar.Query, title string) ([]calendar.Event, error) {
	all, err := r.list(ctx, q)
	return withTitle(all, title), err
}

// seen calls look until it succeeds: only once if reads are consistent, and for up to 15 seconds otherwise.
func (r *run) seen(ctx context.Context, look func() error) error {
	const pause, longest = 100 * time.Millisecond, 15 * time.Second
	if r.traits.ConsistentReads {
		return look()
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		err := look()
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// atOnce returns how many concurrent calls a check makes: as many as the provider and the harness allow, up to 16.
func (r *run) atOnce() int {
	most := cmp.Or(r.AtOnce, 16)
	if limit := r.traits.MaxConcurrent; limit > 0 {
		return min(limit, most)
	}
	return most
}

// nextChange returns the next moment after t when clocks in the zone are set, forward or back.
func nextChange(zone *time.Location, t time.Time, forward bool) (time.Time, error) {
	t = t.UTC().Truncate(time.Hour)
	for range 400 * 24 {
		next := t.Add(time.Hour)
		_, before := t.In(zone).Zone()
		_, after := next.In(zone).Zone()
		if before != after && (after > before) == forward {
			return next, nil
		}
		t = next
	}
	return t, fmt.Errorf("the clocks in %s are not set within a year", zone)
}

func (h Harness) unknownCalendar() string {
	if h.UnknownCalendar != "" {
		return h.UnknownCalendar
	}
	return "no-such-calendar-" + newKey()
}

func (h Harness) unknownEvent() string {
	if h.UnknownEvent != "" {
		return h.UnknownEvent
	}
	return newKey()
}
