// Package sandbox is the built-in CRM: a voice agent is built and tested against it before any account exists. It keeps
// its tickets in the gateway's own store and behaves like the real ones: labels, numbers padded with zeros, related
// records that exist or do not, comments for the customer and comments for colleagues.
//
// A new account has the statuses New, Open, Pending, Solved and Closed, the priorities Low, Normal, High and Urgent
// (settings change both lists), and:
//
//	tickets   00001001  Open    plain text; one comment for the customer, then one for colleagues only
//	          00001002  Pending HTML description and HTML comment
//	          00001003  Solved  with its time of resolution
//	          00001004  Closed  with both times, no comment
//	          new ones are 00001005 and on, without gaps (00001001 and on where the seed setting is empty)
//	owners    usr_1 to usr_3
//	accounts  acc_1 to acc_3
//	contacts  con_1 to con_5
//
// Magic words make a call fail, each in the way that a real CRM does. They stand in the subject of a new ticket, or in
// the number of one to read ("sandbox:slow 1001" reads 00001001, slowly); the connection's fault setting, without
// "sandbox:", does the same to every call.
//
//	word                     the call                                          the caller sees
//	sandbox:slow             takes three seconds more                          the answer, or DEADLINE_EXCEEDED
//	sandbox:hang             never answers                                     DEADLINE_EXCEEDED
//	sandbox:rate_limited     is one too many                                   PROVIDER_RATE_LIMITED
//	sandbox:revoked          is refused: the credentials were revoked          RECONNECT_REQUIRED
//	sandbox:forbidden        is refused: the account may not do this           PROVIDER_PERMISSION_DENIED
//	sandbox:down             does not reach the CRM                            PROVIDER_UNAVAILABLE
//	sandbox:reply_lost       makes the ticket, and loses the first reply       the ticket: a repeat finds it
//	sandbox:outcome_unknown  makes the ticket, then is out of reach for 10 s   PROVIDER_UNAVAILABLE, later the ticket
//	sandbox:rejected         is refused by a validation rule of the account    PROVIDER_REFUSED
package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/magic"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// Adapter declares the sandbox.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name: "sandbox", Title: "Sandbox CRM", Sandbox: true,
		Help: "A CRM inside the gateway, for building and testing without an account. It needs no credentials.",
	}, open)
}

type settings struct {
	Account         string        `setting:"account" default:"Sandbox Support" help:"Name of the pretended account."`
	Email           string        `setting:"email" default:"support@example.com" help:"Address that the pretended account belongs to."`
	Statuses        []string      `setting:"statuses" default:"New,Open,Pending,Solved,Closed" help:"Labels a ticket may have, in their order."`
	DefaultStatus   string        `setting:"default_status" help:"Label of a ticket that is given none; the first one unless set."`
	Resolved        []string      `setting:"resolved_statuses" default:"Solved,Resolved" help:"Labels that resolve a ticket."`
	Closed          []string      `setting:"closed_statuses" default:"Closed" help:"Labels that close a ticket."`
	Priorities      []string      `setting:"priorities" default:"Low,Normal,High,Urgent" help:"Priorities a ticket may have, in their order."`
	DefaultPriority string        `setting:"default_priority" help:"Priority of a ticket that is given none; Normal where there is one, else none, unless set."`
	Seed            string        `setting:"seed" default:"demo" choices:"demo,empty" help:"The tickets of a new account: the demo ones, or none."`
	Related         string        `setting:"related" choices:"seeded,any" default:"seeded" help:"Which owners, accounts and contacts exist: usr_1 to usr_3, acc_1 to acc_3 and con_1 to con_5, or any."`
	Latency         time.Duration `setting:"latency" help:"How long every call takes, such as 250ms."`
	Fault           string        `setting:"fault" choices:"slow,hang,rate_limited,revoked,forbidden,down,reply_lost,outcome_unknown,rejected" help:"How every call fails, until this is emptied."`
}

// rejected is the word for an account whose own rules refuse a ticket.
const rejected magic.Word = "rejected"

func open(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	return &driver{settings: s, storage: env.Storage, now: env.Now, provider: magic.Provider{
		Always: magic.Word(s.Fault), Latency: s.Latency, Storage: env.Storage, Now: env.Now,
		Own: map[magic.Word]*fault.Error{
			rejected: fault.New(fault.Invalid, fault.ReasonProviderRefused, "A validation rule of the account refuses this, as sandbox:rejected asked."),
		},
	}}, nil
}

// complete fills in the defaults that depend on other settings, and refuses what does not fit together.
func (s *settings) complete() error {
	if s.DefaultStatus == "" && len(s.Statuses) > 0 {
		s.DefaultStatus = s.Statuses[0]
	}
	if s.DefaultPriority == "" && slices.Contains(s.Priorities, normal) {
		s.DefaultPriority = normal
	}
	var faults []fault.Field
	for _, list := range []struct {
		path, standard string
		labels         []string
	}{
		{"statuses", s.DefaultStatus, s.Statuses},
		{"priorities", s.DefaultPriority, s.Priorities},
	} {
		if len(list.labels) == 0 || slices.Contains(list.labels, "") || doubled(list.labels) {
			faults = append(faults, fault.Field{Path: "settings." + list.path, Message: "must be labels that differ, separated by commas."})
		} else if list.standard != "" && !slices.Contains(list.labels, list.standard) {
			faults = append(faults, fault.Field{Path: "settings." + list.path, Message: "must hold the default, which is " + list.standard + "."})
		}
	}
	if len(faults) > 0 {
		return fault.InvalidFields(faults...)
	}
	return nil
}

// normal is the usual default priority of support desks.
const normal = "Normal"

// resolves reports whether a ticket of this status is resolved.
func (s settings) resolves(status string) bool { return slices.Contains(s.Resolved, status) }

// closes reports whether a ticket of this status is closed.
func (s settings) closes(status string) bool { return slices.Contains(s.Closed, status) }

// doubled reports whether two labels are the same to somebody who does not mind their case.
func doubled(labels []string) bool {
	folded := make([]string, len(labels))
	for i, label := range labels {
		folded[i] = strings.ToLower(label)
	}
	slices.Sort(folded)
	return len(slices.Compact(folded)) < len(labels)
}
