package normalize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// deepestIndent bounds how far a list is moved in: a hostile one nests thousands deep, and each level would write more.
const deepestIndent = 6

// HTMLToText is what a person reads of an HTML text: paragraphs with an empty line between them, lists with their
// bullets and numbers, the rows of a table as lines, an image's alternative text; links are their text. Scripts, styles
// and whatever else is not shown is dropped. The work and the output grow with the input and no faster, however the
// input nests or breaks off: tokens are read once, and no tree is built.
func HTMLToText(source string) string {
	w := textWriter{}
	tokens := html.NewTokenizer(strings.NewReader(source))
	for {
		switch tokens.Next() {
		case html.ErrorToken: // the end: reading a string fails in no other way
			return tidy(strings.TrimSpace(w.out.String()))
		case html.TextToken:
			w.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttributes := tokens.TagName()
			w.open(atom.Lookup(name), attributes{tokens, hasAttributes})
		case html.EndTagToken:
			name, _ := tokens.TagName()
			w.close(atom.Lookup(name))
		}
	}
}

// attributes are those of the tag just read.
type attributes struct {
	tokens *html.Tokenizer
	any    bool
}

// get answers the first attribute of a name. It can be asked once.
func (a attributes) get(name string) string {
	for more := a.any; more; {
		var key, value []byte
		if key, value, more = a.tokens.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

// textWriter writes the text of the tags it is told of. White space is owed until a word follows, so that none is
// written twice or at an end.
type textWriter struct {
	out     strings.Builder
	lines   int    // line ends owed
	space   bool   // a space is owed
	bullet  string // the mark owed to the item that began
	lists   []list // the lists that are open
	pre     int    // open pre elements
	dropped atom.Atom
	depth   int // open elements of the kind dropped
}

// list is one open list.
type list struct {
	ordered bool
	next    int
}

func (w *textWriter) open(tag atom.Atom, attrs attributes) {
	if w.dropped != 0 {
		if tag == w.dropped {
			w.depth++
		}
		return
	}
	switch tag {
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Noscript, atom.Iframe, atom.Noframes, atom.Noembed,
		atom.Object, atom.Svg, atom.Math, atom.Audio, atom.Video, atom.Canvas, atom.Select, atom.Datalist:
		w.dropped, w.depth = tag, 1
	case atom.Br:
		w.lines++
	case atom.Img:
		w.text(attrs.get("alt"))
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.startList(tag, attrs)
	case atom.Li:
		w.startItem(attrs)
	case atom.Td, atom.Th:
		w.space = true
	case atom.Pre:
		w.paragraph()
		w.pre++
	default:
		w.boundary(tag)
	}
}

func (w *textWriter) close(tag atom.Atom) {
	if w.dropped != 0 {
		if tag == w.dropped {
			w.depth--
		}
		if w.depth == 0 {
			w.dropped = 0
		}
		return
	}
	switch tag {
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.endList()
	case atom.Li:
		w.bullet = ""
		w.line()
	case atom.Pre:
		w.paragraph()
		w.pre = max(0, w.pre-1)
	default:
		w.boundary(tag)
	}
}

// boundary begins a new line or paragraph where an element that has its own begins or ends.
func (w *textWriter) boundary(tag atom.Atom) {
	switch tag {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Table, atom.Dl, atom.Hr, atom.Figure:
		w.paragraph()
	case atom.Div, atom.Tr, atom.Dt, atom.Dd, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside,
		atom.Address, atom.Form, atom.Fieldset, atom.Legend, atom.Figcaption, atom.Caption, atom.Center, atom.Details, atom.Summary,
		atom.Body, atom.Head, atom.Html, atom.Thead, atom.Tbody, atom.Tfoot, atom.Option, atom.Optgroup:
		w.line()
	}
}

func (w *textWriter) line()      { w.lines = max(w.lines, 1) }
func (w *textWriter) paragraph() { w.lines = max(w.lines, 2) }

func (w *textWriter) startList(tag atom.Atom, attrs attributes) {
	if len(w.lists) == 0 {
		w.paragraph()
	}
	w.line()
	l := list{ordered: tag == atom.Ol, next: 1}
	if start, err := strconv.Atoi(attrs.get("start")); err == nil && l.ordered {
		l.next = start
	}
	w.lists = append(w.lists, l)
}

func (w *textWriter) endList() {
	w.bullet = ""
	w.lists = w.lists[:max(0, len(w.lists)-1)]
	w.line()
	if len(w.lists) == 0 {
		w.paragraph()
	}
}

func (w *textWriter) startItem(attributes) {
	w.line()
	w.bullet = "- "
	if len(w.lists) == 0 {
		return
	}
	if l := &w.lists[len(w.lists)-1]; l.ordered {
		w.bullet = strconv.Itoa(l.next) + ". "
		l.next++
	}
}

// text writes words. Outside pre all white space is one space (CSS Text, white-space: normal).
func (w *textWriter) text(s string) {
	if w.dropped != 0 {
		return
	}
	for s != "" {
		if w.pre > 0 && s[0] == '\n' {
			w.lines++
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		if unicode.IsSpace(r) {
			w.space = true
			if w.pre > 0 && w.lines == 0 {
				w.out.WriteByte(' ')
				w.space = false
			}
			s = s[size:]
			continue
		}
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		w.word(s[:end])
		s = s[end:]
	}
}

// word pays what is owed and writes the word.
func (w *textWriter) word(s string) {
	begun := w.out.Len() > 0
	switch {
	case begun && w.lines > 0:
		w.out.WriteString("\n\n"[:min(w.lines, 2)])
	case begun && w.space:
		w.out.WriteByte(' ')
	}
	if !begun || w.lines > 0 {
		w.out.WriteString(strings.Repeat("  ", w.indent()))
	}
	w.out.WriteString(w.bullet)
	w.out.WriteString(s)
	w.lines, w.space, w.bullet = 0, false, ""
}

func (w *textWriter) indent() int {
	depth := len(w.lists)
	if w.bullet != "" {
		depth--
	}
	return max(0, min(depth, deepestIndent))
}

// tidy makes line ends newlines, and drops what is no text: control characters but newline and tab, invalid UTF-8, and
// the invisible characters with which mails fill their previews.
func tidy(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == '\u200b' || r == '\u00ad' || r == '\ufeff' || r == '\u034f':
			return -1
		}
		return r
	}, s)
}
