package upstream

import "bytes"

// shape follows an answer as it is read and counts what a decoder would make of it. It goes by the same rules
// of what is text and what is structure as encoding/json and encoding/xml do, so that whatever they would
// make has been counted before; what they refuse need not be right. It keeps nothing of the answer.
type shape struct {
	within bounds

	kind kind
	mark int // bytes of a byte order mark

	depth, items, elements, attributes, values, lines int

	// Where the scan stands.
	state   state
	run     int     // bytes of the present name, number or text
	comma   bool    // the last token was one within a list
	lists   uint64  // which of the open objects and lists are lists, the innermost lowest
	name    int     // bytes of the last text, which is a name if a colon follows
	content int     // bytes of text since the last tag
	quote   byte    // that ends a value of an attribute
	own     int     // attributes of the present element
	before  [2]byte // the last two bytes, for what ends by more than one
	word    []byte  // what came behind "<!", or the beginning of the first element's name
}

// kind is what an answer is by its first byte. A decoder that expects another kind refuses that byte.
type kind uint8

const (
	unknownKind kind = iota
	jsonKind
	xmlKind
	textKind
)

type state uint8

const (
	between state = iota
	inString
	escaped
	opening   // behind "<"
	banging   // behind "<!"
	inTag     // of a start, its name
	inHead    // of a start, behind its name
	inValue   // of an attribute
	inEnd     // of an end
	inRemark  // <!-- -->
	inCDATA   // <![CDATA[ ]]>
	inProcess // <? ?>
	opaque    // a document type or a page of HTML, which UnmarshalXML refuses
)

// excess says what an answer has too much of.
type excess string

const moreBytes excess = "has more bytes"

func (e excess) Error() string { return string(e) }

const byteOrderMark = "\xef\xbb\xbf"

// scan takes the next bytes of the answer. Its error is an excess.
func (s *shape) scan(p []byte) error {
	for len(p) > 0 && s.kind == unknownKind {
		s.kind = s.kindOf(p[0])
		if s.kind == unknownKind {
			p = p[1:]
		}
	}
	switch s.kind {
	case jsonKind:
		return s.json(p)
	case xmlKind:
		return s.xml(p)
	}
	return s.text(p)
}

// kindOf passes blanks, a byte order mark, and the control characters that servers let slip in.
func (s *shape) kindOf(c byte) kind {
	if s.mark < len(byteOrderMark) && c == byteOrderMark[s.mark] {
		s.mark++
		return unknownKind
	}
	switch {
	case c <= ' ':
		return unknownKind
	case c == '{' || c == '[':
		return jsonKind
	case c == '<':
		return xmlKind
	}
	return textKind
}

func (s *shape) text(p []byte) error {
	s.lines += bytes.Count(p, []byte("\n")) + bytes.Count(p, []byte("\r")) - bytes.Count(p, []byte("\r\n"))
	if s.lines > maxLines {
		return excess("has more lines")
	}
	return nil
}

// cost returns what a decoder may take for the answer.
func (s *shape) cost(size int) int64 {
	return costOfByte*int64(size) + costOfItem*int64(s.items) + costOfElement*int64(s.elements) +
		costOfAttribute*int64(s.attributes) + costOfValue*int64(s.values) + costOfLine*int64(s.lines)
}
