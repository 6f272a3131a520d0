package consent

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/link"
)

//go:embed words/*.json
var wordFiles embed.FS

// words is what the pages say in one language. Texts have placeholders such as {tenant}. They contain no text
// from a provider but its title.
type words struct {
	Lang     string               `json:"-"`
	Months   [12]string           `json:"months"`
	Until    string               `json:"until"` // a moment
	Pages    map[string]string    `json:"pages"`
	Failures map[string][3]string `json:"failures"` // heading, meaning and remedy, by reason or code
	Allows   map[string]string    `json:"allows"`   // descriptions of scopes, by the English one
}

// readWords returns the words of all languages.
func readWords() (map[string]words, error) {
	all := map[string]words{}
	for _, lang := range language.All() {
		text, err := wordFiles.ReadFile("words/" + lang + ".json")
		if err != nil {
			return nil, err
		}
		w := words{Lang: lang}
		if err := json.Unmarshal(text, &w); err != nil {
			return nil, fmt.Errorf("words/%s.json: %w", lang, err)
		}
		all[lang] = w
	}
	return all, nil
}

// Text returns a text of the pages. The values are pairs of a placeholder's name and its value.
func (w words) Text(key string, values ...string) string { return fill(w.Pages[key], values) }

func fill(text string, values []string) string {
	var pairs []string
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, "{"+values[i]+"}", values[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Strong returns a text of the pages with its values emphasised, each in its own direction of writing.
func (w words) Strong(key string, values ...string) template.HTML {
	marked := make([]string, len(values))
	for i, value := range values {
		if marked[i] = value; i%2 == 1 {
			marked[i] = "<strong><bdi>" + template.HTMLEscapeString(value) + "</bdi></strong>"
		}
	}
	return template.HTML(fill(template.HTMLEscapeString(w.Pages[key]), marked))
}

// Code returns a text of the pages with its value as code.
func (w words) Code(key, name, value string) template.HTML {
	return template.HTML(fill(template.HTMLEscapeString(w.Pages[key]),
		[]string{name, "<code>" + template.HTMLEscapeString(value) + "</code>"}))
}

// Scope returns the description of a scope.
func (w words) Scope(english string) string {
	if text, ok := w.Allows[english]; ok {
		return text
	}
	return english
}

// moment writes a time.
func (w words) moment(t time.Time) string {
	t = t.UTC()
	return fill(w.Until, []string{
		"day", strconv.Itoa(t.Day()), "month", w.Months[t.Month()-1], "year", strconv.Itoa(t.Year()),
		"time", t.Format("15:04"),
	})
}

// reasonForeign is the reason of the fault for a cross-site request.
const reasonForeign = "CROSS_SITE_REQUEST"

// failure explains to a customer what happened and what to do.
type failure struct {
	status                 int
	Heading, Means, Remedy string
	again                  bool // the customer may try again with the same link
}

// failureOf returns the words for a failure at the provider of that title; "": unknown.
func (w words) failureOf(f *fault.Error, title string) failure {
	key := f.Reason
	is, known := byReason[key]
	if !known {
		key = string(f.Code)
		is, known = byCode[f.Code]
	}
	if !known {
		key, is = "defect", outcome{http.StatusInternalServerError, true}
	}
	values := []string{"Provider", title, "provider", title}
	if title == "" {
		values[1], values[3] = w.Pages["Provider"], w.Pages["provider"]
	}
	says := w.Failures[key]
	return failure{is.status, fill(says[0], values), fill(says[1], values), fill(says[2], values), is.again}
}

// outcome is what a failure means for the response.
type outcome struct {
	status int
	again  bool // the customer may try again with the same link
}

var byReason = map[string]outcome{
	link.ReasonUnknown:                {http.StatusNotFound, false},
	link.ReasonExpired:                {http.StatusGone, false},
	link.ReasonUsed:                   {http.StatusGone, false},
	link.ReasonObsolete:               {http.StatusGone, false},
	link.ReasonBusy:                   {http.StatusConflict, true},
	reasonForeign:                     {http.StatusForbidden, false},
	link.ReasonNotThisConsent:         {http.StatusBadRequest, false},
	link.ReasonConsentMalformed:       {http.StatusBadRequest, true},
	link.ReasonConsentIssuer:          {http.StatusBadRequest, true},
	link.ReasonConsentDeclined:        {http.StatusForbidden, true},
	link.ReasonConsentFailed:          {http.StatusForbidden, true},
	link.ReasonScopesMissing:          {http.StatusForbidden, true},
	link.ReasonNotLasting:             {http.StatusBadGateway, true},
	link.ReasonOtherAccount:           {http.StatusConflict, true},
	fault.ReasonProviderMisconfigured: {http.StatusBadGateway, false},
}

var byCode = map[fault.Code]outcome{
	fault.Disconnected: {http.StatusBadRequest, true},
	fault.Forbidden:    {http.StatusForbidden, true},
	fault.NotFound:     {http.StatusBadGateway, true},
	fault.Unsupported:  {http.StatusBadGateway, true},
	fault.Conflict:     {http.StatusConflict, true},
	fault.RateLimited:  {http.StatusServiceUnavailable, true},
	fault.Unavailable:  {http.StatusServiceUnavailable, true},
	fault.Timeout:      {http.StatusServiceUnavailable, true},
	fault.Canceled:     {http.StatusServiceUnavailable, true},
}
