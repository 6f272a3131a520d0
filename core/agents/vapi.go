package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"frontdesk/core/api"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/toolcall"
)

// Sources: ServerMessageToolCalls, ToolCall, ToolCallFunction, ToolCallResult and ToolMessageComplete of
// @vapi-ai/server-sdk 2.0.1; docs.vapi.ai/tools/custom-tools and docs.vapi.ai/server-url/events, which show
// two more forms of a call; docs.vapi.ai/tools/custom-tools-troubleshooting (always 200, one line);
// docs.vapi.ai/chat/session-management.

type vapiRequest struct {
	Message struct {
		Type     string       `json:"type"`
		Call     vapiCall     `json:"call"`
		Customer vapiCustomer `json:"customer"`
		Chat     struct {
			ID      string `json:"id"`
			Session string `json:"sessionId"` // each message of a person is a chat of its own
		} `json:"chat"`
		ToolCallList vapiToolCalls `json:"toolCallList"`
		ToolCalls    vapiToolCalls `json:"toolCalls"` // of old servers
	} `json:"message"`
}

type vapiCall struct {
	ID       string       `json:"id"`
	Customer vapiCustomer `json:"customer"`
}

type vapiCustomer struct {
	Number string `json:"number"`
}

// vapiToolCalls is a list of calls, as far as it is read.
type vapiToolCalls struct {
	calls []vapiToolCall
	more  bool // there are more than vapiAtMost
}

// UnmarshalJSON reads up to vapiAtMost calls. Of more, none is answered: a body has room for 350,000 empty ones, and
// each has an answer.
func (l *vapiToolCalls) UnmarshalJSON(list []byte) error {
	from := json.NewDecoder(bytes.NewReader(list))
	if begin, err := from.Token(); err != nil || begin != json.Delim('[') {
		return json.Unmarshal(list, &l.calls) // null, or what is no list
	}
	for l.calls = nil; from.More(); {
		if l.more = len(l.calls) == vapiAtMost; l.more {
			return nil
		}
		var c vapiToolCall
		if err := from.Decode(&c); err != nil {
			return err
		}
		l.calls = append(l.calls, c)
	}
	return nil
}

// vapiToolCall is a call in one of the three documented forms.
type vapiToolCall struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
	Function   struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type vapiAnswer struct {
	Results []vapiResult `json:"results"`
}

type vapiResult struct {
	ToolCallID string       `json:"toolCallId"`
	Name       string       `json:"name"`
	Result     string       `json:"result,omitempty"`
	Error      string       `json:"error,omitempty"`
	Message    *vapiMessage `json:"message,omitempty"` // is said in place of an answer of the model
}

type vapiMessage struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

const (
	vapiAtOnce = 4  // calls of tools that run
	vapiAtMost = 32 // calls of tools in one request; a model asks for a few

	// vapiSaysBytes has room for the four slots that find_slots answers by default, in each language: half a minute.
	vapiSaysBytes = 450
)

// vapi answers a server message. Those that ask for nothing get an empty object.
func (a *Agents) vapi(r request) (any, error) {
	var q vapiRequest
	if err := r.read(&q); err != nil {
		return nil, err
	}
	switch q.Message.Type {
	case "tool-calls":
		return a.vapiTools(r, q)
	case "assistant-request":
		return a.callStarted(r, platforms["vapi"])
	}
	return struct{}{}, nil
}

func (a *Agents) vapiTools(r request, q vapiRequest) (any, error) {
	list, name := q.Message.ToolCallList, "message.toolCallList"
	if len(list.calls) == 0 {
		list, name = q.Message.ToolCalls, "message.toolCalls"
	}
	if list.more {
		return nil, fault.InvalidField(name, fmt.Sprintf("has more than %d calls of tools, at most %d are allowed",
			vapiAtMost, vapiAtMost))
	}
	calls := list.calls
	results := make([]vapiResult, len(calls))
	one := func(i int) error {
		c := calls[i]
		result, err := a.run(r, c.call(q))
		if err != nil {
			return err
		}
		results[i] = c.answer(result)
		if t, known := a.tool(c.name()); known && len(calls) == 1 && toolcall.Speaks(r.header) && sayVapi(t, result) {
			results[i].Message = &vapiMessage{"request-complete", result.Said}
		}
		return nil
	}
	var changes, others []int
	for i, c := range calls {
		if t, known := a.tool(c.name()); known && t.Writes {
			changes = append(changes, i)
		} else {
			others = append(others, i)
		}
	}
	group := parallel.New()
	group.SetLimit(vapiAtOnce)
	group.Go(func() error { // in their order: a model cancels a meeting, and books its time anew
		for _, i := range changes {
			if err := one(i); err != nil {
				return err
			}
		}
		return nil
	})
	for _, i := range others {
		group.Go(func() error { return one(i) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vapiAnswer{results}, nil
}

func (c vapiToolCall) name() string {
	if c.Function.Name != "" {
		return c.Function.Name
	}
	return c.Name
}

func (c vapiToolCall) call(q vapiRequest) call {
	m := q.Message
	made := call{
		tool: c.name(), id: c.ID, callID: cmp.Or(m.Call.ID, m.Chat.Session, m.Chat.ID), number: m.Customer.Number,
	}
	if made.number == "" {
		made.number = m.Call.Customer.Number
	}
	for _, given := range []json.RawMessage{c.Function.Arguments, c.Arguments, c.Parameters} {
		if len(given) > 0 {
			made.arguments = unquoted(given)
			break
		}
	}
	return made
}

// unquoted returns arguments that are the text of a JSON object as the object.
func unquoted(arguments json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(arguments, &text) == nil {
		return json.RawMessage(text)
	}
	return arguments
}

// answer returns the result as the platform takes it: on one line, since it drops results with line breaks.
func (c vapiToolCall) answer(r toolcall.Result) vapiResult {
	line := strings.Join(strings.Fields(r.Text()), " ")
	if !r.OK {
		return vapiResult{ToolCallID: c.ID, Name: c.name(), Error: line}
	}
	return vapiResult{ToolCallID: c.ID, Name: c.name(), Result: line}
}

// sayVapi reports whether the sentence of a result is to be said in place of what the model would say. "If this
// message is provided, only this message will be spoken and the model will not be requested to come up with a
// response" (ToolMessageComplete). So the sentence must be all that there is to say: nothing of a ticket is said
// but its number, of a held slot nothing that a booking needs besides, and after a failure, or while a write goes
// on, the model has to call once more. Where nothing was found, it has to ask for another time or address, and of more
// than can be listened to, it has to choose.
func sayVapi(t api.Tool, r toolcall.Result) bool {
	if !r.OK || r.GoesOn || r.Said == "" || len(r.Said) > vapiSaysBytes ||
		string(r.Answer["slots"]) == "[]" || string(r.Answer["meetings"]) == "[]" {
		return false
	}
	switch t.Name {
	case "find_slots", "book_slot", "find_meetings", "move_meeting", "cancel_meeting", "create_ticket":
		return true
	}
	return false
}
