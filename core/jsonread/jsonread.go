// Package jsonread reads JSON whose shape is known from memory, in one pass and without reflection. It is for
// the long lists of providers, which encoding/json takes most of a call's processor time to decode.
//
// A Reader is strict: it gives up (see [Reader.OK]) at whatever its user did not expect, and at every text for
// which encoding/json has a rule of its own. The user then decodes the same bytes with encoding/json, or with
// the provider's library, so that what is unusual means what it always meant:
//
//	r := jsonread.New(body)
//	for name, more := r.Member(); more; name, more = r.Next() {
//		switch string(name) {
//		case "id":
//			e.ID = r.String("")
//		default:
//			r.GiveUp()
//		}
//	}
//	if !r.End() { ... json.Unmarshal(body, &e) ... }
//
// The body must be complete and within the bounds of core/upstream.
package jsonread

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Reader reads one JSON text (RFC 8259) from its beginning to its end. Once it has given up, its methods return
// zero values, so that loops end.
type Reader struct {
	data []byte
	at   int
	bad  bool
}

// New returns a Reader of a text. The text must not change while it is read.
func New(data []byte) *Reader { return &Reader{data: data} }

// GiveUp records that the text is not as its reader expects.
func (r *Reader) GiveUp() { r.bad = true }

// Seen tracks which members of an object were read: see [Reader.Once].
type Seen uint32

// Once notes that the member of that number, from 0 to 31, is read. It gives up at one that comes twice: every
// decoder has rules of its own for that.
func (r *Reader) Once(seen *Seen, member int) {
	if *seen&(1<<member) != 0 {
		r.bad = true
	}
	*seen |= 1 << member
}

// Take takes a new value from a block of values, so that not each of a list is allocated alone.
func Take[T any](block *[]T) *T {
	const size = 16
	if len(*block) == 0 {
		*block = make([]T, size)
	}
	first := &(*block)[0]
	*block = (*block)[1:]
	return first
}

// End reports whether the text was as expected to its end, with nothing but blanks behind its value.
func (r *Reader) End() bool {
	r.peek()
	return !r.bad && r.at == len(r.data)
}

