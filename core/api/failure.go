package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
)

// failure is an error in the form that is shown: it holds only what the caller may see. The responses of both
// styles are built from it.
type failure struct {
	problemType
	reason    string
	detail    string
	fields    []fault.Field
	values    map[string]json.RawMessage
	metadata  map[string]string
	instead   *fault.Instead
	retry     time.Duration // whole seconds; 0: none is suggested
	spoken    string
	language  string // of spoken
	requestID string
	operation string // "" if the path matches none
	surface   surface
}

// failureOf returns the parts of an error that may be shown. The upstream text and the cause are only logged.
func (a *api) failureOf(err error, x *exchange) failure {
	f := fault.From(err)
	s, reason := a.catalogue.of(f)
	out := failure{
		problemType: s, reason: reason, detail: f.Detail, fields: f.Fields, metadata: map[string]string{},
		requestID: x.id, operation: x.operation, surface: x.surface, language: x.language,
	}
	if s.repeats() && !f.NoRetry {
		out.retry = wholeSeconds(f.RetryAfter, s.Retry)
	}
	out.spoken = a.voices[x.language].say(spoken(s, f), x.kind, out.retry)
	out.Person = s.Person || f.IsUnknowable()
	if f.Instead != nil && x.surface == surfaceAlpha { // the written interface has no place for it
		out.instead = f.Instead
		out.spoken = strings.TrimSpace(out.spoken + " " + f.Instead.Say)
	}
	if s.Reason == fault.ReasonInternal {
		out.detail, out.fields = s.Sample, nil
		return out
	}
	if out.detail == "" {
		out.detail = s.Title + "."
	}
	for key, value := range f.Metadata {
		if metadataKey.MatchString(key) {
			out.metadata[key] = value
		}
	}
	input := (*inputError)(nil)
	switch {
	case errors.As(err, &input):
		out.values = input.values
	case s.Reason == fault.ReasonInvalidRequest && len(f.Fields) > 0:
		out.detail = inputDetail(f.Fields, 0)
	}
	return out
}

// metadataKey matches the keys that google.rpc.ErrorInfo allows.
var metadataKey = regexp.MustCompile(`^[a-z][a-zA-Z0-9_-]{0,63}$`)

// wholeSeconds returns the known delay, or else the usual one, rounded up to seconds: Retry-After allows no
// fractions (RFC 9110 section 10.2.3), and the body must match it.
func wholeSeconds(known, usual time.Duration) time.Duration {
	d := known
	if d <= 0 {
		d = usual
	}
	return time.Duration(math.Ceil(d.Seconds())) * time.Second
}

// problemURL returns the URL of the page on a problem type.
func (a *api) problemURL(slug string) string { return a.publicURL + "/problems/" + slug }

// instanceOf returns the URN of a request, with which the operator can find the request in the log.
func instanceOf(requestID string) string { return "urn:frontdesk:request:" + url.PathEscape(requestID) }

// writeFailure responds with a failure in the style of its surface.
func (a *api) writeFailure(w http.ResponseWriter, f failure) error {
	status := f.status(f.surface)
	header := w.Header()
	if f.retry > 0 {
		header.Set("Retry-After", strconv.Itoa(int(f.retry/time.Second)))
	}
	body, contentType, err := a.render(f)
	if err != nil {
		return err
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// render returns the body of a failure in the style of its surface. Only render knows both styles.
func (a *api) render(f failure) (body []byte, contentType string, err error) {
	if f.surface.likeV1() {
		body, err = a.statusBody(f)
		return body, "application/json", err
	}
	body, err = json.Marshal(a.problemBody(f))
	return body, "application/problem+json", err
}
