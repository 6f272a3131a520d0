//go:build attack

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	caldavfake "frontdesk/adapters/calendar/caldav/fake"
	freshdeskfake "frontdesk/adapters/crm/freshdesk/fake"
	hubspotfake "frontdesk/adapters/crm/hubspot/fake"
	salesforcefake "frontdesk/adapters/crm/salesforce/fake"
	zendeskfake "frontdesk/adapters/crm/zendesk/fake"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store/storetest"
)

// victim is a provider that has the gateway killed while it is asked to write.
type victim struct {
	*pretended
	connect func(h *house, r *running)
	writes  []write
	blind   bool // it cannot tell what became of a call
}

// write is an operation of the interface with an effect at the provider.
type write struct {
	name    string
	asks    func(c caller, tag string) (method, path, body string) // prepares what the call is about
	effects func(c caller, tag string) int                         // of that call; nil: only all calls' can be counted, as tickets
}

// connecting is how a connection is made on the command line.
func connecting(add ...string) func(h *house, r *running) {
	return func(h *house, _ *running) {
		h.must(append([]string{"connection", "add", "--tenant", "acme"}, add...)...)
	}
}

func victims() map[string]func(t *testing.T) *victim {
	byConsent := func(start func(testing.TB) *pretended) func(t *testing.T) *victim {
		return func(t *testing.T) *victim {
			p := start(t)
			return &victim{pretended: p, connect: func(h *house, r *running) { p.connect(h, r) }, writes: onCalendars()}
		}
	}
	onTheLine := func(start func(testing.TB) *line) func(t *testing.T) *victim {
		return func(t *testing.T) *victim {
			l := start(t)
			return &victim{pretended: l.pretended, connect: connecting(append([]string{"--kind", "telephony"}, l.connect...)...), writes: onNumbers(l)}
		}
	}
	return map[string]func(t *testing.T) *victim{
		"google":    byConsent(pretendGoogle),
		"microsoft": byConsent(pretendMicrosoft),
		"caldav": func(t *testing.T) *victim {
			p, add := pretendCalDAV(t)
			return &victim{pretended: p, connect: connecting(add...), writes: onCalendars()}
		},
		"salesforce": func(t *testing.T) *victim {
			p := &pretended{name: "salesforce"}
			fake := salesforcefake.New(salesforcefake.Options{ExternalID: "Key__c", OAuth: oauthtest.Options{Clients: map[string]string{"app": "desk-secret-token"}}})
			base := p.serve(t, func(string) http.Handler { return fake })
			p.tickets = func() int { n, _ := fake.Tickets(t.Context()); return n }
			return &victim{pretended: p, writes: onTickets(p), connect: connecting("--kind", "crm", "--provider", "salesforce", "--set", "flow=client_credentials", "--set", "client_id=app",
				"--set", "base_url="+base, "--set", "external_id_field=Key__c", "--secret", "client_secret=env:ACCESS_TOKEN")}
		},
		"hubspot": func(t *testing.T) *victim {
			p := &pretended{name: "hubspot"}
			fake := hubspotfake.New(hubspotfake.Options{Unique: []string{"key"}, Tokens: map[string][]string{"desk-secret-token": nil}})
			base := p.serve(t, func(string) http.Handler { return fake })
			p.environ, p.tickets = []string{"FRONTDESK_PROVIDERS__HUBSPOT__API_URL=" + base}, fake.Count
			return &victim{pretended: p, writes: onTickets(p), connect: connecting("--kind", "crm", "--provider", "hubspot", "--set", "key_property=key", "--secret", "access_token=env:ACCESS_TOKEN")}
		},
		"zendesk": func(t *testing.T) *victim {
			p := &pretended{name: "zendesk"}
			fake := zendeskfake.New(zendeskfake.Options{AccessToken: "desk-secret-token"})
			base := p.serve(t, func(string) http.Handler { return fake })
			p.tickets = fake.Tickets
			return &victim{pretended: p, writes: onTickets(p), connect: connecting("--kind", "crm", "--provider", "zendesk", "--set", "base_url="+base, "--secret", "access_token=env:ACCESS_TOKEN")}
		},
		"freshdesk": func(t *testing.T) *victim {
			p := &pretended{name: "freshdesk"}
			fake := freshdeskfake.New(freshdeskfake.Options{APIKey: "desk-secret-token"})
			base := p.serve(t, func(string) http.Handler { return fake })
			p.tickets = fake.Tickets
			return &victim{pretended: p, blind: true, writes: onTickets(p), connect: connecting("--kind", "crm", "--provider", "freshdesk", "--set", "base_url="+base,
				"--set", "requester_email=calls@example.com", "--secret", "api_key=env:ACCESS_TOKEN")}
		},
		"twilio": onTheLine(pretendTwilio),
		"telnyx": onTheLine(pretendTelnyx),
	}
}

