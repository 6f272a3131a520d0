package caldav

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/calendar"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

var stampTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func booking(zone string) (calendar.Booking, *time.Location) {
	start := time.Date(2026, 12, 1, 15, 0, 0, 0, time.UTC)
	return calendar.Booking{
		Key: "k1", CalendarID: "/office/", Title: "Review; of “plans”, now", Description: "One\nTwo \\ three",
		Start: start, End: start.Add(time.Hour), Zone: zone,
		Attendees:    []string{"bob@example.com", "o'neil+x%y@example.com"},
		Conferencing: calendar.ConferencingURL, LocationURL: "https://meet.example.com/j/1,2;3",
	}, loadZone(zone)
}

func TestWhatABookingIsWrittenAs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, zone string }{
		{"booking-new-york.ics", "America/New_York"}, {"booking-utc.ics", "UTC"},
		{"booking-gaza.ics", "Asia/Gaza"},
	} {
		b, location := booking(c.zone)
		golden(t, c.file, ical.Encode(newObject(b, uidOf(b.Key, b.CalendarID), location,
			"mailto:alice@example.com", stampTime)))
	}
}

func TestABookingIsReadAsItWasMade(t *testing.T) {
	t.Parallel()
	b, location := booking("America/New_York")
	o, err := objectOf(newObject(b, "u", location, "mailto:alice@example.com", stampTime), zones{})
	if err != nil {
		t.Fatal(err)
	}
	want := calendar.Event{
		ID: "/office/u.ics", CalendarID: "/office/", Version: `"1"`, Title: b.Title, Description: b.Description,
		Start: calendar.At(b.Start, "America/New_York"), End: calendar.At(b.End, "America/New_York"),
		Organizer: calendar.Person{Email: "alice@example.com"},
		Attendees: []calendar.Attendee{
			{Email: "bob@example.com", Type: "required", Response: "needs_action"},
			{Email: "o'neil+x%y@example.com", Type: "required", Response: "needs_action"},
		},
		URL: b.LocationURL,
	}
	if got := o.event(o.single(), "/office/", "/office/u.ics", `"1"`); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTheSecondOfTwoEqualWallClocksIsKept(t *testing.T) {
	t.Parallel()
	ny := mustZone(t, "America/New_York")
	first := time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC) // 01:30, and again an hour later
	for at, want := range map[time.Time]ical.Form{
		first: ical.Zoned, first.Add(time.Hour): ical.UTC, first.Add(2 * time.Hour): ical.Zoned,
	} {
		m := momentIn(at, ny)
		o := &object{root: ical.New("VCALENDAR"), known: zones{}, zones: map[string]zone{}}
		if m.Form != want || !o.instant(m, time.UTC).Equal(at) {
			t.Errorf("%v was written as %+v", at, m)
		}
	}
}

func TestTheZoneIsKeptWhereClocksShowATimeTwice(t *testing.T) {
	t.Parallel()
	b, location := booking("America/New_York")
	first := time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC)
	for _, minutes := range []int{-60, 0, 10, 60, 75, 120} {
		b.Start = first.Add(time.Duration(minutes) * time.Minute)
		b.End = b.Start.Add(30 * time.Minute)
		o, err := objectOf(newObject(b, "u", location, "mailto:alice@example.com", stampTime), zones{})
		if err != nil {
			t.Fatal(err)
		}
		got := o.event(o.single(), "", "", "")
		if !got.Start.Instant.Equal(b.Start) || got.Start.Zone != b.Zone || !got.End.Instant.Equal(b.End) ||
			got.End.Zone != b.Zone {
			t.Errorf("from %v: got %+v to %+v", b.Start, got.Start, got.End)
		}
	}
}

func TestAttendeesAreToldInTheCommonWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]calendar.Attendee{
		"ATTENDEE:mailto:a@example.com": {Email: "a@example.com", Type: "required", Response: "needs_action"},
		`ATTENDEE;CN="Doe, Jane";PARTSTAT=ACCEPTED;ROLE=CHAIR:MAILTO:Jane@Example.com`: {Email: "Jane@Example.com",
			Name: "Doe, Jane", Type: "required", Response: "accepted"},
		"ATTENDEE;PARTSTAT=declined;ROLE=OPT-PARTICIPANT:mailto:a@example.com": {Email: "a@example.com",
			Type: "optional", Response: "declined"},
		"ATTENDEE;PARTSTAT=TENTATIVE;CUTYPE=ROOM:mailto:room%2B1@example.com?subject=x": {
			Email: "room+1@example.com", Type: "resource", Response: "tentative",
		},
		"ATTENDEE;PARTSTAT=DELEGATED;EMAIL=x@example.com:urn:uuid:1": {Email: "x@example.com",
			Type: "required", Response: "delegated"},
		"ATTENDEE;ROLE=NON-PARTICIPANT;PARTSTAT=:/principals/bob/": {Type: "optional",
			Response: "needs_action"},
	} {
		o := objectOfLines(t, event("DTSTART:20260101T000000Z\n"+line))
		if got := o.event(o.single(), "", "", "").Attendees; !slices.Equal(got, []calendar.Attendee{want}) {
			t.Errorf("%s\ngot  %+v\nwant %+v", line, got, want)
		}
	}
}

func TestTheLinkIsFoundWhereProgramsPutIt(t *testing.T) {
	t.Parallel()
	const booked = "URL:https://m.example.com/1,2\nCONFERENCE;VALUE=URI;LABEL=Join the meeting:https://m.example.com/1"
	for lines, want := range map[string]string{
		booked + ",2\nLOCATION:https://m.example.com/1\\,2":             "https://m.example.com/1,2",
		booked + "\nLOCATION:Room 5\\, or https://m.example.com/1\\,2":  "https://m.example.com/1,2",
		booked + "\nLOCATION:https://new.example.com":                   "https://new.example.com",
		booked + "\nLOCATION:Room 5":                                    "",
		booked:                                                          "",
		"URL:https://example.com/event\nLOCATION:https://m.example.com": "https://m.example.com",
		"LOCATION:Room 5":                                               "",
		"LOCATION:https://meet.example.com/1\\,2":                       "https://meet.example.com/1,2",
		"URL:https://example.com/event":                                 "https://example.com/event",
		"URL:https://example.com/event\n" +
			"X-GOOGLE-CONFERENCE:https://meet.google.com/abc": "https://meet.google.com/abc",
		"CONFERENCE;VALUE=URI:tel:+1-555\n" +
			"CONFERENCE;VALUE=URI:https://m.example.com/1": "https://m.example.com/1",
		"CONFERENCE;VALUE=URI:https://m.example.com/1\n" +
			"URL:https://m.example.com/1,2": "https://m.example.com/1,2",
		"LOCATION:https://m.example.com/1\\; Room 5": "https://m.example.com/1",
		"URL:https://m.example.com/1\n" +
			"LOCATION:https://m.example.com/1\\, Room 5": "https://m.example.com/1",
		"URL:javascript:alert(1)\nLOCATION:ftp://example.com/": "",
	} {
		o := objectOfLines(t, event("DTSTART:20260101T000000Z\n"+lines))
		if got := link(o.master); got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}

const foreign = `DTSTART;TZID=Europe/Berlin:20260105T090000
DURATION:PT1H
SUMMARY;LANGUAGE=de:Alt
DESCRIPTION:Alt
X-ALT-DESC;FMTTYPE=text/html:<b>Alt</b>
STYLED-DESCRIPTION;FMTTYPE=text/html:<b>Alt</b>
SEQUENCE:3
X-OWN;X-P=1:kept
CATEGORIES:A,B
ORGANIZER;CN=Alice:mailto:alice@example.com
ATTENDEE;CN=Alice;PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:alice@example.com
ATTENDEE;CN=Bob;PARTSTAT=ACCEPTED;X-NUM=1:mailto:Bob@example.com
ATTENDEE;CN=Carol;PARTSTAT=DECLINED:mailto:carol@example.com
ATTENDEE;CN=Blue;CUTYPE=ROOM;PARTSTAT=ACCEPTED:urn:x-uid:blue
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT15M
END:VALARM
`

func TestAChangeTouchesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	title, description := "New", ""
	start := time.Date(2026, 1, 6, 10, 0, 0, 0, time.UTC)
	end := start.Add(30 * time.Minute)
	for _, c := range []struct {
		file, lines string
		key         string
		change      calendar.Change
	}{
		{"change-title.ics", foreign, "", calendar.Change{Title: &title}},
		{"change-texts.ics", foreign, "", calendar.Change{Title: &title, Description: &description}},
		{"change-times.ics", foreign, "", calendar.Change{Start: &start, End: &end, Zone: "America/New_York"}},
		{"change-attendees.ics", foreign, "",
			calendar.Change{Attendees: &[]string{"bob@example.com", "dan@example.com"}}},
		{"change-no-attendees.ics", foreign, "", calendar.Change{Attendees: &[]string{}}},
		{"change-instance.ics", foreign + "RRULE:FREQ=DAILY;COUNT=5\nEXDATE;TZID=Europe/Berlin:20260108T090000",
			"20260106T080000Z", calendar.Change{Title: &title, Start: &start, End: &end, Zone: "Europe/Berlin"}},
		{"change-series-times.ics", foreign +
			"RRULE:FREQ=DAILY;UNTIL=20260109T080000Z\nEXDATE;TZID=Europe/Berlin:20260108T090000", "",
			calendar.Change{Start: &start, End: &end, Zone: "Europe/Berlin"}},
	} {
		o := objectOfLines(t, strings.ReplaceAll(outlook, "Customized Time Zone", "Europe/Berlin")+event(c.lines))
		i := o.single()
		if c.key != "" {
			found, ok, err := o.find(c.key)
			if err != nil || !ok {
				t.Fatalf("%s: %v, %v", c.file, ok, err)
			}
			i = found
		}
		e := edit{object: o, organizer: "mailto:other@example.com", now: stampTime}
		if err := e.apply(i, c.key != "", c.change); err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		golden(t, c.file, ical.Encode(o.root))
	}
}

