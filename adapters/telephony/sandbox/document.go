package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// The keys of documents: a number of the account by its E.164 form, the E.164 form by the reference, and the
// count of purchases.
const (
	numberKey    = "number/"
	refKey       = "number-ref/"
	purchasesKey = "purchases"
)

// document is a number as it is stored.
type document struct {
	Ref      string          `json:"ref"`
	E164     string          `json:"e164"`
	Name     string          `json:"name"`
	VoiceURL string          `json:"voice_url,omitempty"`
	App      string          `json:"voice_application,omitempty"`
	SIPTrunk string          `json:"sip_trunk,omitempty"`
	Block    telephony.Block `json:"block,omitempty"`
	Key      string          `json:"key"`                // of the order
	FilledAt time.Time       `json:"filled_at,omitzero"` // on order until then
}

func (doc document) routing() telephony.Routing {
	return telephony.Routing{VoiceURL: doc.VoiceURL, Application: doc.App, SIPTrunk: doc.SIPTrunk}
}

func (doc *document) lead(to telephony.Routing) {
	doc.VoiceURL, doc.App, doc.SIPTrunk = to.VoiceURL, to.Application, to.SIPTrunk
}

// onOrder reports whether the number is still on order: the account does not hold it yet.
func (d *driver) onOrder(doc document) bool { return d.now().Before(doc.FilledAt) }

// number converts a document into a number of the contract. A number on order has no reference yet.
func (d *driver) number(doc document) telephony.Number {
	if d.onOrder(doc) {
		return telephony.Number{E164: doc.E164, Pending: true}
	}
	return telephony.Number{
		Ref: doc.Ref, E164: doc.E164, Name: doc.Name, Routing: doc.routing(), Block: doc.Block,
	}
}

// buy adds a number to the account. A number that it holds under the same key is the order's own, from an
// earlier try.
func (d *driver) buy(tx adapter.StorageTx, o telephony.Order) (document, error) {
	if !d.settings.sold(o.E164) {
		return document{}, numberTaken("if it ever was")
	}
	if contestedNumber(o.E164) {
		return document{}, numberTaken("since somebody else was faster")
	}
	if doc, err := documentOf(tx, o); !errors.Is(err, fault.NotFound) {
		return doc, err
	}
	if err := check(o.Name, o.Routing); err != nil {
		return document{}, err
	}
	purchase, err := nextPurchase(tx)
	if err != nil {
		return document{}, err
	}
	doc := document{
		Ref: "PN" + digest(o.Key, purchase), E164: o.E164, Name: o.Name, Key: o.Key,
		Block: blockOf(areaCodeOf(o.E164)),
	}
	doc.lead(o.Routing)
	if d.settings.OrderTime > 0 {
		doc.FilledAt = d.now().UTC().Add(d.settings.OrderTime)
	}
	return doc, keep(tx, doc)
}

// documentOf returns the number that an order bought.
func documentOf(tx adapter.StorageTx, o telephony.Order) (document, error) {
	doc, held, err := byE164(tx, o.E164)
	switch {
	case err != nil:
		return document{}, err
	case !held:
		return document{}, fault.New(fault.NotFound, fault.ReasonNumberNotFound, "The account has no such order.")
	case doc.Key != o.Key:
		return document{}, numberTaken("since the account holds it already")
	}
	return doc, nil
}

// keep stores a new number of the account.
func keep(tx adapter.StorageTx, doc document) error {
	if err := adapter.PutDocument(tx, refKey+doc.Ref, doc.E164); err != nil {
		return err
	}
	return adapter.PutDocument(tx, numberKey+doc.E164, doc)
}

// release removes a number from the account.
func release(tx adapter.StorageTx, ref string) error {
	doc, err := byRef(tx, ref)
	if err != nil {
		return err
	}
	if f := doc.Block.Fault(); f != nil {
		return f
	}
	if err := tx.Delete(numberKey + doc.E164); err != nil {
		return err
	}
	return tx.Delete(refKey + ref)
}

// byE164 returns a number of the account.
func byE164(tx adapter.StorageTx, e164 string) (doc document, held bool, err error) {
	return adapter.GetDocument[document](tx, numberKey+e164)
}

// byRef returns a number of the account by its reference.
func byRef(tx adapter.StorageTx, ref string) (document, error) {
	none := fault.New(fault.NotFound, fault.ReasonNumberNotFound, "The account has no such number.")
	rest, ours := strings.CutPrefix(ref, "PN")
	if !ours || rest == "" || strings.Trim(rest, "0123456789abcdef") != "" {
		return document{}, none // not a reference of the sandbox, and maybe not valid as a key
	}
	e164, held, err := adapter.GetDocument[string](tx, refKey+ref)
	if err != nil {
		return document{}, err
	}
	if !held {
		return document{}, none
	}
	doc, held, err := byE164(tx, e164)
	if err == nil && !held {
		return document{}, none
	}
	return doc, err
}

// pageLength is how many numbers a page has unless the query wants fewer, as Twilio's does.
const pageLength = 50

// page reads one page, ordered by number. Its cursor is the last number of the page before.
func (d *driver) page(tx adapter.StorageTx, q telephony.Query) (telephony.Page, error) {
	limit := pageLength
	if q.Limit > 0 {
		limit = min(q.Limit, pageLength)
	}
	after := ""
	if q.Cursor != "" {
		if strings.Trim(q.Cursor, "+0123456789") != "" {
			return telephony.Page{}, fault.InvalidField("cursor", "does not come from a page.")
		}
		after = numberKey + q.Cursor
	}
	var page telephony.Page
	err := adapter.ScanDocuments(tx, numberKey, after, func(_ string, doc document) bool {
		if d.onOrder(doc) {
			return true
		}
		if len(page.Numbers) == limit {
			page.Next = page.Numbers[limit-1].E164
			return false
		}
		page.Numbers = append(page.Numbers, d.number(doc))
		return true
	})
	return page, err
}

// nextPurchase counts a purchase and returns the new count.
func nextPurchase(tx adapter.StorageTx) (int, error) {
	n, err := purchases(tx)
	if err != nil {
		return 0, err
	}
	return n + 1, adapter.PutDocument(tx, purchasesKey, n+1)
}

func purchases(tx adapter.StorageTx) (int, error) {
	n, _, err := adapter.GetDocument[int](tx, purchasesKey)
	return n, err
}

// digest returns a short hash of its arguments.
func digest(parts ...any) string {
	var all strings.Builder
	for _, one := range parts {
		doc, err := json.Marshal(one)
		if err != nil {
			panic(fmt.Sprintf("sandbox: %T cannot be told: %v", one, err)) // only our own types come here
		}
		all.Write(doc)
	}
	sum := sha256.Sum256([]byte(all.String()))
	return hex.EncodeToString(sum[:16])
}
