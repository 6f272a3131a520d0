package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/agenttools"
)

// What the command prints for a key is what an agent with that key can call.
func TestToolsForAnAgentCanBeCalled(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "FRONTDESK_SERVER__PUBLIC_URL=https://gw.example/desk")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox")
	key := d.must("key", "create", "--tenant", "acme", "--scope", "calendar:read", "--scope", "calendar:write")
	var keys []struct{ ID string }
	if err := json.Unmarshal([]byte(d.must("key", "list", "--tenant", "acme", "--json")), &keys); err != nil {
		t.Fatal(err)
	}
	out, errs, code := d.do("", "agent-tools", "--platform", "json", "--key", keys[0].ID)
	var tools []struct {
		Name, URL string
		Headers   map[string]string
	}
	if err := json.Unmarshal([]byte(out), &tools); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	var names []string
	r := d.serve()
	for _, tool := range tools {
		names = append(names, tool.Name)
		path, ours := strings.CutPrefix(tool.URL, "https://gw.example/desk")
		if !ours || tool.Headers["X-Api-Key"] != "YOUR_API_KEY" {
			t.Errorf("%s is called at %s with %v", tool.Name, tool.URL, tool.Headers)
		}
		a, err := r.as(strings.TrimSpace(key)).call(http.MethodPost, path, `{}`)
		if err != nil || a.status != http.StatusOK && a.status != http.StatusBadRequest {
			t.Errorf("%s at %s: %d, %v", tool.Name, path, a.status, err)
		}
	}
	slices.Sort(names)
	want := []string{
		"book_slot", "cancel_meeting", "find_meetings", "find_slots", "hold_slot", "move_meeting",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the tools are %v, want %v", names, want)
	}
	if !strings.Contains(errs, "1. ") || !strings.Contains(errs, "wait for a yes") ||
		strings.Contains(out, "fd_") {
		t.Errorf("standard error says\n%s", errs)
	}
	prompt := d.must("agent-tools", "--platform", "retell", "--key", keys[0].ID, "--prompt")
	if !strings.HasPrefix(prompt, "- You answer the telephone") {
		t.Errorf("the prompt is %s", prompt)
	}
}

func TestToolsForAnAgentByScopes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	d.must("admin", "key", "create", "--label", "platform")
	var admins []struct{ ID string }
	if err := json.Unmarshal([]byte(d.must("admin", "key", "list", "--json")), &admins); err != nil {
		t.Fatal(err)
	}
	for _, platform := range agenttools.IDs() {
		out, errs, code := d.do("", "agent-tools", "--platform", platform, "--key-scopes", "calendar:read")
		if code != exitOK || !strings.Contains(out, "find_slots") || strings.Contains(out, "book_slot") {
			t.Errorf("%s: exit %d\n%s\n%s", platform, code, out, errs)
		}
	}
	for _, c := range []struct {
		says string
		code int
		args []string
	}{
		{"no platform", exitUsage, nil},
		{"a platform there is not", exitUsage, []string{"--platform", "siri"}},
		{"a scope there is not", exitUsage, []string{"--platform", "vapi", "--scopes", "calendar:all"}},
		{"a scope of administrators", exitUsage, []string{"--platform", "vapi", "--scopes", "admin:write"}},
		{"a base that is no address", exitUsage, []string{"--platform", "vapi", "--base-url", "gw.example"}},
		{"both", exitUsage, []string{"--platform", "vapi", "--key-scopes", "calendar:read", "--key", "key_1"}},
		{"an unknown key", exitFailed, []string{"--platform", "vapi", "--key", "key_1"}},
		{"a key of the admin interface", exitFailed, []string{"--platform", "vapi", "--key", admins[0].ID}},
	} {
		out, errs, code := d.do("", append([]string{"agent-tools"}, c.args...)...)
		if code != c.code || out != "" {
			t.Errorf("%s: exit %d\n%s\n%s", c.says, code, out, errs)
		}
	}
}

// The time zone is that of the calendar in which the tools offer slots, and not the tenant's, which is for calendars
// without one.
func TestToolsForAnAgentNameTheZoneOfTheCalendar(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme", "--timezone", "America/New_York")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox",
		"--set", "timezone=Europe/Berlin")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox",
		"--name", "branch", "--set", "timezone=Asia/Tokyo")
	for _, c := range []struct{ of, connection, zone string }{
		{"key", "sandbox", "Europe/Berlin"},
		{"key", "branch", "Asia/Tokyo"},
		{"agent", "branch", "Asia/Tokyo"},
	} {
		add := []string{c.of, "create", "--tenant", "acme", "--connection", c.connection}
		if c.of == "agent" {
			add[1] = "add"
			add = append(add, "--platform", "retell")
		}
		d.must(add...)
		var all []struct {
			ID          string
			Connections []string
		}
		if err := json.Unmarshal([]byte(d.must(c.of, "list", "--tenant", "acme", "--json")), &all); err != nil {
			t.Fatal(err)
		}
		for _, each := range all {
			if !slices.Contains(each.Connections, c.connection) {
				continue
			}
			prompt := d.must("agent-tools", "--platform", "retell", "--"+c.of, each.ID, "--prompt")
			if !strings.Contains(prompt, "The time zone of the business is "+c.zone+".") {
				t.Errorf("the prompt for the %s with %s is\n%s", c.of, c.connection, prompt)
			}
		}
	}
}

// The platform may reach the gateway at another address than customers do.
func TestToolsForAnAgentAreAtTheBaseURL(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "FRONTDESK_SERVER__PUBLIC_URL=https://gw.example/desk")
	d.must("tenant", "create", "acme")
	d.must("key", "create", "--tenant", "acme")
	d.must("agent", "add", "--tenant", "acme", "--platform", "retell")
	id := func(of string) string {
		var all []struct{ ID string }
		if err := json.Unmarshal([]byte(d.must(of, "list", "--tenant", "acme", "--json")), &all); err != nil ||
			len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		return all[0].ID
	}
	for _, args := range [][]string{
		{"--scopes", "calendar:read"}, {"--key-scopes", "calendar:read"}, {"--key", id("key")}, {"--agent", id("agent")},
	} {
		args = append([]string{"agent-tools", "--platform", "retell"}, args...)
		if out := d.must(args...); !strings.Contains(out, `"https://gw.example/desk/`) {
			t.Errorf("%s: server.public_url is not called:\n%s", args, out)
		}
		out := d.must(append(args, "--base-url", "https://agents.example/")...)
		if !strings.Contains(out, `"https://agents.example/alpha/`) || strings.Contains(out, "gw.example") {
			t.Errorf("%s: the base is not called:\n%s", args, out)
		}
	}
}
