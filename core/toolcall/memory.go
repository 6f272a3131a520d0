package toolcall

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/api"
	"frontdesk/core/store"
)

// Notes keeps what the tools of a telephone call told, so that a model can say "the second one" or "that
// meeting" in the place of a reference. [*store.Store] implements it.
type Notes interface {
	NoteCall(ctx context.Context, notes ...store.CallNote) error
	NoteCallOnce(ctx context.Context, n store.CallNote) ([]string, error)
	CallNote(ctx context.Context, tenantID, call, kind string) ([]string, error)
}

// memory is the notes of one telephone call. Without a call it is empty and keeps nothing. A note that cannot
// be read or written is as if it were not there: whatever it would have told, the model was told as well.
type memory struct {
	notes            Notes
	tenantID, callID string
	now              time.Time
	told             map[string][]string // by kind, to be written at the end of learn
}

func (m memory) works() bool { return m.notes != nil && m.callID != "" }

func (m memory) recall(ctx context.Context, kind string) []string {
	if !m.works() {
		return nil
	}
	value, err := m.notes.CallNote(ctx, m.tenantID, digest(m.callID), kind)
	if err != nil {
		return nil
	}
	return value
}

func (m memory) note(kind string, value []string) { m.told[kind] = value }

func (m memory) row(kind string, value []string) store.CallNote {
	return store.CallNote{TenantID: m.tenantID, Call: digest(m.callID), Kind: kind, Value: value, NotedAt: m.now}
}

// Kinds of notes.
const (
	notedSlots    = "slots"
	notedHold     = "hold"
	notedChosen   = "chosen" // the hold, until other slots are told
	notedMeetings = "meetings"
	notedListed   = "listed" // the meetings among which a place is one
	notedTickets  = "tickets"
	notedContacts = "contacts"
	notedChange   = "change"
	notedDays     = "days of " // followed by slots or listed: the days of the month on which they are
	notedUntil    = "until "   // followed by the change: when its hold ends
	notedHeld     = "held "    // followed by the slot: the last hold on it
	notedMade     = "made "    // followed by the change: what it came after, and the meeting or hold that it made
	notedBooked   = "booked "  // followed by the hold or the slot: the meeting that it became, and by which change
	notedUndone   = "undone "  // followed by the meeting: the change that undid what had made it
)

// reference is a field of arguments that names something which an earlier tool told.
type reference struct {
	field, kind string
	prefix      string // of every such reference; "": its texts have no form, and may be numbers
}

const prefixOfHolds = "hd_"

var references = []reference{
	{"slot_id", notedSlots, "st_"}, {"hold_id", notedHold, prefixOfHolds}, {"meeting_reference", notedMeetings, "mt_"},
	{"reschedule_meeting_id", notedMeetings, "mt_"}, {"ticket_number", notedTickets, ""},
	{"contact_id", notedContacts, ""},
}

// resolve puts references into the arguments where a model says which of those that it was told, or says
// nothing of the only one there is. What it cannot tell is left to the interface to refuse.
func (m memory) resolve(ctx context.Context, t api.Tool, arguments []byte) []byte {
	if !m.works() {
		return arguments
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	given := map[string]json.RawMessage{}
	if json.Unmarshal(t.Schema, &schema) != nil ||
		len(arguments) > 0 && json.Unmarshal(arguments, &given) != nil {
		return arguments
	}
	changed := false
	for _, r := range references {
		said := textOf(given[r.field])
		if _, takes := schema.Properties[r.field]; !takes || said == "" &&
			!slices.Contains(schema.Required, r.field) ||
			r.prefix != "" && strings.HasPrefix(said, r.prefix) {
			continue
		}
		kind := r.kind
		if at, _ := placeOf(said); kind == notedMeetings && at != theOnly {
			kind = notedListed
		}
		if id := r.choose(said, m.recall(ctx, kind)); id != "" && !m.isOtherDay(ctx, said, kind) {
			given[r.field], changed = asJSON(id), true
		}
	}
	_, slot := schema.Properties["slot_id"]
	_, hold := schema.Properties["hold_id"]
	if slot && hold && textOf(given["slot_id"]) == "" && textOf(given["hold_id"]) == "" { // either is required
		for _, r := range []reference{{"hold_id", notedChosen, prefixOfHolds}, references[0]} {
			if id := r.choose("", m.recall(ctx, r.kind)); id != "" {
				given[r.field], changed = asJSON(id), true
				break
			}
		}
	}
	if said := textOf(given["slot_id"]); slot && hold && said != "" { // to whoever holds the slot, it is not taken
		held, named := m.recall(ctx, notedHeld+said), textOf(given["hold_id"])
		if len(held) == 1 && (named == "" || named == held[0]) {
			delete(given, "slot_id")
			given["hold_id"], changed = asJSON(held[0]), true
		}
	}
	if !changed {
		return arguments
	}
	return asJSON(given)
}

// textOf returns a text, or a number as one. Null and an empty list are "", since they give nothing to the interface.
// Everything else is its JSON, which says something, if nothing that can be understood.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 0 {
		return ""
	}
	return string(raw)
}

