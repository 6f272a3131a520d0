package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/language"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/speech"
	"frontdesk/core/store"
)

// MaxHold is the longest time for which a caller holds a slot.
const MaxHold = 15 * time.Minute

// A hold_id stands for the same time as the slot_id, and is kept with those. The rows of holds have ids
// that can be told from it.

const (
	slotPrefix      = "st_"
	holdPrefix      = "hd_"
	referencePrefix = "mt_"

	shortIDDigits = 10 // 50 bits
)

// shortID returns an id that a model repeats reliably. Crockford's alphabet has no letters that look or sound
// like digits.
func shortID(prefix string, sum []byte) string {
	letters := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").EncodeToString(sum)
	return prefix + letters[:shortIDDigits]
}

// terms are those on which a caller takes a slot that it was offered.
type terms struct {
	Calendars []string `json:"calendars,omitempty"` // all must be free
	HeldAs    []string `json:"held_as,omitempty"`   // ids of the caller's holds
	Around    buffer   `json:"around,omitzero"`

	TentativeIsFree bool `json:"tentative_is_free,omitempty"` // see slot.tentativeIsFree
	KeepsLength     bool `json:"keeps_length,omitempty"`      // what moves there, as the slot was found without it
}

// isExclusive reports whether a booking has to take its slot: the tenant prevents double booking, or the caller was
// offered the slot.
func (c calendarClient) isExclusive(by *terms) bool {
	return by != nil || c.tenant.Settings.PreventDoubleBooking
}

// exclusive returns the slot to take for a booking that starts at a time, without its calendars and its time,
// and whether it has to be taken. run is nil before the call has one.
func (c calendarClient) exclusive(run *journal.Run, by *terms, start time.Time) (slot, bool, error) {
	if !c.isExclusive(by) {
		return slot{}, false, nil
	}
	if by != nil {
		if isFirst(run) && !start.After(c.opts.Now()) {
			return slot{}, true, slotTaken()
		}
		return slot{around: by.Around, heldAs: by.HeldAs, tentativeIsFree: by.TentativeIsFree}, true, nil
	}
	rules, err := c.rules()
	q := rules.Question()
	return slot{around: buffer{q.Before, q.After}, tentativeIsFree: q.TentativeIsFree}, true, err
}

// isFirst reports whether no earlier run of a call may have reached the provider.
func isFirst(run *journal.Run) bool { return run == nil || !run.Resumed() }

// offered is a slot that the caller was offered, and may hold.
type offered struct {
	store.SlotOffered

	rules  keptRules
	holdID string
}

// offered returns the slot of a slot_id or a hold_id. A model may take the one for the other.
func (c calendarClient) offered(ctx context.Context, by Offered) (offered, error) {
	id, path := by.SlotID, "slot_id"
	if by.HoldID != "" {
		id, path = by.HoldID, "hold_id"
	}
	held := ""
	if strings.HasPrefix(id, holdPrefix) {
		held = id
	}
	offer, found, err := c.opts.Store.SlotOffered(ctx, c.tenant.ID, c.connection.ID, id)
	if err == nil && !found {
		err = slotNotFound(path)
	}
	if err != nil {
		return offered{}, err
	}
	rules, err := rulesKept(offer.Rules)
	return offered{offer, rules, held}, err
}

func slotNotFound(path string) error {
	return fault.Newf(fault.NotFound, fault.ReasonSlotNotFound,
		"This %s is not known. Ids are as find-slots and hold-slot answered them, in the last days.", path)
}

// taken returns the calendars that a booking of the slot takes: all those that were asked for, or the first
// of those that were free if any was enough.
func (o offered) taken() []string {
	if slots.Availability(o.Availability) == slots.Any {
		return o.CalendarIDs[:1]
	}
	return o.CalendarIDs
}

func (o offered) terms() *terms {
	return &terms{
		Calendars: o.taken(), HeldAs: o.heldAs(), Around: o.around(), TentativeIsFree: o.TentativeIsFree,
	}
}

func (o offered) around() buffer { return buffer{o.Before, o.After} }

// heldAs returns the ids of the holds of the hold_id.
func (o offered) heldAs() []string {
	if o.holdID == "" {
		return nil
	}
	return holdIDs(o.ConnectionID+"/"+o.holdID, len(o.held().taken()))
}

