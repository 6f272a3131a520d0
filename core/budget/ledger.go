package budget

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// account is the state of one budget in its row.
//
// What is available is the limit, less what replicas hold under leases, less what was spent and has not come
// back yet. So the parts of all replicas never exceed the limit, whatever a replica does or fails to do.
type account struct {
	Spent   float64  `json:"spent,omitempty"` // of a rate, at the time At
	At      int64    `json:"at,omitempty"`    // of the last change, in milliseconds of the ledger's clock
	Holders []holder `json:"holders,omitempty"`
}

// holder is a replica's part of a budget.
type holder struct {
	Replica string `json:"replica"`
	Units   int    `json:"units"`
	Want    int    `json:"want"`
	Until   int64  `json:"until"` // the end of its lease
	Turn    int64  `json:"turn"`  // since when it waits, or has had its part
}

// ask is what a replica wants of a budget.
type ask struct {
	replica string
	limit   Limit
	spent   int // of a rate, since the last ask
	need    int // units in hand that it goes on using meanwhile
	inUse   int // of those: permits that are in use, which it cannot give back
	want    int // units that it wants to have, those included
	spare   int // units that it wants besides if nobody else wants them
}

// grant is the answer to an ask.
type grant struct {
	units    int           // for the time of a lease
	owed     int           // how many of the units others should have once they are not in use
	waiting  bool          // whether others want more than they have
	left     float64       // of a rate: what was not spent, whoever holds it
	dry      time.Duration // until something may be available
	replicas int           // holders of the budget
}

// settle answers an ask, and records the answer in the account.
func (a *account) settle(now time.Time, q ask) grant {
	ms := a.advance(now.UnixMilli(), q.limit)
	at := slices.IndexFunc(a.Holders, func(h holder) bool { return h.Replica == q.replica })
	if at < 0 {
		at = len(a.Holders)
		a.Holders = append(a.Holders, holder{Replica: q.replica, Turn: ms})
	}
	if q.limit.Per > 0 {
		a.Spent += float64(q.spent)
	}
	me := &a.Holders[at]
	// An ask that was long on its way may come when the lease is over and others have its units.
	need := max(q.inUse, min(q.need, me.Units))
	me.Want = max(q.want, need)
	whole := float64(q.limit.Units) - a.Spent
	free := whole
	for i, h := range a.Holders {
		if i != at {
			free -= float64(h.Units)
		}
	}
	fair, waiting := a.fair(at, int(math.Floor(whole)))
	due := fair
	if !waiting {
		due += q.spare
	}
	me.Units = max(need, min(me.Want+q.spare, int(math.Floor(max(0, free))), due))
	me.Until = ms + q.limit.held().Milliseconds()
	if waiting && me.Units > 0 && ms-me.Turn >= q.limit.lease().Milliseconds() {
		me.Turn = ms // its turn is over: those who wait longer come first
	}
	g := grant{units: me.Units, waiting: waiting, left: whole, replicas: len(a.Holders)}
	if waiting {
		g.owed = max(0, me.Units-fair)
	}
	if me.Units == 0 {
		g.dry = pollEvery
		if q.limit.Per > 0 && free < 1 && whole < 1 {
			g.dry = max(pollEvery, time.Duration((1-whole)*float64(q.limit.Per)/float64(q.limit.Units)))
		}
	}
	if me.Want == 0 && me.Units == 0 {
		a.Holders = slices.Delete(a.Holders, at, at+1)
	}
	return g
}

// advance brings the account up to a time, which it returns: a rate's units come back, and leases lapse. Whoever
// let a lease lapse may have spent its units of a rate. Permits come back, since the calls of a dead replica are
// over. The ledger may have read its clock and then waited for another replica, whose change is later: a little
// time back is none.
func (a *account) advance(ms int64, l Limit) int64 {
	if back := a.At - ms; back > 0 && back <= l.held().Milliseconds() {
		ms = a.At
	}
	longest := ms + l.held().Milliseconds()
	a.Holders = slices.DeleteFunc(a.Holders, func(h holder) bool {
		lapsed := h.Until <= ms || h.Until > longest // a clock that was ahead set the latter
		if lapsed && l.Per > 0 {
			a.Spent += float64(h.Units)
		}
		return lapsed
	})
	passed := ms - a.At
	a.At = ms
	if l.Per == 0 {
		return ms
	}
	if passed > 0 {
		a.Spent -= float64(passed) * float64(l.Units) / float64(l.Per.Milliseconds())
	}
	a.Spent = min(max(0, a.Spent), float64(2*l.Units)) // a limit that was lowered is soon in force
	return ms
}

// fair returns how many of whole units are due to a holder, and whether another one waits: it has less than is
// due to it, or nothing. Everybody gets what it wants as long as that is not more than an equal part (max-min
// fairness). What cannot be divided goes to those who have waited longest.
func (a *account) fair(of, whole int) (part int, waiting bool) {
	order := make([]int, len(a.Holders))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(a.Holders[i].Turn - a.Holders[j].Turn) })
	parts := make([]int, len(a.Holders))
	for left, open := max(0, whole), slices.Clone(order); left > 0 && len(open) > 0; {
		each := max(1, left/len(open))
		for _, i := range open {
			more := min(each, a.Holders[i].Want-parts[i], left)
			parts[i] += more
			left -= more
		}
		open = slices.DeleteFunc(open, func(i int) bool { return parts[i] >= a.Holders[i].Want })
	}
	for i, h := range a.Holders {
		waiting = waiting || i != of && (h.Units < parts[i] || h.Units == 0 && h.Want > 0)
	}
	return parts[of], waiting
}

// kept returns until when the account says something that a new one would not.
func (a *account) kept(l Limit) time.Time {
	until := a.At
	if l.Per > 0 {
		until += int64(a.Spent * float64(l.Per.Milliseconds()) / float64(l.Units))
	}
	for _, h := range a.Holders {
		until = max(until, h.Until)
	}
	return time.UnixMilli(until + l.Per.Milliseconds())
}

// readAccount reads a row. One that cannot be read begins anew: its leases are over within a second.
func readAccount(state string) account {
	var a account
	if json.Unmarshal([]byte(state), &a) != nil {
		return account{}
	}
	return a
}

func (a *account) String() string {
	text, err := json.Marshal(a)
	if err != nil {
		return "" // of numbers that JSON does not have, which do not come up
	}
	return string(text)
}