// Zimbra and Open-Xchange take an event for a whole day that says so beside its times, as they themselves write it.
func TestNothingSaysOfAnEventAtATimeThatItIsAWholeDay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 6, 10, 0, 0, 0, time.UTC)
	end := start.Add(30 * time.Minute)
	for rule, key := range map[string]string{"": "", "\nRRULE:FREQ=DAILY": "20260106"} {
		o := objectOfLines(t, event("DTSTART;VALUE=DATE:20260105\nX-MICROSOFT-CDO-ALLDAYEVENT:TRUE\n"+
			"X-MICROSOFT-CDO-BUSYSTATUS:BUSY"+rule))
		i := o.single()
		if key != "" {
			i, _, _ = o.find(key)
		}
		moved := calendar.Change{Start: &start, End: &end, Zone: "UTC"}
		err := edit{object: o, now: stampTime}.apply(i, key != "", moved)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range o.root.ChildrenNamed("VEVENT") {
			if isDay := startOf(event).Form == ical.Date; isDay != event.Has("X-MICROSOFT-CDO-ALLDAYEVENT") ||
				!event.Has("X-MICROSOFT-CDO-BUSYSTATUS") {
				t.Errorf("written as %s", ical.Encode(event))
			}
		}
	}
}

func TestAChangedInstanceHasItsOwnLength(t *testing.T) {
	t.Parallel()
	title := "New"
	for _, c := range []struct{ rule, lines, key, start, end string }{
		{"no length", "DTSTART:20260105T090000Z\nDTEND:20260105T090000Z", "20260106T090000Z",
			"20260106T090000Z", ""},
		{"an end before the start", "DTSTART:20260105T090000Z\nDTEND:20260105T080000Z", "20260106T090000Z",
			"20260106T090000Z", ""},
		{"an hour", "DTSTART:20260105T090000Z\nDTEND:20260105T100000Z", "20260106T090000Z",
			"20260106T090000Z", "20260106T100000Z"},
		{"a day without an end", "DTSTART;VALUE=DATE:20260105", "20260106", "20260106", "20260107"},
		{"a period that ends before its start", "DTSTART:20260105T090000Z\nDTEND:20260105T100000Z\n" +
			"RDATE;VALUE=PERIOD:20260106T120000Z/20260106T110000Z", "20260106T120000Z",
			"20260106T120000Z", "20260106T130000Z"},
	} {
		o := objectOfLines(t, event(c.lines+"\nRRULE:FREQ=DAILY"))
		i, ok, err := o.find(c.key)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", c.rule, ok, err)
		}
		if err := (edit{object: o, now: stampTime}).apply(i, true, calendar.Change{Title: &title}); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		own := o.root.ChildrenNamed("VEVENT")[1]
		if start, end := own.Text("DTSTART"), own.Text("DTEND"); start != c.start || end != c.end {
			t.Errorf("%s: from %s to %q, want %s to %q", c.rule, start, end, c.start, c.end)
		}
	}
}

