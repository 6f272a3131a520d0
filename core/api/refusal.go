package api

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
	"frontdesk/core/language"
)

// refusal is a response that is the same to all requests for one operation but for the request's id. It is rendered
// once, with a gap for the id. Such are the refusals that cost their caller nothing: those of the gate, of which
// there are two for each request that is served at three times the gateway's capacity, those of the quotas, and those
// of strangers.
type refusal struct {
	failure       failure
	contentType   string
	before, after []byte // the body before and after the id; both nil: it must be rendered each time
}

// refusals are those of one operation. They are few: by a quota, one for each second that its caller may have to wait.
type refusals struct {
	api *api
	op  operation
	all sync.Map // refusalKey -> *refusal
}

// refusalKey is what refusals differ in.
type refusalKey struct {
	reason, detail string
	retryAfter     time.Duration
}

// gap is the placeholder for the request's id.
const gap = "01REQUEST.ID"

// of returns the refusal by an error.
func (r *refusals) of(err *fault.Error) *refusal {
	key := refusalKey{err.Reason, err.Detail, err.RetryAfter}
	if known, found := r.all.Load(key); found {
		return known.(*refusal)
	}
	made := &refusal{}
	made.failure = r.api.failureOf(err, &exchange{
		id: gap, operation: r.op.ID, kind: r.op.Kind, surface: r.op.surface(), language: language.English,
	})
	body, contentType, failed := r.api.render(made.failure)
	if failed == nil && bytes.Count(body, []byte(gap)) == 1 {
		made.before, made.after, _ = bytes.Cut(body, []byte(gap))
		made.contentType = contentType
	}
	known, _ := r.all.LoadOrStore(key, made)
	return known.(*refusal)
}

// errOverloaded is the error of requests that the gate refuses.
var errOverloaded = fault.New(fault.Unavailable, fault.ReasonOverloaded,
	"The gateway has more requests than it can answer in time.")

// refuse responds with a refusal by an error.
func (a *api) refuse(c *gin.Context, x *exchange, r *refusal, err error) {
	if r.before == nil || !plain(x.id) || x.language != language.English {
		a.fail(c, err)
		return
	}
	x.reason, x.err = r.failure.reason, err
	c.Abort()
	h := c.Writer.Header()
	if r.failure.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(r.failure.retry/time.Second)))
	}
	h.Set("Content-Type", r.contentType)
	h.Set("Content-Length", strconv.Itoa(len(r.before)+len(x.id)+len(r.after)))
	c.Writer.WriteHeader(r.failure.status(r.failure.surface))
	body := make([]byte, 0, len(r.before)+len(x.id)+len(r.after))
	// Errors are ignored: the caller may have disconnected.
	_, _ = c.Writer.Write(append(append(append(body, r.before...), x.id...), r.after...))
}

// plain reports whether an id is the same in JSON and in a URN, without escapes.
func plain(id string) bool {
	for i := range len(id) {
		switch b := id[i]; {
		case '0' <= b && b <= '9', 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', b == '-', b == '_', b == '.':
		default:
			return false
		}
	}
	return true
}
