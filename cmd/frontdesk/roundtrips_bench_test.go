package main

import (
	"context"
	"crypto/rsa"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"frontdesk/adapters/all"
	googlefake "frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/gateway"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// openGateway opens a gateway on a data directory, and serves it from this process.
func openGateway(t testing.TB, environ []string) (*gateway.Gateway, string, func()) {
	t.Helper()
	cfg, err := (&session{world: world{adapters: all.Adapters(), environ: environ}}).config()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.Open(context.Background(), cfg, gateway.Options{Adapters: all.Adapters(), LogTo: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.Handler())
	return g, server.URL, func() { server.Close(); g.Close() }
}

// roundTrips is a gateway, with one tenant whose account is at a Google Calendar that takes 50 ms for each request.
// The account has ten more calendars, and 2,500 events in its own in March 2027.
type roundTrips struct {
	b       *testing.B
	environ []string
	ids     []string
	spec    connection.Spec
	caller
	end func()
}

func newRoundTrips(b *testing.B) *roundTrips {
	b.Helper()
	dir := b.TempDir()
	storetest.CopyTables(b, filepath.Join(dir, "frontdesk.db"))
	r := &roundTrips{b: b, environ: []string{
		"FRONTDESK_DATA_DIR=" + dir, "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=0",
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=0",
	}}
	p := &fakeProvider{name: "google"}
	var fake *googlefake.Server
	base := p.serve(b, func(base string) http.Handler {
		fake = googlefake.New(googlefake.Options{
			Accounts: []string{customer}, Zone: "America/New_York",
			OAuth: oauthtest.Options{
				Issuer: base, Assertions: map[string]*rsa.PublicKey{robot: &robotKey().PublicKey},
			},
		})
		return fake
	})
	var answers sync.Map // by address: the fake makes each answer once, since its work is not measured
	p.put(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if !strings.HasPrefix(req.URL.Path, googlefake.APIPath) || req.Method != http.MethodGet {
			next.ServeHTTP(w, req)
			return
		}
		began := time.Now()
		made, there := answers.Load(req.URL.String())
		if !there {
			recorded := httptest.NewRecorder()
			next.ServeHTTP(recorded, req)
			made = recorded
			answers.Store(req.URL.String(), made)
		}
		answer := made.(*httptest.ResponseRecorder)
		time.Sleep(50*time.Millisecond - time.Since(began))
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
	r.environ = append(r.environ, "FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL="+base+googlefake.TokenPath,
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL="+base)
	for i := range 10 {
		id := fmt.Sprintf("c_%d@group.calendar.google.com", i)
		fake.AddCalendar(customer, googlefake.Calendar{ID: id, Name: id})
		r.ids = append(r.ids, fmt.Sprintf("%q", id))
	}
	for i := range 2500 {
		at := time.Date(2027, 3, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 15 * time.Minute)
		if _, err := fake.Make(customer, customer, map[string]any{
			"summary": fmt.Sprint("Meeting ", i), "start": map[string]any{"dateTime": at.Format(time.RFC3339)},
			"end": map[string]any{"dateTime": at.Add(10 * time.Minute).Format(time.RFC3339)},
		}); err != nil {
			b.Fatal(err)
		}
	}
	r.spec = connection.Spec{
		Kind: adapter.KindCalendar, Provider: "google", Settings: map[string]any{"subject": customer},
		Credentials: map[string]string{"service_account": serviceAccountFile(b, "1")},
	}
	g := r.open()
	r.key = r.tenant(g, "acme")
	b.Cleanup(func() { r.end() })
	return r
}

// open opens the gateway anew.
func (r *roundTrips) open() *gateway.Gateway {
	r.b.Helper()
	if r.end != nil {
		r.end()
	}
	g, base, end := openGateway(r.b, r.environ)
	r.caller.t, r.base, r.end = r.b, base, end
	return g
}

// tenant makes a tenant with the account, and returns its key.
func (r *roundTrips) tenant(g *gateway.Gateway, name string) string {
	r.b.Helper()
	ctx := context.Background()
	spec := r.spec
	spec.Name = "calendar"
	if _, err := g.Tenants().Create(ctx, name, tenant.Settings{Timezone: "America/New_York"}); err != nil {
		r.b.Fatal(err)
	}
	if _, err := g.Connections().Add(ctx, name, spec); err != nil {
		r.b.Fatal(err)
	}
	key, _, err := g.APIKeys().Create(ctx, name, apikey.Spec{})
	if err != nil {
		r.b.Fatal(err)
	}
	return key
}

// list lists the events from a day to another, and returns how long that took.
func (r *roundTrips) list(from, to string, ids ...string) time.Duration {
	began := time.Now()
	a, err := r.call(http.MethodPost, "/v1/calendar/list-events", fmt.Sprintf(
		`{"start_time":%q,"end_time":%q,"selected_calendar_ids":[%s]}`, from, to, strings.Join(ids, ",")))
	if err != nil || a.status != http.StatusOK {
		r.b.Errorf("%d %s, %v", a.status, a.body, err)
	}
	return time.Since(began)
}

// BenchmarkRoundTrips measures what calls wait for at a provider that takes 50 ms, as ratios within one run: ten
// calendars to one, eight callers of ten calendars each at once to one caller, 2,500 events to a page of about 500
// and to one of 28, and the first call of a tenant to its next, after a restart and where the tenant has just been
// connected.
//
//	go test -run '^$' -bench RoundTrips ./cmd/frontdesk
func BenchmarkRoundTrips(b *testing.B) {
	r := newRoundTrips(b)
	r.list("2027-06-01", "2027-06-02")
	b.Run("calendars", func(b *testing.B) {
		var one, ten, eight time.Duration
		for b.Loop() {
			one += r.list("2027-06-01", "2027-06-02", r.ids[0])
			ten += r.list("2027-06-01", "2027-06-02", r.ids...)
			began := time.Now()
			var group errgroup.Group
			for range 8 {
				group.Go(func() error { r.list("2027-06-01", "2027-06-02", r.ids...); return nil })
			}
			_ = group.Wait() // list reports what fails
			eight += time.Since(began)
		}
		b.ReportMetric(one.Seconds()*1000/float64(b.N), "one-ms/op")
		b.ReportMetric(float64(ten)/float64(one), "ten/one")
		b.ReportMetric(float64(eight)/float64(ten), "eight-callers/one")
	})
	b.Run("pages", func(b *testing.B) {
		list := func(to string) time.Duration { return r.list("2027-03-01", to) }
		const few, usual, all = "2027-03-01T15:00:00Z", "2027-03-06", "2027-03-31"
		var small, page, whole time.Duration
		for _, to := range []string{few, usual, all} {
			list(to)
		}
		for b.Loop() {
			small += list(few)
			page += list(usual)
			whole += list(all)
		}
		b.ReportMetric(float64(whole)/float64(page), "2500-events/page-of-500")
		b.ReportMetric(float64(whole)/float64(small), "2500-events/28-events")
	})
	b.Run("first", func(b *testing.B) {
		var first, fresh, next time.Duration
		for i := 0; b.Loop(); i++ {
			g := r.open()
			first += r.list("2027-06-01", "2027-06-02")
			next += r.list("2027-06-01", "2027-06-02")
			acme := r.key
			r.key = r.tenant(g, fmt.Sprintf("new-%d-%d", b.N, i))
			fresh += r.list("2027-06-01", "2027-06-02")
			r.key = acme
		}
		b.ReportMetric(float64(first)/float64(next), "first/next")
		b.ReportMetric(float64(fresh)/float64(next), "new/next")
	})
}