// pretendCalDAV is a calendar server that is not there, and what "connection add" is told of it.
func pretendCalDAV(t testing.TB) (p *pretended, add []string) {
	p = &pretended{name: "caldav"}
	fake := caldavfake.New(caldavfake.Options{User: "pat", Password: "dav-secret", Email: customer})
	fake.AddCalendar("work", "Work", "", false)
	base := p.serve(t, func(string) http.Handler { return fake })
	p.environ = []string{"DAV_USER=pat", "DAV_PASSWORD=dav-secret"}
	return p, []string{"--kind", "calendar", "--provider", "caldav", "--set", "url=" + base + fake.Home(), "--secret", "username=env:DAV_USER", "--secret", "password=env:DAV_PASSWORD"}
}

func onCalendars() []write {
	var slots atomic.Int64
	// live counts the meetings of that title that are not cancelled.
	live := func(c caller, title string) (n int) {
		listed := c.post(200, "calendar/list-events", `{"start_time": "2027-03-01T00:00:00Z", "end_time": "2027-03-09T00:00:00Z"}`)
		for i := range listed.get("events").([]any) {
			if listed.text("events", i, "subject") == title && listed.get("events", i, "is_cancelled") != true {
				n++
			}
		}
		return n
	}
	booking := func(title string) string {
		at := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(slots.Add(1)) * time.Hour)
		return fmt.Sprintf(`{"title": %q, "start_time": %q, "end_time": %q, "attendee_emails": ["sam@example.com"]}`, title, at.Format(time.RFC3339), at.Add(30*time.Minute).Format(time.RFC3339))
	}
	booked := func(c caller, title string) string {
		return c.post(200, "calendar/book-meeting", booking(title)).text("event", "event_id")
	}
	return []write{
		{"book", func(_ caller, tag string) (string, string, string) {
			return http.MethodPost, "/v1/calendar/book-meeting", booking(tag)
		}, live},
		{"update", func(c caller, tag string) (string, string, string) {
			return http.MethodPost, "/v1/calendar/update-meeting", fmt.Sprintf(`{"event_id": %q, "title": %q}`, booked(c, "before "+tag), tag)
		}, live},
		{"cancel", func(c caller, tag string) (string, string, string) {
			return http.MethodPost, "/v1/calendar/cancel-meeting", fmt.Sprintf(`{"event_id": %q}`, booked(c, tag))
		}, func(c caller, tag string) int { return 1 - live(c, tag) }},
	}
}

func onTickets(p *pretended) []write {
	return []write{{"create", func(c caller, tag string) (string, string, string) {
		return http.MethodPost, "/v1/tickets/create-ticket", fmt.Sprintf(`{"subject": %q}`, tag)
	}, nil}}
}

func onNumbers(l *line) []write {
	var bought atomic.Int64
	area := func() string { return []string{"415", "416", "604"}[bought.Add(1)%3] } // each has a few numbers for sale
	named := func(_ caller, tag string) (n int) {
		for _, number := range l.held() {
			if number.name == tag {
				n++
			}
		}
		return n
	}
	return []write{
		{"buy", func(_ caller, tag string) (string, string, string) {
			return http.MethodPost, phoneNumbers, fmt.Sprintf(`{"area_code": %q, "name": %q, "inbound_cloud_employee_id": 7}`, area(), tag)
		}, named},
		{"change", func(c caller, tag string) (string, string, string) {
			return http.MethodPatch, pathOf(c.buy(area(), "")), fmt.Sprintf(`{"name": %q}`, tag)
		}, named},
		{"release", func(c caller, tag string) (string, string, string) {
			return http.MethodDelete, pathOf(c.buy(area(), fmt.Sprintf(`, "name": %q`, tag))), ""
		}, func(c caller, tag string) int { return 1 - named(c, tag) }},
	}
}

// mutates reports whether a request to a provider changes anything there.
func mutates(req *http.Request) bool {
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, "PROPFIND", "REPORT"}, req.Method) {
		return false
	}
	for _, reading := range []string{"token", "/$batch", "/search", "freeBusy", "getSchedule"} {
		if strings.Contains(req.URL.Path, reading) {
			return false
		}
	}
	return true
}

