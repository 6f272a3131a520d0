package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
	"frontdesk/core/service"
	"frontdesk/core/telemetry"
)

const (
	headerTimeout     = "X-Request-Timeout-Ms"
	headerIdempotency = "Idempotency-Key"
	headerReplayed    = "Idempotency-Replayed"
)

const answerWithin = 5 * time.Second // for a caller to read its answer

// serve returns the way of every request for an operation: a deadline, a caller and what is left of its
// quota, a body, a place, the use case, the answer. Who sends a body slowly, or never, has no place yet.
func (a *api) serve(op operation) gin.HandlerFunc {
	on, refusal := op.surface(), a.refusal(op)
	return func(c *gin.Context) {
		x := exchangeOf(c)
		x.operation, x.kind = op.ID, op.Kind
		checks := newChecks(on, a.legacy)
		ctx, cancel := a.withDeadline(c.Request, checks)
		defer cancel()
		in, err := a.admit(c, op, x, checks, ctx)
		if err != nil {
			a.fail(c, asDeadline(ctx, err))
			return
		}
		if !a.gate.enter(a.now(), in.caller.Tenant.ID, op.writes) {
			a.refuse(c, x, refusal)
			return
		}
		defer a.gate.leave(in.caller.Tenant.ID, op.writes)

		answer, err := op.serve(in)
		if checks.deprecated {
			for name := range a.deprecation {
				c.Header(name, a.deprecation.Get(name))
			}
		}
		if err != nil {
			a.fail(c, asDeadline(ctx, err))
			return
		}
		write(c, op, answer)
	}
}

// admit authenticates before it reads anything of the body: a stranger costs a hash, and no memory.
func (a *api) admit(
	c *gin.Context, op operation, x *exchange, checks *checks, ctx context.Context,
) (*call, error) {
	arrives, cancel := context.WithTimeout(ctx, bodyWithin) // or sooner, when the caller has less time
	defer cancel()
	end, _ := arrives.Deadline()
	if err := readUntil(c, end); err != nil {
		return nil, err
	}
	caller, err := a.authenticate(ctx, c.Request.Header)
	if err != nil {
		c.Header("WWW-Authenticate", challenge(err))
		return nil, err
	}
	x.identity = []slog.Attr{telemetry.Tenant(caller.Tenant.Name), slog.String("key", caller.KeyID)}
	if connection, connected := caller.Connections[op.Kind]; connected {
		x.identity = append(x.identity, telemetry.Connection(connection.ID),
			telemetry.Provider(connection.Provider))
	}
	ctx = telemetry.With(ctx, append(x.identity, telemetry.Operation(op.ID))...)
	if err := a.rates.admit(caller, a.now(), c.Writer.Header()); err != nil {
		return nil, err
	}
	if err := caller.Require(op.Scope); err != nil {
		c.Header("WWW-Authenticate", scopeChallenge(op.Scope))
		return nil, err
	}
	in := &call{ctx: ctx, caller: caller, path: c.Param, checks: checks}
	if op.writes {
		in.write = service.Write{
			IdempotencyKey: checks.idempotencyKey(c.Request.Header), Aside: a.aside(caller.Tenant.ID),
		}
	}
	in.body, err = a.body(c, ctx, op, caller.Tenant.ID)
	return in, err
}

// body reads the body, also of operations that take none: what is not read here, the server would wait for
// before it answers. Those that are being read are bounded, since each takes memory and a connection.
func (a *api) body(c *gin.Context, ctx context.Context, op operation, tenant string) ([]byte, error) {
	if !a.bodies.take(tenant) {
		c.Header("Connection", "close") // or the server would wait for what is refused
		return nil, fault.New(fault.Unavailable, fault.ReasonOverloaded,
			"Too many request bodies are arriving at the same time. Send each body at once.")
	}
	defer a.bodies.give(tenant)
	body, err := readBody(ctx, c.Request, op.takesBody())
	if err != nil {
		return nil, err
	}
	// From here on a read deadline would only make the server believe that the caller left.
	return body, readUntil(c, time.Time{})
}

// readUntil sets the end of the time in which the rest of a request is read, whoever reads it. It is none of
// a request that has come as a whole: the server notices by reading on whether the caller leaves.
func readUntil(c *gin.Context, end time.Time) error {
	if c.Request.ContentLength == 0 {
		return nil
	}
	err := http.NewResponseController(c.Writer).SetReadDeadline(end)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// aside lets a write wait for an equal one without its place: those that wait have bounds of their own.
func (a *api) aside(tenant string) func(wait func() error) error {
	return func(wait func() error) error {
		if !a.waiting.take(tenant) {
			return fault.New(fault.Unavailable, fault.ReasonOverloaded,
				"Too many equal requests are waiting for the answer to the first one.")
		}
		defer a.waiting.give(tenant)
		a.gate.leave(tenant, true)
		defer func() { a.gate.back(a.now(), tenant, true) }()
		return wait()
	}
}

// withDeadline bounds the request. A caller may ask for less time than the gateway gives, never for more.
func (a *api) withDeadline(r *http.Request, checks *checks) (context.Context, context.CancelFunc) {
	limit := a.deadline
	if given := r.Header.Values(headerTimeout); len(given) > 0 {
		asked, err := strconv.ParseInt(given[0], 10, 64)
		switch {
		case err != nil || asked <= 0 || len(given) > 1:
			checks.remember(prefixOfHeader+headerTimeout, quote(given[0]))
			checks.fail(prefixOfHeader+headerTimeout, "must be a positive number of milliseconds")
		case asked < limit.Milliseconds():
			limit = time.Duration(asked) * time.Millisecond
		}
	}
	return context.WithTimeout(r.Context(), limit)
}

// idempotencyKey reads the caller's key. An empty one is refused: who sends it believes to be safe from
// repeats.
func (c *checks) idempotencyKey(h http.Header) string {
	given := h.Values(headerIdempotency)
	if len(given) == 0 {
		return ""
	}
	if len(given) > 1 || !printable(given[0], maxIdempotencyKeyBytes) {
		c.fail(prefixOfHeader+headerIdempotency, "must be one key of 1 to 255 printable ASCII characters")
		return ""
	}
	return given[0]
}

// asDeadline distinguishes a deadline of ours that passed from a caller who left. Both reach a use case as
// the end of its context, and code below may have seen either first.
func asDeadline(ctx context.Context, err error) error {
	if !errors.Is(err, fault.Canceled) && !errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.From(context.DeadlineExceeded).Because(err)
	}
	return err
}

// write sends an answer that succeeded, byte for byte as the use case gave it.
func write(c *gin.Context, op operation, answer reply) {
	h := c.Writer.Header()
	if answer.replayed {
		h.Set(headerReplayed, "true")
	}
	if answer.location != "" {
		h.Set("Location", answer.location)
	}
	if op.response == nil {
		c.Status(op.Success)
		c.Writer.WriteHeaderNow()
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(answer.body)))
	// A caller who does not read holds its place and the answer for no longer; where no deadline can be set,
	// nobody waits.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(answerWithin))
	c.Status(op.Success)
	_, _ = c.Writer.Write(answer.body) // a caller who left reads no complaint either
}