func TestASeriesIsNotMovedOffItsRule(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 6, 9, 0, 0, 0, time.UTC) // a Tuesday
	end := start.Add(time.Hour)
	for lines, refused := range map[string]bool{
		"RRULE:FREQ=WEEKLY":                              false,
		"RRULE:FREQ=WEEKLY;BYDAY=MO":                     true,
		"RRULE:FREQ=DAILY;BYHOUR=9":                      true,
		"RRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY;BYDAY=SU":  true,
		"RRULE:FREQ=DAILY\nEXRULE:FREQ=DAILY;INTERVAL=3": false,
		"RRULE:FREQ=MONTHLY;BYMONTHDAY=5":                true,
		"RDATE;VALUE=PERIOD:20260110T080000Z/PT1H":       true,
		"RDATE:20260110T080000Z":                         false,
		"RDATE:\nEXDATE:\nEXDATE:20260110T080000Z,":      false,
		// A date stands for all instances of the day, of which some come to lie on the next one.
		"RRULE:FREQ=HOURLY;INTERVAL=2\nEXDATE;VALUE=DATE:20260106":    true,
		"RRULE:FREQ=HOURLY;INTERVAL=2;UNTIL=20260106":                 true,
		"RRULE:FREQ=HOURLY;INTERVAL=2;UNTIL=20260106T080000Z":         false,
		"RRULE:FREQ=HOURLY;INTERVAL=2\nEXDATE:20260106T080000Z":       false,
		"RRULE:FREQ=DAILY;UNTIL=20260109\nEXDATE;VALUE=DATE:20260106": false,
	} {
		o := objectOfLines(t, event("DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\n"+lines))
		err := edit{object: o, now: stampTime}.apply(o.single(), false, calendar.Change{
			Start: &start, End: &end, Zone: "Europe/Berlin",
		})
		if (err != nil) != refused {
			t.Errorf("%s: %v", lines, err)
		}
	}
}

func TestASeriesIsItsOwn(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{"": "", "\nRRULE:FREQ=WEEKLY": "/desk/1.ics"} {
		o := objectOfLines(t, event("DTSTART:20260105T090000Z"+rule))
		if got := o.eventOf(o.single(), resource{id: "/desk/1.ics"}).SeriesID; got != want {
			t.Errorf("%q: of the series %q, want %q", rule, got, want)
		}
	}
}

