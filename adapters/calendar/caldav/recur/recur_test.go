package recur_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"
	"pgregory.net/rapid"

	"frontdesk/adapters/calendar/caldav/recur"
)

func TestRulesThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "COUNT=3", "FREQ=FORTNIGHTLY", "FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;COUNT=-1",
		"FREQ=DAILY;COUNT=99999999999999999999", "FREQ=DAILY;UNTIL=tomorrow", "FREQ=DAILY;BYHOUR=24",
		"FREQ=DAILY;BYHOUR=-1", "FREQ=MONTHLY;BYMONTHDAY=0", "FREQ=MONTHLY;BYMONTHDAY=32", "FREQ=MONTHLY;BYDAY=0MO",
		"FREQ=MONTHLY;BYDAY=XX", "FREQ=MONTHLY;BYDAY=M", "FREQ=YEARLY;BYWEEKNO=54", "FREQ=YEARLY;BYMONTH=13",
		"FREQ=MONTHLY;BYSETPOS=--1", "FREQ=WEEKLY;WKST=1", "FREQ=DAILY;BYEASTER=1", "RSCALE=HEBREW;FREQ=YEARLY",
		"FREQ=DAILY;SKIP=SIDEWAYS", "FREQ=MONTHLY;BYMONTHDAY=-31;SKIP=BACKWARD", "FREQ=YEARLY;BYYEARDAY=366;SKIP=FORWARD",
	} {
		if rule, err := recur.Parse(text); err == nil {
			t.Errorf("%q was read as %+v", text, rule)
		}
	}
}

func TestSlipsOfRealProgramsAreForgiven(t *testing.T) {
	for text, like := range map[string]string{
		"FREQ=WEEKLY;BYDAY=MO;":              "FREQ=WEEKLY;BYDAY=MO",
		"FREQ=WEEKLY;BYDAY=":                 "FREQ=WEEKLY",
		" freq=weekly ; byday = mo, we ":     "FREQ=WEEKLY;BYDAY=MO,WE",
		"FREQ=WEEKLY;X-OWN=1;BYDAY=MO,MO,MO": "FREQ=WEEKLY;BYDAY=MO",
		"FREQ=MONTHLY;BYDAY=+1MO":            "FREQ=MONTHLY;BYDAY=1MO",
		"RSCALE=GREGORIAN;FREQ=DAILY":        "FREQ=DAILY",
		"FREQ=DAILY;COUNT=0":                 "FREQ=DAILY",
		"FREQ=DAILY;INTERVAL=0":              "FREQ=DAILY",
	} {
		got, err := recur.Parse(text)
		want, _ := recur.Parse(like)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q was read as %+v (%v), want %+v", text, got, err, want)
		}
	}
}

// TestDaysThatAMonthDoesNotHave checks the examples of RFC 7529 and combinations of them.
func TestDaysThatAMonthDoesNotHave(t *testing.T) {
	for _, c := range []struct{ start, rule, want string }{
		{"2014-01-31", "FREQ=MONTHLY;SKIP=OMIT", "0131 0331 0531 0731"},
		{"2014-01-31", "FREQ=MONTHLY;SKIP=BACKWARD", "0131 0228 0331 0430"},
		{"2014-01-31", "FREQ=MONTHLY;SKIP=FORWARD", "0131 0301 0331 0501"},
		{"2012-02-29", "FREQ=YEARLY;SKIP=BACKWARD", "0229 0228 0228 0228"},
		{"2012-02-29", "FREQ=YEARLY;SKIP=FORWARD", "0229 0301 0301 0301"},
		{"2014-01-01", "FREQ=MONTHLY;BYMONTHDAY=1,31;SKIP=FORWARD", "0101 0131 0201 0301"},
		{"2014-01-30", "FREQ=MONTHLY;BYMONTHDAY=28,30;SKIP=BACKWARD", "0130 0228 0328 0330"},
		{"2014-01-31", "FREQ=MONTHLY;INTERVAL=3;SKIP=FORWARD", "0131 0501 0731 1031"},
		{"2014-01-31", "FREQ=YEARLY;BYMONTHDAY=31;BYMONTH=2,4;SKIP=BACKWARD", "0131 0228 0430 0228"},
		{"2014-01-31", "FREQ=MONTHLY;BYMONTHDAY=31;BYDAY=FR;SKIP=BACKWARD", "0131 0228 1031 0731"},
	} {
		rule, err := recur.Parse("RSCALE=GREGORIAN;COUNT=4;" + c.rule)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		start := wall(t, c.start+" 09:00")
		walls, err := rule.Between(start, start, start.AddDate(9, 0, 0), &recur.Budget{Steps: 100_000})
		var got []string
		for _, w := range walls {
			got = append(got, w.Format("0102"))
		}
		if text := strings.Join(got, " "); err != nil || text != c.want {
			t.Errorf("%s from %s is %s (%v), want %s", c.rule, c.start, text, err, c.want)
		}
	}
}

