package ical

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Limits of Decode. Real objects are a few kilobytes; the largest hold inline attachments, or a long series
// with many overridden instances.
const (
	MaxBytes = 6 << 20
	maxDepth = 8
	maxParts = 100_000 // components and properties
	maxLists = 50_000  // parameters, and items of lists such as those of dates
)

// Errors of Decode.
var (
	ErrTooLarge = errors.New("ical: the object is larger than is read")
	ErrNone     = errors.New("ical: there is no VCALENDAR")
)

// Decode reads the first VCALENDAR of the data.
func Decode(data []byte) (*Component, error) {
	if len(data) > MaxBytes {
		return nil, ErrTooLarge
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var open []*Component
	parts, lists := 0, 0
	for line := range contentLines(data) {
		lists += bytes.Count(line, []byte(";")) + bytes.Count(line, []byte(","))
		if parts++; parts > maxParts || lists > maxLists {
			return nil, ErrTooLarge
		}
		p := parseLine(string(line))
		switch {
		case p.Is("BEGIN"):
			c := New(strings.ToUpper(strings.TrimSpace(p.Value)))
			if len(open) == 0 && c.Name != "VCALENDAR" {
				return nil, ErrNone
			}
			if len(open) == maxDepth {
				return nil, errors.New("ical: components are nested too deeply")
			}
			if len(open) > 0 {
				parent := open[len(open)-1]
				parent.Children = append(parent.Children, c)
			}
			open = append(open, c)
		case len(open) == 0:
			return nil, ErrNone
		case p.Is("END"):
			last := open[len(open)-1]
			if !strings.EqualFold(strings.TrimSpace(p.Value), last.Name) {
				return nil, fmt.Errorf("ical: a %s ends as another component", shown(last.Name))
			}
			open = open[:len(open)-1]
			if len(open) == 0 {
				return last, nil
			}
		default:
			last := open[len(open)-1]
			last.Properties = append(last.Properties, p)
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("ical: a %s does not end", shown(open[len(open)-1].Name))
	}
	return nil, ErrNone
}

// shown quotes a name from the input for an error message.
func shown(name string) string {
	const most = 40
	if len(name) > most {
		name = name[:most]
	}
	return fmt.Sprintf("%q", name)
}

// contentLines iterates over the content lines. It joins continuation lines (RFC 5545 section 3.1) and skips
// blank lines.
func contentLines(data []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		var line []byte
		for len(data) > 0 {
			var physical []byte
			physical, data = cutLine(data)
			if len(physical) > 0 && (physical[0] == ' ' || physical[0] == '\t') && line != nil {
				line = append(line, physical[1:]...)
				continue
			}
			if len(bytes.TrimSpace(line)) > 0 && !yield(line) {
				return
			}
			line = append(line[:0], physical...)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			yield(line)
		}
	}
}

// cutLine splits off the first line, which ends in CR LF, as it should, or in either alone.
func cutLine(data []byte) (line, rest []byte) {
	i := bytes.IndexAny(data, "\r\n")
	if i < 0 {
		return data, nil
	}
	if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
		return data[:i], data[i+2:]
	}
	return data[:i], data[i+1:]
}

// parseLine parses one content line. It keeps a malformed line whole, so that encoding the object preserves
// it.
func parseLine(line string) Property {
	p, ok := readLine(line)
	if !ok {
		return Property{Value: line}
	}
	return p
}

func readLine(line string) (Property, bool) {
	end := strings.IndexAny(line, ";:")
	if end <= 0 || !isName(line[:end]) {
		return Property{}, false
	}
	p := Property{Name: line[:end]}
	rest := line[end:]
	for strings.HasPrefix(rest, ";") {
		var param Param
		var ok bool
		if param, rest, ok = readParam(rest[1:]); !ok {
			return Property{}, false
		}
		if param.Name != "" {
			p.Params = append(p.Params, param)
		}
	}
	if !strings.HasPrefix(rest, ":") {
		return Property{}, false
	}
	p.Value = rest[1:]
	p.joinTZID()
	return p, true
}

// joinTZID moves what an unquoted colon cut off a TZID back to it: "TZID=GMT+05:30:20120904T020000", as Google Calendar
// wrote it (libical#152). No date and no time has a colon.
func (p *Property) joinTZID() {
	last := strings.LastIndexByte(p.Value, ':')
	if last < 0 || len(p.Params) == 0 {
		return
	}
	if param := p.Params[len(p.Params)-1]; strings.EqualFold(param.Name, "TZID") && len(param.Values) == 1 {
		param.Values[0] += ":" + p.Value[:last]
		p.Value = p.Value[last+1:]
	}
}

func readParam(s string) (Param, string, bool) {
	end := strings.IndexAny(s, "=;:")
	if end < 0 {
		return Param{}, s, false
	}
	if s[end] != '=' { // a parameter without a value: a slip that some programs make
		return Param{}, s[end:], true
	}
	param := Param{Name: strings.TrimSpace(s[:end])}
	if !isName(param.Name) {
		return Param{}, s, false
	}
	rest := s[end+1:]
	for {
		var value string
		if strings.HasPrefix(rest, `"`) {
			closing := strings.IndexByte(rest[1:], '"')
			if closing < 0 {
				return Param{}, s, false
			}
			value, rest = rest[1:closing+1], rest[closing+2:]
		} else {
			stop := strings.IndexAny(rest, ",;:")
			if stop < 0 {
				return Param{}, s, false
			}
			value, rest = rest[:stop], rest[stop:]
		}
		param.Values = append(param.Values, value)
		if rest == "" || (rest[0] != ',' && rest[0] != ';' && rest[0] != ':') {
			return Param{}, s, false
		}
		if rest[0] != ',' {
			return param, rest, true
		}
		rest = rest[1:]
	}
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
			c == '.') {
			return false
		}
	}
	return s != ""
}
