package calendartest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func bookChecks() []Check {
	providerLink := trait(func(t calendar.Traits) bool { return t.Conferencing })
	givenLink := trait(func(t calendar.Traits) bool { return t.LocationURL })
	noLink := trait(func(t calendar.Traits) bool { return !t.Conferencing })
	noGivenLink := trait(func(t calendar.Traits) bool { return !t.LocationURL })
	sends := trait(func(t calendar.Traits) bool { return t.SendsInvites })
	return []Check{
		{Name: "a booked event is answered with its id, calendar, version and times",
			Do: with(bookAnswers)},
		{Name: "a title is kept exactly", Do: with(titleIsKept)},
		{Name: "a description is kept exactly", Do: with(descriptionIsKept)},
		{Name: "an event is kept in the zone it is booked in", Do: with(zoneIsKept)},
		{Name: "instants in the hour that a clock shows twice are kept", Do: with(foldIsKept)},
		{Name: "attendees are invited", Do: with(attendeesAreInvited)},
		{Name: "an event without attendees has none", Do: with(nobodyIsInvited)},
		{Name: "as many attendees as the traits allow are invited", Do: with(manyAreInvited)},
		{Name: "the provider makes a meeting link of its own for each event", Bound: providerLink,
			Do: with(linkIsMade)},
		{Name: "a link of the provider's that cannot be made is refused before anything is booked",
			Bound: noLink, Do: with(linkIsRefused(calendar.ConferencingProvider))},
		{Name: "a link given by the caller is carried", Bound: givenLink, Do: with(linkIsCarried)},
		{Name: "a link given by the caller that cannot be carried is refused before anything is booked",
			Bound: noGivenLink, Do: with(linkIsRefused(calendar.ConferencingURL))},
		{Name: "no calendar named is the default one", Bound: defaultCanBeWritten,
			Do: with(defaultIsMeant)},
		{Name: "an event is booked in the calendar named and in no other", Bound: hasSecond,
			Do: with(calendarIsHeeded)},
		{Name: "booking in an unknown calendar is CALENDAR_NOT_FOUND",
			Do: with(bookInUnknownCalendar)},
		{Name: "attendees are notified of booking, change and cancellation",
			Bound: both(can[Notifier], sends), Do: with(attendeesAreNotified)},
	}
}

func bookAnswers(ctx context.Context, r *run) error {
	b := r.booking("What is answered", 0)
	event, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	var faults []error
	if event.CalendarID != r.Calendar {
		faults = append(faults, fmt.Errorf("CalendarID is %q, want %q", event.CalendarID, r.Calendar))
	}
	if event.Version == "" {
		faults = append(faults, errors.New("it has no Version"))
	}
	if event.Title != b.Title || event.Description != b.Description || event.IsCancelled || event.IsFree ||
		event.SeriesID != "" {
		faults = append(faults, fmt.Errorf("it is %+v, want what was booked: %+v", event, b))
	}
	return errors.Join(append(faults, wantSpan("Book", event, b.Start, b.End))...)
}

// The interface's longest title and description, in bytes.
const (
	longestTitle       = 1024
	longestDescription = 8192
)

// fill repeats the text as often as it fits into size bytes.
func fill(text string, size int) string { return strings.Repeat(text, size/len(text)) }

