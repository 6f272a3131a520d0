package caldav_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// lenient is a server that stores what it gets, as Cyrus and DAViCal do.
func lenient(t *testing.T) account {
	t.Helper()
	a := newAccount(t, fake.Options{})
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			a.ServeHTTP(w, r)
			return
		}
		data, _ := io.ReadAll(r.Body)
		a.Put(path.Dir(r.URL.Path)+"/", path.Base(r.URL.Path), string(data))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(served.Close)
	a.url = served.URL
	return a
}

// A resource may hold further events that override nothing: with other UIDs, or even with one that is there.
func TestEveryEventOfAResourceCounts(t *testing.T) {
	t.Parallel()
	one := func(lines ...string) string {
		return "BEGIN:VEVENT\r\nDTSTAMP:20260101T000000Z\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\n"
	}
	whole := func(events ...string) string {
		return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Somebody//EN\r\n" + strings.Join(events, "") +
			"END:VCALENDAR\r\n"
	}
	first := one("UID:1", "SUMMARY:First", "DTSTART:20270503T080000Z", "DTEND:20270503T090000Z")
	other := one("UID:2", "SUMMARY:Other", "DTSTART:20270503T100000Z", "DTEND:20270503T110000Z")
	again := one("UID:1", "SUMMARY:Again", "DTSTART:20270503T120000Z", "DTEND:20270503T130000Z")
	series := one("UID:3", "SUMMARY:Series", "DTSTART:20270503T140000Z", "DTEND:20270503T150000Z",
		"RRULE:FREQ=DAILY;COUNT=2")
	moved := one("UID:3", "SUMMARY:Moved", "RECURRENCE-ID:20270504T140000Z", "DTSTART:20270504T160000Z",
		"DTEND:20270504T170000Z")
	all := []string{"First", "Other", "Again", "Series", "Moved"}

	a := lenient(t)
	d := a.open(t, "", nil)
	listed := func() map[string]calendar.Event {
		q := week()
		q.CalendarID = a.home
		page, err := d.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]calendar.Event{}
		for _, e := range page.Events {
			found[e.Title] = e
		}
		return found
	}
	stored := a.Put(a.home, "import.ics", whole(first, other, again, series, moved))
	before := listed()
	ids := map[string]bool{}
	for _, title := range all {
		e, err := d.Event(t.Context(), calendar.EventRef{ID: before[title].ID})
		if err != nil || e.Title != title || ids[e.ID] {
			t.Errorf("%s is read as %q %q, %v", title, e.ID, e.Title, err)
		}
		ids[e.ID] = true
	}
	busy, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), []string{a.home},
		calendar.Span{From: week().From, To: week().To})
	if err != nil || len(busy) != len(all) {
		t.Errorf("busy: %+v, %v", busy, err)
	}

	// Their order means nothing, and neither does what becomes of the others.
	a.Put(a.home, "import.ics", whole(series, moved, other, first, again))
	for title, e := range listed() {
		if e.ID != before[title].ID {
			t.Errorf("%s is %s, and was %s", title, e.ID, before[title].ID)
		}
	}
	title, from := "Changed", time.Date(2027, 5, 5, 10, 0, 0, 0, time.UTC)
	to := from.Add(time.Hour)
	change := calendar.Change{Title: &title, Start: &from, End: &to, Zone: "UTC"}
	if e, err := d.Change(t.Context(), calendar.EventRef{ID: before["Other"].ID}, change); err != nil ||
		e.ID != before["Other"].ID || e.Title != title {
		t.Errorf("changed %+v, %v", e, err)
	}
	left := slices.Sorted(maps.Keys(listed()))
	if !slices.Equal(left, []string{"Again", "Changed", "First", "Moved", "Series"}) {
		t.Errorf("after the change there are %q", left)
	}
	want(t, func() error {
		_, err := d.Change(t.Context(), calendar.EventRef{ID: before["Again"].ID}, change)
		return err
	}(), fault.Unsupported, fault.ReasonNotSupported)
	for _, gone := range []string{"First", "Moved", "Series", "Again", "Other"} {
		if err := d.Cancel(t.Context(), calendar.EventRef{ID: before[gone].ID}); err != nil {
			t.Fatalf("%s: %v", gone, err)
		}
		if e, err := d.Event(t.Context(), calendar.EventRef{ID: before[gone].ID}); !errors.Is(err, fault.NotFound) {
			t.Errorf("%s is still there: %+v, %v", gone, e, err)
		}
		if n := strings.Count(a.Get(stored), "BEGIN:VEVENT"); (n == 0) != (gone == "Other") {
			t.Errorf("%d events are left after %s", n, gone)
		}
	}
}

// together returns a resource of events with these UIDs, which are their titles as well.
func together(uids ...string) string {
	var b strings.Builder
	for _, uid := range uids {
		b.WriteString("BEGIN:VEVENT\r\nUID:" + uid + "\r\nDTSTAMP:20260101T000000Z\r\nSUMMARY:" + uid +
			"\r\nDTSTART:20270503T080000Z\r\nDTEND:20270503T090000Z\r\nEND:VEVENT\r\n")
	}
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Somebody//EN\r\n" + b.String() + "END:VCALENDAR\r\n"
}