// TestKillAtEveryWriteOfEveryProvider kills the gateway at each writing request that each operation makes at each provider:
// when the request has come and nothing is done yet, and when it is done and not answered. The call that is repeated under
// its key, at another process, has one effect; where a provider cannot tell, it is said that the outcome is unknown, and
// there is no second effect. With FRONTDESK_KILLS set, each is done on both stores.
func TestKillAtEveryWriteOfEveryProvider(t *testing.T) {
	t.Parallel()
	stores := []struct {
		name string
		open func(testing.TB) string
	}{{"SQLite", func(testing.TB) string { return "" }}, {"PostgreSQL", storetest.Postgres}}
	i := 0
	for _, name := range []string{"google", "microsoft", "caldav", "salesforce", "hubspot", "zendesk", "freshdesk", "twilio", "telnyx"} {
		for n, store := range stores {
			if os.Getenv("FRONTDESK_KILLS") == "" && n != i%len(stores) {
				continue
			}
			t.Run(name+" on "+store.name, func(t *testing.T) {
				t.Parallel()
				killAtEveryWrite(t, victims()[name](t), store.open(t))
			})
		}
		i++
	}
}

func killAtEveryWrite(t *testing.T, v *victim, storeURL string) {
	h := newHouse(t, storeURL, append(v.environ, "ACCESS_TOKEN=desk-secret-token", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8", "FRONTDESK_RESILIENCE__DEADLINE=4s")...)
	h.must("tenant", "create", "acme", "--max-purchases-per-day", "100")
	r := h.servePublicly()
	key := h.must("key", "create", "--tenant", "acme")
	v.connect(h, r)
	type cut struct {
		write                     write
		point, method, path, body string
	}
	var cuts []cut
	certain := 0 // what was done when the gateway died
	for _, w := range v.writes {
		points := 0
		for n := 1; ; n++ {
			reached := 0
			for _, after := range []bool{false, true} {
				point := fmt.Sprintf("%s-%d-%v", w.name, n, after)
				method, path, body := w.asks(r.as(key), point)
				killed := v.killAt(r, n, after)
				a, err := r.as(key).call(method, path, body, "Idempotency-Key: "+point)
				v.put(nil)
				if err == nil { // it makes no such request
					if a.status/100 != 2 {
						t.Fatalf("%s: without a kill it is answered %d %s", point, a.status, a.body)
					}
					certain++
					break
				}
				<-killed
				reached++
				if after {
					certain++
				}
				cuts = append(cuts, cut{w, point, method, path, body})
				h.wantSound()
				r = h.serve()
			}
			if reached == 0 {
				break
			}
			points++
		}
		if points == 0 {
			t.Errorf("%s makes no writing request", w.name)
		}
	}
	for _, c := range cuts {
		v.settled(t, r.as(key), c.method, c.path, c.body, c.point)
		if c.write.effects == nil {
			continue
		}
		if got := c.write.effects(r.as(key), c.point); got != 1 {
			t.Errorf("%s: %d effects", c.point, got)
		}
	}
	if v.tickets != nil {
		want := len(cuts) + 1
		if v.blind {
			want = certain
		}
		if got := v.tickets(); got != want {
			t.Errorf("%d tickets, want %d", got, want)
		}
	}
	t.Logf("%d kills", len(cuts))
}

// killAt has the gateway killed at its n-th writing request from now on.
func (v *victim) killAt(r *running, n int, after bool) (killed chan struct{}) {
	killed = make(chan struct{})
	var made atomic.Int64
	v.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if !mutates(req) || made.Add(1) != int64(n) {
			serve.ServeHTTP(w, req)
			return
		}
		if after {
			serve.ServeHTTP(httptest.NewRecorder(), req)
		}
		r.kill()
		close(killed)
	})
	return killed
}

// settled asks again until there is a final answer, which has to come within 30 seconds.
func (v *victim) settled(t *testing.T, c caller, method, path, body, key string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		a, err := c.call(method, path, body, "Idempotency-Key: "+key)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.status/100 == 2:
			return
		case v.blind && a.status == http.StatusConflict && a.reason() == "OUTCOME_UNKNOWN":
			return
		case time.Since(began) > 30*time.Second:
			t.Fatalf("%s is not settled: %d %s", key, a.status, a.body)
		}
	}
}
