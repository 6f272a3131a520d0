package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"frontdesk/core/fault"
)

// capped hands a response out with a body that ends at the cap, speaks in faults, and ends the call's context with it.
func (t *transport) capped(resp *http.Response, hop *http.Request, ctx context.Context, cancel context.CancelFunc) (*http.Response, error) {
	limit := t.pool.options.MaxResponseBytes
	body := &cappedBody{transport: t, inner: resp.Body, left: limit, ctx: ctx, cancel: cancel, url: hop.URL, safe: safe(hop.Method)}
	if resp.ContentLength > limit && hop.Method != http.MethodHead {
		_ = body.Close()
		return nil, body.tooLarge()
	}
	if of, ok := resp.Body.(*exchangeBody); ok && len(of.secrets) > 0 {
		resp.Body = &maskedBody{ReadCloser: body, secrets: of.secrets}
		return resp, nil
	}
	resp.Body = body
	return resp, nil
}

type cappedBody struct {
	transport *transport
	inner     io.ReadCloser
	left      int64
	ctx       context.Context // of the call, to tell why a read failed
	cancel    context.CancelFunc
	url       *url.URL
	safe      bool
	failed    error // what every read answers from now on
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more than allowed shows that there is more
	}
	n, err := b.inner.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		err = b.tooLarge()
	} else if err != nil && !errors.Is(err, io.EOF) {
		err = b.transport.failure(b.ctx, b.url, err, true)
	}
	b.left -= int64(n)
	b.failed = err
	return n, err
}

func (b *cappedBody) Close() error {
	err := b.inner.Close()
	b.cancel()
	return err
}

// tooLarge is for reads that nothing can be had; for a write, that it happened and cannot be told how.
func (b *cappedBody) tooLarge() *fault.Error {
	o := b.transport.pool.options
	if !b.safe {
		return fault.Newf(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"The provider %s answered with more than %d bytes, so what became of the request could not be read.",
			b.transport.client.Provider, o.MaxResponseBytes).With("provider", b.transport.client.Provider)
	}
	return fault.Newf(fault.Exhausted, ReasonAnswerTooLarge,
		"The provider %s answered with more than %d bytes, which is more than is read.",
		b.transport.client.Provider, o.MaxResponseBytes).With("provider", b.transport.client.Provider)
}
