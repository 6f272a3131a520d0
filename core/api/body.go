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
	maxBodyBytes  = 128 << 10 // enough for the limits of all fields together
	maxBodyDepth  = 32
	maxBodyNames  = 256  // in all objects together; find-slots has objects in lists
	maxBodyValues = 1000 // elements and members in total; the longest list may have 200
	// How much of an oversize body is read and discarded, so that its sender gets to read the refusal.
	drainBodySize = 1 << 20
	bodyWithin    = 2 * time.Second // time limit for a body: callers are servers, which send it at once
)

// readBody reads the body of a request, up to maxBodyBytes. It returns nil for an operation without a body.
// It does not check the JSON; see [checkForm].
func readBody(ctx context.Context, r *http.Request, wanted bool) ([]byte, error) {
	if wanted {
		if err := checkMediaType(r); err != nil {
			return nil, err
		}
	}
	body, err := readUpTo(ctx, r, maxBodyBytes)
	if err != nil || !wanted {
		return nil, err
	}
	return body, nil
}

// ReadBody reads the body of a request that [Protocol.Serve] got, up to limit bytes. It fails as operations do if
// the body is larger, is broken or does not arrive within the time for bodies, or if there is no room for it.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	request, _ := r.Context().Value(protocolKey{}).(protocolRequest)
	expected := limit
	if r.ContentLength >= 0 {
		expected = int(min(r.ContentLength, int64(limit)))
	}
	if !request.room.fits(expected) {
		return nil, errNoRoom
	}
	body, err := readUpTo(r.Context(), r, limit)
	if err != nil {
		return nil, err
	}
	request.room.fits(len(body)) // which is no larger

	return body, readUntil(w, r, time.Time{}) // as in (*api).body
}

func readUpTo(ctx context.Context, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return nil, tooLarge(r, limit)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	switch {
	case len(body) > limit:
		return nil, tooLarge(r, limit)
	case errors.Is(err, os.ErrDeadlineExceeded) && passed(ctx):
		return nil, fault.New(fault.Timeout, fault.ReasonDeadlineExceeded,
			"The deadline passed before the whole body arrived.").Because(err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault.Newf(fault.Timeout, reasonBodyTooSlow,
			"The body did not arrive within %s.", bodyWithin).Because(err)
	case err != nil && r.Context().Err() != nil:
		return nil, fault.From(r.Context().Err())
	case err != nil:
		// The body is shorter than announced, or its chunks are malformed: the sender is at fault.
		return nil, malformed("it ended too early").Because(err)
	}
	return body, nil
}

// passed reports whether the deadline of ctx has passed.
func passed(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && !time.Now().Before(end)
}

// tooLarge discards up to drainBodySize of the body and returns the fault. A sender that is refused while it
// still sends often loses the response with the connection.
func tooLarge(r *http.Request, limit int) error {
	_, err := io.CopyN(io.Discard, r.Body, drainBodySize)
	f := fault.Newf(fault.Invalid, reasonBodyTooLarge, "The body is larger than %s bytes.",
		thousands(limit))
	if err != nil && !errors.Is(err, io.EOF) {
		return f.Because(err)
	}
	return f
}

// checkMediaType accepts JSON in UTF-8 (RFC 8259 section 8.1), which some clients call utf8 (WHATWG Encoding Standard,
// "Names and labels"). It also accepts a missing Content-Type, and any Content-Type of an empty body, since clients
// that post nothing still announce a form.
func checkMediaType(r *http.Request) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.Invalid, reasonMediaType, "The body must be sent without a Content-Encoding.")
	}
	given := r.Header.Get("Content-Type")
	if given == "" || r.ContentLength == 0 {
		return nil
	}
	mediaType, parameters, err := mime.ParseMediaType(given)
	charset := strings.ToLower(parameters["charset"])
	if err != nil || mediaType != "application/json" || charset != "" && charset != "utf-8" && charset != "utf8" {
		return fault.New(fault.Invalid, reasonMediaType, "The body must be application/json in UTF-8.")
	}
	return nil
}

// malformed returns the fault for a body that is not valid JSON, as opposed to JSON with invalid values.
func malformed(why string) *fault.Error {
	return &fault.Error{
		Code: fault.Invalid, Reason: reasonMalformed, Detail: "The body is not valid JSON: " + why + ".",
		Fields: []fault.Field{{Path: locationBody, Message: "is not valid JSON: " + why}},
	}
}

// checkForm checks a body against RFC 8259 and the additional rule of RFC 7493 section 2, without which two
// parsers may read the same text differently: UTF-8 without lone surrogates. [membersIn] checks its other
// rule, that no name occurs twice in an object.
//
// It first bounds the numbers of names and values, which cost time and memory, by scanning the bytes.
func checkForm(body []byte) error {
	if err := checkBounds(body, 1); err != nil {
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

// MayBeRead reports whether a text is no more than so many bodies of operations may be together: an operation refuses
// more before it reads it.
func MayBeRead(text []byte, bodies int) bool {
	return len(text) <= bodies*maxBodyBytes && checkBounds(text, bodies) == nil
}

// checkBounds limits the numbers of names, values and levels of a text, which need not be valid JSON, to those of so
// many bodies.
func checkBounds(body []byte, bodies int) error {
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
		case depth > bodies*maxBodyDepth:
			return malformed(fmt.Sprintf("it nests deeper than %d levels", maxBodyDepth))
		case names > bodies*maxBodyNames:
			return malformed(fmt.Sprintf("it has more than %d names", maxBodyNames))
		case values > bodies*maxBodyValues:
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

// member is a name and value of the body.
type member struct {
	name  string
	value json.RawMessage
}

// membersIn returns the members of an object, which must be valid JSON, in order. It fails if any object in
// it has a name twice. The values are slices of the body, and long strings are only scanned.
func membersIn(object []byte) ([]member, error) {
	var members []member
	var levels []map[string]bool // the names in each enclosing object; nil for an array
	begins := 0                  // where the value of the last member begins
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

// nameIn decodes a name and adds it to names. It fails if the name is already in names.
func nameIn(text []byte, names map[string]bool) (string, error) {
	name, err := textOf(text)
	if err != nil {
		return "", malformed(syntaxError(err))
	}
	if names[name] {
		return "", malformed("the name " + quoteName(name) + " is there twice")
	}
	names[name] = true
	return name, nil
}

// textOf decodes a string of valid JSON. Most have no escapes and are ASCII, which decode to themselves.
func textOf(quoted []byte) (text string, err error) {
	for _, b := range quoted {
		if b == '\\' || b >= utf8.RuneSelf {
			err = json.Unmarshal(quoted, &text)
			return text, err
		}
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

// endOfText returns the index after the closing quotation mark of the string that begins at i.
func endOfText(body []byte, i int) int {
	for i++; body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// blanks returns the number of blanks at the beginning of text.
func blanks(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

// loneSurrogate returns the offset of an escape such as \ud800 that is not half of a pair, or -1 if there is
// none. The encoding/json package would silently replace such an escape. The body must be valid JSON.
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

// escapedUnit returns the UTF-16 unit of a \uXXXX escape at the start of the text, or -1 if there is none.
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
