package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
)

// numberWidth is the minimum number of digits in a ticket number. Salesforce pads case numbers the same way.
const numberWidth = 8

// mostDigits is the maximum number of digits in a ticket number: that of an int64.
const mostDigits = 19

// The storage keys of the last number given, of a ticket by its number, and of a number by the ticket's id.
const (
	lastKey     = "last-ticket-number"
	ticketKey   = "ticket/"
	ticketIDKey = "ticket-id/"
)

// document is a ticket as it is stored.
type document struct {
	ID          string    `json:"id"`
	Number      string    `json:"number"`
	Subject     string    `json:"subject"`
	Description text      `json:"description"`
	Status      string    `json:"status"`
	Priority    string    `json:"priority"`
	OwnerID     string    `json:"owner_id,omitempty"`
	AccountID   string    `json:"account_id,omitempty"`
	ContactID   string    `json:"contact_id,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ResolvedAt  time.Time `json:"resolved_at,omitzero"`
	ClosedAt    time.Time `json:"closed_at,omitzero"`
	Comments    []comment `json:"comments,omitempty"` // oldest first
}

type text struct {
	Body string `json:"body"`
	HTML bool   `json:"html,omitempty"`
}

type comment struct {
	text
	Public bool `json:"public"`
}

// ticket converts the document into a ticket of the contract.
func (d document) ticket() crm.Ticket {
	t := crm.Ticket{
		ID: d.ID, Number: d.Number, Subject: d.Subject, Description: crm.Text(d.Description), Status: d.Status,
		Priority: d.Priority, OwnerID: d.OwnerID, AccountID: d.AccountID, ContactID: d.ContactID,
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, ResolvedAt: d.ResolvedAt, ClosedAt: d.ClosedAt,
	}
	for _, c := range d.Comments {
		if c.Public {
			t.LastComment = crm.Text(c.text)
		}
	}
	return t
}

// idOf derives a ticket's id from the key it is created with.
func idOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "tkt_" + hex.EncodeToString(sum[:12])
}

func pad(number string) string {
	return strings.Repeat("0", max(0, numberWidth-len(number))) + number
}

// byNumber finds the ticket with exactly this number.
func (d *driver) byNumber(tx adapter.StorageTx, number string) (doc document, found bool, err error) {
	if number == "" || len(number) > mostDigits || strings.Trim(number, "0123456789") != "" {
		return doc, false, nil // not one of our numbers, and maybe not a valid storage key
	}
	doc, found, err = adapter.GetDocument[document](tx, ticketKey+number)
	if err == nil && !found {
		doc, found = d.seedTicket(func(seed document) bool { return seed.Number == number })
	}
	return doc, found, err
}

// byID finds the ticket with this id.
func (d *driver) byID(tx adapter.StorageTx, id string) (doc document, found bool, err error) {
	rest, ours := strings.CutPrefix(id, "tkt_")
	if !ours || strings.Trim(rest, "0123456789abcdef") != "" {
		return doc, false, nil
	}
	number, found, err := adapter.GetDocument[string](tx, ticketIDKey+id)
	if err != nil {
		return doc, false, err
	}
	if !found {
		doc, found = d.seedTicket(func(seed document) bool { return seed.ID == id })
		return doc, found, nil
	}
	return d.byNumber(tx, number)
}

// add stores a new ticket under the next number.
func (d *driver) add(tx adapter.StorageTx, id string, t crm.NewTicket) (document, error) {
	number, err := d.nextNumber(tx)
	if err != nil {
		return document{}, err
	}
	doc := document{
		ID: id, Number: number, Subject: t.Subject, Description: text{Body: t.Description}, Status: t.Status,
		Priority: t.Priority, OwnerID: t.OwnerID, AccountID: t.AccountID, ContactID: t.ContactID,
	}
	if doc.Status == "" {
		doc.Status = d.settings.DefaultStatus
	}
	if doc.Priority == "" {
		doc.Priority = d.settings.DefaultPriority
	}
	doc.CreatedAt = d.now().UTC().Truncate(time.Second)
	d.touch(&doc, doc.CreatedAt)
	if err := adapter.PutDocument(tx, ticketIDKey+id, number); err != nil {
		return document{}, err
	}
	if err := adapter.PutDocument(tx, ticketKey+number, doc); err != nil {
		return document{}, err
	}
	return doc, d.makeRoom(tx, number)
}

// mostTickets is how many tickets an account keeps: the newest.
const mostTickets = 20_000

// makeRoom removes the ticket that is one too many, now that another has this number. Numbers have no gaps.
func (d *driver) makeRoom(tx adapter.StorageTx, number string) error {
	last, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	oldest := ticketKey + pad(strconv.Itoa(last-d.most))
	doc, found, err := adapter.GetDocument[document](tx, oldest)
	if err != nil || !found {
		return err
	}
	if err := tx.Delete(ticketIDKey + doc.ID); err != nil {
		return err
	}
	return tx.Delete(oldest)
}

// touch sets the times that follow from the ticket's status. A closed ticket stays resolved. An open ticket
// has neither time.
func (d *driver) touch(doc *document, at time.Time) {
	doc.UpdatedAt = at
	resolved, closed := d.settings.resolves(doc.Status), d.settings.closes(doc.Status)
	switch {
	case resolved && doc.ResolvedAt.IsZero():
		doc.ResolvedAt = at
	case !resolved && !closed:
		doc.ResolvedAt = time.Time{}
	}
	switch {
	case closed && doc.ClosedAt.IsZero():
		doc.ClosedAt = at
	case !closed:
		doc.ClosedAt = time.Time{}
	}
}

// nextNumber takes the number after the last one given. If the transaction is rolled back, the number is free
// again, so there are no gaps.
func (d *driver) nextNumber(tx adapter.StorageTx) (string, error) {
	last, found, err := adapter.GetDocument[int](tx, lastKey)
	if err != nil {
		return "", err
	}
	if !found {
		last = firstNumber - 1 + len(d.seeds())
	}
	last++
	return pad(fmt.Sprint(last)), adapter.PutDocument(tx, lastKey, last)
}
