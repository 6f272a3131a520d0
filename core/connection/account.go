package connection

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// knownAccount is the provider's account that a telephony connection's numbers are in. It is a document of the
// connection.
type knownAccount struct {
	Ref      string `json:"ref"`
	Revision int64  `json:"revision"` // of the connection, whose credentials were of this account
}

const keyAccount = "gateway/account" // of the document

const maxNumbers = 5000 // most numbers of one account

// accountNumbers asks for the numbers of an account, by reference.
type accountNumbers = func(context.Context) (map[string]telephony.Number, error)

// CheckAccount returns an error if a telephony connection's credentials or settings lead to another account than that
// of the numbers it holds: to that account they would all seem gone. It asks whose account it is once for each revision
// of the connection, and for the account's numbers, by reference, only if it is another one or does not tell, or if the
// one before did not.
func CheckAccount(
	ctx context.Context, s *store.Store, c Connection, account func(context.Context) (telephony.Account, error),
	numbers accountNumbers,
) error {
	documents := s.Documents(c.ID)
	var was knownAccount
	err := documents.View(ctx, func(tx adapter.StorageTx) (err error) {
		was, err = readKnownAccount(tx)
		return err
	})
	if err != nil || was.Revision == c.Revision {
		return err
	}
	is, err := account(ctx)
	switch f := fault.From(err); {
	case f != nil && f.Code == fault.Forbidden && f.Reason != fault.ReasonAccountSuspended:
		is.Ref, err = was.Ref, checkAny(ctx, s, c, numbers) // the credentials may do all but tell whose they are
	case f != nil:
	case was.Ref != "" && !strings.EqualFold(was.Ref, is.Ref):
		err = checkMoved(ctx, s, c, was.Ref, is.Ref, numbers)
	case was.Ref == "" && was.Revision != 0 && is.Ref != "": // the credentials before might not tell whose they were
		err = checkAny(ctx, s, c, numbers)
	}
	if errors.Is(err, fault.NotFound) { // which is no answer about a number
		return fault.From(err).Restate(fault.Unsupported, fault.ReasonProviderMisconfigured, "The provider does not find "+
			"the account of the connection's credentials. Check the connection's settings.")
	}
	if err != nil {
		return err
	}
	return documents.Update(ctx, func(tx adapter.StorageTx) error {
		if there, err := readKnownAccount(tx); err != nil || there.Revision >= c.Revision {
			return err
		}
		raw, err := json.Marshal(knownAccount{Ref: is.Ref, Revision: c.Revision})
		if err != nil {
			return err
		}
		return tx.Put(keyAccount, raw)
	})
}

func readKnownAccount(tx adapter.StorageTx) (known knownAccount, err error) {
	raw, err := tx.Get(keyAccount)
	if err != nil || raw == nil {
		return known, err
	}
	return known, json.Unmarshal(raw, &known)
}

// checkMoved returns an error unless another account has all numbers that the connection holds or has on order. They
// were moved there then, such as to a subaccount.
func checkMoved(
	ctx context.Context, s *store.Store, c Connection, was, is string, numbers accountNumbers,
) error {
	ordered, err := s.NumbersOnOrder(ctx, c.TenantID, c.ID) // first: what is bought meanwhile is held then
	if err != nil {
		return err
	}
	rows, err := heldBy(ctx, s, c)
	if err != nil {
		return err
	}
	for _, e164 := range ordered {
		rows = append(rows, store.Number{E164: e164})
	}
	missing, err := missingOf(ctx, rows, numbers)
	if err != nil || len(missing) == 0 {
		return err
	}
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The connection %q leads to the account %s at its provider, but %s and maybe more of its numbers are "+
			"in the account %s. Enter credentials of that account again, and connect the other one under a "+
			"name of its own.", c.Name, is, missing[0].E164, was)
}

// checkAny returns an error if the connection holds numbers, and an account that cannot be compared with theirs has
// none of them.
func checkAny(ctx context.Context, s *store.Store, c Connection, numbers accountNumbers) error {
	rows, err := heldBy(ctx, s, c)
	if err != nil {
		return err
	}
	missing, err := missingOf(ctx, rows, numbers)
	if err != nil || len(missing) == 0 || len(missing) < len(rows) {
		return err
	}
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The credentials of the connection %q are of an account that has not %s nor any other of the connection's numbers. "+
			"Enter credentials of the numbers' account again, and connect the other one under a name of its own. If all were "+
			"given back at the provider, remove the connection and connect the account anew.",
		c.Name, missing[0].E164)
}

func heldBy(ctx context.Context, s *store.Store, c Connection) ([]store.Number, error) {
	rows, err := s.TenantNumbers(ctx, c.TenantID)
	return slices.DeleteFunc(rows, func(n store.Number) bool { return n.ConnectionID != c.ID }), err
}

// missingOf returns those that are not among the account's numbers, which it asks for only if there are any.
func missingOf(ctx context.Context, rows []store.Number, numbers accountNumbers) ([]store.Number, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	there, err := numbers(ctx)
	return slices.DeleteFunc(rows, func(row store.Number) bool {
		_, moved := there[row.Ref]
		return moved || Holds(there, row.E164)
	}), err
}

// Holds reports whether a number is in an account, under whatever reference.
func Holds(account map[string]telephony.Number, e164 string) bool {
	for _, n := range account {
		if n.E164 == e164 {
			return true
		}
	}
	return false
}

// NumbersOf reads every page of an account's numbers. It returns them by reference, without those still on order.
func NumbersOf(
	ctx context.Context, list func(context.Context, telephony.Query) (telephony.Page, error),
) (map[string]telephony.Number, error) {
	held := map[string]telephony.Number{}
	var cursors []string // of the pages so far, except the first; one that comes again leads in a circle
	for q := (telephony.Query{}); ; {
		page, err := list(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, n := range page.Numbers {
			if !n.Pending {
				held[n.Ref] = n
			}
		}
		if page.Next == "" {
			return held, nil
		}
		if slices.Contains(cursors, page.Next) || len(held) > maxNumbers {
			return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
				"The provider's list of numbers does not end.")
		}
		q.Cursor, cursors = page.Next, append(cursors, page.Next)
	}
}
