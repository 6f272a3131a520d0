package api

import (
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// A voice agent says these sentences aloud. In the sentences of [problemTypes], {system} stands for what a
// person calls the provider, and {wait} for when a repeat can help.

// Sentences for failures for which no repeat is suggested. They promise nothing and offer no second try.
const (
	spokenUnknowable = "I could not find out whether that went through. Someone at the office can check it."
	spokenFinal      = "I could not do that. Someone at the office has to look at it."
)

// systems maps each kind of connection to what a person calls the provider.
var systems = map[adapter.Kind]string{
	adapter.KindCalendar: "the calendar", adapter.KindCRM: "the ticket system",
	adapter.KindTelephony: "the phone system",
}

const anySystem = "the office's system"

// waits are what a person calls a delay, in order of length.
var waits = []struct {
	upTo   time.Duration
	phrase string
}{
	{20 * time.Second, "in a moment"},
	{90 * time.Second, "in a minute"},
	{15 * time.Minute, "in a few minutes"},
	{40 * time.Minute, "in half an hour"},
	{90 * time.Minute, "in an hour"},
	{12 * time.Hour, "in a few hours"},
}

const longWait = "tomorrow"

// spoken returns the sentence for a failure.
func spoken(s problemType, f *fault.Error, kind adapter.Kind, wait time.Duration) string {
	switch {
	case f.NoRetry && s.Final != "":
		return sayable(s.Final, kind, 0)
	case f.NoRetry && f.IsOutcomeUnknown():
		return spokenUnknowable
	case f.NoRetry && s.repeats():
		return spokenFinal
	}
	return sayable(s.Spoken, kind, wait)
}

// sayable replaces the placeholders in a sentence.
func sayable(sentence string, kind adapter.Kind, wait time.Duration) string {
	system, known := systems[kind]
	if !known {
		system = anySystem
	}
	when := longWait
	for _, w := range waits {
		if wait <= w.upTo {
			when = w.phrase
			break
		}
	}
	first := strings.ToUpper(system[:1]) + system[1:]
	return strings.NewReplacer("{system}", system, "{System}", first, "{wait}", when).Replace(sentence)
}
