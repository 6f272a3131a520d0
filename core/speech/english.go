package speech

import "strings"

// English returns the words of English, as it is spoken in the United States.
func English() Language {
	l := Language{
		weekdays: [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		months: [12]string{
			"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
			"November", "December",
		},
		days: [31]string{
			"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
			"twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
			"twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth",
			"twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first",
		},
		day: "{weekday} the {day}", dayOfMonth: "{weekday}, {month} the {day},",
		at: " at ", or: " or ", andAt: " and ", and: ", ", lastPair: ", and ",
		slots:      "I have {slots}.",
		none:       "I have no free time in that period.",
		unread:     "I could not see every calendar just now.",
		noneUnread: "I could not see every calendar just now, so I have no time to offer.",
		said: [sentences]string{
			Held:      "I am holding {slot} for you.",
			Released:  "I am no longer holding {slot}.",
			NotHeld:   "The hold on {slot} had already ended.",
			Booked:    "The appointment is booked for {slot}.",
			Moved:     "The appointment is moved to {slot}.",
			Cancelled: "The appointment is cancelled.",
		},
		meeting: "I see an appointment on {slots}.", meetings: "I see appointments on {slots}.",
		nobody: "I could not find an appointment.",
		opened: "The ticket is open. Its number is {number}.", ticket: "This is ticket {number}.",
		now:   "It is {weekday}, {month} {number}, {clock}.",
		signs: map[rune]string{'-': "dash", '.': "dot", '@': "at", '_': "underscore", '+': "plus", '/': "slash", '#': ""},
	}
	l.full[0], l.full[12] = "midnight as that day begins", "noon"
	units := strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen " +
		"fifteen sixteen seventeen eighteen nineteen")
	tens := strings.Fields("twenty thirty forty fifty")
	for minute := 1; minute < len(l.minutes); minute++ {
		switch {
		case minute < 10:
			l.minutes[minute] = "oh " + units[minute]
		case minute < 20:
			l.minutes[minute] = units[minute]
		case minute%10 == 0:
			l.minutes[minute] = tens[minute/10-2]
		default:
			l.minutes[minute] = tens[minute/10-2] + "-" + units[minute%10]
		}
	}
	for hour := range l.hours {
		l.hours[hour] = units[(hour+11)%12+1]
		switch {
		case hour < 12:
			l.parts[hour] = "in the morning"
		case hour < 17:
			l.parts[hour] = "in the afternoon"
		case hour < 21:
			l.parts[hour] = "in the evening"
		default:
			l.parts[hour] = "at night"
		}
	}
	return l
}
