package service

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/store"
)

// Double booking is prevented by two things: a hold on the slot in the store, which serialises all bookings through
// any replica of the gateway, and the provider, which is asked for what was booked by other means. A hold outlives its
// booking by a little, because some providers do not show an event at once. So a move ends the hold of the slot that
// it leaves only when the meeting is elsewhere. core/DESIGN.md tells what comes first, and why.

const (
	holdWhileBooking = 45 * time.Second
	holdAfterBooking = 2 * time.Minute
	// lookCounts is how old a look may be when the hold is taken. Holds last longer by that and the store's limit.
	lookCounts = 10 * time.Second
)

// slot is a stretch of time that must be free in every calendar.
type slot struct {
	ids       []string // calendar ids; none means the default one
	span      calendar.Span
	except    string                    // id of the event that moves
	foundFree bool                      // an earlier run of the call found it free and may have booked it
	isOwn     func(calendar.Event) bool // reports whether that run may have booked this event

	around          buffer
	tentativeIsFree bool // what the calendar's owner has accepted tentatively is not in the way

	heldAs   []string // ids of the holds by which the caller has it already
	name     string   // of the holds to take; "": the effect key
	heldTill time.Time
}

// buffer is what must be free around a slot.
type buffer struct {
	Before time.Duration `json:"before,omitempty"`
	After  time.Duration `json:"after,omitempty"`
}

// widen returns the span with its buffer.
func (b buffer) widen(s calendar.Span) calendar.Span {
	return calendar.Span{From: s.From.Add(-b.Before), To: s.To.Add(b.After)}
}

// hold is a hold on a slot. A nil hold holds nothing.
type hold struct {
	opts *Options
	ids  []string
	left []string // those that end with the booking: the caller's own, and those of the event that moves
	kept bool
}

// reserve takes the slot, or fails with SLOT_TAKEN. Every run of a call takes it under the same ids, so that
// an earlier run does not block the one that resumes the call.
func (c calendarClient) reserve(ctx context.Context, run *journal.Run, want slot) (*hold, error) {
	if !want.span.To.After(want.span.From) {
		return nil, nil // an event without a length takes no time
	}
	calendars, err := c.resolveCalendars(ctx, want.ids)
	if err != nil {
		return nil, err
	}
	h, rows := c.holdOn(want, calendars, run.Intent().EffectKey)
	except := slices.Clone(want.heldAs)
	if want.except != "" && want.heldTill.IsZero() { // it moves now
		of, err := c.opts.Store.HoldsOfEvent(ctx, c.connection.ID, want.except)
		if err != nil {
			return nil, err
		}
		for _, other := range of {
			if other.EventID == want.except {
				h.left = append(h.left, other.ID)
			}
			// The slot to which another call moves the event is not in the way either: the repeat of a move whose
			// reply was lost is such another call if it has no key. That call keeps its hold.
			if !slices.Contains(h.ids, other.ID) {
				except = append(except, other.ID)
			}
		}
	}
	taken, err := c.opts.Store.TakeHolds(ctx, rows, except, c.opts.Now())
	if err != nil {
		if !run.Resumed() { // else an earlier run may need it
			h.release(ctx, run) // the store may have taken it, and its reply was lost
		}
		return nil, err
	}
	if taken != nil && !slices.Contains(h.ids, taken.ID) {
		if want.foundFree && taken.EventID == "" { // unlike a meeting, a hold ends by itself
			return nil, fault.NotKnownYet("An earlier try was cut off, and another call holds the time now.",
				taken.Until.Sub(c.opts.Now()))
		}
		return nil, slotTaken()
	}
	if taken != nil { // by the interrupted run
		if err := c.opts.Store.KeepHolds(ctx, store.HoldsKept{IDs: h.ids, Until: rows[0].Until}); err != nil {
			return nil, err
		}
		if want.foundFree {
			return h, nil
		}
	}
	if err := c.checkFree(ctx, calendars, want); err != nil {
		h.release(ctx, run)
		return nil, err
	}
	return h, nil
}

// holdOn returns a hold on the slot, and its rows. They have the same ids in every run of a call.
func (c calendarClient) holdOn(want slot, calendars []string, effectKey string) (*hold, []store.Hold) {
	until := want.heldTill
	if until.IsZero() {
		until = c.opts.Now().Add(holdWhileBooking)
	}
	h := &hold{
		opts: c.opts, left: slices.Clone(want.heldAs), ids: holdIDs(cmp.Or(want.name, effectKey), len(calendars)),
	}
	rows := make([]store.Hold, len(calendars))
	for i, id := range calendars {
		rows[i] = store.Hold{
			ID: h.ids[i], ConnectionID: c.connection.ID, CalendarID: id, From: want.span.From, To: want.span.To,
			Until: until, Before: want.around.Before, After: want.around.After,
		}
		if want.heldTill.IsZero() {
			rows[i].Moves = want.except
		}
	}
	return h, rows
}

