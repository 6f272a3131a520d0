package api

import (
	"context"

	"frontdesk/core/apikey"
	"frontdesk/core/record"
	"frontdesk/core/service"
)

// Tickets is what the ticket operations need of core/service.
type Tickets interface {
	Create(
		context.Context, apikey.Caller, service.Write, service.CreateTicket,
	) (service.Answer[record.TicketAnswer], error)
	Get(ctx context.Context, caller apikey.Caller, number string) (record.TicketAnswer, error)
}

// createTicketRequest is the body of create-ticket.
type createTicketRequest struct {
	Subject     string `json:"subject,omitempty" need:"true" bytes:"1024" doc:"Short title." example:"Broken door handle"`
	Description string `json:"description,omitempty" bytes:"8192" doc:"Initial body text, plain." example:"The handle of the front door came off."`
	Priority    string `json:"priority,omitempty" bytes:"256" doc:"A priority label of the CRM, in any case, or one of the tenant's own words." example:"High"`
	Status      string `json:"status,omitempty" bytes:"256" doc:"Initial status: a label of the CRM, in any case, or one of the tenant's own words." example:"New"`
	OwnerID     string `json:"owner_id,omitempty" bytes:"1024" doc:"Id of the user to whom the ticket is assigned." example:"usr_12"`
	AccountID   string `json:"account_id,omitempty" bytes:"1024" doc:"Id of the related account." example:"acc_77"`
	ContactID   string `json:"contact_id,omitempty" bytes:"1024" doc:"Id of the related contact." example:"con_301"`
}

func (r createTicketRequest) input(c *checks) service.CreateTicket {
	c.present("subject", r.Subject)
	c.present("owner_id", r.OwnerID)
	c.present("account_id", r.AccountID)
	c.present("contact_id", r.ContactID)
	return service.CreateTicket(r)
}

// getTicketRequest is the body of get-ticket.
type getTicketRequest struct {
	TicketNumber string `json:"ticket_number,omitempty" need:"true" bytes:"256" doc:"The number as people say it. Surrounding spaces, # and missing leading zeros do not matter." example:"#1042"`
}

func (r getTicketRequest) input(c *checks) string {
	c.present("ticket_number", r.TicketNumber)
	return r.TicketNumber
}
