package slots_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/slots"
)

// oracle answers a question minute by minute, with nothing but what clocks show.
type oracle struct {
	q         slots.Question
	zone      *time.Location
	first     map[int]int  // by wall-clock minute: the first minute at which clocks show it or a later one
	shown     map[int]bool // whether they show it then
	open      map[int]bool
	beginning map[int]int // by minute: the wall clock at which an opening begins
	from, to  int
}

func minuteOf(t time.Time) int { return int(t.Unix() / 60) }

func (o *oracle) wall(minute int) int {
	_, offset := time.Unix(int64(minute)*60, 0).In(o.zone).Zone()
	return minute + offset/60
}

func (o *oracle) slots() []slots.Slot {
	o.first, o.shown = map[int]int{}, map[int]bool{}
	o.open, o.beginning = map[int]bool{}, map[int]int{}
	o.from, o.to = minuteOf(o.q.From)-9*1440, minuteOf(o.q.To)+3*1440
	last := o.wall(o.from)
	for m := o.from + 1; m < o.to; m++ {
		for now := o.wall(m); last < now; {
			last++
			o.first[last], o.shown[last] = m, last == now
		}
	}
	for day := o.q.From.UTC().Truncate(24*time.Hour).AddDate(0, 0, -7); day.Before(o.q.To.AddDate(0, 0, 2)); {
		o.openDay(day)
		day = day.AddDate(0, 0, 1)
	}
	return o.walk()
}

func (o *oracle) openDay(day time.Time) {
	date := slots.Date{Year: day.Year(), Month: day.Month(), Day: day.Day()}
	openings, replaced := o.q.Hours.Dates[date]
	if !replaced {
		for _, w := range o.q.Hours.Weekly {
			if slices.Contains(w.Days, day.Weekday()) && !slices.Contains(w.Except, date) {
				openings = append(openings, w.Opening)
			}
		}
	}
	for _, each := range openings {
		start, end := minuteOf(day)+int(each.Start), minuteOf(day)+int(each.End)
		if each.End <= each.Start {
			end += 1440
		}
		opens, closes := o.first[start], o.first[end]
		for m := opens; m < closes; m++ {
			o.open[m] = true
		}
		if at, ok := o.beginning[opens]; opens < closes && (!ok || start < at) {
			o.beginning[opens] = start
		}
	}
}

