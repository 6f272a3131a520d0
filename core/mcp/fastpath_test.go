package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	legacyCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_ticket","arguments":` +
		`{"ticket_number":"1"}}}`
	modernCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_ticket","arguments":` +
		`{"ticket_number":"1"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}}}}`
)

// variants are changes of a body: what is replaced, and by what.
var variants = map[string][2]string{
	"as it is":                  {},
	"a text as id":              {`"id":1`, `"id":"<a> \u00e9\n"`},
	"a negative id":             {`"id":1`, `"id":-7`},
	"an id with an exponent":    {`"id":1`, `"id":1e3`},
	"null as id":                {`"id":1`, `"id":null`},
	"an object as id":           {`"id":1`, `"id":{}`},
	"no id":                     {`"id":1,`, ``},
	"two ids":                   {`"id":1`, `"id":1,"id":2`},
	"an id in capitals":         {`"id":1`, `"ID":1`},
	"a false version of JSON":   {`"2.0"`, `"1.0"`},
	"no version of JSON":        {`"jsonrpc":"2.0",`, ``},
	"more in the message":       {`"id":1`, `"id":1,"extra":{"a":[]}`},
	"a result beside":           {`"id":1`, `"id":1,"result":{}`},
	"an unknown method":         {`tools/call`, `tools/fall`},
	"no method":                 {`"method":"tools/call",`, ``},
	"a number as method":        {`"tools/call"`, `4`},
	"another method":            {`tools/call`, `tools/list`},
	"a ping":                    {`tools/call`, `ping`},
	"the handshake":             {`tools/call`, `initialize`},
	"a discovery":               {`tools/call`, `server/discover`},
	"no params":                 {`"params":{"name"`, `"other":{"name"`},
	"an unknown tool":           {`get_ticket`, `get_rich`},
	"a tool in capitals":        {`get_ticket`, `GET_TICKET`},
	"no tool":                   {`"name":"get_ticket",`, ``},
	"a tool's name in capitals": {`"name":"get_ticket"`, `"Name":"get_ticket"`},
	"a number as tool":          {`"name":"get_ticket"`, `"name":1`},
	"two tools":                 {`"name":"get_ticket"`, `"name":"find_slots","name":"get_ticket"`},
	"the clock":                 {`get_ticket`, `get_current_time`},
	"an escaped name":           {`get_ticket`, `get\u005fticket`},
	"no arguments":              {`"arguments":{"ticket_number":"1"}`, `"arguments":{}`},
	"null as arguments":         {`{"ticket_number":"1"}`, `null`},
	"a list as arguments":       {`{"ticket_number":"1"}`, `["1"]`},
	"a text as arguments":       {`{"ticket_number":"1"}`, `"1"`},
	"broken arguments":          {`{"ticket_number":"1"}`, `{"ticket_number":}`},
	"arguments twice":           {`{"ticket_number":"1"}`, `{"ticket_number":"1","ticket_number":"2"}`},
	"spaces":                    {`{"ticket_number":"1"}`, "{ \"ticket_number\"\n:\t\"1\" } "},
	"deep arguments":            {`"1"`, strings.Repeat("[", 120) + strings.Repeat("]", 120)},
	"flat but many arguments":   {`"1"`, "[" + strings.TrimSuffix(strings.Repeat("{},", 400), ",") + "]"},
	"invalid UTF-8":             {`"1"`, "\"\xff\""},
	"a lone surrogate":          {`"1"`, `"\ud800"`},
	"markup":                    {`"1"`, `"<b>&amp;</b>"`},
	"more params":               {`"name":`, `"extra":1,"name":`},
	"answers of a user":         {`"name":`, `"inputResponses":{},"requestState":"x","name":`},
	"a token for progress":      {`"arguments":`, `"_meta":{"progressToken":"p"},"arguments":`},
	"no object as _meta":        {`"arguments":`, `"_meta":[],"arguments":`},
	"null as _meta":             {`"arguments":`, `"_meta":null,"arguments":`},
	"of the newest version":     {`"arguments":`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"arguments":`},
	"of a version to come":      {`:"2026-07-28"`, `:"2030-01-01"`},
	"of a former version":       {`:"2026-07-28"`, `:"2025-06-18"`},
	"a number as version":       {`:"2026-07-28"`, `:20260728`},
	"no capabilities":           {`"io.modelcontextprotocol/clientCapabilities"`, `"c"`},
	"null as capabilities":      {`{"roots":{"listChanged":true}}`, `null`},
	"a list as capabilities":    {`{"roots":{"listChanged":true}}`, `[]`},
	"strange capabilities":      {`{"roots":{"listChanged":true}}`, `{"roots":7}`},
	"no client":                 {`"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},`, ``},
	"null as client":            {`{"name":"a","version":"1"}`, `null`},
	"a text as client":          {`{"name":"a","version":"1"}`, `"a"`},
	"a client's own _meta":      {`"_meta":{`, `"_meta":{"com.example/a":1,`},
	"a level of logging":        {`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`},
	"half":                      {`"arguments":{"ticket_number":"1"}`, ``},
	"a batch":                   {`{"jsonrpc"`, `[{"jsonrpc"`},
	"after the end":             {`{"jsonrpc"`, `{} {"jsonrpc"`},
	"a byte-order mark":         {`{"jsonrpc"`, "\ufeff{\"jsonrpc\""},
	"nothing":                   {legacyCall, ``},
}

// plain are the variants that the fast path must answer, in each version of the protocol.
var plain = []string{"as it is", "a text as id", "a negative id", "an id with an exponent", "the clock", "an escaped name",
	"no arguments", "a list as arguments", "spaces", "markup"}

// headings are changes of the headers of a request.
var headings = map[string]map[string]string{
	"as they are":           {},
	"another Accept":        {"Accept": "*/*"},
	"JSON alone":            {"Accept": "application/json"},
	"weighed":               {"Accept": "application/json;q=0.9, text/event-stream"},
	"with a charset":        {"Content-Type": "application/json; charset=utf-8"},
	"no JSON":               {"Content-Type": "text/plain"},
	"almost JSON":           {"Content-Type": "application/jsonx"},
	"no version":            {"Mcp-Protocol-Version": ""},
	"a version to come":     {"Mcp-Protocol-Version": "2030-01-01"},
	"an unknown version":    {"Mcp-Protocol-Version": "2025-01-01"},
	"the first version":     {"Mcp-Protocol-Version": "2024-11-05"},
	"the newest version":    {"Mcp-Protocol-Version": "2026-07-28"},
	"another method":        {"Mcp-Method": "tools/list"},
	"no method":             {"Mcp-Method": ""},
	"another name":          {"Mcp-Name": "find_slots"},
	"no name":               {"Mcp-Name": ""},
	"an encoded name":       {"Mcp-Name": "=?base64?Z2V0X3RpY2tldA==?="},
	"a parameter":           {"Mcp-Param-Region": "eu"},
	"a session":             {"Mcp-Session-Id": "s"},
	"an event to resume at": {"Last-Event-ID": "e_1"},
}

// The answers are those of the library: the status, the headers, the JSON, and what the operation is asked.
func TestTheFastPathAnswersAsTheLibraryDoes(t *testing.T) {
	calls := 0 // which the library made
	w, server := openWith(t, 0, counting(&calls))
	type outcome struct {
		status int
		header http.Header
		body   any
		asked  []string
	}
	ask := func(body string, header http.Header, fast bool) outcome {
		t.Helper()
		w.asked, w.bodies = nil, nil
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://desk.example.com/mcp",
			strings.NewReader(body))
		r.Header = header.Clone()
		rw := httptest.NewRecorder()
		if !fast {
			server.ServeByLibrary(rw, r, w.caller)
		} else if err := server.Protocol().Serve(rw, r, w.caller); err != nil {
			t.Fatal(err)
		}
		o := outcome{status: rw.Code, header: rw.Header(), asked: w.bodies, body: rw.Body.String()}
		for _, r := range w.asked {
			o.asked = append(o.asked, r.URL.Path+fmt.Sprint(r.Header))
		}
		var decoded any
		if d := json.NewDecoder(bytes.NewReader(rw.Body.Bytes())); d.Decode(&decoded) == nil {
			o.body = decoded
		}
		return o
	}
	compare := func(name, body string, header http.Header) {
		t.Helper()
		fast, library := ask(body, header, true), ask(body, header, false)
		if !reflect.DeepEqual(fast, library) {
			t.Errorf("%s: %s\nthe fast path: %+v\nthe library:   %+v", name, body, fast, library)
		}
	}
	for version, body := range map[string]string{"2025-06-18": legacyCall, "2026-07-28": modernCall} {
		header := http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Api-Key": {"k"},
			"Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_ticket"},
		}
		for _, answer := range []func(http.ResponseWriter, *http.Request){
			says(200, `{"ticket":{"ticket_number":"1","subject":"<b>\u2028&"}}`), says(404, `{"message":"None."}`),
		} {
			w.answer = answer
			for name, v := range variants {
				header := header.Clone()
				if strings.HasPrefix(v[1], "get_") {
					header.Set("Mcp-Name", strings.ReplaceAll(v[1], `\u005f`, "_"))
				}
				compare(version+": "+name, strings.Replace(body, v[0], v[1], 1), header)
			}
		}
		for name, change := range headings {
			header := header.Clone()
			for key, value := range change {
				header.Set(key, value)
				if value == "" {
					header.Del(key)
				}
			}
			compare(version+": "+name, body, header)
		}
		w.caller.Scopes = nil
		compare(version+": a tool without its scope", body, header)
		w.caller = everything()
		for _, name := range plain {
			header, v := header.Clone(), variants[name]
			if name == "the clock" {
				header.Set("Mcp-Name", v[1])
			}
			calls = 0
			if ask(strings.Replace(body, v[0], v[1], 1), header, true); calls > 0 {
				t.Errorf("%s: %s: the library made the call", version, name)
			}
		}
	}
	for name, v := range variants {
		if !strings.Contains(legacyCall+modernCall, v[0]) {
			t.Errorf("%s changes nothing", name)
		}
	}
}

