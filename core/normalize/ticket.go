package normalize

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/crm"
	"frontdesk/core/record"
)

// longestComment is the maximum length of the last comment in a record, in characters.
const longestComment = 280

// Ticket returns the record of a ticket: texts without markup, the last comment shortened, times in UTC, and
// absent if the CRM has none.
func Ticket(t crm.Ticket) record.Ticket {
	return record.Ticket{
		ID:           t.ID,
		TicketNumber: t.Number,
		Subject:      t.Subject,
		Description:  plainText(t.Description),
		Status:       t.Status,
		Priority:     t.Priority,
		OwnerID:      t.OwnerID,
		AccountID:    t.AccountID,
		ContactID:    t.ContactID,
		CreatedAt:    ticketTime(t.CreatedAt),
		ClosedAt:     ticketTime(t.ClosedAt),
		ResolvedAt:   ticketTime(t.ResolvedAt),
		UpdatedAt:    ticketTime(t.UpdatedAt),
		LastComment:  snippet(plainText(t.LastComment), longestComment),
	}
}

func ticketTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Format(t, time.UTC)
}

func plainText(t crm.Text) string {
	if t.HTML {
		return htmlToText(t.Body)
	}
	return strings.TrimSpace(tidy(t.Body))
}

// TicketNumber converts a ticket number as a caller says it into the form that the CRM uses. Spaces and
// number signs around it are dropped. If the CRM pads numbers, leading zeros fill it up to width; a width of
// 0 means no padding. Spaces between digits, which dictation inserts, are dropped as well. A number that
// holds anything but digits is otherwise left alone. TicketNumber returns "" if no number was given.
func TicketNumber(given string, width int) string {
	number := strings.TrimFunc(given, func(r rune) bool { return r == '#' || unicode.IsSpace(r) })
	digits := strings.Join(strings.Fields(number), "")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return number
	}
	if width <= 0 {
		return digits
	}
	digits = strings.TrimLeft(digits, "0")
	return strings.Repeat("0", max(0, width-len(digits))) + digits
}

// Label finds the CRM's label that a caller means, without regard to letter case and surrounding spaces. It
// first looks in the tenant's own words (word to label), then in the labels themselves. The result is spelled
// as in valid. A word for a label that is not valid is ignored.
func Label(given string, valid []string, words map[string]string) (label string, ok bool) {
	given = strings.TrimSpace(given)
	if given == "" {
		return "", false
	}
	if meant, known := wordFor(given, words); known {
		if label, ok := findLabel(meant, valid); ok {
			return label, true
		}
	}
	return findLabel(given, valid)
}

// wordFor looks up a word. An exact match comes before matches in other case, and of those the first in
// sorted order counts, so that the result does not depend on map order.
func wordFor(given string, words map[string]string) (meant string, known bool) {
	if meant, known = words[given]; known {
		return meant, true
	}
	var alike []string
	for word := range words {
		if strings.EqualFold(strings.TrimSpace(word), given) {
			alike = append(alike, word)
		}
	}
	if len(alike) == 0 {
		return "", false
	}
	return words[slices.Min(alike)], true
}

// findLabel finds a label. An exact match comes before a match in other case.
func findLabel(given string, valid []string) (label string, ok bool) {
	given = strings.TrimSpace(given)
	if slices.Contains(valid, given) {
		return given, true
	}
	i := slices.IndexFunc(valid, func(v string) bool { return strings.EqualFold(strings.TrimSpace(v), given) })
	if i < 0 {
		return "", false
	}
	return valid[i], true
}
