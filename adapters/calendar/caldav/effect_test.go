package caldav_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// readings is a server that sends invitations, and refuses all that changes nothing with a status, unless it is 0.
func readings(t *testing.T) (a account, refuse *atomic.Int32) {
	t.Helper()
	a, refuse = newAccount(t, fake.Options{AutoSchedule: true}), new(atomic.Int32)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := int(refuse.Load()); status != 0 && r.Method != http.MethodPut && r.Method != http.MethodDelete {
			w.Header().Set("Retry-After", "60")
			http.Error(w, "refused", status)
			return
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	a.url = served.URL
	return a, refuse
}

func consultation(calendarID, key string) calendar.Booking {
	start := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	return calendar.Booking{
		Key: key, CalendarID: calendarID, Title: "Consultation", Start: start, End: start.Add(time.Hour),
		Zone: "Europe/Berlin",
	}
}

// A write whose preparation fails has had no effect.
func TestAWriteThatCannotBePreparedHasNotHappened(t *testing.T) {
	t.Parallel()
	a, refuse := readings(t)
	d := a.open(t, "", nil)
	event, err := d.Book(t.Context(), consultation(a.home, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	refuse.Store(http.StatusServiceUnavailable)
	title := "Other"
	ref := calendar.EventRef{CalendarID: event.CalendarID, ID: event.ID}
	for what, call := range map[string]func() error{
		"a booking": func() error {
			_, err := a.open(t, "", nil).Book(t.Context(), consultation(a.home, "k2"))
			return err
		},
		"a change": func() error { _, err := d.Change(t.Context(), ref, calendar.Change{Title: &title}); return err },
		"a cancellation": func() error {
			return a.open(t, "", nil).Cancel(t.Context(), ref)
		},
	} {
		if err := call(); !errors.Is(err, fault.Unavailable) || !fault.From(err).Unsent {
			t.Errorf("%s may have happened: %v", what, err)
		}
	}
}

// A refusal to read what was written does not mean that nothing was written.
func TestAWriteThatCannotBeReadBackMayHaveHappened(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusForbidden, http.StatusInsufficientStorage} {
		a, refuse := readings(t)
		d := a.open(t, "", nil)
		if _, err := d.Calendars(t.Context()); err != nil {
			t.Fatal(err)
		}
		refuse.Store(int32(status))
		for _, what := range []string{"a booking", "the same booking again"} {
			_, err := d.Book(t.Context(), consultation(a.home, "k1"))
			if !errors.Is(err, fault.UnknownOutcome) || fault.From(err).RetryAfter != time.Minute {
				t.Errorf("%s with status %d: %v, to be asked again after %s", what, status, err, fault.From(err).RetryAfter)
			}
		}
	}
}

// A proxy's page in the place of an event does not mean that the event is gone. Whoever repeats a booking would book
// another one in its place.
func TestAPageInPlaceOfAnEventDoesNotSayThatItIsGone(t *testing.T) {
	t.Parallel()
	a, answer := readings(t)
	d := a.open(t, "", nil)
	event, err := d.Book(t.Context(), consultation(a.home, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Store(http.StatusOK)
	ref := calendar.EventRef{CalendarID: event.CalendarID, ID: event.ID}
	if _, err := d.Event(t.Context(), ref); !errors.Is(err, fault.Unsupported) {
		t.Errorf("the event was read with %v", err)
	}
	if _, err := d.Book(t.Context(), consultation(a.home, "k1")); !errors.Is(err, fault.UnknownOutcome) {
		t.Errorf("the repeated booking ended with %v", err)
	}
}

// A booking that the server refused has had no effect, though it cannot be found out why.
func TestABookingThatWasRefusedHasNotHappened(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	var away atomic.Bool
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !away.Load():
			a.ServeHTTP(w, r)
		case r.Method == http.MethodPut:
			http.NotFound(w, r)
		default:
			http.Error(w, "down", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(served.Close)
	a.url = served.URL
	d := a.open(t, "", nil)
	if _, err := d.Calendars(t.Context()); err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	_, err := d.Book(t.Context(), consultation(a.home, "k1"))
	if !errors.Is(err, fault.Unavailable) || !fault.From(err).Unsent {
		t.Errorf("it may have happened: %v", err)
	}
}

// Nor does it if the server keeps something else than was sent, which cannot be read.
func TestAWriteThatTheServerMakesUnreadableMayHaveHappened(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{AutoSchedule: true})
	series := func(rule string) string {
		return meeting("1", "DTSTART:20270301T100000Z", "DTEND:20270301T110000Z", "RRULE:"+rule)
	}
	a.Put(a.home, "1.ics", series("FREQ=DAILY;COUNT=3"))
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			kept := series("FREQ=NEVER")
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(kept)), int64(len(kept))
		}
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	a.url = served.URL
	d := a.open(t, "", nil)
	from := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	page, err := d.Events(t.Context(), calendar.Query{CalendarID: a.home, From: from, To: from.AddDate(0, 0, 7), Zone: "UTC"})
	if err != nil || len(page.Events) != 3 {
		t.Fatalf("%d events, %v", len(page.Events), err)
	}
	title := "Other"
	_, err = d.Change(t.Context(), calendar.EventRef{CalendarID: a.home, ID: page.Events[1].ID}, calendar.Change{Title: &title})
	if !errors.Is(err, fault.UnknownOutcome) {
		t.Errorf("a change of an instance: %v", err)
	}
}
