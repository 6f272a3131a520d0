package caldav_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// meeting returns an object of one event with further lines.
func meeting(uid string, lines ...string) string {
	all := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Outsider//EN", "BEGIN:VEVENT", "UID:" + uid,
		"DTSTAMP:20260101T000000Z",
	}
	all = append(all, lines...)
	return strings.Join(append(all, "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}

var lunchTime = []string{"SUMMARY:Lunch", "DTSTART:20270503T120000Z", "DTEND:20270503T130000Z"}

func TestWhatSomeoneElseOrganizesIsNotChanged(t *testing.T) {
	t.Parallel()
	const guest = "ATTENDEE:mailto:alice@example.com"
	for _, c := range []struct {
		rule  string
		how   fake.Options
		email string // the connection's setting
		lines []string
		own   bool
	}{
		{rule: "no organizer", email: email, own: true},
		{rule: "the server's address of the account", lines: []string{"ORGANIZER:mailto:alice@example.com", guest},
			own: true},
		{rule: "in other letters", lines: []string{"ORGANIZER;CN=Alice:MAILTO:Alice@Example.COM", guest},
			own: true},
		{rule: "the connection's email", email: "desk@example.com",
			lines: []string{"ORGANIZER:mailto:desk@example.com", guest}, own: true},
		{rule: "the server's address beside the connection's email", email: "desk@example.com",
			lines: []string{"ORGANIZER:mailto:alice@example.com", guest}, own: true},
		{rule: "another address of the account",
			how:   fake.Options{Aliases: []string{"mailto:a.smith@example.com", "urn:uuid:0815"}},
			lines: []string{"ORGANIZER:mailto:A.Smith@example.com", guest}, own: true},
		{rule: "an address that is no mail address", how: fake.Options{Aliases: []string{"urn:uuid:0815"}},
			lines: []string{"ORGANIZER;CN=Alice:urn:uuid:0815", guest}, own: true},
		{rule: "Apple's address with the mail address beside it",
			lines: []string{"ORGANIZER;EMAIL=alice@example.com:/aMjQ/principal/", guest}, own: true},
		{rule: "the principal's address", lines: []string{"ORGANIZER:/dav/principals/alice", guest}, own: true},
		{rule: "the principal's whole address", lines: []string{"ORGANIZER:{url}/dav/principals/alice/", guest},
			own: true},
		{rule: "someone else", lines: []string{"ORGANIZER:mailto:boss@example.com", guest}},
		{rule: "someone else, with nobody invited", lines: []string{"ORGANIZER:mailto:boss@example.com"}},
		{rule: "someone else by an address of Apple's", lines: []string{
			"ORGANIZER;EMAIL=boss@example.com:/aMjQ/principal/", guest,
		}},
		{rule: "another principal", lines: []string{"ORGANIZER:/dav/principals/bob/", guest}},
		{rule: "the same path elsewhere", lines: []string{
			"ORGANIZER:http://elsewhere.example.com/dav/principals/alice/", guest,
		}},
		{rule: "an address that begins alike", lines: []string{
			"ORGANIZER:mailto:alice@example.com.example.org", guest,
		}},
	} {
		for _, series := range []bool{false, true} {
			a := newAccount(t, c.how)
			lines := append([]string{}, lunchTime...)
			for _, line := range c.lines {
				lines = append(lines, strings.ReplaceAll(line, "{url}", a.url))
			}
			ref := calendar.EventRef{}
			if series {
				lines = append(lines, "RRULE:FREQ=DAILY;COUNT=3")
			}
			if ref.ID = a.Put(a.home, "lunch.ics", meeting("lunch", lines...)); series {
				ref.ID += "#20270504T120000Z"
			}
			before := a.Get(a.home + "lunch.ics")
			title := "Dinner"
			_, err := a.open(t, "", map[string]any{"email": c.email}).
				Change(t.Context(), ref, calendar.Change{Title: &title})
			switch {
			case c.own && err != nil:
				t.Errorf("%s, series %t: %v", c.rule, series, err)
			case c.own:
			default:
				want(t, err, fault.Forbidden, fault.ReasonPermissionDenied)
				if detail := fault.From(err).Detail; !strings.Contains(detail, "organizer") {
					t.Errorf("%s: said %q, want who can change it", c.rule, detail)
				}
				if a.Requests()["PUT"] != 0 || a.Get(a.home+"lunch.ics") != before {
					t.Errorf("%s, series %t: the refused change was written", c.rule, series)
				}
			}
		}
	}
}

// An account with an unknown address may be the organizer: the fault says how to set the address.
func TestAnAccountWithoutAnAddressIsToldToGiveOne(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{NoEmail: true})
	id := a.Put(a.home, "lunch.ics",
		meeting("lunch", append(lunchTime, "ORGANIZER:mailto:alice@example.com",
			"ATTENDEE:mailto:bob@example.com")...))
	title := "Dinner"
	_, err := a.open(t, "", map[string]any{"email": ""}).Change(t.Context(), calendar.EventRef{ID: id},
		calendar.Change{Title: &title})
	want(t, err, fault.Forbidden, fault.ReasonPermissionDenied)
	if detail := fault.From(err).Detail; !strings.Contains(detail, "the connection's email") {
		t.Errorf("said %q, want what to set", detail)
	}
	if _, err := a.open(t, "", nil).Change(t.Context(), calendar.EventRef{ID: id},
		calendar.Change{Title: &title}); err != nil {
		t.Errorf("with the address: %v", err)
	}
}

// Events that the owner of a shared calendar organizes are changed in the owner's name (RFC 6638 section
// 3.1).
func TestInASharedCalendarItsOwnerIsTheOrganizer(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	shared := a.AddShared("boss", "Boss", "boss", "boss@example.com")
	title := "Dinner"
	change := func(organizer string) error {
		id := a.Put(shared, "lunch.ics",
			meeting("lunch", append(lunchTime, "ORGANIZER:mailto:"+organizer, "ATTENDEE:mailto:bob@example.com")...))
		_, err := a.open(t, "", nil).Change(t.Context(), calendar.EventRef{ID: id}, calendar.Change{Title: &title})
		return err
	}
	for _, organizer := range []string{"Boss@example.com", email} {
		if err := change(organizer); err != nil {
			t.Errorf("organized by %s: %v", organizer, err)
		}
	}
	want(t, change("carol@example.com"), fault.Forbidden, fault.ReasonPermissionDenied)
}

// A server invites nobody to what another one than the owner of the calendar organizes (RFC 6638 section 3.1).
func TestGuestsAreInvitedInTheNameOfTheCalendarsOwner(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{AutoSchedule: true})
	driver, guests := a.open(t, "", map[string]any{"auto_schedule": true}), []string{"bob@example.com"}
	for id, organizer := range map[string]string{
		a.home: email, a.AddShared("boss", "Boss", "boss", "boss@example.com"): "boss@example.com",
		a.AddShared("hidden", "Of a hidden user", "hidden", ""): email,
	} {
		booked, err := driver.Book(t.Context(), consultation(id, "k1"))
		if err != nil {
			t.Fatal(err)
		}
		later, err := driver.Change(t.Context(), calendar.EventRef{ID: booked.ID}, calendar.Change{Attendees: &guests})
		if err != nil {
			t.Fatal(err)
		}
		wanted := consultation(id, "k2")
		wanted.Attendees = guests
		at, err := driver.Book(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []calendar.Event{later, at} {
			told := a.Notices(e.ID)
			invited := []fake.Notice{{To: guests[0], Kind: "invitation"}}
			if e.Organizer.Email != organizer || !slices.Equal(told, invited) {
				t.Errorf("in %s, %s invites: %+v", id, e.Organizer.Email, told)
			}
		}
	}
}

// Nor to what an address organizes that it does not know as the account's.
func TestGuestsAreInvitedByAnAddressThatTheServerKnows(t *testing.T) {
	t.Parallel()
	const alias = "a.smith@example.com"
	a := newAccount(t, fake.Options{AutoSchedule: true, Aliases: []string{"mailto:" + alias}})
	for _, c := range []struct{ key, given, organizer string }{
		{"k1", "", email}, {"k2", email, email}, {"k3", alias, alias}, {"k4", "desk@example.com", email},
	} {
		wanted := consultation(a.home, c.key)
		wanted.Attendees = []string{"bob@example.com"}
		driver := a.open(t, "", map[string]any{"auto_schedule": true, "email": c.given})
		booked, err := driver.Book(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		if told := a.Notices(booked.ID); booked.Organizer.Email != c.organizer || len(told) != 1 {
			t.Errorf("with the email %q, %s invites: %+v", c.given, booked.Organizer.Email, told)
		}
	}
}

// Some servers leave the responses to another time as they are (sabre-io/dav#1282, nextcloud/server#13862).
func TestGuestsAreAskedAgainAboutAnotherTime(t *testing.T) {
	t.Parallel()
	title, at := "Dinner", time.Date(2027, 5, 3, 18, 0, 0, 0, time.UTC)
	noon, end := time.Date(2027, 5, 3, 12, 0, 0, 0, time.UTC), at.Add(time.Hour)
	lines := append([]string{"ORGANIZER:mailto:" + email, "ATTENDEE;PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:" + email,
		"ATTENDEE;RSVP=FALSE;partstat=ACCEPTED;CN=Bob:mailto:bob@example.com",
		"ATTENDEE;PARTSTAT=DECLINED:mailto:carol@example.com"}, lunchTime...)
	for _, c := range []struct {
		what      string
		change    calendar.Change
		responses []string
	}{
		{"another title", calendar.Change{Title: &title}, []string{"accepted", "accepted", "declined"}},
		{"the time that it has", calendar.Change{Start: &noon, End: new(noon.Add(time.Hour)), Zone: "UTC"},
			[]string{"accepted", "accepted", "declined"}},
		{"another time", calendar.Change{Start: &at, End: &end, Zone: "UTC"},
			[]string{"accepted", "needs_action", "needs_action"}},
	} {
		for _, more := range [][]string{nil, {"RRULE:FREQ=DAILY;COUNT=3"}} {
			a := newAccount(t, fake.Options{})
			id := a.Put(a.home, "lunch.ics", meeting("lunch", append(lines, more...)...))
			changed, err := a.open(t, "", nil).Change(t.Context(), calendar.EventRef{ID: id}, c.change)
			if err != nil {
				t.Fatal(err)
			}
			var responses []string
			for _, attendee := range changed.Attendees {
				responses = append(responses, attendee.Response)
			}
			asked := strings.Contains(a.Get(a.home+"lunch.ics"), "RSVP=TRUE")
			if !slices.Equal(responses, c.responses) || asked != (c.what == "another time") {
				t.Errorf("%s: the responses are %v, asked again: %t", c.what, responses, asked)
			}
		}
	}
}

// Each request is a wait on the telephone.
func TestTheOwnerOfACalendarIsAskedForOnce(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{AutoSchedule: true})
	shared := a.AddShared("boss", "Boss", "boss", "boss@example.com")
	driver := a.open(t, "", map[string]any{"auto_schedule": true})
	var asked []int
	for _, key := range []string{"k1", "k2"} {
		wanted := consultation(shared, key)
		wanted.Attendees = []string{"bob@example.com"}
		booked, err := driver.Book(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, a.Requests()["PROPFIND"])
		guests := []string{"bob@example.com", "carol@example.com"}
		ref := calendar.EventRef{ID: booked.ID}
		if _, err := driver.Change(t.Context(), ref, calendar.Change{Attendees: &guests}); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, a.Requests()["PROPFIND"])
	}
	if asked[0] != asked[3] {
		t.Errorf("after each call, the server was asked %v times", asked)
	}
}

