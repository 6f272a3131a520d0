package toolcall

import "frontdesk/core/language"

// words are the sentences about the calls of tools, in one language. Those about failures come from the
// interface.
type words struct {
	done   map[string]string // by the name of the tool
	goesOn string
	late   string
	broken string
}

// wordsIn returns the sentences in a language.
func wordsIn(name string) words {
	switch name {
	case language.Spanish:
		return words{
			done: map[string]string{
				"create_ticket": "El ticket está abierto.",
				"get_ticket":    "Este es el ticket.",
			},
			goesOn: "Todavía estoy en ello. Pregunte de nuevo en un instante con los mismos datos.",
			late:   "Está tardando más de lo debido. ¿Podemos volver a intentarlo?",
			broken: "Algo ha fallado por mi parte. Lo siento.",
		}
	case language.German:
		return words{
			done: map[string]string{
				"create_ticket": "Das Ticket ist eröffnet.",
				"get_ticket":    "Das ist das Ticket.",
			},
			goesOn: "Ich bin noch dabei. Fragen Sie gleich mit denselben Angaben noch einmal.",
			late:   "Das dauert länger, als es sollte. Können wir es noch einmal versuchen?",
			broken: "Bei mir ist etwas schiefgegangen. Es tut mir leid.",
		}
	case language.French:
		return words{
			done: map[string]string{
				"create_ticket": "Le ticket est ouvert.",
				"get_ticket":    "Voici le ticket.",
			},
			goesOn: "Je m’en occupe encore. Redemandez dans un instant avec les mêmes informations.",
			late:   "Cela prend plus de temps que prévu. Pouvons-nous réessayer\u202f?",
			broken: "Un problème est survenu de mon côté. Toutes mes excuses.",
		}
	}
	return words{
		done: map[string]string{
			"create_ticket": "The ticket is open.",
			"get_ticket":    "This is the ticket.",
		},
		goesOn: "I am still working on that. Ask again in a moment with the same details.",
		late:   "That is taking longer than it should. Can we try again?",
		broken: "Something went wrong on my side. I am sorry.",
	}
}
