package calendartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func changeChecks() []Check {
	link := func(h Harness) bool { t := h.Open().Traits(); return t.Conferencing || t.LocationURL }
	return []Check{
		{Name: "changing the title alone keeps the rest",
			Do: with(changeKeeps("Title", changeTitle))},
		{Name: "changing the description alone keeps the rest",
			Do: with(changeKeeps("Description", changeDescription))},
		{Name: "changing the times alone keeps the rest",
			Do: with(changeKeeps("Times", changeTimes))},
		{Name: "changing the attendees alone keeps the rest",
			Do: with(changeKeeps("Attendees", changeAttendees))},
		{Name: "changing nothing keeps everything", Do: with(changeKeeps("", changeNothing))},
		{Name: "an empty description clears it",
			Do: with(changeKeeps("Description", clearDescription))},
		{Name: "an empty list of attendees clears it",
			Do: with(changeKeeps("Attendees", clearAttendees))},
		{Name: "changed times are kept in the zone given with them", Do: with(changedZoneIsKept)},
		{Name: "changed texts are kept exactly", Do: with(changedTextsAreKept)},
		{Name: "a change keeps the meeting link", Bound: link, Do: with(changeKeepsTheLink)},
		{Name: "attendees who stay keep their answers", Bound: can[Answerer],
			Do: with(answersAreKept)},
		{Name: "every change has a new version", Do: with(versionsChange)},
		{Name: "a change of the current version is made", Do: with(currentVersionIsChanged)},
		{Name: "a change of a stale version is CHANGED_MEANWHILE and writes nothing",
			Do: with(staleVersionIsRefused)},
		{Name: "a change that someone else made at the provider is not overwritten",
			Bound: can[Meddler], Do: with(meddlingIsSeen)},
		{Name: "of many changes at once of one version exactly one is made",
			Do: with(oneOfManyChangesIsMade)},
		{Name: "changing an unknown event is EVENT_NOT_FOUND", Do: with(changeUnknown)},
		{Name: "changing a cancelled event is EVENT_NOT_FOUND", Do: with(changeCancelled)},
	}
}

func changeNothing(*calendar.Change, *calendar.Booking) {}

// Each of these functions changes one field. It also updates the booking to the expected event.

func changeTitle(c *calendar.Change, b *calendar.Booking) {
	b.Title += ", moved"
	c.Title = &b.Title
}

func changeDescription(c *calendar.Change, b *calendar.Booking) {
	b.Description = "Another text,\nof two lines"
	c.Description = &b.Description
}

func clearDescription(c *calendar.Change, b *calendar.Booking) {
	b.Description = ""
	c.Description = &b.Description
}

func changeTimes(c *calendar.Change, b *calendar.Booking) {
	b.Start, b.End = b.Start.Add(26*time.Hour), b.End.Add(27*time.Hour)
	c.Start, c.End, c.Zone = &b.Start, &b.End, b.Zone
}

func changeAttendees(c *calendar.Change, b *calendar.Booking) {
	b.Attendees = []string{b.Attendees[1], "new.guest@example.com"}
	c.Attendees = &b.Attendees
}

func clearAttendees(c *calendar.Change, b *calendar.Booking) {
	b.Attendees = []string{}
	c.Attendees = &b.Attendees
}

// changeKeeps books an event with all fields set, changes one field, and checks all of them.
func changeKeeps(
	changed string, set func(*calendar.Change, *calendar.Booking),
) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		b := r.booking("Changed in one field", 0)
		b.Attendees = guests(2)
		if r.traits.LocationURL {
			b.Conferencing, b.LocationURL = calendar.ConferencingURL, "https://meet.example.com/room/1"
		}
		booked, err := r.book(ctx, b)
		if err != nil {
			return err
		}
		before, err := r.read(ctx, refOf(booked))
		if err != nil {
			return err
		}
		var c calendar.Change
		set(&c, &b)
		answer, err := r.driver.Change(ctx, refOf(booked), c)
		if err != nil {
			return fmt.Errorf("Change: %w", err)
		}
		after, err := r.read(ctx, refOf(answer))
		if err != nil {
			return err
		}
		if after.Title != b.Title || after.Description != b.Description {
			return fmt.Errorf("after the change title %q and description %q, want %q and %q",
				after.Title, after.Description, b.Title, b.Description)
		}
		return errors.Join(
			wantSame("after the change", before, after, changed),
			wantSame("the answer of Change beside what is read after it", after, answer),
			wantSpan("after the change", after, b.Start, b.End),
			wantZone("after the change", after.Start, b.Zone),
			wantList("invited after the change", addressesOf(after), slices.Clone(b.Attendees)...),
		)
	}
}

