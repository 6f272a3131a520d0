package upstream

// json counts the members and elements of JSON (RFC 8259): one for each comma, colon, and opening brace or
// bracket outside texts.
func (s *shape) json(p []byte) error {
	for i := 0; i < len(p); i++ {
		switch s.state {
		case escaped:
			s.state = inString
			s.run++
			continue
		case inString:
			plain := plainText(p[i:])
			if s.run += plain; s.run > maxTextBytes {
				return excess("has longer texts")
			}
			if i += plain; i == len(p) {
				return nil
			}
			if p[i] == '\\' {
				s.state = escaped
			} else {
				s.state, s.name, s.run = between, s.run, 0
			}
			if s.run++; s.run > maxTextBytes {
				return excess("has longer texts")
			}
			continue
		}
		if err := s.jsonToken(p[i]); err != nil {
			return err
		}
	}
	return nil
}

// plainText returns how many bytes of p are before the end of a text and before an escape in it. Most of a
// response is such bytes.
func plainText(p []byte) int {
	for i, c := range p {
		if c == '"' || c == '\\' {
			return i
		}
	}
	return len(p)
}

func (s *shape) jsonToken(c byte) error {
	switch c {
	case '"':
		s.state, s.run, s.comma = inString, 0, false
		return nil
	case ' ', '\t', '\n', '\r':
		return nil
	case '{', '[':
		if !s.comma { // otherwise the comma has counted it
			s.items++
		}
		s.comma = false
		s.depth++
		s.lists <<= 1
		if c == '[' {
			s.lists |= 1
		}
		s.values++
	case '}', ']':
		s.depth--
		s.lists >>= 1
	case ',':
		s.comma = s.lists&1 == 1
		if s.comma {
			s.items++
		}
		s.values++
	case ':':
		s.values++
		if s.name > maxNameBytes {
			return excess("has longer names")
		}
	default:
		s.comma = false
		if s.run++; s.run > maxDigits {
			return excess("has longer numbers")
		}
		return nil
	}
	s.run, s.name = 0, 0
	return s.tooMuch()
}

func (s *shape) tooMuch() error {
	switch {
	case s.depth > maxDepth:
		return excess("is nested deeper")
	case s.items > s.within.items:
		return excess("has longer lists or more objects")
	case s.values > s.within.values:
		return excess("has more values")
	case s.elements > maxElements:
		return excess("has more elements")
	case s.own > maxAttributes:
		return excess("has more attributes")
	case s.lines > maxLines:
		return excess("has more lines")
	case s.content > maxTextBytes:
		return excess("has longer texts")
	case s.run > maxNameBytes:
		return excess("has longer names")
	}
	return nil
}
