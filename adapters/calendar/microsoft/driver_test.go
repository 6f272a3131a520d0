package microsoft_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// monday is when the meetings of these tests begin.
var monday = time.Date(2027, 3, 8, 9, 0, 0, 0, time.UTC)

func booking(a *account) calendar.Booking {
	return calendar.Booking{
		Key: "k1", CalendarID: a.Default(), Title: "Viewing", Description: "Bring ID\nand a pen",
		Start: monday, End: monday.Add(time.Hour), Zone: "Europe/Berlin",
	}
}

func week(calendarID string) calendar.Query {
	return calendar.Query{
		CalendarID: calendarID, From: monday.AddDate(0, 0, -1), To: monday.AddDate(0, 0, 6), Zone: "Europe/Berlin",
	}
}

func book(t *testing.T, d calendar.Driver, b calendar.Booking) calendar.Event {
	t.Helper()
	event, err := d.Book(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return event
}

func refOf(e calendar.Event) calendar.EventRef {
	return calendar.EventRef{CalendarID: e.CalendarID, ID: e.ID}
}

// wantFault fails unless err is a fault of that code and reason.
func wantFault(t *testing.T, what string, err error, code fault.Code, reason string) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || f.Reason != reason {
		t.Fatalf("%s: %v, want %s %s", what, err, string(code), reason)
	}
	return f
}

// wantGone fails the test unless an error tells that there is no such event, and that there was one.
func wantGone(t *testing.T, what string, err error) {
	t.Helper()
	f := wantFault(t, what, err, fault.NotFound, fault.ReasonEventNotFound)
	if f.Metadata[calendar.MetaGone] == "" {
		t.Errorf("%s: it is not told that the event existed", what)
	}
}

// since returns the requests that a call sends.
func since(a *account, call func()) []string {
	before := len(a.Requests())
	call()
	return a.Requests()[before:]
}

func TestABookingWithoutALinkOfTheProvidersIsOneRequest(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	b := booking(a)
	b.Attendees = []string{"bob@example.com"}
	for i, kind := range []calendar.Conferencing{calendar.ConferencingNone, calendar.ConferencingURL} {
		b.Key, b.Conferencing, b.LocationURL = fmt.Sprint("k", i), kind, "https://meet.example.com/1"
		before := a.Calls()
		book(t, d, b)
		if n := a.Calls() - before; n != 1 {
			t.Errorf("conferencing %q: %d requests", kind, n)
		}
	}
	b.CalendarID, b.Conferencing = "", calendar.ConferencingNone
	for i, want := range []int{2, 1} { // the default calendar's id is read once
		b.Key = fmt.Sprint("default", i)
		before := a.Calls()
		book(t, d, b)
		if n := a.Calls() - before; n != want {
			t.Errorf("booking %d in the default calendar: %d requests, want %d", i, n, want)
		}
	}
	b.Conferencing = calendar.ConferencingProvider
	for i, want := range []int{1, 1} { // readStandard has read its meetings already
		b.Key = fmt.Sprint("linked", i)
		before := a.Calls()
		book(t, d, b)
		if n := a.Calls() - before; n != want {
			t.Errorf("booking %d with a link: %d requests, want %d", i, n, want)
		}
	}
}

func TestACallThatIsRefusedIsOneRequest(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	event := book(t, d, booking(a))
	title := "Other"
	a.Stop() // 503 with Retry-After: Microsoft's own SDK would send it four times, a POST too
	for what, call := range map[string]func(context.Context) error{
		"Account":   func(ctx context.Context) error { _, err := d.Account(ctx); return err },
		"Calendars": func(ctx context.Context) error { _, err := d.Calendars(ctx); return err },
		"Book":      func(ctx context.Context) error { _, err := d.Book(ctx, booking(a)); return err },
		"Event":     func(ctx context.Context) error { _, err := d.Event(ctx, refOf(event)); return err },
		"Change": func(ctx context.Context) error {
			_, err := d.Change(ctx, refOf(event), calendar.Change{Title: &title})
			return err
		},
		"Cancel": func(ctx context.Context) error { return d.Cancel(ctx, refOf(event)) },
		"Events": func(ctx context.Context) error { _, err := d.Events(ctx, week(a.Default())); return err },
		"FreeBusy": func(ctx context.Context) error {
			_, err := d.(calendar.FreeBusyer).FreeBusy(ctx, []string{a.Default()}, day)
			return err
		},
		"EventsOf": func(ctx context.Context) error {
			_, err := d.(calendar.ManyLister).EventsOf(ctx, []calendar.Query{week(a.Default())})
			return err
		},
	} {
		before := a.Calls()
		f := wantFault(t, what, call(t.Context()), fault.Unavailable, fault.ReasonProviderUnavailable)
		if n := a.Calls() - before; n != 1 {
			t.Errorf("%s: %d requests", what, n)
		}
		readFirst := what == "Change" || what == "Cancel"
		if f.RetryAfter != time.Second || f.Unsent != readFirst || !strings.Contains(f.Upstream, "request-id") {
			t.Errorf("%s: wait %s, unsent %t, upstream %q", what, f.RetryAfter, f.Unsent, f.Upstream)
		}
	}
}

func TestAClaimsChallengeIsNotAnswered(t *testing.T) {
	t.Parallel()
	for _, challenge := range []string{
		`Bearer claims="eyJhY2Nlc3NfdG9rZW4iOnt9fQ=="`, `Bearer claims=unquoted`, `Bearer claims`,
	} {
		calls := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		t.Cleanup(server.Close)
		d := openDriver(t, server.Client(), server.URL, "", nil)
		_, err := d.Account(t.Context())
		wantFault(t, challenge, err, fault.Disconnected, fault.ReasonReconnectRequired)
		if calls != 1 {
			t.Errorf("%s: %d requests", challenge, calls)
		}
	}
}

