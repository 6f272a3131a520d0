package freshdesk

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"frontdesk/core/adapter"
	"frontdesk/core/jsonread"
)

// system maps the types of Freshdesk's own ticket fields to their names in a request that creates a ticket.
// The setting fields may name them (developers.freshdesk.com/api, "Create a Ticket", "List All Ticket
// Fields").
var system = map[string]string{
	"default_ticket_type": "type", "default_source": "source", "default_status": "status",
	"default_priority": "priority", "default_group": "group_id", "default_agent": "responder_id",
	"default_company": "company_id", "default_product": "product_id",
}

// tags is a field that is missing from the list of ticket fields.
const tags = "tags"

// always holds the fields that the setting does not accept, since every call sets them.
var always = map[string]string{
	"subject":      "is set by the call.",
	"description":  "is set by the call, or else is its subject.",
	"requester":    "is the call's contact_id, or else requester_email.",
	"requester_id": "is the call's contact_id, or else requester_email.",
	"email":        "is set by requester_email.",
}

// phone is the source of tickets taken by phone (developers.freshdesk.com/api, "Create a Ticket").
const phone = 3

// ticketFields returns the account's fields, under the names that the setting uses.
func ticketFields(described []field) []adapter.TicketField {
	list := []adapter.TicketField{{Name: tags, Type: adapter.ListField}}
	for _, d := range described {
		f := adapter.TicketField{Name: d.Name, Required: d.Required, Values: d.values()}
		if name := system[d.Type]; name != "" {
			f.Name = name
		}
		switch d.Type {
		case "default_source", "default_status", "default_priority", "default_group", "default_agent",
			"default_company", "default_product", "custom_number", "custom_decimal":
			f.Type = adapter.NumberField
		case "custom_checkbox":
			f.Type = adapter.BoolField
		case "custom_multi_select_dropdown":
			f.Type = adapter.ListField
		}
		list = append(list, f)
		for _, below := range d.Nested { // their values depend on the field above
			list = append(list, adapter.TicketField{Name: below.Name})
		}
	}
	return list
}

// values returns the values that a field accepts, or nil if it accepts any. A list of choices holds values.
// In an object the names are the values, except for Freshdesk's own fields, where the numbers are sent.
func (f field) values() []string {
	var list []string
	if bytes.HasPrefix(bytes.TrimSpace(f.Choices), []byte("[")) {
		_ = json.Unmarshal(f.Choices, &list) // anything but a list of strings has no values
		return slices.Clip(list)
	}
	for _, m := range jsonread.Members(f.Choices, math.MaxInt) {
		var number int64
		switch {
		case system[f.Type] == "" || f.Type == "default_status":
			list = append(list, m.Name)
		case json.Unmarshal(m.Value, &number) == nil:
			list = append(list, strconv.FormatInt(number, 10))
		}
	}
	return list
}

// body returns the request body: the adapter's defaults, overridden by the setting's entries, overridden by
// the values of the call.
func (n newTicket) body(fields map[string]any) (map[string]any, error) {
	body := map[string]any{"source": phone, "status": statusOpen, "priority": priorityLow}
	custom := map[string]any{}
	names := slices.AppendSeq([]string{tags}, maps.Values(system))
	for name, value := range fields {
		if slices.Contains(names, name) {
			body[name] = value
		} else {
			custom[name] = value
		}
	}
	if len(custom) > 0 {
		body["custom_fields"] = custom
	}
	given, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return body, json.Unmarshal(given, &body)
}
