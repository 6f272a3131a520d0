package fake

import (
	"slices"
	"strings"
)

// mask is the set of requested fields of an object; an empty one selects all.
type mask map[string]mask

// selectFields returns the partial response
// (developers.google.com/workspace/calendar/api/guides/performance#partial): only what the parameter fields
// names, and so without the token of the next page if that is not named.
func selectFields(answer map[string]any, fields string) (map[string]any, *refusal) {
	if fields == "" {
		return answer, nil
	}
	m, rest, ok := parseMask(fields)
	if !ok || rest != "" {
		return nil, invalidParameter("fields")
	}
	if unknown := m.unknown(); unknown != "" {
		refused := invalidParameter("fields")
		refused.message = "Invalid field selection " + unknown
		return nil, refused
	}
	picked, _ := m.pick(answer).(map[string]any)
	return picked, nil
}

// parseMask parses names separated by commas, each with an optional submask after a slash or in parentheses.
func parseMask(s string) (m mask, rest string, ok bool) {
	m = mask{}
	for {
		end := strings.IndexAny(s, ",/()")
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimSpace(s[:end])
		if word == "" {
			return nil, s, false
		}
		inner := mask{}
		s = s[end:]
		switch {
		case strings.HasPrefix(s, "/"):
			// One path: a/b,c is a/b and c.
			end := strings.IndexAny(s, ",)(")
			if end < 0 {
				end = len(s)
			}
			if end < len(s) && s[end] == '(' {
				depth := strings.IndexByte(s, ')')
				if depth < 0 {
					return nil, s, false
				}
				end = depth + 1
			}
			if inner, rest, ok = parseMask(s[1:end]); !ok || rest != "" {
				return nil, s, false
			}
			s = s[end:]
		case strings.HasPrefix(s, "("):
			if inner, rest, ok = parseMask(s[1:]); !ok || !strings.HasPrefix(rest, ")") {
				return nil, s, false
			}
			s = rest[1:]
		}
		if old, there := m[word]; there {
			for name, part := range inner {
				old[name] = part
			}
		} else {
			m[word] = inner
		}
		if !strings.HasPrefix(s, ",") {
			return m, s, true
		}
		s = s[1:]
	}
}

// selectable are the names of fields in responses other than events.
var selectable = []string{
	"kind", "etag", "calendars", "groups", "summary", "description", "items", "nextPageToken", "nextSyncToken",
	"timeZone", "accessRole", "updated", "defaultReminders", "id", "primary", "summaryOverride", "conferenceProperties",
	"allowedConferenceSolutionTypes", "hidden", "selected", "deleted",
}

func (m mask) unknown() string {
	for name, inner := range m {
		if !slices.Contains(selectable, name) && !hasField(eventShape, name) {
			return name
		}
		if deeper := inner.unknown(); deeper != "" {
			return deeper
		}
	}
	return ""
}

func hasField(shape any, name string) bool {
	switch shape := shape.(type) {
	case object:
		for own, inner := range shape {
			if own == name || hasField(inner, name) {
				return true
			}
		}
	case list:
		return hasField(shape.of, name)
	}
	return false
}

func (m mask) pick(value any) any {
	if len(m) == 0 {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		picked := map[string]any{}
		for name, inner := range m {
			if part, there := value[name]; there {
				picked[name] = inner.pick(part)
			}
		}
		return picked
	case []any:
		picked := make([]any, len(value))
		for i, item := range value {
			picked[i] = m.pick(item)
		}
		return picked
	}
	return value
}
