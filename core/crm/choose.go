package crm

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/fault"
)

// ClockSkew is how far the clock of a CRM may be from the gateway's.
const ClockSkew = 2 * time.Minute

// Choose returns the one of the tickets found that a Create of t made, for a CRM that keeps no key. Found
// must be all the tickets that can be it: those created no earlier than t.Since, less [ClockSkew].
//
// A ticket fits when it says all that t says: subject, description, and the ids that are given. Where one
// fits and no other, it is the one. A ticket that says only a part of it is no proof, neither that it is the
// one nor that there is none: people and rules of a CRM change new tickets.
func Choose(t NewTicket, found []Ticket) (Ticket, error) {
	var fitting []Ticket
	resembling := false
	for _, f := range found {
		switch {
		case slices.Contains(t.Others, f.ID):
		case !f.CreatedAt.IsZero() && f.CreatedAt.Before(t.Since.Add(-ClockSkew)):
		case fits(t, f):
			fitting = append(fitting, f)
		case resembles(t, f):
			resembling = true
		}
	}
	switch {
	case len(fitting) == 1:
		return fitting[0], nil
	case len(fitting) > 1:
		return Ticket{}, fault.Unknowable("Several new tickets match, and nothing shows which of them is " +
			"this one.")
	case resembling:
		return Ticket{}, fault.Unknowable(
			"A new ticket resembles this one but differs in part, so it may be another one.")
	}
	return Ticket{}, fault.New(fault.NotFound, fault.ReasonTicketNotFound, "No such ticket was opened.")
}

func fits(t NewTicket, f Ticket) bool {
	return SameText(f.Subject, t.Subject) && SameText(f.Description.Body, t.Description) &&
		sameIfGiven(f.OwnerID, t.OwnerID) && sameIfGiven(f.AccountID, t.AccountID) &&
		sameIfGiven(f.ContactID, t.ContactID)
}

func resembles(t NewTicket, f Ticket) bool {
	return SameText(f.Subject, t.Subject) ||
		withoutSpace(t.Description) != "" && SameText(f.Description.Body, t.Description)
}

func sameIfGiven(found, given string) bool { return given == "" || found == given }

// SameText reports whether two texts are the same but for white space, which CRMs trim and lose with the ends
// of lines.
func SameText(a, b string) bool { return withoutSpace(a) == withoutSpace(b) }

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
