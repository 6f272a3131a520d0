package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/api"
	"frontdesk/core/language"
	"frontdesk/core/phonenumber"
)

// HeaderCaller is the header in which a platform tells the number of whoever calls. A model cannot set it.
const HeaderCaller = "X-Caller-Number"

// caller returns the handler of a tool: it calls the operation as the caller would.
func (s *Server) caller(t api.Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		header := http.Header{}
		if req.Extra != nil {
			header = req.Extra.Header
		}
		body := []byte(req.Params.Arguments)
		if t.CallerNumber != "" {
			body = withNumber(body, t.CallerNumber, header.Get(HeaderCaller))
		}
		words := wordsIn(language.Match(header.Get("Accept-Language")))
		running := ctx
		if t.Writes { // it goes on if the client gives up: what was begun is ended, and an equal call gets its answer
			running = context.WithoutCancel(ctx)
		}
		answered := make(chan response, 1)
		go func() { answered <- s.call(running, t, header, body) }()
		late := time.NewTimer(s.within)
		defer late.Stop()
		select {
		case r := <-answered:
			return r.result(t, words), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late.C:
			if !t.Writes {
				return text(true, words.late, nil), nil
			}
			return text(false, words.goesOn, nil), nil
		}
	}
}

// withNumber puts the number of whoever calls into a field of the arguments of a tool, in place of what a model
// says of it, unless they ask for an e-mail address.
func withNumber(arguments []byte, field, number string) []byte {
	var given map[string]json.RawMessage
	if len(arguments) > 0 && json.Unmarshal(arguments, &given) != nil {
		return arguments // the interface says what is wrong
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	delete(given, field)
	if email, has := given["email"]; !has || string(email) == "null" || string(email) == `""` {
		if _, err := phonenumber.Parse(number); err != nil {
			number = "unknown" // a model could not correct it
		}
		quoted, err := json.Marshal(number)
		if err != nil {
			return arguments
		}
		delete(given, "email")
		given[field] = quoted
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return arguments
	}
	return raw
}

// response is the response of the interface.
type response struct{ *api.Recorder }

// passedOn are the headers that a call of the interface has from the call of the tool.
var passedOn = [...]string{"X-Api-Key", "Authorization", "Accept-Language", "Traceparent", "Tracestate",
	"X-Request-Id"}

// call calls the operation. Its time limit is that of the tool for reads, and that of the interface for
// writes.
func (s *Server) call(ctx context.Context, t api.Tool, header http.Header, body []byte) response {
	r := response{api.NewRecorder()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Path, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return r
	}
	req.ContentLength = int64(len(body))
	for _, name := range passedOn {
		if values := header.Values(name); len(values) > 0 {
			req.Header[name] = values
		}
	}
	req.Header.Set("Content-Type", "application/json")
	if !t.Writes {
		req.Header.Set("X-Request-Timeout-Ms", strconv.FormatInt(s.within.Milliseconds(), 10))
	}
	s.opts.API().ServeHTTP(r, req)
	return r
}

// failure is what a model needs of a google.rpc.Status.
type failure struct {
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
	Fields  []string `json:"fields,omitempty"`
	RetryIn string   `json:"retry_in,omitempty"`

	NearestSlots json.RawMessage `json:"nearest_slots,omitempty"`
}

// result returns the result of a tool.
func (r response) result(t api.Tool, words words) *mcp.CallToolResult {
	if r.Status == http.StatusOK {
		var answer map[string]json.RawMessage
		if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
			return text(true, words.broken, nil)
		}
		said := words.done[t.Name]
		if raw, has := answer["say"]; has {
			_ = json.Unmarshal(raw, &said) // a string, by the interface's own declaration
			delete(answer, "say")
		}
		return text(false, said, answer)
	}
	var status struct {
		Message string `json:"message"`
		Details []struct {
			Type       string          `json:"@type"`
			Reason     string          `json:"reason"`
			Message    string          `json:"message"`
			RetryDelay string          `json:"retryDelay"`
			Value      json.RawMessage `json:"value"`
			Violations []struct {
				Field       string `json:"field"`
				Description string `json:"description"`
			} `json:"fieldViolations"`
		} `json:"details"`
	}
	if err := json.Unmarshal(r.Body.Bytes(), &status); err != nil {
		return text(true, words.broken, nil)
	}
	f, said := failure{Message: status.Message}, words.broken
	for _, d := range status.Details {
		switch d.Type[strings.LastIndex(d.Type, ".")+1:] {
		case "ErrorInfo":
			f.Reason = d.Reason
		case "LocalizedMessage":
			said = d.Message
		case "RetryInfo":
			f.RetryIn = d.RetryDelay
		case "Struct": // what the caller can have instead
			if err := json.Unmarshal(d.Value, &f); err != nil {
				return text(true, words.broken, nil)
			}
		case "BadRequest":
			for _, v := range d.Violations {
				f.Fields = append(f.Fields, v.Field+" "+v.Description)
			}
		}
	}
	return text(true, said, f)
}

// text returns a result: a sentence, then JSON.
func text(isError bool, said string, answer any) *mcp.CallToolResult {
	if answer != nil {
		if raw, err := json.Marshal(answer); err == nil {
			said = strings.TrimSpace(said + "\n" + string(raw))
		}
	}
	return &mcp.CallToolResult{IsError: isError, Content: []mcp.Content{&mcp.TextContent{Text: said}}}
}
