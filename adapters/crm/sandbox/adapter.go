// Package sandbox is the built-in CRM: an account that needs no provider, for building and testing a voice
// agent. Its tickets live in the gateway's own store. It behaves like a real CRM (configurable labels,
// zero-padded numbers, related records that may not exist, public comments and internal ones) and can be made
// to fail.
//
// By default an account has the statuses New, Open, Pending, Solved and Closed and the priorities Low,
// Normal, High and Urgent; settings change them. It has the owners usr_1 to usr_3, the accounts acc_1 to
// acc_3, the contacts con_1 to con_5 (see seed.go; con_4 and con_5 share a number), and four tickets:
//
//	00001001  Open     plain text; a comment for the customer, and a later one for colleagues only
//	00001002  Pending  a description and a comment in HTML
//	00001003  Solved   with its time of resolution
//	00001004  Closed   with both times, without description and comment
//
// New tickets are numbered from 00001005 on, without gaps; from 00001001 on if the seed setting is "empty". The
// newest 20,000 are kept.
//
// The contacts setting adds more contacts, such as yourself, so that your own calls are recognized.
//
// A magic value makes a call fail. It stands in the subject of a new ticket, or beside or instead of the
// number of a ticket to read. As the connection's fault setting, it makes every call fail:
//
//	value                    where   what the call does
//	sandbox:slow             any     takes three seconds more, then acts
//	sandbox:hang             any     never returns; only the deadline ends it
//	sandbox:rate_limited     any     is refused: too many calls, retry after 30 s
//	sandbox:revoked          any     is refused: the credentials are no longer valid
//	sandbox:forbidden        any     is refused: the account may not do this
//	sandbox:down             any     does not reach the provider
//	sandbox:reply_lost       create  acts, then loses the reply, once: a repeat returns the first ticket
//	sandbox:outcome_unknown  create  acts, then loses the reply, and the ticket cannot be reached for 10 s
//	sandbox:rejected         create  is refused: a validation rule of the account forbids it
//
// For example, a ticket with the subject "Broken heating sandbox:down" cannot be opened, and reading number
// "sandbox:slow 1001" takes three seconds more.
package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name: "sandbox", Title: "Sandbox CRM", Sandbox: true,
		Help: "A CRM inside the gateway, for building and testing without an account. It needs no credentials.",
	}, open)
}

type settings struct {
	Account         string        `setting:"account" default:"Sandbox Support" help:"Name of the simulated account."`
	Email           string        `setting:"email" default:"support@example.com" help:"Address of the simulated account's owner."`
	Statuses        []string      `setting:"statuses" default:"New,Open,Pending,Solved,Closed" help:"Labels of the statuses that a ticket may have, in order."`
	DefaultStatus   string        `setting:"default_status" help:"Status of a ticket that is given none. The default is the first one."`
	Resolved        []string      `setting:"resolved_statuses" default:"Solved,Resolved" help:"Statuses that resolve a ticket."`
	Closed          []string      `setting:"closed_statuses" default:"Closed" help:"Statuses that close a ticket."`
	Priorities      []string      `setting:"priorities" default:"Low,Normal,High,Urgent" help:"Priorities that a ticket may have, in order."`
	DefaultPriority string        `setting:"default_priority" help:"Priority of a ticket that is given none. The default is Normal, if there is one, or else none."`
	Seed            string        `setting:"seed" default:"demo" choices:"demo,empty" help:"The tickets of a new account: demo tickets, or none."`
	Related         string        `setting:"related" choices:"seeded,any" default:"seeded" help:"Which owners, accounts and contacts exist: usr_1 to usr_3, acc_1 to acc_3 and con_1 to con_5, or any."`
	Contacts        []string      `setting:"contacts" help:"Contacts besides con_1 to con_5, each as name|email|phone|mobile|account; all but the name may be left out. They are con_6 and so on, in this order."`
	Latency         time.Duration `setting:"latency" help:"How long each call takes, such as 250ms."`
	Fault           string        `setting:"fault" choices:"slow,hang,rate_limited,revoked,forbidden,down,reply_lost,outcome_unknown,rejected" help:"How every call fails, until this setting is empty again."`
}

// rejected is the scenario of an account whose rules reject a new ticket.
const rejected scenario.Name = "rejected"

func open(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
	s.complete()
	d := &driver{settings: s, storage: env.Storage, now: env.Now, most: mostTickets}
	d.scenarios = scenario.Provider{
		Always: scenario.Name(s.Fault), Latency: s.Latency, Storage: env.Storage, Now: env.Now,
	}
	d.creations = d.scenarios
	d.creations.Own = map[scenario.Name]*fault.Error{
		rejected: fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"A validation rule of the account refuses this, as sandbox:rejected asked."),
	}
	if d.scenarios.Always == rejected {
		d.scenarios.Always = "" // only creating a ticket can fail this way
	}
	return d, nil
}

// complete fills in the defaults that depend on other settings.
func (s *settings) complete() {
	if s.DefaultStatus == "" && len(s.Statuses) > 0 {
		s.DefaultStatus = s.Statuses[0]
	}
	if s.DefaultPriority == "" && slices.Contains(s.Priorities, normal) {
		s.DefaultPriority = normal
	}
}

// Validate checks the settings.
func (s settings) Validate() (faults []fault.Field) {
	s.complete()
	for _, list := range []struct {
		path, standard string
		labels         []string
	}{
		{"statuses", s.DefaultStatus, s.Statuses},
		{"priorities", s.DefaultPriority, s.Priorities},
	} {
		if len(list.labels) == 0 || slices.Contains(list.labels, "") || doubled(list.labels) {
			faults = append(faults, fault.Field{
				Path: "settings." + list.path, Message: "must be labels that differ, separated by commas.",
			})
		} else if list.standard != "" && !slices.Contains(list.labels, list.standard) {
			faults = append(faults, fault.Field{
				Path: "settings." + list.path, Message: "must hold the default, which is " + list.standard + ".",
			})
		}
	}
	for _, c := range s.Contacts {
		if parts := strings.Split(c, "|"); len(parts) > 5 || strings.TrimSpace(parts[0]) == "" {
			faults = append(faults, fault.Field{
				Path: "settings.contacts", Message: "must be contacts as name|email|phone|mobile|account.",
			})
			break
		}
	}
	return faults
}

// normal is the usual default priority of support desks.
const normal = "Normal"

// resolves reports whether a ticket of this status is resolved.
func (s settings) resolves(status string) bool { return slices.Contains(s.Resolved, status) }

// closes reports whether a ticket of this status is closed.
func (s settings) closes(status string) bool { return slices.Contains(s.Closed, status) }

// doubled reports whether two labels are equal, ignoring case.
func doubled(labels []string) bool {
	folded := make([]string, len(labels))
	for i, label := range labels {
		folded[i] = strings.ToLower(label)
	}
	slices.Sort(folded)
	return len(slices.Compact(folded)) < len(labels)
}
