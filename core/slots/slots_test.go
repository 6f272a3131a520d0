package slots_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/slots"
)

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// at parses a time in the zone, with or without an offset.
func at(t testing.TB, zone *time.Location, text string) time.Time {
	t.Helper()
	if parsed, err := time.Parse(time.RFC3339, text); err == nil {
		return parsed
	}
	parsed, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule     string
		zone     string
		from, to string
		hours    map[string]string
		busy     []string // "from/to"
		change   func(*slots.Question)
		want     string
	}{
		{
			rule: "a meeting may touch busy times", from: "2026-12-01 09:00", to: "2026-12-01 12:00",
			hours: map[string]string{"tuesday": "09:00-12:00"},
			busy:  []string{"2026-12-01 09:30/2026-12-01 10:30"}, want: "09:00 10:30 11:00 11:30",
		},
		{
			rule: "a busy second takes the whole slot", from: "2026-12-01 09:00", to: "2026-12-01 10:00",
			hours: map[string]string{"tuesday": "09:00-12:00"},
			busy:  []string{"2026-12-01T09:29:59+01:00/2026-12-01T09:30:00+01:00"}, want: "09:30",
		},
		{
			rule: "a meeting ends by the end of the window", from: "2026-12-01 09:10", to: "2026-12-01 10:29",
			hours: map[string]string{"tuesday": "09:00-12:00"}, want: "09:30",
		},
		{
			rule: "steps begin at the opening", from: "2026-12-01 00:00", to: "2026-12-02 00:00",
			hours: map[string]string{"tuesday": "08:50-10:00, 14:20-15:10"}, want: "08:50 09:20 14:20",
		},
		{
			rule: "openings that touch are one", from: "2026-12-01 00:00", to: "2026-12-02 00:00",
			hours: map[string]string{"tuesday": "09:00-09:45, 09:45-10:30"}, want: "09:00 09:30 10:00",
		},
		{
			rule: "hours go past midnight, and into a closed day", from: "2026-12-04 12:00", to: "2026-12-05 12:00",
			hours: map[string]string{"friday": "23:00-01:00", "2026-12-05": "closed"},
			want:  "23:00 23:30 00:00 00:30",
		},
		{
			rule: "a date replaces the hours of its day", from: "2026-12-24 00:00", to: "2026-12-26 00:00",
			hours: map[string]string{
				"thursday": "09:00-17:00", "friday": "09:00-17:00", "2026-12-24": "10:00-11:00", "2026-12-25": "closed",
			}, want: "10:00 10:30",
		},
		{
			rule: "buffers are around the meeting, also outside the hours", from: "2026-12-01 00:00",
			to: "2026-12-02 00:00", hours: map[string]string{"tuesday": "09:00-11:00"},
			busy:   []string{"2026-12-01 08:00/2026-12-01 08:50", "2026-12-01 11:20/2026-12-01 12:00"},
			change: func(q *slots.Question) { q.Before, q.After = 15*time.Minute, 20*time.Minute },
			want:   "09:30 10:00 10:30",
		},
		{
			rule: "notice counts from now", from: "2026-12-01 00:00", to: "2026-12-02 00:00",
			hours: map[string]string{"tuesday": "09:00-11:00"},
			change: func(q *slots.Question) {
				q.Now, q.MinimumNotice = q.From.Add(8*time.Hour), 90*time.Minute
			}, want: "09:30 10:00 10:30",
		},
		{
			rule: "the booking window ends with a local day", from: "2026-12-01 00:00", to: "2026-12-05 00:00",
			hours: map[string]string{
				"tuesday": "23:30-00:30", "wednesday": "23:30-00:30", "thursday": "23:30-00:30",
			},
			change: func(q *slots.Question) { q.Now, q.BookingWindowDays = q.From, 1 },
			want:   "23:30 00:00 23:30",
		},
		{
			rule: "the booking window ends with the office's day, wherever the caller is", from: "2026-12-01 00:00",
			to: "2026-12-05 00:00", hours: map[string]string{
				"tuesday": "23:30-00:30", "wednesday": "23:30-00:30", "thursday": "23:30-00:30",
			},
			change: func(q *slots.Question) {
				q.Now, q.BookingWindowDays, q.Zone = q.From, 1, time.FixedZone("caller", 13*60*60)
			},
			want: "23:30 00:00 23:30",
		},
		{
			rule: "an hour that clocks skip is left out", from: "2026-03-29 00:00", to: "2026-03-29 12:00",
			hours: map[string]string{"sunday": "01:00-04:00"}, want: "01:00 01:30 03:00 03:30",
		},
		{
			rule: "an hour that clocks show twice is offered once", from: "2026-10-25 00:00",
			to: "2026-10-25 12:00", hours: map[string]string{"sunday": "01:30-03:30"}, want: "01:30 02:00 02:30 03:00",
		},
		{
			rule: "an office closes when clocks first show it", from: "2026-10-25 00:00",
			to: "2026-10-25 12:00", hours: map[string]string{"sunday": "01:30-02:30"}, want: "01:30 02:00",
		},
		{
			rule: "a skipped midnight opens at one", zone: "America/Santiago", from: "2026-09-05 12:00",
			to: "2026-09-06 12:00", hours: map[string]string{"sunday": "00:00-02:00"}, want: "01:00 01:30",
		},
		{
			rule: "who never closes has steps from midnight", from: "2026-12-01 22:00", to: "2026-12-02 03:00",
			hours: map[string]string{
				"sunday": "00:00-24:00", "monday": "00:00-24:00", "tuesday": "00:00-24:00",
				"wednesday": "00:00-24:00", "thursday": "00:00-24:00", "friday": "00:00-24:00",
				"saturday": "00:00-24:00",
			}, change: func(q *slots.Question) { q.Interval = 100 * time.Minute }, want: "23:20 00:00 01:40",
		},
		{
			rule: "a calendar that cannot be read is busy", from: "2026-12-01 00:00", to: "2026-12-02 00:00",
			hours: map[string]string{"tuesday": "09:00-11:00"},
			change: func(q *slots.Question) {
				q.Calendars = append(q.Calendars, slots.Calendar{Unknown: true})
			}, want: "",
		},
		{
			rule: "any free calendar is enough", from: "2026-12-01 00:00", to: "2026-12-02 00:00",
			hours: map[string]string{"tuesday": "09:00-11:00"}, busy: []string{"2026-12-01 10:00/2026-12-01 11:00"},
			change: func(q *slots.Question) {
				q.Availability = slots.Any
				q.Calendars = append(q.Calendars, slots.Calendar{Unknown: true},
					slots.Calendar{Busy: []slots.Span{{From: q.From.Add(9 * time.Hour), To: q.From.Add(10 * time.Hour)}}})
			}, want: "09:00[0] 09:30[0] 10:00[2] 10:30[2]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			if tt.zone == "" {
				tt.zone = "Europe/Berlin"
			}
			zone := load(t, tt.zone)
			hours, err := slots.ParseHours(tt.hours)
			if err != nil {
				t.Fatal(err)
			}
			hours.Zone = zone
			var busy []slots.Span
			for _, each := range tt.busy {
				from, to, _ := strings.Cut(each, "/")
				busy = append(busy, slots.Span{From: at(t, zone, from), To: at(t, zone, to)})
			}
			q := slots.Question{
				From: at(t, zone, tt.from), To: at(t, zone, tt.to), Now: at(t, zone, tt.from).Add(-time.Hour), Zone: zone,
				Duration: 30 * time.Minute, Interval: 30 * time.Minute, Hours: hours,
				Calendars: []slots.Calendar{{Busy: busy}},
			}
			if tt.change != nil {
				tt.change(&q)
			}
			var got []string
			for _, s := range slots.Find(q) {
				text := s.Start.In(zone).Format("15:04")
				if q.Availability == slots.Any {
					text += fmt.Sprint(s.Free)
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", strings.Join(got, " "), tt.want)
			}
		})
	}
}

