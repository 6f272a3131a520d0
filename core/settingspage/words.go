package settingspage

import (
	"cmp"
	"slices"

	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/page"
	"frontdesk/core/signin"
)

// translation is what the pages for people who are not signed in say in one language. All other pages are
// English.
type translation struct {
	page.Words
	Failures map[string][2]string `json:"failures"` // heading and meaning, by reason or code; none in English
}

// readWords returns the words of all languages.
func readWords() (page.Languages[translation], error) {
	return page.ReadWords(files, func(w *translation) *page.Words { return &w.Words })
}

// wordsFor returns the words for a visit: in the browser's language while nobody is signed in, else in
// English.
func (p *Pages) wordsFor(v *visit) translation {
	if v.person != (signin.Person{}) {
		return p.words[language.English]
	}
	return p.words.For(v.r.Header.Values("Accept-Language"))
}

// particular are the reasons of faults whose details say what no translation can.
var particular = []string{
	fault.ReasonHostRefused, signin.ReasonProvider, signin.ReasonDeclined, signin.ReasonNotAllowed,
}

// explanation is what a page says about a fault.
type explanation struct {
	Heading, Means string
	Detail         string // particulars for the operator, in English; "": none
}

// explain returns what a page says about a fault.
func (w translation) explain(f *fault.Error) explanation {
	if w.Lang == language.English {
		return explanation{Heading: cmp.Or(headings[f.Code], "Something went wrong"), Means: f.Detail}
	}
	says, known := w.Failures[f.Reason]
	for _, code := range []fault.Code{f.Code, fault.Internal} {
		if !known {
			says, known = w.Failures[string(code)]
		}
	}
	e := explanation{Heading: says[0], Means: says[1]}
	if slices.Contains(particular, f.Reason) {
		e.Detail = f.Detail
	}
	return e
}