func TestWhatRFC5545LeavesToTheStart(t *testing.T) {
	start := wall(t, "2026-01-31 08:15")
	for rule, want := range map[string][]string{
		// A week number alone does not determine the day: it is that of the start (here a Saturday).
		"FREQ=YEARLY;BYWEEKNO=10":  {"2026-01-31 08:15", "2026-03-07 08:15", "2027-03-13 08:15"},
		"FREQ=MONTHLY":             {"2026-01-31 08:15", "2026-03-31 08:15", "2026-05-31 08:15"},
		"FREQ=YEARLY;BYMONTH=2,12": {"2026-01-31 08:15", "2026-12-31 08:15", "2027-12-31 08:15"},
	} {
		parsed, err := recur.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		got := list(t, parsed, start, start, start.AddDate(3, 0, 0))
		if !slices.Equal(got[:3], want) {
			t.Errorf("%s: got %q, want %q first", rule, got[:3], want)
		}
	}
}

// With weeks that begin on Monday, week numbers are those of ISO 8601 (RFC 5545 section 3.3.10, BYWEEKNO),
// which Go's library counts too.
func TestWeekNumbersAgreeWithGos(t *testing.T) {
	start, to := wall(t, "1999-12-31 08:15"), wall(t, "2030-01-10 00:00")
	for _, number := range []int{1, 9, 52, 53, -1, -2, -53} {
		rule, err := recur.Parse(fmt.Sprintf("FREQ=YEARLY;BYWEEKNO=%d;BYDAY=MO,WE,SU", number))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for day := start.AddDate(0, 0, 1); day.Before(to); day = day.AddDate(0, 0, 1) {
			year, week := day.ISOWeek()
			_, last := time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek() // always in the last week
			switch day.Weekday() {
			case time.Monday, time.Wednesday, time.Sunday:
				if week == number || week-last-1 == number {
					want = append(want, day.Format(layout))
				}
			}
		}
		if got := list(t, rule, start, start.AddDate(0, 0, 1), to); !slices.Equal(got, want) {
			t.Errorf("week %d: got %q, want %q", number, got, want)
		}
	}
}

// TestHostileRulesEndInTheBudget expands rules that would run for ages, most without ever matching.
func TestHostileRulesEndInTheBudget(t *testing.T) {
	start, to := wall(t, "1970-01-01 00:00"), wall(t, "2026-01-01 00:00")
	for _, text := range []string{
		"FREQ=SECONDLY;COUNT=1000000000",
		"FREQ=SECONDLY;COUNT=1000000000;BYSECOND=59;BYMINUTE=59",
		"FREQ=SECONDLY",
		"FREQ=MINUTELY;COUNT=1000000000;BYMINUTE=7;BYSETPOS=366",
		"FREQ=DAILY;COUNT=1000000000;BYHOUR=" + numbers(24) + ";BYMINUTE=" + numbers(60) + ";BYSECOND=" +
			numbers(60),
	} {
		rule, err := recur.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = rule.Between(start, start, to, &recur.Budget{Steps: 500_000})
		if !errors.Is(err, recur.ErrBudget) {
			t.Errorf("%.60s: %v, want the budget to end it", text, err)
		}
		if took := time.Since(began); took > time.Minute { // a runaway takes hours on any machine
			t.Errorf("%.60s took %v", text, took)
		}
	}
}

