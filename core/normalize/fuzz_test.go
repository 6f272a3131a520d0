package normalize

import (
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// sentence holds what an error of this package promises: it goes behind a field's name, in one line of
// bounded length.
func sentence(t *testing.T, err error) {
	t.Helper()
	says := err.Error()
	if len(says) > 300 || strings.ContainsAny(says, "\r\n") || !utf8.ValidString(says) ||
		!strings.HasPrefix(says, "must ") && !strings.HasPrefix(says, "has ") {
		t.Errorf("%q is no sentence for a caller", says)
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{
		"", "2026-12-01T10:00:00-05:00", "2026-12-01t10:00:00.123456789z", "2026-12-01 10:00", "2026-12-01",
		"2016-12-31T23:59:60Z", "2026-12-01T24:00:00", "20261201T100000Z", "2026-W49-2", "2026-335", "1796137200",
		"2026-12-01T10:00:00-05:00[America/New_York]", "2026-12-01T10:00:00,5+0530", "2026-12-01T10:00:00 EST",
		"12/01/2026", "9999-12-31T00:00:00Z", "0001-01-01",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	newYork, kiritimati, manila := zone(f, "America/New_York"), zone(f, "Pacific/Kiritimati"),
		zone(f, "Asia/Manila")
	f.Fuzz(func(t *testing.T, s string, dateToo bool) {
		form := DateTime
		if dateToo {
			form = DateTimeOrDate
		}
		got, err := ParseTime(s, form)
		if err != nil {
			sentence(t, err)
			if got != (InputTime{}) {
				t.Errorf("%q gives %v beside an error", s, got)
			}
			return
		}
		if got.IsZero() {
			t.Errorf("%q is taken, and not given", s)
		}
		for _, z := range []*time.Location{time.UTC, newYork, kiritimati, manila} {
			at := got.In(z)
			text := Format(at, z)
			if back, err := time.Parse(time.RFC3339, text); err != nil || !back.Equal(at) {
				t.Errorf("%q is %s, which is not RFC 3339 of the same instant: %v", s, text, err)
			}
			if year := at.UTC().Year(); year < 1 || year > 9999 {
				t.Errorf("%q is in the year %d", s, year)
			}
		}
		if want, err := time.Parse(time.RFC3339, s); err == nil && !got.In(time.UTC).Equal(want) {
			t.Errorf("%q is %s, and %s to the time package", s, got.In(time.UTC), want)
		}
	})
}

func FuzzEmail(f *testing.F) {
	for _, s := range []string{
		"pat@example.com", "pat+tag@example.com", "Pat <pat@example.com>", "pat@bücher.example", "用户@例え.jp",
		`"a b"@example.com`,
		"pat@[192.0.2.1]", "pat@example..com", "pat@xn--bcher-kva.example", "a,b@example.com",
		"pat@example.com\r\nBcc: x@example.com",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		EmailKey(s)
		got, err := Email(s)
		if err != nil {
			sentence(t, err)
			return
		}
		if got != s || len(s) > 254 || strings.ContainsFunc(s, doesNotShow) ||
			strings.ContainsAny(s, `<>()[]\,;:"`) {
			t.Errorf("%q is taken as %q", s, got)
		}
		if parsed, err := mail.ParseAddress(s); err != nil || parsed.Address != s {
			t.Errorf("%q is taken, and net/mail reads %v, %v", s, parsed, err)
		}
		if _, err := Email(EmailKey(s)); err != nil && len(EmailKey(s)) <= 254 &&
			strings.IndexByte(EmailKey(s), '@') <= 64 {
			t.Errorf("%q is taken, its key %q is refused: %v", s, EmailKey(s), err)
		}
		if key := EmailKey(s); EmailKey(key) != key {
			t.Errorf("the key %q has the key %q", key, EmailKey(key))
		}
	})
}

func FuzzHTMLToText(f *testing.F) {
	for _, s := range []string{
		"", "<p>a</p><p>b</p>", "<ol start=3><li>a<ul><li>b</ul><li>c</ol>", "<script>x</script>y",
		"<pre>a\n  b</pre>", "a<br><br><br>b", "<table><tr><td>a<td>b</table>", "<svg><svg/></svg>x", "<!--",
		"<img alt='a b'>", "&nbsp;&#0;&#x10FFFF;&nGt;", "<textarea><p>", "\xff<li>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text := htmlToText(source)
		if !utf8.ValidString(text) {
			t.Errorf("%q is not UTF-8", text)
		}
		if strings.TrimRight(strings.TrimLeft(text, "\n"), " \n") != text {
			t.Errorf("%q has empty lines around it, or spaces behind it", text)
		}
		if strings.Contains(text, "\n\n\n") {
			t.Errorf("%q has more than one empty line", text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
			t.Errorf("%q has a control character", text)
		}
		if len(text) > 8*len(source)+16 {
			t.Errorf("%d bytes became %d", len(source), len(text))
		}
	})
}

func FuzzSnippet(f *testing.F) {
	for _, s := range []string{
		"", "abc", "abc def ghi", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦", "e\u0301e\u0301", "🇩🇪🇫🇷🇮🇹", "\r\n\r\n", "a\u0301\u0301\u0301",
		"\xff\xfe",
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		most %= 300
		got := snippet(text, most)
		if n := utf8.RuneCountInString(got); n > max(most, 0) {
			t.Fatalf("%q has %d characters, at most %d are allowed", got, n, most)
		}
		whole := strings.TrimSpace(text)
		kept, cut := strings.CutSuffix(got, ellipsis)
		if got == whole || got == "" {
			return
		}
		if !cut || !strings.HasPrefix(whole, kept) {
			t.Fatalf("%q is no beginning of %q", got, text)
		}
		clusters, rest := "", whole
		for rest != "" && len(clusters) < len(kept) {
			var cluster string
			cluster, rest, _, _ = uniseg.FirstGraphemeClusterInString(rest, -1)
			clusters += cluster
		}
		if strings.TrimRightFunc(clusters, unicode.IsSpace) != kept {
			t.Errorf("%q cuts a character of %q", got, text)
		}
	})
}

func FuzzTicketNumber(f *testing.F) {
	for _, s := range []string{
		"", "42", "#42", " # 0042 ", "SUP-42", "4 2", "00000000000", "٤٢", "#", "\u00a042",
	} {
		f.Add(s, 8)
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, given string, width int) {
		width %= 64
		got := TicketNumber(given, width)
		if strings.TrimSpace(got) != got || strings.HasPrefix(got, "#") {
			t.Errorf("%q is %q", given, got)
		}
		if again := TicketNumber("# "+got, width); again != got {
			t.Errorf("%q is %q, and that %q", given, got, again)
		}
		if digits := got != "" && strings.Trim(got, "0123456789") == ""; digits && len(got) < width {
			t.Errorf("%q is %q, less than %d digits", given, got, width)
		}
		if len(got) > len(given)+max(width, 0) {
			t.Errorf("%q is %q", given, got)
		}
	})
}
