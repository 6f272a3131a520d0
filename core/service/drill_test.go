package service

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/guard"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// drill is one sequence of calls, faults, deaths and waits, generated from a seed. Two tenants call two
// processes with the same few keys for every operation; ask defines what they may rely on. Drills share
// worlds, since creating a database takes longer than a drill.
type drill struct {
	t       *testing.T
	seed    uint64
	dice    *rand.Rand
	world   *world
	callers [2]apikey.Caller
	two     *[2]*trap
	deadly  bool // processes die more often; otherwise providers fail in every way as well
	window  time.Duration

	asked   map[string]*request
	labels  int
	meets   map[string]*meet      // by event id
	lines   map[int64]*heldNumber // by number id
	buys    int                   // numbers that may have been bought
	kills   map[string]int        // by point
	counted map[string]int        // answers by kind
	trace   []string
}

// request is a request that one tenant sends under one key, or sends unchanged again and again without a key.
type request struct {
	tenant    int
	operation string
	key       string // "": none
	label     string // identifies its effect
	hour      int
	event     string // the event to change or cancel
	number    int64  // the number to change or release

	state standing
	body  string // as the caller got it
	made  string // event id or ticket number, as the caller got it

	from, until time.Time // bounds on when its stored intent began, as known from outside
	allowed     int       // effects allowed
	base        int       // effects before the current try
	again       bool      // an earlier one has expired
}

// standing is what the caller knows about a request.
type standing int

const (
	untold standing = iota // nothing happened
	sure                   // it was answered
	unsure                 // the caller was told that the outcome is unknown, or nothing
)

// meet is a meeting that a caller was told of, heldNumber a number.
type meet struct {
	tenant int
	state  standing // sure: it is there; unsure: it may be cancelled; untold: it is cancelled
	title  string   // "": a change is in doubt
}

type heldNumber struct {
	tenant int
	e164   string
	state  standing
	name   string
}

// drills runs seeded drills on a store, in several worlds.
func drills(t *testing.T, open func(testing.TB) string, runs int, deadly bool) {
	t.Helper()
	first := uint64(1)
	if seed, err := strconv.ParseUint(os.Getenv("FRONTDESK_SEED"), 10, 64); err == nil {
		first = seed
	}
	var mu sync.Mutex
	kills, counted := map[string]int{}, map[string]int{}
	t.Run("of", func(t *testing.T) {
		const worlds = 2
		for i := range worlds {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				var w *world
				var two [2]*trap
				for n := i; n < runs; n += worlds {
					if w == nil {
						w = newWorld(t, open)
						w.options = func(o *Options, _ *guard.Options) { o.WaitForEqual = pollInterval }
						for i := range two {
							two[i] = w.startWithTrap()
						}
					}
					d := newDrill(t, w, first+uint64(n), deadly)
					d.two = &two
					d.run()
					if t.Failed() {
						t.Fatalf("repeat it with FRONTDESK_SEED=%d and one run\n%s", d.seed, strings.Join(d.trace, "\n"))
					}
					mu.Lock()
					add(kills, d.kills)
					add(counted, d.counted)
					mu.Unlock()
				}
				for _, trap := range two {
					if trap != nil {
						w.bury(trap)
					}
				}
			})
		}
	})
	sum := 0
	for _, n := range kills {
		sum += n
	}
	t.Logf("%d drills, %d deaths at %d kinds of points: %v; answers: %v", runs, sum, len(kills), kills, counted)
}

func add(to, more map[string]int) {
	for k, n := range more {
		to[k] += n
	}
}

// size returns the number of runs of a test, from an environment variable or else standard.
func size(variable string, standard int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return standard
}

// TestEveryKeyHasOneEffect runs random sequences of every mutating operation. Calls come with and without
// keys, and are repeated with the same and with other bodies, while they run and after they ended, before and
// after their 72 hours. Meanwhile providers reject, are down, act and lose their responses, and processes
// die. FRONTDESK_SEQUENCES is the number of sequences on each store, FRONTDESK_SEED the first seed.
func TestEveryKeyHasOneEffect(t *testing.T) {
	t.Parallel()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) { drills(t, s.open, size("FRONTDESK_SEQUENCES", 2*s.runs), false) })
	}
}

