package main

import (
	"net/http"
	"strings"
	"testing"
)

// The command changes the settings that it names and no others. So it does all that the page of a
// connection's opening hours does.
func TestConnectionSettingsAreChangedByCommand(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL)
		d.must("tenant", "create", "acme")
		d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox", "--set",
			"latency=1ms")
		change := []string{"connection", "change", "sandbox", "--tenant", "acme"}
		with := func(flags ...string) []string { return append(change[:len(change):len(change)], flags...) }
		d.must(with("--set", `slots={"duration_minutes":40,"open_hours":{"2037-03-09":"09:00-10:30"}}`)...)
		c := d.serve().as(d.must("key", "create", "--tenant", "acme"))
		ask := func() answer {
			return c.do(http.StatusOK, http.MethodPost, "/alpha/calendar/find-slots",
				`{"start":"2037-03-09","end":"2037-03-10"}`)
		}
		if a := ask(); len(a.get("slots").([]any)) != 2 || a.text("slots", 0, "end") != "2037-03-09T09:40:00Z" {
			t.Errorf("found: %s", a.body)
		}
		for _, wrong := range [][]string{
			with(), with("--set", "latency=2ms", "--unset", "latency"), with("--set", `slots={"duration_minutes":0}`),
			with("--set", "colour=red"), {"connection", "change", "nobody", "--tenant", "acme", "--unset", "slots"},
		} {
			if out, errs, code := d.do("", wrong...); code == 0 {
				t.Errorf("%v: %s%s", wrong, out, errs)
			}
		}
		list := d.must("connection", "list", "--tenant", "acme", "--json")
		if !strings.Contains(list, `"latency"`) || !strings.Contains(list, `40`) {
			t.Errorf("the settings are %s", list)
		}
		d.must(with("--unset", "slots")...)
		list = d.must("connection", "list", "--tenant", "acme", "--json")
		if !strings.Contains(list, `"latency"`) || strings.Contains(list, "slots") {
			t.Errorf("the settings are %s", list)
		}
		if audit := d.must("audit", "list"); !strings.Contains(audit, "settings.slots") {
			t.Errorf("the audit lacks the change: %s", audit)
		}
	})
}
