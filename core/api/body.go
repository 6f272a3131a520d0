package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"frontdesk/core/fault"
)

const (
	maxBodyBytes  = 1 << 20
	maxBodyDepth  = 32
	drainBodySize = 4 << 20 // how much of an oversize body is read away, so that its sender gets to read the refusal
)

// readBody takes the body of a request under the cap. Whether it is JSON is for [wellFormed] to say.
func readBody(r *http.Request) ([]byte, error) {
	if err := checkMediaType(r); err != nil {
		return nil, err
	}
	if r.ContentLength > maxBodyBytes {
		return nil, tooLarge(r)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	switch {
	case len(body) > maxBodyBytes:
		return nil, tooLarge(r)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault.New(fault.Timeout, fault.ReasonDeadlineExceeded,
			"The deadline passed before the whole body had come.").Because(err)
	case err != nil && r.Context().Err() != nil:
		return nil, fault.From(r.Context().Err())
	case err != nil:
		// The body ended before what its framing announced, or its chunks are no chunks: nobody but the sender did it.
		return nil, malformed("it ended before all of it had come").Because(err)
	}
	return body, nil
}

// tooLarge reads a while longer: a sender that is refused in the midst of sending often loses the answer with the
// connection.
func tooLarge(r *http.Request) error {
	_, err := io.CopyN(io.Discard, r.Body, drainBodySize)
	f := fault.Newf(fault.Invalid, reasonBodyTooLarge, "The body is larger than %s bytes.", thousands(maxBodyBytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return f.Because(err)
	}
	return f
}

// checkMediaType accepts JSON in UTF-8, RFC 8259 section 8.1. A missing Content-Type is read as JSON; so is that of an
// empty body, since clients that post nothing still announce a form.
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

// malformed is the fault of a body that cannot be read as JSON at all, as opposed to JSON that says something wrong.
func malformed(why string) *fault.Error {
	return &fault.Error{
		Code: fault.Invalid, Reason: reasonMalformed, Detail: "The body is not valid JSON: " + why + ".",
		Fields: []fault.Field{{Path: locationBody, Message: "is not valid JSON: " + why}},
	}
}

// wellFormed holds a body against RFC 8259 and against what RFC 7493 section 2 adds, without which two readers may
// understand one text differently: UTF-8 without lone surrogates, and no name twice in an object.
func wellFormed(body []byte) error {
	if !utf8.Valid(body) {
		return malformed("it is not UTF-8")
	}
	if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
		return malformed(syntaxError(err))
	}
	if at := loneSurrogate(body); at >= 0 {
		return malformed(fmt.Sprintf(`the escape at byte %d is half of a surrogate pair`, at))
	}
	return wellNested(body)
}

func syntaxError(err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "it cannot be read"
	}
	return fmt.Sprintf("%s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset)
}

// wellNested walks the tokens of a syntactically valid body for nesting that is too deep and for duplicate names.
func wellNested(body []byte) error {
	type level struct {
		names map[string]bool // nil: an array
		key   bool            // the next token is a name
	}
	var levels []level
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformed(syntaxError(err))
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if top := len(levels) - 1; top >= 0 && levels[top].names != nil {
			if levels[top].key {
				name, _ := token.(string)
				if levels[top].names[name] {
					return malformed("the name " + quoteName(name) + " is there twice")
				}
				levels[top].names[name] = true
				levels[top].key = false
				continue
			}
			levels[top].key = true
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{names: map[string]bool{}, key: true})
		case json.Delim('['):
			levels = append(levels, level{})
		}
		if len(levels) > maxBodyDepth {
			return malformed(fmt.Sprintf("it nests deeper than %d levels", maxBodyDepth))
		}
	}
}

// loneSurrogate finds an escape such as \ud800 that is not one half of a pair; encoding/json would quietly replace it.
// It answers the offset, or -1. The body is known to be valid JSON.
func loneSurrogate(body []byte) int {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
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
