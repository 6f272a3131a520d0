package service

import (
	"context"
	"encoding/json"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// knownAccount is the provider's account that a connection's numbers are in. It is a document of the connection.
type knownAccount struct {
	Ref      string `json:"ref"`
	Revision int64  `json:"revision"` // of the connection, whose credentials were of this account
}

const keyAccount = "gateway/account" // of the document

// recognizeAccount returns an error if a connection's credentials or settings lead to another account than that of
// the numbers it holds: to that account they would all seem gone. It asks the provider once for each revision of
// the connection.
func (s *Numbers) recognizeAccount(ctx context.Context, client telephonyClient) error {
	_, err := s.accounts.get(client.connection, func() (struct{}, error) {
		return struct{}{}, s.compareAccount(ctx, client)
	})
	return err
}

func (s *Numbers) compareAccount(ctx context.Context, client telephonyClient) error {
	documents, revision := s.opts.Store.Documents(client.connection.ID), client.connection.Revision
	var was knownAccount
	err := documents.View(ctx, func(tx adapter.StorageTx) (err error) {
		was, err = readKnownAccount(tx)
		return err
	})
	if err != nil || was.Revision == revision {
		return err
	}
	is, err := ask(ctx, client.endpoint, read("read-account"), client.driver.Account)
	switch {
	case err != nil && fault.From(err).Code == fault.Forbidden: // the credentials may do all but tell whose they are
		return nil
	case err != nil:
		return err
	}
	if was.Ref != "" && !strings.EqualFold(was.Ref, is.Ref) {
		if err := s.checkMoved(ctx, client, was.Ref, is.Ref); err != nil {
			return err
		}
	}
	return documents.Update(ctx, func(tx adapter.StorageTx) error {
		if there, err := readKnownAccount(tx); err != nil || there.Revision >= revision {
			return err
		}
		raw, err := json.Marshal(knownAccount{Ref: is.Ref, Revision: revision})
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

// checkMoved returns an error unless another account has all numbers that the connection holds. They were moved there
// then, such as to a subaccount.
func (s *Numbers) checkMoved(ctx context.Context, client telephonyClient, was, is string) error {
	rows, err := s.opts.Store.TenantNumbers(ctx, client.connection.TenantID)
	if err != nil {
		return err
	}
	var there map[string]telephony.Number
	for _, row := range rows {
		if row.ConnectionID != client.connection.ID {
			continue
		}
		if there == nil {
			if there, err = client.readAccount(ctx); err != nil {
				return err
			}
		}
		if _, moved := there[row.Ref]; !moved && !holds(there, row.E164) {
			return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
				"The connection %q leads to the account %s at its provider, but %s and maybe more of its numbers are "+
					"in the account %s. Enter credentials of that account again, and connect the other one under a "+
					"name of its own.", client.connection.Name, is, row.E164, was)
		}
	}
	return nil
}

// holds reports whether a number is in an account, under whatever reference.
func holds(account map[string]telephony.Number, e164 string) bool {
	for _, n := range account {
		if n.E164 == e164 {
			return true
		}
	}
	return false
}
