package google_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

func booking(key string) calendar.Booking {
	return calendar.Booking{
		Key: key, Title: "Consultation", Description: "First visit", Start: noon, End: noon.Add(30 * time.Minute),
		Zone: "America/New_York", Attendees: []string{"pat@example.com"},
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// calls returns the number of calls to Google during a step.
func (s *testServer) calls(step func()) int {
	before := s.Calls()
	step()
	return s.Calls() - before
}

func TestABookingIsOneCall(t *testing.T) {
	for _, c := range []struct {
		rule    string
		booking func(*calendar.Booking)
	}{
		{"in the default calendar", func(*calendar.Booking) {}},
		{"in a calendar named", func(b *calendar.Booking) { b.CalendarID = second }},
		{"with a link given", func(b *calendar.Booking) {
			b.Conferencing, b.LocationURL = calendar.ConferencingURL, "https://meet.example.com/room"
		}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			driver, b := s.driver(t), booking("k1")
			c.booking(&b)
			asked := s.calls(func() { must[calendar.Event](t)(driver.Book(t.Context(), b)) })
			if asked != 1 {
				t.Errorf("it took %d calls, want 1", asked)
			}
		})
	}
}

func TestWhetherACalendarMakesLinksIsAskedOnceAnHour(t *testing.T) {
	s := serve(t, fake.Options{})
	now := noon
	driver := s.openAs(t, nil, s.url, func() time.Time { return now }, func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+s.token)
		return nil
	})
	book := func(key string) func() {
		return func() {
			b := booking(key)
			b.Conferencing = calendar.ConferencingProvider
			must[calendar.Event](t)(driver.Book(t.Context(), b))
		}
	}
	for _, c := range []struct {
		rule string
		step func()
		want int
	}{
		{"the first booking asks", book("k1"), 2},
		{"the second one knows", book("k2"), 1},
		{"after an hour it is asked again", func() { now = now.Add(time.Hour); book("k3")() }, 2},
		{"a list of the calendars tells as well", func() {
			now = now.Add(time.Hour)
			must[[]calendar.Calendar](t)(driver.Calendars(t.Context()))
			book("k4")()
		}, 2},
	} {
		if asked := s.calls(c.step); asked != c.want {
			t.Errorf("%s: it took %d calls, want %d", c.rule, asked, c.want)
		}
	}
}

func TestAChangeReadsOnlyWhatItHasTo(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	event := must[calendar.Event](t)(driver.Book(t.Context(), booking("k1")))
	ref := calendar.EventRef{ID: event.ID}
	title, later, end, guests := "Moved", noon.Add(time.Hour), noon.Add(2*time.Hour), []string{
		"pat@example.com", "lee@example.com",
	}
	version := func() string { return must[calendar.Event](t)(driver.Event(t.Context(), ref)).Version }
	for _, c := range []struct {
		rule   string
		change calendar.Change
		want   int
	}{
		{"texts and times of a version read",
			calendar.Change{IfUnchanged: version(), Title: &title, Start: &later, End: &end, Zone: "UTC"}, 1},
		{"texts of whatever version", calendar.Change{Title: &title}, 2},
		{"guests", calendar.Change{Attendees: &guests}, 2},
		{"nothing", calendar.Change{}, 1},
	} {
		asked := s.calls(func() { must[calendar.Event](t)(driver.Change(t.Context(), ref, c.change)) })
		if asked != c.want {
			t.Errorf("%s: it took %d calls, want %d", c.rule, asked, c.want)
		}
	}
	stale := calendar.Change{IfUnchanged: event.Version}
	_, err := driver.Change(t.Context(), ref, stale)
	wanted(t, conformance.WantFault("a change of nothing of a stale version", err, fault.Conflict,
		fault.ReasonChangedMeanwhile))
}

