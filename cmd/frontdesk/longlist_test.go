package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	microsoftfake "frontdesk/adapters/calendar/microsoft/fake"
)

// A long list at Microsoft is read in parts side by side. Whatever happens to one of them, the answer is the whole
// list or an error. A caller who heard of half a calendar would book over the other half.
func TestALongListIsWholeWhateverHappensToOneOfItsParts(t *testing.T) {
	t.Parallel()
	const events = 1100 // more than a page
	p := filledMicrosoft(t, func(fake *microsoftfake.Server) {
		for i := range events {
			at := time.Date(2027, 3, 1, 0, 10*i, 0, 0, time.UTC)
			if _, err := fake.Free(fake.Default(), fmt.Sprint("Meeting ", i), at, at.Add(5*time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
	})
	d := newDeployment(t, "", append(p.environ, longDeadlines()...)...)
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "microsoft",
		"--set", "directory=common", "--set", "mailbox="+customer)
	c := d.serve().as(d.must("key", "create", "--tenant", "acme"))
	const window = `{"start_time":"2027-03-01","end_time":"2027-03-09","timezone":"UTC"}`
	subjects := func(a answer) (all []string) {
		for _, event := range a.get("events").([]any) {
			all = append(all, event.(map[string]any)["subject"].(string))
		}
		return all
	}
	whole := subjects(c.post(200, "calendar/list-events", window))
	if len(whole) != events {
		t.Fatalf("%d events of %d", len(whole), events)
	}

	// with lists while something happens to one of the requests.
	with := func(what string, request int64, happens http.HandlerFunc, status int, reason string) {
		t.Helper()
		var asked atomic.Int64
		p.put(func(w http.ResponseWriter, r *http.Request, fake http.Handler) {
			if strings.HasSuffix(r.URL.Path, "/calendarView") && asked.Add(1) == request {
				happens(w, r)
				return
			}
			fake.ServeHTTP(w, r)
		})
		got := c.post(status, "calendar/list-events", window)
		switch {
		case status != 200:
			if got.reason() != reason {
				t.Errorf("%s, request %d: %s", what, request, got.body)
			}
		case !slices.Equal(subjects(got), whole):
			t.Errorf("%s, request %d: %d events of %d", what, request, len(subjects(got)), events)
		}
		if n := asked.Load(); n < 4 || n > 6 {
			t.Errorf("%s, request %d: the list is %d requests, not four parts and what failed", what, request, n)
		}
	}
	for what, happens := range map[string]http.HandlerFunc{
		"its connection is cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"it fails": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"code":"serviceNotAvailable"}}`, http.StatusServiceUnavailable)
		},
		"it is cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"value":[`))
		},
	} {
		for request := range int64(4) {
			with(what, request+1, happens, 200, "")
		}
	}
	with("it is throttled", 2, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		http.Error(w, `{"error":{"code":"ApplicationThrottled"}}`, http.StatusTooManyRequests)
	}, 429, "PROVIDER_RATE_LIMITED")
}