// held returns the slot with the calendars in which a hold takes it: what moves stays in its calendar.
func (o offered) held() offered {
	if o.rules.MovesIn != "" {
		o.CalendarIDs = FindSlots{
			CalendarIDs: o.CalendarIDs, Availability: slots.Availability(o.Availability), movesIn: o.rules.MovesIn,
		}.searched()
	}
	return o
}

func (o offered) zone() *time.Location {
	zone, err := normalize.LoadZone(o.TimeZone)
	if err != nil {
		return time.UTC // it was offered by a version that kept no zone
	}
	return zone
}

func (o offered) record(slotID string) record.Slot {
	return record.Slot{
		SlotID: slotID, Start: normalize.Format(o.From, o.zone()), End: normalize.Format(o.To, o.zone()),
		CalendarIDs: o.CalendarIDs,
	}
}

// isHeld reports whether the slot is held under its hold_id, and not booked.
func (c calendarClient) isHeld(ctx context.Context, o offered) (bool, error) {
	rows, err := c.opts.Store.HoldsWithin(ctx, c.connection.ID, o.From, o.To, c.opts.Now())
	ids := o.heldAs()
	return slices.ContainsFunc(rows, func(h store.Hold) bool {
		return h.EventID == "" && slices.Contains(ids, h.ID)
	}), err
}

// holdsOf returns the ids of the holds of an event near the slot, and of those of slots to which it is moving. They
// are not in the way if the event is to be moved.
func (c calendarClient) holdsOf(ctx context.Context, eventID string, o offered) (ids []string, err error) {
	if eventID == "" {
		return nil, nil
	}
	near := o.around().widen(spanOfOffer(o))
	rows, err := c.opts.Store.HoldsWithin(ctx, c.connection.ID, near.From, near.To, c.opts.Now())
	for _, h := range rows {
		if h.EventID == eventID || h.Moves == eventID {
			ids = append(ids, h.ID)
		}
	}
	return ids, err
}

// holdPlan is a hold to take.
type holdPlan struct {
	SlotID string        `json:"slot_id"`
	Phone  string        `json:"phone,omitempty"`
	Event  string        `json:"event,omitempty"` // that is to be moved there
	For    time.Duration `json:"for,omitempty"`
	In     string        `json:"in,omitempty"` // the calendar of that event
}

// Canonical returns a form that is the same for equal holds, however long they are.
func (p holdPlan) Canonical() any {
	p.For, p.In = 0, ""
	return p
}

// Hold holds a slot for a caller: it is busy for all others until the hold ends. Equal calls of one API key
// for one telephone number are one hold, which a repeat does not extend.
func (s *Calendar) Hold(
	ctx context.Context, c apikey.Caller, w Write, in HoldSlot,
) (Answer[record.HoldAnswer], error) {
	var none Answer[record.HoldAnswer]
	client, err := s.open(ctx, c)
	if err != nil {
		return none, err
	}
	offer, err := client.offered(ctx, Offered{SlotID: in.SlotID})
	if err != nil {
		return none, err
	}
	plan := holdPlan{SlotID: in.SlotID, Phone: in.Phone, For: in.For}
	var moving store.Meeting
	if in.Moves != "" {
		if moving, err = client.meetingOf(ctx, in.Moves); err != nil {
			return none, err
		}
		plan.Event, plan.In = moving.EventID, moving.CalendarID
	}
	answer, err := journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opHold, Write: w, ConnectionID: client.connection.ID,
		Plan: plan, DedupeWindow: MaxHold, Repeatable: true,
		Stale: func(ctx context.Context, earlier store.Intent) bool {
			held, err := client.isHeld(ctx, offered{offer.SlotOffered, offer.rules, earlier.EffectRef})
			return err == nil && !held
		},
	}, with(client, s.hold))
	if err != nil && in.Moves != "" {
		moving = client.asItIs(ctx, moving)
	}
	return answer, s.withNearest(ctx, client, offer, moving, err)
}

