package speech_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"frontdesk/core/language"
	"frontdesk/core/speech"
)

func TestTimesOfDay(t *testing.T) {
	t.Parallel()
	for clock, want := range map[string]string{
		"00:15": "twelve fifteen in the morning", "01:00": "one in the morning",
		"09:00": "nine in the morning", "09:05": "nine oh five in the morning",
		"11:59": "eleven fifty-nine in the morning", "12:00": "noon", "12:30": "twelve thirty in the afternoon",
		"13:20": "one twenty in the afternoon", "16:45": "four forty-five in the afternoon",
		"17:00": "five in the evening", "20:10": "eight ten in the evening", "21:00": "nine at night",
	} {
		at, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := speech.English().Time(at); got != want {
			t.Errorf("%s is %q, want %q", clock, got, want)
		}
	}
}

func TestSentencesAboutSlots(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		rule     string
		starts   []string
		unread   bool
		sentence string
	}{
		{"one", []string{"2026-12-01T12:00:00Z"}, false, "I have Tuesday the first at noon."},
		{"times of a day share it", []string{"2026-12-01T09:00:00Z", "2026-12-01T14:00:00Z"}, false,
			"I have Tuesday the first at nine in the morning or two in the afternoon."},
		{"days are listed", []string{"2026-11-24T09:00:00Z", "2026-11-25T12:00:00Z", "2026-11-27T15:30:00Z"}, false,
			"I have Tuesday the twenty-fourth at nine in the morning, Wednesday the twenty-fifth at noon, and " +
				"Friday the twenty-seventh at three thirty in the afternoon."},
		{"a far day has its month", []string{"2027-01-05T09:00:00Z"}, false,
			"I have Tuesday, January the fifth, at nine in the morning."},
		{"none", nil, false, "I have no free time in that period."},
		{"none that is known", nil, true,
			"I could not see every calendar just now, so I have no time to offer."},
		{"some of what there may be", []string{"2026-12-01T12:00:00Z"}, true,
			"I have Tuesday the first at noon. I could not see every calendar just now."},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			var starts []time.Time
			for _, text := range tt.starts {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				starts = append(starts, at)
			}
			if got := speech.English().Slots(starts, now, !tt.unread); got != tt.sentence {
				t.Errorf("got %q, want %q", got, tt.sentence)
			}
		})
	}
}

// One day is said once, however its times lie to the time of day at which it is said: so do the first and the last day
// without a month.
func TestAllTimesOfADayAreSaidAlike(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -5*60*60)
	now := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC) // nine in the evening of the day before, there
	for rule, c := range map[string]struct {
		day   int
		month bool
	}{"yesterday": {-1, true}, "today": {0, false}, "in two weeks": {14, false}, "a day later": {15, true}} {
		first := time.Date(2026, 11, 25+c.day, 0, 0, 0, 0, zone)
		for _, name := range []string{language.English, language.German, language.Spanish, language.French} {
			l := speech.In(name)
			said := l.Day(first, now)
			if withMonth := said == l.Day(first, time.Time{}); withMonth != c.month {
				t.Errorf("%s: %q", rule, said)
			}
			for at := first; at.Day() == first.Day(); at = at.Add(time.Minute) {
				if got := l.Day(at, now); got != said {
					t.Fatalf("%s, at %s: %q, and at midnight %q", rule, at.Format("15:04"), got, said)
				}
			}
		}
	}
}

