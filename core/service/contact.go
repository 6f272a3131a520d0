package service

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/normalize"
	"frontdesk/core/parallel"
	"frontdesk/core/phonenumber"
	"frontdesk/core/record"
	"frontdesk/core/tenant"
)

// Contacts implements the operation that looks up who calls.
type Contacts struct {
	opts   *Options
	within time.Duration // the time limit of a look-up
}

const (
	// lookUpWithin is the time limit of a look-up with all its requests: the caller hears nothing meanwhile, and
	// the platforms' hooks before the first word end after 7.5 to 10 seconds.
	lookUpWithin = 2500 * time.Millisecond

	mostContacts    = 20 // asked for; the CRM's search may return strangers among them
	mostCandidates  = 5  // more than anybody could choose from by ear
	mostOpenTickets = 5  // of each candidate
)

// The parts of an answer that may be incomplete.
const (
	partialContacts    = "contacts"
	partialOpenTickets = "open_tickets"
)

// candidate is a contact who may be calling.
type candidate struct {
	crm.Contact
	match   phonenumber.Match
	tickets []crm.Ticket
}

// LookUp returns the contacts who may be calling, with the fields that the tenant lets go out. It chooses
// nobody among several. That nobody is known is no error.
func (s *Contacts) LookUp(
	ctx context.Context, c apikey.Caller, in LookUpCaller,
) (record.CallerAnswer, error) {
	opened, err := s.opts.Drivers.CRM(ctx, c.Tenant, c.Connections)
	if err != nil {
		return record.CallerAnswer{}, err
	}
	finder, can := opened.Driver.(crm.ContactFinder)
	if !can {
		return record.CallerAnswer{}, fault.New(fault.Unsupported, fault.ReasonNotSupported,
			"The connected CRM cannot look up callers.").With("provider", opened.Connection.Provider)
	}
	if in.Withheld {
		return record.CallerAnswer{
			Withheld: true, Candidates: []record.Candidate{}, Partial: []string{}, Say: sayCandidates(ctx, nil),
		}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	account := newEndpoint(s.opts, opened, opened.Driver.Traits().MaxConcurrent, opened.Driver.Account)
	query := crm.ContactQuery{Phone: in.Phone, Email: in.Email, Limit: mostContacts}
	found, err := ask(ctx, account, read("find-contacts"), func(ctx context.Context) (crm.Contacts, error) {
		return finder.FindContacts(ctx, query)
	})
	if err != nil {
		return record.CallerAnswer{}, err
	}
	candidates, left := choose(query, found.Contacts)
	answer := record.CallerAnswer{
		Found: len(candidates) > 0, More: found.More || left, Candidates: []record.Candidate{}, Partial: []string{},
	}
	if found.Incomplete {
		answer.Partial = append(answer.Partial, partialContacts)
	}
	fields := c.Tenant.Settings.CallerFields()
	if slices.Contains(fields, tenant.CallerOpenTickets) && !addTickets(ctx, account, finder, candidates) {
		answer.Partial = append(answer.Partial, partialOpenTickets)
	}
	for _, one := range candidates {
		answer.Candidates = append(answer.Candidates, one.record(fields))
	}
	answer.Say = sayCandidates(ctx, answer.Candidates)
	return answer, nil
}

// choose returns the contacts that have the number or the address, the best match first, and whether some
// were left out. Contacts of which only the last digits agree count if there are no others: they may be
// strangers.
func choose(q crm.ContactQuery, found []crm.Contact) (candidates []candidate, left bool) {
	best := phonenumber.None
	for _, contact := range found {
		one := candidate{Contact: contact, match: q.Match(contact)}
		best = max(best, one.match)
		candidates = append(candidates, one)
	}
	candidates = slices.DeleteFunc(candidates, func(c candidate) bool {
		return c.match == phonenumber.None || c.match == phonenumber.Suffix && best > phonenumber.Suffix
	})
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.match, a.match), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	if len(candidates) > mostCandidates {
		return candidates[:mostCandidates], true
	}
	return candidates, false
}

