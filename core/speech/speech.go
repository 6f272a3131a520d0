// Package speech puts dates and times into the words that a voice agent says to a person on the phone. It
// always says the weekday, and never a year or an offset from UTC.
//
//	speech.In(language.English).Time(t)                  // "nine thirty in the morning"
//	speech.In(language.English).Slots(starts, now, true) // "I have Tuesday the first at noon."
//
// A language is a table.
package speech

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/language"
)

// In returns the words of a language, or those of English if it has none.
func In(name string) Language {
	switch name {
	case language.Spanish:
		return Spanish()
	case language.German:
		return German()
	case language.French:
		return French()
	}
	return English()
}

// Language holds the words of a language.
type Language struct {
	weekdays [7]string // from Sunday
	months   [12]string
	days     [31]string // of the month
	hours    [24]string // before the minutes
	minutes  [60]string // "" for the full hour
	parts    [24]string // of the day, after the minutes of each hour
	full     [24]string // full hours that have a name of their own

	day, dayOfMonth string // templates with {weekday}, {day} and {month}
	at, or, andAt   string // between a day and its times, and between times
	and, lastPair   string // between days, and before the last day

	slots, none, unread, noneUnread string // sentences; the first with {slots}

	said                      [sentences]string // with {slot}
	meeting, meetings, nobody string            // the first two with {slots}
	opened, ticket            string            // with {number}
	now                       string            // with {weekday}, {month}, {day} or {number}, {clock} or {time}
	signs                     map[rune]string   // the names of signs in numbers and addresses
}

// Sentence is a sentence about what became of one time.
type Sentence int

// The sentences.
const (
	Held Sentence = iota
	Released
	NotHeld
	Booked
	Moved
	Cancelled

	sentences = iota
)

// Say says a sentence about a time, in its own zone.
func (l Language) Say(s Sentence, t, now time.Time) string {
	return strings.ReplaceAll(l.said[s], "{slot}", l.Day(t, now)+l.at+l.Time(t))
}

// nearDays is how many days ahead a day of the month is clear without its month.
const nearDays = 14

// Day says a day. It says the month too if the day is not today nor within the next two weeks. All times of a day
// are said with the same words.
func (l Language) Day(t, now time.Time) string {
	template := l.day
	today := dateOf(now.In(t.Location()))
	if day := dateOf(t); day.Before(today) || day.After(today.AddDate(0, 0, nearDays)) {
		template = l.dayOfMonth
	}
	return strings.NewReplacer("{weekday}", l.weekdays[t.Weekday()], "{day}", l.days[t.Day()-1],
		"{month}", l.months[t.Month()-1]).Replace(template)
}

// Now says which day it is and what time, as a model needs it to speak of other days.
func (l Language) Now(t time.Time) string {
	return strings.NewReplacer("{weekday}", l.weekdays[t.Weekday()], "{month}", l.months[t.Month()-1],
		"{day}", l.days[t.Day()-1], "{number}", strconv.Itoa(t.Day()), "{clock}", t.Format("15:04"),
		"{time}", l.Time(t)).Replace(l.now)
}

// dateOf returns the date of a time in its zone. It is in UTC, where each day has a midnight.
func dateOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// Time says a time of day to the minute.
func (l Language) Time(t time.Time) string {
	hour, minute := t.Hour(), t.Minute()
	if minute == 0 && l.full[hour] != "" {
		return l.full[hour]
	}
	return strings.Join(strings.Fields(l.hours[hour]+" "+l.minutes[minute]+" "+l.parts[hour]), " ")
}

// Slots offers times, which must be sorted, in their own zone. It says so if a calendar could not be read.
func (l Language) Slots(starts []time.Time, now time.Time, complete bool) string {
	switch {
	case len(starts) == 0 && complete:
		return l.none
	case len(starts) == 0:
		return l.noneUnread
	}
	slots := make([]Start, len(starts))
	for i, t := range starts {
		slots[i] = Start{Time: t}
	}
	sentence := strings.ReplaceAll(l.slots, "{slots}", l.list(slots, now, l.or))
	if !complete {
		sentence += " " + l.unread
	}
	return sentence
}

// Start is when a meeting starts.
type Start struct {
	time.Time

	AllDay bool // the meeting is that whole day
}

// Meetings says when a caller's meetings are, which must be sorted, in their own zone. It says so if not
// everything could be read.
func (l Language) Meetings(starts []Start, now time.Time, complete bool) string {
	sentence := l.nobody
	switch {
	case len(starts) == 1:
		sentence = strings.ReplaceAll(l.meeting, "{slots}", l.list(starts, now, l.andAt))
	case len(starts) > 1:
		sentence = strings.ReplaceAll(l.meetings, "{slots}", l.list(starts, now, l.andAt))
	}
	if !complete {
		sentence += " " + l.unread
	}
	return sentence
}

// Opened says that a ticket is open, and its number so that a person can write it down.
func (l Language) Opened(number string) string {
	return strings.ReplaceAll(l.opened, "{number}", l.Spell(number))
}

// Ticket names a ticket.
func (l Language) Ticket(number string) string {
	return strings.ReplaceAll(l.ticket, "{number}", l.Spell(number))
}

// Spell says a number or an address sign by sign: "C S 1 0 dash 4".
func (l Language) Spell(text string) string {
	var said []string
	for _, sign := range strings.ToUpper(text) {
		name, has := l.signs[sign]
		if !has && !unicode.IsSpace(sign) {
			name = string(sign)
		}
		if name != "" {
			said = append(said, name)
		}
	}
	return strings.Join(said, " ")
}

// list says several times, with join between those of one day. Of whole days it says no time.
func (l Language) list(starts []Start, now time.Time, join string) string {
	var days []string
	var last string
	for _, t := range starts {
		day := l.Day(t.Time, now)
		switch {
		case t.AllDay:
			days, last = append(days, strings.TrimSuffix(day, ",")), ""
		case day == last:
			days[len(days)-1] += join + l.Time(t.Time)
		default:
			days, last = append(days, day+l.at+l.Time(t.Time)), day
		}
	}
	text := days[0]
	for i, day := range days[1:] {
		if i == len(days)-2 {
			text += l.lastPair + day
			continue
		}
		text += l.and + day
	}
	return text
}