// Of "Thursday at midnight", nobody knows whether the day begins or ends then ("ambiguous as to the date intended",
// tf.nist.gov, Miscellaneous Questions). Every language says that it begins.
func TestMidnightIsTheBeginningOfItsDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		language.English: "I am holding Thursday the third at midnight as that day begins for you.",
		language.Spanish: "Le guardo un hueco para el jueves tres a las cero horas.",
		language.German:  "Ich halte Ihnen Donnerstag, den dritten, um null Uhr frei.",
		language.French:  "Je vous garde le créneau du jeudi trois à zéro heure.",
	} {
		if got := speech.In(name).Say(speech.Held, midnight, midnight.AddDate(0, 0, -1)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A sentence holds nothing that a voice would have to read out: digits, offsets, years.
func TestEveryMinuteHasWords(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`^I have [A-Z][a-z]+(, [A-Z][a-z]+)? the [a-z-]+,? at [a-z-]+( [a-z-]+)*\.$`)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := now; at.Year() == 2026; at = at.Add(7*time.Hour + 1*time.Minute) {
		if got := speech.English().Slots([]time.Time{at}, now, true); !words.MatchString(got) {
			t.Errorf("%s is %q", at, got)
		}
	}
}

func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 12, day, hour, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		language string
		starts   []time.Time
		complete bool
		want     string
	}{
		{language.German, []time.Time{at(1, 9, 0), at(1, 14, 30), at(3, 0, 0)}, true,
			"Ich kann Ihnen Dienstag, den ersten, " +
				"um neun Uhr oder um vierzehn Uhr dreißig und Donnerstag, den dritten, um null Uhr anbieten."},
		{language.German, []time.Time{at(27, 21, 21)}, true,
			"Ich kann Ihnen Sonntag, den siebenundzwanzigsten Dezember, um einundzwanzig Uhr einundzwanzig anbieten."},
		{language.German, nil, false,
			"Ich konnte gerade nicht alle Kalender sehen, deshalb kann ich keine Zeit anbieten."},
		{language.Spanish, []time.Time{at(1, 9, 0), at(1, 14, 30), at(3, 13, 0)}, true,
			"Tengo libre el martes uno a las nueve de la mañana o a las dos y treinta de la tarde y el jueves tres a la " +
				"una de la tarde."},
		{language.Spanish, []time.Time{at(27, 12, 0)}, false,
			"Tengo libre el domingo veintisiete de diciembre al mediodía. Ahora mismo no he podido ver todos los " +
				"calendarios."},
		{language.French, []time.Time{at(1, 9, 0), at(1, 14, 31), at(3, 0, 15)}, true,
			"Je peux vous proposer mardi premier à neuf heures ou à quatorze heures trente et une et jeudi trois à zéro heure " +
				"quinze."},
		{language.French, []time.Time{at(27, 12, 0)}, true,
			"Je peux vous proposer dimanche vingt-sept décembre à midi."},
		{language.French, nil, true, "Je n’ai aucun créneau libre sur cette période."},
		{"ja", nil, true, "I have no free time in that period."},
	} {
		if got := speech.In(c.language).Slots(c.starts, now, c.complete); got != c.want {
			t.Errorf("%s: %q", c.language, got)
		}
	}
}

// Every minute of a year is said in words alone, and no two minutes of a day alike.
func TestEveryMinuteHasWordsInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, name := range language.All() {
		said := map[string]bool{}
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Day() == 1; at = at.Add(time.Minute) {
			time := speech.In(name).Time(at)
			if said[time] || strings.ContainsAny(time, "0123456789{}") || strings.Contains(time, "  ") {
				t.Errorf("%s: %s is %q", name, at, time)
			}
			said[time] = true
		}
		for at := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC); at.Year() == 2026; at = at.AddDate(0, 0, 1) {
			if day := speech.In(name).Day(at, at); strings.ContainsAny(day, "0123456789{}") || said[day] {
				t.Errorf("%s: %s is %q", name, at, day)
			}
		}
	}
}

func TestWhatBecameOfATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		language                            string
		held, released, over, booked, moved string
		one, two, none                      string
	}{
		{
			language.English, "I am holding Tuesday the first at ten in the morning for you.",
			"I am no longer holding Tuesday the first at ten in the morning.",
			"The hold on Tuesday the first at ten in the morning had already ended.",
			"The appointment is booked for Tuesday, December the first, at ten in the morning.",
			"The appointment is moved to Tuesday, December the first, at ten in the morning.",
			"I see an appointment on Tuesday the first at ten in the morning.",
			"I see appointments on Tuesday the first at ten in the morning and noon.",
			"I could not find an appointment. I could not see every calendar just now.",
		},
		{
			language.Spanish, "Le guardo un hueco para el martes uno a las diez de la mañana.",
			"Ya no guardo el hueco para el martes uno a las diez de la mañana.",
			"Ya no estaba guardado el hueco para el martes uno a las diez de la mañana.",
			"La cita queda reservada para el martes uno de diciembre a las diez de la mañana.",
			"La cita queda cambiada para el martes uno de diciembre a las diez de la mañana.",
			"Veo una cita para el martes uno a las diez de la mañana.",
			"Veo citas para el martes uno a las diez de la mañana y al mediodía.",
			"No he encontrado ninguna cita. Ahora mismo no he podido ver todos los calendarios.",
		},
		{
			language.German, "Ich halte Ihnen Dienstag, den ersten, um zehn Uhr frei.",
			"Ich halte Dienstag, den ersten, um zehn Uhr nicht länger frei.",
			"Die Vormerkung für Dienstag, den ersten, um zehn Uhr war schon beendet.",
			"Der Termin ist gebucht für Dienstag, den ersten Dezember, um zehn Uhr.",
			"Der Termin ist verlegt auf Dienstag, den ersten Dezember, um zehn Uhr.",
			"Ich sehe einen Termin für Dienstag, den ersten, um zehn Uhr.",
			"Ich sehe Termine für Dienstag, den ersten, um zehn Uhr und um zwölf Uhr.",
			"Ich habe keinen Termin gefunden. Ich konnte gerade nicht alle Kalender sehen.",
		},
		{
			language.French, "Je vous garde le créneau du mardi premier à dix heures.",
			"Je ne garde plus le créneau du mardi premier à dix heures.",
			"Le créneau du mardi premier à dix heures n’était déjà plus gardé.",
			"Le rendez-vous est réservé pour le mardi premier décembre à dix heures.",
			"Le rendez-vous est déplacé au mardi premier décembre à dix heures.",
			"Je vois un rendez-vous le mardi premier à dix heures.",
			"Je vois des rendez-vous : mardi premier à dix heures et à midi.",
			"Je n’ai trouvé aucun rendez-vous. Je n’ai pas pu consulter tous les agendas pour le moment.",
		},
	} {
		l := speech.In(c.language)
		for want, got := range map[string]string{
			c.held: l.Say(speech.Held, at, now), c.released: l.Say(speech.Released, at, now),
			c.over: l.Say(speech.NotHeld, at, now), c.booked: l.Say(speech.Booked, at, time.Time{}),
			c.moved: l.Say(speech.Moved, at, time.Time{}), c.one: l.Meetings([]speech.Start{{Time: at}}, now, true),
			c.two: l.Meetings([]speech.Start{{Time: at}, {Time: noon}}, now, true), c.none: l.Meetings(nil, now, false),
		} {
			if got != want {
				t.Errorf("%s: %q, want %q", c.language, got, want)
			}
		}
		if said := l.Say(speech.Cancelled, at, now); said == "" || strings.Contains(said, "{") {
			t.Errorf("%s: %q", c.language, said)
		}
	}
}