// choose returns the one of the told references that a model means, or "".
func (r reference) choose(said string, told []string) string {
	at, known := placeOf(said)
	switch {
	case !known || len(told) == 0:
		return ""
	case at == theOnly:
		if len(told) == 1 {
			return told[0]
		}
		return ""
	case r.prefix == "": // a number might be the thing itself
		return ""
	case at == theLast:
		return told[len(told)-1]
	case at <= len(told):
		return told[at-1]
	}
	return ""
}

// Places besides those that are counted from 1.
const (
	theOnly = 0
	theLast = -1
)

// placeOf returns which of several a text means: "the second one", "option 2", "el último", "that". Nothing
// means the only one. A text with any other word, or with signs alone, is not understood: "2 pm" is no second slot.
func placeOf(text string) (at int, known bool) {
	words := wordsOf(text)
	at, known = theOnly, text == "" || len(words) > 0
	counted := false
	for i, word := range words {
		place, is := places[word]
		switch {
		case i > 0 && isInteger(word) && atHours[words[i-1]]:
			return 0, false
		case is && !counted:
			at, counted = place, true
		case is && place != at:
			return 0, false
		case is || fillers[word]:
		case word == "no" && i+1 < len(words) && isInteger(words[i+1]): // "no. 2", and not "no, that one"
		case !counted && isInteger(word) && word != "0" && len(word) <= 2: // there are no words beyond the sixth
			at, _ = strconv.Atoi(word)
			counted = true
		default:
			return 0, false
		}
	}
	return at, known
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// dayOf returns the day of the month of a time in RFC 3339, or "".
func dayOf(start string) string {
	t, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return ""
	}
	return strconv.Itoa(t.Day())
}

// isOtherDay reports whether a text that names a place could as well mean another of those that were told, by its day
// of the month: "I have Monday the thirtieth, and Tuesday the first at nine or ten". A plain number is a place, which
// costs no read, but not after an article, by which Spanish, French and German name days: "el 2", "le 2", "den 2.".
func (m memory) isOtherDay(ctx context.Context, said, kind string) bool {
	at, _ := placeOf(said)
	number := strconv.Itoa(at)
	words := wordsOf(said)
	i := slices.Index(words, number)
	if at <= 0 || i == 0 || i > 0 && !articles[words[i-1]] {
		return false
	}
	for before, day := range m.recall(ctx, notedDays+kind) {
		if day == number && before != at-1 {
			return true
		}
	}
	return false
}

// places are the words for places in a list: in English, Spanish, German and French.
var places = wordsFor(map[int]string{
	1:       "1 1st first erste ersten erster erstes primero primera primer premier première",
	2:       "2 2nd second zweite zweiten zweiter zweites segundo segunda deuxième seconde",
	3:       "3 3rd third dritte dritten dritter drittes tercero tercera tercer troisième",
	4:       "4 4th fourth vierte vierten vierter viertes cuarto cuarta quatrième",
	5:       "5 5th fifth fünfte fünften fünfter fünftes quinto quinta cinquième",
	6:       "6 6th sixth sechste sechsten sexto sexta sixième",
	theLast: "last letzte letzten letzter letztes último última dernier dernière",
})

