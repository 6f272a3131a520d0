package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// run is one operation while its steps are run.
type run struct {
	driver *driver
	key    string         // names the ticket across retries; "" outside create
	input  map[string]any // of expressions: ticket and key (create), number (get), key (by_key), and so on
	done   map[string]any // input["steps"]
	acted  bool           // a step that may change something was done
	told   bool           // such a step sent the subject, which every ticket has: it may have opened the ticket
	ahead  []step         // those that are not done, the one that failed first
	trace  func(line string)

	forOperator bool // errors go to the person who verifies the connection, not to a caller
}

func (d *driver) begin(input map[string]any) *run {
	r := &run{driver: d, input: input, done: map[string]any{}, trace: func(string) {}}
	r.input["steps"], r.input["values"], r.input["base_url"] = r.done, d.values, d.settings.BaseURL
	return r
}

// steps runs the steps of an operation, one after the other.
func (r *run) steps(ctx context.Context, list []step) error {
	for i, s := range list {
		r.ahead = list[i:]
		r.done[s.name] = nil
		wanted := true
		if s.when.given() {
			var err error
			if wanted, err = s.when.holds(ctx, r.input); err != nil {
				return err
			}
		}
		if !wanted {
			r.trace(s.label + ": left out")
			continue
		}
		if err := r.step(ctx, s); err != nil {
			return err
		}
	}
	r.ahead = nil
	return nil
}

func (r *run) step(ctx context.Context, s step) error {
	req, err := r.request(ctx, s)
	if err != nil {
		return err
	}
	var got answer
	var readable bool
	err = upstream.Read(r.driver.http, req, func(resp *http.Response, body []byte) error {
		got = answer{status: resp.StatusCode, header: resp.Header, raw: body}
		readable = got.read(s.text) // slow expressions come after
		return nil
	})
	if err != nil {
		return at(s, fault.From(err))
	}
	r.trace(fmt.Sprintf("%s: %s %s answered %d", s.label, req.Method, req.URL.EscapedPath(), got.status))
	return r.receive(ctx, s, got, readable)
}

// receive handles the response to a step.
func (r *run) receive(ctx context.Context, s step, got answer, readable bool) error {
	if err := r.matchRules(ctx, s, got); err != nil {
		return err
	}
	if !s.expects(got.status) {
		return at(s, r.plain(s, got))
	}
	if !readable {
		f := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The ticket system answered something other than JSON. Check the connection's address and paths.")
		if s.acts {
			f = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
				"The ticket system accepted the request, but its answer could not be read.")
		}
		f.Upstream = upstream.StatusFault(name, got.status, nil, got.raw).Upstream
		return at(s, f)
	}
	r.acted, r.told = r.acted || s.acts, r.told || s.acts && s.subject
	r.done[s.name] = got.value()
	return nil
}

// expects reports whether the step succeeds with that status.
func (s step) expects(status int) bool {
	if len(s.expect) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(s.expect, status)
}

// request builds the request of a step.
func (r *run) request(ctx context.Context, s step) (*http.Request, error) {
	address, err := r.address(ctx, s)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Accept": {"application/json"}}
	for _, set := range []map[string]template{r.driver.headers, s.headers} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			text, present, err := set[name].text(ctx, r.input)
			if err != nil {
				return nil, err
			}
			if !present {
				continue
			}
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				return nil, misfit(set[name].setting, "gives control characters, which a header cannot have")
			}
			header.Set(name, text)
		}
	}
	if h := r.driver.settings.IdempotencyHeader; h != "" && s.acts && r.key != "" {
		header.Set(h, r.key)
	}
	body, kind, err := r.body(ctx, s)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, s.method, address.String(), body)
	if err != nil {
		return nil, misfit(s.path.setting, "gives an address that cannot be used")
	}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	req.Header = header
	return req, nil
}

// address returns the URL of a step: base_url, path and query.
func (r *run) address(ctx context.Context, s step) (*url.URL, error) {
	below, err := s.path.path(ctx, r.input)
	if err != nil {
		return nil, err
	}
	address := *r.driver.base
	address.RawPath = strings.TrimRight(address.EscapedPath(), "/") + "/" + strings.TrimLeft(below, "/")
	if address.Path, err = url.PathUnescape(address.RawPath); err != nil {
		return nil, misfit(s.path.setting, "gives a path that cannot be read")
	}
	query := url.Values{}
	for name, value := range s.query {
		text, present, err := value.text(ctx, r.input)
		if err != nil {
			return nil, err
		}
		if present {
			query.Set(name, text)
		}
	}
	address.RawQuery = query.Encode()
	return &address, nil
}

// body returns the body of a step's request and its content type, or nil if it has none.
func (r *run) body(ctx context.Context, s step) (io.Reader, string, error) {
	if !s.body.given() {
		return nil, "", nil
	}
	v, err := s.body.value(ctx, r.input)
	if err != nil {
		return nil, "", err
	}
	if s.form {
		form, err := formOf(s.body.setting, v)
		return strings.NewReader(form), "application/x-www-form-urlencoded", err
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, "", misfit(s.body.setting, "gives a value that JSON cannot express")
	}
	return bytes.NewReader(encoded), "application/json", nil
}

// formOf encodes an object as a form. A member that is a list is sent once for each element. A null is not
// sent.
func formOf(path string, v any) (string, error) {
	members, ok := v.(map[string]any)
	if !ok {
		return "", misfit(path, "gives "+kindOf(v)+", where a form needs an object")
	}
	form := url.Values{}
	for name, member := range members {
		values, isList := member.([]any)
		if !isList {
			values = []any{member}
		}
		for _, value := range values {
			text, ok := textOf(value)
			if !ok {
				return "", misfit(path, "gives "+kindOf(value)+" for a member, where a form needs a text")
			}
			if value != nil {
				form.Add(name, text)
			}
		}
	}
	return form.Encode(), nil
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   any
}

// read decodes the body and reports whether a step can use it: JSON, nothing, or text that is declared as
// text.
func (a *answer) read(isText bool) bool {
	if isText {
		a.body = strings.ToValidUTF8(string(a.raw), "\uFFFD")
		return true
	}
	if len(bytes.TrimSpace(a.raw)) == 0 {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(a.raw))
	d.UseNumber()
	var body any
	if d.Decode(&body) == nil {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			a.body = body
			return true
		}
	}
	a.body = strings.ToValidUTF8(string(a.raw), "\uFFFD")
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return kind == "text/plain"
}

// judged returns what the rules for a response see: what other expressions see, and the response.
func (r *run) judged(got answer) map[string]any {
	input := maps.Clone(r.input)
	maps.Copy(input, got.value())
	return input
}

// value returns the response as expressions see it.
func (a *answer) value() map[string]any {
	header := make(map[string]any, len(a.header))
	for name, values := range a.header {
		if len(values) > 0 {
			header[strings.ToLower(name)] = values[0]
		}
	}
	return map[string]any{"status": a.status, "headers": header, "body": a.body}
}
