package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/api"
)

// The fast path answers the plain call of one of our tools, and nothing else. The library reads a request's JSON
// nine times with a buffer of 32 KiB each (v1.8.0, internal/json over segmentio/encoding), and makes a session
// for it. That took longer than the operation itself. Each request in which anything is unusual goes to the
// library. TestTheFastPathAnswersAsTheLibraryDoes holds both to the same answers.

const (
	methodCall = "tools/call"
	modern     = "2026-07-28" // the version from which each request tells its version and capabilities itself

	keyVersion      = mcp.MetaKeyProtocolVersion
	keyCapabilities = mcp.MetaKeyClientCapabilities
	keyClient       = mcp.MetaKeyClientInfo
	keyProgress     = "progressToken"

	fastBytes    = 64 << 10
	fastBrackets = 256 // the library refuses deep nesting
)

// withHandshake are the versions of the protocol before the modern one.
var withHandshake = [...]string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// request is the JSON of a request, as far as it is plain.
type request struct {
	id        jsonrpc.ID
	method    string
	name      string
	arguments json.RawMessage
	meta      map[string]json.RawMessage
	version   string // of JSON-RPC
	other     bool   // there is more in it
}

// object is a JSON object. Its names are case-sensitive, as the protocol has them.
type object map[string]json.RawMessage

func (o object) text(name string) (s string) {
	if raw := o[name]; len(raw) > 0 && raw[0] == '"' {
		_ = json.Unmarshal(raw, &s) // it was read as JSON before
	}
	return s
}

// only reports whether the object has no names but some.
func (o object) only(names ...string) bool {
	for name := range o {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// read reads the JSON of a request, if it is an object.
func read(body []byte) (r request, ok bool) {
	var message, params, meta object
	// Of two objects _meta the library takes both. Every other name that comes twice has its last value in both.
	brackets := bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("["))
	if bytes.Count(body, []byte(`"_meta"`)) > 1 || !utf8.Valid(body) || brackets > fastBrackets ||
		json.Unmarshal(body, &message) != nil || json.Unmarshal(message["params"], &params) != nil {
		return r, false
	}
	if raw, has := params["_meta"]; has && (json.Unmarshal(raw, &meta) != nil || meta == nil) {
		return r, false
	}
	var id any
	if json.Unmarshal(message["id"], &id) != nil || !isKept(message["id"]) {
		return r, false
	}
	if r.id, _ = jsonrpc.MakeID(id); !r.id.IsValid() {
		return r, false
	}
	r.method, r.name, r.arguments, r.meta = message.text("method"), params.text("name"), params["arguments"], meta
	r.version = message.text("jsonrpc")
	r.other = !message.only("jsonrpc", "id", "method", "params") || !params.only("name", "arguments", "_meta") ||
		string(r.arguments) == "null"
	return r, true
}

// isKept reports whether an answer can have the id of its request. The library reads a number as floating point, and
// would answer another one in the place of an id beyond 53 bits or with a fraction (RFC 8259 section 6; an id is a
// string or an integer: MCP 2025-11-25, schema.json, RequestId).
func isKept(id json.RawMessage) bool {
	var number float64
	return json.Unmarshal(id, &number) != nil || number == math.Trunc(number) && math.Abs(number) < 1<<53
}

// keepsIDs reports whether that holds of all messages of a body.
func keepsIDs(body []byte) bool {
	var all []object
	if json.Unmarshal(body, &all) != nil {
		all = make([]object, 1)
		_ = json.Unmarshal(body, &all[0]) // the library says what is wrong with one that cannot be read
	}
	return !slices.ContainsFunc(all, func(message object) bool { return !isKept(message["id"]) })
}

// isPlain reports whether the answer depends on nothing but the tool.
func (r request) isPlain(header http.Header) bool {
	isModern := header.Get("Mcp-Protocol-Version") == modern
	return r.callsTool(header) && !r.other && len(header["Last-Event-Id"]) == 0 && (!isModern ||
		object(r.meta).only(keyVersion, keyCapabilities, keyClient, keyProgress))
}

// callsTool reports whether the library certainly calls the tool, if there is one.
func (r request) callsTool(header http.Header) bool {
	version := header.Get("Mcp-Protocol-Version")
	if r.version != "2.0" || r.method != methodCall {
		return false
	}
	if version != modern {
		_, itself := r.meta[keyVersion]
		return slices.Contains(withHandshake[:], version) && !itself
	}
	var capabilities *mcp.ClientCapabilities
	client := &mcp.Implementation{}
	meta := object(r.meta)
	told, has := r.meta[keyClient]
	return meta.text(keyVersion) == version && header.Get("Mcp-Method") == r.method &&
		header.Get("Mcp-Name") == r.name && json.Unmarshal(r.meta[keyCapabilities], &capabilities) == nil &&
		capabilities != nil && (!has || json.Unmarshal(told, &client) == nil && client != nil)
}

// serveTools answers a request by the fast path or passes it on to the library, which reads the body from the request
// once more. What calls no operation is let in as a read there: a list takes longer than many an operation, and a long
// message longer than a list.
func (s *Server) serveTools(w http.ResponseWriter, r *http.Request, body []byte) error {
	library, asks := s.json, false
	isCommon := len(body) <= fastBytes && takesJSON(r.Header)
	if call, ok := read(body); ok {
		tool, has := s.servedTo(r.Context()).tools[call.name]
		if isCommon && has && call.isPlain(r.Header) {
			s.answer(w, r, call, tool)
			return nil
		}
		asks = has && call.name != clockName && call.callsTool(r.Header)
		if _, asked := call.meta[keyProgress]; isCommon && asked { // progress is told by a stream of events only
			library = s.stream
		}
	}
	if !asks {
		leave, err := api.Admit(r.Context())
		if err != nil {
			return err
		}
		defer leave()
	}
	if !keepsIDs(body) {
		http.Error(w, "The id must be a string, or an integer of at most 53 bits.", http.StatusBadRequest)
		return nil
	}
	serveByLibrary(library, w, r)
	return nil
}

// takesJSON reports whether a request has JSON and takes it, in the common spelling.
func takesJSON(header http.Header) bool {
	var answer, events bool
	if accept := header["Accept"]; len(accept) == 1 {
		for each := range strings.SplitSeq(accept[0], ",") {
			each = strings.TrimSpace(each)
			answer, events = answer || each == "application/json", events || each == "text/event-stream"
		}
	}
	given := header.Get("Content-Type")
	return answer && events && (given == "application/json" || strings.HasPrefix(given, "application/json;"))
}

// answer calls a tool and writes its result.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, call request, tool mcp.ToolHandler) {
	result, err := tool(r.Context(), &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Name: call.name, Arguments: call.arguments},
		Extra:  &mcp.RequestExtra{Header: r.Header},
	})
	if err != nil { // the caller is gone
		return
	}
	wire := struct {
		Meta       map[string]any `json:"_meta,omitempty"`
		Content    []mcp.Content  `json:"content"`
		IsError    bool           `json:"isError,omitempty"`
		ResultType string         `json:"resultType,omitempty"`
	}{Content: result.Content, IsError: result.IsError}
	if r.Header.Get("Mcp-Protocol-Version") == modern {
		wire.Meta, wire.ResultType = map[string]any{mcp.MetaKeyServerInfo: s.implementation()}, "complete"
	}
	raw, err := json.Marshal(wire)
	if err == nil {
		raw, err = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.id, Result: raw})
	}
	if err != nil {
		panic("mcp: " + err.Error()) // text always has JSON
	}
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}