// A whole day has no time: nobody is to come at midnight.
func TestWholeDaysAreSaidWithoutATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	day := speech.Start{Time: time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC), AllDay: true}
	noon := speech.Start{Time: day.Add(12 * time.Hour)}
	one := speech.Start{Time: noon.Add(time.Hour)}
	next := speech.Start{Time: day.AddDate(0, 0, 1), AllDay: true}
	for name, want := range map[string][2]string{
		language.English: {"I see an appointment on Thursday, December the twenty-fourth.",
			"I see appointments on Thursday, December the twenty-fourth, Thursday, December the twenty-fourth, at noon " +
				"and one in the afternoon, and Friday, December the twenty-fifth."},
		language.Spanish: {"Veo una cita para el jueves veinticuatro de diciembre.",
			"Veo citas para el jueves veinticuatro de diciembre, el jueves veinticuatro de diciembre al mediodía y a la " +
				"una de la tarde y el viernes veinticinco de diciembre."},
		language.German: {"Ich sehe einen Termin für Donnerstag, den vierundzwanzigsten Dezember.",
			"Ich sehe Termine für Donnerstag, den vierundzwanzigsten Dezember, Donnerstag, den vierundzwanzigsten " +
				"Dezember, um zwölf Uhr und um dreizehn Uhr und Freitag, den fünfundzwanzigsten Dezember."},
		language.French: {"Je vois un rendez-vous le jeudi vingt-quatre décembre.",
			"Je vois des rendez-vous : jeudi vingt-quatre décembre, jeudi vingt-quatre décembre à midi et à treize heures " +
				"et vendredi vingt-cinq décembre."},
	} {
		l := speech.In(name)
		if got := l.Meetings([]speech.Start{day}, now, true); got != want[0] {
			t.Errorf("%s: %q, want %q", name, got, want[0])
		}
		if got := l.Meetings([]speech.Start{day, noon, one, next}, now, true); got != want[1] {
			t.Errorf("%s: %q, want %q", name, got, want[1])
		}
	}
}

func TestTheTimeIsTold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		language.English: "It is Tuesday, December 1, 13:05.",
		language.Spanish: "Hoy es martes uno de diciembre. La hora es 13:05.",
		language.German:  "Es ist Dienstag, der 1. Dezember, 13:05 Uhr.",
		language.French:  "Nous sommes le mardi premier décembre, il est treize heures cinq.",
	} {
		if got := speech.In(name).Now(time.Date(2026, 12, 1, 13, 5, 0, 0, time.UTC)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestNumbersAreSpelled(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{language.English, "00001042", "0 0 0 0 1 0 4 2"}, {language.English, "#cs-7", "C S dash 7"},
		{language.English, "pat.doe@example.com", "P A T dot D O E at E X A M P L E dot C O M"},
		{language.German, "CS-7", "C S Bindestrich 7"}, {language.Spanish, "a@b.es", "A arroba B punto E S"},
		{language.French, "a_b", "A tiret bas B"}, {language.English, "", ""}, {language.English, " 1  2 ", "1 2"},
	} {
		if got := speech.In(c.language).Spell(c.text); got != c.want {
			t.Errorf("%s in %s is %q, want %q", c.text, c.language, got, c.want)
		}
	}
	for _, name := range language.All() {
		l := speech.In(name)
		for _, said := range []string{l.Opened("4-2"), l.Ticket("4-2")} {
			if !strings.Contains(said, l.Spell("4-2")) || strings.Contains(said, "{") {
				t.Errorf("in %s: %q", name, said)
			}
		}
	}
}
