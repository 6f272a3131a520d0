package ical_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"frontdesk/adapters/calendar/caldav/ical"
)

func object(lines ...string) []byte {
	return []byte("BEGIN:VCALENDAR\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VCALENDAR\r\n")
}

func TestWhatIsNotKnownIsKept(t *testing.T) {
	data := object(
		`VERSION:2.0`, `PRODID:-//Somebody//EN`, `X-WR-CALNAME;X-P="a;b",c:Name\, escaped`,
		`BEGIN:VEVENT`, `UID:1`, `Summary;LANGUAGE=de:Grüße`, `X-ODD;A;B=1:value`, `no colon at all`,
		`ATTACH;VALUE=BINARY;ENCODING=BASE64:AAAA`,
		`BEGIN:VALARM`, `ACTION:DISPLAY`, `TRIGGER:-PT15M`, `END:VALARM`,
		`BEGIN:X-OWN`, `X-Y:1`, `END:X-OWN`,
		`END:VEVENT`)
	c, err := ical.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(string(data), "X-ODD;A;B", "X-ODD;B", 1) // a parameter without a value is dropped
	if got := string(ical.Encode(c)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := c.ChildrenNamed("VEVENT")[0].Text("SUMMARY"); got != "Grüße" {
		t.Errorf("the summary is %q", got)
	}
}

func TestRealInputIsForgiven(t *testing.T) {
	for name, data := range map[string]string{
		"bare line feeds":       "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Grüße\nEND:VEVENT\nEND:VCALENDAR\n",
		"bare carriage returns": "BEGIN:VCALENDAR\rBEGIN:VEVENT\rSUMMARY:Grüße\rEND:VEVENT\rEND:VCALENDAR",
		"a byte order mark": "\ufeffBEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Grüße\r\nEND:VEVENT\r\n" +
			"END:VCALENDAR\r\n",
		"folded within a character": "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Gr\xc3\r\n " +
			"\xbc\xc3\r\n\t\x9fe\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		"blank lines, small letters, spaces": "begin:vcalendar\r\n\r\nbegin:vevent " +
			"\r\nsummary:Grüße\r\n\r\nend:vevent\r\nend:vcalendar \r\n",
	} {
		c, err := ical.Decode([]byte(data))
		if err != nil || len(c.ChildrenNamed("VEVENT")) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := c.ChildrenNamed("VEVENT")[0].Text("SUMMARY"); got != "Grüße" {
			t.Errorf("%s: the summary is %q", name, got)
		}
	}
}

func TestATZIDMayHaveColons(t *testing.T) {
	for line, tzid := range map[string]string{
		"DTSTART;TZID=GMT+05:30:20120904T020000":                    "GMT+05:30",
		`DTSTART;TZID="GMT+05:30":20120904T020000`:                  "GMT+05:30",
		"DTSTART;VALUE=DATE-TIME;TZID=tzone://x/y:20120904T020000":  "tzone://x/y",
		"DTSTART;TZID=Europe/Berlin:20120904T020000":                "Europe/Berlin",
		"DTSTART;TZID=Europe/Berlin;X-ZONE=\"a:b\":20120904T020000": "Europe/Berlin",
	} {
		c, err := ical.Decode([]byte("BEGIN:VCALENDAR\r\n" + line + "\r\nEND:VCALENDAR\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		if p := c.Properties[0]; p.Param("TZID") != tzid || p.Value != "20120904T020000" {
			t.Errorf("%s: %+v", line, p)
		}
	}
}

func TestWhatIsNoObjectIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":               "",
		"a page":                "<html></html>",
		"another component":     "BEGIN:VEVENT\r\nEND:VEVENT\r\n",
		"cut off":               "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:x\r\n",
		"ends out of order":     "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nEND:VCALENDAR\r\nEND:VEVENT\r\n",
		"nested without bounds": strings.Repeat("BEGIN:VCALENDAR\r\n", 100_000),
	} {
		if c, err := ical.Decode([]byte(data)); err == nil {
			t.Errorf("%s was read as %+v", name, c)
		}
	}
	if _, err := ical.Decode(make([]byte, ical.MaxBytes+1)); !errors.Is(err, ical.ErrTooLarge) {
		t.Errorf("above the cap: %v", err)
	}
}

