package normalize

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// PlainText turns HTML into plain text: paragraphs and list items keep their lines, scripts and styles are dropped.
func PlainText(source string) string {
	var w writer
	tokens := html.NewTokenizer(strings.NewReader(source))
	hidden := 0
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			return strings.TrimSpace(w.String())
		case html.TextToken:
			if hidden == 0 {
				w.words(string(tokens.Text()))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			tag := atom.Lookup(name)
			switch {
			case unseen[tag] && kind == html.StartTagToken:
				hidden++
			case unseen[tag] && kind == html.EndTagToken:
				hidden = max(0, hidden-1)
			case hidden > 0:
			case tag == atom.Br:
				w.lines(1)
			case tag == atom.Li && kind != html.EndTagToken:
				w.lines(1)
				w.WriteString("- ")
				w.bare = true
			case paragraphs[tag]:
				w.lines(2)
			case blocks[tag]:
				w.lines(1)
			case tag == atom.Td || tag == atom.Th:
				w.space = true
			}
		}
	}
}

var (
	unseen     = set(atom.Script, atom.Style, atom.Head, atom.Title, atom.Template)
	paragraphs = set(atom.P, atom.Blockquote, atom.Ul, atom.Ol, atom.Table, atom.Pre, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6)
	blocks     = set(atom.Div, atom.Tr, atom.Li, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Hr, atom.Dt, atom.Dd)
)

func set(tags ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(tags))
	for _, t := range tags {
		m[t] = true
	}
	return m
}

// writer folds white space as a browser does.
type writer struct {
	strings.Builder
	space bool // a space is due before the next word
	bare  bool // nothing stands on the line yet
	ends  int  // line breaks at the end
}

func (w *writer) words(s string) {
	for i, word := range strings.Fields(s) {
		if (i > 0 || w.space || strings.TrimLeft(s, " \t\r\n\f") != s) && !w.bare && w.ends == 0 && w.Len() > 0 {
			w.WriteByte(' ')
		}
		w.WriteString(word)
		w.space, w.bare, w.ends = false, false, 0
	}
	if strings.TrimRight(s, " \t\r\n\f") != s {
		w.space = true
	}
}

// lines makes sure that n line breaks stand at the end.
func (w *writer) lines(n int) {
	if w.Len() == 0 {
		return
	}
	for ; w.ends < n; w.ends++ {
		w.WriteByte('\n')
	}
	w.space = false
}
