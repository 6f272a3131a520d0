package caldav

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/calendar"
)

// objectOfLines wraps events in a calendar.
func objectOfLines(tb testing.TB, lines string) *object {
	tb.Helper()
	data := "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Somebody//EN\n" + strings.TrimSpace(lines) +
		"\nEND:VCALENDAR\n"
	o, err := readObject([]byte(data), zones{})
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func event(lines string) string {
	return "BEGIN:VEVENT\nUID:1\nDTSTAMP:20260101T000000Z\n" + strings.TrimSpace(lines) + "\nEND:VEVENT\n"
}

// show formats instances: their times in the fallback location, or as days, and their titles.
func show(o *object, instances []instance, fallback *time.Location) []string {
	var list []string
	for _, i := range instances {
		e := o.event(i, "", "", "")
		one := func(t calendar.Time) string {
			switch {
			case t.AllDay:
				return t.Instant.Format("01-02")
			case t.Floating:
				return t.Instant.Format("01-02 15:04 floating")
			}
			return t.Instant.In(fallback).Format("01-02 15:04")
		}
		list = append(list, strings.TrimSpace(one(e.Start)+" to "+one(e.End)+" "+e.Title))
	}
	slices.Sort(list)
	return list
}

func mustZone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return location
}

func TestWhatLiesInMarch(t *testing.T) {
	t.Parallel()
	berlin := mustZone(t, "Europe/Berlin")
	from, to := time.Date(2026, 3, 1, 0, 0, 0, 0, berlin), time.Date(2026, 4, 1, 0, 0, 0, 0, berlin)
	const daily = "DTSTART;TZID=Europe/Berlin:20260328T090000\nDTEND;TZID=Europe/Berlin:20260328T100000\n"
	const days = "DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260329\n"
	for _, c := range []struct {
		rule, lines string
		want        []string
	}{
		{"an event has the length that DTEND says", event(daily), []string{"03-28 09:00 to 03-28 10:00"}},
		{"an event may have DURATION in its place",
			event("DTSTART;TZID=Europe/Berlin:20260328T090000\nDURATION:PT45M"),
			[]string{"03-28 09:00 to 03-28 09:45"}},
		{"an event with neither has no length", event("DTSTART:20260328T090000Z"),
			[]string{"03-28 10:00 to 03-28 10:00"}},
		{"a day with neither is one day", event("DTSTART;VALUE=DATE:20260328"), []string{"03-28 to 03-29"}},
		{"a day with DURATION", event("DTSTART;VALUE=DATE:20260328\nDURATION:P2D"), []string{"03-28 to 03-30"}},
		{"a day that ends with its start is one day",
			event("DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260328"), []string{"03-28 to 03-29"}},
		{"a day that ends before its start is one day",
			event("DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260327"), []string{"03-28 to 03-29"}},
		{"each day of a series that ends with its start is one day",
			event("DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260328\nRRULE:FREQ=DAILY;COUNT=2"),
			[]string{"03-28 to 03-29", "03-29 to 03-30"}},
		{"an end before the start is none", event("DTSTART:20260328T090000Z\nDTEND:20260328T080000Z"),
			[]string{"03-28 10:00 to 03-28 10:00"}},
		{"what ends where the time begins is not in it",
			event("DTSTART;TZID=Europe/Berlin:20260228T230000\nDTEND;TZID=Europe/Berlin:20260301T000000"), nil},
		{"what reaches into the time is",
			event("DTSTART;TZID=Europe/Berlin:20260228T230000\nDTEND;TZID=Europe/Berlin:20260301T000001"),
			[]string{"02-28 23:00 to 03-01 00:00"}},
		{"what starts where it ends is not", event("DTSTART;TZID=Europe/Berlin:20260401T000000\nDURATION:PT1H"),
			nil},
		{"nothing long that starts where it begins is", event("DTSTART;TZID=Europe/Berlin:20260301T000000"),
			[]string{"03-01 00:00 to 03-01 00:00"}},
		{"an event that was called off is there to be told so", event(daily + "STATUS:CANCELLED"),
			[]string{"03-28 09:00 to 03-28 10:00"}},
		{"a series keeps its wall clock and its exact length when clocks are set",
			event(
				"DTSTART;TZID=Europe/Berlin:20260327T230000\nDTEND;TZID=Europe/Berlin:20260328T070000\n" +
					"RRULE:FREQ=DAILY;COUNT=3"),
			[]string{"03-27 23:00 to 03-28 07:00", "03-28 23:00 to 03-29 08:00", "03-29 23:00 to 03-30 07:00"}},
		{"with DURATION of days the length is nominal",
			event("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:P1D\nRRULE:FREQ=DAILY;COUNT=2"),
			[]string{"03-28 12:00 to 03-29 12:00", "03-29 12:00 to 03-30 12:00"}},
		{"a time in a gap is read with the offset before",
			event("DTSTART;TZID=Europe/Berlin:20260328T023000\nDURATION:PT10M\nRRULE:FREQ=DAILY;COUNT=3"),
			[]string{"03-28 02:30 to 03-28 02:40", "03-29 03:30 to 03-29 03:40", "03-30 02:30 to 03-30 02:40"}},
		{"UNTIL in UTC is an instant",
			event(daily + "RRULE:FREQ=DAILY;UNTIL=20260330T070000Z"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 10:00", "03-30 09:00 to 03-30 10:00"}},
		{"UNTIL a moment earlier leaves the last out",
			event(daily + "RRULE:FREQ=DAILY;UNTIL=20260330T065959Z"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 10:00"}},
		{"UNTIL a date includes that day",
			event(daily + "RRULE:FREQ=DAILY;UNTIL=20260329"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 10:00"}},
		{"UNTIL before the start leaves the start", event(daily + "RRULE:FREQ=DAILY;UNTIL=20200101T000000Z"),
			[]string{"03-28 09:00 to 03-28 10:00"}},
		{"EXDATE takes out, in whatever zone it is written",
			event(
				daily + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260328T080000Z\n" +
					"EXDATE;TZID=America/New_York:20260330T030000"),
			[]string{"03-29 09:00 to 03-29 10:00", "03-31 09:00 to 03-31 10:00"}},
		{"EXRULE takes out, as servers of RFC 2445 have it",
			event(daily + "RRULE:FREQ=DAILY;COUNT=4\nEXRULE:FREQ=DAILY;INTERVAL=2"),
			[]string{"03-29 09:00 to 03-29 10:00", "03-31 09:00 to 03-31 10:00"}},
		{"EXRULE leaves a start that it may not match", // a Saturday
			event(daily + "RRULE:FREQ=DAILY;COUNT=4\nEXRULE:FREQ=WEEKLY;BYDAY=SU,MO"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-31 09:00 to 03-31 10:00"}},
		{"EXRULE leaves a start after its end", // of a series that was cut in two, with all its properties
			event(daily + "RRULE:FREQ=DAILY;COUNT=2\nEXRULE:FREQ=DAILY;INTERVAL=2;UNTIL=20260320T080000Z"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 10:00"}},
		{"EXRULE takes out nothing if it cannot be understood",
			event(daily + "RRULE:FREQ=DAILY;COUNT=2\nEXRULE:FREQ=SOMETIMES"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 10:00"}},
		{"EXDATE and RDATE without a zone are on the clock of the series",
			event(
				daily + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260329T090000\nRDATE:20260310T110000"),
			[]string{"03-10 11:00 to 03-10 12:00", "03-28 09:00 to 03-28 10:00", "03-30 09:00 to 03-30 10:00"}},
		{"EXDATE of a floating series names a wall clock, also in UTC",
			event("DTSTART:20260328T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260329T090000Z\n" +
				"RDATE:20260310T110000Z"),
			[]string{"03-10 12:00 to 03-10 13:00", "03-28 09:00 floating to 03-28 10:00 floating",
				"03-30 09:00 floating to 03-30 10:00 floating"}},
		{"EXDATE may list several, and dates for timed events",
			event(
				daily + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE;TZID=Europe/Berlin:20260328T090000,20260331T090000\n" +
					"EXDATE;VALUE=DATE:20260329"),
			[]string{"03-30 09:00 to 03-30 10:00"}},
		{"EXDATE and RDATE may be empty, or end with a comma",
			event(
				daily + "RRULE:FREQ=DAILY;COUNT=2\nRDATE:\nEXDATE:\nRDATE:20260311T110000Z,\n" +
					"EXDATE;TZID=Europe/Berlin:20260329T090000,"),
			[]string{"03-11 12:00 to 03-11 13:00", "03-28 09:00 to 03-28 10:00"}},
		{"RDATE adds, each once",
			event(
				daily + "RRULE:FREQ=DAILY;COUNT=2\nRDATE;TZID=Europe/Berlin:20260329T090000,20260310T110000\n" +
					"RDATE:20260311T110000Z"),
			[]string{"03-10 11:00 to 03-10 12:00", "03-11 12:00 to 03-11 13:00", "03-28 09:00 to 03-28 10:00",
				"03-29 09:00 to 03-29 10:00"}},
		{"RDATE of periods have ends of their own",
			event(daily + "RDATE;VALUE=PERIOD:20260305T080000Z/20260305T113000Z,20260306T080000Z/PT15M"),
			[]string{"03-05 09:00 to 03-05 12:30", "03-06 09:00 to 03-06 09:15", "03-28 09:00 to 03-28 10:00"}},
		{"but not one before their start",
			event(daily + "RDATE;VALUE=PERIOD:20260305T080000Z/20260305T070000Z"),
			[]string{"03-05 09:00 to 03-05 10:00", "03-28 09:00 to 03-28 10:00"}},
		{"an override takes the place of its instance",
			event(daily+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=3") +
				event(
					"RECURRENCE-ID;TZID=Europe/Berlin:20260329T090000\nSUMMARY:B\n"+
						"DTSTART;TZID=Europe/Berlin:20260303T150000\nDURATION:PT2H"),
			[]string{"03-03 15:00 to 03-03 17:00 B", "03-28 09:00 to 03-28 10:00 A", "03-30 09:00 to 03-30 10:00 A"}},
		{"an override named in UTC does too",
			event(daily+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=2") +
				event("RECURRENCE-ID:20260329T070000Z\nSUMMARY:B\nDTSTART:20260329T120000Z\nDURATION:PT1H"),
			[]string{"03-28 09:00 to 03-28 10:00 A", "03-29 14:00 to 03-29 15:00 B"}},
		{"or in no zone",
			event(daily+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=2") +
				event("RECURRENCE-ID:20260329T090000\nSUMMARY:B\nDTSTART:20260329T120000Z\nDURATION:PT1H"),
			[]string{"03-28 09:00 to 03-28 10:00 A", "03-29 14:00 to 03-29 15:00 B"}},
		{"an override of a floating series names a wall clock, in whatever zone",
			event("DTSTART:20260328T090000\nDURATION:PT1H\nSUMMARY:A\nRRULE:FREQ=DAILY;COUNT=3") +
				event("RECURRENCE-ID:20260329T090000Z\nSUMMARY:B\nDTSTART:20260329T120000\nDURATION:PT1H") +
				event("RECURRENCE-ID;TZID=Europe/Berlin:20260330T090000\nSUMMARY:C\n"+
					"DTSTART;TZID=Europe/Berlin:20260330T120000\nDURATION:PT1H"),
			[]string{"03-28 09:00 floating to 03-28 10:00 floating A",
				"03-29 12:00 floating to 03-29 13:00 floating B", "03-30 12:00 to 03-30 13:00 C"}},
		{"an override may move an instance out of the time",
			event(daily+"RRULE:FREQ=DAILY;COUNT=2") +
				event(
					"RECURRENCE-ID;TZID=Europe/Berlin:20260329T090000\nDTSTART;TZID=Europe/Berlin:20260503T150000\n"+
						"DURATION:PT2H"),
			[]string{"03-28 09:00 to 03-28 10:00"}},
		{"or into it",
			event("DTSTART;TZID=Europe/Berlin:20260501T090000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=2") +
				event(
					"RECURRENCE-ID;TZID=Europe/Berlin:20260502T090000\nDTSTART;TZID=Europe/Berlin:20260303T150000\n"+
						"DURATION:PT2H"),
			[]string{"03-03 15:00 to 03-03 17:00"}},
		{"an instance that was called off is there to be told so",
			event(daily+"RRULE:FREQ=DAILY;COUNT=2") +
				event(
					"RECURRENCE-ID;TZID=Europe/Berlin:20260329T090000\nDTSTART;TZID=Europe/Berlin:20260329T090000\n"+
						"STATUS:CANCELLED"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 09:00"}},
		{"EXDATE outlives an override that was left behind",
			event(daily+"RRULE:FREQ=DAILY;COUNT=2\nEXDATE;TZID=Europe/Berlin:20260329T090000") +
				event(
					"RECURRENCE-ID;TZID=Europe/Berlin:20260329T090000\nDTSTART;TZID=Europe/Berlin:20260329T110000\n"+
						"DURATION:PT1H"),
			[]string{"03-28 09:00 to 03-28 10:00"}},
		{"an override for this and what follows moves those too",
			event(daily+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=4") +
				event(
					"RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260329T090000\nSUMMARY:B\n"+
						"DTSTART;TZID=Europe/Berlin:20260329T110000\nDTEND;TZID=Europe/Berlin:20260329T113000") +
				event(
					"RECURRENCE-ID;TZID=Europe/Berlin:20260331T090000\nSUMMARY:C\n"+
						"DTSTART;TZID=Europe/Berlin:20260331T180000\nDURATION:PT1H"),
			[]string{"03-28 09:00 to 03-28 10:00 A", "03-29 11:00 to 03-29 11:30 B", "03-30 11:00 to 03-30 11:30 B",
				"03-31 18:00 to 03-31 19:00 C"}},
		{"and keeps the others' wall clocks, if it is named in UTC and moves over a change of clocks",
			event(daily+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=2") +
				event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260328T080000Z\nSUMMARY:B\n"+
					"DTSTART;TZID=Europe/Berlin:20260329T110000\nDURATION:PT30M"),
			[]string{"03-29 11:00 to 03-29 11:30 B", "03-30 11:00 to 03-30 11:30 B"}},
		{"and keeps them also if clocks skip the time at which it would have started",
			event("DTSTART;TZID=Europe/Berlin:20260328T023000\nDURATION:PT1H\nSUMMARY:A\nRRULE:FREQ=DAILY;COUNT=3") +
				event("RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260329T023000\nSUMMARY:B\n"+
					"DTSTART;TZID=Europe/Berlin:20260329T043000\nDURATION:PT1H"),
			[]string{"03-28 02:30 to 03-28 03:30 A", "03-29 04:30 to 03-29 05:30 B", "03-30 04:30 to 03-30 05:30 B"}},
		{"instances without their series stand alone",
			event(
				"RECURRENCE-ID;TZID=Europe/Berlin:20260329T090000\nDTSTART;TZID=Europe/Berlin:20260329T110000\n" +
					"DURATION:PT1H"),
			[]string{"03-29 11:00 to 03-29 12:00"}},
		{"a series of days",
			event(
				"DTSTART;VALUE=DATE:20260330\nDTEND;VALUE=DATE:20260401\nRRULE:FREQ=WEEKLY;COUNT=2\n" +
					"EXDATE;VALUE=DATE:20260406"),
			[]string{"03-30 to 04-01"}},
		{"the hours, minutes and seconds of a series of days are ignored",
			event(days + "RRULE:FREQ=DAILY;COUNT=3;BYHOUR=9,17;BYMINUTE=30;BYSECOND=0"),
			[]string{"03-28 to 03-29", "03-29 to 03-30", "03-30 to 03-31"}},
		{"UNTIL of a series of days may be midnight of the last one, west of Greenwich",
			event(days + "RRULE:FREQ=DAILY;UNTIL=20260330T040000Z"), []string{"03-28 to 03-29", "03-29 to 03-30",
				"03-30 to 03-31"}},
		{"or east of it, on the day before",
			event(days + "RRULE:FREQ=DAILY;UNTIL=20260329T220000Z"), []string{"03-28 to 03-29", "03-29 to 03-30",
				"03-30 to 03-31"}},
		{"or in New Zealand's summer",
			event(days + "RRULE:FREQ=DAILY;UNTIL=20260329T110000Z"), []string{"03-28 to 03-29", "03-29 to 03-30",
				"03-30 to 03-31"}},
		{"or midnight of no zone",
			event(days + "RRULE:FREQ=DAILY;UNTIL=20260330T000000"), []string{"03-28 to 03-29", "03-29 to 03-30",
				"03-30 to 03-31"}},
		{"but the last second of a day is on that day",
			event(days + "RRULE:FREQ=DAILY;UNTIL=20260329T235959Z"), []string{"03-28 to 03-29", "03-29 to 03-30"}},
		{"EXDATE of a series of days may be a day's midnight in a zone",
			event(days + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=W. Europe Standard Time:20260329T000000"),
			[]string{"03-28 to 03-29", "03-30 to 03-31"}},
		{"or in an unknown zone, or in none",
			event(days + "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;TZID=Nowhere:20260328T000000\nEXDATE:20260330T000000"),
			[]string{"03-29 to 03-30"}},
		{"or in UTC, from west or east",
			event(days + "RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260328T040000Z,20260329T220000Z,20260331T000000Z"),
			[]string{"03-29 to 03-30"}},
		{"RECURRENCE-ID of a series of days may be a day's midnight in a zone",
			event(days+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=2") +
				event("RECURRENCE-ID;TZID=W. Europe Standard Time:20260329T000000\nSUMMARY:B\n"+
					"DTSTART;VALUE=DATE:20260310\nDTEND;VALUE=DATE:20260311"),
			[]string{"03-10 to 03-11 B", "03-28 to 03-29 A"}},
		{"or in UTC, also for those that follow",
			event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260328T230000Z\nSUMMARY:B\n"+
				"DTSTART;VALUE=DATE:20260330\nDTEND;VALUE=DATE:20260331") +
				event(days+"SUMMARY:A\nRRULE:FREQ=DAILY;COUNT=3"),
			[]string{"03-28 to 03-29 A", "03-30 to 03-31 B", "03-31 to 04-01 B"}},
		{"RDATE of a series of days may be a day's midnight in a zone",
			event(days + "RRULE:FREQ=DAILY;COUNT=2\nRDATE;TZID=W. Europe Standard Time:20260329T000000," +
				"20260310T000000\nRDATE:20260310T230000Z"),
			[]string{"03-10 to 03-11", "03-11 to 03-12", "03-28 to 03-29", "03-29 to 03-30"}},
		{"a floating series",
			event("DTSTART:20260331T220000\nDTEND:20260331T230000\nRRULE:FREQ=DAILY"),
			[]string{"03-31 22:00 floating to 03-31 23:00 floating"}},
		{"a flight ends in another zone",
			event("DTSTART;TZID=Europe/Berlin:20260310T100000\nDTEND;TZID=America/New_York:20260310T140000"),
			[]string{"03-10 10:00 to 03-10 19:00"}},
		{"a long instance reaches in from far before",
			event(
				"DTSTART;TZID=Europe/Berlin:20260101T000000\nDTEND;TZID=Europe/Berlin:20260310T000000\n" +
					"RRULE:FREQ=YEARLY"),
			[]string{"01-01 00:00 to 03-10 00:00"}},
		{"two rules of one series",
			event(daily + "RRULE:FREQ=DAILY;COUNT=2\nRRULE:FREQ=WEEKLY;COUNT=2"),
			[]string{"03-28 09:00 to 03-28 10:00", "03-29 09:00 to 03-29 10:00"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o := objectOfLines(t, c.lines)
			instances, err := o.within(from, to, berlin, newLimits())
			if err != nil {
				t.Fatal(err)
			}
			if got := show(o, instances, berlin); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			for _, i := range instances { // each is found again by its key
				found, ok, err := o.find(o.key(i.of))
				if err != nil || !ok || !found.start.Equal(i.start) || !found.end.Equal(i.end) {
					t.Errorf("the instance %s is found as %+v, %v, %v", o.key(i.of), found, ok, err)
				}
			}
		})
	}
}

func TestObjectsThatWouldRunAwayDoNot(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, lines := range map[string]string{
		"every second":    event("DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY"),
		"a billion times": event("DTSTART:19700101T000000Z\nRRULE:FREQ=SECONDLY;COUNT=1000000000"),
		"thousands of rules": event("DTSTART:19700101T000000Z\n" +
			strings.Repeat("RRULE:FREQ=MINUTELY;COUNT=1000000000\n", 5000)),
		"a duration of a lifetime": event("DTSTART:19700101T000000Z\nDURATION:P90000D\nRRULE:FREQ=MINUTELY"),
		"a zone of thousands of rules": strings.Repeat("BEGIN:VTIMEZONE\nTZID:X\n"+
			strings.Repeat("BEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n"+
				"RRULE:FREQ=MINUTELY\nEND:STANDARD\n", 3000)+"END:VTIMEZONE\n", 3) +
			event("DTSTART;TZID=X:20260101T000000\nRRULE:FREQ=SECONDLY"),
		"one that is never reached": event(
			"DTSTART:00010101T000000Z\nRRULE:FREQ=MINUTELY;COUNT=1000000000;BYMONTH=2;BYMONTHDAY=31"),
	} {
		o := objectOfLines(t, lines)
		began := time.Now()
		_, err := o.within(from, from.AddDate(0, 0, 7), time.UTC, newLimits())
		if err == nil && name != "one that is never reached" {
			t.Errorf("%s was listed", name)
		}
		if took := time.Since(began); took > time.Minute { // a runaway takes hours on any machine
			t.Errorf("%s took %v", name, took)
		}
	}
}

// Anybody may write such an object, and at some servers send it as an invitation. No deadline ends what one takes.
func TestAnObjectTakesTimeAndMemoryByItsSize(t *testing.T) {
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	lines := func(n int, line func(i int) string) string {
		var all strings.Builder
		for i := range n {
			all.WriteString(line(i))
		}
		return all.String()
	}
	long := strings.Repeat("x", 4000)
	for name, written := range map[string]string{
		"many events with many overrides": lines(maxParts, func(i int) string {
			return fmt.Sprintf("BEGIN:VEVENT\nUID:%s%d\nDTSTART:20260101T000000Z\nEND:VEVENT\n", long, i)
		}) + lines(maxOverrides, func(i int) string {
			return fmt.Sprintf("BEGIN:VEVENT\nUID:x\nDTSTART:20260101T000000Z\nRECURRENCE-ID:%s\nEND:VEVENT\n",
				from.Add(time.Duration(i)*time.Minute).Format("20060102T150405Z"))
		}),
		"many instances with many ranges": event("DTSTART:20260201T000000Z\nDURATION:PT1S\n"+
			"RRULE:FREQ=SECONDLY;UNTIL=20260210T000000Z\nRDATE;VALUE=PERIOD:20260201T000000Z/P40D") +
			lines(maxRanged, func(i int) string {
				id := fmt.Sprintf("TZID=Europe/Berlin:20260131T00%02d00", i%60)
				return event("DTSTART;" + id + "\nDURATION:PT1S\nRECURRENCE-ID;RANGE=THISANDFUTURE;" + id)
			}),
		"many zones": lines(400, func(i int) string {
			return fmt.Sprintf("BEGIN:VTIMEZONE\nTZID:z%d\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETTO:+0100\n"+
				"RRULE:FREQ=SECONDLY;UNTIL=19700101T120000Z\nEND:STANDARD\nEND:VTIMEZONE\n", i)
		}) + event("DTSTART:20260301T000000Z\n"+lines(400, func(i int) string {
			return fmt.Sprintf("RDATE;TZID=z%d:20260301T000000\n", i)
		})),
		"a zone with a long name": event("DTSTART:20260301T000000Z\nEXDATE;TZID=" + strings.Repeat(long, 500) +
			":20260301T000000" + strings.Repeat(",20260301T000000", 40_000)),
		"every second": event("DTSTART;TZID=Europe/Berlin:20260101T000000\nRRULE:FREQ=SECONDLY"),
		"a start behind all else": event("EXDATE:20260301T000000" + strings.Repeat(",20260301T000000", 40_000) + "\n" +
			strings.Repeat("X-NOTE:\n", 60_000) + "DTSTART:20260301T000000"),
		"an end behind all else": event("DTSTART:20260301T000000Z\nRRULE:FREQ=MINUTELY\n" +
			strings.Repeat("X-NOTE:\n", 90_000) + "DURATION:PT1M"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		if o, err := readObject([]byte("BEGIN:VCALENDAR\n"+written+"END:VCALENDAR\n"), zones{}); err == nil {
			_, _ = o.within(from, from.AddDate(0, 0, 7), time.UTC, newLimits())
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 5*time.Second || made > 100 {
			t.Errorf("%s: %d KiB take %v and %d MiB", name, len(written)>>10, took, made)
		}
	}
}

// Some programs define a zone once more with each event that they add (iCalcreator/iCalcreator#42,
// icalendar/icalendar#205).
func TestAZoneThatIsDefinedOftenIsOne(t *testing.T) {
	t.Parallel()
	one := "BEGIN:VTIMEZONE\nTZID:Office\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0100\n" +
		"TZOFFSETTO:+0100\nEND:STANDARD\nEND:VTIMEZONE\n"
	o := objectOfLines(t, strings.Repeat(one, maxDefinitions+1)+event("DTSTART;TZID=Office:20260301T100000"))
	if at := o.instant(startOf(o.master), time.UTC); at.UTC().Hour() != 9 {
		t.Error(at)
	}
	own := strings.Replace(one, "Office", "Europe/Berlin", 1)
	calendar := "BEGIN:VCALENDAR\n" + strings.Repeat(own, maxDefinitions+1) + "END:VCALENDAR\n"
	if name := zoneName([]byte(calendar), zones{}); name != "Europe/Berlin" {
		t.Errorf("the calendar's own zone is %q", name)
	}
}

func TestRulesThatAreNotUnderstoodAreSaid(t *testing.T) {
	t.Parallel()
	o := objectOfLines(t, event("DTSTART:20260301T000000Z\nRRULE:FREQ=LUNAR"))
	if _, err := o.within(time.Unix(0, 0), time.Now(), time.UTC, newLimits()); err == nil {
		t.Error("a rule of an unknown kind was passed over")
	}
}

// TestWindowsShowPartsOfTheWhole checks that two adjacent windows together list what one window of both
// lists.
func TestWindowsShowPartsOfTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		location, err := time.LoadLocation(rapid.SampledFrom([]string{
			"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
		}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		days := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most*24).Draw(t, name)) * time.Hour
		}
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		start := begin.Add(days("start", 300))
		rule := rapid.SampledFrom([]string{
			"FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,SU", "FREQ=MONTHLY;BYDAY=-1SU", "FREQ=HOURLY;INTERVAL=7",
			"FREQ=YEARLY", "FREQ=DAILY;COUNT=40",
		}).Draw(t, "rule")
		length := rapid.SampledFrom([]string{"PT1H", "P1D", "P3DT5H", "PT0S"}).Draw(t, "length")
		data := "BEGIN:VCALENDAR\n" + event("DTSTART;TZID="+location.String()+":"+start.Format("20060102T150405")+
			"\nDURATION:"+length+"\nRRULE:"+rule) + "END:VCALENDAR\n"
		o, err := readObject([]byte(data), zones{})
		if err != nil {
			t.Fatal(err)
		}
		from := begin.Add(days("from", 400))
		middle := from.Add(days("first", 40) + time.Hour)
		to := middle.Add(days("second", 40) + time.Hour)
		keys := func(from, to time.Time) map[string]bool {
			instances, err := o.within(from, to, time.UTC, newLimits())
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, i := range instances {
				if found[o.key(i.of)] {
					t.Fatalf("%s is listed twice", o.key(i.of))
				}
				found[o.key(i.of)] = true
			}
			return found
		}
		both, whole := keys(from, middle), keys(from, to)
		maps.Copy(both, keys(middle, to))
		if !maps.Equal(both, whole) {
			t.Fatalf("%s: the parts show %v, the whole %v", data, both, whole)
		}
	})
}

func FuzzObject(f *testing.F) {
	f.Add([]byte("BEGIN:VCALENDAR\n" +
		event(
			"DTSTART;TZID=Europe/Berlin:20260328T090000\nDURATION:P1D\nRRULE:FREQ=DAILY\nEXDATE:20260328T080000Z\n"+
				"RDATE;VALUE=PERIOD:20260305T080000Z/PT15M") + "END:VCALENDAR\n"))
	f.Add([]byte("BEGIN:VCALENDAR\n" + event("DTSTART:20260328T090000\nRRULE:FREQ=WEEKLY") +
		event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260404T090000\nDTSTART;VALUE=DATE:20260404") +
		"END:VCALENDAR\n"))
	f.Add(
		[]byte(
			"BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:X\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0200\n" +
				"TZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nEND:STANDARD\nEND:VTIMEZONE\n" +
				event("DTSTART;TZID=X:20260328T090000") + "END:VCALENDAR\n"))
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := readObject(data, zones{})
		if err != nil {
			return
		}
		l := newLimits()
		l.budget.Steps, l.instances = 20_000, 200
		instances, err := o.within(from, from.AddDate(0, 1, 0), time.UTC, l)
		if err != nil {
			return
		}
		for _, i := range instances {
			_ = o.instanceEvent(i, "c", "r", "v")
		}
		title, now := "changed", from
		start, end := from.Add(time.Hour), from.Add(2*time.Hour)
		if len(instances) > 0 {
			e := edit{object: o, organizer: "mailto:me@example.com", now: now}
			_ = e.apply(instances[0], o.recurs(), calendar.Change{
				Title: &title, Start: &start, End: &end, Zone: "Europe/Paris", Attendees: &[]string{"a@example.com"},
			})
		}
	})
}