// addTickets adds the open tickets of each candidate, at once, and reports whether it has those of all.
func addTickets(
	ctx context.Context, account endpoint, finder crm.ContactFinder, candidates []candidate,
) bool {
	read := read("open-tickets")
	failed := make([]error, len(candidates))
	group := parallel.New()
	for i := range candidates {
		group.Go(func() error {
			candidates[i].tickets, failed[i] = ask(ctx, account, read,
				func(ctx context.Context) ([]crm.Ticket, error) {
					return finder.OpenTickets(ctx, candidates[i].ID, mostOpenTickets)
				})
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed
	all := true
	for i, err := range failed {
		if err != nil && fault.From(err).Code != fault.NotFound { // a contact that is gone has none
			account.opts.Log.WarnContext(ctx, "the open tickets of a contact could not be read",
				"connection", account.connection.ID, "error", err)
			candidates[i].tickets, all = nil, false
		}
	}
	return all
}

var matchNames = map[phonenumber.Match]string{
	phonenumber.Exact: "exact", phonenumber.National: "national", phonenumber.Suffix: "suffix",
}

// record returns the candidate with the given fields.
func (c candidate) record(fields []string) record.Candidate {
	out := record.Candidate{Match: matchNames[c.match]}
	for _, field := range fields {
		switch field {
		case tenant.CallerName:
			out.Name = c.Name
		case tenant.CallerContactID:
			out.ContactID = c.ID
		case tenant.CallerEmail:
			out.Emails = c.Emails
		case tenant.CallerPhoneNumbers:
			out.PhoneNumbers = c.Phones
		case tenant.CallerAccount:
			if c.AccountID != "" || c.AccountName != "" {
				out.Account = &record.CallerAccount{ID: c.AccountID, Name: c.AccountName}
			}
		case tenant.CallerOpenTickets:
			for _, t := range c.tickets {
				ticket := normalize.Ticket(t)
				out.OpenTickets = append(out.OpenTickets, record.OpenTicket{
					TicketNumber: ticket.TicketNumber, Subject: ticket.Subject, Status: ticket.Status,
					Priority: ticket.Priority, CreatedAt: ticket.CreatedAt, UpdatedAt: ticket.UpdatedAt,
				})
			}
		}
	}
	return out
}

// callerWords are the sentences about who calls, in one language.
type callerWords struct {
	unknown string // nobody is known
	unnamed string // somebody is known, but the name does not go out
	named   string // with %s for the names
	or      string // between the last two names
	orO     string // the same before the sound of o; "": or
}

// callerLanguages returns the sentences by language.
func callerLanguages() map[string]callerWords {
	return map[string]callerWords{
		language.English: {
			"I do not know who is calling.", "The caller may be somebody we know.", "This may be %s.", "or", "",
		},
		language.Spanish: {
			"No sé quién llama.", "Puede que llame alguien conocido.", "Puede que sea %s.", "o", "u",
		},
		language.German: {
			"Ich weiß nicht, wer anruft.", "Es könnte jemand anrufen, den wir kennen.", "Das könnte %s sein.", "oder", "",
		},
		language.French: {
			"Je ne sais pas qui appelle.", "C’est peut-être quelqu’un que nous connaissons.", "C’est peut-être %s.", "ou", "",
		},
	}
}

// beginsWithO matches a Spanish name that begins with the sound of o, before which o becomes u (Ortografía de la lengua
// española, RAE).
var beginsWithO = regexp.MustCompile(`^(?i)h?[oó]`)

// sayCandidates says who may be calling, in the language of the context.
func sayCandidates(ctx context.Context, candidates []record.Candidate) string {
	words := callerLanguages()[language.Of(ctx)]
	var names []string
	for _, c := range candidates {
		if c.Name != "" && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	if len(candidates) == 0 {
		return words.unknown
	}
	if len(names) == 0 {
		return words.unnamed
	}
	last := names[len(names)-1]
	if all := names[:len(names)-1]; len(all) > 0 {
		or := words.or
		if words.orO != "" && beginsWithO.MatchString(last) {
			or = words.orO
		}
		last = strings.Join(all, ", ") + " " + or + " " + last
	}
	return fmt.Sprintf(words.named, last)
}
