package language_test

import (
	"strings"
	"testing"

	"frontdesk/core/language"
)

func TestMatch(t *testing.T) {
	for accept, want := range map[string]string{
		"": "en", "en": "en", "de": "de", "de-AT": "de", "DE-ch;q=0.8": "de", "fr-CA, en;q=0.5": "fr",
		"es-419,es;q=0.9": "es", "en;q=0.5, de;q=0.9": "de", "pt-BR, fr;q=0.3": "fr", "ja": "en", "*": "en",
		"de;q=0, fr": "fr", "de;q=0": "en", "x-klingon": "en", "und": "en", "not a header;;;": "en",
		"en-US,en;q=0.9,de;q=0.8": "en", "zh, ja;q=0.9, es;q=0.1": "es",
		"de-DE, en-XX;q=0.5, xx;q=0.3": "de", "es-ES-tradnl, es;q=0.9, en;q=0.5": "es", "de;q=0.5, fr;q=none": "de",
		"zh-CHS, fr;q=0.3, de;q=0.8, es;q=0.8": "de", strings.Repeat("de,", 100000): "en",
	} {
		if got := language.Match(accept); got != want {
			t.Errorf("%.40q: %s, not %s", accept, got, want)
		}
	}
}

func TestContext(t *testing.T) {
	if got := language.Of(t.Context()); got != language.English {
		t.Errorf("without a language: %s", got)
	}
	if got := language.Of(language.With(t.Context(), language.German)); got != language.German {
		t.Errorf("with German: %s", got)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("de-AT;q=0.9, en")
	f.Fuzz(func(t *testing.T, accept string) {
		if got := language.Match(accept); len(got) != 2 {
			t.Errorf("%q: %q", accept, got)
		}
	})
}
