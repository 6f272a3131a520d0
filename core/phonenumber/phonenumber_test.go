package phonenumber_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/phonenumber"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]phonenumber.Number{
		"+15135557611":              {E164: "+15135557611", CountryCode: "1", National: "5135557611"},
		" +1 (513) 555-7611 ":       {E164: "+15135557611", CountryCode: "1", National: "5135557611"},
		"tel:+1-513-555-7611":       {E164: "+15135557611", CountryCode: "1", National: "5135557611"},
		"+1 513 555 7611 ext. 12":   {E164: "+15135557611", CountryCode: "1", National: "5135557611"},
		"+49 (0)171 1234567":        {E164: "+491711234567", CountryCode: "49", National: "1711234567"},
		"+39 06 1234 5678":          {E164: "+390612345678", CountryCode: "39", National: "0612345678"},
		"+44 20 7946 0000":          {E164: "+442079460000", CountryCode: "44", National: "2079460000"},
		"+52 1 55 1234 5678":        {E164: "+525512345678", CountryCode: "52", National: "5512345678"}, // until 2019
		"+800 1234 5678":            {E164: "+80012345678", CountryCode: "800", National: "12345678"},
		"+1 2":                      {},
		"5135557611":                {},
		"0171 1234567":              {},
		"":                          {},
		"+":                         {},
		"anonymous":                 {},
		"sip:+15135557611@example":  {},
		"+999 1234567":              {},
		strings.Repeat("+1", 10000): {},
	} {
		got, err := phonenumber.Parse(text)
		if got != want || errors.Is(err, phonenumber.ErrNotInternational) != (want == phonenumber.Number{}) {
			t.Errorf("Parse(%.40q) = %+v, %v", text, got, err)
		}
	}
}

