package rest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// template is a text of the settings in which {expressions} stand for values.
type template struct {
	setting string // its path in the settings
	parts   []part
}

// part is either words or an expression.
type part struct {
	words string
	expression
}

// template parses a template. It returns what is wrong with the template, or "" if nothing is.
func (p *parser) template(path, source string) (template, string) {
	t := template{setting: path}
	words := func(w string) {
		if n := len(t.parts); n > 0 && !t.parts[n-1].given() {
			t.parts[n-1].words += w
			return
		}
		t.parts = append(t.parts, part{words: w})
	}
	for rest := source; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			words(rest)
			break
		}
		if i > 0 {
			words(rest[:i])
		}
		at := len(source) - len(rest) + i
		if strings.HasPrefix(rest[i:], "{{") || strings.HasPrefix(rest[i:], "}}") {
			words(rest[i : i+1])
			rest = rest[i+2:]
			continue
		}
		if rest[i] == '}' {
			return t, fmt.Sprintf(`has a "}" at character %d without a "{" before it; write "}}" for a brace.`, at+1)
		}
		length := closing(rest[i+1:])
		if length < 0 {
			return t, fmt.Sprintf(`has a "{" at character %d without a "}" after it; write "{{" for a brace.`, at+1)
		}
		e, problem := p.parse(path, rest[i+1:i+1+length])
		if problem != "" {
			return t, fmt.Sprintf("from character %d on %s", at+2, problem)
		}
		t.parts = append(t.parts, part{expression: e})
		rest = rest[i+length+2:]
	}
	return t, ""
}

// closing returns the index of the brace that ends an expression, or -1 if there is none. It skips braces in
// objects and texts of the expression.
func closing(s string) int {
	depth, inText := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

// words returns the text of the template without its expressions.
func (t template) words() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.words)
	}
	return b.String()
}

// fixed reports whether the template has no expressions.
func (t template) fixed() bool { return !slices.ContainsFunc(t.parts, part.given) }

// path renders the template as a path in which each value is part of one segment.
func (t template) path(ctx context.Context, input any) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if !p.given() {
			b.WriteString(p.words)
			continue
		}
		text, err := p.text(ctx, input)
		if err != nil {
			return "", err
		}
		// An empty segment, "." and ".." would request another path.
		if text == "" || text == "." || text == ".." {
			return "", misfit(t.setting, "gives an empty value or only dots, which cannot be part of a path")
		}
		b.WriteString(url.PathEscape(text))
	}
	return b.String(), nil
}

// text renders the template as a text. present is false if it is a single expression whose value is null.
func (t template) text(ctx context.Context, input any) (text string, present bool, err error) {
	var b strings.Builder
	for _, p := range t.parts {
		if !p.given() {
			b.WriteString(p.words)
			continue
		}
		v, err := p.value(ctx, input)
		if err != nil {
			return "", false, err
		}
		if v == nil && len(t.parts) == 1 {
			return "", false, nil
		}
		written, ok := textOf(v)
		if !ok {
			return "", false, misfit(t.setting, "gives "+kindOf(v)+", where a text is needed")
		}
		b.WriteString(written)
	}
	return b.String(), true, nil
}