func TestAMovedSeriesKeepsItsInstances(t *testing.T) {
	t.Parallel()
	const start, utc = "DTSTART;TZID=America/New_York:20270311T100000\n", "DTSTART:20271015T150000Z\n"
	own := strings.ReplaceAll(outlook, "Customized Time Zone", "Ours")
	for _, c := range []struct {
		rule, lines, to, zone string
		want                  []string // in the new zone
	}{
		{"UNTIL in UTC, past a change of clocks", event(start + "RRULE:FREQ=WEEKLY;UNTIL=20270325T140000Z"),
			"2027-03-18 10:00", "America/New_York", []string{"03-18 10:00", "03-25 10:00", "04-01 10:00"}},
		{"UNTIL in UTC, back before one", event(start + "RRULE:FREQ=WEEKLY;UNTIL=20270325T140000Z"),
			"2027-02-25 09:00", "America/New_York", []string{"02-25 09:00", "03-04 09:00", "03-11 09:00"}},
		{"UNTIL in UTC, into another zone", event(start + "RRULE:FREQ=WEEKLY;UNTIL=20270325T140000Z"),
			"2027-03-11 16:00", "Europe/Berlin", []string{"03-11 16:00", "03-18 16:00", "03-25 16:00"}},
		{"a series in UTC, into a zone", event(utc + "RRULE:FREQ=WEEKLY;UNTIL=20271112T150000Z"),
			"2027-10-15 11:30", "America/New_York",
			[]string{"10-15 11:30", "10-22 11:30", "10-29 11:30", "11-05 11:30", "11-12 11:30"}},
		{"a series of a zone that only it defines", own + event("DTSTART;TZID=Ours:20270318T090000\n"+
			"RRULE:FREQ=WEEKLY;UNTIL=20270401T070000Z\nEXDATE:20270325T080000Z"),
			"2027-03-25 10:00", "Europe/Berlin", []string{"03-25 10:00", "04-08 10:00"}},
		{"a floating series", event("DTSTART:20270318T090000\nRRULE:FREQ=WEEKLY;UNTIL=20270401T090000Z"),
			"2027-03-25 10:00", "Europe/Berlin", []string{"03-25 10:00", "04-01 10:00", "04-08 10:00"}},
		{"a floating UNTIL", event(start + "RRULE:FREQ=WEEKLY;UNTIL=20270318T100000"),
			"2027-03-18 10:30", "America/New_York", []string{"03-18 10:30", "03-25 10:30"}},
		{"UNTIL is a date", event(start + "RRULE:FREQ=WEEKLY;UNTIL=20270318"),
			"2027-03-12 10:00", "America/New_York", []string{"03-12 10:00", "03-19 10:00"}},
		{"UNTIL is a date, within the day", event(start + "RRULE:FREQ=WEEKLY;UNTIL=20270318"),
			"2027-03-11 23:00", "America/New_York", []string{"03-11 23:00", "03-18 23:00"}},
		{"EXDATE is a date", event(start + "RRULE:FREQ=WEEKLY;COUNT=3\nEXDATE;VALUE=DATE:20270318"),
			"2027-03-09 20:00", "America/New_York", []string{"03-09 20:00", "03-23 20:00"}},
		{"EXDATE is a date, of an hourly series that moves by days", event(start +
			"RRULE:FREQ=HOURLY;INTERVAL=12;COUNT=4\nEXDATE;VALUE=DATE:20270311"),
			"2027-03-09 10:00", "America/New_York", []string{"03-10 10:00", "03-10 22:00"}},
		{"RECURRENCE-ID is a date", event(start+"RRULE:FREQ=WEEKLY;COUNT=2") +
			event("RECURRENCE-ID;VALUE=DATE:20270318\nDTSTART;TZID=America/New_York:20270319T120000"),
			"2027-03-09 20:00", "America/New_York", []string{"03-09 20:00", "03-19 12:00"}},
		{"instances with another title, of which one has moved", event(start+"RRULE:FREQ=WEEKLY;COUNT=4") +
			event("RECURRENCE-ID;TZID=America/New_York:20270318T100000\nSUMMARY:Own\nDURATION:PT1H\n"+
				"DTSTART;TZID=America/New_York:20270318T100000") +
			event("RECURRENCE-ID:20270325T140000Z\nSUMMARY:Own\nDTSTART:20270325T140000Z\nDTEND:20270325T150000Z") +
			event("RECURRENCE-ID;TZID=America/New_York:20270401T100000\nSUMMARY:Own\n"+
				"DTSTART;TZID=America/New_York:20270401T120000"),
			"2027-03-11 16:30", "Europe/Berlin", []string{"03-11 16:30", "03-18 16:30", "03-25 16:30", "04-01 18:00"}},
		{"all later instances with another title", event(start+"RRULE:FREQ=WEEKLY;COUNT=3") +
			event("RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=America/New_York:20270318T100000\nSUMMARY:Own\n"+
				"DTSTART;TZID=America/New_York:20270318T100000\nDTEND;TZID=America/New_York:20270318T110000"),
			"2027-03-11 08:00", "America/New_York", []string{"03-11 08:00", "03-18 08:00", "03-25 08:00"}},
	} {
		o, zone := objectOfLines(t, c.lines), mustZone(t, c.zone)
		begin, err := time.ParseInLocation("2006-01-02 15:04", c.to, zone)
		if err != nil {
			t.Fatal(err)
		}
		if err := (edit{object: o, now: stampTime}).apply(o.single(), false, calendar.Change{
			Start: &begin, End: &begin, Zone: c.zone,
		}); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		o, err = readObject(ical.Encode(o.root), zones{})
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		instances, err := o.within(begin.AddDate(-1, 0, 0), begin.AddDate(1, 0, 0), zone, newLimits())
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		var got []string
		for _, i := range instances {
			got = append(got, o.instant(i.start, zone).In(zone).Format("01-02 15:04"))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q\n%s", c.rule, got, c.want, ical.Encode(o.root))
		}
	}
}

