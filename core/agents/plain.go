package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"frontdesk/core/jsonread"
	"frontdesk/core/toolcall"
)

// headerToolCall is the header in which a platform without an envelope tells its id of the call of a tool. The model
// neither sees nor sets it.
const headerToolCall = "X-Tool-Call-Id"

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
	return a.retellPlain(r)
}

// retellPlain answers a function with args_at_root. The body may have the call besides, which is no argument.
// No tool has a field of that name.
func (a *Agents) retellPlain(r request) (any, error) {
	r.body = without(r.body, executionMessage, "call")
	return a.plain(r)
}

// executionMessage is what the model says while a function runs. Where Retell lets it (speak_during_execution with
// a prompt), it asks the model for that as one more argument, and sends it along. No tool has a field of that name.
const executionMessage = "execution_message"

// mostFields is more than the fields of arguments that the interface reads.
const mostFields = 300

// without returns an object without some of its fields. The others stay as they are, also those that come twice and
// those that are too many, which the interface refuses.
func without(object json.RawMessage, names ...string) json.RawMessage {
	all := jsonread.Members(object, mostFields)
	kept := make([][]byte, 0, len(all))
	for _, m := range all {
		if slices.Contains(names, m.Name) {
			continue
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return object
		}
		kept = append(kept, slices.Concat(name, []byte(":"), m.Value))
	}
	if len(kept) == len(all) {
		return object
	}
	return slices.Concat([]byte("{"), bytes.Join(kept, []byte(",")), []byte("}"))
}

// retell answers a custom function. Retell gives a call of a function no id, so that equal calls within
// minutes are one.
func (a *Agents) retell(r request) (any, error) {
	var q retellRequest
	if err := r.read(&q); err != nil {
		return nil, err
	}
	c := call{tool: q.Name, arguments: without(q.Args, executionMessage), number: q.Call.From, callID: q.Call.ID}
	if q.Call.Direction == "outbound" {
		c.number = q.Call.To
	}
	result, err := a.run(r, c)
	return result.Object(), err
}