func wanted(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestAChangeOfNothingIsToldToNobody(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	event := must[calendar.Event](t)(driver.Book(t.Context(), booking("k1")))
	must[calendar.Event](t)(driver.Change(t.Context(), calendar.EventRef{ID: event.ID}, calendar.Change{}))
	if got, want := s.Notices(email, email, event.ID),
		[]fake.Notice{{To: "pat@example.com", Kind: "invitation"}}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// The calendar of an event has the id under which it is listed: the account's address, whatever id was
// requested.
func TestThePrimaryCalendarIsNamedByItsAddress(t *testing.T) {
	s := serve(t, fake.Options{})
	event := must[calendar.Event](t)(s.driver(t).Book(t.Context(), booking("k1")))
	_, err := s.Make(email, email, map[string]any{
		"id": "invitation0", "summary": "Invited", "organizer": map[string]any{"email": "boss@example.com"},
		"start": clock(noon.AddDate(0, 0, 7), "UTC"), "end": clock(noon.AddDate(0, 0, 7).Add(time.Hour), "UTC"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "primary", email} {
		for what, ask := range map[string]func(calendar.Driver) (calendar.Event, error){
			"an event of its own": func(d calendar.Driver) (calendar.Event, error) {
				return d.Event(t.Context(), calendar.EventRef{CalendarID: id, ID: event.ID})
			},
			"an invitation": func(d calendar.Driver) (calendar.Event, error) {
				return d.Event(t.Context(), calendar.EventRef{CalendarID: id, ID: "invitation0"})
			},
			"an invitation listed": func(d calendar.Driver) (calendar.Event, error) {
				page, err := d.Events(t.Context(), calendar.Query{
					CalendarID: id, From: noon.AddDate(0, 0, 6), To: noon.AddDate(0, 0, 8),
				})
				if len(page.Events) != 1 {
					return calendar.Event{}, fmt.Errorf("%d events, %w", len(page.Events), err)
				}
				return page.Events[0], err
			},
		} {
			if got := must[calendar.Event](t)(ask(s.driver(t))).CalendarID; got != email {
				t.Errorf("%s, asked for by %q, lies in %q", what, id, got)
			}
		}
	}
}

func TestCalendarsAreListedByWhatTheyAllow(t *testing.T) {
	s := serve(t, fake.Options{PageSize: 2})
	s.AddCalendar(email, fake.Calendar{ID: "hidden@example.com", Name: "Hidden", Role: "writer", Hidden: true})
	s.AddCalendar(email, fake.Calendar{
		ID: "halfway@example.com", Name: "Private ones aside", Role: "writerWithoutPrivateAccess",
		Zone: "Asia/Tokyo",
	})
	s.AddCalendar(email, fake.Calendar{ID: "unlisted@example.com", Name: "Unlisted", Unlisted: true})
	got := must[[]calendar.Calendar](t)(s.driver(t).Calendars(t.Context()))
	want := []calendar.Calendar{
		{ID: email, Alias: "primary", Name: email, Zone: "Europe/London", IsDefault: true},
		{ID: second, Name: "Work", Zone: "Europe/London"},
		{ID: holidays, Name: "Holidays", Zone: "Europe/London", ReadOnly: true},
		{ID: "hidden@example.com", Name: "Hidden", Zone: "Europe/London"},
		{ID: "halfway@example.com", Name: "Private ones aside", Zone: "Asia/Tokyo"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("listed %+v, want %+v", got, want)
	}
	for _, id := range []string{"hidden@example.com", "halfway@example.com", "unlisted@example.com"} {
		b := booking("k1")
		b.CalendarID, b.Conferencing = id, calendar.ConferencingProvider
		must[calendar.Event](t)(s.driver(t).Book(t.Context(), b))
	}
}

func TestCancellingTwiceTellsThatTheEventWasThere(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	event := must[calendar.Event](t)(driver.Book(t.Context(), booking("k1")))
	ref := calendar.EventRef{ID: event.ID}
	wanted(t, driver.Cancel(t.Context(), ref))
	err := driver.Cancel(t.Context(), ref)
	wanted(t, conformance.WantFault("Cancel again", err, fault.NotFound, fault.ReasonEventNotFound))
	if got := fault.From(err).Metadata["gone"]; got != "true" {
		t.Errorf("gone is %q", got)
	}
}

// The account has only a copy of another's event. It cannot change the shared properties, and removes only
// the copy.
func TestAnInvitationBelongsToItsOrganizer(t *testing.T) {
	s := serve(t, fake.Options{})
	_, err := s.Make(email, email, map[string]any{
		"id": "invitation0", "summary": "Invited",
		"organizer": map[string]any{"email": "boss@example.com", "self": false}, "start": clock(noon, "UTC"),
		"end": clock(noon.Add(time.Hour), "UTC"),
	})
	if err != nil {
		t.Fatal(err)
	}
	driver, ref, title := s.driver(t), calendar.EventRef{ID: "invitation0"}, "Mine now"
	_, err = driver.Change(t.Context(), ref, calendar.Change{Title: &title})
	wanted(t, conformance.WantFault("Change", err, fault.Forbidden, fault.ReasonPermissionDenied))
	if detail := fault.From(err).Detail; !strings.Contains(detail, "organizer") {
		t.Errorf("said %q, want who can change it", detail)
	}
	wanted(t, driver.Cancel(t.Context(), ref))
	if got := s.Notices(email, email, ref.ID); len(got) > 0 {
		t.Errorf("told %v of another's event", got)
	}
}

func TestAnotherEventUnderTheSameIDIsNoBooking(t *testing.T) {
	s := serve(t, fake.Options{})
	driver, b := s.driver(t), booking("k1")
	event := must[calendar.Event](t)(driver.Book(t.Context(), b))
	if _, err := s.Make(email, second, map[string]any{
		"id": event.ID, "start": clock(noon, "UTC"), "end": clock(noon, "UTC"),
	}); err != nil {
		t.Fatal(err)
	}
	b.CalendarID = second
	_, err := driver.Book(t.Context(), b)
	wanted(t, conformance.WantFault("Book", err, fault.Conflict, fault.ReasonProviderConflict))
}

// A patch replaces the list of guests, so those who stay are written with all properties that were read.
func TestGuestsWhoStayKeepAllThatGoogleKnowsOfThem(t *testing.T) {
	s := serve(t, fake.Options{})
	_, err := s.Make(email, email, map[string]any{
		"id": "meeting00", "start": clock(noon, "UTC"), "end": clock(noon.Add(time.Hour), "UTC"),
		"attendees": []any{
			map[string]any{"email": email, "organizer": true, "responseStatus": "accepted"},
			map[string]any{"email": "pat@example.com", "displayName": "Pat", "optional": true,
				"responseStatus": "accepted", "comment": "With pleasure", "additionalGuests": 2},
			map[string]any{"email": "room-4@example.com", "resource": true, "responseStatus": "accepted"},
			map[string]any{"email": "lee@example.com", "responseStatus": "declined"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	guests := []string{"PAT@example.com", "room-4@example.com", "new@example.com", "New@Example.com"}
	must[calendar.Event](t)(s.driver(t).Change(t.Context(), calendar.EventRef{ID: "meeting00"},
		calendar.Change{Attendees: &guests}))
	want := []any{
		map[string]any{"email": email, "organizer": true, "self": true, "responseStatus": "accepted"},
		map[string]any{"email": "pat@example.com", "displayName": "Pat", "optional": true,
			"responseStatus": "accepted", "comment": "With pleasure", "additionalGuests": 2.0},
		map[string]any{"email": "room-4@example.com", "resource": true, "responseStatus": "accepted"},
		map[string]any{"email": "new@example.com", "responseStatus": "needsAction"},
	}
	if got := s.Event(email, email, "meeting00")["attendees"]; !reflect.DeepEqual(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

func TestAListOfGuestsThatIsNotWholeIsNotWrittenBack(t *testing.T) {
	for rule, with := range map[string]map[string]any{
		"some are left out": {"attendeesOmitted": true, "attendees": []any{map[string]any{"email": email}}},
		"one has no address": {"attendees": []any{
			map[string]any{"email": "pat@example.com"}, map[string]any{"id": "1043", "displayName": "Lee"},
		}},
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			with["id"], with["start"], with["end"] = "crowded00", clock(noon, "UTC"), clock(noon.Add(time.Hour), "UTC")
			if _, err := s.Make(email, email, with); err != nil {
				t.Fatal(err)
			}
			before := s.Event(email, email, "crowded00")
			guests := []string{"new@example.com"}
			_, err := s.driver(t).Change(t.Context(), calendar.EventRef{ID: "crowded00"},
				calendar.Change{Attendees: &guests})
			wanted(t, conformance.WantFault("Change", err, fault.Unsupported, fault.ReasonNotSupported))
			if after := s.Event(email, email, "crowded00"); !reflect.DeepEqual(before, after) {
				t.Errorf("the event was %v and is %v", before, after)
			}
		})
	}
}

func TestAGivenLinkIsAnsweredWhateverElseTheEventHas(t *testing.T) {
	for _, c := range []struct{ rule, link string }{
		{"short", "https://meet.example.com/room"},
		{"longer than Google keeps a property", "https://meet.example.com/" + strings.Repeat("x", 2000)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			b := booking("k1")
			b.Conferencing, b.LocationURL = calendar.ConferencingURL, c.link
			event := must[calendar.Event](t)(s.driver(t).Book(t.Context(), b))
			if event.URL != c.link {
				t.Errorf("answered %.60q", event.URL)
			}
			if location := s.Event(email, email, event.ID)["location"]; location != c.link {
				t.Errorf("attendees find %.60q", location)
			}
		})
	}
}

func TestIdsThatWouldLeadElsewhereAreNotSent(t *testing.T) {
	s := serve(t, fake.Options{})
	driver, b := s.driver(t), booking("k1")
	b.CalendarID = ".."
	asked := s.calls(func() {
		_, err := driver.Book(t.Context(), b)
		wanted(t, conformance.WantFault("Book", err, fault.NotFound, fault.ReasonCalendarNotFound))
		_, err = driver.Events(t.Context(), calendar.Query{CalendarID: ".", From: noon, To: noon.Add(time.Hour)})
		wanted(t, conformance.WantFault("Events", err, fault.NotFound, fault.ReasonCalendarNotFound))
		err = driver.Cancel(t.Context(), calendar.EventRef{ID: ".."})
		wanted(t, conformance.WantFault("Cancel", err, fault.NotFound, fault.ReasonEventNotFound))
	})
	if asked != 0 {
		t.Errorf("Google was asked %d times", asked)
	}
}

func TestScopesThatWereNotGrantedAreNamedAsTheCause(t *testing.T) {
	s := serve(t, fake.Options{})
	token := s.redeem(t, s.OAuth.Grant(clientID, email,
		"https://www.googleapis.com/auth/calendar.calendarlist.readonly"))
	driver := s.open(t, token, nil)
	must[calendar.Account](t)(driver.Account(t.Context()))
	_, err := driver.Book(t.Context(), booking("k1"))
	wanted(t, conformance.WantFault("Book", err, fault.Forbidden, fault.ReasonPermissionDenied))
	if detail := fault.From(err).Detail; !strings.Contains(detail, "Connect it again") {
		t.Errorf("said %q, want what to do", detail)
	}
}

// Responses that are not Google's: a proxy's sign-in page, an empty body, JSON that is no event.
func TestAnswersThatAreNotGooglesAreNotBelieved(t *testing.T) {
	for _, c := range []struct {
		rule, body string
		status     int
		read, book fault.Code
	}{
		{"a page", "<html>Sign in</html>", 200, fault.Unsupported, fault.UnknownOutcome},
		{"nothing", "", 200, fault.Unsupported, fault.UnknownOutcome},
		{"no body", "", 204, fault.Unsupported, fault.UnknownOutcome},
		{"null", "null", 200, fault.Unsupported, fault.UnknownOutcome},
		{"no event", `{"hello":"world"}`, 200, fault.Unsupported, fault.UnknownOutcome},
		{"an event without times", `{"id":"abcde","status":"confirmed"}`, 200, fault.Unsupported,
			fault.UnknownOutcome},
		{"a time that is none", `{"id":"abcde","start":{"dateTime":"soon"},"end":{"date":"2027-02-30"}}`, 200,
			fault.Unsupported, fault.UnknownOutcome},
		{"a page that says it is down", "<html>Down</html>", 502, fault.Unavailable, fault.Unavailable},
		{"a page that forbids", "<html>No</html>", 403, fault.Forbidden, fault.Forbidden},
		{"a page that is not there", "<html>No</html>", 404, fault.Unsupported, fault.Unsupported},
		{"a page that is gone", "<html>No</html>", 410, fault.Unsupported, fault.Unsupported},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			driver := s.driver(t)
			s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			_, err := driver.Event(t.Context(), calendar.EventRef{ID: "abcde"})
			wanted(t, conformance.WantFault("Event", err, c.read, ""))
			_, err = driver.Book(t.Context(), booking("k1"))
			wanted(t, conformance.WantFault("Book", err, c.book, ""))
			if _, err = driver.Account(t.Context()); err == nil && !strings.Contains(c.body, "id") {
				t.Error("an account was found in it")
			}
		})
	}
}

// Google's library returns the context's error once the context has ended; the fault below it is more
// specific.
func TestARequestThatWasNotSentIsSaidToBeUnsent(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.openAs(t, nil, s.url, time.Now, func(r *http.Request) error {
		<-r.Context().Done()
		return r.Context().Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := driver.Book(ctx, booking("k1"))
	wanted(t, conformance.WantFault("Book", err, fault.Timeout, fault.ReasonDeadlineExceeded))
	if !fault.From(err).Unsent || s.Calls() != 0 {
		t.Errorf("%v is not called unsent; Google had %d calls", err, s.Calls())
	}
}

func TestTheAddressMayEndInASlash(t *testing.T) {
	s := serve(t, fake.Options{})
	for _, address := range []string{s.url, s.url + "/"} {
		driver := s.openAs(t, nil, address, time.Now, func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+s.token)
			return nil
		})
		if account := must[calendar.Account](t)(driver.Account(t.Context())); account.Email != email {
			t.Errorf("%s: the account is %q", address, account.Email)
		}
	}
}

func TestEntriesThatSayNothingAreNotListed(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"calendar#events","nextPageToken":"more","items":[null,{"id":"gone0","status":"cancelled","recurringEventId":"gone"},`+
			`{"id":"withdrawn","status":"cancelled","start":{"date":"2027-03-04"},"end":{"date":"2027-03-05"}}]}`)
	}))
	got := must[calendar.Page](t)(driver.Events(t.Context(), calendar.Query{
		CalendarID: second, From: noon, To: noon.Add(time.Hour),
	}))
	want := calendar.Page{Next: "more", Events: []calendar.Event{
		{ID: "withdrawn", CalendarID: second, IsCancelled: true, Start: calendar.Day(2027, 3, 4),
			End: calendar.Day(2027, 3, 5), OwnerResponse: "accepted"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// An empty list would report the day as free.
func TestAnAnswerThatIsNoListIsNotAnEmptyOne(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	for _, answer := range []string{`{}`, `{"error":{"code":500}}`, `{"kind":"calendar#event"}`} {
		s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, answer)
		}))
		if page, err := driver.Events(t.Context(), calendar.Query{
			CalendarID: second, From: noon, To: noon.Add(time.Hour),
		}); !errors.Is(err, fault.Unsupported) {
			t.Errorf("%s: events %+v, %v", answer, page, err)
		}
		if list, err := driver.Calendars(t.Context()); !errors.Is(err, fault.Unsupported) {
			t.Errorf("%s: calendars %+v, %v", answer, list, err)
		}
	}
}

func TestAQueryAsksForNoMoreThanIsRead(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	var asked []http.Request
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, *r)
		_, _ = io.WriteString(w, `{"items":[]}`)
	}))
	q := calendar.Query{
		CalendarID: holidays, From: noon.Add(time.Millisecond), To: noon.Add(time.Hour + time.Millisecond),
		Zone: "Asia/Kathmandu",
	}
	for _, limit := range []int{0, 1, 2500, 99999} {
		q.Limit = limit
		must[calendar.Page](t)(driver.Events(t.Context(), q))
	}
	for i, want := range []string{"2500", "1", "2500", "2500"} {
		query := asked[i].URL.Query()
		if got := query.Get("maxResults"); got != want {
			t.Errorf("maxResults is %s, want %s", got, want)
		}
		for name, want := range map[string]string{
			"timeMin": "2027-03-04T12:00:00Z", "timeMax": "2027-03-04T13:00:01Z", "timeZone": "Asia/Kathmandu",
			"singleEvents": "true", "showDeleted": "",
		} {
			if got := query.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if got, want := asked[0].URL.EscapedPath(),
		"/calendar/v3/calendars/en.uk%23holiday%40group.v.calendar.google.com/events"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// The largest page may be longer than upstream reads. The account's lists then have smaller pages.
func TestALargestPageThatIsTooLargeIsAskedForInSmallerOnes(t *testing.T) {
	s := serve(t, fake.Options{})
	driver := s.driver(t)
	var asked []string
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("maxResults"))
		if asked[len(asked)-1] == "2500" {
			_, _ = io.WriteString(w, `{"items":[`+strings.Repeat(`{"id":"x"},`, 50_000)+`{}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"items":[],"nextPageToken":"more"}`)
	}))
	q := calendar.Query{CalendarID: second, From: noon, To: noon.Add(time.Hour)}
	for range 2 {
		if page := must[calendar.Page](t)(driver.Events(t.Context(), q)); page.Next != "more" {
			t.Errorf("got %+v", page)
		}
	}
	if want := []string{"2500", "500", "500"}; !slices.Equal(asked, want) {
		t.Errorf("asked for pages of %v, want %v", asked, want)
	}
}

// A write whose preparation fails has had no effect.
func TestAWriteThatCannotBePreparedHasNotHappened(t *testing.T) {
	away := false
	s := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return away && r.Method == http.MethodGet
	}))
	event := must[calendar.Event](t)(s.driver(t).Book(t.Context(), booking("k1")))
	linked := booking("k2")
	linked.Conferencing = calendar.ConferencingProvider
	guests := []string{"lee@example.com"}
	away = true
	for what, call := range map[string]func(calendar.Driver) error{
		"a booking with a link": func(d calendar.Driver) error { _, err := d.Book(t.Context(), linked); return err },
		"other guests": func(d calendar.Driver) error {
			_, err := d.Change(t.Context(), calendar.EventRef{ID: event.ID}, calendar.Change{Attendees: &guests})
			return err
		},
	} {
		if err := call(s.driver(t)); !errors.Is(err, fault.Unavailable) || !fault.From(err).Unsent {
			t.Errorf("%s may have happened: %v", what, err)
		}
	}
}
