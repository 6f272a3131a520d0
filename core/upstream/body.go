package upstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"frontdesk/core/fault"
)

// answerBody is the body of a response that was read completely. It takes room in the budget until it is
// closed, so its reader must close it only after decoding.
type answerBody struct {
	*bytes.Reader
	content []byte
	ctx     context.Context
	release func()
}

// Read fails once the context of the call has ended.
func (b *answerBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, fault.From(err)
	}
	return b.Reader.Read(p)
}

// Close returns the room to the budget.
func (b *answerBody) Close() error {
	b.release()
	return nil
}

// receive reads the whole response within its bounds, and replaces its body with one in memory.
func (t *transport) receive(
	ctx context.Context, cancel func(), resp *http.Response, hop *http.Request,
) error {
	within := t.boundsOf(hop)
	r := &receiving{
		transport: t, ctx: ctx, hop: hop, resp: resp, limit: within.bytes, shape: shape{within: within},
	}
	r.body, r.skips = skipped(resp, hop)
	content, err := r.content()
	_ = resp.Body.Close()
	if err != nil {
		r.done()
		return err
	}
	if of, ok := resp.Body.(*exchangeBody); ok {
		content = mask(content, of.secrets)
	}
	decoded, err := t.pool.budget.decode(ctx, r.shape.cost(len(content)))
	if err != nil {
		r.done()
		return t.failure(ctx, hop.URL, err, true)
	}
	release := sync.OnceFunc(func() { r.done(); decoded() })
	forgotten := context.AfterFunc(ctx, release) // if the body is never closed
	resp.Body = &answerBody{Reader: bytes.NewReader(content), content: content, ctx: ctx, release: func() {
		forgotten()
		release()
		cancel()
	}}
	return nil
}

type receiving struct {
	transport *transport
	ctx       context.Context // of the call
	hop       *http.Request
	resp      *http.Response
	body      io.Reader
	skips     bool // the body is shorter than what is received
	limit     int64
	charged   int64 // to the budget
	shape     shape
}

// content returns the body, or as much of an error response as is read.
func (r *receiving) content() ([]byte, error) {
	refuses := r.resp.StatusCode >= http.StatusBadRequest
	if refuses {
		r.limit = min(r.limit, maxRefusalBytes)
	} else if r.resp.ContentLength > r.limit && !r.skips && r.hop.Method != http.MethodHead {
		return nil, r.tooLarge(moreBytes)
	}
	content := make([]byte, 0, r.expected())
	for {
		content = grow(content)
		part := content[len(content):min(cap(content), len(content)+largestPart)]
		n, err := r.next(part, int64(len(content)))
		content = content[:len(content)+n]
		var over excess
		switch {
		case errors.Is(err, io.EOF), refuses && (errors.As(err, &over) || isCorrupt(err)):
			return content, nil
		case errors.As(err, &over):
			return nil, r.tooLarge(over)
		case err != nil:
			return nil, r.incompleteFault(err)
		}
	}
}

const (
	usualAnswerBytes = 4 << 10 // the room at first for a response that does not say how long it is
	smallestPart     = 512
	largestPart      = 16 << 10
)

// expected returns the room for a response at first: what its header says, and some for its end to be noticed.
// More than is free of charge is not believed before it was read.
func (r *receiving) expected() int64 {
	if r.resp.ContentLength < 0 {
		return usualAnswerBytes
	}
	return min(r.resp.ContentLength, r.limit, unchargedBytes) + smallestPart
}

// grow makes room for another part. It doubles the capacity, whereas append would copy a large response five
// times.
func grow(content []byte) []byte {
	if cap(content)-len(content) >= smallestPart {
		return content
	}
	return append(make([]byte, 0, 2*cap(content)+smallestPart), content...)
}

// next reads a part of the response. It does not return bytes beyond the bounds.
func (r *receiving) next(part []byte, had int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.body.Read(part)
	if had+int64(n) > r.limit {
		return int(r.limit - had), moreBytes
	}
	if over := r.shape.scan(part[:n]); over != nil {
		return 0, over
	}
	if had+int64(n) > unchargedBytes {
		if !r.transport.pool.budget.reads(r.payer(), int64(n)) {
			return 0, r.budgetSpent()
		}
		r.charged += int64(n)
	}
	return n, err
}

// done returns to the budget the room that reading took.
func (r *receiving) done() {
	r.transport.pool.budget.hasRead(r.payer(), r.charged)
	r.charged = 0
}

// payer returns the key of the share of the budget that is used.
func (r *receiving) payer() string {
	return cmp.Or(r.transport.client.Connection, r.transport.client.Provider)
}

// tooLarge returns the fault for a response beyond the bounds.
func (r *receiving) tooLarge(over excess) *fault.Error {
	return r.unreadFault(fault.Exhausted, ReasonAnswerTooLarge,
		"The provider %s gave an answer that "+string(over)+" than is read.")
}

func (r *receiving) budgetSpent() *fault.Error {
	return r.unreadFault(fault.Unavailable, fault.ReasonOverloaded,
		"The provider %s gave a large answer while the gateway was reading too many others.")
}

// incompleteFault returns the fault for a response that could not be read to its end.
func (r *receiving) incompleteFault(err error) *fault.Error {
	if isCorrupt(err) {
		return r.unreadFault(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The provider %s gave an answer that cannot be decompressed. Check the address at which it is called.").
			Because(redacted{err})
	}
	return r.transport.failure(r.ctx, r.hop.URL, err, true)
}

// unreadFault returns the fault for a request whose response cannot be read. If the request changes
// something, its outcome is unknown.
func (r *receiving) unreadFault(code fault.Code, reason, format string) *fault.Error {
	provider := r.transport.client.Provider
	if !safe(r.hop.Method) && !lists(r.hop) {
		code, reason = fault.UnknownOutcome, fault.ReasonOutcomeUnknown
		format += " So the outcome of the request is unknown."
	}
	return fault.Newf(code, reason, format, provider).With("provider", provider)
}
