// Package language chooses the language in which people are spoken to.
package language

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// The languages. A language is written as in BCP 47, without a region.
const (
	English = "en"
	Spanish = "es"
	German  = "de"
	French  = "fr"
)

// All returns the languages, English first.
func All() []string { return []string{English, Spanish, German, French} }

// maxHeaderBytes bounds what is read of a header: browsers send some hundred bytes.
const maxHeaderBytes = 1 << 10

// Match returns the language that fits the value of an Accept-Language header best (RFC 9110 section 12.5.4),
// or English if none does.
func Match(accept string) string {
	if chosen := fitting(accept); chosen != "" {
		return chosen
	}
	return English
}

// Fits reports whether one of the languages is among those that the value of an Accept-Language header accepts. It
// accepts any if it is empty, or the asterisk that Node.js sends of its own (nodejs/undici, lib/web/fetch/index.js).
func Fits(accept string) bool {
	return accept == "" || strings.Contains(accept, "*") || fitting(accept) != ""
}

// fitting returns the language that fits best, or "".
func fitting(accept string) string {
	if accept == "" || len(accept) > maxHeaderBytes {
		return ""
	}
	chosen, heaviest := "", float32(0)
	for entry := range strings.SplitSeq(accept, ",") {
		wanted, weights, err := language.ParseAcceptLanguage(entry)
		if err != nil || len(wanted) == 0 {
			continue // an entry that the library does not know says nothing of the others
		}
		base, confidence := wanted[0].Base()
		if weights[0] > heaviest && confidence > language.Low && slices.Contains(All(), base.String()) {
			chosen, heaviest = base.String(), weights[0]
		}
	}
	return chosen
}

type key struct{}

// With returns a context in which people are spoken to in a language.
func With(ctx context.Context, chosen string) context.Context {
	return context.WithValue(ctx, key{}, chosen)
}

// Of returns the language of a context, or English if it has none.
func Of(ctx context.Context) string {
	if chosen, ok := ctx.Value(key{}).(string); ok {
		return chosen
	}
	return English
}