func titleIsKept(ctx context.Context, r *run) error {
	return textsAreKept(ctx, r, func(b *calendar.Booking, text string) { b.Title = text }, []string{
		`Termin: Müller, Schmidt; "Söhne" & Co <intern>`,
		`back\slash \n \, \; and a trailing one\`,
		"予約 📅 👩‍👩‍👧 مرحبا e\u0301",
		"=?utf-8?q?encoded?= &amp; %2C ^n",
		strings.Repeat("x", longestTitle),
		// Long lines are folded (RFC 5545 section 3.1). The texts place characters of two and four octets at
		// every offset.
		strings.Repeat("ä", 300), "x" + strings.Repeat("ä", 300),
		strings.Repeat("📅", 100), "x" + strings.Repeat("📅", 100), "xx" + strings.Repeat("📅", 100),
		"xxx" + strings.Repeat("📅", 100),
	})
}

func descriptionIsKept(ctx context.Context, r *run) error {
	return textsAreKept(ctx, r, func(b *calendar.Booking, text string) { b.Description = text }, []string{
		"",
		"first line\nsecond line\n\nafter an empty one\n  indented\n\ta tab",
		`a\nb is no new line, nor is \\n; commas, semicolons; colons: "quotes"`,
		"2 < 3 && 5 > 4, 1 &lt; 2, <b>not bold</b>",
		"BEGIN:VEVENT\nSUMMARY:not another event\nEND:VEVENT",
		fill("Zeile mit Umlauten: äöüß – und 📅\n", longestDescription-4) + "Ende",
		strings.Repeat("y", longestDescription),
	})
}

// textsAreKept books each text and compares what Book and Event return.
func textsAreKept(ctx context.Context, r *run, set func(*calendar.Booking, string), texts []string) error {
	for i, text := range texts {
		b := r.booking("Texts", i)
		set(&b, text)
		booked, err := r.book(ctx, b)
		if err != nil {
			return fmt.Errorf("%.60q: %w", text, err)
		}
		event, err := r.read(ctx, refOf(booked))
		if err != nil {
			return fmt.Errorf("%.60q: %w", text, err)
		}
		for what, e := range map[string]calendar.Event{"Book": booked, "Event": event} {
			if e.Title != b.Title || e.Description != b.Description {
				return fmt.Errorf("%s: got title %.200q and description %.200q (%d bytes), want %.200q and %.200q "+
					"(%d bytes)", what,
					e.Title, e.Description, len(e.Title)+len(e.Description), b.Title, b.Description,
					len(b.Title)+len(b.Description))
			}
		}
	}
	return nil
}

func zoneIsKept(ctx context.Context, r *run) error {
	// In none of these zones do the booked hours repeat when clocks are set back. A provider may need another
	// zone for such hours.
	for i, zone := range []string{zoneUsed, "Europe/Berlin", "Asia/Kathmandu", "Pacific/Auckland", "UTC"} {
		b := r.booking("In its zone", i)
		b.Zone = zone
		booked, err := r.book(ctx, b)
		if err != nil {
			return err
		}
		event, err := r.read(ctx, refOf(booked))
		if err != nil {
			return err
		}
		for what, e := range map[string]calendar.Event{"Book": booked, "Event": event} {
			err := errors.Join(wantSpan(what, e, b.Start, b.End), wantZone(what, e.Start, zone),
				wantZone(what, e.End, zone))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// foldIsKept books in the hour that clocks repeat. A local time alone does not distinguish the second pass
// from the first, and RFC 5545 section 3.3.5 reads it as the first.
func foldIsKept(ctx context.Context, r *run) error {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		return err
	}
	back, err := nextChange(zone, r.base, false)
	if err != nil {
		return err
	}
	for _, span := range []calendar.Span{
		{From: back.Add(-30 * time.Minute), To: back.Add(-10 * time.Minute)}, // in the first pass
		{From: back.Add(10 * time.Minute), To: back.Add(40 * time.Minute)},   // in the second
		{From: back.Add(-30 * time.Minute), To: back.Add(30 * time.Minute)},  // from 1:30 to 1:30
	} {
		b := r.booking("While clocks are set back", 0)
		b.Start, b.End, b.Zone = span.From, span.To, zone.String()
		booked, err := r.book(ctx, b)
		if err != nil {
			return err
		}
		event, err := r.read(ctx, refOf(booked))
		if err != nil {
			return err
		}
		if err := errors.Join(wantSpan("Book", booked, b.Start, b.End),
			wantSpan("Event", event, b.Start, b.End)); err != nil {
			return err
		}
	}
	return nil
}

// guests returns n addresses in a domain that RFC 2606 section 3 reserves.
func guests(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("guest-%03d.o'neil+frontdesk@example.com", i)
	}
	return list
}

func attendeesAreInvited(ctx context.Context, r *run) error {
	b := r.booking("With guests", 0)
	b.Attendees = append(guests(2), "Mixed.Case@Example.COM")
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	want := []string{
		"guest-000.o'neil+frontdesk@example.com", "guest-001.o'neil+frontdesk@example.com",
		"mixed.case@example.com",
	}
	if err := wantList("invited", addressesOf(event), want...); err != nil {
		return err
	}
	for _, a := range event.Attendees {
		if slices.Contains(want, strings.ToLower(a.Email)) && a.Response == "accepted" {
			return fmt.Errorf("%s was only just invited and has accepted already", a.Email)
		}
	}
	return nil
}

func nobodyIsInvited(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Alone", 0))
	if err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	return errors.Join(err, wantList("invited", addressesOf(event)))
}

// mostGuests is the interface's limit of attendees.
const mostGuests = 200

func manyAreInvited(ctx context.Context, r *run) error {
	most := mostGuests
	if r.traits.MaxAttendees > 0 {
		most = min(most, r.traits.MaxAttendees)
	}
	b := r.booking("With everybody", 0)
	b.Attendees = guests(most)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	return errors.Join(err, wantList("invited", addressesOf(event), b.Attendees...))
}

func linkIsMade(ctx context.Context, r *run) error {
	links := map[string]bool{}
	for day := range 2 {
		b := r.booking("With a link", day)
		b.Conferencing = calendar.ConferencingProvider
		booked, err := r.book(ctx, b)
		if err != nil {
			return err
		}
		if u, err := url.Parse(booked.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" ||
			u.Host == "" {
			return fmt.Errorf("Book answered the link %q", booked.URL)
		}
		event, err := r.read(ctx, refOf(booked))
		if err != nil {
			return err
		}
		if event.URL != booked.URL {
			return fmt.Errorf("Event answered the link %q, Book %q", event.URL, booked.URL)
		}
		links[booked.URL] = true
	}
	if len(links) != 2 {
		return errors.New("two events share one link")
	}
	return nil
}

func linkIsRefused(kind calendar.Conferencing) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		b := r.booking("With a link that cannot be", 0)
		b.Conferencing = kind
		if kind == calendar.ConferencingURL {
			b.LocationURL = "https://meet.example.com/room"
		}
		_, err := r.book(ctx, b)
		if err := conformance.WantFault("Book", err, fault.Unsupported, fault.ReasonConferencing); err != nil {
			return err
		}
		listed, err := r.listTitled(ctx, r.query(0, 0), b.Title)
		return errors.Join(err, wantIDs("after the refusal", listed))
	}
}

func linkIsCarried(ctx context.Context, r *run) error {
	b := r.booking("With a link given", 0)
	b.Conferencing = calendar.ConferencingURL
	b.LocationURL = "https://meet.example.com/j/123,456;p=a%20b?pwd=A-b_c&x=%C3%BC#start"
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if booked.URL != b.LocationURL || event.URL != b.LocationURL {
		return fmt.Errorf("Book answered the link %q and Event %q, want %q", booked.URL, event.URL, b.LocationURL)
	}
	if event.Description != b.Description {
		return fmt.Errorf("the description is %q, want %q: where the link is kept beside it, the driver takes it "+
			"out again",
			event.Description, b.Description)
	}
	return nil
}

// standard returns the default calendar.
func standard(ctx context.Context, driver calendar.Driver) (calendar.Calendar, error) {
	list, err := driver.Calendars(ctx)
	if err != nil {
		return calendar.Calendar{}, err
	}
	i := slices.IndexFunc(list, func(c calendar.Calendar) bool { return c.IsDefault })
	if i < 0 {
		return calendar.Calendar{}, errors.New("no calendar is the default one")
	}
	return list[i], nil
}

func defaultCanBeWritten(h Harness) bool {
	c, err := standard(context.Background(), h.Open())
	return err == nil && !c.ReadOnly
}

func defaultIsMeant(ctx context.Context, r *run) error {
	c, err := standard(ctx, r.driver)
	if err != nil {
		return err
	}
	b := r.booking("In the default calendar", 0)
	b.CalendarID = ""
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	if booked.CalendarID != c.ID {
		return fmt.Errorf("booked in %q, want the default calendar %q", booked.CalendarID, c.ID)
	}
	unnamed, err := r.read(ctx, calendar.EventRef{ID: booked.ID})
	if err != nil {
		return err
	}
	q := r.query(0, 0)
	q.CalendarID = ""
	return errors.Join(wantSame("read without naming the calendar", booked, unnamed), r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, q, b.Title)
		return errors.Join(err, wantIDs("listed without naming the calendar", listed, booked))
	}))
}

func calendarIsHeeded(ctx context.Context, r *run) error {
	b := r.booking("In the second calendar", 0)
	b.CalendarID = r.Second
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	if booked.CalendarID != r.Second {
		return fmt.Errorf("booked in %q, want %q", booked.CalendarID, r.Second)
	}
	q := r.query(0, 0)
	return r.seen(ctx, func() error {
		first, err1 := r.listTitled(ctx, q, b.Title)
		other := q
		other.CalendarID = r.Second
		second, err2 := r.listTitled(ctx, other, b.Title)
		return errors.Join(err1, err2, wantIDs("in the first calendar", first),
			wantIDs("in the second", second, booked))
	})
}

func bookInUnknownCalendar(ctx context.Context, r *run) error {
	b := r.booking("Nowhere", 0)
	b.CalendarID = r.unknownCalendar()
	_, err := r.book(ctx, b)
	return conformance.WantFault("Book", err, fault.NotFound, fault.ReasonCalendarNotFound)
}

func attendeesAreNotified(ctx context.Context, r *run) error {
	b := r.booking("With notices", 0)
	b.Attendees = guests(1)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	start, end := b.Start.Add(time.Hour), b.End.Add(time.Hour)
	if _, err := r.driver.Change(ctx, refOf(booked), calendar.Change{
		Start: &start, End: &end, Zone: b.Zone,
	}); err != nil {
		return err
	}
	if err := r.driver.Cancel(ctx, refOf(booked)); err != nil {
		return err
	}
	notices, err := r.Provider.(Notifier).Notices(ctx, refOf(booked))
	if err != nil {
		return err
	}
	want := []Notice{
		{b.Attendees[0], "invitation"}, {b.Attendees[0], "update"}, {b.Attendees[0], "cancellation"},
	}
	if !slices.Equal(notices, want) {
		return fmt.Errorf("the provider sent %v, want %v", notices, want)
	}
	return nil
}
