package fake

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

const mostParts = 20

type part struct {
	ID      string            `json:"id"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

// batch handles several requests in one, up to four at a time, and returns their responses in another order
// (learn.microsoft.com/graph/json-batching). The batch succeeds even if parts of it fail.
func (s *Server) batch(
	w http.ResponseWriter, r *http.Request, token oauthtest.Token, met adaptertest.Injected,
) {
	s.mu.Lock()
	a, faulty := s.faulty(met, r.Method, "$batch")
	s.mu.Unlock()
	if faulty {
		send(w, a)
		return
	}
	var given struct {
		Requests []part `json:"requests"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil || r.Method != http.MethodPost || len(given.Requests) == 0 ||
		len(given.Requests) > mostParts {
		send(w, invalid("BadRequest", "The batch cannot be read, or has too many parts."))
		return
	}
	answers := make([]map[string]any, len(given.Requests))
	running := make(chan struct{}, most)
	var parts sync.WaitGroup
	for i, p := range given.Requests {
		running <- struct{}{}
		parts.Go(func() {
			defer func() { <-running }()
			answers[i] = s.part(r, p, token, met)
		})
	}
	parts.Wait()
	slices.Reverse(answers)
	send(w, answer{status: http.StatusOK, body: map[string]any{"responses": answers}})
}

func (s *Server) part(
	r *http.Request, p part, token oauthtest.Token, met adaptertest.Injected,
) map[string]any {
	u, err := url.Parse("http://" + r.Host + graphPath + p.URL)
	a := invalid("BadRequest", "Invalid batch part.")
	if err == nil && strings.HasPrefix(p.URL, "/") && p.ID != "" {
		one := &http.Request{
			Method: p.Method, URL: u, Host: r.Host, TLS: r.TLS, Header: http.Header{},
			Body: io.NopCloser(bytes.NewReader(p.Body)),
		}
		for name, value := range p.Headers {
			one.Header.Set(name, value)
		}
		a = s.serve(one.WithContext(r.Context()), token, met, strings.TrimPrefix(u.EscapedPath(), graphPath+"/"))
	}
	headers := map[string]string{"Content-Type": "application/json"}
	for name, values := range a.header {
		headers[name] = values[0]
	}
	body := a.body
	if a.raw != "" {
		body = a.raw
	}
	return map[string]any{"id": p.ID, "status": a.status, "headers": headers, "body": body}
}
