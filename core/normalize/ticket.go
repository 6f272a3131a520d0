package normalize

import (
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"

	"frontdesk/core/crm"
	"frontdesk/core/record"
)

// mostComment is the longest last_comment, in characters as people count them.
const mostComment = 280

// Ticket is the record of a ticket.
func Ticket(t crm.Ticket) record.Ticket {
	return record.Ticket{
		ID: t.ID, TicketNumber: t.Number, Subject: t.Subject, Description: text(t.Description),
		Status: t.Status, Priority: t.Priority, OwnerID: t.OwnerID, AccountID: t.AccountID, ContactID: t.ContactID,
		CreatedAt: moment(t.CreatedAt), UpdatedAt: moment(t.UpdatedAt), ClosedAt: moment(t.ClosedAt), ResolvedAt: moment(t.ResolvedAt),
		LastComment: Snippet(text(t.LastComment), mostComment),
	}
}

func text(t crm.Text) string {
	if t.HTML {
		return PlainText(t.Body)
	}
	return strings.TrimSpace(t.Body)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Snippet cuts a text to at most so many grapheme clusters (Unicode Standard Annex 29), the ellipsis included.
func Snippet(s string, most int) string {
	if len(s) <= most {
		return s
	}
	count, cut := 0, 0
	for rest, state, at := s, -1, 0; rest != ""; count++ {
		if count == most-1 {
			cut = at
		}
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
	}
	if count <= most {
		return s
	}
	return strings.TrimRightFunc(s[:cut], unicode.IsSpace) + "…"
}

// TicketNumber is a ticket number as the CRM writes it, from what a caller says: spaces and "#" are forgiven, and the
// zeros that pad it to width digits.
func TicketNumber(given string, width int) string {
	number := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(given), "#"))
	digits := number != "" && strings.Trim(number, "0123456789") == ""
	if digits && len(number) < width {
		return strings.Repeat("0", width-len(number)) + number
	}
	return number
}

// Label answers the CRM's label that a word means, without regard to case: the tenant's own words first.
func Label(given string, valid []string, words map[string]string) (string, bool) {
	for word, label := range words {
		if strings.EqualFold(strings.TrimSpace(word), strings.TrimSpace(given)) {
			given = label
			break
		}
	}
	for _, label := range valid {
		if strings.EqualFold(label, strings.TrimSpace(given)) {
			return label, true
		}
	}
	return "", false
}
