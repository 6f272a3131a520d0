package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"
)

// signed returns a signature as a platform makes it.
func signed(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// A voice agent's platform signs its requests, so that it never has an API key. What it does counts, is audited
// and limited like what a key does, and ends when the agent is removed.
func TestAVoiceAgentNeedsNoKey(t *testing.T) {
	t.Parallel()
	const secret = "key_of_the_account_at_the_platform"
	d := newDeployment(t, "", "SIGNING="+secret)
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "sandbox")
	add := func(platform string, more ...string) (path string) {
		t.Helper()
		address := strings.TrimSpace(d.must(append([]string{"agent", "add", "--tenant", "acme", "--platform",
			platform}, more...)...))
		_, path, ok := strings.Cut(address, "/alpha/")
		if !ok {
			t.Fatalf("the address is %q", address)
		}
		return "/alpha/" + path
	}
	signing := []string{"--secret", "signing=env:SIGNING"}
	retell := add("retell", signing...)
	vapi := add("vapi", append(signing, "--name", "reception")...)
	eleven := add("elevenlabs", append(signing, "--scope", "tickets:read")...)
	d.wantFailure("already has an agent", "agent", "add", "--tenant", "acme", "--platform", "retell")
	d.wantFailure("no API key", "key", "revoke", path.Base(retell))
	c := d.serve().as("")
	stamp := func() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }

	body := `{"name":"create_ticket","args":{"subject":"The door"},"call":{"call_id":"call_1"}}`
	at := stamp()
	proof := "X-Retell-Signature: v=" + at + ",d=" + signed(secret, body+at)
	made := c.do(http.StatusOK, http.MethodPost, retell, body, proof)
	if made.get("ok") != true || made.text("ticket", "ticket_number") == "" {
		t.Fatalf("Retell: %s", made.body)
	}
	a := c.do(http.StatusUnauthorized, http.MethodPost, retell, body+" ", proof)
	if !strings.Contains(string(a.body), "INVALID_SIGNATURE") || a.header.Get("WWW-Authenticate") == "" {
		t.Errorf("forged: %v %s", a.header, a.body)
	}

	call := `{"message":{"type":"tool-calls","call":{"id":"call_2"},"toolCallList":[{"id":"1","name":"get_ticket",` +
		`"arguments":{"ticket_number":"` + made.text("ticket", "ticket_number") + `"}}]}}`
	at = stamp()
	found := c.do(http.StatusOK, http.MethodPost, vapi, call, "X-Timestamp: "+at,
		"X-Signature: "+signed(secret, at+"."+call))
	if !strings.Contains(string(found.body), "The door") {
		t.Errorf("Vapi: %s", found.body)
	}

	refused := c.do(http.StatusOK, http.MethodPost, eleven+"/create-ticket", `{"subject":"No"}`, "Authorization: Bearer "+secret)
	if refused.text("reason") != "SCOPE_MISSING" {
		t.Errorf("without the scope: %s", refused.body)
	}

	var agents []struct {
		ID, Name, Platform string
		Signed             bool
		Scopes             []string
	}
	if err := json.Unmarshal([]byte(d.must("agent", "list", "--tenant", "acme", "--json")),
		&agents); err != nil {
		t.Fatal(err)
	}
	if len(agents) != 3 || agents[1].Name != "reception" || !agents[0].Signed || len(agents[2].Scopes) != 1 {
		t.Fatalf("%+v", agents)
	}
	if audit := d.must("audit", "list", "--tenant", "acme", "--json"); !strings.Contains(audit, `"key:`+agents[0].ID+`"`) ||
		strings.Contains(audit, secret) {
		t.Errorf("the audit: %s", audit)
	}
	if keys := d.must("key", "list", "--tenant", "acme"); strings.Contains(keys, "agent_") {
		t.Errorf("agents are among the keys: %s", keys)
	}
	printed := d.must("agent-tools", "--platform", "retell", "--agent", agents[0].ID)
	if !strings.Contains(printed, retell) || strings.Contains(printed, "API_KEY") ||
		strings.Contains(printed, secret) {
		t.Errorf("the tools of the agent: %s", printed)
	}
	if printed := d.must("agent-tools", "--platform", "elevenlabs", "--agent",
		agents[2].ID); !strings.Contains(printed, eleven+"/get_ticket") {
		t.Errorf("the tools of the agent: %s", printed)
	}
	d.wantFailure("must be retell", "agent-tools", "--platform", "vapi", "--agent", agents[0].ID)
	if sound := d.must("doctor", "--tenant", "acme"); strings.Contains(sound, secret) {
		t.Errorf("the doctor tells the secret: %s", sound)
	}
	d.must("keyset", "rotate")
	d.must("agent", "change", "--tenant", "acme", agents[2].ID, "--scope", "tickets:read", "--scope",
		"tickets:write")
	eventually := time.Now().Add(20 * time.Second)
	for {
		made := c.do(http.StatusOK, http.MethodPost, eleven+"/create-ticket", `{"subject":"Yes"}`, "Authorization: Bearer "+secret)
		if made.get("ok") == true {
			break
		}
		if time.Now().After(eventually) {
			t.Fatalf("with the scope: %s", made.body)
		}
		time.Sleep(50 * time.Millisecond)
	}

	d.must("agent", "remove", "--tenant", "acme", agents[0].ID)
	removed := time.Now()
	for {
		at = stamp()
		a, err := c.call(http.MethodPost, retell, body, "X-Retell-Signature: v="+at+",d="+signed(secret, body+at))
		if err != nil {
			t.Fatal(err)
		}
		if a.status == http.StatusNotFound {
			break
		}
		if time.Since(removed) > 20*time.Second {
			t.Fatalf("the address still answers %d %s", a.status, a.body)
		}
		time.Sleep(50 * time.Millisecond)
	}
	at = stamp()
	c.do(http.StatusOK, http.MethodPost, vapi, call, "X-Timestamp: "+at,
		"X-Signature: "+signed(secret, at+"."+call))
}

