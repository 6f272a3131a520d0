package upstream

import "strings"

// xml counts the elements and attributes of XML, and the lines of its texts, which may be iCalendar. It skips
// control characters that XML does not allow, since UnmarshalXML drops them.
func (s *shape) xml(p []byte) error {
	for _, c := range p {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			continue
		}
		s.xmlByte(c)
		s.before = [2]byte{s.before[1], c}
		if err := s.tooMuch(); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) xmlByte(c byte) {
	switch s.state {
	case between, inCDATA:
		s.content++
		s.xmlText(c)
	case opening:
		s.xmlOpening(c)
	case banging:
		s.xmlBang(c)
	case inTag, inHead:
		s.xmlTag(c)
	case inValue:
		if c == s.quote {
			s.state, s.run = inHead, 0
		}
	case inEnd:
		if s.run++; c == '>' {
			s.depth--
			s.enter(between)
		}
	case inRemark:
		s.ends(c, '-')
	case inProcess:
		if s.before[1] == '?' && c == '>' {
			s.enter(between)
		}
	}
}

// enter changes the state and forgets the previous bytes.
func (s *shape) enter(next state) {
	s.state, s.run, s.before = next, 0, [2]byte{}
}

// ends leaves a construct that ends with by, by and ">".
func (s *shape) ends(c, by byte) {
	if c == '>' && s.before == [2]byte{by, by} {
		s.enter(between)
	}
}

// xmlText counts line ends. Every reference counts as one, since it may stand for one.
func (s *shape) xmlText(c byte) {
	switch c {
	case '\n':
		if s.before[1] != '\r' {
			s.lines++
		}
	case '\r', '&':
		s.lines++
	case '<':
		if s.state == between {
			s.enter(opening)
		}
	}
	if s.state == inCDATA {
		s.ends(c, ']')
	}
}

func (s *shape) xmlOpening(c byte) {
	switch c {
	case '/':
		s.enter(inEnd)
		s.content = 0
	case '?':
		s.enter(inProcess)
	case '!':
		s.enter(banging)
		s.word = s.word[:0]
	default:
		s.enter(inTag)
		s.word = s.word[:0]
		s.depth++
		s.elements++
		s.own = 0
		s.content = 0
		s.xmlTag(c)
	}
}

const cdata = "[CDATA["

func (s *shape) xmlBang(c byte) {
	s.word = append(s.word, c)
	switch bang := string(s.word); {
	case bang == "--":
		s.enter(inRemark)
	case bang == cdata:
		s.enter(inCDATA)
	case bang == "-", len(bang) < len(cdata) && bang == cdata[:len(bang)]:
	default:
		s.enter(opaque)
	}
}

// xmlTag handles a start tag from its name to its end. Its values are quoted, or the decoder rejects it.
func (s *shape) xmlTag(c byte) {
	s.run++
	if s.elements == 1 && s.state == inTag && s.isPage(c) {
		s.enter(opaque)
		return
	}
	switch c {
	case '>':
		if s.before[1] == '/' {
			s.depth--
		}
		s.enter(between)
	case '"', '\'':
		s.state, s.quote = inValue, c
	case '=':
		s.own++
		s.attributes++
		s.run = 0
	case ' ', '\t', '\n', '\r', '/':
		s.state, s.run = inHead, 0
	}
}

// isPage reports whether the first element is that of an HTML page, which has other rules.
func (s *shape) isPage(c byte) bool {
	if c > ' ' && c != '>' && c != '/' {
		if len(s.word) <= len(page) {
			s.word = append(s.word, c)
		}
		return false
	}
	return strings.EqualFold(string(s.word), page)
}

const page = "html"
