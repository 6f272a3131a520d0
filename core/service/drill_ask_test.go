package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/record"
)

// age is the state of a request's record: whether it still counts.
type age int

const (
	current age = iota
	edge        // not known from outside
	over
)

func (r *request) String() string {
	if r.key == "" {
		return fmt.Sprintf("%s %s of tenant %d", r.operation, r.label, r.tenant)
	}
	return fmt.Sprintf("%s %s of tenant %d under the key %s", r.operation, r.label, r.tenant, r.key)
}

// age reports whether the store's record of a request still counts.
func (d *drill) age(r *request) age {
	if r.state == untold {
		return current
	}
	keep := 72 * time.Hour
	if r.key == "" {
		keep = 10 * time.Minute
		if r.operation == opCreate {
			keep = d.window
		}
		if m := d.meets[r.made]; r.state == sure && m != nil && m.state != sure {
			return edge // may be cancelled since, so that an equal booking is a new one
		}
	}
	now := d.world.clock.now()
	switch {
	case now.Sub(r.until) > keep:
		return over
	case now.Sub(r.from) < keep:
		return current
	}
	return edge
}

// effects returns the number of effects of a request at the provider.
func (d *drill) effects(r *request) (n int) {
	switch r.operation {
	case opBook:
		d.world.meetings.mu.Lock()
		defer d.world.meetings.mu.Unlock()
		for _, e := range d.world.meetings.events {
			if e.Description == r.label {
				n++
			}
		}
	case opUpdate:
		d.world.meetings.mu.Lock()
		defer d.world.meetings.mu.Unlock()
		return d.world.meetings.retitled[r.label]
	case opCreate:
		d.world.tickets.mu.Lock()
		defer d.world.tickets.mu.Unlock()
		for _, t := range d.world.tickets.made {
			if t.Subject == r.label {
				n++
			}
		}
	}
	return n
}

// call makes a new or repeated request as one of the tenants.
func (d *drill) call() {
	operations := []string{
		opBook, opBook, opBook, opCreate, opCreate, opCreate, opBuy, opBuy, opUpdate, opUpdate, opCancel, opCancel,
		opChange, opChange, opReleaseNumber,
	}
	r := &request{tenant: d.dice.IntN(2), operation: operations[d.dice.IntN(len(operations))]}
	keyless := (r.operation == opBook || r.operation == opCreate) && d.chance(3)
	name := fmt.Sprintf("%d/%s/keyless %d", r.tenant, r.operation, d.dice.IntN(2))
	if !keyless {
		r.key = fmt.Sprintf("key %d", d.dice.IntN(4))
		name = fmt.Sprintf("%d/%s/%s", r.tenant, r.operation, r.key)
	}
	there, asked := d.asked[name]
	switch {
	case !asked:
		if !d.aim(r) {
			return
		}
		d.asked[name] = r
		there = r
	case there.state == untold && d.chance(2): // nothing is stored: the key may get another body
		if !d.aim(r) {
			return
		}
		r.base, r.allowed = d.effects(r), 0
		d.asked[name] = r
		there = r
	case there.key != "" && there.state == sure && d.age(there) == current && d.chance(3):
		d.reuse(there, r)
		return
	}
	i := d.dice.IntN(2)
	d.arm(i)
	d.ask(there, i, d.faults())
}

// aim sets the texts of a request and, for a change, its subject. It reports false if there is no subject.
func (d *drill) aim(r *request) bool {
	d.labels++
	r.label, r.hour = fmt.Sprintf("r%d-%d", d.seed, d.labels), 2*d.labels
	switch r.operation {
	case opUpdate, opCancel:
		ids := slices.DeleteFunc(slices.Sorted(maps.Keys(d.meets)),
			func(id string) bool { return d.meets[id].tenant != r.tenant || d.meets[id].state != sure })
		if len(ids) == 0 {
			return false
		}
		r.event = ids[d.dice.IntN(len(ids))]
	case opChange, opReleaseNumber:
		ids := slices.DeleteFunc(slices.Sorted(maps.Keys(d.lines)),
			func(id int64) bool { return d.lines[id].tenant != r.tenant || d.lines[id].state != sure })
		if len(ids) == 0 {
			return false
		}
		r.number = ids[d.dice.IntN(len(ids))]
	}
	return true
}

// reuse sends another request under a key that was answered.
func (d *drill) reuse(there, other *request) {
	if !d.aim(other) {
		return
	}
	d.note("%s, and now %s", there, other)
	_, _, _, err := d.send(other, 0)
	d.wantRefused(err, fault.ReasonIdempotencyReused)
	if n := d.effects(other); n > 0 {
		d.wrong("a refused key had %d effects", n)
	}
	if other.operation == opBuy && d.world.phones.bought > d.buys {
		d.wrong("a refused key bought a number")
	}
}