// everyHalfHour returns the slots of days with openings, from Tuesday, 1 December 2026.
func everyHalfHour(t *testing.T, days int, openings string) []slots.Slot {
	t.Helper()
	table := map[string]string{}
	for _, day := range slots.Weekdays() {
		table[day] = openings
	}
	hours, err := slots.ParseHours(table)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	return slots.Find(slots.Question{
		From: from, To: from.AddDate(0, 0, days), Now: from, Duration: 30 * time.Minute, Interval: 30 * time.Minute,
		Hours: hours,
	})
}

func TestAChoiceIsSpread(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule     string
		days     int
		openings string
		choice   slots.Choice
		want     string
	}{
		{"over days and parts of the day", 7, "09:00-18:00", slots.Choice{Limit: 4, PerDay: 2},
			"1 09:00, 2 11:00, 3 14:00, 4 17:00"},
		{"over two days first", 2, "09:00-18:00", slots.Choice{Limit: 4, PerDay: 2},
			"1 09:00, 1 14:00, 2 11:00, 2 17:00"},
		{"over the parts of the only day", 1, "09:00-18:00", slots.Choice{Limit: 4},
			"1 09:00, 1 11:00, 1 14:00, 1 17:00"},
		{"at most so many on a day", 2, "09:00-18:00", slots.Choice{Limit: 9, PerDay: 1}, "1 09:00, 2 11:00"},
		{"everything if there is little", 1, "09:00-10:30", slots.Choice{Limit: 9},
			"1 09:00, 1 09:30, 1 10:00"},
		{"nothing of nothing", 1, "closed", slots.Choice{Limit: 9}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range slots.Choose(everyHalfHour(t, tt.days, tt.openings), tt.choice) {
				got = append(got, s.Start.Format("2 15:04"))
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("got %q, want %q", strings.Join(got, ", "), tt.want)
			}
		})
	}
}

func TestAChoiceKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		q, zone := drawQuestion(rt)
		q.To = q.From.Add(10 * 24 * time.Hour)
		all := slots.Find(q)
		c := slots.Choice{
			Zone: zone, Limit: rapid.IntRange(0, 12).Draw(rt, "limit"),
			PerDay: rapid.IntRange(0, 4).Draw(rt, "per day"),
		}
		chosen := slots.Choose(all, c)
		if picked := slots.Pick(q, c); !slices.EqualFunc(picked, chosen, sameSlot) {
			rt.Fatalf("picked %v, and chose %v of all", picked, chosen)
		}
		onDay, possible := map[string]int{}, map[string]int{}
		wanted := 0
		for _, s := range all {
			day := s.Start.In(zone).Format(time.DateOnly)
			if possible[day]++; c.PerDay == 0 || possible[day] <= c.PerDay {
				wanted++
			}
		}
		last := -1
		for _, s := range chosen {
			i := slices.IndexFunc(all, func(each slots.Slot) bool { return sameSlot(each, s) })
			if i <= last {
				rt.Fatalf("%v is not of the slots, is there twice, or is out of order", s)
			}
			last = i
			onDay[s.Start.In(zone).Format(time.DateOnly)]++
		}
		for day, n := range onDay {
			if c.PerDay > 0 && n > c.PerDay {
				rt.Fatalf("%d slots on %s, want at most %d", n, day, c.PerDay)
			}
		}
		if len(chosen) != min(c.Limit, wanted) {
			rt.Fatalf("chose %d of %d slots, want %d", len(chosen), len(all), min(c.Limit, wanted))
		}
		if len(chosen) > 0 && !sameSlot(chosen[0], all[0]) {
			rt.Fatal("the first slot of all was not chosen")
		}
	})
}