func TestAWriteGoesOutAgainWithRenewedCredentials(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1.0/") &&
				(r.ContentLength <= 0 || len(r.TransferEncoding) > 0) {
				t.Errorf("a body of %d bytes, sent in pieces %q", r.ContentLength, r.TransferEncoding)
			}
			next.ServeHTTP(w, r)
		})
	})
	token := a.token()
	pool := upstream.NewPool(upstream.PoolOptions{})
	t.Cleanup(pool.Close)
	base, err := url.Parse(a.url)
	if err != nil {
		t.Fatal(err)
	}
	renewed := 0
	client := pool.Client(upstream.ClientOptions{
		Provider: "microsoft", AuthorizeFor: base,
		Authorize: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+token); return nil },
		Renew: func(*http.Request) (bool, error) {
			renewed++
			token = a.token()
			return true, nil
		},
	})
	d := openDriver(t, client, a.url+"/v1.0", "", nil)
	a.OAuth().ExpireAccess()
	event := book(t, d, booking(a))
	if renewed != 1 || event.Title != "Viewing" {
		t.Errorf("renewed %d times, booked %+v", renewed, event)
	}
}

func TestWhatWasNeverSentIsSaidSo(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	pool := upstream.NewPool(upstream.PoolOptions{})
	t.Cleanup(pool.Close)
	d := openDriver(t, pool.Client(upstream.ClientOptions{Provider: "microsoft"}), address+"/v1.0", "", nil)
	_, err = d.Book(t.Context(), calendar.Booking{
		Key: "k", CalendarID: "c", Start: monday, End: monday.Add(time.Hour), Zone: "UTC",
	})
	if f := wantFault(t, "Book", err, fault.Unavailable, fault.ReasonProviderUnavailable); !f.Unsent {
		t.Error("nothing was sent, and it is not said")
	}
}

func TestWhoseAccountItIs(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		how     fake.Options
		mailbox string
		want    calendar.Account
	}{
		"the mail of a company's account": {fake.Options{}, "",
			calendar.Account{Email: email, Name: "Alice Example"}},
		"the calendar's owner of a personal one": {fake.Options{Personal: true}, "",
			calendar.Account{Email: email, Name: "Alice Example"}},
		"no name of a guest, which is no address": {fake.Options{Guest: true}, "",
			calendar.Account{Name: "Alice Example"}},
		"the calendar's owner for an application": {fake.Options{}, email,
			calendar.Account{Email: email, Name: "Alice Example"}},
	} {
		a := serve(t, c.how, nil)
		a.mailbox = c.mailbox
		got, err := a.open().Account(t.Context())
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", rule, got, err)
		}
	}
}

func TestAnAccountWithoutAMailboxIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{NoMailbox: true}, nil)
	_, err := a.open().Events(t.Context(), week(a.Default()))
	f := wantFault(t, "Events", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	if !strings.Contains(f.Detail, "Exchange Online") {
		t.Error(f.Detail)
	}
	b := serve(t, fake.Options{}, nil)
	b.mailbox = "nobody@example.com"
	_, err = b.open().Account(t.Context())
	f = wantFault(t, "Account", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	if !strings.Contains(f.Detail, "settings.mailbox") {
		t.Error(f.Detail)
	}
}

func TestTheCalendarOfTheSettingsIsTheDefaultOne(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	second := a.AddCalendar("Second", false)
	a.setting["calendar_id"] = second
	d := a.open()
	list, err := d.Calendars(t.Context())
	if err != nil || len(list) != 2 || list[0].IsDefault || !list[1].IsDefault {
		t.Fatalf("%+v, %v", list, err)
	}
	b := booking(a)
	b.CalendarID = ""
	if event := book(t, d, b); event.CalendarID != second {
		t.Errorf("booked in %q", event.CalendarID)
	}
}

func TestCalendarsAreFollowedOverPages(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	for i := range 130 {
		a.AddCalendar(fmt.Sprint("Room ", i), false)
	}
	list, err := a.open().Calendars(t.Context())
	if err != nil || len(list) != 131 {
		t.Errorf("%d calendars, %v", len(list), err)
	}
}

func TestALinkThatCannotBeIsRefusedBeforeAnythingIsBooked(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{Personal: true}, nil)
	b := booking(a)
	b.Conferencing = calendar.ConferencingProvider
	asked := since(a, func() {
		_, err := a.open().Book(t.Context(), b)
		wantFault(t, "Book with a link", err, fault.Unsupported, fault.ReasonConferencing)
	})
	if slices.ContainsFunc(asked, func(r string) bool { return strings.HasPrefix(r, http.MethodPost) }) {
		t.Errorf("asked for %q", asked)
	}
	b.Conferencing, b.LocationURL = calendar.ConferencingURL,
		"https://meet.example.com/"+strings.Repeat("x", 300)
	_, err := a.open().Book(t.Context(), b)
	wantFault(t, "Book with a link that is too long", err, fault.Unsupported, fault.ReasonConferencing)
	if a.Events() != 0 {
		t.Error("something was booked")
	}
}

