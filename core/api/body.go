package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"frontdesk/core/fault"
)

const (
	maxBodyBytes  = 128 << 10 // what the limits of all fields together allow
	maxBodyDepth  = 32
	maxBodyNames  = 64   // in all objects together; no operation has more than a dozen fields
	maxBodyValues = 1000 // elements and members in all; the longest list may have 200
	// How much of an oversize body is read away, so that its sender gets to read the refusal.
	drainBodySize = 1 << 20
	bodyWithin    = 2 * time.Second // the time that a body may take: callers are servers, which have it at hand
)

// readBody takes the body of a request under the cap. Whether it is JSON is for [checkForm] to say; of an
// operation that takes none, it is nil.
func readBody(ctx context.Context, r *http.Request, wanted bool) ([]byte, error) {
	if wanted {
		if err := checkMediaType(r); err != nil {
			return nil, err
		}
	}
	if r.ContentLength > maxBodyBytes {
		return nil, tooLarge(r)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	switch {
	case len(body) > maxBodyBytes:
		return nil, tooLarge(r)
	case errors.Is(err, os.ErrDeadlineExceeded) && passed(ctx):
		return nil, fault.New(fault.Timeout, fault.ReasonDeadlineExceeded,
			"The deadline passed before the whole body arrived.").Because(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault.Newf(fault.Timeout, reasonBodyTooSlow,
			"The body did not arrive within %s.", bodyWithin).Because(err)
	case err != nil && r.Context().Err() != nil:
		return nil, fault.From(r.Context().Err())
	case err != nil:
		// The body ended before what its framing announced, or its chunks are no chunks: nobody but the
		// sender did it.
		return nil, malformed("it ended too early").Because(err)
	case !wanted:
		return nil, nil
	}
	return body, nil
}

// passed reports whether the deadline of ctx has.
func passed(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && !time.Now().Before(end)
}

// tooLarge reads a while longer: a sender that is refused in the midst of sending often loses the answer with
// the connection.
func tooLarge(r *http.Request) error {
	_, err := io.CopyN(io.Discard, r.Body, drainBodySize)
	f := fault.Newf(fault.Invalid, reasonBodyTooLarge, "The body is larger than %s bytes.",
		thousands(maxBodyBytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return f.Because(err)
	}
	return f
}

// checkMediaType accepts JSON in UTF-8, RFC 8259 section 8.1. A missing Content-Type is read as JSON; so is
// that of an empty body, since clients that post nothing still announce a form.
func checkMediaType(r *http.Request) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.Invalid, reasonMediaType, "The body must be sent without a Content-Encoding.")
	}
	given := r.Header.Get("Content-Type")
	if given == "" || r.ContentLength == 0 {
		return nil
	}
	mediaType, parameters, err := mime.ParseMediaType(given)
	charset := parameters["charset"]
	if err != nil || mediaType != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return fault.New(fault.Invalid, reasonMediaType, "The body must be application/json in UTF-8.")
	}
	return nil
}

// malformed returns the fault of a body that cannot be read as JSON at all, as opposed to JSON that says
// something wrong.
func malformed(why string) *fault.Error {
	return &fault.Error{
		Code: fault.Invalid, Reason: reasonMalformed, Detail: "The body is not valid JSON: " + why + ".",
		Fields: []fault.Field{{Path: locationBody, Message: "is not valid JSON: " + why}},
	}
}

// checkForm holds a body against RFC 8259 and against what RFC 7493 section 2 adds, without which two
// readers may understand one text differently: UTF-8 without lone surrogates, and no name twice in an object.
//
// How much there is in it is bounded first, by a look at its bytes: names and values are compared, and cost
// memory.
func checkForm(body []byte) error {
	if err := checkBounds(body); err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return malformed("it is not UTF-8")
	}
	if !json.Valid(body) {
		return malformed(syntaxError(json.Unmarshal(body, new(json.RawMessage))))
	}
	if at := loneSurrogate(body); at >= 0 {
		return malformed(fmt.Sprintf(`the escape at byte %d is half of a surrogate pair`, at))
	}
	return nil
}

// checkBounds counts the names, values and levels of a text, which need not be valid JSON.
func checkBounds(body []byte) error {
	names, values, depth, text := 0, 0, 0, false
	for i := 0; i < len(body); i++ {
		switch b := body[i]; {
		case text && b == '\\':
			i++
		case b == '"':
			text = !text
		case text:
		case b == ':':
			names++
		case b == ',':
			values++
		case b == '[' || b == '{':
			depth++
			values++
		case b == ']' || b == '}':
			depth--
		}
		switch {
		case depth > maxBodyDepth:
			return malformed(fmt.Sprintf("it nests deeper than %d levels", maxBodyDepth))
		case names > maxBodyNames:
			return malformed(fmt.Sprintf("it has more than %d names", maxBodyNames))
		case values > maxBodyValues:
			return malformed(fmt.Sprintf("it has more than %s values", thousands(maxBodyValues)))
		}
	}
	return nil
}

func syntaxError(err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "it cannot be read"
	}
	return fmt.Sprintf("%s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset)
}

// member is one name and value of the body, in the order they came.
type member struct {
	name  string
	value json.RawMessage
}

// membersIn takes an object that is valid JSON apart. No object in it may have a name twice. Values are parts
// of the body and are not looked into otherwise: a long text costs no more than a look at its bytes.
func membersIn(object []byte) ([]member, error) {
	var members []member
	var levels []map[string]bool // the names of each object around, nil for an array
	begins := 0                  // the value of the last member
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{':
			levels = append(levels, map[string]bool{})
		case '[':
			levels = append(levels, nil)
		case '"':
			end := endOfText(object, i)
			colon := end + blanks(object[end:])
			if object[colon] == ':' {
				name, err := nameIn(object[i:end], levels[len(levels)-1])
				if err != nil {
					return nil, err
				}
				if len(levels) == 1 {
					members, begins = append(members, member{name: name}), colon+1
				}
				end = colon + 1
			}
			i = end - 1
		case ',', '}', ']':
			if len(levels) == 1 && len(members) > 0 {
				members[len(members)-1].value = bytes.TrimSpace(object[begins:i])
			}
			if object[i] != ',' {
				levels = levels[:len(levels)-1]
			}
		}
	}
	return members, nil
}

// nameIn reads a name and adds it to those of its object.
func nameIn(text []byte, names map[string]bool) (string, error) {
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		return "", malformed(syntaxError(err))
	}
	if names[name] {
		return "", malformed("the name " + quoteName(name) + " is there twice")
	}
	names[name] = true
	return name, nil
}

// endOfText returns where the text ends that begins at i, behind its closing quotation mark.
func endOfText(body []byte, i int) int {
	for i++; body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// blanks counts the blanks at the beginning.
func blanks(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

// loneSurrogate finds an escape such as \ud800 that is not one half of a pair; encoding/json would quietly
// replace it. It answers the offset, or -1. The body is known to be valid JSON.
func loneSurrogate(body []byte) int {
	for i := 0; i < len(body); i++ {
		next := bytes.IndexByte(body[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		unit := escapedUnit(body[i:])
		switch {
		case unit < 0:
			i++ // a two-character escape
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return i
		case unit >= 0xD800 && unit <= 0xDBFF:
			if low := escapedUnit(body[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return i
			}
			i += 11
		default:
			i += 5
		}
	}
	return -1
}

// escapedUnit reads the UTF-16 unit of a \uXXXX escape at the start of the text, -1 when there is none.
func escapedUnit(text []byte) int64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int64(unit)
}
