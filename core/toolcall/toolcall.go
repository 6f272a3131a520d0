// Package toolcall calls operations of the interface as tools of a language model, for the protocols in which
// voice platforms ask for that.
//
//	result, err := toolcall.Runner{API: handler, Within: limit}.Run(ctx, toolcall.Call{Tool: tool, ...})
//
// A call goes through the interface with the caller's key, so that validation, scopes, limits, idempotency,
// audit and the log of requests are those of the operation. A result is a sentence to say and what a model
// needs besides.
package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/api"
	"frontdesk/core/fault"
	"frontdesk/core/jsonread"
	"frontdesk/core/language"
	"frontdesk/core/parallel"
	"frontdesk/core/phonenumber"
	"frontdesk/core/speech"
)

// HeaderCaller is the header in which a platform tells the number of whoever calls. A model cannot set it.
const HeaderCaller = "X-Caller-Number"

// HeaderCall is the header in which a platform tells its id of the telephone call.
const HeaderCall = "X-Call-Id"

const headerRequest = "X-Request-Id"

// Runner calls tools. All fields are required.
type Runner struct {
	API    func() http.Handler // the interface; asked for when a tool is called
	Within time.Duration       // how long a call may take; one that has no time left does not begin
	Notes  Notes               // what the tools of a telephone call told
	Now    func() time.Time
}

// Call is one call of a tool.
type Call struct {
	Tool      api.Tool
	Arguments json.RawMessage
	Header    http.Header // of the request in which the platform asks
	// Caller is the number that the telephone call comes from, as the platform tells it. Tools that ask for it
	// get it in place of what a model says.
	Caller string
	// CallID is the platform's id of the telephone call, and ToolCallID its id of this call of a tool. Within a
	// telephone call, equal changes are one, and references can be named by words. Without a CallID, equal
	// changes within minutes are one. Without a ToolCallID, a repeat is told by its arguments alone.
	CallID, ToolCallID string
	TenantID           string // whose call it is
}

// Result is the outcome of a call.
type Result struct {
	OK     bool
	GoesOn bool // the write had not ended in time, and goes on; an equal call gets its answer
	Said   string
	Answer map[string]json.RawMessage // what a model needs besides: fields of the answer, or of the failure
}

// Text returns the sentence, and after a line break the answer as compact JSON.
func (r Result) Text() string {
	if len(r.Answer) == 0 {
		return r.Said
	}
	return strings.TrimSpace(r.Said + "\n" + string(readable(r.Answer)))
}

// Object returns the answer as one JSON object, with "ok" and "say" among its fields. What goes on is not done yet.
func (r Result) Object() map[string]any {
	object := map[string]any{"ok": r.OK && !r.GoesOn, "say": r.Said}
	for name, value := range r.Answer {
		object[name] = value
	}
	return object
}

// goesOn tells a model what to do while a write goes on.
var goesOn = map[string]json.RawMessage{"message": asJSON("This has not ended yet, and goes on. Call the tool once " +
	"more with exactly the same values: the answer tells what became of it.")}

// Run calls a tool. It returns an error only if ctx ends.
func (r Runner) Run(ctx context.Context, c Call) (Result, error) {
	// A write goes on once it has begun, so that none begins for a client that is gone.
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	words := wordsIn(languageOf(c.Header))
	if r.Within <= 0 {
		return Result{Said: words.late}, nil
	}
	c.CallID, c.ToolCallID = realID(c.CallID), realID(c.ToolCallID)
	if !api.MayBeRead(c.Arguments, 1) { // the interface says what is wrong; to read them here would cost far more
		return resultOf(r.call(ctx, c, c.Arguments, ""), c.Tool, words, speech.In(languageOf(c.Header))), nil
	}
	remembered := memory{r.Notes, c.TenantID, c.CallID, r.Now(), map[string][]string{}}
	raw, body := remembered.argumentsOf(ctx, c)
	running := ctx
	if c.Tool.Writes { // it goes on if the client gives up: what was begun is ended, and an equal call gets its answer
		running = context.WithoutCancel(ctx)
	}
	var result Result
	calling, answered := parallel.New(), make(chan struct{})
	calling.Go(func() error {
		defer close(answered)
		result = r.operate(running, c, remembered, raw, body)
		return nil
	})
	late := time.NewTimer(r.Within)
	defer late.Stop()
	select {
	case <-answered:
		_ = calling.Wait() // which panics if the call did
		return result, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case <-late.C:
		if !c.Tool.Writes {
			return Result{Said: words.late}, nil
		}
		return Result{OK: true, GoesOn: true, Said: words.goesOn, Answer: goesOn}, nil
	}
}

