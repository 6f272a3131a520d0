package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/speech"
	"frontdesk/core/store"
)

const (
	nearestSlots  = 3
	nearestWithin = 7 * 24 * time.Hour // before and after the slot that is taken
	nearestShare  = 0.6                // of the time left, so that the refusal is not late
)

// withNearest returns the refusal of a slot with the three free slots nearest to it. Whatever keeps the
// gateway from finding them, the refusal stays what it is. Other errors stay, too.
func (s *Calendar) withNearest(
	ctx context.Context, client calendarClient, taken offered, moving store.Meeting, err error,
) error {
	if err == nil || fault.From(err).Reason != fault.ReasonSlotTaken {
		return err
	}
	ctx, cancel := calendar.WithShare(ctx, nearestShare)
	defer cancel()
	found, starts, failed := client.nearest(ctx, taken, moving)
	if failed != nil {
		client.opts.Log.WarnContext(ctx, "no other slots could be found for one that is taken",
			"connection", client.connection.ID, "error", failed)
		return err
	}
	refusal := *fault.From(err)
	refusal.Instead = &fault.Instead{Name: "nearest_slots", Values: found}
	if len(found) > 0 {
		refusal.Instead.Say = speech.In(language.Of(ctx)).Slots(starts, client.opts.Now(), true)
	}
	return &refusal
}

// nearest returns the free slots nearest to one that is taken, by their start. They go by the rules by which it was
// offered.
func (c calendarClient) nearest(
	ctx context.Context, taken offered, moving store.Meeting,
) (found []record.Slot, starts []time.Time, err error) {
	length, tentativeAsBusy := taken.To.Sub(taken.From), !taken.TentativeIsFree
	in := FindSlots{
		Availability: slots.Availability(taken.Availability), CalendarIDs: taken.CalendarIDs,
		RescheduleMeetingID: moving.EventID, movesIn: moving.CalendarID, HoldID: taken.holdID,
		Rules: slots.Rules{
			Duration: &length, Before: &taken.Before, After: &taken.After, TentativeAsBusy: &tentativeAsBusy,
		},
	}
	if err := in.recall(taken.rules); err != nil {
		return nil, nil, err
	}
	office, err := c.zone(ctx, "", first(in.CalendarIDs))
	if err != nil {
		return nil, nil, err
	}
	q, err := c.question(in, office)
	if err != nil {
		return nil, nil, err
	}
	if !taken.rules.Length {
		in.Rules.Duration = nil
	}
	q.Zone, q.From, q.To = taken.zone(), taken.From.Add(-nearestWithin), taken.To.Add(nearestWithin)
	if q.Now.After(q.From) {
		q.From = q.Now
	}
	if !q.To.After(q.From) {
		return []record.Slot{}, nil, nil
	}
	ids, err := c.nameCalendars(ctx, in.searched())
	if err != nil {
		return nil, nil, err
	}
	withHours, withLength := c.readHours(ctx, in), c.readLength(ctx, in)
	if q.Calendars, err = c.busyCalendars(ctx, ids, q, in); err != nil {
		return nil, nil, err
	}
	withHours(&q)
	withLength(&q, &in)
	all := slots.Find(q)
	slices.SortStableFunc(all, func(a, b slots.Slot) int {
		return cmp.Compare(a.Start.Sub(taken.From).Abs(), b.Start.Sub(taken.From).Abs())
	})
	all = all[:min(len(all), nearestSlots)]
	slices.SortFunc(all, func(a, b slots.Slot) int { return a.Start.Compare(b.Start) })
	offers := c.offers(all, q, in)
	found, starts = slotRecords(offers)
	return found, starts, c.opts.Store.OfferSlots(ctx, offers)
}
