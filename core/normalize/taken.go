package normalize

import (
	"strings"

	"frontdesk/core/crm"
	"frontdesk/core/record"
)

// NotTaken returns the names of the fields that were requested for a new ticket and that the ticket does not
// have, in the order of the interface. Ids must be equal, labels equal without regard to case. A subject and
// a description match if all their words occur in the ticket's text in the same order: CRMs add words of
// their own and change white space, punctuation and markup.
func NotTaken(wanted crm.NewTicket, t record.Ticket) []string {
	var names []string
	for _, field := range []struct {
		name, wanted, has string
		same              func(wanted, has string) bool
	}{
		{"subject", wanted.Subject, t.Subject, hasWords},
		{"description", wanted.Description, t.Description, hasWords},
		{"priority", wanted.Priority, t.Priority, sameLabel},
		{"status", wanted.Status, t.Status, sameLabel},
		{"owner_id", wanted.OwnerID, t.OwnerID, sameID},
		{"account_id", wanted.AccountID, t.AccountID, sameID},
		{"contact_id", wanted.ContactID, t.ContactID, sameID},
	} {
		if field.wanted != "" && !field.same(field.wanted, field.has) {
			names = append(names, field.name)
		}
	}
	return names
}

func sameID(wanted, has string) bool { return wanted == has }

func sameLabel(wanted, has string) bool {
	return strings.EqualFold(strings.TrimSpace(wanted), strings.TrimSpace(has))
}

// hasWords reports whether all words of wanted occur in has in the same order.
func hasWords(wanted, has string) bool {
	there := crm.Words(has)
	for _, word := range crm.Words(wanted) {
		for len(there) > 0 && there[0] != word {
			there = there[1:]
		}
		if len(there) == 0 {
			return false
		}
		there = there[1:]
	}
	return true
}