// argumentsOf returns a call's arguments as the interface gets them, and raw, before any word of theirs was resolved.
func (m memory) argumentsOf(ctx context.Context, c Call) (raw, body []byte) {
	raw = bytes.TrimSpace(c.Arguments)
	if string(raw) == "null" { // how some clients say that there are no arguments
		raw = nil
	}
	if repeats(raw) {
		return raw, raw
	}
	raw = asMeant(raw, c.Tool.Types)
	if c.Tool.CallerNumber != "" {
		raw = withNumber(raw, c.Tool.CallerNumber, c.Caller)
	}
	return raw, m.resolve(ctx, c.Tool, raw)
}

// operate calls the operation of a tool, and notes what that told and changed.
func (r Runner) operate(ctx context.Context, c Call, remembered memory, raw, body []byte) Result {
	key, after, body := remembered.key(ctx, c.Tool, raw, body, c.ToolCallID)
	spoken := languageOf(c.Header)
	result := resultOf(r.call(ctx, c, body, key), c.Tool, wordsIn(spoken), speech.In(spoken))
	if textOf(result.Answer["reason"]) == fault.ReasonSlotTaken {
		result = remembered.own(ctx, body, wordsIn(spoken), result)
	}
	remembered.learn(ctx, c.Tool, body, after, result)
	return result
}

// realID returns an id, or "" for what stands in its place in a definition, such as CALL_ID, {{call.id}} or <call_id>
// (docs.synthflow.ai/create-a-custom-action), or what some platforms send where they have none. By it, all telephone
// calls would be one, so that whoever calls would change what another caller was told of, and all calls of a tool
// repeats of the first.
func realID(id string) string {
	plain := strings.ToLower(strings.TrimSpace(id))
	if slices.Contains([]string{"call_id", "null", "undefined", "none", "unknown"}, plain) ||
		placeholder.MatchString(plain) {
		return ""
	}
	return id
}

// placeholder matches a name in braces or angle brackets. What has a digit may be an id.
var placeholder = regexp.MustCompile(`^(\{[^0-9]*\}|<[^0-9]*>)$`)

// languageOf returns the language in which whoever sent a request is spoken to.
func languageOf(of http.Header) string { return language.Match(of.Get("Accept-Language")) }

// Speaks reports whether the sentences of results are in a language that whoever sent a request accepts.
func Speaks(to http.Header) bool { return language.Fits(to.Get("Accept-Language")) }

// repeats reports whether an object has a name twice. To write such arguments anew would choose one of the two
// values, where the interface refuses both.
func repeats(arguments []byte) bool {
	names := map[string]bool{}
	for _, m := range jsonread.Members(arguments, math.MaxInt) {
		if names[m.Name] {
			return true
		}
		names[m.Name] = true
	}
	return false
}

