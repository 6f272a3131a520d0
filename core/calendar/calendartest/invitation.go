package calendartest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func invitationChecks() []Check {
	invited := can[Inviter]
	instances := both(invited, trait(func(t calendar.Traits) bool { return t.Instances }))
	return []Check{
		{Name: "an event that someone else organizes is not changed",
			Bound: invited, Do: with(invitationIsNotChanged("", 1))},
		{Name: "an instance of a series that someone else organizes is not changed",
			Bound: instances, Do: with(invitationIsNotChanged("FREQ=DAILY;COUNT=3", 3))},
		{Name: "cancelling an event that someone else organizes removes the account's copy alone",
			Bound: invited, Do: with(invitationIsRemoved("", 1))},
		{Name: "cancelling an instance of someone else's series removes the account's copy of it alone",
			Bound: instances, Do: with(invitationIsRemoved("FREQ=DAILY;COUNT=3", 3))},
	}
}

const (
	otherOrganizer = "organizer@example.com"
	otherGuest     = "other.guest@example.com"
)

// invite lets somebody else invite the account. It returns a query that covers the meeting, and its instances
// as listed.
func (r *run) invite(
	ctx context.Context, title, rule string, count int,
) (calendar.Query, []calendar.Event, error) {
	s := Series{
		CalendarID: r.Calendar, Title: title + " " + newKey()[:8],
		Start: r.at(0, 15, 0), Length: 45 * time.Minute, Zone: zoneUsed, Rule: rule,
	}
	q := r.query(0, count)
	if err := r.Provider.(Inviter).Invite(ctx, otherOrganizer, otherGuest, s); err != nil {
		return q, nil, err
	}
	var listed []calendar.Event
	err := r.seen(ctx, func() (err error) {
		listed, err = r.listTitled(ctx, q, s.Title)
		if err == nil && len(listed) != count {
			return fmt.Errorf("%d meetings are listed, want %d: %v", len(listed), count, listed)
		}
		return err
	})
	for _, e := range listed {
		r.booked = append(r.booked, refOf(e))
	}
	return q, listed, err
}

func invitationIsNotChanged(rule string, count int) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		q, all, err := r.invite(ctx, "Organized by someone else", rule, count)
		if err != nil {
			return err
		}
		ref := refOf(all[count/2])
		before, err := r.read(ctx, ref)
		if err != nil {
			return err
		}
		sent, err := r.notices(ctx, ref)
		if err != nil {
			return err
		}
		title, description, guests := "Mine now", "Another text", []string{otherGuest, "new.guest@example.com"}
		start, end := before.Start.Instant.Add(2*time.Hour), before.End.Instant.Add(2*time.Hour)
		for _, asked := range []struct {
			what string
			calendar.Change
		}{
			{"title", calendar.Change{Title: &title}},
			{"description", calendar.Change{Description: &description}},
			{"times", calendar.Change{Start: &start, End: &end, Zone: zoneUsed}},
			{"attendees", calendar.Change{Attendees: &guests}},
		} {
			for _, version := range []string{"", before.Version} {
				asked.IfUnchanged = version
				_, err := r.driver.Change(ctx, ref, asked.Change)
				what := fmt.Sprintf("Change of the %s, of the version %q", asked.what, version)
				if err := conformance.WantFault(what, err, fault.Forbidden, fault.ReasonPermissionDenied); err != nil {
					return err
				}
			}
		}
		after, err := r.read(ctx, ref)
		if err != nil {
			return err
		}
		if after.Version != before.Version {
			return errors.New("the refused changes made a new version")
		}
		now, err := r.notices(ctx, ref)
		if err == nil && !slices.Equal(now, sent) {
			err = fmt.Errorf("the refused changes were told: %v", now[len(sent):])
		}
		listed, listErr := r.listTitled(ctx, q, before.Title)
		unchanged, changeErr := r.driver.Change(ctx, ref, calendar.Change{})
		return errors.Join(err, listErr, changeErr,
			wantSame("after the refused changes", before, after),
			wantSame("the answer of a change of nothing", before, unchanged),
			wantIDs("listed after the refused changes", listed, all...))
	}
}

// notices returns the notices sent about an event so far, or none if Provider is no Notifier.
func (r *run) notices(ctx context.Context, ref calendar.EventRef) ([]Notice, error) {
	notifier, can := r.Provider.(Notifier)
	if !can {
		return nil, nil
	}
	return notifier.Notices(ctx, ref)
}

func invitationIsRemoved(rule string, count int) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		q, all, err := r.invite(ctx, "Declined", rule, count)
		if err != nil {
			return err
		}
		gone := all[count/2]
		if err := r.driver.Cancel(ctx, refOf(gone)); err != nil {
			return fmt.Errorf("Cancel: %w", err)
		}
		if err := r.wantGone(ctx, refOf(gone)); err != nil {
			return err
		}
		notices, err := r.notices(ctx, refOf(gone))
		if err != nil {
			return err
		}
		for _, n := range notices {
			if n.Kind == "cancellation" || n.To != otherOrganizer {
				return fmt.Errorf("%s was sent the %s of someone else's meeting", n.To, n.Kind)
			}
		}
		stay := slices.DeleteFunc(slices.Clone(all), func(e calendar.Event) bool { return e.ID == gone.ID })
		return r.seen(ctx, func() error {
			listed, err := r.listTitled(ctx, q, gone.Title)
			return errors.Join(err, wantIDs("listed after the cancellation", listed, stay...))
		})
	}
}