// Nextcloud and ownCloud show a confidential event of a calendar that is shared, to be changed as well, without most of
// its properties, and keep what is written in its place.
func TestAnEventThatIsNotShownWholeIsNotWrittenBack(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	shared := a.AddShared("boss", "Boss", "boss", "boss@example.com")
	masked := strings.ReplaceAll(meeting("lunch", "CLASS:CONFIDENTIAL", "SUMMARY:Busy", "DTSTART:20270503T120000Z",
		"DTEND:20270503T130000Z", "RRULE:FREQ=DAILY;COUNT=3"), "DTSTAMP:20260101T000000Z\r\n", "")
	id, driver := a.Put(shared, "lunch.ics", masked), a.open(t, "", nil)
	start, one := time.Date(2027, 5, 3, 19, 0, 0, 0, time.UTC), calendar.EventRef{ID: id + "#20270504T120000Z"}
	end := start.Add(time.Hour)
	for _, ref := range []calendar.EventRef{{ID: id}, one} {
		_, err := driver.Change(t.Context(), ref, calendar.Change{Start: &start, End: &end, Zone: "UTC"})
		want(t, err, fault.Forbidden, fault.ReasonPermissionDenied)
	}
	want(t, driver.Cancel(t.Context(), one), fault.Forbidden, fault.ReasonPermissionDenied)
	if a.Get(shared+"lunch.ics") != masked {
		t.Errorf("is %s", a.Get(shared+"lunch.ics"))
	}
	if err := driver.Cancel(t.Context(), calendar.EventRef{ID: id}); err != nil {
		t.Errorf("it is cancelled as a whole: %v", err)
	}
}