// asMeant returns the arguments without those in whose place a model wrote null as a text, as models do where a
// schema has no null: to the interface that is a text like any other, such as a title or a meeting's reference. Nor
// has a list an entry of nothing: a template has its place also for what a caller does not have. A number, a list or
// its only entry is taken from a text, and a text from a number. In the templates of some platforms every value is a
// text: "date": "{{input.date}}" (docs.bland.ai/api-v1/post/tools), "email": "<user_email>"
// (docs.synthflow.ai/docs/custom-actions-deepdive).
func asMeant(arguments []byte, types map[string]string) []byte {
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 && json.Unmarshal(arguments, &given) != nil {
		return arguments // the interface says what is wrong
	}
	changed := false
	for name, value := range given {
		text, isText := textOf(value), value[0] == '"'
		switch kind := types[name]; {
		case isText && saysNothing(text) && len(value) > len(`""`):
			delete(given, name)
		case kind == "integer" && isText && isInteger(text):
			given[name] = json.RawMessage(text)
		case kind == "string" && !isText && isInteger(text) && len(text) <= exactDigits:
			given[name] = asJSON(text)
		case kind == "array" && strings.HasPrefix(text, "[") && json.Valid([]byte(text)):
			given[name] = withoutNothing(text)
		case kind == "array" && isText && text != "":
			given[name] = asJSON([]string{text})
		default:
			continue
		}
		changed = true
	}
	if !changed {
		return arguments
	}
	return asJSON(given)
}

// saysNothing reports whether a text stands where there is nothing to say.
func saysNothing(text string) bool {
	return text == "" || strings.EqualFold(text, "null") || strings.EqualFold(text, "undefined")
}

// withoutNothing returns a list without the entries that say nothing.
func withoutNothing(list string) json.RawMessage {
	var entries []json.RawMessage
	_ = json.Unmarshal([]byte(list), &entries) // it is the JSON of a list
	return asJSON(slices.DeleteFunc(entries, func(entry json.RawMessage) bool { return saysNothing(textOf(entry)) }))
}

// exactDigits is how many digits of a number are sure to be as they were written: platforms read JSON as JavaScript
// does, which makes one number of two longer ones (RFC 8259 section 6).
const exactDigits = 15

// isInteger reports whether a text is an integer as JSON has them.
func isInteger(text string) bool {
	return json.Valid([]byte(text)) && strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") == ""
}

// withNumber puts the number of whoever calls into a field of the arguments of a tool, in place of what a model
// says of it, unless they ask for an e-mail address.
func withNumber(arguments []byte, field, number string) []byte {
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 && json.Unmarshal(arguments, &given) != nil {
		return arguments // the interface says what is wrong
	}
	delete(given, field)
	if textOf(given["email"]) == "" {
		if _, err := phonenumber.Parse(number); err != nil {
			number = "unknown" // a model could not correct it
		}
		delete(given, "email")
		given[field] = asJSON(number)
	}
	return asJSON(given)
}

// asJSON returns the JSON of a value that always has one.
func asJSON(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("toolcall: " + err.Error())
	}
	return raw
}

// readable is asJSON for a model, which reads the text as it is: & and < are not escaped.
func readable(value any) json.RawMessage {
	var raw bytes.Buffer
	to := json.NewEncoder(&raw)
	to.SetEscapeHTML(false)
	if err := to.Encode(value); err != nil {
		panic("toolcall: " + err.Error())
	}
	return bytes.TrimSpace(raw.Bytes())
}

// htmlEscapes are the escapes by which the interface's JSON could stand in a page. What follows a backslash that is
// escaped itself is none.
var htmlEscapes = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// passedOn are the headers that a call of the interface has from the call of the tool.
var passedOn = [...]string{"X-Api-Key", "Authorization", "Accept-Language", "Traceparent", "Tracestate",
	headerRequest}

// call calls the operation. Its time limit is that of the tool for reads, and that of the interface for
// writes.
func (r Runner) call(ctx context.Context, c Call, body []byte, key string) *api.Recorder {
	answer := api.NewRecorder()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Tool.Path,
		io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return answer
	}
	req.ContentLength = int64(len(body))
	for _, name := range passedOn {
		if values := c.Header.Values(name); len(values) > 0 {
			req.Header[name] = values
		}
	}
	// So that the log of requests finds all of a call. Proxies give each request an id of its own (envoyproxy.io, "HTTP
	// header manipulation", x-request-id; kubernetes.github.io/ingress-nginx, "ConfigMap", generate-request-id).
	if c.CallID != "" {
		req.Header.Set(headerRequest, c.CallID)
	}
	req.Header.Set("Content-Type", "application/json")
	if !c.Tool.Writes {
		req.Header.Set("X-Request-Timeout-Ms", strconv.FormatInt(max(r.Within.Milliseconds(), 1), 10))
	} else if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	r.API().ServeHTTP(answer, req)
	return answer
}