func TestWithheld(t *testing.T) {
	for caller, want := range map[string]bool{
		"": true, " ": true, "anonymous": true, "Anonymous": true, "RESTRICTED": true, "unknown": true,
		"unavailable": true, "private": true, "+266696687": true, "266696687": true, "+86282452253": true,
		"sip:alice@example.com": true, "SIPS:alice@example.com": true, "alice@example.com": true,
		"anonymous@anonymous.invalid": true,
		"+15135557611":                false, "5135557611": false, "tel:+15135557611": false, "Pat": false,
	} {
		if got := phonenumber.Withheld(caller); got != want {
			t.Errorf("Withheld(%q) = %t", caller, got)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		number, stored string
		want           phonenumber.Match
	}{
		{"+15135557611", "+15135557611", phonenumber.Exact},
		{"+15135557611", "+1 513 555 7611", phonenumber.Exact},
		{"+15135557611", "+1 (513) 555-7611 x12", phonenumber.Exact},
		{"+15135557611", "(513) 555-7611", phonenumber.National},
		{"+15135557611", "513.555.7611", phonenumber.National},
		{"+15135557611", "1-513-555-7611", phonenumber.Exact},
		{"+15135557611", "15135557611", phonenumber.Exact},
		{"+15135557611", "011 1 513 555 7611", phonenumber.Exact},
		{"+15135557611", "555-7611", phonenumber.Suffix},
		{"+15135557611", "55-7611", phonenumber.None},
		{"+15135557611", "+1 513 555 7612", phonenumber.None},
		{"+15135557611", "+44 513 555 7611", phonenumber.None},
		{"+15135557611", "no number", phonenumber.None},
		{"+15135557611", "", phonenumber.None},
		{"+491711234567", "49-171-1234567", phonenumber.Exact},
		{"+491711234567", "0171/1234567", phonenumber.National},
		{"+491711234567", "0049 171 1234567", phonenumber.Exact},
		{"+491711234567", "+49 (0) 171 123 45 67", phonenumber.Exact},
		{"+390612345678", "06 1234 5678", phonenumber.National},
		{"+442079460000", "020 7946 0000", phonenumber.National},
		{"+33123456789", "01 23 45 67 89", phonenumber.National},
		{"+15551234567", "(555) 123-4567", phonenumber.National}, // no area has 555: the plan does not know it
		{"+15551234567", "1 555 123 4567", phonenumber.Exact},
		{"+15551234567", "011 1 555 123 4567", phonenumber.Exact},
		{"+447700900123", "07700 900123", phonenumber.National}, // for drama (ofcom.org.uk)
		{"+447700900123", "07700 900124", phonenumber.None},
		{"", "+15135557611", phonenumber.None},
		{"+15135557611", "513-555-7611 cell", phonenumber.National},
		{"+15135557611", "+1 513-555-7611 (mobile)", phonenumber.Exact},
		{"+15135557611", "513-555-0000; 513-555-7611", phonenumber.National},
		{"+15135557611", "513-555-0000 & 513-555-7611", phonenumber.National},
		{"+15135557611", "513-555-7611\n513-555-0000", phonenumber.National},
		{"+15135557611", "513-555-7611\r\n513-555-0000", phonenumber.National}, // as forms in HTML send lines
		{"+15135557611", "513-555-7611\t", phonenumber.National},
		{"+442079460958", "020 7946 0000 & 0044 20 7946 0958", phonenumber.Exact},
		{"+12079460958", "+44 & 2079460958", phonenumber.None},
		{"+491711234567", "030 5556677 / 0171 1234567 privat", phonenumber.National},
		{"+491711234567", "0152/1234567", phonenumber.None},
		{"+491711234567", "0152 / 1234567 privat", phonenumber.None}, // what remains has no area
		{"+15135557611", "+44 5135557611 home", phonenumber.None},
		{"+15135557611", "+44 / 5135557611", phonenumber.None},
		{"+12079460958", "+44 (UK) 2079460958", phonenumber.None}, // the country is that of another part
		{"+12079460958", "+44 20 7946 0000; 2079460958", phonenumber.None},
		{"+12079460958", "207 946 0958; +44 20 7946 0000", phonenumber.National},
		{"+12079460958", "+44 20 7946 0000, +1 207 946 0958", phonenumber.Exact},
		{"+12079460958", "+1 513 555 0000, 207 946 0958", phonenumber.National},
		// With the prefix for calls abroad, wherever it was typed.
		{"+442079460958", "011 44 20 7946 0958", phonenumber.Exact},
		{"+442079460958", "0011 44 20 7946 0958", phonenumber.Exact},
		{"+442079460958", "(0044) 20 7946 0958", phonenumber.Exact},
		{"+442079460958", "00 44 (0)20 7946 0958 office", phonenumber.Exact},
		{"+442079460958", "mobile: 0044 20 7946 0958", phonenumber.Exact},
		{"+15135557611", "0015135557611", phonenumber.Exact},
		{"+81312345678", "010 81 3 1234 5678", phonenumber.Exact},
		{"+12079460958", "00442079460958", phonenumber.None}, // of another country
		{"+12079460958", "0044 (UK) 2079460958", phonenumber.None},
		{"+12079460958", "207 946 0958 / 0044 20 7946 0000", phonenumber.National},
		{"+12079460958", "207 946 0958 ext 0012", phonenumber.National},
		{"+33145670089", "01 45 67 00 89", phonenumber.National}, // two noughts within a number
		{"+393450012345", "345 00 12345", phonenumber.National},
		// With what stood before Mexican mobile numbers until 2019.
		{"+525512345678", "+52 1 55 1234 5678", phonenumber.Exact},
		{"+525512345678", "0052 1 55 1234 5678 (WhatsApp)", phonenumber.Exact},
		{"+525512345678", "5215512345678", phonenumber.National},
		{"+525512345678", "044 55 1234 5678", phonenumber.National},
		{"+525512345678", "01 (55) 1234-5678", phonenumber.National},
		{"+525512345678", "+52 1 55 1234 5679", phonenumber.None},
		{"+525512345678", "+1 551 234 5678", phonenumber.None},
		{"+525512345678", "1 (551) 234-5678", phonenumber.Suffix}, // of the United States
	} {
		n, _ := phonenumber.Parse(c.number)
		if got := n.Compare(c.stored); got != c.want {
			t.Errorf("%s and %q: %d, not %d", c.number, c.stored, got, c.want)
		}
	}
}

func TestFormats(t *testing.T) {
	for number, some := range map[string][]string{
		"+15135557611": {
			"+15135557611", "5135557611", "(513) 555-7611", "+1 513-555-7611", "15135557611", "513-555-7611",
			"513.555.7611", "513 555 7611", "1-513-555-7611", "+1 513 555 7611", "+1 (513) 555-7611",
		},
		"+491711234567": {
			"+491711234567", "01711234567", "0171 1234567", "+49 171 1234567", "1711234567", "00491711234567",
			"0049 171 1234567",
		},
		"+525512345678":  {"+525512345678", "55 1234 5678", "+5215512345678", "5215512345678"},
		"+5491123456789": {"+5491123456789", "011 15-2345-6789", "0111523456789", "+54 9 11 2345-6789"},
	} {
		n, err := phonenumber.Parse(number)
		if err != nil {
			t.Fatal(err)
		}
		formats := n.Formats()
		for _, want := range some {
			if !slices.Contains(formats, want) {
				t.Errorf("%s is not written %q: %q", number, want, formats)
			}
		}
		for i, f := range formats {
			if slices.Contains(formats[:i], f) || n.Compare(f) < phonenumber.National {
				t.Errorf("%s: the format %q is there twice or is another number", number, f)
			}
		}
	}
	if got := (phonenumber.Number{}).Formats(); got != nil {
		t.Errorf("no number has the formats %q", got)
	}
}

// Whatever people typed, a number that is read is written and read again as the same one.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"+15135557611", "+49 (0)171 1234567", "tel:+1-513;ext=3", "+800 1234 5678",
		"+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := phonenumber.Parse(text)
		if err != nil {
			return
		}
		again, err := phonenumber.Parse(n.E164)
		if err != nil || again != n || n.E164 != "+"+n.CountryCode+n.National ||
			n.Compare(n.E164) != phonenumber.Exact {
			t.Errorf("%q is %+v, which is read as %+v, %v", text, n, again, err)
		}
	})
}
