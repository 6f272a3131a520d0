package recur_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/recur"
)

// days parses lists of days as RFC 5545 prints them: "1997 Sep 2,9-11; Oct 1; 1998 Jan 5". All are at the
// given clock.
func days(t *testing.T, text, clock string) []string {
	t.Helper()
	var list []string
	year := 0
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Fields(part)
		if len(words) == 3 {
			year, _ = strconv.Atoi(words[0])
			words = words[1:]
		}
		month, err := time.Parse("Jan", words[0])
		if err != nil || len(words) != 2 {
			t.Fatalf("%q is no list of days", part)
		}
		for item := range strings.SplitSeq(words[1], ",") {
			first, last, isRange := strings.Cut(item, "-")
			if !isRange {
				last = first
			}
			from, _ := strconv.Atoi(first)
			to, _ := strconv.Atoi(last)
			for day := from; day <= to; day++ {
				list = append(list, fmt.Sprintf("%d-%02d-%02d %s", year, month.Month(), day, clock))
			}
		}
	}
	return list
}

const layout = "2006-01-02 15:04"

func wall(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(layout, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestExamplesOfRFC5545 checks the examples of section 3.8.5.3, in its order. Endless ones are expanded as
// far as it prints them. The caller applies UNTIL, so rules with UNTIL end with the window.
func TestExamplesOfRFC5545(t *testing.T) {
	const nine = "1997-09-02 09:00"
	for _, c := range []struct {
		name, start, rule, to string
		want                  string // days, all at the start's clock
		times                 []string
	}{
		{name: "daily for 10 occurrences", rule: "FREQ=DAILY;COUNT=10", want: "1997 Sep 2-11"},
		{name: "daily until December 24", rule: "FREQ=DAILY", to: "1997-12-24 00:00",
			want: "1997 Sep 2-30; Oct 1-31; Nov 1-30; Dec 1-23"},
		{name: "every other day", rule: "FREQ=DAILY;INTERVAL=2", to: "1997-12-03 23:59",
			want: "1997 Sep 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; Oct 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; " +
				"Nov 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29; Dec 1,3"},
		{name: "every 10 days, 5 occurrences", rule: "FREQ=DAILY;INTERVAL=10;COUNT=5",
			want: "1997 Sep 2,12,22; Oct 2,12"},
		{name: "every day in January, yearly", start: "1998-01-01 09:00",
			rule: "FREQ=YEARLY;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", to: "2000-01-31 14:00",
			want: "1998 Jan 1-31; 1999 Jan 1-31; 2000 Jan 1-31"},
		{name: "every day in January, daily", start: "1998-01-01 09:00", rule: "FREQ=DAILY;BYMONTH=1",
			to:   "2000-01-31 14:00",
			want: "1998 Jan 1-31; 1999 Jan 1-31; 2000 Jan 1-31"},
		{name: "weekly for 10 occurrences", rule: "FREQ=WEEKLY;COUNT=10",
			want: "1997 Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4"},
		{name: "weekly until December 24", rule: "FREQ=WEEKLY", to: "1997-12-24 00:00",
			want: "1997 Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4,11,18,25; Dec 2,9,16,23"},
		{name: "every other week", rule: "FREQ=WEEKLY;INTERVAL=2;WKST=SU", to: "1998-02-17 09:00",
			want: "1997 Sep 2,16,30; Oct 14,28; Nov 11,25; Dec 9,23; 1998 Jan 6,20; Feb 3,17"},
		{name: "weekly on Tuesday and Thursday for five weeks", rule: "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
			want: "1997 Sep 2,4,9,11,16,18,23,25,30; Oct 2"},
		{name: "every other week on Monday, Wednesday and Friday until December 24", start: "1997-09-01 09:00",
			rule: "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,WE,FR", to: "1997-12-24 00:00",
			want: "1997 Sep 1,3,5,15,17,19,29; Oct 1,3,13,15,17,27,29,31; Nov 10,12,14,24,26,28; Dec 8,10,12,22"},
		{name: "every other week on Tuesday and Thursday, for 8 occurrences",
			rule: "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
			want: "1997 Sep 2,4,16,18,30; Oct 2,14,16"},
		{name: "monthly on the first Friday for 10 occurrences", start: "1997-09-05 09:00",
			rule: "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
			want: "1997 Sep 5; Oct 3; Nov 7; Dec 5; 1998 Jan 2; Feb 6; Mar 6; Apr 3; May 1; Jun 5"},
		{name: "every other month on the first and last Sunday", start: "1997-09-07 09:00",
			rule: "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
			want: "1997 Sep 7,28; Nov 2,30; 1998 Jan 4,25; Mar 1,29; May 3,31"},
		{name: "monthly on the second-to-last Monday for 6 months", start: "1997-09-22 09:00",
			rule: "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
			want: "1997 Sep 22; Oct 20; Nov 17; Dec 22; 1998 Jan 19; Feb 16"},
		{name: "monthly on the third-to-the-last day", start: "1997-09-28 09:00",
			rule: "FREQ=MONTHLY;BYMONTHDAY=-3", to: "1998-02-26 09:00",
			want: "1997 Sep 28; Oct 29; Nov 28; Dec 29; 1998 Jan 29; Feb 26"},
		{name: "monthly on the 2nd and 15th for 10 occurrences", rule: "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
			want: "1997 Sep 2,15; Oct 2,15; Nov 2,15; Dec 2,15; 1998 Jan 2,15"},
		{name: "monthly on the first and last day for 10 occurrences", start: "1997-09-30 09:00",
			rule: "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
			want: "1997 Sep 30; Oct 1,31; Nov 1,30; Dec 1,31; 1998 Jan 1,31; Feb 1"},
		{name: "every 18 months on the 10th thru 15th for 10 occurrences", start: "1997-09-10 09:00",
			rule: "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
			want: "1997 Sep 10-15; 1999 Mar 10-13"},
		{name: "every Tuesday, every other month", rule: "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", to: "1998-03-31 23:00",
			want: "1997 Sep 2,9,16,23,30; Nov 4,11,18,25; 1998 Jan 6,13,20,27; Mar 3,10,17,24,31"},
		{name: "yearly in June and July for 10 occurrences", start: "1997-06-10 09:00",
			rule: "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
			want: "1997 Jun 10; Jul 10; 1998 Jun 10; Jul 10; 1999 Jun 10; Jul 10; 2000 Jun 10; Jul 10; 2001 Jun " +
				"10; Jul 10"},
		{name: "every other year in January, February and March for 10 occurrences", start: "1997-03-10 09:00",
			rule: "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
			want: "1997 Mar 10; 1999 Jan 10; Feb 10; Mar 10; 2001 Jan 10; Feb 10; Mar 10; " +
				"2003 Jan 10; Feb 10; Mar 10"},
		{name: "every third year on the 1st, 100th and 200th day for 10 occurrences", start: "1997-01-01 09:00",
			rule: "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
			want: "1997 Jan 1; Apr 10; Jul 19; 2000 Jan 1; Apr 9; Jul 18; 2003 Jan 1; Apr 10; Jul 19; 2006 Jan 1"},
		{name: "every 20th Monday of the year", start: "1997-05-19 09:00", rule: "FREQ=YEARLY;BYDAY=20MO",
			to:   "1999-05-17 09:00",
			want: "1997 May 19; 1998 May 18; 1999 May 17"},
		{name: "Monday of week number 20", start: "1997-05-12 09:00", rule: "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
			to:   "1999-05-17 09:00",
			want: "1997 May 12; 1998 May 11; 1999 May 17"},
		{name: "every Thursday in March", start: "1997-03-13 09:00", rule: "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
			to:   "1999-03-31 09:00",
			want: "1997 Mar 13,20,27; 1998 Mar 5,12,19,26; 1999 Mar 4,11,18,25"},
		{name: "every Thursday, but only during June, July and August", start: "1997-06-05 09:00",
			rule: "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", to: "1998-08-31 09:00",
			want: "1997 Jun 5,12,19,26; Jul 3,10,17,24,31; Aug 7,14,21,28; 1998 Jun 4,11,18,25; Jul 2,9,16,23,30; " +
				"Aug 6,13,20,27"},
		{name: "every Friday the 13th, and the start that an EXDATE takes out",
			rule: "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", to: "2000-10-13 09:00",
			want: "1997 Sep 2; 1998 Feb 13; Mar 13; Nov 13; 1999 Aug 13; 2000 Oct 13"},
		{name: "the first Saturday that follows the first Sunday of the month", start: "1997-09-13 09:00",
			rule: "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", to: "1998-06-13 09:00",
			want: "1997 Sep 13; Oct 11; Nov 8; Dec 13; 1998 Jan 10; Feb 7; Mar 7; Apr 11; May 9; Jun 13"},
		{name: "US presidential election day", start: "1996-11-05 09:00",
			rule: "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", to: "2004-11-02 09:00",
			want: "1996 Nov 5; 2000 Nov 7; 2004 Nov 2"},
		{name: "the third instance of Tuesday, Wednesday or Thursday", start: "1997-09-04 09:00",
			rule: "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
			want: "1997 Sep 4; Oct 7; Nov 6"},
		{name: "the second-to-last weekday of the month", start: "1997-09-29 09:00",
			rule: "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", to: "1998-03-30 09:00",
			want: "1997 Sep 29; Oct 30; Nov 27; Dec 30; 1998 Jan 29; Feb 26; Mar 30"},
		{name: "every 3 hours from 9:00 to 17:00 on a day", rule: "FREQ=HOURLY;INTERVAL=3", to: "1997-09-02 17:00",
			times: []string{"1997-09-02 09:00", "1997-09-02 12:00", "1997-09-02 15:00"}},
		{name: "every 15 minutes for 6 occurrences", rule: "FREQ=MINUTELY;INTERVAL=15;COUNT=6",
			times: []string{
				"1997-09-02 09:00", "1997-09-02 09:15", "1997-09-02 09:30", "1997-09-02 09:45", "1997-09-02 10:00",
				"1997-09-02 10:15",
			}},
		{name: "every hour and a half for 4 occurrences", rule: "FREQ=MINUTELY;INTERVAL=90;COUNT=4",
			times: []string{"1997-09-02 09:00", "1997-09-02 10:30", "1997-09-02 12:00", "1997-09-02 13:30"}},
		{name: "the week starts on Monday", start: "1997-08-05 09:00",
			rule: "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", want: "1997 Aug 5,10,19,24"},
		{name: "the week starts on Sunday", start: "1997-08-05 09:00",
			rule: "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", want: "1997 Aug 5,17,19,31"},
		{name: "an invalid date is ignored", start: "2007-01-15 09:00",
			rule: "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", want: "2007 Jan 15,30; Feb 15; Mar 15,30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule, err := recur.Parse(c.rule)
			if err != nil {
				t.Fatal(err)
			}
			if c.start == "" {
				c.start = nine
			}
			if c.to == "" {
				c.to = "2100-01-01 00:00"
			}
			if c.want != "" {
				c.times = days(t, c.want, "09:00")
			}
			start := wall(t, c.start)
			if got := list(t, rule, start, start, wall(t, c.to)); !slices.Equal(got, c.times) {
				t.Errorf("got  %q\nwant %q", got, c.times)
			}
		})
	}
}

// TestEvery20MinutesOfADay checks one example of section 3.8.5.3 in the three forms that it gives.
func TestEvery20MinutesOfADay(t *testing.T) {
	start, to := wall(t, "1997-09-02 09:00"), wall(t, "1997-09-03 23:59")
	var want []string
	for day := 2; day <= 3; day++ {
		for minute := 9 * 60; minute <= 16*60+40; minute += 20 {
			want = append(want, fmt.Sprintf("1997-09-%02d %02d:%02d", day, minute/60, minute%60))
		}
	}
	for _, text := range []string{
		"FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
		"FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
		"freq=hourly;byhour=9,10,11,12,13,14,15,16;byminute=40,20,0",
	} {
		rule, err := recur.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := list(t, rule, start, start, to); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func list(t *testing.T, rule recur.Rule, start, from, to time.Time) []string {
	t.Helper()
	walls, err := rule.Between(start, from, to, &recur.Budget{Steps: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, w := range walls {
		texts = append(texts, w.Format(layout))
	}
	return texts
}
