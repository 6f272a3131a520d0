package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// refusals writes as errors of JSON-RPC what the library refuses in plain text. A client reads only JSON: "If the
// input is a JSON-RPC request, the server MUST either return Content-Type: text/event-stream [...] or Content-Type:
// application/json" (MCP 2025-11-25, Transports). The codes are those of JSON-RPC 2.0, section 5.1. Where no id can be
// told, the error has none (MCP 2025-11-25, Error Responses).
type refusals struct {
	http.ResponseWriter

	body  []byte // of the request
	wrong *jsonrpc.Error
	id    jsonrpc.ID
}

// methods are those of the protocol. The library knows all of them, and refuses one for another reason only.
var methods = [...]string{
	"initialize", "ping", "tools/list", methodCall, "prompts/list", "prompts/get", "resources/list", "resources/read",
	"resources/templates/list", "resources/subscribe", "resources/unsubscribe", "completion/complete",
	"logging/setLevel", "server/discover", "subscriptions/listen",
}

func (r *refusals) WriteHeader(status int) {
	header := r.Header()
	if status/100 == 4 && strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		header.Set("Content-Type", "application/json")
		r.wrong = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest}
		message, err := jsonrpc.DecodeMessage(r.body)
		request, is := message.(*jsonrpc.Request)
		switch {
		case !json.Valid(r.body):
			r.wrong.Code = jsonrpc.CodeParseError
		case err != nil || !is || !keepsIDs(r.body):
		default:
			r.id = request.ID
			if request.IsCall() && !slices.Contains(methods[:], request.Method) {
				r.wrong.Code, status = jsonrpc.CodeMethodNotFound, http.StatusOK
			}
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *refusals) Write(text []byte) (int, error) {
	if r.wrong == nil {
		return r.ResponseWriter.Write(text)
	}
	r.wrong.Message = strings.TrimSpace(string(text))
	raw, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: r.id, Error: r.wrong})
	if err != nil {
		panic("mcp: " + err.Error()) // text always has JSON
	}
	_, err = r.ResponseWriter.Write(raw)
	return len(text), err
}

// Unwrap lets the library flush events.
func (r *refusals) Unwrap() http.ResponseWriter { return r.ResponseWriter }