// fillers are words that go with a place and say nothing of it.
var fillers = setOf("the one number option slot time meeting appointment choice that this it same hold ticket " +
	"contact caller der die das den dem dieser diese dieses diesen nummer termin option uhrzeit kontakt " +
	"el la lo esa ese eso esta este número numero opción opcion cita hora reserva " +
	"le l celui celle cette ce ça numéro rendez vous créneau horaire")

// atHours are those of the fillers after which a plain number is an hour rather than a place: "the 10 appointment".
var atHours = setOf("the that this time uhrzeit hora horaire")

// articles are those of the fillers with which a number may be a day.
var articles = setOf("el la le der die das den dem")

func wordsFor(lists map[int]string) map[string]int {
	all := map[string]int{}
	for place, list := range lists {
		for word := range strings.FieldsSeq(list) {
			all[word] = place
		}
	}
	return all
}

func setOf(list string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		all[word] = true
	}
	return all
}

// learn notes what a call of a tool told and changed, and after which change.
func (m memory) learn(ctx context.Context, t api.Tool, arguments []byte, after string, r Result) {
	if !m.works() {
		return
	}
	m.keep(ctx, r)
	m.held(ctx, t, arguments, r)
	if r.OK && t.Destructive {
		m.undid(ctx, t, arguments)
	}
	if r.OK && t.Writes {
		m.made(t, arguments, after, r)
	}
	var rows []store.CallNote
	for kind, value := range m.told {
		rows = append(rows, m.row(kind, value))
	}
	if len(rows) > 0 { // all at once: a person waits for it
		_ = m.notes.NoteCall(ctx, rows...) // see memory
	}
}

// keep notes what a result tells. A repeat must mean what the first call meant, so a cancelled meeting stays
// noted, and a refusal that tells of other slots leaves none to choose from by words. A hold is no longer what is
// booked where nothing is said once other slots are told: a caller may have asked for them to take one instead.
func (m memory) keep(ctx context.Context, r Result) {
	if _, others := r.Answer["nearest_slots"]; others {
		m.note(notedSlots, nil)
		m.unchoose(ctx)
	}
	for _, list := range []struct{ name, field, kind string }{
		{"slots", "slot_id", notedSlots}, {"meetings", "meeting_reference", notedMeetings},
		{"candidates", "contact_id", notedContacts},
	} {
		var entries []map[string]json.RawMessage
		if raw, has := r.Answer[list.name]; has && json.Unmarshal(raw, &entries) == nil {
			var told, days []string
			for _, entry := range entries {
				if id := textOf(entry[list.field]); id != "" {
					told, days = append(told, id), append(days, dayOf(textOf(entry["start"])))
				}
			}
			m.note(list.kind, told)
			switch list.kind {
			case notedSlots:
				m.note(notedDays+notedSlots, days)
				if len(told) > 0 {
					m.unchoose(ctx)
				}
			case notedMeetings:
				m.note(notedListed, told)
				m.note(notedDays+notedListed, days)
			}
		}
	}
	var ticket map[string]json.RawMessage
	_ = json.Unmarshal(r.Answer["ticket"], &ticket) // without a ticket there is nothing to note
	for kind, id := range map[string]string{
		notedHold: textOf(r.Answer["hold_id"]), notedChosen: textOf(r.Answer["hold_id"]),
		notedMeetings: textOf(r.Answer["meeting_reference"]), notedTickets: textOf(ticket["ticket_number"]),
	} {
		if id != "" {
			m.note(kind, []string{id})
		}
	}
	if id := textOf(r.Answer["meeting_reference"]); id != "" {
		m.place(ctx, id)
	}
}

// place gives a meeting that was booked, moved or cancelled its place among those that were told. It keeps the one
// that it has: whoever cancels the second and then the first means two meetings. After a meeting that is not in the
// list, a place could mean two, and means none.
func (m memory) place(ctx context.Context, id string) {
	switch listed := m.recall(ctx, notedListed); {
	case len(listed) == 0:
		m.note(notedListed, []string{id})
	case !slices.Contains(listed, id):
		m.note(notedListed, []string{""})
	}
}

// unchoose forgets which hold is booked where nothing is said.
func (m memory) unchoose(ctx context.Context) {
	if len(m.recall(ctx, notedChosen)) > 0 { // a read costs less than a write
		m.note(notedChosen, nil)
	}
}

