package speech

// French returns the words of French. The clock has twenty-four hours.
func French() Language {
	return Language{
		weekdays: [7]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
		months: [12]string{
			"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
			"novembre", "décembre",
		},
		days: [31]string{
			"premier", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze",
			"treize", "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf", "vingt", "vingt et un",
			"vingt-deux", "vingt-trois", "vingt-quatre", "vingt-cinq", "vingt-six", "vingt-sept", "vingt-huit",
			"vingt-neuf", "trente", "trente et un",
		},
		hours: [24]string{
			"zéro heure", "une heure", "deux heures", "trois heures", "quatre heures", "cinq heures", "six heures",
			"sept heures", "huit heures", "neuf heures", "dix heures", "onze heures", "midi", "treize heures",
			"quatorze heures", "quinze heures", "seize heures", "dix-sept heures", "dix-huit heures",
			"dix-neuf heures", "vingt heures", "vingt et une heures", "vingt-deux heures", "vingt-trois heures",
		},
		minutes: [60]string{
			"", "une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze",
			"treize", "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf", "vingt", "vingt et une",
			"vingt-deux", "vingt-trois", "vingt-quatre", "vingt-cinq", "vingt-six", "vingt-sept", "vingt-huit",
			"vingt-neuf", "trente", "trente et une", "trente-deux", "trente-trois", "trente-quatre", "trente-cinq",
			"trente-six", "trente-sept", "trente-huit", "trente-neuf", "quarante", "quarante et une",
			"quarante-deux", "quarante-trois", "quarante-quatre", "quarante-cinq", "quarante-six", "quarante-sept",
			"quarante-huit", "quarante-neuf", "cinquante", "cinquante et une", "cinquante-deux", "cinquante-trois",
			"cinquante-quatre", "cinquante-cinq", "cinquante-six", "cinquante-sept", "cinquante-huit",
			"cinquante-neuf",
		},
		day: "{weekday} {day}", dayOfMonth: "{weekday} {day} {month}",
		at: " à ", or: " ou à ", andAt: " et à ", and: ", ", lastPair: " et ",
		slots:      "Je peux vous proposer {slots}.",
		none:       "Je n’ai aucun créneau libre sur cette période.",
		unread:     "Je n’ai pas pu consulter tous les agendas pour le moment.",
		noneUnread: "Je n’ai pas pu consulter tous les agendas pour le moment, je n’ai donc aucun créneau à proposer.",
		said: [sentences]string{
			Held:      "Je vous garde le créneau du {slot}.",
			Released:  "Je ne garde plus le créneau du {slot}.",
			NotHeld:   "Le créneau du {slot} n’était déjà plus gardé.",
			Booked:    "Le rendez-vous est réservé pour le {slot}.",
			Moved:     "Le rendez-vous est déplacé au {slot}.",
			Cancelled: "Le rendez-vous est annulé.",
		},
		meeting: "Je vois un rendez-vous le {slots}.", meetings: "Je vois des rendez-vous : {slots}.",
		nobody: "Je n’ai trouvé aucun rendez-vous.",
		opened: "Le ticket est ouvert. Son numéro est le {number}.", ticket: "Voici le ticket {number}.",
		now:   "Nous sommes le {weekday} {day} {month}, il est {time}.",
		signs: map[rune]string{'-': "tiret", '.': "point", '@': "arobase", '_': "tiret bas", '+': "plus", '/': "barre oblique", '#': ""},
	}
}
