package upstream

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// transport is the http.RoundTripper of one client: it follows redirects, authorises each hop and turns
// failures into faults.
type transport struct {
	pool   *Pool
	client ClientOptions
}

// RoundTrip sends the request, follows the redirects that may be followed, and returns the last response.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.acceptable(req); err != nil {
		closeBody(req.Body)
		return nil, err
	}
	if t.client.Pace != nil {
		done, err := t.client.Pace(req)
		if err != nil {
			closeBody(req.Body)
			return nil, fault.Unprepared(err)
		}
		defer done()
	}
	// http.Client.Timeout would do the same, but replaces the error with one that hides the fault.
	ctx, cancel := context.WithTimeout(req.Context(), cmp.Or(t.client.CallTimeout, t.pool.options.CallTimeout))
	anchor := t.client.AuthorizeFor
	if anchor == nil {
		anchor = req.URL
	}

	hop := req
	for hops := 0; ; hops++ {
		resp, err := t.exchange(ctx, hop, mayCarryCredentials(anchor, hop.URL))
		if err != nil {
			cancel()
			return nil, err
		}
		if t.client.StatusOnly {
			discard(resp)
			cancel()
			return resp, nil
		}
		next, err := t.redirect(hop, resp, anchor)
		if err == nil && next != nil && hops == maxRedirects {
			closeBody(next.Body)
			err = t.misconfigured("redirects more than %d times", maxRedirects)
		}
		if err != nil {
			_ = resp.Body.Close()
			cancel()
			return nil, err
		}
		if next == nil {
			if err := t.receive(ctx, cancel, resp, hop); err != nil {
				cancel()
				return nil, err
			}
			if err := t.checkEmpty(req, resp); err != nil {
				return nil, err
			}
			return resp, nil
		}
		drain(resp.Body)
		hop = next
	}
}

// acceptable returns an error for a request that must not be sent at all.
func (t *transport) acceptable(req *http.Request) error {
	if req.URL == nil || req.URL.Host == "" || len(req.URL.Host) > maxHostBytes ||
		(req.URL.Scheme != "http" && req.URL.Scheme != "https") {
		return fault.Unacted(t.misconfigured("has an address that is not an absolute http or https URL"))
	}
	if req.URL.User != nil {
		// http.Client would send it as a credential by itself, regardless of where credentials may go.
		return fault.Unacted(t.misconfigured("has an address that contains a user name or password; put them " +
			"into the credentials"))
	}
	if t.client.AuthorizeFor == nil {
		return nil
	}
	// Drivers request addresses that responses name, such as that of a calendar.
	if err := t.leaves(t.client.AuthorizeFor, req.URL, req.Method); err != nil {
		return fault.Unacted(err)
	}
	return nil
}

// exchange sends one request and returns its response. If the credentials are refused, it sends the request
// again with renewed ones: a provider that returns 401 has done nothing (RFC 9110 section 15.5.2).
func (t *transport) exchange(ctx context.Context, hop *http.Request, trusted bool) (*http.Response, error) {
	resp, sent, err := t.send(ctx, hop, trusted)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !trusted || t.client.Renew == nil {
		return resp, err
	}
	body, ok := bodyAgain(hop)
	if !ok {
		return resp, nil
	}
	again, err := t.client.Renew(sent)
	if err != nil || !again {
		closeBody(body)
		if err != nil {
			drain(resp.Body)
			return nil, fault.Unprepared(err)
		}
		return resp, nil
	}
	drain(resp.Body)
	once := hop.Clone(hop.Context())
	once.Body = body
	resp, _, err = t.send(ctx, once, trusted)
	return resp, err
}

// bodyAgain returns the body of a request from its beginning. ok is false if that is not possible.
func bodyAgain(req *http.Request) (body io.ReadCloser, ok bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req.Body, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	return body, err == nil
}