func TestAMeetingMadeWithoutItsLinkIsRemovedAgain(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{Silent: true}, nil)
	b := booking(a)
	b.Conferencing, b.Attendees = calendar.ConferencingProvider, []string{"bob@example.com"}
	d := a.open()
	_, err := d.Book(t.Context(), b)
	wantFault(t, "Book", err, fault.Unsupported, fault.ReasonConferencing)
	if a.Events() != 0 {
		t.Error("the event was left behind")
	}

	b.Key = "k2"
	restore := a.Fail("cancel", http.StatusServiceUnavailable, "ServiceUnavailable", http.Header{"Retry-After": {"60"}})
	_, err = d.Book(t.Context(), b)
	f := wantFault(t, "Book that cannot remove it", err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if f.RetryAfter != time.Minute || strings.Contains(f.Detail, "Repeat") {
		t.Errorf("to be asked again after %s, or a repeat is advised that may act twice: %v", f.RetryAfter, f)
	}
	restore()
	_, err = d.Book(t.Context(), b) // the repeat settles it
	wantFault(t, "Book again", err, fault.Unsupported, fault.ReasonConferencing)
	if a.Events() != 0 {
		t.Error("the event was left behind by the repeat")
	}
}

func TestALinkThatIsLateIsWaitedForWhileTheMeetingIsOnline(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{LateLinks: 6}, nil)
	b := booking(a)
	b.Conferencing = calendar.ConferencingProvider
	made, err := a.open().Book(t.Context(), b)
	if err != nil || !strings.Contains(made.URL, "join") || a.Events() != 1 {
		t.Errorf("booked with the link %q, %v; there are %d events", made.URL, err, a.Events())
	}
}

func TestAnotherDescriptionKeepsHowToJoin(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	b := booking(a)
	b.Conferencing, b.Description = calendar.ConferencingProvider, "Bring <ID> & a pen\n____ short rule\nsee you"
	event := book(t, d, b)
	if event.Description != b.Description {
		t.Fatalf("booked %q", event.Description)
	}
	title, description := "Other", "Two\nlines <b>not bold</b> & \"more\""
	asked := since(a, func() {
		if _, err := d.Change(t.Context(), refOf(event), calendar.Change{
			Title: &title, Description: &b.Description,
		}); err != nil {
			t.Fatal(err)
		}
	})
	if len(asked) != 2 || !a.Joins(event.ID) { // the same description is not written
		t.Errorf("asked %q, joins %t", asked, a.Joins(event.ID))
	}
	changed, err := d.Change(t.Context(), refOf(event), calendar.Change{Description: &description})
	if err != nil || changed.Description != description || changed.URL != event.URL || !a.Joins(event.ID) {
		t.Errorf("changed to %q, link %q, joins %t, %v", changed.Description, changed.URL, a.Joins(event.ID), err)
	}
	if body := a.Body(event.ID); strings.Contains(body, "Bring") ||
		strings.Count(body, "action.join_link") != 2 {
		t.Errorf("the body is %s", body)
	}
	empty := ""
	if changed, err = d.Change(t.Context(), refOf(event), calendar.Change{Description: &empty}); err != nil ||
		changed.Description != "" || !a.Joins(event.ID) {
		t.Errorf("cleared to %q, %v", changed.Description, err)
	}
}

func TestOnlyWhatChangesIsSent(t *testing.T) {
	t.Parallel()
	var sent []string
	a := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				sent = append(sent, bodyOf(t, r)+" "+r.Header.Get("If-Match"))
			}
			next.ServeHTTP(w, r)
		})
	})
	d := a.open()
	b := booking(a)
	b.Attendees = []string{"Bob@example.com", "eve@example.com"}
	event := book(t, d, b)
	title, same, fewer := "Other", []string{"EVE@example.com", "bob@example.com", "bob@EXAMPLE.com"}, []string{}
	from, to := monday.Add(24*time.Hour), monday.Add(25*time.Hour)
	ended := strings.ReplaceAll(b.Description, "\n", "\r\n") + "\n"
	for _, c := range []struct {
		change calendar.Change
		want   string
	}{
		{calendar.Change{Title: &title}, `{"subject":"Other"} `},
		{calendar.Change{Attendees: &same, Description: &b.Description}, ""},
		{calendar.Change{Description: &ended}, ""},
		{calendar.Change{}, ""},
		{calendar.Change{Start: &from, End: &to, Zone: "America/New_York"},
			`{"start":{"dateTime":"2027-03-09T04:00:00.0000000","timeZone":"Eastern Standard Time"},"end":{"dateTime":"2027-03-09T05:00:00.0000000","timeZone":"Eastern Standard Time"},"isAllDay":false} `},
		{calendar.Change{Attendees: &fewer}, `{"attendees":[]} `},
	} {
		sent = nil
		if _, err := d.Change(t.Context(), refOf(event), c.change); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(sent, "; ")
		if i := strings.Index(got, `W/"`); i > 0 && c.change.Attendees != nil { // the version that was read
			got = got[:i]
		}
		if got != c.want {
			t.Errorf("%+v sent %s, want %s", c.change, got, c.want)
		}
	}
}

func TestAChangeOfAKnownVersionIsOneRequest(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	event := book(t, d, booking(a))
	title, from, to := "Other", monday.Add(time.Hour), monday.Add(2*time.Hour)
	change := calendar.Change{
		IfUnchanged: event.Version, Title: &title, Start: &from, End: &to, Zone: "Europe/Berlin",
	}
	asked := since(a, func() {
		if _, err := d.Change(t.Context(), refOf(event), change); err != nil {
			t.Fatal(err)
		}
	})
	if len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
	_, err := d.Change(t.Context(), refOf(event), change)
	wantFault(t, "the same again", err, fault.Conflict, fault.ReasonChangedMeanwhile)
}

