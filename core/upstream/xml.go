package upstream

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

var errNoXML = errors.New("the answer is no XML that is read")

// UnmarshalXML decodes a response into out like xml.Unmarshal, and fails once the context has ended. It
// accepts only what was counted as XML when the response was read: no document type, no HTML page, and
// nothing that does not begin like XML. Control characters that XML 1.0 does not allow are dropped, since
// some servers pass them on from events.
func UnmarshalXML(ctx context.Context, body []byte, out any) error {
	var s shape
	for i := 0; i < len(body) && s.kind == unknownKind; i++ {
		s.kind = s.kindOf(body[i])
	}
	if s.kind != xmlKind {
		return errNoXML
	}
	inner := xml.NewDecoder(&lasting{ctx: ctx, Reader: bytes.NewReader(withoutControls(body))})
	return xml.NewTokenDecoder(&elements{raw: inner}).Decode(out)
}

// withoutControls drops the control characters that XML 1.0 does not allow. Other characters that it does not
// allow become U+FFFD. So only dropped control characters can make their neighbours adjacent.
func withoutControls(body []byte) []byte {
	body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	if bytes.IndexFunc(body, func(r rune) bool { return xmlRune(r) != r }) < 0 {
		return body
	}
	return bytes.Map(xmlRune, body)
}

func xmlRune(r rune) rune {
	switch {
	case r < ' ' && r != '\t' && r != '\n' && r != '\r':
		return -1
	case r == 0xFFFE, r == 0xFFFF:
		return '\uFFFD'
	}
	return r
}

// lasting is a reader that fails once its context has ended.
type lasting struct {
	ctx context.Context
	io.Reader
}

func (r *lasting) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// elements reads the tokens of a document. It rejects a document type and a page of HTML.
type elements struct {
	raw   *xml.Decoder
	begun bool
}

// Token implements xml.TokenReader.
func (e *elements) Token() (xml.Token, error) {
	token, err := e.raw.RawToken()
	switch of := token.(type) {
	case xml.Directive:
		return nil, errNoXML
	case xml.StartElement:
		if !e.begun && strings.EqualFold(of.Name.Local, page) {
			return nil, errNoXML
		}
		e.begun = true
	}
	return token, err
}
