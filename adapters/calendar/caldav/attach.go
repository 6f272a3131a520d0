package caldav

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// longProperties hold files, and texts that DESCRIPTION has as well. No answer needs them (RFC 5545 section 3.8.1.1,
// RFC 7986 section 5.10, RFC 9073 section 6; X-ALT-DESC is Outlook's).
var longProperties = [][]byte{
	[]byte("ATTACH"), []byte("IMAGE"), []byte("STYLED-DESCRIPTION"), []byte("STRUCTURED-DATA"), []byte("X-ALT-DESC"),
}

// withoutAttachments returns a reader of a listing that leaves the long properties out. An event with a file of some
// megabytes would otherwise make its whole calendar longer than upstream reads. Few servers can be asked to leave them
// out themselves (RFC 4791 section 9.6).
func withoutAttachments(from io.Reader) io.Reader {
	return &unattached{from: bufio.NewReaderSize(from, 16<<10), begins: true}
}

// objectWithoutAttachments is withoutAttachments for one object, which is no XML.
func objectWithoutAttachments(from io.Reader) io.Reader {
	return &unattached{from: bufio.NewReaderSize(from, 16<<10), begins: true, plain: true}
}

type unattached struct {
	from   *bufio.Reader
	kept   []byte // not returned yet
	err    error  // after that
	begins bool   // a line begins next
	plain  bool   // there is no XML around it
	cdata  bool   // what follows is unescaped text
	skips  bool   // the line that was read last is left out, with those that continue it
}

// Read implements io.Reader.
func (u *unattached) Read(p []byte) (int, error) {
	for len(u.kept) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		part, err := u.from.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			u.err = err
		}
		u.kept = u.keep(part)
	}
	n := copy(p, u.kept)
	u.kept = u.kept[n:]
	return n, nil
}

// The beginning and the end of a text of XML in which nothing is escaped.
var cdataBegin, cdataEnd = []byte("<![CDATA["), []byte("]]>")

// keep returns what is kept of a line or a part of one. Its value contains no markup of XML, so that ends it.
func (u *unattached) keep(part []byte) []byte {
	if u.begins && len(part) > 0 && part[0] != ' ' && part[0] != '\t' { // RFC 5545 section 3.1: it continues none
		u.skips = slices.ContainsFunc(longProperties, func(name []byte) bool {
			return len(part) > len(name) && bytes.EqualFold(part[:len(name)], name) &&
				(part[len(name)] == ':' || part[len(name)] == ';')
		})
	}
	u.begins = bytes.HasSuffix(part, []byte("\n"))
	if u.skips {
		markup := []byte("<")
		if u.cdata {
			markup = cdataEnd
		}
		end := bytes.Index(part, markup)
		if end < 0 || u.plain {
			return nil
		}
		u.skips, part = false, part[end:]
	}
	if begin, end := bytes.LastIndex(part, cdataBegin), bytes.LastIndex(part, cdataEnd); begin != end {
		u.cdata = begin > end
	}
	return part
}
