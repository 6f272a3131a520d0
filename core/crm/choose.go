package crm

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/fault"
)

// ClockSkew is the largest difference expected between the clock of a CRM and the gateway's.
const ClockSkew = 2 * time.Minute

// Choose returns the ticket among found that a Create of t created. It is for CRMs that do not store the key.
// found must hold every possible ticket: all those created no earlier than t.Since, less [ClockSkew]. It may
// hold one twice, as lists do that get longer while their pages are read.
//
// A ticket fits if its subject, its description and the ids that t gives equal those of t. If exactly one
// ticket fits, Choose returns it. A ticket that equals t only in part proves neither that it is the one nor
// that there is none: people and rules of a CRM change new tickets.
func Choose(t NewTicket, found []Ticket) (Ticket, error) {
	var fitting []Ticket
	resembling := false
	for _, f := range found {
		switch {
		case slices.Contains(t.Others, f.ID):
		case !f.CreatedAt.IsZero() && f.CreatedAt.Before(t.Since.Add(-ClockSkew)):
		case slices.ContainsFunc(fitting, func(known Ticket) bool { return known.ID == f.ID }):
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

// resembles reports whether f may be what rules of the CRM made of t: whether one of its texts is that of t, or each
// has all words of that of t in a row. In one of them alone, they may be what many callers say.
func resembles(t NewTicket, f Ticket) bool {
	return SameText(f.Subject, t.Subject) ||
		withoutSpace(t.Description) != "" && SameText(f.Description.Body, t.Description) ||
		holds(f.Subject, t.Subject) && holds(f.Description.Body, t.Description)
}

func holds(text, part string) bool {
	inARow := func(s string) string { return strings.Join(Words(strings.ToLower(s)), " ") }
	words := inARow(part)
	return words == "" || strings.Contains(" "+inARow(text)+" ", " "+words+" ")
}

// Words returns the words of a text, without what is between them.
func Words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark)
	})
}

func sameIfGiven(found, given string) bool { return given == "" || found == given }

// SameText reports whether two texts are equal apart from white space. CRMs trim white space and drop the
// ends of lines.
func SameText(a, b string) bool { return withoutSpace(a) == withoutSpace(b) }

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
