package agents

import (
	"cmp"
	"encoding/json"

	"frontdesk/core/toolcall"
)

// The headers in which a platform without an envelope tells of the telephone call. The definitions that the
// gateway prints set them from the platform's own variables, which a model neither sees nor sets.
const (
	headerToolCall = "X-Tool-Call-Id"
	headerRequest  = "X-Request-Id"
)

// plain answers a call whose body is the arguments. The tool is the last part of the path.
func (a *Agents) plain(r request) (any, error) {
	c := call{
		tool: cmp.Or(r.path("tool"),
			r.path("name")), arguments: json.RawMessage(r.body), number: r.header.Get(toolcall.HeaderCaller),
		callID: r.header.Get(toolcall.HeaderCall), id: r.header.Get(headerToolCall),
	}
	if len(c.arguments) == 0 {
		c.arguments = json.RawMessage("{}")
	}
	result, err := a.run(r, c)
	return result.Object(), err
}

// Sources: CustomTool and PhoneCallResponse of retell-sdk 5.66.1;
// docs.retellai.com/build/conversation-flow/custom-function (the envelope; any text is an answer).

type retellRequest struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	Call struct {
		ID        string `json:"call_id"`
		Direction string `json:"direction"`
		From      string `json:"from_number"`
		To        string `json:"to_number"`
	} `json:"call"`
}

// retellAt answers at the address of an agent, or else of a tool.
func (a *Agents) retellAt(r request) (any, error) {
	if isAgent(r.path("name")) {
		return a.retell(r)
	}
	return a.plain(r)
}

// retell answers a custom function. Retell gives a call of a function no id, so that equal calls within
// minutes are one.
func (a *Agents) retell(r request) (any, error) {
	var q retellRequest
	if err := r.read(&q); err != nil {
		return nil, err
	}
	c := call{tool: q.Name, arguments: q.Args, number: q.Call.From, callID: q.Call.ID}
	if q.Call.Direction == "outbound" {
		c.number = q.Call.To
	}
	result, err := a.run(r, c)
	return result.Object(), err
}
