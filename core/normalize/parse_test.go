package normalize

import (
	"strings"
	"testing"
	"time"
)

func TestParseTimeReads(t *testing.T) {
	const zoneName = "America/New_York"
	for rule, c := range map[string]struct {
		given string
		form  TimeForm
		want  string // shown in New York
	}{
		"RFC 3339 5.6: a numeric offset": {"2026-12-01T10:00:00-05:00", DateTime,
			"2026-12-01T10:00:00-05:00"},
		"RFC 3339 5.6: an offset east of UTC": {"2026-12-01T10:00:00+05:30", DateTime,
			"2026-11-30T23:30:00-05:00"},
		"RFC 3339 5.6: Z": {"2026-12-01T10:00:00Z", DateTime,
			"2026-12-01T05:00:00-05:00"},
		"RFC 3339 5.6: t and z in lower case": {"2026-12-01t10:00:00z", DateTime,
			"2026-12-01T05:00:00-05:00"},
		"RFC 3339 5.6: a space for the T": {"2026-12-01 10:00:00Z", DateTime,
			"2026-12-01T05:00:00-05:00"},
		"RFC 3339 5.6: a fraction": {"2026-12-01T10:00:00.250Z", DateTime,
			"2026-12-01T05:00:00.25-05:00"},
		"RFC 3339 5.6: a fraction of one digit": {"2026-12-01T10:00:00.5Z", DateTime,
			"2026-12-01T05:00:00.5-05:00"},
		"RFC 3339 5.6: a fraction of nine digits": {"2026-12-01T10:00:00.123456789Z", DateTime,
			"2026-12-01T05:00:00.123456789-05:00"},
		"a fraction beyond nanoseconds is cut, never rounded": {"2026-12-01T10:00:00.9999999999999Z", DateTime,
			"2026-12-01T05:00:00.999999999-05:00"},
		"a fraction of zeros is none": {"2026-12-01T10:00:00.000Z", DateTime,
			"2026-12-01T05:00:00-05:00"},
		"RFC 3339 4.3: the offset -00:00 is UTC": {"2026-12-01T10:00:00-00:00", DateTime,
			"2026-12-01T05:00:00-05:00"},
		"RFC 3339 5.6: the farthest offset": {"2026-12-01T10:00:00+23:59", DateTime,
			"2026-11-30T05:01:00-05:00"},
		"RFC 3339 5.7: a leap second, read as the one before": {"2016-12-31T23:59:60Z", DateTime,
			"2016-12-31T18:59:59-05:00"},
		"RFC 3339 5.8: the same leap second in another zone": {"1990-12-31T15:59:60-08:00", DateTime,
			"1990-12-31T18:59:59-05:00"},
		"ISO 8601: a local time": {"2026-12-01T10:00:00", DateTime,
			"2026-12-01T10:00:00-05:00"},
		"ISO 8601: a local time in summer": {"2026-07-01T10:00:00", DateTime,
			"2026-07-01T10:00:00-04:00"},
		"ISO 8601: a local time without seconds": {"2026-12-01T10:00", DateTime,
			"2026-12-01T10:00:00-05:00"},
		"ISO 8601: an offset without seconds before it": {"2026-12-01T10:00-05:00", DateTime,
			"2026-12-01T10:00:00-05:00"},
		"ISO 8601: a local time with a space and a fraction": {"2026-12-01 10:00:00.5", DateTime,
			"2026-12-01T10:00:00.5-05:00"},
		"ISO 8601: a comma before the fraction": {"2026-12-01T10:00:00,5Z", DateTime,
			"2026-12-01T05:00:00.5-05:00"},
		"ISO 8601: an offset without a colon": {"2026-12-01T10:00:00-0530", DateTime,
			"2026-12-01T10:30:00-05:00"},
		"ISO 8601: an offset of hours": {"2026-12-01 10:00:00-05", DateTime,
			"2026-12-01T10:00:00-05:00"},
		"a date is its day's start": {"2026-12-01", DateTimeOrDate,
			"2026-12-01T00:00:00-05:00"},
		"a time is taken where a date would be": {"2026-12-01T10:00:00Z", DateTimeOrDate,
			"2026-12-01T05:00:00-05:00"},
		"RFC 3339 5.7: 29 February of a leap year": {"2028-02-29T10:00:00Z", DateTime,
			"2028-02-29T05:00:00-05:00"},
		"RFC 3339 appendix C: 2000 is a leap year": {"2000-02-29T10:00:00Z", DateTime,
			"2000-02-29T05:00:00-05:00"},
		"the first time taken": {"0001-01-02T00:00:00Z", DateTime,
			"0001-01-01T19:04:00-04:56"},
		"the last time taken": {"9999-12-30T23:59:59.999999999Z", DateTime,
			"9999-12-30T18:59:59.999999999-05:00"},
		"RFC 5545 3.3.5: a local time in a gap, offset before": {"2027-03-14T02:30:00", DateTime,
			"2027-03-14T03:30:00-04:00"},
		"RFC 5545 3.3.5: a local time that occurs twice": {"2026-11-01T01:30:00", DateTime,
			"2026-11-01T01:30:00-04:00"},
		"an offset tells the two occurrences apart": {"2026-11-01T01:30:00-05:00", DateTime,
			"2026-11-01T01:30:00-05:00"},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := ParseTime(c.given, c.form)
			if err != nil {
				t.Fatalf("%s was refused: %v", c.given, err)
			}
			z := zone(t, zoneName)
			if shown := Format(got.In(z), z); shown != c.want {
				t.Errorf("%s is %s, want %s", c.given, shown, c.want)
			}
			if at := got.In(z); at.Location() != z {
				t.Errorf("%s is in %s, want %s", c.given, at.Location(), z)
			}
		})
	}
}