// TestRulesThatNeverMatchEndWithTheWindow checks that such rules end at little cost.
func TestRulesThatNeverMatchEndWithTheWindow(t *testing.T) {
	start, from, to := wall(t, "1970-01-01 00:00"), wall(t, "2026-01-01 00:00"), wall(t, "2026-01-08 00:00")
	for _, text := range []string{
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=300",
		"FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=31", "FREQ=HOURLY;INTERVAL=24;BYHOUR=3",
	} {
		rule, err := recur.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		budget := recur.Budget{Steps: 5_000}
		if walls, err := rule.Between(start, from, to, &budget); err != nil || len(walls) > 1 {
			t.Errorf("%s: %v, %v", text, walls, err)
		}
	}
}

func numbers(below int) string {
	texts := make([]string, below)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	return strings.Join(texts, ",")
}

// rules draws rules that this package and rrule-go read alike: rrule-go takes BYWEEKNO without BYDAY for
// whole weeks, and does not count a start that its rule does not name.
func rules(t *rapid.T) string {
	freq := rapid.SampledFrom([]string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"}).
		Draw(t, "freq")
	text := "FREQ=" + freq
	add := func(name string, chance, most int, value *rapid.Generator[string]) {
		if rapid.IntRange(0, 99).Draw(t, name+"?") < chance {
			text += ";" + name + "=" + strings.Join(rapid.SliceOfNDistinct(value, 1, most, rapid.ID[string]).
				Draw(t, name), ",")
		}
	}
	number := func(low, high int) *rapid.Generator[string] {
		return rapid.Map(rapid.IntRange(low, high).Filter(func(n int) bool { return n != 0 || low == 0 }),
			func(n int) string { return fmt.Sprint(n) })
	}
	day := rapid.SampledFrom([]string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"})
	add("INTERVAL", 50, 1, number(1, 5))
	if freq == "HOURLY" || freq == "MINUTELY" {
		add("COUNT", 30, 1, number(1, 50))
		return text // with further limits, rrule-go searches up to the year 9999 for a match
	}
	add("BYMONTH", 30, 4, number(1, 12))
	if freq == "YEARLY" || freq == "MONTHLY" {
		add("BYMONTHDAY", 30, 3, number(-31, 31))
		add("BYDAY", 40, 3, rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "1", "2", "-1", "3", "-2"}).Draw(t, "n") + day.Draw(t, "day")
		}))
	} else {
		add("BYDAY", 40, 4, day)
	}
	if freq == "YEARLY" {
		add("BYYEARDAY", 20, 3, number(-366, 366))
	}
	add("BYHOUR", 20, 3, number(0, 23))
	add("BYMINUTE", 20, 3, number(0, 59))
	if strings.Contains(text, "BY") && (freq == "YEARLY" || freq == "MONTHLY" || freq == "WEEKLY") {
		add("BYSETPOS", 25, 2, number(-4, 4))
	}
	if freq == "WEEKLY" {
		add("WKST", 50, 1, day)
	}
	add("COUNT", 30, 1, number(1, 50))
	return text
}

// mixesDays reports whether BYDAY has days both with and without a number.
var mixesDays = regexp.MustCompile(
	`BYDAY=([^;]*,)?([A-Z]{2},([^;]*,)?-?[0-9]|-?[0-9][A-Z]{2},([^;]*,)?[A-Z]{2}(,|;|$))`)

func TestExpansionAgreesWithAnotherOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rules(t)
		start := time.Unix(rapid.Int64Range(946684800, 1893456000).Draw(t, "start"), 0).UTC().Truncate(time.Second)
		if mixesDays.MatchString(text) {
			t.Skip("rrule-go intersects days with and without a number, in place of uniting them")
		}
		option, err := rrule.StrToROption(text)
		if err != nil {
			t.Skip("rrule-go does not read it")
		}
		if strings.Contains(text, "WEEKLY") && strings.Contains(text, "BYSETPOS") {
			// rrule-go, like the dateutil it follows, counts positions in the first week from the start on,
			// not from the week's first day (RFC 5545, section 3.3.10: BYSETPOS counts within one whole
			// interval).
			weekStart := (option.Wkst.Day() + 1) % 7 // rrule-go's weekdays begin on Monday, Go's on Sunday
			start = start.AddDate(0, 0, -((int(start.Weekday()) - weekStart + 7) % 7))
		}
		option.Dtstart = start
		other, err := rrule.NewRRule(*option)
		if err != nil {
			t.Skip("rrule-go does not take it")
		}
		first, ok := other.Iterator()()
		if !ok || !first.Equal(start) {
			t.Skip("the rule does not name its start: then counting differs")
		}
		from := start.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "days")) * 24 * time.Hour)
		to := from.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "length")) * 24 * time.Hour)
		if strings.Contains(text, "MINUTELY") || strings.Contains(text, "HOURLY") {
			to = from.Add(20 * time.Hour)
		}
		want := other.Between(from, to, true)
		rule, err := recur.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := rule.Between(start, from, to, &recur.Budget{Steps: 5_000_000})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s from %v, between %v and %v:\ngot  %v\nwant %v", text, start, from, to, got, want)
		}
	})
}

// TestAWindowShowsAPartOfTheWhole checks that skipping ahead changes nothing.
func TestAWindowShowsAPartOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rules(t)
		rule, err := recur.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Unix(rapid.Int64Range(946684800, 1893456000).Draw(t, "start"), 0).UTC()
		from := start.Add(time.Duration(rapid.IntRange(0, 60*24).Draw(t, "hours")) * time.Hour)
		to := from.Add(30 * 24 * time.Hour)
		whole, err1 := rule.Between(start, start, to, &recur.Budget{Steps: 5_000_000})
		part, err2 := rule.Between(start, from, to, &recur.Budget{Steps: 5_000_000})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		whole = slices.DeleteFunc(whole, func(at time.Time) bool { return at.Before(from) })
		if !slices.EqualFunc(whole, part, time.Time.Equal) {
			t.Fatalf("%s from %v: the whole has %v from %v, the window %v", text, start, whole, from, part)
		}
	})
}

func FuzzBetween(f *testing.F) {
	for _, text := range []string{
		"FREQ=DAILY", "FREQ=SECONDLY;BYSETPOS=-1", "FREQ=YEARLY;BYWEEKNO=53,-1;BYDAY=SU",
		"FREQ=MONTHLY;BYDAY=-5MO;BYSETPOS=366", "FREQ=HOURLY;INTERVAL=1000000;BYYEARDAY=-366",
		"FREQ=MINUTELY;BYSECOND=60;COUNT=1000000000",
	} {
		f.Add(text, int64(0), int64(1_767_225_600))
	}
	f.Fuzz(func(t *testing.T, text string, start, from int64) {
		rule, err := recur.Parse(text)
		const lowest, highest = -62_135_596_800, 253_402_300_799 // the years 1 to 9999
		if err != nil || start < lowest || start > highest || from < lowest || from > highest {
			return
		}
		begin := time.Unix(from, 0).UTC()
		end := begin.Add(40 * 24 * time.Hour)
		walls, err := rule.Between(time.Unix(start, 0).UTC(), begin, end, &recur.Budget{Steps: 20_000})
		if err != nil && !errors.Is(err, recur.ErrBudget) {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(walls, time.Time.Compare) ||
			len(slices.CompactFunc(slices.Clone(walls), time.Time.Equal)) != len(walls) {
			t.Fatalf("%q: not in order, or twice: %v", text, walls)
		}
		for _, at := range walls {
			if at.Before(begin) || at.After(end) {
				t.Fatalf("%q: %v is outside the window", text, at)
			}
		}
	})
}
