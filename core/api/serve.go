package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fair"
	"frontdesk/core/fault"
	"frontdesk/core/requestlog"
	"frontdesk/core/service"
	"frontdesk/core/telemetry"
)

const (
	headerTimeout     = "X-Request-Timeout-Ms"
	headerIdempotency = "Idempotency-Key"
	headerReplayed    = "Idempotency-Replayed"
)

const answerWithin = 5 * time.Second // for a caller to read the response

// serve returns the handler of an operation. It sets the deadline, authenticates the caller, checks the
// quota, reads the body, enters the gate, runs the use case and writes the response. A request enters the
// gate only after its body was read, so that slow senders take no place.
func (a *api) serve(op operation) gin.HandlerFunc {
	on, refusals := op.surface(), &refusals{api: a, op: op}
	return func(c *gin.Context) {
		x := exchangeOf(c)
		x.operation, x.kind = op.ID, op.Kind
		checks := newChecks(on, a.legacy)
		ctx, cancel := a.withDeadline(c.Request, checks)
		defer cancel()
		in, err := a.admit(c, op, x, checks, ctx)
		if err == nil && !a.gate.enter(a.now(), in.caller.Tenant.ID, op.writes) {
			x.refused, err = true, errOverloaded
		}
		switch {
		case x.refused:
			a.refuse(c, x, refusals.of(fault.From(err)), err)
			return
		case err != nil:
			a.fail(c, asDeadline(ctx, err))
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
		if x.kept != nil {
			x.kept.Replayed = answer.replayed
		}
		write(c, op, answer)
	}
}

// admit authenticates the caller before it reads the body, so that a stranger costs a hash but no memory.
func (a *api) admit(
	c *gin.Context, op operation, x *exchange, checks *checks, ctx context.Context,
) (*call, error) {
	if err := readFromNow(ctx, c.Writer, c.Request); err != nil {
		return nil, err
	}
	caller, err := a.authenticate(ctx, c.Request.Header)
	if err != nil {
		x.refused = errors.Is(err, apikey.ErrKey)
		x.tellFormer(err)
		c.Header("WWW-Authenticate", challenge(err))
		return nil, err
	}
	x.whose = caller.Tenant.ID
	ctx = a.trace(ctx, c, x, caller.Tenant.ID)
	x.identity = append(make([]slog.Attr, 0, 5), // with the operation below
		telemetry.Tenant(caller.Tenant.Name), slog.String("key", caller.KeyID))
	if connection, connected := caller.Connections[op.Kind]; connected {
		x.identity = append(x.identity, telemetry.Connection(connection.ID),
			telemetry.Provider(connection.Provider))
	}
	ctx = fair.For(ctx, caller.Tenant.ID)
	if a.requests != nil && op.Kind != "" { // what the admin interface does is in the audit
		ctx, x.trail = telemetry.WithTrail(ctx, time.Now())
		x.kept = &requestlog.Entry{
			TenantID: caller.Tenant.ID, RequestID: x.id, KeyID: caller.KeyID, Operation: op.ID,
			ConnectionID: caller.Connections[op.Kind].ID,
		}
	}
	if err := a.rates.admit(ctx, caller, a.now(), c.Writer.Header()); err != nil {
		x.refused = true
		return nil, err
	}
	ctx = telemetry.With(ctx, append(x.identity, telemetry.Operation(op.ID))...)
	if op.writes || op.Kind == "" { // what a list finds in an account is the gateway's doing
		ctx = audit.By(ctx, actorOf(ctx, caller))
	}
	if err := caller.Require(op.Scope); err != nil {
		c.Header("WWW-Authenticate", scopeChallenge(op.Scope))
		return nil, err
	}
	in := &call{ctx: ctx, caller: caller, path: c.Param, query: c.Request.URL.RawQuery, checks: checks}
	if op.writes {
		in.write = service.Write{
			IdempotencyKey: checks.idempotencyKey(c.Request.Header), Aside: a.aside(caller.Tenant.ID),
		}
		if x.kept != nil {
			x.kept.IdempotencyKey = in.write.IdempotencyKey
		}
	}
	in.body, err = a.body(c, ctx, op, caller.Tenant.ID)
	return in, err
}

// body reads the body, even for operations that take none: the server would otherwise wait for it before it
// responds. The number of bodies being read is bounded, since each takes memory and a connection.
func (a *api) body(c *gin.Context, ctx context.Context, op operation, tenant string) ([]byte, error) {
	if !a.bodies.Take(tenant, 1) {
		exchangeOf(c).refused = true
		c.Header("Connection", "close") // otherwise the server would wait for the refused body
		return nil, fault.New(fault.Unavailable, fault.ReasonOverloaded,
			"Too many request bodies are arriving at the same time. Send each body at once.")
	}
	defer a.bodies.Give(tenant, 1)
	if err := readFromNow(ctx, c.Writer, c.Request); err != nil { // the store may have taken long to tell who calls
		return nil, err
	}
	body, err := readBody(ctx, c.Request, op.takesBody())
	if err != nil {
		return nil, err
	}
	// From here on, a read deadline would only make the server believe that the caller disconnected.
	return body, readUntil(c.Writer, c.Request, time.Time{})
}

// readFromNow gives the rest of a request its time to arrive, but not more than ctx has.
func readFromNow(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	end := time.Now().Add(bodyWithin)
	if deadline, has := ctx.Deadline(); has && deadline.Before(end) {
		end = deadline
	}
	return readUntil(w, r, end)
}

// readUntil sets the deadline for reading the rest of a request, in this package or in net/http. It sets none
// for a request without a body: the server continues to read in order to notice a disconnect.
func readUntil(w http.ResponseWriter, r *http.Request, end time.Time) error {
	if r.ContentLength == 0 {
		return nil
	}
	err := http.NewResponseController(w).SetReadDeadline(end)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// aside returns a function that lets a write leave the gate while it waits for an equal one. Waiting writes
// have their own bound.
func (a *api) aside(tenant string) func(wait func() error) error {
	return func(wait func() error) error {
		if !a.waiting.Take(tenant, 1) {
			return fault.New(fault.Unavailable, fault.ReasonOverloaded,
				"Too many equal requests are waiting for the answer to the first one.")
		}
		defer a.waiting.Give(tenant, 1)
		a.gate.leave(tenant, true)
		defer func() { a.gate.back(a.now(), tenant, true) }()
		return wait()
	}
}

// withDeadline sets the request's deadline. A caller may shorten the gateway's deadline, but not extend it.
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

// idempotencyKey returns the caller's idempotency key, or "" if there is none. An empty key is refused, since
// its sender expects to be protected from repeats.
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

// asDeadline converts a cancellation into a timeout if it was the request's deadline that passed, not the
// caller that disconnected. Both end the context of a use case, and code below may have seen either first.
func asDeadline(ctx context.Context, err error) error {
	if !errors.Is(err, fault.Canceled) && !errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.From(context.DeadlineExceeded).Because(err)
	}
	return err
}

// write sends the response of a successful operation. The body is exactly that of the use case.
func write(c *gin.Context, op operation, answer reply) {
	h := c.Writer.Header()
	if answer.replayed {
		h.Set(headerReplayed, "true")
	}
	if answer.location != "" {
		h.Set("Location", answer.location)
	}
	if op.response == nil {
		c.Status(op.success())
		c.Writer.WriteHeaderNow()
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(answer.body)))
	// This bounds how long a caller who does not read holds a place and memory. A ResponseWriter without
	// deadlines does not block.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(answerWithin))
	c.Status(op.success())
	_, _ = c.Writer.Write(answer.body) // the caller may have disconnected
}
