package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/phonenumber"
	"frontdesk/core/toolcall"
)

// platform is how a voice platform asks who calls, before its agent says the first word.
type platform struct {
	within time.Duration // less than the platform waits
	number func(r request) (string, error)
	answer func(r request, variables map[string]string) (any, error)
}

// Sources: ServerMessageResponseAssistantRequest of @vapi-ai/server-sdk 2.0.1 and docs.vapi.ai/server-url/events
// (7.5 s); docs.retellai.com/features/inbound-call-webhook (10 s, all variables are strings);
// elevenlabs.io/docs/eleven-agents/customization/personalization/twilio-personalization (every declared variable
// must be there); developers.telnyx.com/docs/inference/ai-assistants/dynamic-variables (1.5 s by default, the
// variables are wrapped).
var platforms = map[string]platform{
	"vapi": {
		within: 5 * time.Second,
		number: func(r request) (string, error) {
			var q vapiRequest
			err := r.read(&q)
			if q.Message.Customer.Number != "" {
				return q.Message.Customer.Number, err
			}
			return q.Message.Call.Customer.Number, err
		},
		answer: func(r request, variables map[string]string) (any, error) {
			id := r.query("assistant_id")
			if id == "" {
				return nil, fault.InvalidField("assistant_id", "is required in the address: "+
					"/alpha/agents/vapi?assistant_id=YOUR_ASSISTANT_ID. Vapi asks which assistant takes the call.")
			}
			return map[string]any{
				"assistantId": id, "assistantOverrides": map[string]any{"variableValues": variables},
			}, nil
		},
	},
	"retell": {
		within: 5 * time.Second,
		number: func(r request) (string, error) {
			var q retellInbound
			err := r.read(&q)
			return cmp.Or(q.Call.From, q.Chat.From), err
		},
		answer: func(r request, variables map[string]string) (any, error) {
			var q retellInbound
			err := r.read(&q)
			group := "call_inbound"
			if q.Event == "chat_inbound" {
				group = q.Event
			}
			return map[string]any{group: map[string]any{"dynamic_variables": variables}}, err
		},
	},
	"elevenlabs": {
		within: 3 * time.Second,
		number: func(r request) (string, error) {
			var q struct {
				Caller string `json:"caller_id"`
			}
			err := r.read(&q)
			return q.Caller, err
		},
		answer: func(_ request, variables map[string]string) (any, error) {
			return map[string]any{
				"type": "conversation_initiation_client_data", "dynamic_variables": variables,
			}, nil
		},
	},
	"telnyx": {
		within: 1300 * time.Millisecond,
		number: func(r request) (string, error) {
			var q struct {
				Data struct {
					Payload struct {
						EndUser string `json:"telnyx_end_user_target"`
					} `json:"payload"`
				} `json:"data"`
			}
			err := r.read(&q)
			return q.Data.Payload.EndUser, err
		},
		answer: func(_ request, variables map[string]string) (any, error) {
			return map[string]any{"dynamic_variables": variables}, nil
		},
	},
}

// retellInbound is what Retell sends when a number is called, or gets an SMS, which it calls a chat. Its answer is
// grouped likewise.
type retellInbound struct {
	Event string         `json:"event"`
	Call  retellIncoming `json:"call_inbound"`
	Chat  retellIncoming `json:"chat_inbound"`
}

type retellIncoming struct {
	From string `json:"from_number"`
}

// callStarted answers with what an agent knows before its first word. Every variable is always there, and is
// empty while it is unknown: a platform fails a call whose agent misses one.
func (a *Agents) callStarted(r request, p platform) (any, error) {
	number, err := p.number(r)
	if err != nil {
		return nil, err
	}
	user, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(number, "sips:"), "sip:"), "@")
	if phonenumber.Withheld(user) { // an agent would read +266696687 to the caller, and note it as where to call back
		number = ""
	}
	variables := map[string]string{
		"caller_number": number, "caller_known": "false", "caller_name": "", "caller_account": "", "open_tickets": "",
		"next_meeting": "", "next_meeting_reference": "",
	}
	ctx, cancel := context.WithTimeout(r.ctx, p.within)
	defer cancel()
	var found sync.Map
	asked := parallel.New()
	asked.Go(func() error { // it may wait for the calendar, too
		now := a.now(ctx, r.caller)
		found.Store("today", now.Format(time.DateOnly))
		found.Store("weekday", now.Weekday().String())
		found.Store("time", now.Format("15:04"))
		found.Store("time_zone", now.Location().String())
		return nil
	})
	for name, ask := range map[string]func(map[string]json.RawMessage) map[string]string{
		"look_up_caller": aboutCaller, "find_meetings": aboutMeetings,
	} {
		t, known := a.tool(name)
		if !known || r.caller.Require(t.Scope) != nil {
			continue
		}
		asked.Go(func() error {
			runner := toolcall.Runner{API: a.opts.API, Within: p.within, Notes: a.opts.Notes, Now: a.opts.Now}
			result, err := runner.Run(ctx, toolcall.Call{Tool: t, Header: r.header, Caller: number})
			if err == nil && result.OK {
				for name, value := range ask(result.Answer) {
					found.Store(name, value)
				}
			}
			return nil
		})
	}
	_ = asked.Wait() // no function fails
	found.Range(func(name, value any) bool { variables[name.(string)] = value.(string); return true })
	return p.answer(r, variables)
}

// aboutCaller returns the variables of a caller whom one contact fits, and none if several do, or if only the last
// digits of the number agree: those of a stranger may be the same.
func aboutCaller(answer map[string]json.RawMessage) map[string]string {
	var candidates []struct {
		Name    string
		Match   string
		Account struct{ Name string }
		Tickets []struct {
			Number  string `json:"ticket_number"`
			Subject string
			Status  string
		} `json:"open_tickets"`
	}
	if json.Unmarshal(answer["candidates"], &candidates) != nil || len(candidates) != 1 ||
		candidates[0].Match == "suffix" {
		return nil
	}
	c := candidates[0]
	var tickets []string
	for _, t := range c.Tickets {
		tickets = append(tickets, t.Number+": "+t.Subject+" ("+t.Status+")")
	}
	return map[string]string{
		"caller_known": strconv.FormatBool(true), "caller_name": c.Name, "caller_account": c.Account.Name,
		"open_tickets": strings.Join(tickets, "; "),
	}
}

// aboutMeetings returns the variables of the caller's next meeting. Of one that takes whole days, which are from
// midnight to midnight, the first day is told and no time.
func aboutMeetings(answer map[string]json.RawMessage) map[string]string {
	var meetings []struct {
		Reference  string `json:"meeting_reference"`
		Start, End string
	}
	if json.Unmarshal(answer["meetings"], &meetings) != nil || len(meetings) == 0 {
		return nil
	}
	const midnight = "T00:00:00"
	next := meetings[0]
	first, _, begins := strings.Cut(next.Start, midnight)
	if last, _, ends := strings.Cut(next.End, midnight); begins && ends && first != last {
		next.Start = first
	}
	return map[string]string{"next_meeting": next.Start, "next_meeting_reference": next.Reference}
}