// send sends a request once. It also returns the request as it was sent.
func (t *transport) send(
	ctx context.Context, hop *http.Request, trusted bool,
) (*http.Response, *http.Request, error) {
	progress := &progress{safe: safe(hop.Method)}
	ctx, stop := context.WithCancelCause(ctx)
	progress.stop = stop
	out := hop.Clone(progress.trace(ctx))
	t.complete(out)
	if err := t.authorize(out, trusted); err != nil {
		closeBody(out.Body)
		stop(nil)
		return nil, nil, err
	}
	out, span := t.traced(out)
	if !progress.safe {
		hideIdempotencyKey(out.Header)
	}

	base := t.pool.baseOf(t.client, out.URL)
	started := time.Now()
	resp, err := base.RoundTrip(out)
	var f *fault.Error
	if err != nil {
		f = t.failure(ctx, hop.URL, err, progress.sent())
	}
	if !t.client.StatusOnly { // webhooks are no provider
		t.pool.warm.asked(base, out.URL, f)
	}
	if f != nil {
		stop(nil)
		span.EndExchange(0, f.Reason)
		t.pool.options.Metrics.Exchange(t.client.Provider, 0, string(f.Code))
		if f.Reason == fault.ReasonEgressRefused {
			t.pool.options.Metrics.EgressRefused(t.client.Provider)
		}
		t.log(ctx, hop, 0, started, f)
		telemetry.Exchanged(ctx, telemetry.Exchange{
			Method: hop.Method, Code: string(f.Code), Took: time.Since(started),
		})
		return nil, nil, f
	}
	span.EndExchange(resp.StatusCode, "")
	t.pool.options.Metrics.Exchange(t.client.Provider, resp.StatusCode, "")
	t.log(ctx, hop, resp.StatusCode, started, nil)
	telemetry.Exchanged(ctx, telemetry.Exchange{
		Method: hop.Method, Status: resp.StatusCode, Took: time.Since(started),
	})
	decompress(resp)
	resp.Request = hop // as the driver made it: without the credentials
	body := &exchangeBody{ReadCloser: resp.Body, stop: stop}
	if resp.StatusCode >= http.StatusBadRequest {
		body.secrets = secretsOf(out, hop)
	}
	resp.Body = body
	return resp, out, nil
}

// traced begins the span of an exchange, and returns the request as a part of it. The span tells no path, and
// the host only if the operator or the adapter named it.
func (t *transport) traced(out *http.Request) (*http.Request, telemetry.Span) {
	ctx, span := telemetry.StartExchange(out.Context(), t.client.Provider, out.Method)
	if span == (telemetry.Span{}) {
		return out, span
	}
	if home := t.client.AuthorizeFor; home != nil && !t.client.TenantAddress && home.Host == out.URL.Host {
		span.Host(home.Hostname())
	}
	return out.WithContext(ctx), span
}

// complete sets the headers that all requests have in common.
func (t *transport) complete(out *http.Request) {
	out.Header.Set("Accept-Encoding", "gzip") // and nothing else, whatever a driver asks for; see decompress
	if out.Header.Get("User-Agent") == "" && t.pool.options.UserAgent != "" {
		out.Header.Set("User-Agent", t.pool.options.UserAgent)
	}
}

func (t *transport) authorize(out *http.Request, trusted bool) error {
	if !trusted {
		for _, name := range credentialHeaders {
			out.Header.Del(name)
		}
		return nil
	}
	if t.client.Authorize == nil {
		return nil
	}
	if err := t.client.Authorize(out); err != nil {
		return fault.Unprepared(err)
	}
	return nil
}

func (t *transport) log(
	ctx context.Context, hop *http.Request, status int, started time.Time, f *fault.Error,
) {
	if !t.pool.options.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{telemetry.Provider(t.client.Provider), telemetry.Connection(t.client.Connection),
		slog.String("method", hop.Method), slog.String("url", telemetry.RedactURL(hop.URL)),
		slog.Int("status", status), telemetry.Took(time.Since(started))}
	if f != nil {
		attrs = append(attrs, slog.Any("error", f))
	}
	t.pool.options.Log.LogAttrs(ctx, slog.LevelDebug, "upstream exchange", attrs...)
}

func closeBody(body io.ReadCloser) {
	if body != nil {
		_ = body.Close()
	}
}

// discard reads no more of a response than lets its connection be used again, and leaves the status and the
// headers but Location: http.Client fails on one that cannot be read, with the whole address in its text.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxRefusalBytes)
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	resp.Header.Del("Location")
}

// drain reads the small body of a redirect or refusal, so that the connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 4<<10)
	_ = body.Close()
}

// exchangeBody ends the exchange's context when it is closed, not before.
type exchangeBody struct {
	io.ReadCloser
	stop    context.CancelCauseFunc
	secrets []string // to be masked
}

func (b *exchangeBody) Close() error {
	err := b.ReadCloser.Close()
	b.stop(nil)
	return err
}