func (o *oracle) walk() []slots.Slot {
	var found []slots.Slot
	anchor, last := 0, o.wall(o.from)
	year, month, day := o.q.Now.In(o.zone).Date()
	lastDay := time.Date(year, month, day+o.q.BookingWindowDays, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	for m := o.from + 1; m < o.to; m++ {
		if o.open[m] && !o.open[m-1] {
			anchor = o.beginning[m]
		}
		now, isNew := o.wall(m), false
		for ; last < now; isNew = true {
			last++
			if last%1440 == 0 && last-anchor >= 1440 {
				anchor = last
			}
		}
		start := time.Unix(int64(m)*60, 0).UTC()
		inWindow := o.q.BookingWindowDays == 0 || start.In(o.zone).Format(time.DateOnly) <= lastDay
		if isNew && o.open[m] && (now-anchor)%int(o.q.Interval.Minutes()) == 0 && inWindow {
			if free, ok := o.free(start); ok {
				found = append(found, slots.Slot{Start: start, End: start.Add(o.q.Duration), Free: free})
			}
		}
	}
	return found
}

func (o *oracle) free(start time.Time) (free []int, ok bool) {
	end := start.Add(o.q.Duration)
	if start.Before(o.q.From) || end.After(o.q.To) || start.Before(o.q.Now.Add(o.q.MinimumNotice)) {
		return nil, false
	}
	for m := minuteOf(start); m < minuteOf(end); m++ {
		if !o.open[m] {
			return nil, false
		}
	}
	for i, c := range o.q.Calendars {
		busy := c.Unknown
		for m := start.Add(-o.q.Before); m.Before(end.Add(o.q.After)); m = m.Add(time.Minute) {
			for _, b := range c.Busy {
				busy = busy || !m.Before(b.From) && m.Before(b.To)
			}
		}
		if !busy {
			free = append(free, i)
		}
	}
	wanted := len(o.q.Calendars)
	if o.q.Availability == slots.Any {
		wanted = min(wanted, 1)
	}
	return free, len(free) >= wanted
}

// changes are zones, each with days around which its clocks change.
func changes() []struct{ zone, date string } {
	return []struct{ zone, date string }{
		{"Europe/Berlin", "2026-03-29"}, {"Europe/Berlin", "2026-10-25"},
		{"America/New_York", "2026-03-08"}, {"America/New_York", "2026-11-01"},
		{"America/Santiago", "2026-09-06"}, {"America/Santiago", "2026-04-05"}, // midnight skipped, and twice
		{"Africa/Cairo", "2026-04-24"}, {"Africa/Cairo", "2026-10-30"}, // midnight as well
		{"Asia/Beirut", "2026-03-29"}, {"America/Havana", "2026-11-01"},
		{"Australia/Lord_Howe", "2026-10-04"}, {"Australia/Lord_Howe", "2026-04-05"}, // half an hour
		{"Pacific/Apia", "2011-12-30"},   // a whole day skipped
		{"Asia/Kathmandu", "2026-06-01"}, // none, with a quarter of an hour in its offset
		{"Pacific/Chatham", "2026-09-27"}, {"Europe/London", "2024-12-31"},
	}
}

func drawClock(t *rapid.T, label string, most int) slots.Clock {
	return slots.Clock(rapid.IntRange(0, most/5).Draw(t, label) * 5)
}

func drawOpening(t *rapid.T, label string) slots.Opening {
	o := slots.Opening{Start: drawClock(t, label+" start", 1435), End: drawClock(t, label+" end", 1440)}
	if o.Check() != nil {
		return slots.Opening{Start: 0, End: slots.EndOfDay}
	}
	return o
}

func drawHours(t *rapid.T, day time.Time) slots.Hours {
	h := slots.Hours{Dates: map[slots.Date][]slots.Opening{}}
	for i := range rapid.IntRange(0, 4).Draw(t, "weekly") {
		w := slots.Weekly{Opening: drawOpening(t, fmt.Sprint("weekly ", i))}
		if rapid.IntRange(0, 4).Draw(t, "whole day") == 0 {
			w.Opening = slots.Opening{Start: 0, End: slots.EndOfDay}
		}
		for day := time.Sunday; day <= time.Saturday; day++ {
			if rapid.IntRange(0, 3).Draw(t, day.String()) > 0 {
				w.Days = append(w.Days, day)
			}
		}
		h.Weekly = append(h.Weekly, w)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "dates") {
		at := day.AddDate(0, 0, rapid.IntRange(-2, 3).Draw(t, "date"))
		date := slots.Date{Year: at.Year(), Month: at.Month(), Day: at.Day()}
		h.Dates[date] = nil
		for range rapid.IntRange(0, 2).Draw(t, "openings") {
			h.Dates[date] = append(h.Dates[date], drawOpening(t, fmt.Sprint("date ", i)))
		}
	}
	return h
}

func drawQuestion(t *rapid.T) (slots.Question, *time.Location) {
	change := rapid.SampledFrom(changes()).Draw(t, "change")
	zone, err := time.LoadLocation(change.zone)
	if err != nil {
		t.Fatal(err)
	}
	day, err := time.Parse(time.DateOnly, change.date)
	if err != nil {
		t.Fatal(err)
	}
	minutes := func(label string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute
	}
	from := day.Add(minutes("from", -2*1440, 1440))
	q := slots.Question{
		From: from, To: from.Add(minutes("window", 1, 3*1440)), Now: from.Add(minutes("now", -4000, 600)),
		Duration: minutes("duration", 1, 180), Interval: 5 * minutes("interval", 1, 24),
		Hours: drawHours(t, day), Zone: zone, Before: minutes("before", 0, 45), After: minutes("after", 0, 45),
		MinimumNotice: minutes("notice", 0, 1440), BookingWindowDays: rapid.IntRange(0, 4).Draw(t, "days"),
		Availability: rapid.SampledFrom([]slots.Availability{slots.Collective, slots.Any}).Draw(t, "availability"),
	}
	q.Hours.Zone = zone
	for i := range rapid.IntRange(0, 3).Draw(t, "calendars") {
		c := slots.Calendar{ID: fmt.Sprint(i), Unknown: rapid.IntRange(0, 7).Draw(t, "unknown") == 0}
		for range rapid.IntRange(0, 6).Draw(t, "busy") {
			begin := from.Add(minutes("busy from", -300, 3*1440))
			c.Busy = append(c.Busy, slots.Span{From: begin, To: begin.Add(minutes("busy for", 0, 600))})
		}
		q.Calendars = append(q.Calendars, c)
	}
	return q, zone
}

func TestSlotsAreWhatTheClockShowsMinuteByMinute(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		q, zone := drawQuestion(t)
		want := (&oracle{q: q, zone: zone}).slots()
		got := slots.Find(q)
		found += len(got)
		if !slices.EqualFunc(got, want, sameSlot) {
			t.Fatalf("in %s\n got %v\nwant %v", zone, got, want)
		}
	})
	if found == 0 {
		t.Error("no question had a slot")
	}
}

func sameSlot(a, b slots.Slot) bool {
	return a.Start.Equal(b.Start) && a.End.Equal(b.End) && slices.Equal(a.Free, b.Free)
}
