package zendesk

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// errorBody is an error response. Zendesk uses three shapes, {error, description, details}, {error: {title,
// message}} and {status, error}, and sometimes plain text. Only the first shape is specific enough to act on.
type errorBody struct {
	Error   string
	Details map[string][]detail
}

// detail is one problem with a field, or with the ticket as a whole ("base").
type detail struct {
	Error       string `json:"error"`
	Description string `json:"description"`
	FieldID     int64  `json:"ticket_field_id"`
	FieldKey    int64  `json:"field_key"` // the same, of some rules
}

func (t *errorBody) read(body []byte) {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return
	}
	// A value of another shape stays empty.
	_ = json.Unmarshal(shape.Error, &t.Error)
	if json.Unmarshal(shape.Details, &t.Details) != nil {
		t.Details = nil
	}
}

// refusal converts an error response into a fault. Most faults follow from the status alone.
func (d *driver) refusal(method string, status int, header http.Header, body []byte) *fault.Error {
	plain := upstream.StatusFault(name, status, header, body)
	var t errorBody
	t.read(body)
	switch status {
	case http.StatusBadRequest:
		if t.Error == "IdempotentRequestError" {
			return plain.Restate(fault.Conflict, fault.ReasonProviderConflict,
				"Zendesk already has a ticket with this key but other values. Check in Zendesk.")
		}
	case http.StatusUnprocessableEntity:
		if method == http.MethodPost {
			return d.notValid(plain, t)
		}
	case http.StatusNotFound, http.StatusGone:
		if t.Error != "RecordNotFound" {
			return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
				"The connection's address has no Zendesk account, or no such API. Check base_url.")
		}
	case http.StatusConflict:
		// Two writes conflicted, and Zendesk undid the later one
		// (developer.zendesk.com/api-reference/introduction/requests, "409"). A retry succeeds, but not while
		// the first try is still running (IdempotentRequestInProgress).
		if t.Error == "DatabaseConflict" && method == http.MethodPost {
			return fault.Unacted(plain.Restate(fault.Unavailable, fault.ReasonProviderUnavailable,
				"Zendesk was busy with another change and did not open the ticket. Try again."))
		}
	}
	return plain
}

// fields maps Zendesk's names of fields to ours.
var fields = map[string]string{
	"assignee": "owner_id", "assignee_id": "owner_id", "organization": "account_id",
	"organization_id": "account_id", "requester": "contact_id", "requester_id": "contact_id", "status": "status",
	"custom_status_id": "status", "custom_status": "status", "priority": "priority", "subject": "subject",
	"comment": "description", "description": "description",
}

// notValid returns a fault that names the fields that Zendesk names. A field that no call has belongs to the
// setup: the setting fields gives it a wrong value, or none.
func (d *driver) notValid(plain *fault.Error, t errorBody) *fault.Error {
	var named []fault.Field
	var missing, unfit []string
	for _, key := range slices.Sorted(maps.Keys(t.Details)) {
		for _, problem := range t.Details[key] {
			path, known := fields[strings.ToLower(key)]
			if !known && key == "base" {
				// "Assignee: is required when solving a ticket": the field is in the words alone.
				of, _, _ := strings.Cut(problem.Description, ":")
				path, known = fields[strings.ToLower(of)]
			}
			if !known {
				field := cmp.Or(problem.FieldID, problem.FieldKey)
				if id := strconv.FormatInt(field, 10); d.fields[id] != nil {
					unfit = append(unfit, id)
				} else if field > 0 {
					missing = append(missing, id)
				} else if d.fields[key] != nil {
					unfit = append(unfit, key)
				}
				continue
			}
			message := "is not accepted by Zendesk. Check that it exists and fits the other values."
			switch {
			case problem.Error == "BlankValue":
				message = "is required by Zendesk for this ticket."
			case path == "subject" || path == "description":
				message = "is not accepted by Zendesk. It may be too long; shorten it."
			}
			named = fault.AddField(named, fault.Field{Path: path, Message: message})
		}
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
		"Zendesk's rules do not accept this ticket, and do not say which field is wrong. The gateway's log "+
			"has the provider's message at debug level.")
}

func noTicket() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonTicketNotFound, "There is no such ticket in Zendesk.")
}

// unreadable returns the fault of a successful response with unexpected content.
func unreadable(method string) *fault.Error {
	return upstream.Unreadable(name, method,
		"Zendesk gave an unexpected answer. Check the connection's base_url.",
		"Zendesk accepted the ticket, but its answer could not be read.")
}
