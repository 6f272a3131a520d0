package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/requestlog"
	"frontdesk/core/telemetry"
)

// exchange holds what is known about a request while it is served.
type exchange struct {
	id        string
	surface   surface
	language  string            // in which the caller is spoken to
	operation string            // "" until a route is found
	kind      adapter.Kind      // the kind of connection that the operation works on
	identity  []slog.Attr       // the caller and the connection
	reason    string            // of the failure in the response; "": none
	err       error             // the failure's cause, for the log
	stack     []byte            // of a panic
	whose     string            // the tenant among whose refusals it counts; "": it is a stranger's
	claimed   bool              // who the caller is was not proved before the body is read
	refused   bool              // at no cost to the caller: nothing was done for the request
	kept      *requestlog.Entry // for the log of requests; nil: it is not for it
	trail     *telemetry.Trail
	began     time.Time
	span      telemetry.Span // of a request whose caller is known
}

type exchangeKey struct{}

func exchangeOf(c *gin.Context) *exchange {
	x, _ := c.MustGet(exchangeKey{}).(*exchange)
	return x
}

const headerRequestID = "X-Request-Id"

// identify sets the request's id and continues the caller's trace.
func (a *api) identify(c *gin.Context) {
	x := &exchange{
		id: c.GetHeader(headerRequestID), surface: surfaceOf(c.Request.URL.Path),
		language: language.Match(c.GetHeader("Accept-Language")),
	}
	if !visible(x.id, maxRequestIDBytes) {
		x.id = a.newID()
	}
	c.Set(exchangeKey{}, x)
	c.Header(headerRequestID, x.id)
	ctx := telemetry.ContinueTrace(c.Request.Context(), c.Request.Header)
	if x.language != language.English {
		ctx = language.With(ctx, x.language)
	}
	c.Request = c.Request.WithContext(telemetry.With(ctx, telemetry.RequestID(x.id)))
	c.Next()
}

// observe records the request in the metrics and in the log.
func (a *api) observe(c *gin.Context) {
	x, started := exchangeOf(c), a.now()
	x.began = started
	measured := a.metrics != nil && x.surface != surfaceNone
	if measured {
		defer a.metrics.RequestRunning(string(x.surface))()
	}
	c.Next()

	ended, status := a.now(), c.Writer.Status()
	took := ended.Sub(started)
	if measured {
		a.metrics.Request(string(x.surface), cmp.Or(x.operation, "none"), status, x.reason, took)
	}
	x.span.EndRequest(cmp.Or(x.operation, "none"), status, x.reason)
	refused, logged := int64(0), true
	stranger := x.identity == nil || x.claimed
	if x.refused || stranger && status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		refused, logged = a.refusals.count(ended, cmp.Or(x.whose, x.operation))
	}
	if !logged {
		return
	}
	if x.kept != nil {
		x.kept.At, x.kept.Status, x.kept.Reason, x.kept.Took = started, status, x.reason, took
		x.kept.Tries, x.kept.MoreTries = x.trail.Tries()
		a.requests.Add(*x.kept)
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("method", c.Request.Method), slog.Int("status", status), telemetry.Took(took))
	attrs = append(attrs, x.identity...)
	if x.operation == "" {
		attrs = append(attrs, slog.String("path", a.loggedPath(c.Request.URL.Path)))
	} else {
		attrs = append(attrs, telemetry.Operation(x.operation))
	}
	if x.reason != "" {
		attrs = append(attrs, slog.String("reason", x.reason))
	}
	if x.err != nil {
		attrs = append(attrs, slog.Any("error", x.err))
	}
	if refused > 1 {
		attrs = append(attrs, slog.Int64("refused", refused))
	}
	if x.stack != nil {
		attrs = append(attrs, slog.String("stack", string(x.stack)))
	}
	a.log.LogAttrs(x.span.Context(c.Request.Context()), levelOf(status, x), "request answered", attrs...)
}

// trace begins the span of a request. Only a known caller gets one, so that strangers cannot fill the traces.
func (a *api) trace(ctx context.Context, c *gin.Context, x *exchange, tenantID string) context.Context {
	if a.tracer == nil {
		return ctx
	}
	ctx, x.span = telemetry.StartRequest(ctx, a.tracer, telemetry.RequestOf{
		Method: c.Request.Method, Route: c.FullPath(), Surface: string(x.surface), TenantID: tenantID,
		Began: x.began,
	})
	return ctx
}

// levelOf returns the log level for a request: Error for a defect, Warn for what the operator may have to
// look at, Debug for health checks and pages, and Info for the rest, which mostly concerns only the caller.
func levelOf(status int, x *exchange) slog.Level {
	switch {
	case status == http.StatusInternalServerError:
		return slog.LevelError
	case status > http.StatusInternalServerError:
		return slog.LevelWarn
	case x.operation == "" && status < http.StatusBadRequest:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// recover responds to a panic with an internal error.
func (a *api) recover(c *gin.Context) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if err, isError := cause.(error); isError && errors.Is(err, http.ErrAbortHandler) {
			panic(cause)
		}
		x := exchangeOf(c)
		x.stack = debug.Stack()
		a.fail(c, fault.New(fault.Internal, fault.ReasonInternal, "panic: "+telemetry.Panic(cause)))
	}()
	c.Next()
}

// fail responds with an error, unless a response has already been started.
func (a *api) fail(c *gin.Context, err error) {
	x := exchangeOf(c)
	f := a.failureOf(err, x)
	x.reason, x.err = f.reason, err
	c.Abort()
	if c.Writer.Written() {
		return
	}
	if err := a.writeFailure(c.Writer, f); err != nil {
		a.log.LogAttrs(c.Request.Context(), slog.LevelDebug, "the answer could not be written",
			slog.Any("error", err))
	}
}

// secure sets the security headers of every response. They forbid sniffing, caching, framing and referrers.
func secure(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	c.Next()
}

const (
	maxPathLogged          = 256
	maxRequestIDBytes      = 128
	maxIdempotencyKeyBytes = 255
)

// visible reports whether a header's value is 1 to limit visible ASCII characters.
func visible(value string, limit int) bool {
	return printable(value, limit) && !strings.Contains(value, " ")
}

// printable is like visible, but allows spaces.
func printable(value string, limit int) bool {
	if value == "" || len(value) > limit {
		return false
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return true
}

// shorten cuts a text to limit bytes and marks the cut.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// newRequestID returns an id like a ULID: 48 bits of milliseconds and 80 random bits in Crockford's base 32.
// Ids sort by time.
func newRequestID(now time.Time) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(raw[6:]) // never fails: it ends the process if there is no randomness
	return crockford.EncodeToString(raw[:])
}

var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)
