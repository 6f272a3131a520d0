//go:build attack

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
	telnyxfake "frontdesk/adapters/telephony/telnyx/fake"

	"frontdesk/adapters/all"
	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/gateway"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/tenant"
)

// createTenants creates a tenant for each list of connections, in a gateway that is not running yet, and
// returns their keys.
func (d *deployment) createTenants(s tenant.Settings, connections ...[]connection.Spec) (keys []string) {
	d.t.Helper()
	keys, err := d.tryCreateTenants(context.Background(), s, connections)
	if err != nil {
		d.t.Fatal(err)
	}
	return keys
}

func (d *deployment) tryCreateTenants(
	ctx context.Context, s tenant.Settings, connections [][]connection.Spec,
) (keys []string, err error) {
	ours := slices.DeleteFunc(slices.Clone(d.environ), func(v string) bool {
		return !strings.HasPrefix(v, "FRONTDESK_") || strings.HasPrefix(v, "FRONTDESK_TEST_")
	})
	cfg, err := (&session{world: world{adapters: all.Adapters(), environ: ours}}).config()
	if err != nil {
		return nil, err
	}
	g, err := gateway.Open(ctx, cfg, gateway.Options{Adapters: all.Adapters(), LogTo: io.Discard})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	if err := g.Migrate(ctx); err != nil {
		return nil, err
	}
	s.Timezone = "America/New_York"
	for i, list := range connections {
		name := fmt.Sprintf("tenant-%d", i)
		if _, err := g.Tenants().Create(ctx, name, s); err != nil {
			return nil, err
		}
		for _, c := range list {
			c.Name = string(c.Kind)
			if _, err := g.Connections().Add(ctx, name, c); err != nil {
				return nil, err
			}
		}
		key, _, err := g.APIKeys().Create(ctx, name, apikey.Spec{})
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// createTenantEach creates a tenant for each connection, and returns their keys.
func (d *deployment) createTenantEach(connections ...connection.Spec) (keys []string) {
	d.t.Helper()
	return d.createTenants(tenant.Settings{}, slices.Collect(slices.Chunk(connections, 1))...)
}

// account is one account at a fake provider, connected without anybody's consent, and the requests that use
// it.
type account struct {
	*fakeProvider
	connection    connection.Spec
	read          request
	create        func(name string) request
	change        func(made answer, name string) request // nil if things cannot be changed or removed
	remove        func(made answer) request
	there         func(c caller, name string) int // counts the things of that name; nil if unknown
	made          func() int                      // counts the things ever made; nil if unknown
	emptyWhenDone []string                        // operations whose success has an empty response
}

// writes lists the account's operations with an effect.
func (a account) writes() []string {
	if a.change == nil {
		return []string{"create"}
	}
	return []string{"create", "change", "remove"}
}

// request returns the request of an operation. What the operation changes or removes is created first.
func (a account) request(c caller, operation, name string) request {
	c.t.Helper()
	made := func(name string) answer {
		c.t.Helper()
		got, err := c.send(a.create(name))
		if err != nil || got.status/100 != 2 {
			c.t.Fatalf("to have something to %s: %v %d %s", operation, err, got.status, got.body)
		}
		return got
	}
	switch operation {
	case "read":
		return a.read
	case "change":
		return a.change(made("before "+name), name)
	case "remove":
		return a.remove(made(name))
	}
	return a.create(name)
}

// effects returns how many effects an operation with that name had.
func (a account) effects(c caller, operation, name string) int {
	n := a.there(c, name)
	if operation == "remove" {
		return 1 - n
	}
	return n
}

// Every provider needs an account, or the attacks leave it out.
func TestEveryProviderHasAnAccount(t *testing.T) {
	for _, a := range all.Adapters() {
		// A described provider is its adapter with other settings.
		if _, there := accounts()[adapter.Family(a.Name)]; !there && a.Name != "sandbox" {
			t.Errorf("no account at %s", a.Name)
		}
	}
}

// accounts returns functions that open an account at each provider other than the sandbox.
func accounts() map[string]func(testing.TB) account {
	return map[string]func(testing.TB) account{
		"caldav": func(t testing.TB) account {
			p := &fakeProvider{name: "caldav"}
			fake := caldavfake.New(caldavfake.Options{User: "pat", Password: "desk-secret", Email: customer})
			calendar := fake.AddCalendar("work", "Work", "", false)
			base := p.serve(t, func(string) http.Handler { return fake })
			return calendarAccount(account{fakeProvider: p, emptyWhenDone: []string{"change", "remove"},
				connection: connection.Spec{
					Provider: "caldav", Settings: map[string]any{
						"url": base + fake.Home(), "calendar": calendar, "trust_time_range": true,
					},
					Credentials: map[string]string{"username": "pat", "password": "desk-secret"},
				}})
		},
		"google": func(t testing.TB) account {
			p := fakeGoogle(t)
			p.environ = p.withoutClient()
			return calendarAccount(account{fakeProvider: p, emptyWhenDone: []string{"remove"},
				connection: connection.Spec{
					Provider: "google", Settings: map[string]any{"subject": customer},
					Credentials: map[string]string{"service_account": serviceAccountFile(t, "1")},
				}})
		},
		"microsoft": func(t testing.TB) account {
			return calendarAccount(account{fakeProvider: fakeMicrosoft(t), emptyWhenDone: []string{"remove"},
				connection: connection.Spec{
					Provider: "microsoft", Settings: map[string]any{"directory": "common", "mailbox": customer},
				}})
		},
		"salesforce": func(t testing.TB) account {
			p := &fakeProvider{name: "salesforce"}
			fake := salesforcefake.New(salesforcefake.Options{
				ExternalID: "Key__c", OAuth: oauthtest.Options{Clients: map[string]string{"app": "desk-secret"}},
			})
			base := p.serve(t, func(string) http.Handler { return fake })
			opened := func() int { n, _ := fake.Tickets(context.Background()); return n }
			return ticketAccount(account{fakeProvider: p, made: opened, connection: connection.Spec{
				Provider: "salesforce", Settings: map[string]any{
					"flow": "client_credentials", "client_id": "app", "base_url": base, "external_id_field": "Key__c",
				},
				Credentials: map[string]string{"client_secret": "desk-secret"},
			}})
		},
		"hubspot": func(t testing.TB) account {
			p := &fakeProvider{name: "hubspot"}
			fake := hubspotfake.New(hubspotfake.Options{
				Unique: []string{"key"}, Tokens: map[string][]string{"desk-secret": nil},
			})
			p.environ = []string{"FRONTDESK_PROVIDERS__HUBSPOT__API_URL=" + p.serve(t,
				func(string) http.Handler { return fake })}
			return ticketAccount(account{fakeProvider: p, made: fake.Count, connection: connection.Spec{
				Provider: "hubspot", Settings: map[string]any{"key_property": "key"},
				Credentials: map[string]string{"access_token": "desk-secret"},
			}})
		},
		"zendesk": func(t testing.TB) account {
			p := &fakeProvider{name: "zendesk"}
			fake := zendeskfake.New(zendeskfake.Options{AccessToken: "desk-secret"})
			return ticketAccount(account{
				fakeProvider: p, made: fake.Tickets,
				connection: zendeskAt(p.serve(t, func(string) http.Handler { return fake })),
			})
		},
		"freshdesk": func(t testing.TB) account {
			p := &fakeProvider{name: "freshdesk"}
			fake := freshdeskfake.New(freshdeskfake.Options{APIKey: "desk-secret"})
			base := p.serve(t, func(string) http.Handler { return fake })
			return ticketAccount(account{fakeProvider: p, made: fake.Tickets, connection: connection.Spec{
				Provider: "freshdesk", Settings: map[string]any{"base_url": base, "requester_email": "calls@example.com"},
				Credentials: map[string]string{"api_key": "desk-secret"},
			}})
		},
		"rest": func(t testing.TB) account {
			p, system := &fakeProvider{name: "rest"}, &ticketSystem{}
			settings := system.described(p.serve(t, func(string) http.Handler { return system }))
			return ticketAccount(account{fakeProvider: p, made: system.opened, connection: connection.Spec{
				Provider: "rest", Settings: settings, Credentials: map[string]string{"token": "desk-secret"},
			}})
		},
		"twilio": func(t testing.TB) account { return numberAccount(fakeTwilio(t), "remove") },
		"telnyx": func(t testing.TB) account { return numberAccount(telnyxWith(t, telnyxfake.Options{})) },
	}
}

// zendeskAt returns a connection to a fake Zendesk.
func zendeskAt(base string) connection.Spec {
	return connection.Spec{
		Kind: adapter.KindCRM, Provider: "zendesk", Settings: map[string]any{"base_url": base},
		Credentials: map[string]string{"access_token": "desk-secret"},
	}
}

func calendarAccount(a account) account {
	a.connection.Kind = adapter.KindCalendar
	a.read = request{
		path: "/v1/calendar/list-events",
		body: `{"start_time":"2027-03-01","end_time":"2027-03-09","timezone":"UTC"}`,
	}
	var booked atomic.Int64
	a.create = func(name string) request {
		at := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(booked.Add(1)) * time.Hour)
		return request{path: "/v1/calendar/book-meeting",
			body: fmt.Sprintf(`{"title":%q,"start_time":%q,"end_time":%q,"attendee_emails":["sam@example.com"]}`,
				name, at.Format(time.RFC3339), at.Add(30*time.Minute).Format(time.RFC3339))}
	}
	a.change = func(made answer, name string) request {
		return request{
			path: "/v1/calendar/update-meeting",
			body: fmt.Sprintf(`{"event_id":%q,"title":%q}`, made.text("event", "event_id"), name),
		}
	}
	a.remove = func(made answer) request {
		return request{
			path: "/v1/calendar/cancel-meeting", body: fmt.Sprintf(`{"event_id":%q}`, made.text("event", "event_id")),
		}
	}
	a.there = func(c caller, name string) (n int) {
		listed := c.post(200, "calendar/list-events", a.read.body)
		for i := range listed.get("events").([]any) {
			if listed.text("events", i, "subject") == name && listed.get("events", i, "is_cancelled") != true {
				n++
			}
		}
		return n
	}
	return a
}

func ticketAccount(a account) account {
	a.connection.Kind = adapter.KindCRM
	a.read = request{path: ticketPath, body: `{"ticket_number":"4711"}`}
	a.create = func(name string) request {
		return request{path: "/v1/tickets/create-ticket", body: fmt.Sprintf(`{"subject":%q}`, name)}
	}
	return a
}

func numberAccount(l *phoneAccount, emptyWhenDone ...string) account {
	a := account{
		fakeProvider: l.fakeProvider, connection: l.connection, made: l.bought, emptyWhenDone: emptyWhenDone,
	}
	a.read = request{verb: http.MethodGet, path: phoneNumbers}
	var bought atomic.Int64
	a.create = func(name string) request {
		area := sold[int(bought.Add(1))%len(sold)]
		return request{
			path: phoneNumbers, body: fmt.Sprintf(`{"area_code":%q,"name":%q,"inbound_cloud_employee_id":7}`,
				area, name),
		}
	}
	a.change = func(made answer, name string) request {
		return request{verb: http.MethodPatch, path: pathOf(made), body: fmt.Sprintf(`{"name":%q}`, name)}
	}
	a.remove = func(made answer) request { return request{verb: http.MethodDelete, path: pathOf(made)} }
	a.there = func(_ caller, name string) (n int) {
		for _, number := range l.held() {
			if number.name == name {
				n++
			}
		}
		return n
	}
	return a
}

// ofAPI reports whether a request to a provider is for its API, and not for a token.
func ofAPI(r *http.Request) bool { return !strings.Contains(r.URL.Path, "token") }

// mutates reports whether a request to a provider changes anything there.
func mutates(r *http.Request) bool {
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, "PROPFIND", "REPORT"},
		r.Method) {
		return false
	}
	for _, reading := range []string{"/$batch", "/search", "freeBusy", "getSchedule"} {
		if strings.Contains(r.URL.Path, reading) {
			return false
		}
	}
	return ofAPI(r)
}