// hold runs a hold, new or resumed. Nothing happens at the provider.
func (s *Calendar) hold(
	ctx context.Context, client calendarClient, run *journal.Run, plan holdPlan,
) (journal.Result[record.HoldAnswer], error) {
	var none journal.Result[record.HoldAnswer]
	run.RuleOutEffect()
	offer, err := client.offered(ctx, Offered{SlotID: plan.SlotID})
	if err != nil {
		return none, err
	}
	if plan.Event != "" { // not in the plan, by which a repeat is known
		moving := client.asItIs(ctx, store.Meeting{EventID: plan.Event, CalendarID: plan.In})
		plan.Event, plan.In = moving.EventID, moving.CalendarID
	}
	offer.rules.MovesIn = plan.In
	row := offer.SlotOffered
	if plan.Event != "" && !offer.rules.Length {
		length := client.lengthOf(ctx, FindSlots{RescheduleMeetingID: plan.Event, movesIn: plan.In})
		offer.To = offer.From.Add(cmp.Or(length, offer.To.Sub(offer.From)))
	}
	sum := sha256.Sum256([]byte(run.Intent().EffectKey))
	offer.holdID = shortID(holdPrefix, sum[:])
	until := run.Intent().CreatedAt.Add(plan.For)
	if now := client.opts.Now(); !offer.From.After(now) || !until.After(now) {
		return none, slotTaken()
	}
	booked, err := client.holdsOf(ctx, plan.Event, offer)
	if err != nil {
		return none, err
	}
	held, err := client.reserve(ctx, run, slot{
		ids: offer.held().taken(), span: spanOfOffer(offer), around: offer.around(),
		tentativeIsFree: offer.TentativeIsFree, heldTill: until,
		name: client.connection.ID + "/" + offer.holdID, except: plan.Event, heldAs: booked,
	})
	if err != nil {
		return none, err
	}
	defer held.release(ctx, run)
	row.ID, row.OfferedAt, row.Rules = offer.holdID, run.Intent().CreatedAt, offer.rules.text()
	if err := s.opts.Store.OfferSlots(ctx, []store.SlotOffered{row}); err != nil {
		return none, err
	}
	held.letExpire()
	return journal.Result[record.HoldAnswer]{
		Record: record.HoldAnswer{
			HoldID: offer.holdID, HeldUntil: normalize.Format(until.Truncate(time.Second), offer.zone()),
			Slot: offer.held().record(plan.SlotID), Say: say(ctx, speech.Held, offer, client.opts.Now()),
		},
		Ref: offer.holdID,
	}, nil
}

// releaseHoldPlan is a hold to release.
type releaseHoldPlan struct {
	HoldID string `json:"hold_id"`
}

// ReleaseHold ends a hold before its time. A hold that has ended or was booked is no error.
func (s *Calendar) ReleaseHold(
	ctx context.Context, c apikey.Caller, w Write, holdID string,
) (Answer[record.ReleaseAnswer], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.ReleaseAnswer]{}, err
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opReleaseHold, Write: w, ConnectionID: client.connection.ID,
		Plan: releaseHoldPlan{holdID}, Repeatable: true,
	}, with(client, s.releaseHold))
}

func (s *Calendar) releaseHold(
	ctx context.Context, client calendarClient, run *journal.Run, plan releaseHoldPlan,
) (journal.Result[record.ReleaseAnswer], error) {
	var none journal.Result[record.ReleaseAnswer]
	run.RuleOutEffect()
	offer, err := client.offered(ctx, Offered{HoldID: plan.HoldID})
	if err != nil {
		return none, err
	}
	held, err := client.isHeld(ctx, offer)
	if err == nil && offer.holdID == "" {
		err = slotNotFound("hold_id")
	}
	if err == nil && held {
		err = s.opts.Store.KeepHolds(ctx, store.HoldsKept{Left: offer.heldAs()}) // whichever run holds the call
	}
	if err != nil {
		return none, err
	}
	sentence := speech.NotHeld
	if held {
		sentence = speech.Released
	}
	return journal.Result[record.ReleaseAnswer]{
		Record: record.ReleaseAnswer{
			HoldID: plan.HoldID, Released: held, Say: say(ctx, sentence, offer, client.opts.Now()),
		},
		Ref: plan.HoldID,
	}, nil
}

// say says a sentence about a slot, in the zone in which it was offered.
func say(ctx context.Context, about speech.Sentence, o offered, now time.Time) string {
	return speech.In(language.Of(ctx)).Say(about, o.From.In(o.zone()), now)
}
