package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

const (
	pollEvery   = time.Second
	roundLimit  = 5 * time.Second // for the queries of a round
	recordLimit = 4 * time.Second // for recording an attempt

	// leaseFor outlasts an attempt and its recording. A killed process's deliveries go on after it.
	leaseFor = 30 * time.Second

	atOnce           = 64 // attempts of this process
	atOncePerTenant  = 16
	atOncePerWebhook = 4

	firstWait = 5 * time.Second
	mostWait  = store.LongestDeliveryWait
	giveUp    = store.LongestDelivery
)

// Reasons of deliveries that were not attempted.
const (
	reasonDisabled   = "WEBHOOK_DISABLED"
	reasonUnreadable = store.ReasonRowUnreadable
)

// SenderOptions configure a [Sender]. AttemptTimeout and Metrics may be left out.
type SenderOptions struct {
	Store   *store.Store
	Vault   *vault.Vault
	Pool    *upstream.Pool
	Owner   string // names this process in leases
	Now     func() time.Time
	Log     *slog.Logger
	Metrics Metrics

	AttemptTimeout time.Duration // of one attempt; 0: 5 s
}

// Metrics measures what a Sender does.
type Metrics interface {
	Delivery(outcome string)          // outcome: delivered, retried or failed
	OldestDelivery(age time.Duration) // how long the oldest event has waited to be delivered
}

type noMetrics struct{}

func (noMetrics) Delivery(string)              {}
func (noMetrics) OldestDelivery(time.Duration) {}

// Sender sends what waits in the queues. Every replica has one; leases share the work. Create one with
// [NewSender].
type Sender struct {
	opts    SenderOptions
	poster  poster
	running sync.WaitGroup
	wake    chan struct{} // has an element if a round should begin at once

	last string // the webhook of the last attempt that a round began; the next round begins after it

	mu    sync.Mutex
	inUse map[string]int // places by what bounds them: "", a tenant, or a webhook
}

// NewSender returns a new Sender.
func NewSender(o SenderOptions) *Sender {
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return &Sender{
		opts: o, poster: newPoster(sealing.New(o.Vault), o.Pool, o.Now, cmp.Or(o.AttemptTimeout, AnswerWithin)),
		wake: make(chan struct{}, 1), inUse: map[string]int{},
	}
}

// Run sends until ctx ends, and then finishes the attempts that it has begun.
func (s *Sender) Run(ctx context.Context) {
	defer s.running.Wait()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err := s.round(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "events for webhooks could not be read; it will be tried again",
				"error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// round begins attempts for the queues that are due and for which there is room. It returns how many.
func (s *Sender) round(ctx context.Context) (begun int, err error) {
	asking, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	now := s.opts.Now()
	if oldest, err := s.opts.Store.OldestWaiting(asking); err == nil {
		age := time.Duration(0)
		if !oldest.IsZero() {
			age = max(0, now.Sub(oldest))
		}
		s.opts.Metrics.OldestDelivery(age)
	}
	due, err := s.opts.Store.DueQueues(asking, now, s.last, atOncePerWebhook, 2*atOnce)
	if err != nil {
		return 0, err
	}
	webhooks := map[string]store.Webhook{}
	for _, q := range due {
		w, known := webhooks[q.WebhookID]
		if !known {
			if w, err = s.opts.Store.Webhook(asking, q.WebhookID); err != nil {
				continue // removed meanwhile, or the next round reads it
			}
			webhooks[q.WebhookID] = w
		}
		if ctx.Err() != nil || !s.enter(w) {
			continue
		}
		begun++
		s.last = w.ID
		s.running.Go(func() {
			acknowledged := false
			_ = parallel.Try(ctx, s.opts.Log, func() error { // after a panic, the lease of the queue ends by its time
				acknowledged = s.attempt(context.WithoutCancel(ctx), w, q)
				return nil
			})
			s.leave(w)
			if acknowledged { // the next one of the queue need not wait for the tick
				s.wakeUp()
			}
		})
	}
	return begun, nil
}

func (s *Sender) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // a round will begin in any case
	}
}

// places returns what bounds the attempts of a webhook, and how many each allows at once.
func places(w store.Webhook) map[string]int {
	return map[string]int{"": atOnce, "tenant " + w.TenantID: atOncePerTenant,
		"webhook " + w.ID: atOncePerWebhook}
}

