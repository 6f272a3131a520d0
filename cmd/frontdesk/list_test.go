package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A tenant's administrator and server write texts that the operator reads. None forges a row of a table or steers the
// terminal.
func TestWhatOthersWroteStaysInItsCell(t *testing.T) {
	t.Parallel()
	const hostile = "Desk\x1b[2J\nkey_FAKE  fd_live_FAKE\tagent"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"name": hostile})
	}))
	defer server.Close()
	d := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "rest", "--name", "desk",
		"--set", "base_url="+server.URL, "--set", `account={"steps":[{"name":"me","path":"me"}],"name":".steps.me.body.name"}`,
		"--set", "statuses=open", "--set", `create={"steps":[{"name":"create","method":"POST","path":"tickets"}],`+
			`"ticket":{"id":".steps.create.body.id","number":".steps.create.body.id"}}`)
	d.must("key", "create", "--tenant", "acme", "--label", hostile)

	keys := d.must("key", "list", "--tenant", "acme")
	if strings.Count(keys, "\n") != 1 || strings.Contains(keys, "\x1b") {
		t.Errorf("key list:\n%q", keys)
	}
	out, errs, code := d.do("", "connection", "verify", "--tenant", "acme", "desk")
	if code != exitOK || strings.Contains(out+errs, "\x1b") || strings.Count(out, "\n") != 1 {
		t.Errorf("connection verify: exit %d\n%q\n%q", code, out, errs)
	}
	if out, _, _ := d.do("", "doctor"); !strings.Contains(out, `Desk\x1b[2J`) || strings.Contains(out, "\x1b") {
		t.Errorf("doctor:\n%q", out)
	}
}
