package budget

import (
	"context"
	"errors"
	"time"
)

// pending is an ask that is under way.
type pending struct {
	hand *hand
	ask  ask
}

// lease asks the ledger whenever something is due, until nothing is in use any more or Close is called.
func (b *Budgets) lease() {
	for {
		asks, wait, over := b.next(time.Now())
		if over {
			return
		}
		if len(asks) > 0 {
			if b.settle(b.stopping, asks) {
				continue
			}
			wait = tryAgain
		}
		timer := time.NewTimer(wait)
		if len(asks) > 0 { // the ledger does not answer: nobody can hurry it
			select {
			case <-timer.C:
			case <-b.stopping.Done():
			}
		} else {
			select {
			case <-timer.C:
			case <-b.wake:
			case <-b.stopping.Done():
			}
		}
		timer.Stop()
	}
}

// next returns the asks that are due, or how long until one is.
func (b *Budgets) next(now time.Time) (asks []pending, wait time.Duration, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait = leaseFor
	for name, h := range b.hands {
		if h.idle(now) {
			delete(b.hands, name)
			continue
		}
		at := h.nextAsk()
		if !now.Before(at) && len(asks) < maxAtOnce {
			asks = append(asks, b.ask(h, now))
			continue
		}
		wait = min(wait, max(time.Millisecond, at.Sub(now)))
	}
	if b.closed || len(b.hands) == 0 {
		b.running = false
		if !b.away {
			b.first, b.replicas = false, 0 // there may be others by the next time
		}
		return nil, 0, true
	}
	if now.Sub(b.counted.asked) >= countEvery {
		b.counted.asked = now
		asks = append(asks, pending{b.counted, ask{
			replica: b.opts.Replica, limit: b.counted.limit, want: 1,
		}})
	}
	return asks, wait, false
}

// idle reports whether nothing of a hand is in use or held any more.
func (h *hand) idle(now time.Time) bool {
	return now.Sub(h.used) > idleFor && !h.asking && h.inUse == 0 && h.queue.Len() == 0 && h.spent == 0 &&
		(h.units == 0 || !now.Before(h.until)) && !h.asked.IsZero()
}

// nextAsk returns when the ledger is to be asked next.
func (h *hand) nextAsk() time.Time {
	switch {
	case !h.poll.IsZero():
		return h.poll
	case h.due:
		return h.asked
	}
	return h.asked.Add(renewAfter)
}

// ask begins an ask. The caller holds b.mu.
func (b *Budgets) ask(h *hand, now time.Time) pending {
	q := ask{replica: b.opts.Replica, limit: h.limit}
	if h.limit.Per > 0 {
		q.want, q.need = h.wantUnits(now)
		q.spent, h.spent = h.spent, 0
	} else {
		q.want, q.need, q.spare = b.wantPermits(h, now)
		q.inUse = h.inUse
	}
	h.due, h.asking, h.asked, h.poll = false, true, now, time.Time{}
	return pending{h, q}
}

var errPanicked = errors.New("asking the ledger panicked")

// settle asks the ledger, and reports whether it answered. If that panics, it did not.
func (b *Budgets) settle(ctx context.Context, asks []pending) bool {
	bounded, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	began := time.Now()
	grants := make([]grant, len(asks))
	names := make([]string, len(asks))
	for i, p := range asks {
		names[i] = p.ask.limit.Name
	}
	err := errPanicked
	defer func() { b.settled(ctx, asks, grants, began, err) }()
	err = b.opts.Ledger.SettleBudgets(bounded, names,
		func(now time.Time, rows []string) (after []string, until []time.Time) {
			after, until = make([]string, len(rows)), make([]time.Time, len(rows))
			for i, row := range rows {
				a := readAccount(row)
				grants[i] = a.settle(now, asks[i].ask)
				after[i], until[i] = a.String(), a.kept(asks[i].ask.limit)
			}
			return after, until
		})
	return err == nil
}

// settled records what became of asks that were sent at a time.
func (b *Budgets) settled(ctx context.Context, asks []pending, grants []grant, began time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if away := err != nil && ctx.Err() == nil; away != b.away {
		b.away = away
		if away {
			b.opts.Log.Warn("the store does not lease budgets; each replica uses an equal part of each limit",
				"replicas", b.replicas, "error", err)
		} else {
			b.opts.Log.Info("the store leases budgets again")
		}
	}
	for i, p := range asks {
		if err != nil {
			p.failed()
		} else {
			p.granted(grants[i], began)
		}
		if p.hand == b.counted && err == nil {
			if b.first {
				b.replicas = max(1, grants[i].replicas)
			}
			b.first = true
		}
		close(p.hand.answered)
		p.hand.answered = make(chan struct{})
		b.serve(p.hand)
	}
}

func (p pending) failed() {
	p.hand.asking = false
	p.hand.spent += p.ask.spent
	p.hand.due = true
}

// granted records an answer. The lease counts from the moment before the ask was sent, so that it ends here
// before it ends in the ledger.
func (p pending) granted(g grant, began time.Time) {
	h := p.hand
	h.asking, h.until, h.granted = false, began.Add(p.ask.limit.lease()), g.units
	if h.limit.Per > 0 {
		h.alone = nil // the row knows what was spent meanwhile
		h.units = max(0, g.units-h.spent)
		h.left = g.left
		h.dry = time.Time{}
		if g.units == 0 && p.ask.want > 0 {
			h.dry = time.Now().Add(g.dry)
		}
		return
	}
	h.units, h.waiting, h.owed = max(g.units, h.inUse), g.waiting, g.owed
	if h.queue.Len() > 0 && h.units <= h.inUse {
		h.poll = time.Now().Add(pollEvery)
	}
}

// giveBack gives back what is held when the process ends.
func (b *Budgets) giveBack() {
	b.mu.Lock()
	now := time.Now()
	var asks []pending
	for _, h := range b.hands {
		if b.opts.Ledger == nil || !now.Before(h.until) || len(asks) == maxAtOnce {
			continue
		}
		q := ask{replica: b.opts.Replica, limit: h.limit, spent: h.spent}
		h.spent = 0
		asks = append(asks, pending{h, q})
	}
	if len(asks) > 0 {
		asks = append(asks, pending{b.counted, ask{replica: b.opts.Replica, limit: b.counted.limit}})
	}
	b.mu.Unlock()
	if len(asks) > 0 {
		b.settle(context.Background(), asks)
	}
}
