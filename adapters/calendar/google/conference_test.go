package google_test

import (
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

func meeting(key string) calendar.Booking {
	b := booking(key)
	b.Conferencing = calendar.ConferencingProvider
	return b
}

func TestALinkThatIsBeingMadeIsWaitedFor(t *testing.T) {
	s := serve(t, fake.Options{MeetPolls: 2})
	driver := s.driver(t)
	var event calendar.Event
	asked := s.calls(func() { event = must[calendar.Event](t)(driver.Book(t.Context(), meeting("k1"))) })
	if !strings.HasPrefix(event.URL, "https://meet.google.com/") {
		t.Errorf("the link is %q", event.URL)
	}
	if asked != 4 {
		t.Errorf("it took %d calls, want the question, the booking and two looks", asked)
	}
	if read := must[calendar.Event](t)(driver.Event(t.Context(),
		calendar.EventRef{ID: event.ID})); read.Version != event.Version {
		t.Errorf("the version answered is %s, and read is %s", event.Version, read.Version)
	}
}

func TestALinkThatFailsTakesTheEventWithIt(t *testing.T) {
	for _, polls := range []int{0, 1} {
		s := serve(t, fake.Options{MeetPolls: polls, MeetFails: true})
		driver := s.driver(t)
		for _, try := range []string{"first", "again"} {
			_, err := driver.Book(t.Context(), meeting("k1"))
			wanted(t, conformance.WantFault("Book, "+try, err, fault.Unsupported, fault.ReasonConferencing))
		}
		page := must[calendar.Page](t)(driver.Events(t.Context(), calendar.Query{
			From: noon, To: noon.Add(time.Hour),
		}))
		if len(page.Events) != 0 {
			t.Errorf("left behind: %+v", page.Events)
		}
		id := must[calendar.Event](t)(driver.Book(t.Context(), calendar.Booking{
			Key: "k1", CalendarID: second, Start: noon, End: noon, Zone: "UTC",
		})).ID
		want := []fake.Notice{
			{To: "pat@example.com", Kind: "invitation"}, {To: "pat@example.com", Kind: "cancellation"},
		}
		if got := s.Notices(email, email, id); !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
}

func TestACalendarWithoutLinksIsKnownBeforeAnythingIsBooked(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Solutions(email, email)
	driver := s.driver(t)
	asked := s.calls(func() {
		_, err := driver.Book(t.Context(), meeting("k1"))
		wanted(t, conformance.WantFault("Book", err, fault.Unsupported, fault.ReasonConferencing))
	})
	if asked != 1 {
		t.Errorf("it took %d calls, want the question alone", asked)
	}
	s.Solutions(email, email, "hangoutsMeet")
	must[calendar.Event](t)(driver.Book(t.Context(), meeting("k1")))
}

func TestACalendarThatMakesLinksNoMoreIsFoundOut(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	must[calendar.Event](t)(driver.Book(t.Context(), meeting("k1")))
	s.Solutions(email, email, "addOn")
	_, err := driver.Book(t.Context(), meeting("k2"))
	wanted(t, conformance.WantFault("Book", err, fault.Unsupported, fault.ReasonConferencing))
	// Other errors in a request are reported unchanged.
	s.Solutions(email, email, "hangoutsMeet")
	b := meeting("k3")
	b.Attendees = []string{"nobody"}
	_, err = driver.Book(t.Context(), b)
	wanted(t, conformance.WantFault("Book", err, fault.Invalid, fault.ReasonProviderRefused))
}

func TestALinkThatIsNotThereByTheDeadlineIsFoundByRepeating(t *testing.T) {
	s := serve(t, fake.Options{MeetPolls: 3})
	ctx, requests := faulttest.NewDeadline(t.Context()), 0
	driver := s.openAs(t, nil, s.url, time.Now, func(r *http.Request) error {
		if requests++; requests == 3 { // the event exists, and its link is being read
			ctx.Pass()
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		return nil
	})
	_, err := driver.Book(ctx, meeting("k1"))
	wanted(t, conformance.WantFault("Book", err, fault.Timeout, fault.ReasonDeadlineExceeded))
	if fault.From(err).Unsent {
		t.Error("the booking is called unsent")
	}
	event := must[calendar.Event](t)(s.driver(t).Book(t.Context(), meeting("k1")))
	if !strings.HasPrefix(event.URL, "https://meet.google.com/") {
		t.Errorf("the link is %q", event.URL)
	}
}

// Once the event exists, no failure may claim that nothing happened.
func TestAFailureAfterTheBookingIsAnUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		rule string
		how  fake.Options
		left int // calls that succeed
		fail func(*fake.Server)
	}{
		{"refused while a link is waited for", fake.Options{MeetPolls: 5}, 2,
			func(s *fake.Server) { s.Limit(time.Minute) }},
		{"refused while an event without a link is removed", fake.Options{MeetFails: true}, 2, (*fake.Server).Stop},
		{"refused where the credentials are", fake.Options{MeetPolls: 5}, 2, (*fake.Server).Revoke},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var s *testServer
			var seen atomic.Int64
			s = serve(t, c.how, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasPrefix(r.URL.Path, fake.APIPath) && int(seen.Add(1)) == c.left+1 {
						c.fail(s.Server)
					}
					next.ServeHTTP(w, r)
				})
			})
			_, err := s.driver(t).Book(t.Context(), meeting("k1"))
			wanted(t, conformance.WantFault("Book", err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown))
			if f := fault.From(err); f.Unsent || f.Upstream == "" || strings.Contains(f.Detail, "Repeat") {
				t.Errorf("%v is called unsent, does not tell the logs why, or advises a repeat that may act twice", err)
			}
		})
	}
}

func TestALookThatWasNotSentDoesNotMakeTheBookingUnsent(t *testing.T) {
	s := serve(t, fake.Options{MeetPolls: 5})
	sent := 0
	driver := s.openAs(t, nil, s.url, time.Now, func(r *http.Request) error {
		if sent++; sent > 2 {
			return errors.New("no token to be had")
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		return nil
	})
	_, err := driver.Book(t.Context(), meeting("k1"))
	wanted(t, conformance.WantFault("Book", err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown))
	if fault.From(err).Unsent {
		t.Error("the booking is called unsent")
	}
}

func TestAnEventCancelledWhileItsLinkIsMadeStaysCancelled(t *testing.T) {
	var s *testServer
	var cancel atomic.Pointer[calendar.Driver]
	s = serve(t, fake.Options{MeetPolls: 50}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if other := cancel.Load(); r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/events/") {
				err := (*other).Cancel(r.Context(), calendar.EventRef{ID: path.Base(r.URL.Path)})
				if err != nil && !errors.Is(err, fault.NotFound) {
					t.Error(err)
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	other := s.driver(t)
	cancel.Store(&other)
	_, err := s.driver(t).Book(t.Context(), meeting("k1"))
	wanted(t, conformance.WantFault("Book", err, fault.Conflict, fault.ReasonChangedMeanwhile))
}

// A booking that is repeated leaves a meeting alone whose link somebody has removed since.
func TestARepeatDoesNotCancelAMeetingWithoutItsLink(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	booked := must[calendar.Event](t)(driver.Book(t.Context(), meeting("k1")))
	event := s.Event(email, email, booked.ID)
	delete(event, "conferenceData")
	delete(event, "hangoutLink")
	must[string](t)(s.Make(email, email, event))
	again := must[calendar.Event](t)(driver.Book(t.Context(), meeting("k1")))
	if again.ID != booked.ID || s.Event(email, email, booked.ID)["status"] == "cancelled" {
		t.Errorf("the repeat answers %+v", again)
	}
}
