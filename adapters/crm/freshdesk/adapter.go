// Package freshdesk opens and reads tickets of Freshdesk by its API, version 2.
package freshdesk

import (
	"net/mail"
	"net/url"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// name is the adapter's configuration word.
const name = "freshdesk"

type settings struct {
	BaseURL        string `setting:"base_url" kind:"url" required:"true" help:"Address of the account, such as https://acme.freshdesk.com; the API is not served at an address of one's own."`
	RequesterEmail string `setting:"requester_email" required:"true" help:"Who a ticket is from when the call names no contact, since Freshdesk takes none from nobody: an address of your own, such as calls@example.com. Freshdesk makes a contact of it."`

	Fields adapter.TicketFields `setting:"fields" help:"Values that every new ticket gets, by field: the name of a field of your own, such as cf_region, or type, source, status, priority, group_id, responder_id, company_id, product_id or tags. A text may have {subject}, {description}, {status}, {priority}, {owner_id}, {account_id} and {contact_id} of the call in it. What the call itself gives wins. Without an entry for source, it is 3 (phone)."`

	APIKey string `credential:"api_key" required:"true" help:"The API key of the agent in whose name tickets are opened: in Freshdesk under the profile's settings."`
}

// Adapter is the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name:  name,
		Title: "Freshdesk",
		Help:  "Tickets of Freshdesk. An agent's API key connects it.",
		// developers.freshdesk.com/api, "Authentication": the key is the user name, and the password may be anything.
		Auth: adapter.Auth{Scheme: adapter.Basic, Username: "api_key", FixedPassword: "X", BaseURL: "base_url"},
	}, open)
}

// Validate implements the check of settings. Beneath what people copy from a browser, such as /a/tickets, there is no API.
func (s settings) Validate() []fault.Field {
	faults := s.Fields.Without(always)
	if u, err := url.Parse(s.BaseURL); err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		faults = append(faults, fault.Field{Path: "settings.base_url", Message: "must be the address of the account alone, without a path, such as https://acme.freshdesk.com."})
	}
	if a, err := mail.ParseAddress(s.RequesterEmail); err != nil || a.Address != s.RequesterEmail {
		faults = append(faults, fault.Field{Path: "settings.requester_email", Message: "must be an email address, such as calls@example.com."})
	}
	return faults
}