func TestAChangeOfNothingIsNotWritten(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	id := a.Put(a.home, "lunch.ics", meeting("lunch", lunchTime...))
	event, err := a.open(t, "", nil).Change(t.Context(), calendar.EventRef{ID: id}, calendar.Change{})
	if err != nil || event.Title != "Lunch" || a.Requests()["PUT"] != 0 {
		t.Errorf("answered %+v, %v after %v", event, err, a.Requests())
	}
}

// A server may accept a PUT and store something else. Its response then has no ETag (RFC 4791 section 5.3.4).
func TestAChangeThatTheServerDoesNotKeepIsNotCalledDone(t *testing.T) {
	t.Parallel()
	title, description, guests := "Dinner", "With  wine\r\n", []string{"bob@example.com"}
	start := time.Date(2027, 5, 3, 19, 0, 0, 0, time.UTC)
	end := start.Add(time.Hour)
	for _, c := range []struct {
		frozen string
		change calendar.Change
		said   string
	}{
		{"SUMMARY", calendar.Change{Title: &title}, "title"},
		{"DESCRIPTION", calendar.Change{Description: &description}, "description"},
		{"DTSTART", calendar.Change{Start: &start, End: &end, Zone: "UTC"}, "times"},
		{"ATTENDEE", calendar.Change{Attendees: &guests}, "attendees"},
		{"LOCATION", calendar.Change{Title: &title, Description: &description, Attendees: &guests, Start: &start,
			End: &end, Zone: "UTC"}, ""},
	} {
		a := newAccount(t, fake.Options{Freezes: []string{c.frozen}})
		lines := append([]string{"DESCRIPTION:Menu", "ORGANIZER:mailto:" + email,
			"ATTENDEE:mailto:kim@example.com", "ATTENDEE;CUTYPE=ROOM:urn:x-uid:blue"}, lunchTime...)
		id := a.Put(a.home, "lunch.ics", meeting("lunch", lines...))
		_, err := a.open(t, "", nil).Change(t.Context(), calendar.EventRef{ID: id}, c.change)
		if c.said == "" {
			if err != nil {
				t.Errorf("%s frozen: %v", c.frozen, err)
			}
			continue
		}
		want(t, err, fault.Unsupported, fault.ReasonProviderRefused)
		if detail := fault.From(err).Detail; !strings.Contains(detail, "the requested "+c.said+".") {
			t.Errorf("%s frozen: said %q", c.frozen, detail)
		}
	}
}

