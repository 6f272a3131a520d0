package settingspage

import "testing"

// A command line is there to be pasted. Its words may come from a link that somebody else made, and a shell runs what
// comes before the end of a line: of every kind of end, since browsers make a line feed of each.
func TestAWordOfACommandStaysOneWord(t *testing.T) {
	for word, want := range map[string]string{
		"acme":     "acme",
		"":         "''",
		"it's":     `'it'\''s'`,
		"a;reboot": "'a;reboot'", "a\nreboot": "'a\nreboot'", "a\rreboot": "'a\rreboot'",
	} {
		if got := shell("request", word); got != "frontdesk request "+want {
			t.Errorf("%q: %q", word, got)
		}
	}
}
