package speech

// Spanish returns the words of Spanish. Hours have their article and preposition.
func Spanish() Language {
	return Language{
		weekdays: [7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
		months: [12]string{
			"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
			"noviembre", "diciembre",
		},
		days: [31]string{
			"uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
			"trece", "catorce", "quince", "dieciséis", "diecisiete", "dieciocho", "diecinueve", "veinte",
			"veintiuno", "veintidós", "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete",
			"veintiocho", "veintinueve", "treinta", "treinta y uno",
		},
		hours: [24]string{
			"a las doce", "a la una", "a las dos", "a las tres", "a las cuatro", "a las cinco", "a las seis",
			"a las siete", "a las ocho", "a las nueve", "a las diez", "a las once", "a las doce", "a la una",
			"a las dos", "a las tres", "a las cuatro", "a las cinco", "a las seis", "a las siete", "a las ocho",
			"a las nueve", "a las diez", "a las once",
		},
		minutes: [60]string{
			"", "y uno", "y dos", "y tres", "y cuatro", "y cinco", "y seis", "y siete", "y ocho", "y nueve",
			"y diez", "y once", "y doce", "y trece", "y catorce", "y quince", "y dieciséis", "y diecisiete",
			"y dieciocho", "y diecinueve", "y veinte", "y veintiuno", "y veintidós", "y veintitrés",
			"y veinticuatro", "y veinticinco", "y veintiséis", "y veintisiete", "y veintiocho", "y veintinueve",
			"y treinta", "y treinta y uno", "y treinta y dos", "y treinta y tres", "y treinta y cuatro",
			"y treinta y cinco", "y treinta y seis", "y treinta y siete", "y treinta y ocho", "y treinta y nueve",
			"y cuarenta", "y cuarenta y uno", "y cuarenta y dos", "y cuarenta y tres", "y cuarenta y cuatro",
			"y cuarenta y cinco", "y cuarenta y seis", "y cuarenta y siete", "y cuarenta y ocho",
			"y cuarenta y nueve", "y cincuenta", "y cincuenta y uno", "y cincuenta y dos", "y cincuenta y tres",
			"y cincuenta y cuatro", "y cincuenta y cinco", "y cincuenta y seis", "y cincuenta y siete",
			"y cincuenta y ocho", "y cincuenta y nueve",
		},
		parts: [24]string{
			"de la madrugada", "de la madrugada", "de la madrugada", "de la madrugada", "de la madrugada",
			"de la madrugada", "de la mañana", "de la mañana", "de la mañana", "de la mañana", "de la mañana",
			"de la mañana", "de la tarde", "de la tarde", "de la tarde", "de la tarde", "de la tarde",
			"de la tarde", "de la tarde", "de la tarde", "de la noche", "de la noche", "de la noche",
			"de la noche",
		},
		full: [24]string{0: "a las cero horas", 12: "al mediodía"},
		day:  "el {weekday} {day}", dayOfMonth: "el {weekday} {day} de {month}",
		at: " ", or: " o ", andAt: " y ", and: ", ", lastPair: " y ",
		slots:      "Tengo libre {slots}.",
		none:       "No tengo ninguna hora libre en ese periodo.",
		unread:     "Ahora mismo no he podido ver todos los calendarios.",
		noneUnread: "Ahora mismo no he podido ver todos los calendarios, así que no puedo ofrecer ninguna hora.",
		said: [sentences]string{
			Held:      "Le guardo un hueco para {slot}.",
			Released:  "Ya no guardo el hueco para {slot}.",
			NotHeld:   "Ya no estaba guardado el hueco para {slot}.",
			Booked:    "La cita queda reservada para {slot}.",
			Moved:     "La cita queda cambiada para {slot}.",
			Cancelled: "La cita está cancelada.",
		},
		meeting: "Veo una cita para {slots}.", meetings: "Veo citas para {slots}.",
		nobody: "No he encontrado ninguna cita.",
		opened: "El ticket está abierto. Su número es {number}.", ticket: "Este es el ticket {number}.",
		now:   "Hoy es {weekday} {day} de {month}. La hora es {clock}.",
		signs: map[rune]string{'-': "guion", '.': "punto", '@': "arroba", '_': "guion bajo", '+': "más", '/': "barra", '#': ""},
	}
}
