package api

import (
	"embed"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/language"
)

// A voice agent says these sentences aloud. In the sentences of [problemTypes], {system} stands for what a
// person calls the provider, and {wait} for when a repeat can help. The sentences are English here; their
// translations are in the folder spoken.

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

// spoken returns the sentence for a failure, in English and with its placeholders.
func spoken(s problemType, f *fault.Error) string {
	switch {
	case f.NoRetry && s.Final != "":
		return s.Final
	case f.NoRetry && f.IsOutcomeUnknown():
		return spokenUnknowable
	case f.NoRetry && s.repeats():
		return spokenFinal
	}
	return s.Spoken
}

//go:embed spoken
var translations embed.FS

// voice holds the translations of all sentences into a language, each by its English text. It is read from
// spoken/LANGUAGE.json.
type voice struct {
	// Systems are the names of the systems in the forms that sentences need. In a sentence, {in} stands for
	// the form of that name; {system} is the subject, and {System} the subject at the beginning.
	Systems   map[string]map[string]string `json:"systems"`
	Waits     map[string]string            `json:"waits"`
	Sentences map[string]string            `json:"sentences"`
}

// voices returns the voices of all languages but English.
func voices() (map[string]voice, error) {
	all := map[string]voice{}
	for _, name := range language.All()[1:] {
		raw, err := translations.ReadFile("spoken/" + name + ".json")
		if err != nil {
			return nil, err
		}
		var v voice
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		all[name] = v
	}
	return all, nil
}

// say returns an English sentence in the voice's language, with its placeholders filled. The zero voice says
// it in English.
func (v voice) say(sentence string, kind adapter.Kind, wait time.Duration) string {
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
	forms := map[string]string{"system": system}
	if v.Sentences != nil {
		sentence, when, forms = v.Sentences[sentence], v.Waits[when], v.Systems[system]
	}
	if !strings.Contains(sentence, "{") {
		return sentence
	}
	sentence = strings.ReplaceAll(sentence, "{wait}", when)
	for name, form := range forms {
		sentence = strings.ReplaceAll(sentence, "{"+name+"}", form)
	}
	first, size := utf8.DecodeRuneInString(forms["system"])
	return strings.ReplaceAll(sentence, "{System}", string(unicode.ToUpper(first))+forms["system"][size:])
}