func changedZoneIsKept(ctx context.Context, r *run) error {
	b := r.booking("Moved to another zone", 0)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	start, end := b.Start.Add(48*time.Hour), b.End.Add(48*time.Hour)
	change := calendar.Change{Start: &start, End: &end, Zone: "Asia/Kathmandu"}
	if _, err := r.driver.Change(ctx, refOf(booked), change); err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	return errors.Join(err, wantSpan("Event", event, start, end),
		wantZone("Event", event.Start, "Asia/Kathmandu"))
}

func changedTextsAreKept(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Given other texts", 0))
	if err != nil {
		return err
	}
	title := `Besprechung: A, B; "C" \ 📅 ` + fill("lang und länger – ", 400)
	description := "eins,\nzwei;\n\n\\n drei <b>&amp;</b>\n" + fill("Zeile 📅\n", 2000) + "Ende"
	if _, err := r.driver.Change(ctx, refOf(booked), calendar.Change{
		Title: &title, Description: &description,
	}); err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if event.Title != title || event.Description != description {
		return fmt.Errorf("got title %.200q and description %.200q, want %.200q and %.200q",
			event.Title, event.Description, title, description)
	}
	return nil
}

func changeKeepsTheLink(ctx context.Context, r *run) error {
	for _, kind := range []calendar.Conferencing{calendar.ConferencingProvider, calendar.ConferencingURL} {
		if !r.makes(kind) {
			continue
		}
		b := r.booking("With a link that stays", 0)
		if b.Conferencing = kind; kind == calendar.ConferencingURL {
			b.LocationURL = "https://meet.example.com/room/2"
		}
		booked, err := r.book(ctx, b)
		if err != nil {
			return err
		}
		title, description := b.Title+" still", "Another text"
		start, end := b.Start.Add(time.Hour), b.End.Add(time.Hour)
		change := calendar.Change{Title: &title, Description: &description, Start: &start, End: &end, Zone: b.Zone}
		if _, err := r.driver.Change(ctx, refOf(booked), change); err != nil {
			return err
		}
		event, err := r.read(ctx, refOf(booked))
		if err != nil {
			return err
		}
		if event.URL != booked.URL || event.Description != description {
			return fmt.Errorf("conferencing %q: after the change the link is %q "+
				"and the description %q, want %q and %q",
				kind, event.URL, event.Description, booked.URL, description)
		}
	}
	return nil
}

// makes reports whether the account supports links of that kind.
func (r *run) makes(kind calendar.Conferencing) bool {
	return kind == calendar.ConferencingProvider && r.traits.Conferencing ||
		kind == calendar.ConferencingURL && r.traits.LocationURL
}

func answersAreKept(ctx context.Context, r *run) error {
	b := r.booking("With answers", 0)
	b.Attendees = guests(3)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	for i, response := range []string{"accepted", "declined", "tentative"} {
		if err := r.Provider.(Answerer).Answer(ctx, refOf(booked), b.Attendees[i], response); err != nil {
			return err
		}
	}
	answered, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	want := []string{b.Attendees[0] + " accepted", b.Attendees[1] + " declined", b.Attendees[2] + " tentative"}
	if err := wantList("answers read", attendees(answered), want...); err != nil {
		return err
	}
	// The second attendee leaves, another joins, and one who stays is written in upper case.
	list := []string{strings.ToUpper(b.Attendees[0]), b.Attendees[2], "new.guest@example.com"}
	if _, err := r.driver.Change(ctx, refOf(booked), calendar.Change{Attendees: &list}); err != nil {
		return err
	}
	after, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(attendees(after),
		func(a string) bool { return strings.HasPrefix(a, "new.guest@") })
	return errors.Join(
		wantList("answers of those who stay", kept, want[0], want[2]),
		wantList("invited", addressesOf(after), b.Attendees[0], b.Attendees[2], "new.guest@example.com"),
	)
}