// Many callers may ask for every minute of two months at once.
func TestAChoiceOfManyTakesLittleMemory(t *testing.T) {
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	q := slots.Question{
		From: from, To: from.AddDate(0, 0, 60), Now: from, Duration: time.Minute, Interval: time.Minute,
		Hours: slots.Hours{Weekly: []slots.Weekly{{
			Days:    []time.Weekday{0, 1, 2, 3, 4, 5, 6},
			Opening: slots.Opening{Start: 0, End: slots.EndOfDay},
		}}},
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	picked := slots.Pick(q, slots.Choice{Limit: 4, PerDay: 2})
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 10; len(picked) != 4 || made > 500 {
		t.Errorf("%d slots for %d KiB", len(picked), made)
	}
}

func TestHoursThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		"funday": "09:00-17:00", "Monday": "09:00-17:00", "2026-02-30": "closed", "monday": "9-17",
		"tuesday": "", "wednesday": "09:00-25:00", "thursday": "09:00-09:00", "friday": "09:00-17:00,",
		"saturday": "24:00-01:00", "sunday": "09:00-17:00-18:00",
	} {
		if h, err := slots.ParseHours(map[string]string{key: value}); err == nil {
			t.Errorf("%s: %q was read as %v", key, value, h)
		} else if !strings.Contains(err.Error(), key) {
			t.Errorf("%q does not name %q", err, key)
		}
	}
}

func FuzzClock(f *testing.F) {
	for _, seed := range []string{"9:00", "09:00", "24:00", "24:01", "-1:00", "+1:00", "1:0", "", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := slots.ParseClock(text)
		if err != nil {
			return
		}
		if again := fmt.Sprintf("%02d:%02d", c/60, c%60); again != text && again != "0"+text {
			t.Errorf("%q was read as %s", text, again)
		}
	})
}

// sixtyDays asks for 60 days in steps of a quarter of an hour, against 2,000 busy times.
func sixtyDays(tb testing.TB) slots.Question {
	berlin := load(tb, "Europe/Berlin")
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, berlin)
	random := rand.New(rand.NewPCG(1, 2))
	busy := make([]slots.Span, 2000)
	for i := range busy {
		at := from.Add(time.Duration(random.IntN(60*24*12)) * 5 * time.Minute)
		busy[i] = slots.Span{From: at, To: at.Add(10 * time.Minute)}
	}
	q := slots.Question{
		From: from, To: from.AddDate(0, 0, 60), Now: from, Duration: 30 * time.Minute, Interval: 15 * time.Minute,
		Zone: berlin, Calendars: []slots.Calendar{{Busy: busy}},
	}
	for day := range 7 {
		q.Hours.Weekly = append(q.Hours.Weekly, slots.Weekly{
			Opening: slots.Opening{Start: 0, End: slots.EndOfDay}, Days: []time.Weekday{time.Weekday(day)},
		})
	}
	q.Hours.Zone = berlin
	return q
}

// BenchmarkSixtyDays finds slots and chooses some. It prints how many times as long it takes to hold each
// candidate against each busy time, which is the baseline.
//
//	go test ./core/slots -run '^$' -bench SixtyDays
func BenchmarkSixtyDays(b *testing.B) {
	q := sixtyDays(b)
	choice := slots.Choice{Zone: q.Zone, Limit: 4, PerDay: 2}
	var found []slots.Slot
	for b.Loop() {
		found = slots.Find(q)
		slots.Choose(found, choice)
	}
	per := b.Elapsed() / time.Duration(b.N)
	began, n := time.Now(), 0
	for start := q.From; !start.Add(q.Duration).After(q.To); start = start.Add(q.Interval) {
		if !slices.ContainsFunc(q.Calendars[0].Busy, func(s slots.Span) bool {
			return s.From.Before(start.Add(q.Duration)) && start.Before(s.To)
		}) {
			n++
		}
	}
	if n < len(found) || n > len(found)+4 { // the baseline does not know the hour that is skipped
		b.Errorf("found %d slots, the baseline %d", len(found), n)
	}
	b.ReportMetric(float64(time.Since(began))/float64(per), "baseline/op")
}
