package caldav

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/timezone"
)

func TestNamesOfZones(t *testing.T) {
	t.Parallel()
	for tzid, want := range map[string]string{
		"Europe/Berlin":                                  "Europe/Berlin",
		`"America/New_York"`:                             "America/New_York",
		"US/Eastern":                                     "US/Eastern",
		"Eastern Standard Time":                          "America/New_York",
		"W. Europe Standard Time":                        "Europe/Berlin",
		"/Europe/Paris":                                  "Europe/Paris",
		"/America/Argentina/Buenos_Aires":                "America/Argentina/Buenos_Aires",
		"/freeassociation.sourceforge.net/Europe/Berlin": "Europe/Berlin",
		"/freeassociation.sourceforge.net/Tzfile/America/New_York": "America/New_York",
		"/softwarestudio.org/Olson_20011030_5/America/New_York":    "America/New_York",
		"/mozilla.org/20050126_1/America/Argentina/Buenos_Aires":   "America/Argentina/Buenos_Aires",
		"/citadel.org/20190914_1/Asia/Kolkata":                     "Asia/Kolkata",
		"tzone://Microsoft/Utc":                                    "UTC",
		"":                                                         "", "Local": "", "local": "",
		"../../etc/passwd": "", "Customized Time Zone": "", "/a/b/c/d": "", "(UTC+01:00) Berlin": "",
		strings.Repeat("Europe/", 100) + "Berlin": "",
	} {
		got := ""
		if location := findLocation(tzid); location != nil {
			got = location.String()
		}
		if got != want {
			t.Errorf("%q was read as %q, want %q", tzid, got, want)
		}
	}
}