const (
	general = "must be RFC 3339, such as 2026-12-01T10:00:00-05:00, or a local time without an offset, " +
		"such as 2026-12-01T10:00:00"
	generalOrDate = general + ", or a date, such as 2026-12-01"
	basicFormat   = "must not be in ISO 8601's basic format; write the hyphens and colons, such as " +
		"2026-12-01T10:00:00"
	weekDate    = "must not be a week date; write the month and the day, such as 2026-12-01T10:00:00"
	ordinalDate = "must not be an ordinal date; write the month and the day, such as 2026-12-01T10:00:00"
	unixTime    = "must not be a Unix timestamp; write it as RFC 3339, such as 2026-12-01T10:00:00Z"
	twoDigits   = "must have two digits in the month, the day, the hour, the minute and the second, such as " +
		"2026-12-01T09:05:00"
	outOfRange = "must lie between the years 0001 and 9999, their first and last day excluded"
	noLeap     = "has second 60; only the last minute of a month in UTC, such as 2016-12-31T23:59:60Z, can " +
		"have a leap second"
	zoneBehind = "must end with an offset such as -05:00, not with the name of a zone; the name has its " +
		"own field"
	twelveHours = "must be on the 24-hour clock, such as 2026-12-01T14:30:00"
)

func TestParseTimeRefuses(t *testing.T) {
	for rule, c := range map[string]struct {
		given string
		form  TimeForm
		says  string
	}{
		"nothing":                       {"", DateTime, general},
		"nothing where a date would do": {"", DateTimeOrDate, generalOrDate},
		"words":                         {"tomorrow at ten", DateTime, general},
		"a date where a time is needed": {"2026-12-01", DateTime,
			"must have a time of day, such as 2026-12-01T10:00:00"},
		"a date with an offset": {"2026-12-01Z", DateTimeOrDate, generalOrDate},
		"a day that is not": {"2026-02-29T10:00:00Z", DateTime,
			"has day 29; February 2026 has 28 days"},
		"RFC 3339 appendix C: 1900 has no leap day": {"1900-02-29T10:00:00Z", DateTime,
			"has day 29; February 1900 has 28 days"},
		"day 0": {"2026-12-00", DateTimeOrDate,
			"has day 00; December 2026 has 31 days"},
		"month 13": {"2026-13-01T10:00:00Z", DateTime,
			"has month 13; months run from 01 to 12"},
		"month 0": {"2026-00-01T10:00:00Z", DateTime,
			"has month 00; months run from 01 to 12"},
		"RFC 3339 5.7: hour 24": {"2026-12-31T24:00:00Z", DateTime,
			"has hour 24; the end of that day is 2027-01-01T00:00:00"},
		"hour 24 of a local time": {"2026-12-01T24:00", DateTime,
			"has hour 24; the end of that day is 2026-12-02T00:00:00"},
		"hour 24 and a minute": {"2026-12-01T24:01:00Z", DateTime,
			"has hour 24; hours run from 00 to 23"},
		"hour 25": {"2026-12-01T25:00:00Z", DateTime,
			"has hour 25; hours run from 00 to 23"},
		"minute 60": {"2026-12-01T10:60:00Z", DateTime,
			"has minute 60; minutes run from 00 to 59"},
		"second 61": {"2026-12-31T23:59:61Z", DateTime,
			"has second 61; seconds run from 00 to 59"},
		"RFC 3339 5.7: a leap second elsewhere": {"2026-12-01T10:00:60Z", DateTime, noLeap},
		"a leap second at midnight elsewhere":   {"2016-12-31T23:59:60-05:00", DateTime, noLeap},
		"a leap second of a local time":         {"2016-12-31T23:59:60", DateTime, noLeap},
		"offset hour 24": {"2026-12-01T10:00:00+24:00", DateTime,
			"has the offset 24:00; offsets run from -23:59 to +23:59"},
		"offset minute 60": {"2026-12-01T10:00:00+05:60", DateTime,
			"has the offset 05:60; offsets run from -23:59 to +23:59"},
		"an offset with seconds": {"2026-12-01T10:00:00-04:56:02", DateTime,
			"must have an offset without seconds, such as -05:00"},
		"an offset of one digit": {"2026-12-01T10:00:00-5", DateTime, general},
		"a minus that is no hyphen": {"2026-12-01T10:00:00\u221205:00", DateTime,
			"must have a plain hyphen (-) as the sign of its offset"},
		"a space before the offset": {"2026-12-01 10:00:00 -05:00", DateTime,
			"must have no space before the offset"},
		"a space before Z": {"2026-12-01T10:00:00 Z", DateTime,
			"must have no space before the offset"},
		"a point without digits":     {"2026-12-01T10:00:00.Z", DateTime, general},
		"a fraction of minutes":      {"2026-12-01T10:00.5Z", DateTime, general},
		"something behind":           {"2026-12-01T10:00:00Z, please", DateTime, zoneBehind},
		"the abbreviation of a zone": {"2026-12-01T10:00:00 EST", DateTime, zoneBehind},
		"RFC 9557 3.1: a zone in brackets": {"2026-12-01T10:00:00-05:00[America/New_York]", DateTime,
			"must end before the bracket; the name of the zone has its own field"},
		"spaces around it": {" 2026-12-01T10:00:00Z", DateTime,
			"must have no spaces around it"},
		"a line break behind": {"2026-12-01T10:00:00Z\n", DateTime,
			"must have no spaces around it"},
		"ISO 8601 basic format":         {"20261201T100000Z", DateTime, basicFormat},
		"ISO 8601 basic format, local":  {"20261201T1000", DateTime, basicFormat},
		"ISO 8601 basic format, a date": {"20261201", DateTimeOrDate, basicFormat},
		"ISO 8601 week date":            {"2026-W49-2T10:00:00", DateTime, weekDate},
		"ISO 8601 week date, basic":     {"2026W492", DateTime, weekDate},
		"ISO 8601 ordinal date":         {"2026-335T10:00:00", DateTime, ordinalDate},
		"ISO 8601 ordinal date, basic":  {"2026335", DateTime, ordinalDate},
		"ISO 8601 expanded year": {"+012026-12-01T10:00:00Z", DateTime,
			"must have a year of four digits without a sign"},
		"a year before the first": {"-2026-12-01T10:00:00Z", DateTime,
			"must have a year of four digits without a sign"},
		"Unix seconds":      {"1796137200", DateTime, unixTime},
		"Unix milliseconds": {"1796137200000", DateTime, unixTime},
		"a time without a date": {"10:00", DateTime,
			"must have a date before the time, such as 2026-12-01T10:00:00"},
		"the 12-hour clock":            {"2026-12-01 2:30 PM", DateTime, twelveHours},
		"the 12-hour clock in English": {"2026-12-01 02:30\u202fPM", DateTime, twelveHours},
		"the 12-hour clock in Spanish": {"2026-12-01 02:30 p. m.", DateTime, twelveHours},
		"with thin spaces":             {"2026-12-01T02:30:00\u202fp.\u202fm.", DateTime, twelveHours},
		"an American date": {"12/01/2026 10:00", DateTime,
			"must begin with the year, the month and the day with hyphens between them, such as 2026-12-01T10:00:00"},
		"a date with points": {"01.12.2026", DateTimeOrDate,
			"must begin with the year, the month and the day with hyphens between them, such as 2026-12-01T10:00:00"},
		"an hour alone": {"2026-12-01T10", DateTime,
			"must have minutes, such as 2026-12-01T10:00"},
		"an hour of one digit":                 {"2026-12-01T9:00:00", DateTime, twoDigits},
		"a month of one digit":                 {"2026-1-05", DateTimeOrDate, twoDigits},
		"year 0":                               {"0000-12-31T10:00:00Z", DateTime, outOfRange},
		"the day that some zones do not reach": {"0001-01-01T23:59:59Z", DateTime, outOfRange},
		"the day that some zones have passed":  {"9999-12-31T00:00:00Z", DateTime, outOfRange},
		"a local time of that day":             {"9999-12-31T00:00:00", DateTime, outOfRange},
		"an instant of that day":               {"9999-12-30T23:00:00-05:00", DateTime, outOfRange},
		"digits of another script":             {"２０２６-12-01T10:00:00Z", DateTime, general},
		"what is not UTF-8":                    {"2026-12-01T10:00:00\xff", DateTime, general},
		"a great length":                       {strings.Repeat("9", 1<<20), DateTime, general},
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := ParseTime(c.given, c.form)
			if err == nil {
				z := zone(t, "UTC")
				t.Fatalf("%.40q is taken as %s", c.given, Format(got.In(z), z))
			}
			if err.Error() != c.says {
				t.Errorf("%.40q is refused with\n%s\nwant\n%s", c.given, err, c.says)
			}
			if got != (InputTime{}) {
				t.Errorf("%.40q gives %v beside the error", c.given, got)
			}
		})
	}
}

func TestInputTimeTellsWhatWasGiven(t *testing.T) {
	read := func(s string) InputTime {
		got, err := ParseTime(s, DateTimeOrDate)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	local, zoned, day := read("2026-12-01T10:00:00"), read("2026-12-01T10:00:00Z"), read("2026-12-01")
	for rule, holds := range map[string]bool{
		"the zero value is not given":             InputTime{}.IsZero() && !InputTime{}.HasOffset(),
		"the zero value is the zero time":         InputTime{}.In(time.UTC).IsZero(),
		"a local time is given":                   !local.IsZero(),
		"a local time has no offset":              !local.HasOffset(),
		"a date has no offset":                    !day.HasOffset(),
		"a time with Z has an offset":             zoned.HasOffset(),
		"1970 is given":                           !read("1970-01-01T00:00:00").IsZero(),
		"equal when they say the same":            local == read("2026-12-01 10:00:00.0"),
		"a local time is not the same one in UTC": local != zoned,
		"a date is the same as its first moment":  day == read("2026-12-01T00:00"),
		"a nil zone is UTC":                       local.In(nil).Equal(zoned.In(nil)),
	} {
		if !holds {
			t.Error(rule)
		}
	}
}
