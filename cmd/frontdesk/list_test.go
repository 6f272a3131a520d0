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

// Names stay readable in every script: Persian and Hindi have joiners within words (Unicode 17, section 23.2), and so
// have emoji.
func TestNamesStayReadableOnATerminal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Zoë", "Zoe\u0308", "مكتب الاستقبال", "می\u200cخواهم", "क्\u200dष", "👩\u200d💻 ❤\ufe0f", "Tokyo\u3000東京",
	} {
		if got := plain(name); got != name {
			t.Errorf("%q is shown as %s", name, got)
		}
	}
	for _, text := range []string{"a\u202eb", "a\u2028b", "a\u0085b", "a\u009b31m", "a\ufeffb", "a\xffb"} {
		if got := plain(text); got == text || strings.ContainsAny(got, "\u202e\u2028\u0085\u009b\ufeff") {
			t.Errorf("%q is shown as it is", text)
		}
	}
}