// An id from when an event was alone in its resource means that event alone, or none if it cannot be told which.
func TestAnIDFromBeforeOthersWereStoredTouchesNoOther(t *testing.T) {
	t.Parallel()
	a := lenient(t)
	d := a.open(t, "", nil)
	title := "Changed"
	for _, name := range []string{"mine.ics", "other.ics"} {
		ref := calendar.EventRef{ID: a.Put(a.home, name, together("mine"))}
		if e, err := d.Event(t.Context(), ref); err != nil || e.ID != ref.ID || e.Title != "mine" {
			t.Fatalf("%s: read %+v, %v", name, e, err)
		}
		a.Put(a.home, name, together("theirs", "mine"))
		e, errRead := d.Event(t.Context(), ref)
		_, errChanged := d.Change(t.Context(), ref, calendar.Change{Title: &title})
		changed := a.Get(ref.ID)
		errCancelled := d.Cancel(t.Context(), ref)
		left := a.Get(ref.ID)
		if name == "other.ics" {
			for _, err := range []error{errRead, errChanged, errCancelled} {
				want(t, err, fault.Unsupported, fault.ReasonNotSupported)
			}
			if left != together("theirs", "mine") {
				t.Errorf("what could not be told was changed: %q", left)
			}
			continue
		}
		if errRead != nil || e.Title != "mine" || errChanged != nil || errCancelled != nil {
			t.Errorf("%v, %v, %v; read %+v", errRead, errChanged, errCancelled, e)
		}
		if !strings.Contains(changed, "SUMMARY:theirs") || !strings.Contains(changed, "SUMMARY:Changed") {
			t.Errorf("changed %q", changed)
		}
		if !strings.Contains(left, "SUMMARY:theirs") || strings.Contains(left, "Changed") {
			t.Errorf("after the cancellation there is %q", left)
		}
	}
}

// What is stored between the look at a resource and its removal is not removed with it.
func TestACancellationRemovesNothingThatItHasNotSeen(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			a.Put(a.home, "both.ics", together("mine", "newer"))
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	d := open(t, served.URL, "alice", password, nil)
	id := a.Put(a.home, "both.ics", together("theirs", "mine"))
	q := week()
	q.CalendarID = a.home
	page, err := d.Events(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	mine := page.Events[slices.IndexFunc(page.Events, func(e calendar.Event) bool { return e.Title == "mine" })]
	a.Put(a.home, "both.ics", together("mine")) // somebody else removed theirs
	err = d.Cancel(t.Context(), calendar.EventRef{ID: mine.ID})
	want(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
	if left := a.Get(id); left != together("mine", "newer") {
		t.Errorf("there is %q", left)
	}
}

// book books an hour of the week.
func book(t *testing.T, d calendar.Driver, calendarID string) calendar.Event {
	t.Helper()
	start := week().From.Add(10 * time.Hour)
	booked, err := d.Book(t.Context(), calendar.Booking{
		Key: "k1", CalendarID: calendarID, Title: "Consultation", Start: start, End: start.Add(time.Hour), Zone: "UTC",
	})
	if err != nil {
		t.Fatal(err)
	}
	return booked
}

// Somebody moves a booking to another calendar, and to a third one: its id goes on to name it.
func TestABookingIsFoundInTheCalendarThatSomebodyMovedItTo(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	d := a.open(t, "", nil)
	booked := book(t, d, a.home)
	ids := []string{booked.ID}
	name := path.Base(booked.ID)
	from := a.home
	for _, segment := range []string{"first", "second"} {
		to := a.AddCalendar(segment, segment, "", false)
		a.Put(to, name, a.Get(from+name))
		a.Remove(from + name)
		from = to
		d = a.open(t, "", nil)
		for _, id := range ids {
			title := "Seen as " + id + " in " + segment
			changed, err := d.Change(t.Context(), calendar.EventRef{ID: id}, calendar.Change{Title: &title})
			read, readErr := d.Event(t.Context(), calendar.EventRef{ID: id})
			if err != nil || readErr != nil || changed.ID != to+name || read.ID != changed.ID || read.Title != title ||
				read.CalendarID != to {
				t.Errorf("changed %+v, %v; read %+v, %v", changed, err, read, readErr)
			}
		}
		ids = append(ids, from+name)
	}
	for i, wants := range []error{nil, fault.NotFound} {
		if err := d.Cancel(t.Context(), calendar.EventRef{ID: ids[i]}); !errors.Is(err, wants) {
			t.Errorf("cancelled as %s: %v", ids[i], err)
		}
	}
}

// The other calendars are asked side by side. One that fails matters only where none has the booking.
func TestABookingIsLookedForInAllCalendarsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	const others = 5
	var arrived atomic.Int32
	all, failing := make(chan struct{}), ""
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, a.home) {
			if arrived.Add(1) == others {
				close(all)
			}
			select {
			case <-all:
			case <-r.Context().Done():
			}
			if strings.HasPrefix(r.URL.Path, failing) && failing != "" {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	a.url = served.URL
	for i := range others - 2 { // beside its own
		a.AddCalendar(fmt.Sprint("room-", i), "Room", "", false)
	}
	d := a.open(t, "", nil)
	booked := book(t, d, a.home)
	data := a.Get(booked.ID)
	a.Remove(booked.ID)
	read := func() (calendar.Event, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return d.Event(ctx, calendar.EventRef{ID: booked.ID})
	}
	_, err := read()
	want(t, err, fault.NotFound, fault.ReasonEventNotFound)
	failing = a.holidays
	_, err = read()
	want(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	a.Put(a.work, path.Base(booked.ID), data)
	if e, err := read(); err != nil || e.CalendarID != a.work {
		t.Errorf("read %+v, %v", e, err)
	}
}
