package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/all"
	caldavfake "frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/connection"
	"frontdesk/core/gateway"
	"frontdesk/core/tenant"
)

// mcpCall returns a request of the Model Context Protocol.
func mcpCall(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

var mcpHeaders = []string{"Accept: application/json, text/event-stream", "Mcp-Protocol-Version: 2025-06-18"}

// BenchmarkTools compares calls of a tool with the call of the operation itself:
//
//	go test -run '^$' -bench Tools ./cmd/frontdesk
func BenchmarkTools(b *testing.B) {
	c := inProcess(b)
	const arguments = `{"ticket_number":"00001001"}`
	ways := []struct {
		name, path, body string
		headers          []string
	}{
		{"rest", "/v1/tickets/get-ticket", arguments, nil},
		{"mcp", "/mcp", mcpCall("tools/call", `{"name":"get_ticket","arguments":`+arguments+`}`), mcpHeaders},
		{"plain", "/alpha/agents/tools/get_ticket", arguments, nil},
		{"list", "/mcp", mcpCall("tools/list", `{}`), mcpHeaders},
	}
	took, size := map[string]time.Duration{}, 0
	for b.Loop() {
		for _, way := range ways {
			began := time.Now()
			a, err := c.call(http.MethodPost, way.path, way.body, way.headers...)
			took[way.name] += time.Since(began)
			if err != nil || a.status != http.StatusOK {
				b.Fatalf("%s: %d %s, %v", way.name, a.status, a.body, err)
			}
			size = len(a.body)
		}
	}
	each := func(name string) float64 { return took[name].Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(each("rest"), "rest-ms/op")
	b.ReportMetric(each("mcp")-each("rest"), "mcp-over-rest-ms/op")
	b.ReportMetric(each("plain")-each("rest"), "plain-over-rest-ms/op")
	b.ReportMetric(each("list"), "list-ms/op")
	b.ReportMetric(float64(size)/1024, "list-KiB")
}

// inProcess serves a demonstration gateway from this process.
func inProcess(tb testing.TB) caller {
	tb.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = tb.TempDir()
	cfg.Limits.RequestsPerMinutePerKey, cfg.Limits.RequestsPerMinutePerTenant = 0, 0
	g, err := gateway.Open(context.Background(), cfg, gateway.Options{
		Adapters: all.Adapters(), LogTo: io.Discard,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	key, err := g.Demo(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(g.Handler())
	tb.Cleanup(server.Close)
	return caller{t: tb, base: server.URL, key: key}
}

// BenchmarkCallStarted compares the answer before the first word with what it waits for, at a CRM and a calendar
// that take 50 ms:
//
//	go test -run '^$' -bench CallStarted ./cmd/frontdesk
func BenchmarkCallStarted(b *testing.B) {
	c := withLatency(b, 50*time.Millisecond)
	var took [2]time.Duration
	for b.Loop() {
		for i, way := range []struct{ path, body string }{
			{"/alpha/callers/look-up", `{"phone_number":"+12025550101"}`},
			{"/alpha/agents/elevenlabs/call-started", `{"caller_id":"+12025550101"}`},
		} {
			began := time.Now()
			a, err := c.call(http.MethodPost, way.path, way.body)
			took[i] += time.Since(began)
			if err != nil || a.status != http.StatusOK {
				b.Fatalf("%s: %d %s, %v", way.path, a.status, a.body, err)
			}
		}
	}
	b.ReportMetric(took[0].Seconds()*1000/float64(b.N), "look-up-ms/op")
	b.ReportMetric(float64(took[1])/float64(took[0]), "started/look-up")
}

// withLatency serves a tenant whose sandboxes take their time.
func withLatency(b *testing.B, latency time.Duration) caller {
	b.Helper()
	return serveTenant(b, func(g *gateway.Gateway) []connection.Spec {
		var all []connection.Spec
		for _, kind := range adapter.Kinds() {
			all = append(all, connection.Spec{
				Kind: kind, Provider: "sandbox", Name: string(kind), Settings: map[string]any{"latency": latency.String()},
			})
		}
		return all
	})
}

// serveTenant serves one tenant with connections from this process.
func serveTenant(b *testing.B, connections func(*gateway.Gateway) []connection.Spec, allow ...string) caller {
	b.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = b.TempDir()
	cfg.Limits.RequestsPerMinutePerKey, cfg.Limits.RequestsPerMinutePerTenant = 0, 0
	cfg.Egress.Allow = allow
	ctx := context.Background()
	g, err := gateway.Open(ctx, cfg, gateway.Options{Adapters: all.Adapters(), LogTo: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	if err := g.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	if _, err := g.Tenants().Create(ctx, "acme", tenant.Settings{}); err != nil {
		b.Fatal(err)
	}
	for _, spec := range connections(g) {
		if _, err := g.Connections().Add(ctx, "acme", spec); err != nil {
			b.Fatal(err)
		}
	}
	made, err := g.Admin().CreateKey(ctx, operator(), admin.Write{}, admin.NewKey{Tenant: "acme"})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(g.Handler())
	b.Cleanup(server.Close)
	return caller{t: b, base: server.URL, key: made.Record.Secret}
}

// BenchmarkTenCalendars finds slots, and lists events, in one calendar of a CalDAV server that takes 50 ms for each
// request, and in ten, which are asked at the same time:
//
//	go test -run '^$' -bench TenCalendars ./cmd/frontdesk
func BenchmarkTenCalendars(b *testing.B) {
	dav := caldavfake.New(caldavfake.Options{User: "desk", Password: "pass", Email: "desk@example.com"})
	ids := ""
	for i := range 10 {
		dav.AddCalendar(fmt.Sprintf("c%d", i), fmt.Sprintf("Calendar %d", i), "", false)
	}
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond)
		dav.ServeHTTP(w, r)
	}))
	b.Cleanup(slow.Close)
	c := serveTenant(b, func(*gateway.Gateway) []connection.Spec {
		return []connection.Spec{{
			Name: "dav", Kind: adapter.KindCalendar, Provider: "caldav", Settings: map[string]any{"url": slow.URL +
				"/dav/"},
			Credentials: map[string]string{"username": "desk", "password": "pass"},
		}}
	}, "127.0.0.0/8")
	var listed []any
	listed, _ = c.post(http.StatusOK, "calendar/list-calendars", `{}`).get("calendars").([]any)
	for i, each := range listed {
		if i > 0 {
			ids += ","
		}
		ids += fmt.Sprintf("%q", each.(map[string]any)["id"])
	}
	for path, body := range map[string]string{
		"/alpha/calendar/find-slots": `{"start":"2027-03-01","end":"2027-03-06","calendar_ids":[%s]}`,
		"/v1/calendar/list-events":   `{"start_time":"2027-03-01","end_time":"2027-03-06","selected_calendar_ids":[%s]}`,
	} {
		b.Run(path[strings.LastIndex(path, "/")+1:], func(b *testing.B) {
			took := map[int]time.Duration{}
			for b.Loop() {
				for calendars, some := range map[int]string{1: fmt.Sprintf("%q", listed[0].(map[string]any)["id"]),
					len(listed): ids} {
					began := time.Now()
					a, err := c.call(http.MethodPost, path, fmt.Sprintf(body, some))
					took[calendars] += time.Since(began)
					if err != nil || a.status != http.StatusOK || a.get("complete") == false {
						b.Fatalf("%d calendars: %d %s, %v", calendars, a.status, a.body, err)
					}
				}
			}
			b.ReportMetric(float64(took[1].Milliseconds())/float64(b.N), "one-ms/op")
			b.ReportMetric(float64(took[len(listed)])/float64(took[1]), "ten/one")
			b.ReportMetric(float64(len(listed)), "calendars")
		})
	}
}
