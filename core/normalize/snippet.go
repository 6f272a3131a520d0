package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// ellipsis replaces the part of a text that a snippet leaves out.
const ellipsis = "…"

// snippet returns the beginning of a text, without surrounding white space, in at most the given number of
// characters, including the ellipsis of a shortened text. Characters are counted as code points, as JSON
// Schema's maxLength counts them. A text is cut only between grapheme clusters (Unicode Standard Annex 29),
// so that no emoji and no accented letter is split.
func snippet(text string, most int) string {
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
