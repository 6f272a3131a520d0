package speech

// German returns the words of German. The clock has twenty-four hours.
func German() Language {
	return Language{
		weekdays: [7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		months: [12]string{
			"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
			"November", "Dezember",
		},
		days: [31]string{
			"ersten", "zweiten", "dritten", "vierten", "fünften", "sechsten", "siebten", "achten", "neunten",
			"zehnten", "elften", "zwölften", "dreizehnten", "vierzehnten", "fünfzehnten", "sechzehnten",
			"siebzehnten", "achtzehnten", "neunzehnten", "zwanzigsten", "einundzwanzigsten", "zweiundzwanzigsten",
			"dreiundzwanzigsten", "vierundzwanzigsten", "fünfundzwanzigsten", "sechsundzwanzigsten",
			"siebenundzwanzigsten", "achtundzwanzigsten", "neunundzwanzigsten", "dreißigsten", "einunddreißigsten",
		},
		hours: [24]string{
			"null Uhr", "ein Uhr", "zwei Uhr", "drei Uhr", "vier Uhr", "fünf Uhr", "sechs Uhr", "sieben Uhr",
			"acht Uhr", "neun Uhr", "zehn Uhr", "elf Uhr", "zwölf Uhr", "dreizehn Uhr", "vierzehn Uhr",
			"fünfzehn Uhr", "sechzehn Uhr", "siebzehn Uhr", "achtzehn Uhr", "neunzehn Uhr", "zwanzig Uhr",
			"einundzwanzig Uhr", "zweiundzwanzig Uhr", "dreiundzwanzig Uhr",
		},
		minutes: [60]string{
			"", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
			"dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn", "zwanzig",
			"einundzwanzig", "zweiundzwanzig", "dreiundzwanzig", "vierundzwanzig", "fünfundzwanzig",
			"sechsundzwanzig", "siebenundzwanzig", "achtundzwanzig", "neunundzwanzig", "dreißig", "einunddreißig",
			"zweiunddreißig", "dreiunddreißig", "vierunddreißig", "fünfunddreißig", "sechsunddreißig",
			"siebenunddreißig", "achtunddreißig", "neununddreißig", "vierzig", "einundvierzig", "zweiundvierzig",
			"dreiundvierzig", "vierundvierzig", "fünfundvierzig", "sechsundvierzig", "siebenundvierzig",
			"achtundvierzig", "neunundvierzig", "fünfzig", "einundfünfzig", "zweiundfünfzig", "dreiundfünfzig",
			"vierundfünfzig", "fünfundfünfzig", "sechsundfünfzig", "siebenundfünfzig", "achtundfünfzig",
			"neunundfünfzig",
		},
		day: "{weekday}, den {day},", dayOfMonth: "{weekday}, den {day} {month},",
		at: " um ", or: " oder um ", andAt: " und um ", and: ", ", lastPair: " und ",
		slots:      "Ich kann Ihnen {slots} anbieten.",
		none:       "In diesem Zeitraum habe ich nichts frei.",
		unread:     "Ich konnte gerade nicht alle Kalender sehen.",
		noneUnread: "Ich konnte gerade nicht alle Kalender sehen, deshalb kann ich keine Zeit anbieten.",
		said: [sentences]string{
			Held:      "Ich halte Ihnen {slot} frei.",
			Released:  "Ich halte {slot} nicht länger frei.",
			NotHeld:   "Die Vormerkung für {slot} war schon beendet.",
			Booked:    "Der Termin ist gebucht für {slot}.",
			Moved:     "Der Termin ist verlegt auf {slot}.",
			Cancelled: "Der Termin ist abgesagt.",
		},
		meeting: "Ich sehe einen Termin für {slots}.", meetings: "Ich sehe Termine für {slots}.",
		nobody: "Ich habe keinen Termin gefunden.",
		opened: "Das Ticket ist eröffnet. Seine Nummer ist {number}.", ticket: "Das ist Ticket {number}.",
		now:   "Es ist {weekday}, der {number}. {month}, {clock} Uhr.",
		signs: map[rune]string{'-': "Bindestrich", '.': "Punkt", '@': "at", '_': "Unterstrich", '+': "plus", '/': "Schrägstrich", '#': ""},
	}
}
