package rest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"frontdesk/core/fault"
)

const (
	maxSourceBytes  = 4 << 10     // of an expression as written: time to compile one grows with its square
	expressionTime  = time.Second // for one value
	maxValueBytes   = 1 << 20     // of texts in one value
	maxValueMembers = 100_000     // of lists and objects in one value
	maxWords        = 300         // of the log text about an expression that fails
)

// expression is a jq expression of the settings.
type expression struct {
	setting string // its path in the settings
	code    *gojq.Code
	reads   reads
}

// given reports whether the settings have the expression.
func (e expression) given() bool { return e.code != nil }

// parser compiles expressions. Those with the same text are compiled once.
type parser struct {
	options []gojq.CompilerOption
	known   map[string]uses
	shared  map[string]parsed // by text: what others have compiled; it is only read
	parsed  map[string]parsed // by text
}

type parsed struct {
	code    *gojq.Code
	reads   reads
	problem string
}

func newParser(shared map[string]parsed) *parser {
	return &parser{
		options: append(counting(), ownFunctions()...), known: functionsOf(), shared: shared,
		parsed: map[string]parsed{},
	}
}

// parse compiles an expression. An expression reaches no environment, no other input and no module. parse
// returns what is wrong with it and where, or "" if nothing is.
func (p *parser) parse(path, source string) (expression, string) {
	known, there := p.shared[source]
	if !there {
		known, there = p.parsed[source]
	}
	if !there {
		known = p.compile(source)
		p.parsed[source] = known
	}
	if known.problem != "" {
		return expression{}, known.problem
	}
	return expression{setting: path, code: known.code, reads: known.reads}, ""
}

func (p *parser) compile(source string) parsed {
	if len(source) > maxSourceBytes {
		return parsed{problem: fmt.Sprintf("is a jq expression of more than %d bytes.", maxSourceBytes)}
	}
	query, err := gojq.Parse(source)
	if err != nil {
		if at, is := errors.AsType[*gojq.ParseError](err); is {
			return parsed{problem: fmt.Sprintf("is not a jq expression: %v at character %d of %q.", err, at.Offset, source)}
		}
		return parsed{problem: fmt.Sprintf("is not a jq expression: %v.", err)}
	}
	reads := readsOf(query) // as written
	l := &limiter{known: p.known, own: map[string]bool{}}
	query = l.query(query)
	if l.problem != "" {
		problem := "it " + l.problem
		if query, err = gojq.Parse(source); err == nil { // as written, since jq knows better what is not defined
			if _, err = gojq.Compile(query, p.options...); err != nil {
				problem = err.Error()
			}
		}
		return parsed{problem: "cannot be used as a jq expression: " + problem + "."}
	}
	code, err := gojq.Compile(query, p.options...)
	if err != nil {
		return parsed{problem: fmt.Sprintf("cannot be used as a jq expression: %v.", err)}
	}
	return parsed{code: code, reads: reads}
}

// ownFunctions returns the functions that expressions have besides those of jq. limiter knows each by name.
func ownFunctions() []gojq.CompilerOption {
	var options []gojq.CompilerOption
	for name, function := range map[string]func(any, []any) any{
		"given": dropNulls, "quoted": quote, "odata_quoted": quoteOData, "encoded_query": encodeQuery, "uuid": nameUUID,
		"unmarked": unmark,
	} {
		options = append(options, gojq.WithFunction(name, 0, 0, function))
	}
	return options
}

// dropNulls drops the members of an object that are null.
func dropNulls(v any, _ []any) any {
	members, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("given cannot be applied to: %s", gojq.TypeOf(v))
	}
	kept := make(map[string]any, len(members))
	for name, member := range members {
		if member != nil {
			kept[name] = member
		}
	}
	return kept
}

