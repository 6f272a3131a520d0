package agents

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Probe calls the address of a voice agent as its platform would, with requests that change nothing. All
// fields but Signing are required.
type Probe struct {
	Client   *http.Client
	Platform string
	Address  string // as the platform has it
	Signing  []byte // what the platform proves itself with; empty: nothing, so that requests are refused
	Now      func() time.Time
}

// Ring asks for the time by a tool, and then who calls, if the platform asks for that. It returns how long the
// answers took, or what is wrong with the first that is not as the platform needs it.
func (p Probe) Ring(ctx context.Context) (took []time.Duration, err error) {
	questions := []question{p.tool()}
	if _, asks := platforms[p.Platform]; asks {
		questions = append(questions, p.started())
	}
	for _, q := range questions {
		began := time.Now()
		status, body, err := p.post(ctx, q)
		if err != nil {
			return took, err
		}
		took = append(took, time.Since(began))
		if status != http.StatusOK {
			return took, fmt.Errorf("%s is answered with %d, %s", q.what, status, reasonOf(body))
		}
		if !bytes.Contains(body, []byte(q.wants)) {
			return took, fmt.Errorf("%s is answered by something else than the gateway", q.what)
		}
		if limit := q.within; limit > 0 && took[len(took)-1] > limit {
			return took, fmt.Errorf("%s took %s, and the platform waits %s", q.what,
				took[len(took)-1].Round(time.Millisecond), limit)
		}
	}
	return took, nil
}

// Forge sends a request without a proof. It returns an error unless that is refused.
func (p Probe) Forge(ctx context.Context) error {
	p.Signing = nil
	status, _, err := p.post(ctx, p.tool())
	if err != nil {
		return err
	}
	if status != http.StatusUnauthorized {
		return fmt.Errorf("a request without a proof is answered with %d, and not refused with 401", status)
	}
	return nil
}

// question is a request as a platform sends it.
type question struct {
	what, path, body string
	wants            string // in the answer
	within           time.Duration
}

const probeCall = "frontdesk-doctor" // the id of the telephone call that there is none of

func (p Probe) tool() question {
	q := question{what: "a call of a tool", body: "{}", path: "/" + clock, wants: "time_zone",
		within: answerWithin}
	switch p.Platform {
	case "vapi":
		q.path, q.body = "", `{"message":{"type":"tool-calls","call":{"id":"`+probeCall+`"},"toolCallList":[`+
			`{"id":"1","type":"function","function":{"name":"`+clock+`","arguments":"{}"}}]}}`
	case "retell":
		q.path, q.body = "", `{"name":"`+clock+`","args":{},"call":{"call_id":"`+probeCall+`"}}`
	}
	return q
}

// started asks about a caller without a number, whom nobody looks up.
func (p Probe) started() question {
	q := question{what: "the question who calls", path: "/call-started", wants: `"weekday"`}
	switch p.Platform {
	case "vapi":
		q.path, q.body = "?assistant_id=frontdesk-doctor", `{"message":{"type":"assistant-request"}}`
	case "retell":
		q.body = `{"event":"call_inbound","call_inbound":{"from_number":"anonymous"}}`
	case "elevenlabs":
		q.body = `{"caller_id":"anonymous"}`
	case "telnyx":
		q.body = `{"data":{"payload":{"telnyx_end_user_target":"anonymous"}}}`
	}
	q.within = platforms[p.Platform].within
	return q
}

func (p Probe) post(ctx context.Context, q question) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Address+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "frontdesk-doctor")
	if len(p.Signing) > 0 {
		p.prove(r, q.body)
	}
	res, err := p.Client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxBodyBytes))
	return res.StatusCode, body, err
}

// prove adds what the platform proves itself with; see Agents.proven.
func (p Probe) prove(r *http.Request, body string) {
	now := p.Now()
	switch p.Platform {
	case "retell":
		stamp := strconv.FormatInt(now.UnixMilli(), 10)
		r.Header.Set(retellSignature, "v="+stamp+",d="+hex.EncodeToString(sign(p.Signing, []byte(body),
			[]byte(stamp))))
	case "vapi":
		stamp := strconv.FormatInt(now.Unix(), 10)
		r.Header.Set(vapiTimestamp, stamp)
		r.Header.Set(vapiSignature, hex.EncodeToString(sign(p.Signing, []byte(stamp+"."+body))))
	default:
		r.Header.Set("Authorization", "Bearer "+string(p.Signing))
	}
}

// reasonOf returns the reason in a google.rpc.Status, or that there is none.
func reasonOf(body []byte) string {
	var status struct {
		Details []struct{ Reason string }
	}
	if json.Unmarshal(body, &status) == nil {
		for _, d := range status.Details {
			if d.Reason != "" {
				return d.Reason
			}
		}
	}
	return "which is no answer of the gateway"
}