// An instance with another title is as long as its series, unless it has a length of its own.
func TestInstancesHaveTheNewLengthOfTheirSeries(t *testing.T) {
	t.Parallel()
	own := func(day, end string) string {
		at := ";TZID=America/New_York:202703" + day + "T100000\n"
		return event("RECURRENCE-ID" + at + "DTSTART" + at + "SUMMARY:Own\n" + end)
	}
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"14:00", "14:30", []string{"11 14:00-14:30", "18 14:00-14:30", "25 14:00-14:30", "31 14:00-16:00"}},
		{"10:00", "11:30", []string{"11 10:00-11:30", "18 10:00-11:30", "25 10:00-11:30", "31 10:00-12:00"}},
	} {
		o := objectOfLines(t, event("DTSTART;TZID=America/New_York:20270311T100000\nDTEND:20270311T160000Z\n"+
			"RRULE:FREQ=WEEKLY;COUNT=3\nRDATE;TZID=America/New_York:20270331T100000")+
			own("18", "DTEND:20270318T150000Z")+own("25", "DURATION:PT1H")+own("31", "DURATION:PT2H"))
		zone := mustZone(t, "America/New_York")
		var span []time.Time
		for _, text := range []string{c.from, c.to} {
			at, err := time.ParseInLocation("2006-01-02 15:04", "2027-03-11 "+text, zone)
			if err != nil {
				t.Fatal(err)
			}
			span = append(span, at)
		}
		if err := (edit{object: o, now: stampTime}).apply(o.single(), false, calendar.Change{
			Start: &span[0], End: &span[1], Zone: zone.String(),
		}); err != nil {
			t.Fatal(err)
		}
		o, err := readObject(ical.Encode(o.root), zones{})
		if err != nil {
			t.Fatal(err)
		}
		instances, err := o.within(span[0].AddDate(0, -1, 0), span[0].AddDate(0, 1, 0), zone, newLimits())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range instances {
			got = append(got, o.instant(i.start, zone).In(zone).Format("02 15:04")+
				o.instant(i.end, zone).In(zone).Format("-15:04"))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q\n%s", got, c.want, ical.Encode(o.root))
		}
	}
}

// An organizer without mailto, as on Apple's servers, is listed among the guests and named by who repeats them.
func TestAnOrganizerIsNoGuestOfTheirOwn(t *testing.T) {
	t.Parallel()
	const alice, path = "alice@example.com", ";CN=Alice;EMAIL=alice@example.com:/123/principal/\n"
	o := objectOfLines(t, event("DTSTART:20260105T090000Z\nORGANIZER"+path+"ATTENDEE"+path))
	master := o.single().event
	setAttendees(master, []string{alice, "bob@example.com"}, "mailto:"+alice)
	var got []string
	for _, guest := range master.All("ATTENDEE") {
		got = append(got, guest.Value)
	}
	if want := []string{"/123/principal/", "mailto:bob@example.com"}; !slices.Equal(got, want) {
		t.Errorf("invited are %q, want %q", got, want)
	}
}