// look asks the provider whether the slot is free before its hold is taken, and returns what begins with the
// intent of the booking. It returns nothing to begin if the look took so long that it does not count: the
// booking then takes the hold first, as a resumed one does.
func (c calendarClient) look(ctx context.Context, want slot, effectKey string) (*hold, []store.Hold, error) {
	if !want.span.To.After(want.span.From) {
		return nil, nil, nil
	}
	calendars, err := c.resolveCalendars(ctx, want.ids)
	if err != nil {
		return nil, nil, err
	}
	began := c.opts.Now()
	err = c.checkFree(ctx, calendars, want)
	if err != nil || c.opts.Now().Sub(began) > lookCounts {
		return nil, nil, err
	}
	h, rows := c.holdOn(want, calendars, effectKey)
	return h, rows, nil
}

// holdIDs returns the ids of holds of one name, one for each calendar.
func holdIDs(name string, calendars int) []string {
	ids := make([]string, calendars)
	for i := range ids {
		ids[i] = name + "/" + strconv.Itoa(i)
	}
	return ids
}

func slotTaken() error {
	return fault.New(fault.Conflict, fault.ReasonSlotTaken, "This time is already taken. Offer another one.")
}

// resolveCalendars returns the ids of the calendars in one order, so that the same calendars have the same holds,
// however they are named.
func (c calendarClient) resolveCalendars(ctx context.Context, ids []string) ([]string, error) {
	ids, err := c.nameCalendars(ctx, ids)
	slices.Sort(ids)
	return ids, err
}

// checkFree asks the provider what lies in the slot or what must be free around it, and fails with SLOT_TAKEN if
// anything does.
func (c calendarClient) checkFree(ctx context.Context, calendars []string, want slot) error {
	span := want.around.widen(want.span)
	everyEventCounts := want.except == "" && want.isOwn == nil && !want.tentativeIsFree
	if asker, can := c.driver.(calendar.FreeBusyer); can && everyEventCounts {
		op := read("free-busy")
		list, err := ask(ctx, c.endpoint, op, func(ctx context.Context) ([]calendar.Busy, error) {
			list, err := asker.FreeBusy(ctx, calendars, span)
			for _, b := range list {
				err = cmp.Or(err, b.Unknown) // as if the call failed, so that the guard may try again
			}
			return list, err
		})
		isInWay := func(b calendar.Busy) bool { return overlaps(b.Span, span) }
		if err != nil || !slices.ContainsFunc(list, isInWay) {
			return err
		}
		return slotTaken()
	}
	events, err := c.readEvents(ctx, calendars, span, "")
	isInWay := func(e calendar.Event) bool {
		isOwn := isOf(e, want.except) || want.isOwn != nil && want.isOwn(e)
		return c.takesTime(e, want.tentativeIsFree) && !isOwn && overlaps(spanOf(e), span)
	}
	if err != nil || !slices.ContainsFunc(events, isInWay) {
		return err
	}
	return slotTaken()
}

// isOf reports whether an event has the id, or is an instance of the series that has it.
func isOf(e calendar.Event, id string) bool { return id != "" && (e.ID == id || e.SeriesID == id) }

// takesTime reports whether an event makes its calendar's owner busy, where what was accepted tentatively may
// be free.
func (c calendarClient) takesTime(e calendar.Event, tentativeIsFree bool) bool {
	if tentativeIsFree && c.hasAnswered(e, "tentative") {
		return false
	}
	span := spanOf(e)
	return !e.IsCancelled && !e.IsFree && !c.hasAnswered(e, "declined") && span.From.Before(span.To)
}

// hasAnswered reports whether the calendar's owner gave this answer to the event's invitation. An account that
// books in the calendars of others may be invited beside them.
func (c calendarClient) hasAnswered(e calendar.Event, answer string) bool {
	if e.OwnerResponse != "" {
		return e.OwnerResponse == answer
	}
	owner := c.connection.Email
	return owner != "" && slices.ContainsFunc(e.Attendees, func(a calendar.Attendee) bool {
		return strings.EqualFold(a.Email, owner) && a.Response == answer
	})
}

// spanOf returns the time of an event that readEvents has returned.
func spanOf(e calendar.Event) calendar.Span {
	zone, err := normalize.LoadZone(e.Start.Zone)
	if err != nil {
		zone = time.UTC // only the provider knows the name; such an event has an instant
	}
	return calendar.Span{From: normalize.Instant(e.Start, zone), To: normalize.Instant(e.End, zone)}
}

// overlaps reports whether two spans share time; spans that touch do not.
func overlaps(a, b calendar.Span) bool { return a.From.Before(b.To) && b.From.Before(a.To) }

// keep returns how the slot is kept taken for a while after it was booked. The answer is recorded with it.
func (h *hold) keep(eventID string) store.HoldsKept {
	if h == nil {
		return store.HoldsKept{}
	}
	h.kept = true
	return h.of(eventID)
}

// of returns the holds as those of an event.
func (h *hold) of(eventID string) store.HoldsKept {
	if h == nil {
		return store.HoldsKept{}
	}
	return store.HoldsKept{
		IDs: h.ids, EventID: eventID, Until: h.opts.Now().Add(holdAfterBooking), Left: h.left,
	}
}

// letExpire lets the hold run out by itself.
func (h *hold) letExpire() {
	if h != nil {
		h.kept = true
	}
}

// release frees the slot unless it was kept, or another run has taken the call over. It works even after the caller
// has left.
func (h *hold) release(ctx context.Context, run *journal.Run) {
	if h == nil || h.kept {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	run.DropHolds(ctx, h.ids)
}
