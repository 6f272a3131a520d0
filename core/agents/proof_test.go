package agents_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/core/apikey"
)

const signing = "key_0123456789abcdef"

// withAgents opens a world with an agent of each kind.
func withAgents(t *testing.T) *world {
	t.Helper()
	w := open(t)
	w.agents = map[string]apikey.Agent{}
	for id, a := range map[string]apikey.Agent{
		"agent_r": {Platform: "retell", Signing: []byte(signing)}, "agent_v": {Platform: "vapi",
			Signing: []byte(signing)},
		"agent_e": {Platform: "elevenlabs", Signing: []byte(signing)}, "agent_t": {Platform: "tools"},
	} {
		a.Caller = w.caller
		a.Caller.KeyID = id
		w.agents[id] = a
	}
	return w
}

func hmacOf(secret string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(mac.Sum(nil))
}

func retell(body string, at time.Time) string {
	ms := strconv.FormatInt(at.UnixMilli(), 10)
	return "X-Retell-Signature: v=" + ms + ",d=" + hmacOf(signing, body, ms)
}

func vapi(body string, stamp int64) []string {
	text := strconv.FormatInt(stamp, 10)
	return []string{"X-Timestamp: " + text, "X-Signature: " + hmacOf(signing, text, ".", body)}
}

const (
	retellBody = `{"name":"create_ticket","args":{"subject":"A"},"call":{"call_id":"c"}}`
	vapiBody   = `{"message":{"type":"tool-calls","call":{"id":"c"},"toolCallList":[{"id":"1",` +
		`"name":"create_ticket","arguments":{"subject":"A"}}]}}`
	plainBody = `{"subject":"A"}`
)