func TestHowAnEventLeavesTheCalendar(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	unrelated := book(t, d, booking(a))
	b := booking(a)
	b.Key, b.Attendees = "k2", []string{"bob@example.com"}
	meeting := book(t, d, b)
	invited, err1 := a.Invite(a.Default(), "Theirs", "carol@example.com", monday, monday.Add(time.Hour))
	withdrawn, err2 := a.Invite(a.Default(), "Off", "carol@example.com", monday, monday.Add(time.Hour))
	if err := errors.Join(err1, err2, a.Withdraw(withdrawn)); err != nil {
		t.Fatal(err)
	}
	listed, err := d.Events(t.Context(), week(a.Default()))
	if err != nil || !slices.ContainsFunc(listed.Events,
		func(e calendar.Event) bool { return e.ID == withdrawn && e.IsCancelled }) {
		t.Errorf("the withdrawn invitation is not listed as cancelled: %v", err)
	}
	title := "Still on"
	_, err = d.Change(t.Context(), calendar.EventRef{CalendarID: a.Default(), ID: withdrawn},
		calendar.Change{Title: &title})
	wantFault(t, "Change of a withdrawn invitation", err, fault.NotFound, fault.ReasonEventNotFound)
	for _, c := range []struct{ what, id, want string }{
		{"one's own, alone", unrelated.ID, "DELETE"},
		{"one's own meeting", meeting.ID, "POST /cancel"},
		{"an invitation", invited, "POST /decline"},
		{"a withdrawn invitation", withdrawn, "DELETE"},
	} {
		ref := calendar.EventRef{CalendarID: a.Default(), ID: c.id}
		asked := since(a, func() {
			if err := d.Cancel(t.Context(), ref); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
		})
		method, path, _ := strings.Cut(asked[len(asked)-1], " ")
		if action := path[strings.LastIndexByte(path, '/'):]; action == "/cancel" || action == "/decline" {
			method += " " + action
		}
		if method != c.want || len(asked) != 2 {
			t.Errorf("%s: asked %q", c.what, asked)
		}
	}
	if got := a.Notices(invited); len(got) != 1 ||
		got[0] != (fake.Notice{To: "carol@example.com", Kind: "declined: "}) {
		t.Errorf("the organizer got %v", got)
	}
}

// Exchange refuses to delete what is deleted already in the same words as what the account may not delete.
func TestWhatMayNotBeDeletedIsNotTakenForDeleted(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	b := booking(a)
	b.Attendees = nil
	event := book(t, d, b)
	defer a.Fail("DELETE", http.StatusForbidden, "ErrorCannotDeleteObject", nil)()
	err := d.Cancel(t.Context(), refOf(event))
	wantFault(t, "cancelling what stays", err, fault.Forbidden, fault.ReasonPermissionDenied)
	a.FailWith("calendarView", http.StatusOK, `{"value":[]}`)
	err = d.Cancel(t.Context(), refOf(event))
	wantGone(t, "cancelling what is deleted", err)
}

// An immutable id finds the event among the deleted items.
func TestWhatItsOrganizerCancelledInOutlookIsGone(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	event := book(t, d, booking(a))
	if err := a.Withdraw(event.ID); err != nil {
		t.Fatal(err)
	}
	err := d.Cancel(t.Context(), refOf(event))
	wantGone(t, "Cancel", err)
}

// Exchange says of an instance that somebody has removed it.
func TestAnInstanceThatSomebodyRemovedIsGone(t *testing.T) {
	t.Parallel()
	d := answering(t, http.StatusNotFound, errorBody("ErrorCalendarOccurrenceIsDeletedFromRecurrence"), nil)
	err := d.Cancel(t.Context(), calendar.EventRef{CalendarID: "c", ID: "e"})
	wantGone(t, "Cancel", err)
}

func TestABookingIsFoundAgainOrSaidToBeGone(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	b := booking(a)
	first := book(t, d, b)

	if err := a.Age(first.ID, time.Minute); err != nil { // as if an earlier call had created it
		t.Fatal(err)
	}
	asked := since(a, func() {
		if again := book(t, d, b); again.ID != first.ID {
			t.Errorf("booked %q, want %q", again.ID, first.ID)
		}
	})
	if len(asked) != 2 || !strings.HasPrefix(asked[1], "GET") {
		t.Errorf("an old event is not read again: %q", asked)
	}

	other := b
	other.Description = "An event that is not quite the same"
	if again := book(t, d, other); again.ID != first.ID || again.Description != b.Description {
		t.Errorf("ErrorDuplicateTransactionId: booked %+v", again)
	}
	if err := a.Remove(first.ID); err != nil {
		t.Fatal(err)
	}
	_, err := d.Book(t.Context(), b)
	wantFault(t, "Book of a removed event", err, fault.Conflict, fault.ReasonChangedMeanwhile)
	if a.Events() != 0 {
		t.Error("it was booked anew")
	}
}