// An abbreviation is a zone of its own in the database, in which clocks are never set. Objects that define it as one
// in which they are mean that.
func TestAnAbbreviationIsAsTheObjectDefinesIt(t *testing.T) {
	t.Parallel()
	define := func(tzid string, more ...string) string {
		return "BEGIN:VTIMEZONE\r\nTZID:" + tzid + "\r\n" + strings.Join(more, "\r\n") + "\r\nEND:VTIMEZONE\r\n"
	}
	standard := "BEGIN:STANDARD\r\nDTSTART:20071104T020000\r\nTZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\n" +
		"RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\r\nEND:STANDARD"
	daylight := "BEGIN:DAYLIGHT\r\nDTSTART:20070311T020000\r\nTZOFFSETFROM:-0500\r\nTZOFFSETTO:-0400\r\n" +
		"RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\r\nEND:DAYLIGHT"
	for name, c := range map[string]struct{ definition, tzid, july, january string }{
		"with summer time":  {define("EST", standard, daylight), "EST", "14:00", "15:00"},
		"named beside":      {define("EST", "X-LIC-LOCATION:America/New_York", standard, daylight), "EST", "14:00", "15:00"},
		"without":           {define("EST", standard), "EST", "15:00", "15:00"},
		"undefined":         {"", "EST", "15:00", "15:00"},
		"another":           {define("CST", standard, daylight), "EST", "15:00", "15:00"},
		"of a place":        {define("America/Panama", standard, daylight), "America/Panama", "15:00", "15:00"},
		"with rules as CET": {define("CET", standard, daylight), "CET", "08:00", "09:00"},
	} {
		root, err := ical.Decode([]byte("BEGIN:VCALENDAR\r\n" + c.definition + "END:VCALENDAR\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		z := zones{}.find(definitionsIn(root), c.tzid)
		for month, want := range map[time.Month]string{time.July: c.july, time.January: c.january} {
			at := z.localize(time.Date(2027, month, 5, 10, 0, 0, 0, time.UTC))
			if got := at.UTC().Format("15:04"); got != want {
				t.Errorf("%s: 10:00 in %s is %s in UTC, want %s", name, month, got, want)
			}
		}
	}
}

// outlook is a definition as Outlook writes it: years from 1601, and a name without meaning.
const outlook = `BEGIN:VTIMEZONE
TZID:Customized Time Zone
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
`

func TestAZoneThatOnlyTheObjectDefines(t *testing.T) {
	t.Parallel()
	o := objectOfLines(t, outlook+event("DTSTART;TZID=Customized Time Zone:20260101T000000"))
	berlin := namedZone{mustZone(t, "Europe/Berlin")}
	z := o.zone("Customized Time Zone")
	if z == nil || z.name() != "" {
		t.Fatalf("got %v", z)
	}
	for wall := time.Date(2024, 1, 1, 0, 30, 0, 0, time.UTC); wall.Year() < 2029; wall = wall.Add(time.Hour) {
		if got, want := z.localize(wall), berlin.localize(wall); !got.Equal(want) {
			t.Fatalf("%v is %v, want %v", wall, got.UTC(), want.UTC())
		}
	}
}

func TestAZoneMayBeAnOffset(t *testing.T) {
	t.Parallel()
	for tzid, want := range map[string]string{
		"GMT+05:30": "06:30", "UTC-3": "15:00", "(GMT -05:00)": "17:00", "gmt+0100": "11:00", "Etc/GMT+5": "17:00",
		"UTC": "12:00", "GMT+99:00": "floating", "GMT+5 Lima": "floating",
	} {
		o := objectOfLines(t, event(`DTSTART;TZID="`+tzid+`":20260101T120000`))
		got := o.time(startOf(o.master))
		if text := got.Instant.UTC().Format("15:04"); got.Floating != (want == "floating") || !got.Floating && text != want {
			t.Errorf("%s is %+v, want %s", tzid, got, want)
		}
	}
}

func TestAZoneThatNothingTellsIsFloating(t *testing.T) {
	t.Parallel()
	o := objectOfLines(t, event("DTSTART;TZID=Nowhere:20260101T120000"))
	got := o.time(startOf(o.master))
	if !got.Floating || !got.Instant.Equal(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", got)
	}
}

func TestTheDatabaseGoesBeforeAnOutdatedDefinition(t *testing.T) {
	t.Parallel()
	wrong := strings.ReplaceAll(strings.ReplaceAll(outlook, "Customized Time Zone", "Europe/Berlin"),
		"+0100", "+0700")
	o := objectOfLines(t, wrong+event("DTSTART;TZID=Europe/Berlin:20260101T120000"))
	if got := o.instant(startOf(o.master), time.UTC); !got.Equal(time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v", got)
	}
}

// TestWallClocksArePlacedAsRFC5545Says checks wall clocks around changes of the offset against the definition
// of gap and fold in section 3.3.5.
func TestWallClocksArePlacedAsRFC5545Says(t *testing.T) {
	t.Parallel()
	ny := namedZone{mustZone(t, "America/New_York")}
	for wall, want := range map[string]string{
		"2026-03-08T01:59": "2026-03-08T06:59Z", "2026-03-08T02:30": "2026-03-08T07:30Z",
		"2026-03-08T03:00": "2026-03-08T07:00Z", "2026-11-01T00:59": "2026-11-01T04:59Z",
		"2026-11-01T01:30": "2026-11-01T05:30Z", "2026-11-01T02:00": "2026-11-01T07:00Z",
	} {
		at, _ := time.Parse("2006-01-02T15:04", wall)
		if got := ny.localize(at).UTC().Format("2006-01-02T15:04Z"); got != want {
			t.Errorf("%s is %s, want %s", wall, got, want)
		}
	}
}

// TestDefinitionsSayWhatTheDatabaseSays checks random moments from an event on, up to nine years after it.
func TestDefinitionsSayWhatTheDatabaseSays(t *testing.T) {
	t.Parallel()
	names := []string{"America/New_York", "Europe/Berlin", "Europe/London", "Europe/Dublin",
		"America/St_Johns", "Asia/Kolkata",
		"Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Gaza", "Asia/Jerusalem",
		"Pacific/Chatham",
		"America/Santiago", "Africa/Cairo", "Asia/Kathmandu", "Etc/GMT+5", "EST5EDT", "Pacific/Apia",
		"Antarctica/Troll"}
	rapid.Check(t, func(t *rapid.T) {
		location, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		from := time.Unix(rapid.Int64Range(1577836800, 1893456000).Draw(t, "from"), 0)
		definition := defineZone(location, from, from)
		root := ical.New("VCALENDAR")
		root.Children = append(root.Children, definition)
		read, err := ical.Decode(ical.Encode(root))
		if err != nil {
			t.Fatal(err)
		}
		z := readZone(read.Children[0])
		for range 50 {
			at := from.Add(time.Duration(rapid.Int64Range(0, 9*365*86400).Draw(t, "seconds")) * time.Second)
			wall := timezone.Wall(at, location)
			if got, want := z.localize(wall), (namedZone{location}).localize(wall); !got.Equal(want) {
				t.Fatalf("%s: %v is %v, want %v\n%s", location, wall, got.UTC(), want.UTC(), ical.Encode(root))
			}
			if got := z.wall(at); !got.Equal(wall) {
				t.Fatalf("%s: clocks show %v at %v, want %v\n%s", location, got, at.UTC(), wall, ical.Encode(root))
			}
		}
	})
}

func TestADefinitionIsReplacedOnlyWhenItIsWrong(t *testing.T) {
	t.Parallel()
	berlin := mustZone(t, "Europe/Berlin")
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	right := strings.ReplaceAll(outlook, "Customized Time Zone", "Europe/Berlin")
	o := objectOfLines(t, right+event("DTSTART;TZID=Europe/Berlin:20260101T120000"))
	before := string(ical.Encode(o.root))
	withZone(o.root, berlin, at)
	if after := string(ical.Encode(o.root)); after != before {
		t.Errorf("a definition that is right became\n%s", after)
	}
	o = objectOfLines(t, strings.ReplaceAll(right, "+0200",
		"+0900")+event("DTSTART;TZID=Europe/Berlin:20260101T120000"))
	withZone(o.root, berlin, at)
	zones := o.root.ChildrenNamed("VTIMEZONE")
	if len(zones) != 1 || !defines(zones[0], berlin, []time.Time{at}) {
		t.Errorf("a definition that is wrong stayed\n%s", ical.Encode(o.root))
	}
}

// On the last day of a leap year after a zone's table, the time package returns a change that has passed.
func TestTransitionsOutliveTheEndOfALeapYear(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	list := transitions(zone, time.Date(2040, 12, 31, 12, 0, 0, 0, time.UTC),
		time.Date(2042, 12, 31, 0, 0, 0, 0, time.UTC))
	if len(list) != 4 || !list[0].onset.Equal(time.Date(2041, 3, 10, 2, 0, 0, 0, time.UTC)) {
		t.Errorf("the changes of two years are %v", list)
	}
}