// The interface is called as the agent, whatever key the platform's request might carry.
func TestAPlatformsProofTakesThePlaceOfAKey(t *testing.T) {
	w := withAgents(t)
	old := today.Add(-299 * time.Second)
	for name, c := range map[string]struct {
		path, body string
		header     []string
	}{
		"Retell":                 {"retell/agent_r", retellBody, []string{retell(retellBody, today)}},
		"Retell, nearly too old": {"retell/agent_r", retellBody, []string{retell(retellBody, old)}},
		"Retell, in capitals": {"retell/agent_r", retellBody,
			[]string{strings.ToUpper(retell(retellBody, today))}},
		"Retell, arguments at root": {"retell/agent_r/create-ticket", plainBody,
			[]string{retell(plainBody, today)}},
		"Vapi, in seconds":      {"vapi/agent_v", vapiBody, vapi(vapiBody, today.Unix())},
		"Vapi, in milliseconds": {"vapi/agent_v", vapiBody, vapi(vapiBody, today.UnixMilli())},
		"Vapi, bearer":          {"vapi/agent_v", vapiBody, []string{"Authorization: Bearer " + signing}},
		"Vapi, old":             {"vapi/agent_v", vapiBody, []string{"X-Vapi-Secret: " + signing}},
		"ElevenLabs": {"elevenlabs/agent_e/create_ticket", plainBody,
			[]string{"Authorization: bearer " + signing}},
		"a key": {"tools/agent_t/create_ticket", plainBody,
			[]string{"X-Api-Key: fd_live_acme"}},
		"a key where others sign": {"retell/agent_r", retellBody, []string{"Authorization: Bearer fd_live_acme"}},
	} {
		status, body := w.post("/alpha/agents/"+c.path, c.body, append([]string{"X-Api-Key: "}, c.header...)...)
		if status != 200 || len(w.got) != 1 {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		_, key := strings.CutPrefix(name, "a key")
		if id := strings.Split(c.path, "/")[1]; w.used[id] == key {
			t.Errorf("%s: noted as a use of the agent: %v", name, w.used[id])
		}
		clear(w.used)
		if signed := strings.HasPrefix(name, "Retell") || strings.HasPrefix(name, "Vapi, in"); w.claimed != signed {
			t.Errorf("%s: only claimed before the body was read: %v", name, w.claimed)
		}
		if got := w.one(); got.path != "/v1/tickets/create-ticket" || got.body != plainBody {
			t.Errorf("%s: asked for %s %s", name, got.path, got.body)
		}
	}
}

func TestAForgedProofIsRefused(t *testing.T) {
	w := withAgents(t)
	right := retell(retellBody, today)
	ms := strconv.FormatInt(today.UnixMilli(), 10)
	for name, c := range map[string]struct {
		path, body, want string
		header           []string
	}{
		"nothing":       {"retell/agent_r", retellBody, "INVALID_SIGNATURE", nil},
		"another body":  {"retell/agent_r", retellBody + " ", "INVALID_SIGNATURE", []string{right}},
		"another order": {"retell/agent_r", `{"args":{}}`, "INVALID_SIGNATURE", []string{right}},
		"another time": {"retell/agent_r", retellBody, "INVALID_SIGNATURE",
			[]string{strings.Replace(right, "v=1", "v=2", 1)}},
		"too old": {"retell/agent_r", retellBody, "five minutes",
			[]string{retell(retellBody, today.Add(-301*time.Second))}},
		"from the future": {"retell/agent_r", retellBody, "five minutes",
			[]string{retell(retellBody, today.Add(301*time.Second))}},
		"the greatest time": {"retell/agent_r", retellBody, "five minutes",
			[]string{"X-Retell-Signature: v=999999999999999,d=" + hmacOf(signing, retellBody, "999999999999999")}},
		"cut off": {"retell/agent_r", retellBody, "INVALID_SIGNATURE",
			[]string{right[:len(right)-2]}},
		"longer": {"retell/agent_r", retellBody, "INVALID_SIGNATURE", []string{right + "00"}},
		"no digits": {"retell/agent_r", retellBody, "INVALID_SIGNATURE",
			[]string{"X-Retell-Signature: v=,d="}},
		"another secret": {"retell/agent_r", retellBody, "INVALID_SIGNATURE",
			[]string{"X-Retell-Signature: v=" + ms + ",d=" + hmacOf("key_fedcba9876543210", retellBody, ms)}},
		"no secret": {"retell/agent_r", retellBody, "INVALID_SIGNATURE",
			[]string{"X-Retell-Signature: v=" + ms + ",d=" + hmacOf("", retellBody, ms)}},
		"the secret itself": {"retell/agent_r", retellBody, "INVALID_SIGNATURE",
			[]string{"Authorization: Bearer " + signing}},
		"Vapi, no time": {"vapi/agent_v", vapiBody, "X-Timestamp",
			[]string{"X-Signature: " + hmacOf(signing, ".", vapiBody)}},
		"Vapi, another time": {"vapi/agent_v", vapiBody, "INVALID_SIGNATURE",
			[]string{vapi(vapiBody, today.Unix())[1], "X-Timestamp: " + strconv.FormatInt(today.Unix()+1, 10)}},
		"Vapi, too old": {"vapi/agent_v", vapiBody, "five minutes", vapi(vapiBody, today.Unix()-301)},
		"Vapi, not hexadecimal": {"vapi/agent_v", vapiBody, "hexadecimal",
			[]string{"X-Signature: zz", vapi(vapiBody, today.Unix())[0]}},
		"Vapi, a wrong bearer": {"vapi/agent_v", vapiBody, "INVALID_SIGNATURE",
			[]string{"Authorization: Bearer " + signing + "0"}},
		"Vapi, forged and bearer": {"vapi/agent_v", vapiBody, "INVALID_SIGNATURE",
			[]string{"X-Signature: 00", vapi(vapiBody, today.Unix())[0], "Authorization: Bearer " + signing}},
		"Vapi, nothing": {"vapi/agent_v", vapiBody, "INVALID_SIGNATURE", nil},
		"no secret is kept": {"tools/agent_t/create_ticket", plainBody, "API key",
			[]string{"Authorization: Bearer "}},
		"an empty token": {"tools/agent_t/create_ticket", plainBody, "API key",
			[]string{"Authorization: Bearer"}},
		"a wrong key": {"tools/agent_t/create_ticket", plainBody, "INVALID_API_KEY",
			[]string{"X-Api-Key: fd_live_wrong"}},
		"another tenant's key": {"retell/agent_r", retellBody, "AGENT_NOT_FOUND",
			[]string{"X-Api-Key: fd_live_other"}},
		"an unknown agent":      {"retell/agent_x", retellBody, "AGENT_NOT_FOUND", []string{right}},
		"at another platform":   {"vapi/agent_r", retellBody, "AGENT_NOT_FOUND", []string{right}},
		"of plain JSON":         {"tools/agent_r/create_ticket", plainBody, "AGENT_NOT_FOUND", []string{right}},
		"before the first word": {"retell/agent_r/call-started", `{}`, "INVALID_SIGNATURE", []string{"X-Other: 1"}},
	} {
		status, body := w.post("/alpha/agents/"+c.path, c.body, append([]string{"X-Api-Key: "}, c.header...)...)
		if status != 400 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %s", name, status, body, c.want)
		}
		if len(w.used) != 0 {
			t.Fatalf("%s: it is noted as a use of the agent", name)
		}
		if len(w.got) != 0 || strings.Contains(body, signing) {
			t.Fatalf("%s: the interface was asked, or the secret told: %s", name, body)
		}
	}
}

// Strangers cannot have the gateway wait for a body at an agent's address, where that is not what proves who asks.
func TestAStrangerIsRefusedBeforeTheBody(t *testing.T) {
	w := withAgents(t)
	for name, c := range map[string]struct{ path, header, want string }{
		"a wrong bearer": {"elevenlabs/agent_e/find_slots", "Authorization: Bearer x",
			"INVALID_SIGNATURE"},
		"no bearer":                          {"elevenlabs/agent_e/call-started", "X-Other: 1", "INVALID_SIGNATURE"},
		"at Vapi":                            {"vapi/agent_v", "X-Vapi-Secret: x", "INVALID_SIGNATURE"},
		"a wrong key":                        {"retell/agent_r", "X-Api-Key: fd_live_wrong", "INVALID_API_KEY"},
		"no secret is kept, and no key sent": {"tools/agent_t/find_slots", "X-Signature: 00", "API key"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /alpha/agents/%s HTTP/1.1\r\nHost: x\r\n%s\r\nExpect: 100-continue\r\n"+
			"Content-Length: 100\r\n\r\n", c.path, c.header)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %d %s, %v", name, answer.StatusCode, body, err)
		}
	}
}