// resultOf reads the answer of the interface.
func resultOf(r *api.Recorder, t api.Tool, words words, spoken speech.Language) Result {
	if r.Status != http.StatusOK {
		return failureOf(r.Body.Bytes(), words)
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal([]byte(htmlEscapes.Replace(r.Body.String())), &answer); err != nil {
		return Result{Said: words.broken}
	}
	var said string
	var ticket struct {
		Number string `json:"ticket_number"`
	}
	if raw, has := answer["say"]; has {
		_ = json.Unmarshal(raw, &said) // a string, by the interface's own declaration
		delete(answer, "say")
	} else if json.Unmarshal(answer["ticket"], &ticket) == nil { // the written interface has no sentences
		if said = spoken.Ticket(ticket.Number); t.Writes {
			said = spoken.Opened(ticket.Number)
		}
		answer["ticket"] = briefly(answer["ticket"])
	}
	return Result{OK: true, Said: said, Answer: answer}
}

// longestDescription is how much of a ticket's description a model gets, in characters. Too large a result "is likely
// to bloat the model context, increasing latency and risking truncation of earlier instructions"
// (ToolCallResultMessageWarning of @vapi-ai/server-sdk 2.0.1), and some tickets begin with a long mail.
const longestDescription = 2000

// briefly returns a ticket with the beginning of its description, if that is long.
func briefly(ticket json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(ticket) <= longestDescription || json.Unmarshal(ticket, &fields) != nil {
		return ticket
	}
	description := []rune(textOf(fields["description"]))
	if len(description) <= longestDescription {
		return ticket
	}
	fields["description"] = readable(string(description[:longestDescription]) + "…")
	return readable(fields)
}

// failureOf returns what a model needs of a google.rpc.Status.
func failureOf(body []byte, words words) Result {
	var status struct {
		Message string `json:"message"`
		Details []struct {
			Type       string                     `json:"@type"`
			Reason     string                     `json:"reason"`
			Message    string                     `json:"message"`
			RetryDelay string                     `json:"retryDelay"`
			Value      map[string]json.RawMessage `json:"value"`
			Violations []struct {
				Field       string `json:"field"`
				Description string `json:"description"`
			} `json:"fieldViolations"`
		} `json:"details"`
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return Result{Said: words.broken}
	}
	failure := Result{Said: words.broken, Answer: map[string]json.RawMessage{
		"reason": asJSON(""), "message": readable(status.Message),
	}}
	for _, d := range status.Details {
		switch d.Type[strings.LastIndex(d.Type, ".")+1:] {
		case "ErrorInfo":
			failure.Answer["reason"] = asJSON(d.Reason)
		case "LocalizedMessage":
			failure.Said = d.Message
		case "RetryInfo":
			failure.Answer["retry_in"] = asJSON(d.RetryDelay)
		case "Struct": // what the caller can have instead
			maps.Copy(failure.Answer, d.Value)
		case "BadRequest":
			var fields []string
			for _, v := range d.Violations {
				fields = append(fields, v.Field+" "+v.Description)
			}
			failure.Answer["fields"] = readable(fields)
		}
	}
	return failure
}

// Clock returns the result of a tool that tells the time, to a request with a header.
func Clock(of http.Header, now time.Time) Result {
	return Result{OK: true, Said: speech.In(languageOf(of)).Now(now),
		Answer: map[string]json.RawMessage{
			"date": asJSON(now.Format(time.DateOnly)), "weekday": asJSON(now.Weekday().String()),
			"time": asJSON(now.Format("15:04")), "time_zone": asJSON(now.Location().String()),
		}}
}

// Refused returns the result of a call that led to no operation, to a request with a header.
func Refused(of http.Header, reason, message string) Result {
	return Result{Said: wordsIn(languageOf(of)).broken, Answer: map[string]json.RawMessage{
		"reason": asJSON(reason), "message": asJSON(message),
	}}
}
