// Package freshdesk opens and reads Freshdesk tickets through version 2 of its API.
package freshdesk

import (
	"net/mail"
	"net/url"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// name is the adapter's name in the configuration.
const name = "freshdesk"

type settings struct {
	BaseURL        string `setting:"base_url" kind:"url" required:"true" help:"Address of the account, such as https://acme.freshdesk.com. The API is not available at a custom domain."`
	RequesterEmail string `setting:"requester_email" required:"true" help:"The requester of tickets whose call names no contact, since Freshdesk requires one: an address of your own, such as calls@example.com. Freshdesk creates a contact for it."`

	Fields adapter.TicketFields `setting:"fields" help:"Values for every new ticket, by field: the name of a custom field, such as cf_region, or type, source, status, priority, group_id, responder_id, company_id, product_id or tags. Text may contain the call's {subject}, {description}, {status}, {priority}, {owner_id}, {account_id} and {contact_id}. Values of the call itself take precedence. The default for source is 3 (phone)."`

	APIKey string `credential:"api_key" required:"true" help:"The API key of the agent in whose name tickets are opened. Freshdesk shows it in the agent's profile settings."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name:  name,
		Title: "Freshdesk",
		Help:  "Tickets of Freshdesk. An agent's API key connects it.",
		// developers.freshdesk.com/api, "Authentication": the key is the user name, and the password may be
		// anything.
		Auth: adapter.Auth{Scheme: adapter.Basic, Username: "api_key", FixedPassword: "X", BaseURL: "base_url"},
	}, open)
}

// Validate checks the settings. It rejects a base_url with a path, such as /a/tickets copied from a browser,
// since the API is not beneath it.
func (s settings) Validate() []fault.Field {
	faults := s.Fields.Without(always)
	if u, err := url.Parse(s.BaseURL); err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		u.Fragment != "" {
		faults = append(faults, fault.Field{
			Path: "settings.base_url", Message: "must be the address of the account alone, without a path, such as " +
				"https://acme.freshdesk.com.",
		})
	}
	if a, err := mail.ParseAddress(s.RequesterEmail); err != nil || a.Address != s.RequesterEmail {
		faults = append(faults, fault.Field{
			Path: "settings.requester_email", Message: "must be an email address, such as calls@example.com.",
		})
	}
	return faults
}