// peek skips blanks and returns the next byte, or 0 at the end and once the Reader has given up.
func (r *Reader) peek() byte {
	if r.bad {
		return 0
	}
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// take skips blanks and the byte c. Another byte makes the Reader give up.
func (r *Reader) take(c byte) bool {
	if r.peek() != c {
		r.bad = true
		return false
	}
	r.at++
	return true
}

// Null reads a null if there is one.
func (r *Reader) Null() bool { return r.peek() == 'n' && r.literal("null") }

// Member begins an object and returns the name of its first member, whose value must be read next. more is
// false if the object is empty. The name is valid until the next call.
func (r *Reader) Member() (name []byte, more bool) {
	if !r.take('{') {
		return nil, false
	}
	if r.peek() == '}' {
		r.at++
		return nil, false
	}
	return r.name()
}

// Next returns the name of the next member of the object that [Reader.Member] began. more is false at its end.
func (r *Reader) Next() (name []byte, more bool) {
	switch r.peek() {
	case ',':
		r.at++
		return r.name()
	case '}':
		r.at++
		return nil, false
	}
	r.bad = true
	return nil, false
}

func (r *Reader) name() (name []byte, more bool) {
	name, plain := r.text()
	if !plain { // a name with escapes, which may be one that is known
		r.bad = true
	}
	return name, r.take(':') && !r.bad
}

// Item begins a list, and reports whether it has an element, which must be read next.
func (r *Reader) Item() (more bool) {
	if !r.take('[') {
		return false
	}
	if r.peek() == ']' {
		r.at++
		return false
	}
	return !r.bad
}

// NextItem reports whether the list that [Reader.Item] began has another element.
func (r *Reader) NextItem() (more bool) {
	switch r.peek() {
	case ',':
		r.at++
		return true
	case ']':
		r.at++
		return false
	}
	r.bad = true
	return false
}

// Bool reads a truth value. Null is false, as encoding/json has it.
func (r *Reader) Bool() bool {
	switch r.peek() {
	case 't':
		return r.literal("true")
	case 'f':
		r.literal("false")
		return false
	}
	r.literal("null")
	return false
}

func (r *Reader) literal(want string) bool {
	if r.bad || len(r.data)-r.at < len(want) || string(r.data[r.at:r.at+len(want)]) != want {
		r.bad = true
		return false
	}
	r.at += len(want)
	return true
}

// Int reads a whole number. It gives up at one with a fraction, an exponent or more than nine digits.
func (r *Reader) Int() (n int) {
	digits, negative := r.number()
	if r.bad || len(digits) > 9 || bytes.ContainsAny(digits, ".eE") {
		r.bad = true
		return 0
	}
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

// number reads a number and returns it without its sign.
func (r *Reader) number() (digits []byte, negative bool) {
	if r.peek() == '-' {
		r.at++
		negative = true
	}
	start := r.at
	whole := r.digits()
	if whole == 0 || whole > 1 && r.data[start] == '0' {
		r.bad = true
	}
	if r.next() == '.' {
		r.at++
		r.bad = r.bad || r.digits() == 0
	}
	if c := r.next(); c == 'e' || c == 'E' {
		r.at++
		if c := r.next(); c == '+' || c == '-' {
			r.at++
		}
		r.bad = r.bad || r.digits() == 0
	}
	return r.data[start:r.at], negative
}

// next returns the next byte, which may be a blank, or 0 at the end.
func (r *Reader) next() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// digits passes digits and returns how many there were.
func (r *Reader) digits() int {
	start := r.at
	for c := r.next(); c >= '0' && c <= '9'; c = r.next() {
		r.at++
	}
	return r.at - start
}

// Limits of what Skip passes. Beyond them, decoders have limits of their own.
const (
	maxSkippedDepth  = 32
	maxSkippedDigits = 20
)

// Skip passes a value of any kind. It gives up at one that is nested deeply, and at a number that is long or has
// an exponent.
func (r *Reader) Skip() { r.skip(maxSkippedDepth) }

func (r *Reader) skip(depth int) {
	if depth == 0 {
		r.bad = true
	}
	switch r.peek() {
	case '{':
		for _, more := r.Member(); more; _, more = r.Next() {
			r.skip(depth - 1)
		}
	case '[':
		for more := r.Item(); more; more = r.NextItem() {
			r.skip(depth - 1)
		}
	case '"':
		if raw, plain := r.text(); !plain && !r.bad {
			r.unescape(raw)
		}
	case 't', 'f':
		r.Bool()
	case 'n':
		r.Null()
	default:
		if digits, _ := r.number(); len(digits) > maxSkippedDigits || bytes.ContainsAny(digits, "eE") {
			r.bad = true
		}
	}
}

// String reads a text. Null is "", as encoding/json has it. If the text is the recent one, which is often the
// case for zones and statuses of a list, recent itself is returned, and nothing is allocated. The result does
// not refer to the memory of the JSON text.
func (r *Reader) String(recent string) string {
	if r.Null() {
		return ""
	}
	raw, plain := r.text()
	switch {
	case r.bad:
		return ""
	case string(raw) == recent && plain:
		return recent
	case plain:
		return string(raw)
	}
	return r.unescape(raw)
}

// text reads a quoted text and returns what is between its quotes. plain is false if there are escapes in it.
func (r *Reader) text() (raw []byte, plain bool) {
	if !r.take('"') {
		return nil, false
	}
	start, plain, ascii := r.at, true, true
	for i := start; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			raw, r.at = r.data[start:i], i+1
			if !ascii && !utf8.Valid(raw) { // encoding/json replaces what is not UTF-8
				r.bad = true
			}
			return raw, plain
		case c == '\\':
			plain = false
			i++ // whatever is escaped, it is not the end
		case c < ' ':
			r.bad = true
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	r.bad = true
	return nil, false
}

// unescape returns a text without its escapes (RFC 8259 section 7).
func (r *Reader) unescape(raw []byte) string {
	out := make([]byte, 0, len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return string(append(out, raw...))
		}
		out = append(out, raw[:i]...)
		raw = raw[i+1:] // text has seen that something follows
		switch c := raw[0]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			char, size := escapedRune(raw)
			if size == 0 {
				r.bad = true
				return ""
			}
			out = utf8.AppendRune(out, char)
			raw = raw[size:]
			continue
		default:
			r.bad = true
			return ""
		}
		raw = raw[1:]
	}
}

// escapedRune returns the character that raw begins with, which is "u" and four hexadecimal digits, or two of
// these with a backslash between: a surrogate pair. size is 0 if it is neither. Encoding/json has a rule of its
// own for half a pair.
func escapedRune(raw []byte) (char rune, size int) {
	high, ok := hexadecimal(raw)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(high):
		return high, 5
	case len(raw) < 6 || raw[5] != '\\':
		return 0, 0
	}
	low, ok := hexadecimal(raw[6:])
	char = utf16.DecodeRune(high, low)
	if !ok || char == utf8.RuneError {
		return 0, 0
	}
	return char, 11
}

// hexadecimal returns the number of "u" and four hexadecimal digits.
func hexadecimal(raw []byte) (n rune, ok bool) {
	if len(raw) < 5 || raw[0] != 'u' {
		return 0, false
	}
	for _, c := range raw[1:5] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
