package toolcall

import "frontdesk/core/language"

// words are the sentences about the calls of tools, in one language. Those about failures come from the
// interface.
type words struct {
	goesOn string
	late   string
	broken string
	own    string
}

// wordsIn returns the sentences in a language.
func wordsIn(name string) words {
	switch name {
	case language.Spanish:
		return words{
			goesOn: "Todavía estoy en ello. Un instante, por favor.",
			late:   "Está tardando más de lo debido. ¿Podemos volver a intentarlo?",
			broken: "Algo ha fallado por mi parte. Lo siento.",
			own:    "Esa hora ya está reservada para usted.",
		}
	case language.German:
		return words{
			goesOn: "Ich bin noch dabei. Einen Moment, bitte.",
			late:   "Das dauert länger, als es sollte. Können wir es noch einmal versuchen?",
			broken: "Bei mir ist etwas schiefgegangen. Es tut mir leid.",
			own:    "Diese Zeit ist schon für Sie gebucht.",
		}
	case language.French:
		return words{
			goesOn: "Je m’en occupe encore. Un instant, s’il vous plaît.",
			late:   "Cela prend plus de temps que prévu. Pouvons-nous réessayer\u202f?",
			broken: "Un problème est survenu de mon côté. Toutes mes excuses.",
			own:    "Ce créneau est déjà réservé pour vous.",
		}
	}
	return words{
		goesOn: "I am still working on that. One moment, please.",
		late:   "That is taking longer than it should. Can we try again?",
		broken: "Something went wrong on my side. I am sorry.",
		own:    "That time is booked for you already.",
	}
}
