package consent

import (
	"embed"
	"net/http"

	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/page"
)

//go:embed words/*.json
var wordFiles embed.FS

// words is what the pages say in one language. They contain no text from a provider but its title.
type words struct {
	page.Words
	Failures map[string][3]string `json:"failures"` // heading, meaning and remedy, by reason or code
	Allows   map[string]string    `json:"allows"`   // descriptions of scopes, by the English one
}

// readWords returns the words of all languages.
func readWords() (page.Languages[words], error) {
	return page.ReadWords(wordFiles, func(w *words) *page.Words { return &w.Words })
}

// Scope returns the description of a scope.
func (w words) Scope(english string) string {
	if text, ok := w.Allows[english]; ok {
		return text
	}
	return english
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
	return failure{is.status, page.Fill(says[0], values...), page.Fill(says[1], values...),
		page.Fill(says[2], values...), is.again}
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