func TestAnInstanceIsCancelledInTheFormOfItsSeries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lines, key, want string }{
		{event("DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=DAILY"), "20260106T080000Z",
			"EXDATE;TZID=Europe/Berlin:20260106T090000"},
		{event("DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=DAILY"), "20260106", "EXDATE;VALUE=DATE:20260106"},
		{event("DTSTART:20260105T090000\nRRULE:FREQ=DAILY"), "20260106T090000", "EXDATE:20260106T090000"},
		{event("DTSTART:20260105T090000Z\nRRULE:FREQ=DAILY"), "20260106T090000Z", "EXDATE:20260106T090000Z"},
		{event("DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=DAILY") +
			event("RECURRENCE-ID:20260106T080000Z\nDTSTART:20260107T120000Z"), "20260106T080000Z",
			"EXDATE;TZID=Europe/Berlin:20260106T090000"},
	} {
		o := objectOfLines(t, c.lines)
		i, ok, err := o.find(c.key)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", c.key, ok, err)
		}
		if (edit{object: o, now: stampTime}).cancel(i, true, true) {
			t.Errorf("%s: nothing is left", c.key)
		}
		written := string(ical.Encode(o.root))
		if !strings.Contains(written, "\r\n"+c.want+"\r\n") || strings.Contains(written, "RECURRENCE-ID") ||
			!strings.Contains(written, "SEQUENCE:1") {
			t.Errorf("%s: want %s in\n%s", c.key, c.want, written)
		}
	}
	o := objectOfLines(t, event("RECURRENCE-ID:20260106T080000Z\nDTSTART:20260107T120000Z"))
	if !(edit{object: o, now: stampTime}).cancel(o.single(), true, true) {
		t.Error("the only instance of an object was cancelled, and something is left")
	}
}

func TestACancelledInstanceLeavesNothingIfItWasTheLast(t *testing.T) {
	t.Parallel()
	const lunch, noon = "DTSTART:20260105T120000Z\nDURATION:PT1H\n", "20260105T120000Z"
	for _, c := range []struct {
		rule, lines string
		empty       bool
	}{
		{"the only one", event(lunch + "RRULE:FREQ=DAILY;COUNT=1"), true},
		{"the last of a count", event(lunch + "RRULE:FREQ=DAILY;COUNT=2\nEXDATE:20260106T120000Z"), true},
		{"the last before the end",
			event(lunch + "RRULE:FREQ=DAILY;UNTIL=20260107T120000Z\nEXDATE;VALUE=DATE:20260106,20260107"), true},
		{"another is before the end", event(lunch + "RRULE:FREQ=DAILY;UNTIL=20260107T120000Z"), false},
		{"the series has no end", event(lunch + "RRULE:FREQ=DAILY"), false},
		{"the series has more than are counted", event(lunch + "RRULE:FREQ=MINUTELY;COUNT=1000000000"), false},
		{"a date was added", event(lunch + "RRULE:FREQ=DAILY;COUNT=1\nRDATE:20260301T120000Z"), false},
		{"the other was moved", event(lunch+"RRULE:FREQ=DAILY;COUNT=2") +
			event("RECURRENCE-ID:20260106T120000Z\nDTSTART:20260201T120000Z"), false},
		{"it was changed itself", event(lunch+"RRULE:FREQ=DAILY;COUNT=1") +
			event("RECURRENCE-ID:20260105T120000Z\nDTSTART:20260105T150000Z"), true},
		{"the other was changed and then cancelled",
			event(lunch+"RRULE:FREQ=DAILY;COUNT=2\nEXDATE:20260106T120000Z") +
				event("RECURRENCE-ID:20260106T120000Z\nDTSTART:20260201T120000Z"), true},
	} {
		o := objectOfLines(t, c.lines)
		i, ok, err := o.find(noon)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", c.rule, ok, err)
		}
		if empty := (edit{object: o, now: stampTime}).cancel(i, true, true); empty != c.empty {
			t.Errorf("%s: nothing is left: %t, want %t", c.rule, empty, c.empty)
		}
	}
}