func TestAnInstanceThatTheServerKeepsIsNotCalledCancelled(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{Freezes: []string{"EXDATE"}})
	id := a.Put(a.home, "lunch.ics", meeting("lunch", append(lunchTime, "RRULE:FREQ=DAILY;COUNT=3")...))
	err := a.open(t, "", nil).Cancel(t.Context(), calendar.EventRef{ID: id + "#20270504T120000Z"})
	want(t, err, fault.Unsupported, fault.ReasonProviderRefused)
}

// A listing tells an instance that its organizer cancelled. To cancel it as well changes nothing.
func TestAnInstanceThatItsOrganizerCancelledIsGone(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	series := append(lunchTime, "RRULE:FREQ=DAILY;COUNT=3", "END:VEVENT", "BEGIN:VEVENT", "UID:lunch",
		"DTSTAMP:20270101T000000Z", "RECURRENCE-ID:20270504T120000Z", "DTSTART:20270504T120000Z", "STATUS:CANCELLED")
	id := a.Put(a.home, "lunch.ics", meeting("lunch", series...))
	err := a.open(t, "", nil).Cancel(t.Context(), calendar.EventRef{ID: id + "#20270504T120000Z"})
	want(t, err, fault.NotFound, fault.ReasonEventNotFound)
	if fault.From(err).Metadata[calendar.MetaGone] == "" || a.Requests()["PUT"] != 0 {
		t.Errorf("it is not told that the instance existed, or something was written: %v", err)
	}
}

// Servers with sabre/dav fail on an object without instances (sabre-io/Baikal#817).
func TestASeriesIsRemovedWithItsLastInstance(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	d := a.open(t, "", nil)
	id := a.Put(a.home, "lunch.ics", meeting("lunch", append(lunchTime, "RRULE:FREQ=DAILY;COUNT=2")...))
	for i, key := range []string{"#20270503T120000Z", "#20270504T120000Z"} {
		if err := d.Cancel(t.Context(), calendar.EventRef{ID: id + key}); err != nil {
			t.Fatal(err)
		}
		if asked := a.Requests(); asked["PUT"] != 1 || asked["DELETE"] != i {
			t.Errorf("after %d: %d objects were written and %d removed", i+1, asked["PUT"], asked["DELETE"])
		}
	}
}

// A connection with auto_schedule invites nobody if its server has stopped sending invitations.
func TestNobodyIsInvitedThroughAServerThatSendsNoInvitationsAnyMore(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	driver := a.open(t, "", map[string]any{"auto_schedule": true})
	b := lunch("k1")
	b.Attendees = []string{"bob@example.com"}
	_, err := driver.Book(t.Context(), b)
	want(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	booked, err := driver.Book(t.Context(), lunch("k2"))
	if err != nil {
		t.Fatalf("with nobody to invite: %v", err)
	}
	_, err = driver.Change(t.Context(), calendar.EventRef{ID: booked.ID},
		calendar.Change{Attendees: &b.Attendees})
	want(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	if puts := a.Requests()["PUT"]; puts != 1 {
		t.Errorf("%d objects were written, want the one without attendees", puts)
	}
}
