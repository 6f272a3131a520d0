package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"frontdesk/core/apikey"
	"frontdesk/core/fair"
	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// Page is a page for people that another package serves. Its path and query may contain secrets, so the log
// shows the name of the operation instead.
type Page struct {
	Method    string
	Path      string // "/connect/{token}"; Serve reads the token with Request.PathValue
	Operation string // its name in the log
	// Serve responds to the request, even if it fails. Its error is logged; the caller sees the error only if
	// Serve wrote no response.
	Serve func(http.ResponseWriter, *http.Request) error
}

// mount registers a page for its method only: a page for GET does not serve HEAD.
func (a *api) mount(e *gin.Engine, p Page) {
	e.Handle(p.Method, ginPath(p.Path), func(c *gin.Context) {
		x := exchangeOf(c)
		x.operation = p.Operation
		setPathValues(c)
		a.answered(c, p.Serve(c.Writer, c.Request))
	})
}

func setPathValues(c *gin.Context) {
	for _, param := range c.Params {
		c.Request.SetPathValue(param.Key, param.Value)
	}
}

// Protocol is a path at which another package speaks a protocol of its own with callers who have an API key, or
// prove who they are in another way.
type Protocol struct {
	Path      string // "/alpha/agents/tools/{tool}"; Serve reads the tool with Request.PathValue
	Operation string // its name in the log
	// Identify returns who a request comes from, if it needs no API key, and whether that is only claimed: then Serve
	// has to see that it does before anything else. Without an id of a key, or with nil, a request needs an API key.
	Identify func(*http.Request) (caller apikey.Caller, claimed bool, err error)
	// Serve responds to a POST request of an authenticated caller, or of one that Identify returned. It reads the
	// body by [ReadBody]. Whether the caller may do what the request asks for is for the operations to decide.
	Serve func(http.ResponseWriter, *http.Request, apikey.Caller) error
}

// mountProtocol registers a protocol.
func (a *api) mountProtocol(e *gin.Engine, p Protocol) {
	e.POST(ginPath(p.Path), func(c *gin.Context) {
		x := exchangeOf(c)
		x.operation = p.Operation
		setPathValues(c)
		if err := readFromNow(c.Request.Context(), c.Writer, c.Request); err != nil {
			a.fail(c, err)
			return
		}
		caller, claimed, err := a.claimant(c.Request, p)
		if caller.KeyID != "" { // also of who has not proved to be it: the log tells whose secret is wrong
			x.identity = []slog.Attr{telemetry.Tenant(caller.Tenant.Name), slog.String("key", caller.KeyID)}
			x.whose, x.claimed = caller.Tenant.ID, claimed || err != nil
			if x.claimed {
				// Anybody can claim, and withhold the body: what they take is not what the tenant's own may have.
				x.whose = "claimed " + x.whose
			}
		}
		if err != nil {
			x.tellFormer(err)
			a.unauthenticated(c, err)
			return
		}
		c.Request = c.Request.WithContext(a.trace(c.Request.Context(), c, x, caller.Tenant.ID))
		taken := &room{of: a.bodies, whose: x.whose}
		if !taken.fits(0) {
			x.refused = true
			a.fail(c, errNoRoom)
			return
		}
		defer taken.leave()
		admit := func() (leave func(), err error) {
			err = a.rates.admit(c.Request.Context(), caller, a.now(), c.Writer.Header())
			if err == nil && !a.gate.enter(a.now(), caller.Tenant.ID, false) {
				err = errOverloaded
			}
			x.refused = err != nil
			return func() { a.gate.leave(caller.Tenant.ID, false) }, err
		}
		c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), protocolKey{},
			protocolRequest{taken, admit}))
		if err := readFromNow(c.Request.Context(), c.Writer, c.Request); err != nil { // as in body
			a.fail(c, err)
			return
		}
		err = p.Serve(c.Writer, c.Request, caller)
		x.refused = x.refused || errors.Is(err, errNoRoom)
		if errors.Is(err, fault.Unauthenticated) && !c.Writer.Written() {
			a.unauthenticated(c, err)
			return
		}
		a.answered(c, err)
	})
}

type protocolKey struct{}

// protocolRequest is what Admit and ReadBody use of a request of a protocol, whose context has it.
type protocolRequest struct {
	room  *room
	admit func() (leave func(), err error)
}

// Admit lets the request of a protocol in as a read: it counts on its caller's quotas, and takes a place at the gate
// until leave is called. What calls an operation needs no Admit, since the operation does this.
func Admit(ctx context.Context) (leave func(), err error) {
	if request, is := ctx.Value(protocolKey{}).(protocolRequest); is {
		return request.admit()
	}
	return func() {}, nil
}

// errNoRoom is the error of requests that would take more room for their bodies than is left for whom they come from.
var errNoRoom = fault.New(fault.Unavailable, fault.ReasonOverloaded,
	"Too many requests of this kind are running at the same time.")

// room is what a request of a protocol has of the room for bodies. A large body takes as much as several of
// operations.
type room struct {
	of    *fair.Shares
	whose string
	units int // of maxBodyBytes
}

// fits takes the room for a body of that size, or gives back what that body does not need. It reports false if there
// is not as much.
func (r *room) fits(size int) bool {
	if r == nil { // of a request that did not come through mountProtocol
		return true
	}
	units := max(1, (size+maxBodyBytes-1)/maxBodyBytes)
	if units > r.units && !r.of.Take(r.whose, units-r.units) {
		return false
	}
	if units < r.units {
		r.of.Give(r.whose, r.units-units)
	}
	r.units = units
	return true
}

func (r *room) leave() { r.of.Give(r.whose, r.units) }

// claimant returns the caller of a request of a protocol, and reports whether that is only claimed.
func (a *api) claimant(r *http.Request, p Protocol) (caller apikey.Caller, claimed bool, err error) {
	if p.Identify != nil {
		if caller, claimed, err = p.Identify(r); caller.KeyID != "" || err != nil {
			return caller, claimed, err
		}
	}
	caller, err = a.authenticate(r.Context(), r.Header)
	return caller, false, err
}

// unauthenticated responds to a request whose caller is unknown, whoever it claimed to be.
func (a *api) unauthenticated(c *gin.Context, err error) {
	if text := challenge(err); text != "" {
		c.Header("WWW-Authenticate", text)
	}
	a.fail(c, err)
}

// answered notes the error of a response that another package has written, or writes one.
func (a *api) answered(c *gin.Context, err error) {
	x, f := exchangeOf(c), fault.From(err)
	switch {
	case f == nil:
	case c.Writer.Written():
		x.reason, x.err = f.Reason, f
	default:
		a.fail(c, f)
	}
}

// loggedPath returns the loggable part of a path that matches no route. If the path begins like that of a
// page, the rest is left out, since it may contain a secret.
func (a *api) loggedPath(path string) string {
	for _, p := range a.pages {
		if begin, _, open := strings.Cut(p.Path, "{"); open && strings.HasPrefix(path, begin) {
			return begin + "…"
		}
	}
	return shorten(path, maxPathLogged)
}
