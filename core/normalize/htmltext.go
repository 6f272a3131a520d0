package normalize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// deepestIndent bounds the indentation of lists. Hostile input nests lists thousands deep, and each level
// would write more.
const deepestIndent = 6

// htmlToText returns the text that a person reads in an HTML source: paragraphs with an empty line between
// them, lists with their bullets and numbers, the rows of a table as lines, an image's alternative text, and
// the text of links. Scripts, styles and everything else that is not shown are dropped. The work and the
// output grow linearly with the input, however the input nests or breaks off: tokens are read once, and no
// tree is built.
func htmlToText(source string) string {
	w := textWriter{}
	tokens := html.NewTokenizer(strings.NewReader(source))
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken: // the end: reading from a string cannot fail otherwise
			return w.out.String()
		case html.TextToken:
			w.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttributes := tokens.TagName()
			w.open(atom.Lookup(name), attributes{tokens, hasAttributes}, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := tokens.TagName()
			w.close(atom.Lookup(name))
		}
	}
}

// attributes are the attributes of the tag just read.
type attributes struct {
	tokens *html.Tokenizer
	any    bool
}

// get returns the value of the first attribute with a name. It can be called only once.
func (a attributes) get(name string) string {
	for more := a.any; more; {
		var key, value []byte
		if key, value, more = a.tokens.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

// textWriter writes the text of the tags passed to it. White space is not written until a word follows, so
// that none is written twice or at the end.
type textWriter struct {
	out     strings.Builder
	lines   int    // line ends not written yet
	spaces  int    // spaces not written yet
	bullet  string // the mark of the list item just begun, not written yet
	lists   []list // the lists that are open
	pre     int    // pre elements that are open
	dropped atom.Atom
	depth   int // number of open elements with the tag dropped
}

type list struct {
	ordered bool
	next    int
}

func (w *textWriter) open(tag atom.Atom, attrs attributes, selfClosing bool) {
	if w.dropped != 0 {
		if tag == w.dropped && !selfClosing {
			w.depth++
		}
		return
	}
	switch tag {
	case atom.Svg, atom.Math:
		if !selfClosing { // on other elements, a slash closes nothing
			w.dropped, w.depth = tag, 1
		}
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Noscript, atom.Iframe,
		atom.Noframes, atom.Noembed,
		atom.Object, atom.Audio, atom.Video, atom.Canvas, atom.Select, atom.Datalist:
		w.dropped, w.depth = tag, 1
	case atom.Br:
		w.lines, w.spaces = w.lines+1, 0
	case atom.Img:
		w.text(attrs.get("alt"))
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.startList(tag == atom.Ol, attrs)
	case atom.Li:
		w.startItem()
	case atom.Td, atom.Th:
		w.spaces = max(w.spaces, 1)
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
		w.bullet, w.lines = "", 1
	case atom.Pre:
		w.paragraph()
		w.pre = max(0, w.pre-1)
	default:
		w.boundary(tag)
	}
}

// boundary begins a new line or paragraph at the start and end of an element that requires one.
func (w *textWriter) boundary(tag atom.Atom) {
	switch tag {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Table, atom.Dl,
		atom.Hr, atom.Figure:
		w.paragraph()
	case atom.Div, atom.Tr, atom.Dt, atom.Dd, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main,
		atom.Nav, atom.Aside,
		atom.Address, atom.Form, atom.Fieldset, atom.Legend, atom.Figcaption, atom.Caption, atom.Center,
		atom.Details, atom.Summary,
		atom.Body, atom.Head, atom.Html, atom.Thead, atom.Tbody, atom.Tfoot, atom.Option,
		atom.Optgroup, atom.Textarea:
		w.line()
	}
}

// line ends the line, unless the line holds only a bullet so far.
func (w *textWriter) line() {
	if w.bullet == "" {
		w.lines, w.spaces = max(w.lines, 1), 0
	}
}

func (w *textWriter) paragraph() {
	if w.bullet == "" {
		w.lines, w.spaces = max(w.lines, 2), 0
	}
}

func (w *textWriter) startList(ordered bool, attrs attributes) {
	w.line()
	if len(w.lists) == 0 {
		w.paragraph()
	}
	l := list{ordered: ordered, next: 1}
	if start, err := strconv.ParseInt(attrs.get("start"), 10, 32); err == nil {
		l.next = int(start)
	}
	w.lists = append(w.lists, l)
}

func (w *textWriter) endList() {
	w.bullet = ""
	w.line()
	w.lists = w.lists[:max(0, len(w.lists)-1)]
	if len(w.lists) == 0 {
		w.paragraph()
	}
}

func (w *textWriter) startItem() {
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

// text writes words. White space becomes one space (CSS Text Level 3 section 4.1), except inside pre.
func (w *textWriter) text(s string) {
	if w.dropped != 0 {
		return
	}
	for s = dropFiller(s); s != ""; {
		end := strings.IndexFunc(s, unicode.IsSpace)
		switch {
		case end < 0:
			end = len(s)
			fallthrough
		case end > 0:
			w.word(s[:end])
		case w.pre > 0 && s[0] == '\n':
			w.lines, w.spaces, end = w.lines+1, 0, 1
		default:
			w.spaces++
			_, end = utf8.DecodeRuneInString(s)
		}
		s = s[end:]
	}
}

// word writes the outstanding white space and bullet, and then the word.
func (w *textWriter) word(s string) {
	begun := w.out.Len() > 0
	newLine := !begun || w.lines > 0
	if begun && w.lines > 0 {
		w.out.WriteString("\n\n"[:min(w.lines, 2)])
	}
	switch {
	case newLine:
		w.out.WriteString(strings.Repeat("  ", w.indent()))
		w.out.WriteString(w.bullet)
		if w.pre > 0 {
			w.out.WriteString(strings.Repeat(" ", w.spaces))
		}
	case w.pre > 0:
		w.out.WriteString(strings.Repeat(" ", w.spaces))
	case w.spaces > 0:
		w.out.WriteByte(' ')
	}
	w.out.WriteString(s)
	w.lines, w.spaces, w.bullet = 0, 0, ""
}

func (w *textWriter) indent() int {
	depth := len(w.lists)
	if w.bullet != "" {
		depth--
	}
	return max(0, min(depth, deepestIndent))
}

// dropFiller removes the invisible characters that mails use to fill their previews and to allow line breaks.
func dropFiller(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u00ad', '\u034f', '\u200b', '\ufeff':
			return -1
		}
		return r
	}, tidy(s))
}

// tidy converts every line end to a newline, drops the other control characters except tabs, and replaces
// invalid UTF-8 with U+FFFD.
func tidy(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}
