package gateway

import (
	"context"
	"io"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
)

// slowDesk is a calendar that does not answer in time. It tells how long it was waited for.
type slowDesk struct {
	calendar.Driver
	waits chan<- time.Duration
}

func (slowDesk) Traits() calendar.Traits { return calendar.Traits{} }

func (d slowDesk) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	end, has := ctx.Deadline()
	if !has {
		end = time.Now().Add(time.Hour)
	}
	d.waits <- time.Until(end)
	return nil, context.DeadlineExceeded
}

// The settings page and the command show an agent's tools without the zone rather than wait for a calendar as long as
// a call may take.
func TestToolsForAnAgentWaitForNoCalendar(t *testing.T) {
	t.Parallel()
	waits := make(chan time.Duration, 100)
	desk := adapter.Calendar(adapter.Declaration{
		Name: "dav", Title: "dav", Help: "For tests.", Auth: tenanttest.Dav().Auth,
	}, func(context.Context, tenanttest.DeskSettings, adapter.Environment) (calendar.Driver, error) {
		return slowDesk{waits: waits}, nil
	})
	g, err := Open(t.Context(), readyConfig(t, storetest.SQLite(t)), Options{
		LogTo: io.Discard, Adapters: []adapter.Adapter{desk},
	})
	tenanttest.Must(t, err)
	defer g.Close()
	tenanttest.Must(t, g.Migrate(t.Context()))
	_, err = g.Tenants().Create(t.Context(), "office", tenant.Settings{})
	tenanttest.Must(t, err)
	_, err = g.Connections().Add(t.Context(), "office", connection.Spec{
		Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
		Settings:    map[string]any{"url": "https://calendar.example.com/"},
		Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary},
	})
	tenanttest.Must(t, err)
	_, key, err := g.APIKeys().Create(t.Context(), "office", apikey.Spec{})
	tenanttest.Must(t, err)
	agent, err := g.APIKeys().CreateAgent(t.Context(), "office", apikey.AgentSpec{Platform: "vapi"})
	tenanttest.Must(t, err)
	_, err = g.AgentToolsOf(t.Context(), "vapi", key.ID)
	tenanttest.Must(t, err)
	_, err = g.AgentToolsAt(t.Context(), "vapi", agent.ID)
	tenanttest.Must(t, err)
	close(waits)
	asked := 0
	for wait := range waits {
		asked++
		if wait > zoneWithin {
			t.Errorf("a calendar is waited for %s", wait)
		}
	}
	if asked == 0 {
		t.Error("no calendar was asked for its zone")
	}
}
