package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// ellipsis stands for what a snippet leaves out.
const ellipsis = "…"

// Snippet returns the beginning of a text, without the white space around it, in at most so many characters;
// the ellipsis of a shortened one is among them. Characters are counted as code points, as JSON Schema's
// maxLength counts them, and a text is cut between grapheme clusters only (Unicode Standard Annex 29), so
// that no emoji and no accent is torn.
func Snippet(text string, most int) string {
	text = strings.TrimSpace(text)
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	kept, left := 0, most-utf8.RuneCountInString(ellipsis)
	for rest, state := text, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if left -= utf8.RuneCountInString(cluster); left < 0 {
			break
		}
		kept += len(cluster)
	}
	return strings.TrimRightFunc(text[:kept], unicode.IsSpace) + ellipsis
}