func TestIDsOutliveAMove(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	event := book(t, d, booking(a))
	if err := a.Move(event.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Event(t.Context(), refOf(event)); err != nil || got.ID != event.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAZoneThatIsNoneIsNotShown(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	event := book(t, d, booking(a))
	for name, want := range map[string]string{
		"tzone://Microsoft/Custom": "", "Customized Time Zone": "", "": "", "Local": "",
		"Europe/Madrid": "Europe/Madrid", "India Standard Time": "Asia/Kolkata",
	} {
		if err := a.SetZone(event.ID, name); err != nil {
			t.Fatal(err)
		}
		got, err := d.Event(t.Context(), refOf(event))
		if err != nil || got.Start.Zone != want || !got.Start.Instant.Equal(monday) {
			t.Errorf("%q: %+v, %v", name, got.Start, err)
		}
	}
}

func TestAnOccurrenceStaysBetweenItsNeighbours(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	if _, err := a.Series(a.Default(), "Daily", monday, time.Hour, "Europe/Berlin",
		"FREQ=DAILY;COUNT=5"); err != nil {
		t.Fatal(err)
	}
	page, err := d.Events(t.Context(), week(a.Default()))
	if err != nil || len(page.Events) != 5 {
		t.Fatalf("%d events, %v", len(page.Events), err)
	}
	from, to := monday.AddDate(0, 0, 3), monday.AddDate(0, 0, 3).Add(time.Hour)
	_, err = d.Change(t.Context(), refOf(page.Events[1]), calendar.Change{
		Start: &from, End: &to, Zone: "Europe/Berlin",
	})
	f := wantFault(t, "Change", err, fault.Invalid, fault.ReasonProviderRefused)
	if !strings.Contains(f.Detail, "series") {
		t.Error(f.Detail)
	}
}

func TestASpanThatGraphRefusesIsNotAskedFor(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	q := week(a.Default())
	q.To = q.From.AddDate(0, 0, 1825)
	if _, err := d.Events(t.Context(), q); err != nil {
		t.Errorf("1,825 days: %v", err)
	}
	q.To = q.To.Add(time.Second)
	before := a.Calls()
	_, err := d.Events(t.Context(), q)
	wantFault(t, "a second more", err, fault.Exhausted, fault.ReasonTooManyEvents)
	if a.Calls() != before {
		t.Error("it was asked for")
	}
}

func TestAPageElsewhereIsNotFollowed(t *testing.T) {
	t.Parallel()
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	for _, link := range []string{
		other.URL + "/v1.0/me/calendarView",
		"http://user@" + strings.TrimPrefix(a.url, "http://") + "/v1.0/me/calendarView",
		a.url + "/beta/me/calendarView", a.url + "/v1.0/../beta/me", a.url + ".example.com/v1.0/me",
		"//example.com/v1.0/me", "%", "/v1.0/me",
		strings.Replace(a.url, "http:", "https:", 1) + "/v1.0/me/calendarView",
	} {
		q := week(a.Default())
		q.Cursor = link
		before := a.Calls()
		_, err := d.Events(t.Context(), q)
		wantFault(t, link, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		_, err = d.(calendar.ManyLister).EventsOf(t.Context(), []calendar.Query{q})
		wantFault(t, link, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		if a.Calls() != before {
			t.Errorf("%s was followed", link)
		}
	}
	if len(seen) > 0 {
		t.Errorf("another host was asked: %q", seen)
	}
}

// A whole day is where the query's zone has it, in whichever zone Exchange has it.
func TestAWholeDayIsListedInTheZoneOfTheQuery(t *testing.T) {
	t.Parallel()
	zones := []string{"Pacific/Kiritimati", "Asia/Kolkata", "UTC", "America/New_York", "Etc/GMT+12"}
	for _, lies := range zones {
		a := serve(t, fake.Options{Zone: lies}, nil)
		// Clocks in New York change on 14 March.
		day := time.Date(2027, 3, 14, 0, 0, 0, 0, time.UTC)
		if _, err := a.Days(a.Default(), "Closed", day, day.AddDate(0, 0, 1)); err != nil {
			t.Fatal(err)
		}
		d := a.open()
		for _, name := range zones {
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			begin, end := time.Date(2027, 3, 14, 0, 0, 0, 0, zone), time.Date(2027, 3, 15, 0, 0, 0, 0, zone)
			for _, w := range []struct {
				from, to time.Time
				listed   int
			}{
				{begin.Add(-time.Hour), begin, 0}, {begin.Add(-time.Hour), begin.Add(time.Second), 1},
				{end.Add(-time.Second), end.Add(time.Hour), 1}, {end, end.Add(time.Hour), 0},
			} {
				page, err := d.Events(t.Context(), calendar.Query{
					CalendarID: a.Default(), From: w.from, To: w.to, Zone: name,
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(page.Events) != w.listed {
					t.Errorf("a day in %s: from %s to %s, %d are listed", lies, w.from, w.to, len(page.Events))
				}
			}
		}
	}
}

// A day whose midnight clocks skip begins just after it, and one that has two midnights begins at the first.
func TestAWholeDayBeginsWhereClocksChangeAtMidnight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone       string
		day        time.Time
		begin, end time.Duration // after the day's midnight in UTC
	}{
		{"America/Santiago", time.Date(2027, 9, 5, 0, 0, 0, 0, time.UTC), 4 * time.Hour, 27 * time.Hour},
		{"Asia/Beirut", time.Date(2027, 3, 28, 0, 0, 0, 0, time.UTC), -2 * time.Hour, 21 * time.Hour},
		{"America/Havana", time.Date(2027, 11, 7, 0, 0, 0, 0, time.UTC), 4 * time.Hour, 29 * time.Hour},
	} {
		a := serve(t, fake.Options{Zone: c.zone}, nil)
		must(t)(a.Days(a.Default(), "Closed", c.day, c.day.AddDate(0, 0, 1)))
		d, begin, end := a.open(), c.day.Add(c.begin), c.day.Add(c.end)
		for _, w := range []struct {
			from, to time.Time
			listed   int
		}{
			{begin.Add(-time.Hour), begin, 0}, {begin, begin.Add(time.Second), 1}, {end.Add(-time.Second), end, 1},
			{end, end.Add(time.Hour), 0},
		} {
			page, err := d.Events(t.Context(), calendar.Query{
				CalendarID: a.Default(), From: w.from, To: w.to, Zone: c.zone,
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Events) != w.listed {
				t.Errorf("%s: from %s to %s, %d are listed", c.zone, w.from, w.to, len(page.Events))
			}
		}
	}
}

func TestABatchReadsManyCalendarsInFewRequests(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	queries := []calendar.Query{week("")}
	for i := range 24 {
		queries = append(queries, week(a.AddCalendar(fmt.Sprint("Room ", i), false)))
	}
	var want []string
	for i, q := range queries {
		b := booking(a)
		b.CalendarID, b.Title = q.CalendarID, fmt.Sprint("Meeting ", i)
		want = append(want, book(t, d, b).ID)
	}
	queries[3].Limit = 1
	before := a.Calls()
	pages, err := d.(calendar.ManyLister).EventsOf(t.Context(), queries)
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range pages {
		if len(page.Events) != 1 || page.Events[0].ID != want[i] {
			t.Errorf("query %d answers %+v", i, page.Events)
		}
	}
	if n := a.Calls() - before; n != 2 {
		t.Errorf("%d requests for %d calendars", n, len(queries))
	}
	if a.Peak() > 4 || a.Crowded() > 0 {
		t.Errorf("%d ran at one time, %d were refused", a.Peak(), a.Crowded())
	}
}

// The largest page may be longer than upstream reads. The list then goes on in smaller pages, from where the
// pages before have ended.
func TestAPageThatIsTooLargeIsAskedForInSmallerOnes(t *testing.T) {
	t.Parallel()
	for _, large := range []int{1, 2} {
		t.Run(fmt.Sprint("page ", large), func(t *testing.T) {
			var asked []string
			a := serve(t, fake.Options{MostPerPage: 2}, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/calendarView") {
						query := r.URL.Query()
						asked = append(asked, query.Get("$top")+" "+query.Get("$skip"))
						if len(asked) == large {
							w.Header().Set("Content-Type", "application/json")
							_, _ = io.WriteString(w, `{"value":[`+strings.Repeat(`{"id":"x"},`, 50_000)+`{}]}`)
							return
						}
					}
					h.ServeHTTP(w, r)
				})
			})
			d := a.open()
			bookFive(t, a, d)
			q, ids := week(a.Default()), map[string]bool{}
			for q.Cursor = ""; ; {
				page, err := d.Events(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Events {
					ids[e.ID] = true
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			if _, err := d.Events(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			want := [][]string{
				{"1000 ", "250 0", "250 0", "250 0", "250 "}, {"1000 ", "1000 ", "250 2", "250 2", "250 "},
			}[large-1]
			if len(ids) != 5 || !slices.Equal(asked, want) {
				t.Errorf("%d events by the pages %q, want %q", len(ids), asked, want)
			}
		})
	}
}

// The default calendar of a mailbox that was restored or moved has another id (microsoftgraph/msgraph-sdk-dotnet#2423).
// Once the calendars were listed anew, calls that name none go there.
func TestTheDefaultCalendarMayGetAnotherID(t *testing.T) {
	t.Parallel()
	var moved atomic.Bool
	var was string
	const is = "AAMkNew"
	a := serve(t, fake.Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !moved.Load() {
				h.ServeHTTP(w, r)
				return
			}
			if strings.Contains(r.URL.Path, was) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"error":{"code":"ErrorItemNotFound","message":"Not found."}}`)
				return
			}
			r.URL.RawPath = strings.ReplaceAll(r.URL.EscapedPath(), is, url.PathEscape(was))
			r.URL.Path, _ = url.PathUnescape(r.URL.RawPath)
			recorder := httptest.NewRecorder()
			h.ServeHTTP(recorder, r)
			maps.Copy(w.Header(), recorder.Header())
			w.Header().Del("Content-Length")
			w.WriteHeader(recorder.Code)
			_, _ = io.WriteString(w, strings.ReplaceAll(recorder.Body.String(), was, is))
		})
	})
	was = a.Default()
	d := a.open()
	b := booking(a)
	b.CalendarID = ""
	book(t, d, b)
	moved.Store(true)
	b.Key = "k2"
	_, err := d.Book(t.Context(), b)
	wantFault(t, "the former id", err, fault.NotFound, fault.ReasonCalendarNotFound)
	if _, err := d.Calendars(t.Context()); err != nil {
		t.Fatal(err)
	}
	if event := book(t, d, b); event.CalendarID != is {
		t.Errorf("booked in %q", event.CalendarID)
	}
}

// A text that is longer than upstream reads hurts no list, which needs no texts.
func TestALongTextHurtsNoList(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	bookFive(t, a, d)
	long := booking(a)
	long.Key, long.Description = "long", strings.Repeat("an attachment that was pasted ", 100_000)
	if _, err := d.Book(t.Context(), long); fault.From(err).Reason != upstream.ReasonAnswerTooLarge &&
		!errors.Is(err, fault.UnknownOutcome) {
		t.Fatalf("the event is not long enough: %v", err)
	}
	one, err := d.Events(t.Context(), week(a.Default()))
	if err != nil || len(one.Events) != 6 {
		t.Errorf("%d events alone, %v", len(one.Events), err)
	}
	many, err := d.(calendar.ManyLister).EventsOf(t.Context(), []calendar.Query{week(a.Default())})
	if err != nil || len(many[0].Events) != 6 {
		t.Errorf("in a batch: %v", err)
	}
}

// bookFive books five meetings at one time.
func bookFive(t *testing.T, a *account, d calendar.Driver) {
	t.Helper()
	for i := range 5 {
		b := booking(a)
		b.Key = fmt.Sprint("k", i)
		book(t, d, b)
	}
}

func TestABatchGoesOnWhereAPageEnded(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	bookFive(t, a, d)
	q, ids := week(a.Default()), map[string]bool{}
	q.Limit = 2
	for range 4 {
		pages, err := d.(calendar.ManyLister).EventsOf(t.Context(), []calendar.Query{q})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range pages[0].Events {
			ids[e.ID] = true
		}
		if q.Cursor = pages[0].Next; q.Cursor == "" {
			break
		}
	}
	if len(ids) != 5 || q.Cursor != "" {
		t.Errorf("%d events, then %q", len(ids), q.Cursor)
	}
}

func TestABatchFailsAsThePartThatFailed(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	second := a.AddCalendar("Second", false)
	d := a.open()
	part := url.QueryEscape(second)
	for _, c := range []struct {
		what   string
		fail   func() func()
		code   fault.Code
		reason string
		wait   time.Duration
	}{
		{"throttled, with a wait of its own", func() func() {
			return a.Fail(part, http.StatusTooManyRequests, "ApplicationThrottled", http.Header{"Retry-After": {"23"}})
		}, fault.RateLimited, fault.ReasonProviderRateLimited, 23 * time.Second},
		{"throttled without one", func() func() {
			return a.Fail(part, http.StatusTooManyRequests, "MailboxConcurrency", nil)
		}, fault.RateLimited, fault.ReasonProviderRateLimited, 0},
		{"not there", func() func() {
			return a.Fail(part, http.StatusNotFound, "ErrorItemNotFound", nil)
		}, fault.NotFound, fault.ReasonCalendarNotFound, 0},
		{"refused", func() func() {
			return a.Fail(part, http.StatusForbidden, "ErrorAccessDenied", nil)
		}, fault.Forbidden, fault.ReasonPermissionDenied, 0},
		{"down, with a page that is not Graph's", func() func() {
			return a.FailWith(part, http.StatusBadGateway, "<html>Bad gateway</html>")
		}, fault.Unavailable, fault.ReasonProviderUnavailable, 0},
		{"a success that is none", func() func() {
			return a.FailWith(part, http.StatusOK, "<html>Sign in</html>")
		}, fault.Unsupported, fault.ReasonProviderMisconfigured, 0},
	} {
		restore := c.fail()
		_, err := d.(calendar.ManyLister).EventsOf(t.Context(), []calendar.Query{week(a.Default()), week(second)})
		restore()
		if f := wantFault(t, c.what, err, c.code, c.reason); f.RetryAfter != c.wait {
			t.Errorf("%s: a wait of %s", c.what, f.RetryAfter)
		}
		if !errors.Is(err, calendar.ErrOnePart) {
			t.Errorf("%s: it is not said to be about one part", c.what)
		}
	}
	defer a.Fail("batch", http.StatusServiceUnavailable, "ServiceUnavailable", nil)()
	_, err := d.(calendar.ManyLister).EventsOf(t.Context(), []calendar.Query{week(a.Default()), week(second)})
	if err == nil || errors.Is(err, calendar.ErrOnePart) {
		t.Errorf("the whole: %v", err)
	}
}

func TestPagesThatLeadInACircleEnd(t *testing.T) {
	t.Parallel()
	d := answering(t, http.StatusOK,
		`{"value":[{"id":"c","name":"n"}],"@odata.nextLink":"https://graph.example.com/v1.0/me/calendars?$skip=1"}`,
		nil)
	_, err := d.Calendars(t.Context())
	wantFault(t, "Calendars", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
}

func TestIDsThatWouldLeadElsewhereAreNotAskedFor(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	title := "Other"
	before := a.Calls()
	for _, id := range []string{".", ".."} {
		for what, call := range map[string]func(calendar.EventRef) error{
			"Event": func(r calendar.EventRef) error { _, err := d.Event(t.Context(), r); return err },
			"Change": func(r calendar.EventRef) error {
				_, err := d.Change(t.Context(), r, calendar.Change{IfUnchanged: "v", Title: &title})
				return err
			},
			"Cancel": func(r calendar.EventRef) error { return d.Cancel(t.Context(), r) },
		} {
			wantFault(t, what, call(calendar.EventRef{CalendarID: a.Default(), ID: id}), fault.NotFound,
				fault.ReasonEventNotFound)
			wantFault(t, what, call(calendar.EventRef{CalendarID: id, ID: "AAMk"}), fault.NotFound,
				fault.ReasonEventNotFound)
		}
		b := booking(a)
		b.CalendarID = id
		_, err := d.Book(t.Context(), b)
		wantFault(t, "Book", err, fault.NotFound, fault.ReasonCalendarNotFound)
		_, err = d.Events(t.Context(), week(id))
		wantFault(t, "Events", err, fault.NotFound, fault.ReasonCalendarNotFound)
	}
	if a.Calls() != before {
		t.Errorf("%q", a.Requests())
	}
}

func TestNoMoreRequestsRunAtOneTimeThanTheMailboxTakes(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	d := a.open()
	queries := []calendar.Query{week(a.Default())}
	for i := range 3 {
		queries = append(queries, week(a.AddCalendar(fmt.Sprint("Room ", i), false)))
	}
	err := conformance.AtOnce(24, func(i int) error {
		if i%2 == 0 {
			_, err := d.Events(t.Context(), queries[i%4])
			return err
		}
		_, err := d.(calendar.ManyLister).EventsOf(t.Context(), queries)
		return err
	})
	if err != nil || a.Crowded() > 0 || a.Peak() > 4 {
		t.Errorf("%d ran at one time, %d were refused: %v", a.Peak(), a.Crowded(), err)
	}
}

// A write whose preparation fails has had no effect.
func TestAWriteThatCannotBePreparedHasNotHappened(t *testing.T) {
	t.Parallel()
	away := false
	a := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return away && r.Method == http.MethodGet
	}))
	event := book(t, a.open(), booking(a))
	linked := booking(a)
	linked.Key, linked.Conferencing = "k2", calendar.ConferencingProvider
	unnamed := booking(a)
	unnamed.Key, unnamed.CalendarID = "k3", ""
	title, text, guests := "Other", "Other", []string{"bob@example.com"}
	change := func(c calendar.Change) func(calendar.Driver) error {
		return func(d calendar.Driver) error { _, err := d.Change(t.Context(), refOf(event), c); return err }
	}
	bookAs := func(b calendar.Booking) func(calendar.Driver) error {
		return func(d calendar.Driver) error { _, err := d.Book(t.Context(), b); return err }
	}
	away = true
	for what, call := range map[string]func(calendar.Driver) error{
		"a booking in the default calendar": bookAs(unnamed),
		"a booking with a link":             bookAs(linked),
		"another title":                     change(calendar.Change{Title: &title}),
		"another text":                      change(calendar.Change{Description: &text}),
		"other guests":                      change(calendar.Change{Attendees: &guests}),
		"a cancellation": func(d calendar.Driver) error {
			return d.Cancel(t.Context(), refOf(event))
		},
	} {
		f := wantFault(t, what, call(a.open()), fault.Unavailable, fault.ReasonProviderUnavailable)
		if !f.Unsent {
			t.Errorf("%s may have happened: %v", what, f)
		}
	}
}

// A booking that is repeated leaves a meeting alone whose link somebody has removed since.
func TestARepeatDoesNotCancelAMeetingWithoutItsLink(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	b := booking(a)
	b.Conferencing = calendar.ConferencingProvider
	booked := book(t, a.open(), b)
	if err := errors.Join(a.Age(booked.ID, time.Minute), a.Unlink(booked.ID)); err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{b.Title, "Other"} { // the second is answered as a duplicate, and looked for
		b.Title = title
		if again := book(t, a.open(), b); again.ID != booked.ID || a.Events() != 1 {
			t.Errorf("%s: the repeat answers %+v, with %d events", title, again, a.Events())
		}
	}
}

// Exchange that is moving a mailbox has refused the booking.
func TestABookingInAMailboxThatIsMovedHasNotHappened(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events") {
				http.Error(w, errorBody("ErrorMailboxMoveInProgress"), http.StatusNotFound)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, err := a.open().Book(t.Context(), booking(a))
	if f := wantFault(t, "Book", err, fault.Unavailable, fault.ReasonProviderUnavailable); !f.Unsent {
		t.Errorf("it may have happened: %v", f)
	}
}

// That what is asked after a booking was not sent, or was refused, does not mean that nothing was booked.
func TestABookingThatCannotBeReadAgainMayHaveHappened(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Retry-After", "60")
				http.Error(w, errorBody("TooManyRequests"), http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	event := book(t, a.open(), booking(a))
	if err := a.Age(event.ID, time.Minute); err != nil { // so that it is read after the POST
		t.Fatal(err)
	}
	token := a.token()
	noToken := openDriver(t, adaptertest.Client(t, "microsoft", a.url, func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		if r.Method == http.MethodGet {
			return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "There is no token.")
		}
		return nil
	}), a.url+"/v1.0", "", nil)
	other := booking(a)
	other.Description = "An event that is not quite the same" // is answered as a duplicate, and looked for
	for what, b := range map[string]calendar.Booking{"the same": booking(a), "another": other} {
		_, err := noToken.Book(t.Context(), b)
		f := wantFault(t, what+" without a token", err, fault.Unavailable, fault.ReasonProviderUnavailable)
		if f.Unsent {
			t.Errorf("%s: an event that is there counts as not booked: %v", what, f)
		}
		_, err = a.open().Book(t.Context(), b)
		f = wantFault(t, what+" beyond the limit", err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		if f.RetryAfter != time.Minute || strings.Contains(f.Detail, "Repeat") {
			t.Errorf("%s beyond the limit: to be asked again after %s, or a repeat is advised that may act twice: %v",
				what, f.RetryAfter, f)
		}
	}
}

// OData takes a segment that begins with a dollar sign for one of its own (learn.microsoft.com/graph/api/user-get), so
// that of an id is escaped in every request. Only the names of parameters have it as it is.
func TestADollarSignOfAnIDIsEscaped(t *testing.T) {
	t.Parallel()
	var asked []string
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.RequestURI())
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, nil
	})}
	d, title := openDriver(t, client, "https://graph.example.com/v1.0", "", nil), "Other"
	ref := calendar.EventRef{CalendarID: "$c", ID: "$e"}
	_, _ = d.Event(t.Context(), ref)
	_, _ = d.Change(t.Context(), ref, calendar.Change{Title: &title, IfUnchanged: "1"})
	_, _ = d.Events(t.Context(), week("$c"))
	if len(asked) != 3 || !strings.Contains(asked[0], "?$select=") {
		t.Fatalf("requests are %q", asked)
	}
	for i, want := range []string{"%24c/events/%24e?", "%24c/events/%24e", "%24c/calendarView?"} {
		if !strings.HasPrefix(asked[i], "/v1.0/me/calendars/"+want) {
			t.Errorf("request %d is %s", i, asked[i])
		}
	}
}