// quote puts a text into single quotes for a query language that escapes with a backslash, such as SOQL and
// TicketSQL.
func quote(v any, _ []any) any {
	text, ok := textOf(v)
	if !ok {
		return fmt.Errorf("quoted cannot be applied to: %s", gojq.TypeOf(v))
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// quoteOData puts a text into single quotes for a query language that doubles them, such as OData (OData 4.01,
// URL Conventions, section 5.1.1.6.1) and SQL.
func quoteOData(v any, _ []any) any {
	text, ok := textOf(v)
	if !ok {
		return fmt.Errorf("odata_quoted cannot be applied to: %s", gojq.TypeOf(v))
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// encodeQuery makes a text one value of an encoded query of ServiceNow. There a "^" begins the next condition
// and is doubled in a value, a "," separates the values of IN, and a value that begins with "javascript:" is run.
// A text that cannot be such a value becomes one that no record has.
func encodeQuery(v any, _ []any) any {
	text, ok := textOf(v)
	if !ok {
		return fmt.Errorf("encoded_query cannot be applied to: %s", gojq.TypeOf(v))
	}
	if strings.ContainsAny(text, ",\r\n\x00") || strings.Contains(strings.ToLower(text), "javascript:") {
		return "frontdesk.invalid"
	}
	return strings.ReplaceAll(text, "^", "^^")
}

// uuidSpace is the namespace of the UUIDs that expressions make of texts.
const uuidSpace = "frontdesk ticket "

// nameUUID returns a UUID that is always the same for a text (RFC 9562 section 5.8, version 8). Systems that let
// their clients choose an id get it from the key.
func nameUUID(v any, _ []any) any {
	text, ok := textOf(v)
	if !ok {
		return fmt.Errorf("uuid cannot be applied to: %s", gojq.TypeOf(v))
	}
	sum := sha256.Sum256([]byte(uuidSpace + text))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// mark is the line by which systems without a field for it keep the key of the call that opened a ticket, at the end of
// its text or before what somebody has added, as text or as HTML.
var mark = regexp.MustCompile(
	`(?:\s|<br ?/?>)*(?:<p>)?\bFrontdesk: [a-z0-9]+(?:</p>)?(?:\s*(?:</div>)?\s*$|([\r\n<]))`)

// unmark removes the first mark of a text.
func unmark(v any, _ []any) any {
	text, ok := textOf(v)
	if !ok {
		return fmt.Errorf("unmarked cannot be applied to: %s", gojq.TypeOf(v))
	}
	at := mark.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	rest := at[1]
	if at[2] >= 0 { // what ends the mark's line stays
		rest = at[2]
	}
	return text[:at[0]] + text[rest:]
}

// value returns the first value of the expression, or nil if it has none or is not given.
func (e expression) value(ctx context.Context, input any) (any, error) {
	if !e.given() {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, expressionTime)
	defer cancel()
	left := &work{bytes: maxMadeBytes}
	v, any := e.code.RunWithContext(&metered{Context: limited, work: left, left: maxExecuted}, input, left).
		Next()
	err, failed := v.(error)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case failed && !left.exhausted() && (errors.Is(err, errTooLong) || limited.Err() != nil):
		return nil, misfit(e.setting, fmt.Sprintf("takes longer than %s, or too many steps", expressionTime))
	case left.exhausted() || any && (&budget{bytes: maxValueBytes, members: maxValueMembers}).exceeds(v):
		return nil, misfit(e.setting, errTooLarge.Error())
	case failed:
		return nil, e.fails(err)
	case !any:
		return nil, nil
	}
	return v, nil
}

// failures matches the beginning of jq's errors. What follows it is a value, which can be from a response.
var failures = regexp.MustCompile(
	`\A((?:cannot (?:iterate over|add|subtract|multiply|divide|modulo|negate)|` +
		`expected an? (?:object|array|string|number)(?: with [a-z ]+)? but got|` +
		`(?:given|quoted|odata_quoted|encoded_query|uuid|unmarked|join|split|test|startswith|endswith|` +
		`tonumber|length|keys|has|ascii_downcase|ltrimstr|rtrimstr)(?:\([^)]*\))? cannot be applied to): ` +
		`(?:null|boolean|number|string|array|object))\b`)

// fails returns the fault of an expression that fails. It holds nothing of a response. The log has the whole
// error at debug level.
func (e expression) fails(err error) error {
	what := "fails on the ticket system's answer"
	var raised gojq.ValueError
	if known := failures.FindStringSubmatch(err.Error()); known != nil && !errors.As(err, &raised) &&
		!strings.Contains(known[1], "(") {
		what = known[1]
	}
	f := misfit(e.setting, what)
	f.Upstream = short(strings.ToValidUTF8(err.Error(), "\uFFFD"), maxWords)
	return f
}

// holds reports whether the expression has a value other than false and null.
func (e expression) holds(ctx context.Context, input any) (bool, error) {
	v, err := e.value(ctx, input)
	return err == nil && v != nil && v != false, err
}

// text returns the expression's value as text, "" for null.
func (e expression) text(ctx context.Context, input any) (string, error) {
	v, err := e.value(ctx, input)
	if err != nil {
		return "", err
	}
	text, ok := textOf(v)
	if !ok {
		return "", misfit(e.setting, "gives "+kindOf(v)+", where a text is needed")
	}
	return text, nil
}

// textOf converts a single value into text; null is "".
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case *big.Int:
		return v.String(), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// kindOf describes the type of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a " + gojq.TypeOf(v)
}

// budget is the size that a value may have.
type budget struct{ bytes, members int }

func (b *budget) exceeds(v any) bool {
	switch v := v.(type) {
	case string:
		b.bytes -= len(v)
	case []any:
		b.members -= len(v)
		for _, item := range v {
			if b.bytes < 0 || b.members < 0 || b.exceeds(item) {
				return true
			}
		}
	case map[string]any:
		b.members -= len(v)
		for name, member := range v {
			b.bytes -= len(name)
			if b.bytes < 0 || b.members < 0 || b.exceeds(member) {
				return true
			}
		}
	}
	return b.bytes < 0 || b.members < 0
}

// misfit returns the fault of settings that do not fit the ticket system's responses. Callers see it, so it
// holds nothing of a response.
func misfit(path, what string) *fault.Error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The connection's settings do not fit its ticket system: settings.%s: %s.", path, what).
		With("setting", "settings."+path)
}
