package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"time"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"frontdesk/core/record"
)

// baselines serves what a gateway is compared with, each kind in a process of its own:
//
//   - floor does the least that a gateway must do: it decodes a request, makes one call of the provider,
//     decodes the answer and encodes its own.
//   - proxy is httputil.ReverseProxy, which decodes nothing.
//   - client is Google's own Go library behind the same server as the floor.
type baselines struct {
	client  *http.Client
	api     *gcal.Service
	base    string
	address string // the request of the provider that the gateway makes
	token   string
}

// serveBaseline is the part that serves one of them.
func serveBaseline(ctx context.Context, kind string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet(kind, flag.ContinueOnError)
	dir := flags.String("dir", "", "where the authority's certificate is")
	base := flags.String("provider", "", "the provider's address")
	request := flags.String("request", "", "the path and query with which the gateway lists events")
	token := flags.String("token", "", "an access token")
	if err := flags.Parse(args); err != nil {
		return err
	}
	transport, err := trusting(*dir)
	if err != nil {
		return err
	}
	b := &baselines{
		client: &http.Client{Transport: transport}, base: *base, address: *base + *request, token: *token,
	}
	var handler http.Handler
	switch kind {
	case "floor":
		handler = http.HandlerFunc(b.floor)
	case "proxy":
		at, err := url.Parse(b.address)
		if err != nil {
			return err
		}
		handler = &httputil.ReverseProxy{
			Transport: transport,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.Method, r.Out.Body, r.Out.ContentLength = http.MethodGet, http.NoBody, 0
				r.Out.URL, r.Out.Host = at, ""
				r.Out.Header = http.Header{"Authorization": {"Bearer " + b.token}}
			},
		}
	case "client":
		b.api, err = gcal.NewService(ctx,
			option.WithHTTPClient(&http.Client{Transport: bearer{transport, b.token}}),
			option.WithEndpoint(b.base+"/calendar/v3/"))
		if err != nil {
			return err
		}
		handler = http.HandlerFunc(b.library)
	}
	listener, _, err := listenTwice(ctx)
	if err != nil {
		return err
	}
	if err := sayReady(out, map[string]string{"api": listener.Addr().String()}); err != nil {
		return err
	}
	return (&http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// trusting returns a transport that trusts the upstream's authority and is otherwise as the gateway's.
func trusting(dir string) (*http.Transport, error) {
	raw, err := os.ReadFile(filepath.Join(dir, authorityFile))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(raw) {
		return nil, errors.New("the authority's certificate cannot be read")
	}
	return &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64,
	}, nil
}

// bearer adds the access token to requests.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// listRequest is the request of list-events.
type listRequest struct {
	Start     string   `json:"start_time"`
	End       string   `json:"end_time"`
	Calendars []string `json:"selected_calendar_ids"`
}

// googlePage is what the records need of Google's answer.
type googlePage struct {
	Items []struct {
		ID        string `json:"id"`
		Status    string `json:"status"`
		Summary   string `json:"summary"`
		Link      string `json:"htmlLink"`
		Meet      string `json:"hangoutLink"`
		Organizer googlePerson
		Start     googleTime
		End       googleTime
		Attendees []googlePerson
	} `json:"items"`
}

type googlePerson struct {
	Email    string `json:"email"`
	Name     string `json:"displayName"`
	Response string `json:"responseStatus"`
	Optional bool   `json:"optional"`
}

type googleTime struct {
	DateTime string `json:"dateTime"`
	Date     string `json:"date"`
}

func (b *baselines) floor(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/free" {
		b.free(w, r)
		return
	}
	var asked listRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var page googlePage
	if err := b.call(r.Context(), http.MethodGet, b.address, nil, &page); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer := record.EventsAnswer{Events: make([]record.Event, 0, len(page.Items))}
	for _, e := range page.Items {
		attendees := make([]record.Attendee, 0, len(e.Attendees))
		for _, a := range e.Attendees {
			attendees = append(attendees, attendee(a.Email, a.Name, a.Response, a.Optional))
		}
		answer.Events = append(answer.Events, record.Event{
			EventID: e.ID, Subject: e.Summary, StartTime: e.Start.DateTime, EndTime: e.End.DateTime,
			OrganizerEmail: e.Organizer.Email, Attendees: attendees,
			EventURL: e.Link, IsCancelled: e.Status == "cancelled",
		})
	}
	respond(w, answer)
}

func attendee(email, name, response string, optional bool) record.Attendee {
	a := record.Attendee{Email: email, Name: name, Type: "required", ResponseStatus: response}
	if optional {
		a.Type = "optional"
	}
	if response == "needsAction" {
		a.ResponseStatus = "needs_action"
	}
	return a
}

// free is the floor of find-slots: it asks which times are busy, and repeats the answer.
func (b *baselines) free(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Start     string   `json:"start"`
		End       string   `json:"end"`
		Calendars []string `json:"calendar_ids"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type item struct {
		ID string `json:"id"`
	}
	question := map[string]any{"timeMin": asked.Start, "timeMax": asked.End}
	var items []item
	for _, id := range asked.Calendars {
		items = append(items, item{id})
	}
	question["items"] = items
	raw, err := json.Marshal(question)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var answer struct {
		Calendars map[string]struct {
			Busy []struct{ Start, End string } `json:"busy"`
		} `json:"calendars"`
	}
	if err := b.call(r.Context(), http.MethodPost, b.base+"/calendar/v3/freeBusy", raw, &answer); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	respond(w, answer)
}

// call makes a request of the provider and decodes its answer.
func (b *baselines) call(ctx context.Context, method, address string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the provider answers %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// library answers list-events by Google's library.
func (b *baselines) library(w http.ResponseWriter, r *http.Request) {
	var asked listRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Calendars) != 1 {
		http.Error(w, "one calendar, please", http.StatusBadRequest)
		return
	}
	page, err := b.list(r.Context(), asked.Calendars[0])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer := record.EventsAnswer{Events: make([]record.Event, 0, len(page.Items))}
	for _, e := range page.Items {
		attendees := make([]record.Attendee, 0, len(e.Attendees))
		for _, a := range e.Attendees {
			attendees = append(attendees, attendee(a.Email, a.DisplayName, a.ResponseStatus, a.Optional))
		}
		answer.Events = append(answer.Events, record.Event{
			EventID: e.Id, Subject: e.Summary, StartTime: e.Start.DateTime, EndTime: e.End.DateTime,
			OrganizerEmail: e.Organizer.Email, Attendees: attendees,
			EventURL: e.HtmlLink, IsCancelled: e.Status == "cancelled",
		})
	}
	respond(w, answer)
}

// list makes the same request as the gateway, by the library.
func (b *baselines) list(ctx context.Context, id string) (*gcal.Events, error) {
	at, err := url.Parse(b.address)
	if err != nil {
		return nil, err
	}
	var options []googleapi.CallOption
	for name, values := range at.Query() {
		if name != "alt" && name != "prettyPrint" { // the library sets these itself
			options = append(options, googleapi.QueryParameter(name, values...))
		}
	}
	return b.api.Events.List(id).Context(ctx).Do(options...)
}

func respond(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the caller may have disconnected
}
