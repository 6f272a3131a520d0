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

// A server that sends more than it was asked for is quoted by net/http to Go's standard logger.
func TestWhatAServerSendsUnaskedIsNoLineOfTheLog(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]int{"info": 0, "debug": 1} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			told := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = conn.Write([]byte("HTTP/1.1 204 No Content\r\n\r\nPat was here, Bearer abcdef1234567890"))
				_, _ = conn.Read(make([]byte, 1)) // until the gateway has read that and hung up
				close(told)
			}))
			defer server.Close()
			d := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8", "FRONTDESK_LOG__LEVEL="+level)
			operator := strings.TrimSpace(d.must("admin", "key", "create", "--role", "admin"))
			r := d.serve()
			hook := r.as(operator).do(http.StatusCreated, http.MethodPost, "/alpha/admin/webhooks",
				`{"url": "`+server.URL+`"}`)
			r.as(operator).do(http.StatusOK, http.MethodPost, "/alpha/admin/webhooks/"+hook.text("id")+"/test", "{}")
			<-told
			r.stop()
			for line := range strings.Lines(r.log()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			if n := strings.Count(r.log(), "Pat was here"); n != want || strings.Contains(r.log(), "abcdef") {
				t.Errorf("%d times, want %d:\n%s", n, want, r.log())
			}
		})
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