// The doctor calls the address of each agent as its platform would.
func TestTheDoctorCallsAsAPlatform(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "SIGNING=the_secret_of_the_platform")
	d.must("tenant", "create", "acme")
	for _, platform := range []string{"vapi", "retell", "elevenlabs", "telnyx", "tools"} {
		d.must("agent", "add", "--tenant", "acme", "--platform", platform, "--secret", "signing=env:SIGNING")
	}
	d.must("agent", "add", "--tenant", "acme", "--platform", "tools", "--name", "keyed")
	r := d.servePublicly()
	for _, platform := range []string{"vapi", "retell", "elevenlabs", "telnyx", "tools"} {
		said := d.must("doctor", "--platform", platform)
		if !strings.Contains(said, "answers what the platform signs") || strings.Contains(said, "the_secret") {
			t.Errorf("%s: %s", platform, said)
		}
		if told := strings.Contains(said, "but only to this machine"); told != (platform != "tools") {
			t.Errorf("%s: told that a platform elsewhere cannot call loopback: %v: %s", platform, told, said)
		}
		if platform == "tools" && !strings.Contains(said, "asks for an API key") {
			t.Errorf("an agent without a secret: %s", said)
		}
	}
	d.must("tenant", "create", "other")
	fails := func(says string, args ...string) {
		t.Helper()
		if out, errs, code := d.do("", args...); code != exitFailed || !strings.Contains(out, says) {
			t.Errorf("%v: exit %d, want %q\n%s%s", args, code, says, out, errs)
		}
	}
	fails("no voice agent is at this platform", "doctor", "--platform", "retell", "--tenant", "other")
	r.stop()
	fails("server.public_url leads to it", "doctor", "--platform", "retell")
}
