package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// ellipsis stands for what a snippet leaves out.
const ellipsis = "…"

// Snippet is the beginning of a text, without the white space around it, in at most so many characters; the ellipsis of
// a shortened one is among them. Characters are counted as code points, as JSON Schema's maxLength counts them, and a
// text is cut between grapheme clusters only (Unicode Standard Annex 29), so that no emoji and no accent is torn.
func Snippet(text string, most int) string {
	text = strings.TrimSpace(text)
	if fits(text, most) {
		return text
	}
	if most < 1 {
		return ""
	}
	kept, left, state := 0, most-1, -1
	for rest := text; ; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		left -= utf8.RuneCountInString(cluster)
		if left < 0 || rest == "" {
			break
		}
		kept += len(cluster)
	}
	return strings.TrimRightFunc(text[:kept], unicode.IsSpace) + ellipsis
}

func fits(text string, most int) bool {
	return len(text) <= most || utf8.RuneCountInString(text) <= most
}
