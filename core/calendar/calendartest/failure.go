package calendartest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/fault"
)

func failureChecks() []Check {
	return []Check{
		{Name: "refused credentials are a disconnected fault of every call", Bound: can[Revoker],
			Do: with(everyCallFails(func(p any) { p.(Revoker).Revoke() }, fault.Disconnected))},
		{Name: "a lack of permission is a forbidden fault of every call", Bound: can[Forbidder],
			Do: with(everyCallFails(func(p any) { p.(Forbidder).Forbid() }, fault.Forbidden))},
		{Name: "a provider that is down is an unavailable fault of every call", Bound: can[Stopper],
			Do: with(everyCallFails(func(p any) { p.(Stopper).Stop() }, fault.Unavailable))},
		{Name: "too many calls are a rate-limited fault of every call", Bound: can[Limiter],
			Do: with(everyCallFails(func(p any) { p.(Limiter).Limit(time.Second) }, fault.RateLimited))},
		{Name: "the wait that the provider names is told", Bound: can[Limiter], Do: with(waitIsTold)},
		{Name: "a lost reply is not called unsent", Bound: both(writes, can[ReplyDropper]), Do: with(lostReplyWasSent)},
		{Name: "booking again after a lost reply finds the event",
			Bound: both(idempotent, can[ReplyDropper]), Do: with(lostReplyIsFound)},
	}
}

func everyCallFails(strike func(provider any), code fault.Code) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error {
		ref, err := r.subject(ctx)
		if err != nil {
			return err
		}
		strike(r.Provider)
		for _, c := range r.calls(ref) {
			if err := conformance.WantFault(c.name, c.do(ctx), code, ""); err != nil {
				return err
			}
		}
		return nil
	}
}

func waitIsTold(ctx context.Context, r *run) error {
	named := r.Provider.(Limiter).Limit(20 * time.Second)
	_, err := r.driver.Calendars(ctx)
	if err := conformance.WantFault("Calendars", err, fault.RateLimited, ""); err != nil {
		return err
	}
	// A wait may be told as a date of whole seconds (RFC 9110 section 10.2.3).
	if told := fault.From(err).RetryAfter; told < named-2*time.Second || told > named {
		return fmt.Errorf("RetryAfter is %s, the provider named %s", told, named)
	}
	return nil
}

// mayHaveActed answers nil when err admits that the provider may have done what was asked.
func mayHaveActed(err error) error {
	f := fault.From(err)
	switch {
	case err == nil:
		return errors.New("Book succeeded though the reply was lost")
	case f.Unsent:
		return fmt.Errorf("Book failed with %w, as if the request had never been sent", err)
	case f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.UnknownOutcome:
		return fmt.Errorf("Book failed with %w, want an outage, a timeout or an unknown outcome", err)
	}
	return nil
}

func lostReplyWasSent(ctx context.Context, r *run) error {
	b := r.booking("Its reply was lost", 0)
	r.Provider.(ReplyDropper).DropNextReply()
	_, err := r.driver.Book(ctx, b)
	if listed, err := r.listTitled(ctx, r.query(0, 0), b.Title); err == nil {
		for _, e := range listed {
			r.booked = append(r.booked, refOf(e))
		}
	}
	return mayHaveActed(err)
}

func lostReplyIsFound(ctx context.Context, r *run) error {
	b := r.booking("Found again", 0)
	b.Attendees = guests(1)
	r.Provider.(ReplyDropper).DropNextReply()
	_, err := r.driver.Book(ctx, b)
	if err := mayHaveActed(err); err != nil {
		return err
	}
	r.driver = r.Open()
	again, err := r.book(ctx, b)
	if err != nil {
		return err
	}
	err = errors.Join(wantSpan("Book again", again, b.Start, b.End), wantList("invited", invited(again), b.Attendees...))
	if err != nil {
		return err
	}
	return r.seen(ctx, func() error {
		listed, err := r.listTitled(ctx, r.query(0, 0), b.Title)
		return errors.Join(err, wantIDs("listed", listed, again))
	})
}