func TestLinesThatAreMalformedArePropertiesOfNoName(t *testing.T) {
	for _, line := range []string{
		";A=B:c", ":c", `A;B="c:d`, "A;B=c", `A;B="c"d:e`, "A;=:c", "Ä:b", "A;B=\"c\",:",
	} {
		c, err := ical.Decode(object(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		if p := c.Properties[0]; p.Name != "" && p.Name != "A" {
			t.Errorf("%q was read as %+v", line, p)
		}
		if got := string(ical.Encode(c)); !strings.Contains(got, "\r\n"+line+"\r\n") && c.Properties[0].Name == "" {
			t.Errorf("%q was written as %q", line, got)
		}
	}
}

func TestTextAndParametersAreKeptExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("\\;,:\"^'\n n%üß📅")),
			rapid.RuneFrom(nil, unicode.Letter, unicode.Symbol, unicode.Punct))).Draw(t, "text")
		c := ical.New("VCALENDAR", ical.Text("X", text).With("P", text))
		data := ical.Encode(c)
		for line := range bytes.SplitSeq(data, []byte("\r\n")) {
			if len(line) > 75 || !utf8.Valid(line) || bytes.ContainsAny(line, "\r\n") {
				t.Fatalf("the line %q is too long, or cut within a character", line)
			}
		}
		read, err := ical.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := read.Get("x")
		if p.Text() != text || p.Param("p") != text {
			t.Fatalf("got %q and %q, want %q", p.Text(), p.Param("p"), text)
		}
	})
}

func TestNothingCanBeSmuggledIntoALine(t *testing.T) {
	event := ical.New("VCALENDAR", ical.Text("SUMMARY", "a\r\nATTENDEE:mailto:x@example.com\rb\x00\x07"),
		ical.Raw("URL", "https://example.com/\r\nATTENDEE:mailto:x@example.com"),
		ical.Raw("X", "1").With("P", "a\"\r\nATTENDEE:mailto:x@example.com"))
	read, err := ical.Decode(ical.Encode(event))
	if err != nil {
		t.Fatal(err)
	}
	if read.Has("ATTENDEE") || len(read.Properties) != 3 {
		t.Errorf("got %+v", read.Properties)
	}
	if got := read.Text("SUMMARY"); got != "a\nATTENDEE:mailto:x@example.com\nb" {
		t.Errorf("the summary is %q", got)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]ical.Duration{
		"P1D": {Days: 1}, "P2W": {Days: 14}, "PT15M": {Exact: 15 * time.Minute},
		"P1DT2H3M4S": {Days: 1, Exact: 2*time.Hour + 3*time.Minute + 4*time.Second}, "-PT1H": {Exact: -time.Hour},
		"+P1D": {Days: 1}, "pt36h": {Exact: 36 * time.Hour}, "P0D": {},
	} {
		if got, err := ical.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "P", "1D", "PT", "P1H", "PT1D", "P1", "P1DT", "PT1.5H", "P99999999999D", "PT9999999999S", "P1Y",
		"P1DTT1H",
	} {
		if got, err := ical.ParseDuration(text); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func TestMoments(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 30, 59, 0, time.UTC)
	for _, c := range []struct {
		text, tzid string
		want       ical.Moment
	}{
		{"20260301", "", ical.Moment{Wall: at.Truncate(24 * time.Hour), Form: ical.Date}},
		{"20260301", "Europe/Berlin", ical.Moment{Wall: at.Truncate(24 * time.Hour), Form: ical.Date}},
		{"20260301T093059", "", ical.Moment{Wall: at, Form: ical.Floating}},
		{"20260301T093059", "Europe/Berlin", ical.Moment{Wall: at, Form: ical.Zoned, TZID: "Europe/Berlin"}},
		{"20260301T093059Z", "Europe/Berlin", ical.Moment{Wall: at, Form: ical.UTC}},
		{"20260301T093060", "", ical.Moment{Wall: at, Form: ical.Floating}},
	} {
		if got, err := ical.ParseMoment(c.text, c.tzid); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
	for _, text := range []string{
		"", "2026", "20260230", "20260301T250000", "2026-03-01", "20260301T0930", "99999999T999999Z",
	} {
		if got, err := ical.ParseMoment(text, ""); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func TestOffsets(t *testing.T) {
	for text, want := range map[string]int{"-0500": -18000, "+0530": 19800, "+0000": 0, "-001730": -1050} {
		got, err := ical.ParseOffset(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
		if written := ical.FormatOffset(want); written != text {
			t.Errorf("%d was written as %s, want %s", want, written, text)
		}
	}
	for _, text := range []string{"", "0500", "+05", "+05:00", "+2560", "+9900", "-0a00", "+050"} {
		if got, err := ical.ParseOffset(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(object("VERSION:2.0", "BEGIN:VEVENT", `X;A="b;c",d:e\, f`, " folded", "END:VEVENT"))
	f.Add([]byte("BEGIN:VCALENDAR\nA;B"))
	f.Add([]byte("BEGIN:VCALENDAR\nA;B=\"\nEND:VCALENDAR"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ical.Decode(data)
		if err != nil {
			return
		}
		first := ical.Encode(c)
		again, err := ical.Decode(first)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%q", err, first)
		}
		if second := ical.Encode(again); !bytes.Equal(first, second) {
			t.Fatalf("written differently the second time:\n%q\n%q", first, second)
		}
	})
}
