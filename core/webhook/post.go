package webhook

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
	"frontdesk/core/upstream"
)

// AnswerWithin bounds one attempt. A receiver has to acknowledge an event, not to work it off.
const AnswerWithin = 5 * time.Second

// poster sends single messages.
type poster struct {
	sealer sealing.Sealer
	client *http.Client
	now    func() time.Time
}

func newPoster(
	sealer sealing.Sealer, pool *upstream.Pool, now func() time.Time, timeout time.Duration,
) poster {
	return poster{sealer: sealer, now: now, client: pool.Client(upstream.ClientOptions{
		Provider: "webhook", TenantAddress: true, RequireTLS: true, StatusOnly: true, CallTimeout: timeout,
	})}
}

// Outcome is what became of an attempt.
type Outcome struct {
	Status int    // of the response; 0: there was none
	Reason string // why the attempt failed; "" if it was acknowledged

	after time.Duration // for which the receiver asks to be left alone
}

// Acknowledged reports whether the receiver took the message.
func (o Outcome) Acknowledged() bool { return o.Status >= 200 && o.Status <= 299 }

// post sends a message once.
func (p poster) post(ctx context.Context, w store.Webhook, id string, body []byte) Outcome {
	request, err := p.request(ctx, w, id, body)
	if err != nil {
		return Outcome{Reason: fault.From(err).Reason}
	}
	response, err := p.client.Do(request)
	if err != nil {
		return Outcome{Reason: fault.From(err).Reason}
	}
	defer response.Body.Close()
	done := Outcome{Status: response.StatusCode}
	if !done.Acknowledged() {
		done.Reason = "HTTP_" + strconv.Itoa(done.Status)
	}
	if done.Status == http.StatusTooManyRequests || done.Status == http.StatusServiceUnavailable {
		done.after = upstream.RetryAfter(response.Header, p.now())
	}
	return done
}

// request returns a signed message.
func (p poster) request(ctx context.Context, w store.Webhook, id string, body []byte) (*http.Request, error) {
	keys, err := openSecrets(p.sealer, w)
	if err != nil {
		return nil, err
	}
	at := p.now()
	signature, err := keys.sign(id, at, body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil { // not wrapped: its text has the whole address
		return nil, fault.New(fault.Internal, fault.ReasonInternal, "The webhook's address cannot be read.")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Webhook-Id", id)
	request.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	request.Header.Set("Webhook-Signature", signature)
	return request, nil
}
