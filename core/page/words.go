package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/language"
)

//go:embed words/*.json
var common embed.FS

// Words is what pages say in one language. Texts have placeholders such as {tenant}.
type Words struct {
	Lang   string            `json:"-"`
	Months [12]string        `json:"months"`
	Until  string            `json:"until"` // a moment
	Pages  map[string]string `json:"pages"`
}

// Languages holds what the pages of one package say, by language. W embeds [Words].
type Languages[W any] map[string]W

// ReadWords returns the words of all languages: those that all pages share, and those in the package's
// files words/en.json, words/es.json and so on.
func ReadWords[W any](files fs.FS, shared func(*W) *Words) (Languages[W], error) {
	all := Languages[W]{}
	for _, lang := range language.All() {
		var w W
		for _, from := range []fs.FS{common, files} {
			text, err := fs.ReadFile(from, "words/"+lang+".json")
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(text, &w); err != nil {
				return nil, fmt.Errorf("words/%s.json: %w", lang, err)
			}
		}
		shared(&w).Lang = lang
		all[lang] = w
	}
	return all, nil
}

// For returns the words in the language that a browser asks for with its Accept-Language headers.
func (l Languages[W]) For(accept []string) W { return l[language.Match(strings.Join(accept, ","))] }

// Text returns a text of the pages. The values are pairs of a placeholder's name and its value.
func (w Words) Text(key string, values ...string) string { return Fill(w.Pages[key], values...) }

// Fill replaces the placeholders of a text. The values are pairs of a placeholder's name and its value.
func Fill(text string, values ...string) string {
	var pairs []string
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, "{"+values[i]+"}", values[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Strong returns a text of the pages with its values emphasised, each in its own direction of writing.
func (w Words) Strong(key string, values ...string) template.HTML {
	marked := make([]string, len(values))
	for i, value := range values {
		if marked[i] = value; i%2 == 1 {
			marked[i] = "<strong><bdi>" + template.HTMLEscapeString(value) + "</bdi></strong>"
		}
	}
	return template.HTML(Fill(template.HTMLEscapeString(w.Pages[key]), marked...))
}

// Code returns a text of the pages with its value as code.
func (w Words) Code(key, name, value string) template.HTML {
	return template.HTML(Fill(template.HTMLEscapeString(w.Pages[key]),
		name, "<code>"+template.HTMLEscapeString(value)+"</code>"))
}

// Moment writes a time.
func (w Words) Moment(t time.Time) string {
	t = t.UTC()
	return Fill(w.Until, "day", strconv.Itoa(t.Day()), "month", w.Months[t.Month()-1],
		"year", strconv.Itoa(t.Year()), "time", t.Format("15:04"))
}
