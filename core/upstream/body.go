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

// answerBody is the body of an answer that was read whole. It holds room in the budget until it is closed, so
// that who reads it decodes it before.
type answerBody struct {
	*bytes.Reader
	content []byte
	ctx     context.Context
	release func()
}

// Read ends with the call.
func (b *answerBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, fault.From(err)
	}
	return b.Reader.Read(p)
}

// Close gives the room back.
func (b *answerBody) Close() error {
	b.release()
	return nil
}

// receive reads the whole answer within its bounds, and hands it out with a body that is there already.
func (t *transport) receive(
	ctx context.Context, cancel func(), resp *http.Response, hop *http.Request,
) error {
	within := t.boundsOf(hop)
	r := &receiving{
		transport: t, ctx: ctx, hop: hop, resp: resp, limit: within.bytes, shape: shape{within: within},
	}
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
	forgotten := context.AfterFunc(ctx, release) // where nobody closes it
	resp.Body = &answerBody{Reader: bytes.NewReader(content), content: content, ctx: ctx, release: func() {
		forgotten()
		release()
		cancel()
	}}
	return nil
}

// receiving is an answer that is being read.
type receiving struct {
	transport *transport
	ctx       context.Context // of the call
	hop       *http.Request
	resp      *http.Response
	limit     int64
	charged   int64 // to the budget
	shape     shape
}

// content returns the answer, or as much of a refusal as is read.
func (r *receiving) content() ([]byte, error) {
	refuses := r.resp.StatusCode >= http.StatusBadRequest
	if refuses {
		r.limit = min(r.limit, maxRefusalBytes)
	} else if r.resp.ContentLength > r.limit && r.hop.Method != http.MethodHead {
		return nil, r.tooLarge(moreBytes)
	}
	var content []byte
	part := make([]byte, 16<<10)
	for {
		n, err := r.next(part, int64(len(content)))
		content = append(grow(content, n), part[:n]...)
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

// grow makes room for n more bytes. It doubles the capacity, where append would copy a large answer five
// times.
func grow(content []byte, n int) []byte {
	if len(content)+n <= cap(content) {
		return content
	}
	return append(make([]byte, 0, max(2*cap(content), len(content)+n)), content...)
}

// next reads a part of the answer. What is too much of it is not among the bytes.
func (r *receiving) next(part []byte, had int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.resp.Body.Read(part)
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

// done returns to the budget what reading took.
func (r *receiving) done() {
	r.transport.pool.budget.hasRead(r.payer(), r.charged)
	r.charged = 0
}

// payer returns whose share of the budget is used.
func (r *receiving) payer() string {
	return cmp.Or(r.transport.client.Connection, r.transport.client.Provider)
}

// tooLarge is for reads that nothing can be had; for a write, that it happened and cannot be told how.
func (r *receiving) tooLarge(over excess) *fault.Error {
	return r.unreadFault(fault.Exhausted, ReasonAnswerTooLarge,
		"The provider %s gave an answer that "+string(over)+" than is read.")
}

func (r *receiving) budgetSpent() *fault.Error {
	return r.unreadFault(fault.Unavailable, fault.ReasonOverloaded,
		"The provider %s gave a large answer while the gateway was reading too many others. Try again.")
}

// incompleteFault is for an answer that did not come whole.
func (r *receiving) incompleteFault(err error) *fault.Error {
	if isCorrupt(err) {
		return r.unreadFault(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The provider %s gave an answer that cannot be decompressed. Check the connection's address.").
			Because(redacted{err})
	}
	return r.transport.failure(r.ctx, r.hop.URL, err, true)
}

// unreadFault returns the fault of a request that was answered, but not so that it can be told how.
func (r *receiving) unreadFault(code fault.Code, reason, format string) *fault.Error {
	provider := r.transport.client.Provider
	if !safe(r.hop.Method) && !lists(r.hop) {
		code, reason = fault.UnknownOutcome, fault.ReasonOutcomeUnknown
		format += " So the outcome of the request is unknown."
	}
	return fault.Newf(code, reason, format, provider).With("provider", provider)
}
