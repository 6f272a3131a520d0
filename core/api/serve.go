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

// serve is the way of every request for an operation: a place, a deadline, a caller and what is left of its quota, a
// body, the use case, the answer.
func (a *api) serve(op operation) gin.HandlerFunc {
	on, refusal := op.surface(), a.refusal(op)
	return func(c *gin.Context) {
		x := exchangeOf(c)
		x.operation, x.kind = op.ID, op.Kind
		if !a.gate.enter(a.now(), op.writes) {
			a.refuse(c, x, refusal)
			return
		}
		defer a.gate.leave(op.writes)

		checks := newChecks(on, a.legacy)
		ctx, cancel := a.withDeadline(c.Request, checks)
		defer cancel()
		answer, err := a.run(c, op, x, checks, ctx)
		if checks.deprecated {
			for name := range a.deprecation {
				c.Header(name, a.deprecation.Get(name))
			}
		}
		if err != nil {
			a.fail(c, ended(ctx, err))
			return
		}
		write(c, op, answer)
	}
}

// run authenticates before it reads anything of the body: a stranger costs a hash, not a megabyte.
func (a *api) run(c *gin.Context, op operation, x *exchange, checks *checks, ctx context.Context) (reply, error) {
	caller, err := a.authenticate(ctx, c.Request.Header)
	if err != nil {
		c.Header("WWW-Authenticate", challenge(err))
		return reply{}, err
	}
	x.identity = []slog.Attr{telemetry.Tenant(caller.Tenant.Name), slog.String("key", caller.KeyID)}
	if connection, connected := caller.Connections[op.Kind]; connected {
		x.identity = append(x.identity, telemetry.Connection(connection.ID), telemetry.Provider(connection.Provider))
	}
	ctx = telemetry.With(ctx, append(x.identity, telemetry.Operation(op.ID))...)
	if err := a.rates.admit(caller, a.now(), c.Writer.Header()); err != nil {
		return reply{}, err
	}
	if err := caller.Require(op.Scope); err != nil {
		c.Header("WWW-Authenticate", scopeChallenge(op.Scope))
		return reply{}, err
	}
	in := &call{ctx: ctx, caller: caller, path: c.Param, checks: checks}
	if op.writes {
		in.write = service.Write{IdempotencyKey: checks.idempotencyKey(c.Request.Header)}
	}
	if op.takesBody() {
		if in.body, err = a.body(c, ctx); err != nil {
			return reply{}, err
		}
	}
	return op.serve(in)
}

// body reads the body within the deadline: a body that trickles holds a place that others need.
func (a *api) body(c *gin.Context, ctx context.Context) ([]byte, error) {
	control := http.NewResponseController(c.Writer)
	if deadline, ok := ctx.Deadline(); ok {
		if err := control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, err
		}
	}
	body, err := readBody(c.Request)
	if err != nil {
		return nil, err
	}
	// From here on a read deadline would only make the server believe that the caller left.
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	if body == nil {
		body = []byte{}
	}
	return body, nil
}

// withDeadline bounds the request. A caller may ask for less time than the gateway gives, never for more.
func (a *api) withDeadline(r *http.Request, checks *checks) (context.Context, context.CancelFunc) {
	limit := a.deadline
	if given := r.Header.Values(headerTimeout); len(given) > 0 {
		asked, err := strconv.ParseInt(given[0], 10, 64)
		switch {
		case err != nil || asked <= 0 || len(given) > 1:
			checks.remember(prefixOfHeader+headerTimeout, quoted(given[0]))
			checks.fail(prefixOfHeader+headerTimeout, "must be a positive number of milliseconds")
		case asked < limit.Milliseconds():
			limit = time.Duration(asked) * time.Millisecond
		}
	}
	return context.WithTimeout(r.Context(), limit)
}

// idempotencyKey reads the caller's key. An empty one is refused: who sends it believes to be safe from repeats.
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

// ended tells a deadline of ours that passed from a caller who left: both reach a use case as the end of its context,
// and code below may have seen either first.
func ended(ctx context.Context, err error) error {
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
	c.Status(op.Success)
	_, _ = c.Writer.Write(answer.body) // a caller who left reads no complaint either
}
