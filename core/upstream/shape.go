package upstream

import "bytes"

// shape scans a response as it is read and counts what a decoder would build from it. It tells text from
// structure by the same rules as encoding/json and encoding/xml, so that everything they would build has been
// counted before. The counts of input that they reject may be wrong. The response itself is not stored.
type shape struct {
	within bounds

	kind kind
	mark int // bytes of a byte order mark so far

	depth, items, elements, attributes, values, lines int

	// The position of the scan.
	state   state
	run     int     // bytes of the current name, number or text
	comma   bool    // the last token was one within a list
	lists   uint64  // which of the open objects and lists are lists, the innermost lowest
	name    int     // bytes of the last text, which is a name if a colon follows
	content int     // bytes of text since the last tag
	quote   byte    // the quote that ends the attribute value
	own     int     // attributes of the current element
	before  [2]byte // the last two bytes, for ends of several bytes
	word    []byte  // the text after "<!", or the beginning of the first element's name
}

// kind is the format of a response, judged by its first byte. A decoder for another format rejects that byte.
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
	opening   // after "<"
	banging   // after "<!"
	inTag     // in the name of a start tag
	inHead    // in a start tag, after its name
	inValue   // in an attribute value
	inEnd     // in an end tag
	inRemark  // <!-- -->
	inCDATA   // <![CDATA[ ]]>
	inProcess // <? ?>
	opaque    // a document type or a page of HTML, which UnmarshalXML refuses
)

// excess describes what a response has too much of.
type excess string

const moreBytes excess = "has more bytes"

func (e excess) Error() string { return string(e) }

const byteOrderMark = "\xef\xbb\xbf"

// scan processes the next bytes of the response. Its error is an excess.
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

// kindOf returns unknownKind for bytes to skip: blanks, a byte order mark, and stray control characters.
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
	if len(p) == 0 {
		return nil
	}
	s.lines += bytes.Count(p, []byte("\n")) + bytes.Count(p, []byte("\r")) - bytes.Count(p, []byte("\r\n"))
	if s.before[1] == '\r' && p[0] == '\n' { // the end of a line in two parts of the response
		s.lines--
	}
	s.before[1] = p[len(p)-1]
	if s.lines > maxLines {
		return excess("has more lines")
	}
	return nil
}

// cost returns how many bytes of memory a decoder may take for the response.
func (s *shape) cost(size int) int64 {
	return costOfByte*int64(size) + costOfItem*int64(s.items) + costOfElement*int64(s.elements) +
		costOfAttribute*int64(s.attributes) + costOfValue*int64(s.values) + costOfLine*int64(s.lines)
}
