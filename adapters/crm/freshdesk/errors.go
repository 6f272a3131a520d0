package freshdesk

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// errorBody is the response to a ticket that is not valid (developers.freshdesk.com/api, "Errors").
type errorBody struct {
	Errors []struct {
		Field string `json:"field"`
		Code  string `json:"code"`
	} `json:"errors"`
}

// refusal converts an error response into a fault. Most faults follow from the status alone.
func refusal(method string, status int, header http.Header, body []byte) *fault.Error {
	plain := upstream.StatusFault(name, status, header, body)
	switch status {
	case http.StatusBadRequest:
		var t errorBody
		if json.Unmarshal(body, &t) != nil {
			return plain
		}
		if method == http.MethodGet {
			for _, e := range t.Errors {
				plain.Fields = append(plain.Fields, fault.Field{Path: e.Field, Message: "is not accepted by Freshdesk."})
			}
			return plain
		}
		return notValid(plain, t)
	case http.StatusNotFound, http.StatusGone:
		// The response for a missing record is a 404 without a body. For an unknown host or path it has a page.
		if status == http.StatusGone || len(bytes.TrimSpace(body)) > 0 {
			return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
				"The connection's address has no Freshdesk account, or no such API. Check base_url.")
		}
	}
	return plain
}

// fields maps Freshdesk's names of fields to ours.
var fields = map[string]string{
	"responder_id": "owner_id", "company_id": "account_id", "requester_id": "contact_id",
	"status": "status", "priority": "priority", "subject": "subject", "description": "description",
}

// notValid returns a fault that names the fields that Freshdesk names. A field that no call has belongs to
// the setup: the setting fields gives it a wrong value, or none.
func notValid(plain *fault.Error, t errorBody) *fault.Error {
	var named []fault.Field
	var missing, unfit []string
	for _, e := range t.Errors {
		if e.Field == "email" {
			return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
				"Freshdesk does not accept the connection's requester_email. Correct it, or send a contact_id.")
		}
		field := strings.TrimPrefix(e.Field, "custom_fields.")
		path, known := fields[field]
		message := "is not accepted by Freshdesk. Check that it exists and fits the other values."
		switch isMissing := e.Code == "missing_field"; {
		case !known && !fieldName.MatchString(field):
			continue
		case !known && isMissing:
			missing = append(missing, field)
			continue
		case !known:
			unfit = append(unfit, field)
			continue
		case isMissing:
			message = "is required by Freshdesk for this ticket."
		case path == "subject" || path == "description":
			message = "is not accepted by Freshdesk. It may be too long; shorten it."
		}
		named = fault.AddField(named, fault.Field{Path: path, Message: message})
	}
	switch {
	case len(named) > 0:
		return plain.RestateAs(fault.InvalidFields(named...))
	case len(missing) > 0:
		return plain.RestateAs(adapter.MissingField(name, strings.Join(missing, ", ")))
	case len(unfit) > 0:
		return plain.RestateAs(adapter.UnfitField(name, strings.Join(unfit, ", ")))
	}
	return plain.Restate(fault.Invalid, fault.ReasonProviderRefused,
		"Freshdesk's rules do not accept this ticket, and do not say which field is wrong. The gateway's "+
			"log has the provider's message at debug level.")
}

// refusesFilter reports whether Freshdesk refuses the value of a filter.
func refusesFilter(err error, filter string) bool {
	f := fault.From(err)
	return f != nil && f.Code == fault.Invalid &&
		slices.ContainsFunc(f.Fields, func(field fault.Field) bool { return field.Path == filter })
}

var fieldName = regexp.MustCompile(`^[A-Za-z0-9_]{1,100}$`)

func noTicket() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is no such ticket in Freshdesk.")
}

// unreadable returns the fault of a successful response with unexpected content.
func unreadable(method string) *fault.Error {
	return upstream.Unreadable(name, method,
		"Freshdesk gave an unexpected answer. Check the connection's base_url.",
		"Freshdesk accepted the ticket, but its answer could not be read.")
}