// enter takes a place for an attempt, and reports whether there was one.
func (s *Sender) enter(w store.Webhook) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, most := range places(w) {
		if s.inUse[what] >= most {
			return false
		}
	}
	for what := range places(w) {
		s.inUse[what]++
	}
	return true
}

func (s *Sender) leave(w store.Webhook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what := range places(w) {
		if s.inUse[what]--; s.inUse[what] == 0 {
			delete(s.inUse, what)
		}
	}
}

// attempt sends the first delivery of a queue, if no other process does, and records the outcome. It reports
// whether the queue can go on at once.
func (s *Sender) attempt(ctx context.Context, w store.Webhook, q store.QueueID) (ended bool) {
	owner, now := s.opts.Owner+"/"+rand.Text(), s.opts.Now()
	d, leased, err := s.opts.Store.LeaseQueue(ctx, q, owner, now, now.Add(leaseFor))
	if err != nil || !leased {
		return false
	}
	ctx, span := telemetry.StartWork(ctx, "deliver event")
	span.Delivery(d.Type, d.Attempts+1)
	var done Outcome
	var disable bool
	if parallel.Try(ctx, s.opts.Log, func() error { done, disable = s.send(ctx, w, d); return nil }) != nil {
		done = Outcome{Reason: fault.ReasonInternal} // sent or not, it counts: it would panic again with each lease
	}
	now = s.opts.Now()
	d.Status, d.Reason = done.Status, done.Reason
	next, outcome := now, "delivered"
	switch {
	case done.Acknowledged():
		d.State, d.EndedAt = store.DeliveryDelivered, now
	case disable || !now.Before(d.QueuedAt.Add(giveUp)):
		outcome = "failed"
		d.State, d.EndedAt = store.DeliveryFailed, now
	default:
		outcome = "retried"
		// The last attempt comes when the day is over.
		next = now.Add(min(pauseFor(d.Attempts+1, done.after), d.QueuedAt.Add(giveUp).Sub(now)))
	}
	span.End(outcome, done.Reason)
	if err := s.record(ctx, d, owner, next); err != nil {
		s.opts.Log.WarnContext(ctx, "an attempt to deliver an event could not be recorded; it will be made again",
			"webhook", w.ID, "delivery", d.ID, "error", err)
		return false
	}
	s.opts.Metrics.Delivery(outcome)
	if outcome == "failed" {
		s.opts.Log.WarnContext(ctx, "an event could not be delivered, and is given up", "webhook", w.ID,
			"delivery", d.ID, "type", d.Type, "attempts", d.Attempts+1, "reason", d.Reason)
	}
	return outcome != "retried"
}

// send sends a delivery, unless that is impossible. It also reports whether to give the delivery up at once.
func (s *Sender) send(ctx context.Context, w store.Webhook, d store.Delivery) (done Outcome, disable bool) {
	switch {
	case !w.DisabledAt.IsZero():
		return Outcome{Reason: reasonDisabled}, true
	case d.Unreadable != nil: // for good, or until the key set can be read again
		return Outcome{Reason: reasonUnreadable}, !vault.IsAway(d.Unreadable)
	}
	done = s.poster.post(ctx, w, d.ID, d.Payload)
	if done.Status != http.StatusGone { // by which a receiver asks for no more events
		return done, false
	}
	if err := s.opts.Store.DisableWebhook(ctx, w.ID, s.opts.Now()); err != nil {
		return done, false // the next attempt asks again
	}
	s.opts.Log.WarnContext(ctx, "a webhook is disabled, because its receiver answered 410", "webhook", w.ID)
	return done, true
}

// record records an attempt. What was sent may not go unrecorded because the store was busy.
func (s *Sender) record(ctx context.Context, d store.Delivery, owner string, next time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	return s.opts.Store.EndAttempt(ctx, d, owner, next)
}

// pauseFor returns how long to wait after a number of failed attempts: twice as long each time, from half of that
// to all of it, so that the deliveries of many connections spread. It is longer if the receiver asks for that, but
// no longer than the longest wait.
func pauseFor(attempts int, asked time.Duration) time.Duration {
	most := min(mostWait, firstWait<<min(attempts-1, 16))
	return max(most/2+mathrand.N(most/2), min(asked, mostWait))
}