func (d *drill) wantRefused(err error, reason string) {
	d.counted[reason]++
	if f := fault.From(err); err == nil || f.Code != fault.Conflict || f.Reason != reason {
		d.wrong("answered %v, want %s", err, reason)
	}
}

// send sends a request to a process.
func (d *drill) send(r *request, at int) (body json.RawMessage, made string, replayed bool, err error) {
	p, c, w := d.two[at].process, d.callers[r.tenant], Write{IdempotencyKey: r.key}
	switch r.operation {
	case opBook:
		in := meeting(d.t, "title "+r.label, r.hour)
		in.Description = r.label
		if r.hour%4 == 0 {
			in.Conferencing = calendar.ConferencingProvider
		}
		var a Answer[record.MeetingAnswer]
		a, err = p.Calendar.Book(asKey(c), c, w, in)
		return a.Body, a.Record.Event.EventID, a.Replayed, err
	case opUpdate:
		var a Answer[record.MeetingAnswer]
		a, err = p.Calendar.Update(asKey(c), c, w, UpdateMeeting{EventID: r.event, Title: r.label})
		return a.Body, r.event, a.Replayed, err
	case opCancel:
		var a Answer[record.CancelAnswer]
		a, err = p.Calendar.Cancel(asKey(c), c, w, CancelMeeting{EventID: r.event})
		return a.Body, r.event, a.Replayed, err
	case opCreate:
		var a Answer[record.TicketAnswer]
		a, err = p.Tickets.Create(asKey(c), c, w, CreateTicket{Subject: r.label})
		return a.Body, a.Record.Ticket.TicketNumber, a.Replayed, err
	case opBuy:
		var a Answer[record.PhoneNumber]
		a, err = p.Numbers.Buy(asKey(c), c, w, BuyNumber{AreaCode: "415", Name: r.label, Inbound: employeeID(7)})
		if err == nil && !p.dead.Load() {
			d.known(r.tenant, a.Record)
		}
		return a.Body, fmt.Sprint(a.Record.ID), a.Replayed, err
	case opChange:
		var a Answer[record.PhoneNumber]
		a, err = p.Numbers.Update(asKey(c), c, w, UpdateNumber{ID: r.number, Name: &r.label})
		return a.Body, fmt.Sprint(r.number), a.Replayed, err
	default:
		var a Answer[struct{}]
		a, err = p.Numbers.Release(asKey(c), c, w, r.number)
		return a.Body, fmt.Sprint(r.number), a.Replayed, err
	}
}

// known records a number that a caller was told of.
func (d *drill) known(tenant int, n record.PhoneNumber) {
	if _, there := d.lines[n.ID]; !there {
		d.lines[n.ID] = &heldNumber{tenant: tenant, e164: n.E164, state: sure, name: n.Name}
	}
}

// ask sends a request and checks the answer against what the caller may rely on.
func (d *drill) ask(r *request, at int, faults func(string) reaction) {
	if r.key == "" && r.state == unsure {
		d.pass(13 * time.Second) // otherwise the call would wait for the dead run
	}
	switch d.age(r) {
	case edge:
		if r.key != "" {
			return
		}
		r.allowed++
		r.base, r.state, r.again = d.effects(r), unsure, true
	case over:
		if r.state == unsure { // recovery may have run it again
			r.allowed++
			r.base, r.from = d.effects(r), d.world.clock.now()
			if r.operation == opBuy {
				d.buys++
			}
		} else {
			r.state = untold
		}
		r.again = true
	}
	before, now := r.state, d.world.clock.now()
	if before == untold {
		r.base, r.from = d.effects(r), now
		r.allowed++
		if r.operation == opBuy {
			d.buys++
		}
	}
	d.note("process %d: %s, which is %s", at, r, [...]string{"new", "answered", "in doubt"}[before])
	nested := r.key != "" && before == untold && faults == nil && d.chance(4)
	var inside atomic.Bool
	d.script(func(call string) reaction {
		// A booking looks at the calendar before it begins: whoever is asked meanwhile is the first. An earlier
		// call's calendars may still be read anew behind it.
		began := call != "calendars" && (r.operation != opBook || call == "book")
		if nested && began && inside.CompareAndSwap(false, true) {
			d.note("it is asked twice at the same time, at the call %s", call)
			_, _, _, err := d.send(r, 1-at)
			d.wantRefused(err, fault.ReasonIdempotencyRunning)
			return reaction{}
		}
		if faults != nil && !inside.Load() {
			return faults(call)
		}
		return reaction{}
	})
	body, made, replayed, err := d.send(r, at)
	died := d.two[at].process.dead.Load()
	d.reap(at)
	switch {
	case died:
		d.unheard(r, before)
	case before == sure:
		d.counted["replayed"]++
		if err != nil || !replayed || string(body) != r.body {
			d.wrong("%s was answered %s, and now %s, replayed %v, %v", r, r.body, body, replayed, err)
		}
	case err == nil:
		if before == untold && replayed {
			d.wrong("%s is answered as if it were a repeat: %s", r, body)
		}
		d.answered(r, string(body), made, replayed)
	default:
		d.refused(r, before, fault.From(err), faults != nil)
	}
}

