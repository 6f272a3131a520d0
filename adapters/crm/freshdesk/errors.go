package freshdesk

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// told is an answer that finds a ticket not valid (developers.freshdesk.com/api, "Errors").
type told struct {
	Errors []struct {
		Field string `json:"field"`
		Code  string `json:"code"`
	} `json:"errors"`
}

// refusal makes a fault of an answer that refuses. Where the status says as much, the status has to do.
func refusal(status int, header http.Header, body []byte) *fault.Error {
	plain := upstream.StatusFault(name, status, header, body)
	switch status {
	case http.StatusBadRequest:
		var t told
		if json.Unmarshal(body, &t) != nil {
			return plain
		}
		return notValid(plain, t)
	case http.StatusNotFound:
		// A record that is not there is answered without a body; a host or path that is not there has a page.
		if len(bytes.TrimSpace(body)) > 0 {
			return said(plain, fault.Unsupported, fault.ReasonProviderMisconfigured,
				"There is no Freshdesk account at the connection's address, or it has no such API. Check base_url.")
		}
	}
	return plain
}

// fields are ours, by Freshdesk's names for them.
var fields = map[string]string{
	"responder_id": "owner_id", "company_id": "account_id", "requester_id": "contact_id",
	"status": "status", "priority": "priority", "subject": "subject", "description": "description",
}

// notValid names the fields that Freshdesk names. What an account requires beside them has no field here.
func notValid(plain *fault.Error, t told) *fault.Error {
	var named []fault.Field
	for _, e := range t.Errors {
		if e.Field == "email" {
			return said(plain, fault.Unsupported, fault.ReasonProviderMisconfigured,
				"Freshdesk does not accept the connection's requester_email. Correct it, or send a contact_id.")
		}
		path, known := fields[e.Field]
		if !known || slices.ContainsFunc(named, func(f fault.Field) bool { return f.Path == path }) {
			continue
		}
		message := "is not accepted by Freshdesk. Check that it exists, and that it goes with the other values."
		if e.Code == "missing_field" {
			message = "is required by Freshdesk for this ticket."
		}
		named = append(named, fault.Field{Path: path, Message: message})
	}
	if len(named) == 0 {
		return said(plain, fault.Invalid, fault.ReasonProviderRefused,
			"Freshdesk's rules do not accept this ticket. They may require a field that the gateway does not send; an administrator of Freshdesk can make it optional.")
	}
	invalid := fault.InvalidFields(named...)
	f := said(plain, invalid.Code, invalid.Reason, invalid.Detail)
	f.Fields = named
	return f
}

// said is a fault that tells more than its status does.
func said(plain *fault.Error, code fault.Code, reason, detail string) *fault.Error {
	f := *plain
	f.Code, f.Reason, f.Detail = code, reason, detail
	return &f
}

// ticketMissing says of what was not found that it is a ticket.
func ticketMissing(err error) error {
	if f := fault.From(err); f != nil && f.Code == fault.NotFound {
		return said(f, fault.NotFound, fault.ReasonTicketNotFound, noTicket().Detail)
	}
	return err
}

func noTicket() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is no such ticket in Freshdesk.").With("provider", name)
}

// unreadable is a success that says something other than expected.
func unreadable(method string) *fault.Error {
	f := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "Freshdesk answered something other than expected. Check the connection's base_url.")
	if method != http.MethodGet {
		f = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, "Freshdesk accepted the ticket, but what it answered could not be read.")
	}
	return f.With("provider", name)
}