// key returns the idempotency key of a change, or "" for a read or outside a call, which change it came after, and
// its arguments, of which raw are those before any word of theirs was resolved. Within a call, equal changes are
// one, whether the platform repeats the call of the tool or the model asks again. After a change that undoes what it
// made, such as a cancellation, an equal change is another: somebody may cancel a meeting and book it again. A
// platform that repeats a call of a tool, by its id, gets the answer of that call even then: its words mean what
// they meant the first time, though the second slot is another by now. After a hold has ended, an equal one is
// another, too: the slot may be somebody else's by now, so that it must not be promised again.
func (m memory) key(
	ctx context.Context, t api.Tool, raw, arguments []byte, toolCallID string,
) (key, after string, meant []byte) {
	if m.callID == "" || !t.Writes {
		return "", "", arguments
	}
	change := changeOf(t, arguments)
	after = m.since(ctx, t, change)
	since := after
	if t.Name == toolHold {
		if ended := m.ended(m.recall(ctx, notedUntil+change)); ended != "" {
			since = digest(since, ended)
		}
	}
	if toolCallID != "" && m.works() {
		mine := append([]string{since}, resolved(raw, arguments)...)
		first, err := m.notes.NoteCallOnce(ctx, m.row("of "+digest(toolCallID, changeOf(t, raw)), mine))
		if err == nil && len(first) > 0 && !slices.Equal(first, mine) {
			since, arguments = first[0], withReferences(raw, first[1:])
			change = changeOf(t, arguments)
			after = m.since(ctx, t, change)
		}
	}
	return "call-" + digest(m.callID, change, since)[:32], after, arguments
}

// resolved returns which references resolve put into arguments: each field, and what it has then, or "" if nothing.
func resolved(raw, arguments []byte) (fields []string) {
	var said, meant map[string]json.RawMessage
	if json.Unmarshal(raw, &said) != nil && len(raw) > 0 || json.Unmarshal(arguments, &meant) != nil {
		return nil // nothing was put into what cannot be read
	}
	for _, r := range references {
		if id := textOf(meant[r.field]); id != textOf(said[r.field]) {
			fields = append(fields, r.field, id)
		}
	}
	return fields
}

// withReferences puts the references that resolved returned into arguments.
func withReferences(raw []byte, fields []string) []byte {
	given := map[string]json.RawMessage{}
	if len(fields) == 0 || len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return raw
	}
	for field := range slices.Chunk(fields, 2) {
		if delete(given, field[0]); field[1] != "" {
			given[field[0]] = asJSON(field[1])
		}
	}
	return asJSON(given)
}

// since names the last change before this one that undid others, if there was one. Of a change whose meeting or hold
// none of them undid, it is what that change came after.
func (m memory) since(ctx context.Context, t api.Tool, change string) string {
	if t.Name == toolTicket { // nothing undoes one
		return ""
	}
	last := m.recall(ctx, notedChange)
	switch {
	case len(last) != 3:
		return ""
	case last[1] == change: // this one, asked for again
		return last[2]
	}
	if made := m.recall(ctx, notedMade+change); len(made) == 2 && !m.isUndone(ctx, made[1]) {
		return made[0]
	}
	return last[0]
}

// isUndone reports whether a meeting was cancelled or moved, or the one that a hold became.
func (m memory) isUndone(ctx context.Context, what string) bool {
	if became := m.recall(ctx, notedBooked+what); len(became) > 0 {
		what = became[0]
	}
	return len(m.recall(ctx, notedUndone+what)) > 0
}

// undid notes that a change undid others, and of which meeting.
func (m memory) undid(ctx context.Context, t api.Tool, arguments []byte) {
	change := changeOf(t, arguments)
	before := m.since(ctx, t, change)
	m.note(notedChange, []string{digest(before, change), change, before})
	m.note(notedUndone+namedIn(arguments).Meeting, []string{change})
}