// counting counts the calls of tools that the library makes.
func counting(calls *int) func(*sdk.ServerOptions) func(*sdk.Server) {
	return func(*sdk.ServerOptions) func(*sdk.Server) {
		return func(s *sdk.Server) {
			s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
				return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
					if method == "tools/call" {
						*calls++
					}
					return next(ctx, method, r)
				}
			})
		}
	}
}

// A body that is larger than the fast path takes is the library's to answer, and not one that comes without a length: as
// a request of its own, it would count beside the operation.
func TestTheFastPathLeavesLargeBodies(t *testing.T) {
	calls := 0
	w, server := openWith(t, 0, counting(&calls))
	for name, c := range map[string]struct {
		body   string
		length int64
		calls  int
	}{
		"no length": {legacyCall, -1, 0},
		"large":     {strings.Replace(legacyCall, `"1"`, `"`+strings.Repeat("1", 100<<10)+`"`, 1), 100<<10 + 200, 1},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://desk.example.com/mcp",
			strings.NewReader(c.body))
		r.ContentLength = c.length
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		rw := httptest.NewRecorder()
		calls = 0
		if err := server.Protocol().Serve(rw, r, w.caller); err != nil || rw.Code != http.StatusOK || calls != c.calls {
			t.Errorf("%s: answered with %d, by %d calls of the library, %v", name, rw.Code, calls, err)
		}
	}
}
