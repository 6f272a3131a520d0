package apply_test

import (
	"slices"
	"strings"
	"testing"

	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

// withAgent returns the desired state with one voice agent.
func withAgent() apply.Desired {
	want := desired()
	want.Tenants[0].Agents = []apply.Agent{{AgentSpec: apikey.AgentSpec{
		Platform: "retell", Signing: tenanttest.Canary + "-0123456789",
		Spec: apikey.Spec{Label: "reception", Connections: []string{"front-office"},
			Scopes: []apikey.Scope{"calendar:read"}},
	}}}
	return want
}

func TestAgentsAreApplied(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		const created = "create agent acme/reception: retell; scopes: calendar:read; connections: front-office; with credentials"
		if got := applied(h, withAgent(), apply.Options{DryRun: true}); !slices.Contains(got, created) {
			t.Errorf("got %q, want %q among it", got, created)
		}
		got := applied(h, withAgent(), apply.Options{})
		if !slices.ContainsFunc(got, func(line string) bool {
			return strings.HasPrefix(line, created+"; address: https://front.example/retell/agent_")
		}) {
			t.Errorf("got %q, want the address beside %q", got, created)
		}
		wantChanges(t, applied(h, withAgent(), apply.Options{}))
		there, err := h.Keys.ListAgents(t.Context(), "acme")
		if err != nil || len(there) != 1 {
			t.Fatalf("%v, %v", there, err)
		}

		changed := withAgent()
		a := &changed.Tenants[0].Agents[0]
		a.Scopes, a.Connections, a.Signing = nil, nil, tenanttest.Canary+"-9876543210"
		wantChanges(t, applied(h, changed, apply.Options{}),
			"update agent acme/reception: scopes: calendar:read -> "+
				"calendar:read, calendar:write, tickets:read, tickets:write, numbers:read, numbers:write; "+
				"connections: front-office -> none; credentials changed")
		wantChanges(t, applied(h, changed, apply.Options{}))
		a.Signing, a.KeepSigning = "", true
		wantChanges(t, applied(h, changed, apply.Options{}))
		agent, err := h.Callers.Agent(t.Context(), there[0].ID)
		if err != nil || string(agent.Signing) != tenanttest.Canary+"-9876543210" || len(agent.Caller.Scopes) != 6 {
			t.Errorf("%+v, %v", agent, err)
		}

		wantChanges(t, applied(h, desired(), apply.Options{}))
		wantChanges(t, applied(h, desired(), apply.Options{Prune: true}), "delete agent acme/reception")
		if _, err := h.Callers.Agent(t.Context(),
			there[0].ID); fault.From(err).Reason != apikey.ReasonAgentNotFound {
			t.Errorf("after its removal: %v", err)
		}
		applied(h, withAgent(), apply.Options{}) // the name is free again
	})
}

// An agent that goes with its connection, or to another one, does not hold the connection.
func TestApplyPrunesAConnectionThatItsAgentsLeave(t *testing.T) {
	removed, moved := desired(), withAgent()
	removed.Tenants[0].Connections = removed.Tenants[0].Connections[1:]
	moved.Tenants[0].Connections = moved.Tenants[0].Connections[1:]
	moved.Tenants[0].Agents[0].Connections = []string{"rehearsal"}
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		for _, rule := range []struct {
			name string
			want apply.Desired
			does string
		}{
			{"the agent moves", moved, "update agent acme/reception: connections: front-office -> rehearsal"},
			{"the agent goes too", removed, "delete agent acme/reception"},
		} {
			applied(h, withAgent(), apply.Options{})
			for _, o := range []apply.Options{{Prune: true, DryRun: true}, {Prune: true}} {
				got, err := h.Applier.Apply(t.Context(), rule.want, o)
				if err != nil || len(got) != 2 {
					t.Fatalf("%s: %v, %v", rule.name, got, err)
				}
				wantChanges(t, []string{got[0].String(), got[1].String()},
					rule.does, "delete connection acme/front-office: rehearsal becomes the default")
			}
		}
	})
}

func TestFaultyAgentsAreAllReportedBeforeAnythingChanges(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	want := withAgent()
	agents := &want.Tenants[0].Agents
	*agents = append(*agents, (*agents)[0], apply.Agent{AgentSpec: apikey.AgentSpec{
		Platform: "fax", Signing: "short", Spec: apikey.Spec{Label: "A B", Scopes: []apikey.Scope{"all"},
			Connections: []string{"none"}},
	}}, apply.Agent{AgentSpec: apikey.AgentSpec{
		Platform: "tools", Signing: "sixteen bytes or more\n", Spec: apikey.Spec{Label: "copied",
			Connections: []string{"front-office", "rehearsal", "front-office"}},
	}})
	_, err := h.Applier.Apply(t.Context(), want, apply.Options{})
	var paths []string
	for _, f := range tenanttest.WantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest).Fields {
		paths = append(paths, strings.TrimPrefix(f.Path, "tenants[0].agents"))
	}
	if want := []string{
		"[0].name", "[1].name", "[2].name", "[2].platform", "[2].credentials.signing", "[2].connections[0]", "[2].scopes[0]",
		"[3].credentials.signing", "[3].connections[1]",
	}; !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	if all, err := h.Tenants.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}