// unheard handles a call without an answer because the process died.
func (d *drill) unheard(r *request, before standing) {
	if before == sure {
		return
	}
	r.state, r.until = unsure, d.world.clock.now()
	d.blur(r)
}

// blur marks the state that the request may have changed as uncertain.
func (d *drill) blur(r *request) {
	switch r.operation {
	case opUpdate:
		d.meets[r.event].title = ""
		d.overtake(r)
	case opCancel:
		if m := d.meets[r.event]; m.state == sure {
			m.state = unsure
		}
	case opChange:
		d.lines[r.number].name = ""
	case opReleaseNumber:
		if l := d.lines[r.number]; l.state == sure {
			l.state = unsure
		}
	}
}

func (d *drill) answered(r *request, body, made string, replayed bool) {
	d.counted["answered"]++
	r.state, r.body, r.made, r.until = sure, body, made, d.world.clock.now()
	switch r.operation {
	case opBook:
		if m := d.meets[made]; m == nil {
			d.meets[made] = &meet{tenant: r.tenant, state: sure}
		} else if r.key == "" {
			m.state = sure // the caller is told now that it stands, whatever the outcome of a cancellation
		}
	case opUpdate:
		if !replayed { // a replayed change was made some time after the first request
			d.meets[r.event].title = r.label
			d.overtake(r)
		}
	case opCancel:
		d.meets[r.event].state = untold
	case opChange:
		if !replayed {
			d.lines[r.number].name = r.label
		}
	case opReleaseNumber:
		d.lines[r.number].state = untold
	}
	if n := d.effects(r); (r.operation == opBook || r.operation == opCreate) && n == 0 {
		d.wrong("%s is said to be done and is not", r)
	}
}

// overtake allows one more effect for each uncertain change of the same meeting: the title was another one
// meanwhile, so a repeat sets it again.
func (d *drill) overtake(newer *request) {
	for _, r := range d.asked {
		if r != newer && r.operation == opUpdate && r.event == newer.event && r.state == unsure {
			r.allowed++
		}
	}
}

// refused handles a call that failed or whose outcome is unknown.
func (d *drill) refused(r *request, before standing, f *fault.Error, faults bool) {
	d.note("  %s", f.Reason)
	d.counted[f.Reason]++
	unknown := f.Code == fault.UnknownOutcome || f.Metadata["outcome"] == "unknown" ||
		f.Metadata[metaNumber] != ""
	switch {
	case f.Reason == fault.ReasonIdempotencyRunning && before == unsure:
		if f.RetryAfter <= 0 {
			d.wrong("%s is running, and it is not said when to ask again", r)
		}
		r.until = d.world.clock.now()
	case unknown && (faults || before == unsure || f.Reason == fault.ReasonOrderPending):
		r.state, r.until = unsure, d.world.clock.now()
		d.blur(r)
	case unknown:
		d.wrong("%s is said to be unknown for no reason: %v", r, f)
	case before == untold && !faults && !d.excused(r, f):
		d.wrong("%s fails for no reason: %v", r, f)
	case f.Reason == fault.ReasonIdempotencyReused, f.Reason == fault.ReasonIdempotencyRunning,
		f.Code == fault.Internal:
		d.wrong("%s is refused: %v", r, f)
	default: // the error says that nothing was done
		// The outcome of a change to a meeting that was cancelled since can no longer be found out.
		gone := r.operation == opUpdate && d.meets[r.event].state != sure
		if n := d.effects(r); n > r.base && !gone && !d.excused(r, f) {
			d.wrong("%s is said to have failed (%v), and had %d effects", r, f, n-r.base)
		}
		r.state = untold
	}
}

// excused reports whether a failure is legitimate: the subject of a change may be gone, and a slot may be
// taken by the meeting of an earlier equal request.
func (d *drill) excused(r *request, f *fault.Error) bool {
	switch r.operation {
	case opBook:
		return r.again && f.Reason == fault.ReasonSlotTaken
	case opUpdate, opCancel:
		return d.meets[r.event].state != sure && f.Code == fault.NotFound
	case opChange, opReleaseNumber:
		return d.lines[r.number].state != sure && f.Code == fault.NotFound
	}
	return false
}
