package budget

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Take takes one unit of each rate if all have one, else none. It returns what is left of each, as far as this
// process knows. If there is nothing in hand, it waits for one answer of the ledger.
func (b *Budgets) Take(ctx context.Context, limits ...Limit) (taken bool, left []float64) {
	left = make([]float64, len(limits))
	wait, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	for {
		taken, empty := b.tryTake(limits, left, wait.Err() != nil)
		if taken || empty == nil {
			return taken, left
		}
		select {
		case <-empty:
		case <-wait.Done():
		}
	}
}

// tryTake is Take without waiting. empty is not nil if the ledger may have more by the time it is closed. late
// means that the ledger takes too long to be waited for.
func (b *Budgets) tryTake(limits []Limit, left []float64, late bool) (taken bool, empty <-chan struct{}) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	hands := make([]*hand, len(limits))
	refused, alone := false, late || b.away || b.closed || b.opts.Ledger == nil
	for i, l := range limits {
		h := b.hand(l, now)
		hands[i] = h
		left[i] = h.remaining(now)
		switch {
		case h.units > 0 && now.Before(h.until):
		case now.Before(h.dry):
			refused, left[i] = true, min(left[i], 0.99)
		case !alone:
			b.kick(h)
			empty = h.answered
		default:
			left[i] = h.byItself(b.replicas).TokensAt(now)
			refused = refused || left[i] < 1
		}
	}
	if refused || empty != nil {
		if refused {
			empty = nil
		}
		return false, empty
	}
	for i, h := range hands {
		if h.units > 0 && now.Before(h.until) {
			h.units--
		} else {
			h.byItself(b.replicas).AllowN(now, 1)
		}
		h.spent++
		left[i] = max(0, left[i]-1)
		if 2*h.units < h.granted {
			b.kick(h)
		}
	}
	return true, nil
}

// remaining returns what is left of a rate: what the row had when it was last read, less what was spent here
// since, more what came back.
func (h *hand) remaining(now time.Time) float64 {
	if h.asked.IsZero() {
		return float64(h.limit.Units)
	}
	back := now.Sub(h.asked).Seconds() * float64(h.limit.Units) / h.limit.Per.Seconds()
	return min(float64(h.limit.Units), max(float64(h.units), h.left-float64(h.spent)+back))
}

// byItself returns the limiter of an equal part of the rate.
func (h *hand) byItself(replicas int) *rate.Limiter {
	part := float64(h.limit.Units) / float64(max(1, replicas))
	if h.alone == nil {
		h.alone = rate.NewLimiter(rate.Limit(part/h.limit.Per.Seconds()), max(1, int(part)))
	}
	return h.alone
}

// wantUnits returns how many units of a rate to ask for, and how many of those in hand stay in use meanwhile.
// The caller holds b.mu.
func (h *hand) wantUnits(now time.Time) (want, need int) {
	aSecond := max(1, int(float64(h.limit.Units)*leaseFor.Seconds()/h.limit.Per.Seconds()))
	if h.due && now.Sub(h.asked) < renewAfter/2 { // what was granted did not last
		h.recent = max(h.recent, h.spent, h.granted)
	} else {
		h.recent = max(h.spent, h.recent/2)
	}
	want = min(h.limit.Units, max(2*h.recent, min(aSecond, 1+h.limit.Units/100)))
	if now.Sub(h.used) > idleFor {
		want = 0
	}
	if !now.Before(h.until) {
		h.units = 0 // the lease has lapsed
	}
	h.units = min(h.units, want)
	return want, h.units
}