// made notes which meeting or hold a change made, so that a change of another one is no reason to make it again, and
// which meeting a hold became.
func (m memory) made(t api.Tool, arguments []byte, after string, r Result) {
	what := cmp.Or(textOf(r.Answer["meeting_reference"]), textOf(r.Answer["hold_id"]))
	if what == "" {
		return
	}
	if !t.Destructive {
		m.note(notedMade+changeOf(t, arguments), []string{after, what})
	}
	if offered := namedIn(arguments).offered(); offered != "" && t.Name != toolHold {
		m.note(notedBooked+offered, []string{what, changeOf(t, arguments)})
	}
}

// named are the references in arguments, or in a part of an answer.
type named struct {
	Slot    string `json:"slot_id"`
	Hold    string `json:"hold_id"`
	Meeting string `json:"meeting_reference"`
}

func namedIn(object []byte) (n named) {
	_ = json.Unmarshal(object, &n) // the interface has read it, or written it
	return n
}

// offered returns the hold, or else the slot.
func (n named) offered() string { return cmp.Or(n.Hold, n.Slot) }

// own returns the refusal of a slot that is taken. If the call has booked it itself, or moved a meeting there, as when
// a model corrects the title, the refusal says so: another slot in its place would be a second meeting.
func (m memory) own(ctx context.Context, arguments []byte, words words, refusal Result) Result {
	meeting := m.recall(ctx, notedBooked+namedIn(arguments).offered())
	if len(meeting) == 0 {
		return refusal
	}
	// The meeting may have been cancelled or moved since, unless it was moved to this slot.
	if undone := m.recall(ctx, notedUndone+meeting[0]); len(undone) > 0 && !slices.Contains(meeting[1:], undone[0]) {
		return refusal
	}
	return Result{Said: words.own, Answer: map[string]json.RawMessage{
		"reason": refusal.Answer["reason"], "meeting_reference": asJSON(meeting[0]),
		"message": asJSON("This telephone call has booked this time itself, as the meeting in meeting_reference. Book no " +
			"other one in its place."),
	}}
}

// Tools whose changes differ from the others: a hold ends by itself, and nothing undoes a ticket.
const (
	toolHold   = "hold_slot"
	toolTicket = "create_ticket"
)

// ended names the last of equal holds that has ended by the note of the latest, or is "". The note is of when that
// one ends, and of which had ended when it began.
func (m memory) ended(latest []string) string {
	if len(latest) != 2 {
		return ""
	}
	until, err := time.Parse(time.RFC3339, latest[0])
	if err == nil && m.now.Before(until.Add(time.Second)) { // it ends within the second that its answer tells
		return latest[1]
	}
	return latest[0]
}

// held notes until when a result holds a slot, and by which hold. A repeat may be answered with an earlier hold, which
// is not noted.
func (m memory) held(ctx context.Context, t api.Tool, arguments []byte, r Result) {
	if t.Name != toolHold {
		return
	}
	told := textOf(r.Answer["held_until"])
	until, err := time.Parse(time.RFC3339, told)
	if err != nil {
		return // nothing is held
	}
	kind := notedUntil + changeOf(t, arguments)
	latest := m.recall(ctx, kind)
	if len(latest) == 2 {
		if noted, err := time.Parse(time.RFC3339, latest[0]); err == nil && until.Before(noted) {
			return
		}
	}
	m.note(kind, []string{told, m.ended(latest)})
	m.note(notedHeld+namedIn(r.Answer["slot"]).Slot, []string{textOf(r.Answer["hold_id"])})
}

// changeOf names what a change asks for. Equal changes have one name, also where a model says null or nothing of what
// it leaves out: to the interface, both are not given. The lists of changes are sets: the addresses of attendees, which
// the interface compares without case.
func changeOf(t api.Tool, arguments []byte) string {
	var asked map[string]any
	if json.Unmarshal(arguments, &asked) == nil {
		maps.DeleteFunc(asked, func(_ string, value any) bool {
			list, is := value.([]any)
			return value == nil || value == "" || is && len(list) == 0
		})
		for name, value := range asked {
			if list, is := value.([]any); is {
				asked[name] = setOfTexts(list)
			}
		}
		arguments = asJSON(asked) // in one order of the fields
	}
	return digest(t.Name, string(arguments))
}

func setOfTexts(list []any) []string {
	var texts []string
	for _, each := range list {
		texts = append(texts, strings.ToLower(textOf(asJSON(each))))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
