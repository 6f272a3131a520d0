package audit

import (
	"strings"
	"testing"
)

// FuzzParseHead checks that a head that is parsed is valid, and reads back as it is written.
func FuzzParseHead(f *testing.F) {
	hash := strings.Repeat("0f", 32)
	for _, seed := range []string{
		"1:" + hash, hash, "0:" + hash, "-1:" + hash, "9223372036854775808:" + hash, "1:", ":", "", "1:2:" + hash,
		"+1:" + hash,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, ok := ParseHead(text)
		if !ok {
			return
		}
		if len(h.Hash) != 64 || h.Rows < 0 {
			t.Fatalf("%q is read as %v", text, h)
		}
		if h.Rows > 0 {
			if again, ok := ParseHead(h.String()); !ok || again != h {
				t.Fatalf("%q is read as %v and then as %v", text, h, again)
			}
		}
	})
}