// TestADeathAnywhereLosesAndDoublesNothing repeatedly kills processes at every point that they pass: before
// and after each call of a driver, and before and after each write in the store. Open calls are settled
// within 30 seconds. FRONTDESK_CRASHES is the number of sequences on each store, each with about four deaths,
// FRONTDESK_SEED the first seed.
func TestADeathAnywhereLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) { drills(t, s.open, size("FRONTDESK_CRASHES", s.runs), true) })
	}
}

var stores = []struct {
	name string
	open func(testing.TB) string
	runs int // default number of drills; SQLite is slow under the race detector
}{{"SQLite", storetest.ReusedSQLite, 12}, {"PostgreSQL", storetest.ReusedPostgres, 20}}

func newDrill(t *testing.T, w *world, seed uint64, deadly bool) *drill {
	d := &drill{
		t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 0)), world: w, deadly: deadly,
		asked: map[string]*request{}, meets: map[string]*meet{}, lines: map[int64]*heldNumber{},
		kills: map[string]int{}, counted: map[string]int{},
	}
	w.meetings, w.tickets, w.phones = newCalendarAccount(), newCRMAccount(), newPhoneAccount()
	w.meetings.traits.Conferencing = true
	w.meetings.traits.IdempotentBook = !d.chance(8)
	w.meetings.freeBusy = d.chance(2)
	w.meetings.traits.KeepsCancelled = d.chance(2)
	switch d.dice.IntN(4) {
	case 0:
		w.tickets.traits.IdempotentCreate = true
	case 1, 2:
		w.tickets.findsKeys = true
	default:
		w.tickets.findsIDs = d.chance(2)
	}
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	switch d.dice.IntN(4) {
	case 0: // like the sandbox
	case 1: // like Twilio
		w.phones.bare, w.phones.byNumber = true, true
	case 2: // like Telnyx
		looks := d.dice.IntN(2)
		if deadly { // a pending order is settled when the provider has filled it, not within 30 seconds
			looks = 0
		}
		w.phones.ordersTake(looks)
	case 3:
		w.phones.traits.IdempotentBuy = false
	}
	if d.chance(2) {
		d.window = 10 * time.Minute
	}
	for i := range d.callers {
		c := w.limited(w.tenant(fmt.Sprintf("s%d-%d", seed, i)), 1000, 1000)
		c.Tenant.Settings.PreventDoubleBooking = d.chance(2)
		window := tenant.Duration(d.window)
		c.Tenant.Settings.TicketDedupeWindow = &window
		if d.chance(2) {
			c = w.telephonySettings(c, map[string]any{"release_delay": "1h"})
		}
		d.callers[i] = w.with(c)
	}
	return d
}

// chance reports true one time in n.
func (d *drill) chance(n int) bool { return d.dice.IntN(n) == 0 }

