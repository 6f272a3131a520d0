package ical

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxLineOctets is the length of a physical line without its break (RFC 5545 section 3.1).
const maxLineOctets = 75

// Encode returns the encoded component. Lines end in CR LF and are folded at 75 octets, never within a
// character.
func Encode(c *Component) []byte {
	var b bytes.Buffer
	encode(&b, c)
	return b.Bytes()
}

func encode(b *bytes.Buffer, c *Component) {
	writeLine(b, "BEGIN:"+c.Name)
	for _, p := range c.Properties {
		writeLine(b, p.line())
	}
	for _, child := range c.Children {
		encode(b, child)
	}
	writeLine(b, "END:"+c.Name)
}

func (p Property) line() string {
	if p.Name == "" {
		return p.Value
	}
	var b strings.Builder
	b.WriteString(p.Name)
	for _, param := range p.Params {
		b.WriteByte(';')
		b.WriteString(param.Name)
		for i, value := range param.Values {
			if i == 0 {
				b.WriteByte('=')
			} else {
				b.WriteByte(',')
			}
			if strings.ContainsAny(value, ";:,") {
				b.WriteString(`"` + value + `"`)
				continue
			}
			b.WriteString(value)
		}
	}
	b.WriteByte(':')
	b.WriteString(p.Value)
	return b.String()
}

// writeLine writes a line, folded. A line break within the line cannot come from Decode or from Text.
// writeLine drops a break and what follows it, which would otherwise be read as another line.
func writeLine(b *bytes.Buffer, line string) {
	if i := strings.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	left := maxLineOctets
	for len(line) > left {
		cut := left
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		if cut == 0 { // not UTF-8 at all
			cut = left
		}
		b.WriteString(line[:cut])
		b.WriteString("\r\n ")
		line, left = line[cut:], maxLineOctets-1
	}
	b.WriteString(line)
	b.WriteString("\r\n")
}