func versionsChange(ctx context.Context, r *run) error {
	b := r.booking("In versions", 0)
	b.Attendees = guests(2)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	versions := map[string]bool{read.Version: true}
	for i, set := range []func(*calendar.Change, *calendar.Booking){
		changeTitle, changeDescription, changeTimes, changeAttendees,
	} {
		var c calendar.Change
		set(&c, &b)
		if _, err := r.driver.Change(ctx, refOf(booked), c); err != nil {
			return err
		}
		read, err := r.read(ctx, refOf(booked))
		if err != nil {
			return err
		}
		if versions[read.Version] || read.Version == "" {
			return fmt.Errorf("after change %d the version is %q, which is not new", i+1, read.Version)
		}
		versions[read.Version] = true
	}
	return nil
}

func currentVersionIsChanged(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Current", 0))
	if err != nil {
		return err
	}
	event, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	for _, title := range []string{"Changed once", "Changed twice"} {
		event, err = r.driver.Change(ctx, refOf(booked), calendar.Change{IfUnchanged: event.Version, Title: &title})
		if err != nil {
			return fmt.Errorf("Change of the version just read or answered: %w", err)
		}
	}
	after, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if after.Title != "Changed twice" {
		return fmt.Errorf("the title is %q after both changes", after.Title)
	}
	return nil
}

func staleVersionIsRefused(ctx context.Context, r *run) error {
	b := r.booking("Stale", 0)
	booked, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	stale, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	description := "changed by the faster one"
	if _, err := r.driver.Change(ctx, refOf(booked), calendar.Change{
		IfUnchanged: stale.Version, Description: &description,
	}); err != nil {
		return err
	}
	before, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	title := "changed by the slower one"
	_, err = r.driver.Change(ctx, refOf(booked), calendar.Change{IfUnchanged: stale.Version, Title: &title})
	if err := conformance.WantFault("Change of a stale version", err, fault.Conflict,
		fault.ReasonChangedMeanwhile); err != nil {
		return err
	}
	after, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if after.Version != before.Version {
		return errors.New("the refused change made a new version")
	}
	return wantSame("after the refused change", before, after)
}

func meddlingIsSeen(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Meddled with", 0))
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if err := r.Provider.(Meddler).Retitle(ctx, refOf(booked), "Changed by someone else"); err != nil {
		return err
	}
	title := "Changed without looking"
	_, err = r.driver.Change(ctx, refOf(booked), calendar.Change{IfUnchanged: read.Version, Title: &title})
	if err := conformance.WantFault("Change", err, fault.Conflict, fault.ReasonChangedMeanwhile); err != nil {
		return err
	}
	after, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if after.Title != "Changed by someone else" {
		return fmt.Errorf("the title is %q: the other's change is lost", after.Title)
	}
	return nil
}

func oneOfManyChangesIsMade(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Fought over", 0))
	if err != nil {
		return err
	}
	read, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	refusals := make([]error, r.atOnce())
	_ = conformance.AtOnce(len(refusals), func(i int) error {
		title := fmt.Sprintf("Changed by caller %d", i)
		_, refusals[i] = r.driver.Change(ctx, refOf(booked), calendar.Change{
			IfUnchanged: read.Version, Title: &title,
		})
		return nil
	})
	winner := slices.Index(refusals, nil)
	for i, err := range refusals {
		if i == winner {
			continue
		}
		if err := conformance.WantFault("a change that came second", err, fault.Conflict,
			fault.ReasonChangedMeanwhile); err != nil {
			return err
		}
	}
	if winner < 0 {
		return errors.New("none of the changes was made")
	}
	after, err := r.read(ctx, refOf(booked))
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("Changed by caller %d", winner); after.Title != want {
		return fmt.Errorf("the title is %q, want %q", after.Title, want)
	}
	return nil
}

func changeUnknown(ctx context.Context, r *run) error {
	title := "Nothing there"
	_, err := r.driver.Change(ctx, calendar.EventRef{CalendarID: r.Calendar, ID: r.unknownEvent()},
		calendar.Change{Title: &title})
	return conformance.WantFault("Change", err, fault.NotFound, fault.ReasonEventNotFound)
}

func changeCancelled(ctx context.Context, r *run) error {
	booked, err := r.book(ctx, r.booking("Gone", 0))
	if err != nil {
		return err
	}
	if err := r.driver.Cancel(ctx, refOf(booked)); err != nil {
		return err
	}
	title := "Back to life"
	_, err = r.driver.Change(ctx, refOf(booked), calendar.Change{Title: &title})
	return conformance.WantFault("Change", err, fault.NotFound, fault.ReasonEventNotFound)
}