func (d *drill) note(format string, args ...any) {
	d.trace = append(d.trace, d.world.clock.now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

func (d *drill) wrong(format string, args ...any) {
	d.t.Helper()
	d.note("WRONG: "+format, args...)
	d.t.Errorf(format, args...)
}

func (d *drill) run() {
	defer func() {
		for _, c := range d.callers {
			d.world.check(d.world.store.DeleteTenant(background, c.Tenant.ID))
			delete(d.world.tenants, c.Tenant.ID)
		}
	}()
	for range 10 + d.dice.IntN(6) {
		d.step()
		d.check()
		if d.t.Failed() {
			return
		}
	}
	d.end()
}

// step runs one random step of a drill.
func (d *drill) step() {
	d.world.clock.advance(time.Millisecond) // no two changes at the same time
	switch n := d.dice.IntN(20); {
	case n < 14:
		d.call()
	case n < 16:
		for range 1 + d.dice.IntN(8) {
			d.recover()
		}
	case n < 17:
		d.recover()
		d.world.clock.advance(time.Duration(d.dice.IntN(40)) * time.Second)
	case n < 18:
		d.pass(11 * time.Minute)
	case n < 19 && d.chance(2):
		d.pass(73 * time.Hour)
	default:
		d.die(d.dice.IntN(2))
	}
}

func (d *drill) pass(span time.Duration) {
	d.note("%v pass", span)
	d.world.clock.advance(span)
}

// recover makes one of the processes settle what is due, as each does every two seconds.
func (d *drill) recover() {
	d.world.clock.advance(recoveryInterval)
	i := d.dice.IntN(2)
	d.arm(i)
	d.script(nil)
	_ = d.two[i].process.recoverOnce()
	d.world.check(d.parkedGoBack(i))
	d.reap(i)
}

// parkedGoBack runs the other work in the background. It returns no error if the process dies meanwhile.
func (d *drill) parkedGoBack(i int) error {
	p := d.two[i].process
	if err := p.Numbers.returnDue(background); err != nil && !p.dead.Load() {
		return err
	}
	return nil
}

func (d *drill) die(i int) {
	d.note("process %d is restarted", i)
	d.world.bury(d.two[i])
	d.two[i] = d.world.startWithTrap()
}

// arm may make a process die at one of the points that it passes next.
func (d *drill) arm(i int) {
	if d.deadly && !d.chance(3) || d.chance(6) {
		d.two[i].arm(1+d.dice.IntN(4), d.chance(2), d.chance(2))
	}
}

// reap replaces a process that has died.
func (d *drill) reap(i int) (died bool) {
	d.two[i].disarm()
	d.script(nil)
	if !d.two[i].process.dead.Load() {
		return false
	}
	d.note("process %d died %s", i, d.two[i].died)
	d.kills[d.two[i].died]++
	d.die(i)
	return true
}

// script sets how the providers react. Each call goes through the trap of the process that makes it.
func (d *drill) script(then func(call string) reaction) {
	react := func(p *process, call string) reaction {
		for _, trap := range d.two {
			if trap.process != p {
				continue
			}
			if r := trap.call(call); r.before != nil || r.after != nil {
				return r
			}
		}
		if then != nil {
			return then(call)
		}
		return reaction{}
	}
	d.world.meetings.script(react)
	d.world.tickets.script(react)
	d.world.phones.script(react)
}

// faults returns random failures for the next calls of a provider.
func (d *drill) faults() func(call string) reaction {
	if d.deadly || d.chance(2) {
		return nil
	}
	kinds := []reaction{
		{}, {}, {},
		{before: fails(down())},
		{before: fails(answers503())}, {after: fails(answers503())},
		{before: fails(cutOff())}, {after: fails(cutOff())},
	}
	drawn := make([]reaction, 4)
	for i := range drawn {
		drawn[i] = kinds[d.dice.IntN(len(kinds))]
	}
	var calls atomic.Int64 // a booking asks for calendars and for what is busy at the same time
	return func(string) reaction {
		if i := int(calls.Add(1)) - 1; i < len(drawn) {
			return drawn[i]
		}
		return reaction{}
	}
}

// check checks what must be true after every step.
func (d *drill) check() {
	for _, r := range d.asked {
		if n := d.effects(r); n > r.allowed {
			d.wrong("%s had %d effects, %d allowed", r, n, r.allowed)
		}
	}
	if d.world.phones.bought > d.buys {
		d.wrong("%d numbers were bought, %d asked for", d.world.phones.bought, d.buys)
	}
	titles := map[string]string{}
	for _, e := range d.world.meetings.live() {
		titles[e.ID] = e.Title
	}
	for id, m := range d.meets {
		title, there := titles[id]
		switch {
		case m.state == sure && !there:
			d.wrong("the meeting %s was told to a caller, was not cancelled, and is not there", id)
		case m.state == untold && there:
			d.wrong("the meeting %s is said to be cancelled, and is there", id)
		case m.state == sure && m.title != "" && m.title != title:
			d.wrong("the meeting %s is called %q, and was changed to %q", id, title, m.title)
		}
	}
	held := map[string]telephony.Number{}
	for _, n := range d.world.phones.numbers() {
		held[n.E164] = n
	}
	for id, l := range d.lines {
		if n, there := held[l.e164]; l.state == sure && (!there || l.name != "" && n.Name != l.name) {
			d.wrong("number %d, %s, should be called %q; at the provider: %+v", id, l.e164, l.name, n)
		}
	}
}

// end lets everything be settled, repeats every request, and compares the results.
func (d *drill) end() {
	d.note("the end: all is well from now on")
	d.script(nil)
	p := d.two[0].process
	rounds, wait := 300, 20*time.Second
	if d.deadly {
		rounds, wait = 15, recoveryInterval // within 30 seconds
	}
	for range rounds {
		d.world.clock.advance(wait)
		p.recover(d.t)
		if d.open() == 0 {
			break
		}
	}
	if n := d.open(); n != 0 {
		d.wrong("%d intents are not settled", n)
	}
	d.check()
	for _, k := range slices.Sorted(maps.Keys(d.asked)) {
		r := d.asked[k]
		if r.key == "" && r.state != sure || d.age(r) != current {
			continue
		}
		for range 3 { // an order may take several tries
			d.ask(r, 0, nil)
			if r.state == sure || d.blind(r.operation) || d.t.Failed() {
				break
			}
			d.world.clock.advance(12 * time.Second)
		}
		if r.key != "" && r.state == unsure && !d.blind(r.operation) {
			d.wrong("%s stays in doubt", r)
		}
	}
	d.check()
	d.world.clock.advance(2 * time.Hour)
	d.world.check(p.Numbers.returnDue(background))
	p.Numbers.reconcileAll(background) // for purchases that no caller repeats and of which no intent is left
	d.compareNumbers()
	if held := d.world.phones; held.released > len(d.lines) {
		d.wrong("%d numbers were given back, of %d", held.released, len(d.lines))
	}
}

// open returns the number of open intents that can be settled and have no running process.
func (d *drill) open() (n int) {
	open, err := d.world.store.UnsettledIntents(background, d.world.clock.now().Add(time.Hour),
		d.world.clock.now(), 1000)
	d.world.check(err)
	for _, i := range open {
		if !d.blind(i.Operation) {
			d.note("open: %s %s, %s, since %s, lease %s", i.Operation, i.Plan, i.State,
				i.CreatedAt.Format(time.TimeOnly), i.LeaseUntil.Format(time.TimeOnly))
			n++
		}
	}
	return n
}

// blind reports whether the provider cannot report the outcome of a call.
func (d *drill) blind(operation string) bool {
	switch operation {
	case opBook:
		return !d.world.meetings.traits.IdempotentBook
	case opCreate:
		return !d.world.tickets.traits.IdempotentCreate && !d.world.tickets.findsKeys
	}
	return false
}

// compareNumbers compares the numbers of the account with the table, and both with what callers were told.
func (d *drill) compareNumbers() {
	listed := map[string]string{}
	for _, c := range d.callers {
		rows, err := d.world.store.TenantNumbers(background, c.Tenant.ID)
		d.world.check(err)
		for _, row := range rows {
			listed[row.E164] = row.Name
		}
	}
	for _, n := range d.world.phones.numbers() {
		if name, there := listed[n.E164]; !there || name != displayName(n.Name, n.E164) {
			d.wrong("the account holds %s called %q, the table %q (%v)", n.E164, n.Name, name, there)
		}
		delete(listed, n.E164)
	}
	if len(listed) > 0 {
		d.wrong("the table holds %v, the account does not", listed)
	}
	for id, l := range d.lines {
		if l.state != untold {
			continue
		}
		if slices.ContainsFunc(d.world.phones.numbers(),
			func(n telephony.Number) bool { return n.E164 == l.e164 }) {
			d.wrong("number %d was released, and the account holds %s", id, l.e164)
		}
	}
}
