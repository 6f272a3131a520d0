package zendesk

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// system lists Zendesk's own fields that the setting fields may name
// (developer.zendesk.com/api-reference/ticketing/tickets/tickets, "JSON format").
var system = []adapter.TicketField{
	{Name: "type"},
	{Name: "priority"},
	{Name: "status", Values: []string{"new", "open", "pending", "hold", solved}},
	{Name: "custom_status_id", Type: adapter.NumberField},
	{Name: "group_id", Type: adapter.NumberField},
	{Name: "assignee_id", Type: adapter.NumberField},
	{Name: "organization_id", Type: adapter.NumberField},
	{Name: "requester_id", Type: adapter.NumberField},
	{Name: "brand_id", Type: adapter.NumberField},
	{Name: "ticket_form_id", Type: adapter.NumberField},
	{Name: "tags", Type: adapter.ListField},
}

// described maps the types of Zendesk's own ticket fields to the names that the setting uses, or to "" if the
// setting does not accept the field (developer.zendesk.com/api-reference/ticketing/tickets/ticket_fields).
var described = map[string]string{
	"subject": "", "description": "", "status": "status", "custom_status": "custom_status_id",
	"tickettype": "type", "priority": "priority", "basic_priority": "priority",
	"group": "group_id", "assignee": "assignee_id",
}

// untaken holds the fields that the setting does not accept, each with the reason.
var untaken = map[string]string{
	"subject":     "is set by the call.",
	"description": "is set by the call, or else is its subject.",
	"comment":     "is set by the call.",
	"external_id": "holds the key of the call.",
	// developer.zendesk.com/documentation/ticketing/reference-guides/via-object-reference.
	"via":    "is for Zendesk to set: it advises against setting a ticket's channel.",
	"via_id": "is for Zendesk to set: it advises against setting a ticket's channel.",
}

var customID = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)

// unknownNames reports entries whose name cannot be that of a field.
func unknownNames(fields adapter.TicketFields) (faults []fault.Field) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		ours := func(f adapter.TicketField) bool { return f.Name == name }
		if !customID.MatchString(name) && untaken[name] == "" && !slices.ContainsFunc(system, ours) {
			faults = append(faults, fault.Field{
				Path: "settings.fields." + name,
				Message: "must be the id of a custom field, or one of Zendesk's own fields that the setting " +
					"accepts.",
			})
		}
	}
	return faults
}

// ticketFields returns the account's fields, under the names that the setting uses. Most required fields are
// required only to solve a ticket ("If true, agents must enter a value in the field to change the ticket
// status to solved").
func ticketFields(answer fieldsAnswer, statuses []customStatus) []adapter.TicketField {
	list := slices.Clone(system)
	for _, field := range answer.Fields {
		var values []string
		for _, o := range slices.Concat(field.Options, field.Custom) {
			values = append(values, o.Value)
		}
		inactive := field.Active != nil && !*field.Active
		name, isSystem := described[field.Type]
		if i := slices.IndexFunc(list, func(f adapter.TicketField) bool { return f.Name == name }); isSystem {
			if i >= 0 && (name == "type" || name == "priority") {
				list[i].Values, list[i].ReadOnly, list[i].Required = values, inactive, field.Required
			}
			continue
		}
		f := adapter.TicketField{
			Name: strconv.FormatInt(field.ID, 10), Values: values,
			ReadOnly: inactive, Required: field.Required && !inactive,
		}
		switch field.Type {
		case "checkbox":
			f.Type = adapter.BoolField
		case "integer", "decimal":
			f.Type = adapter.NumberField
		case "multiselect":
			f.Type = adapter.ListField
		}
		list = append(list, f)
	}
	for i := range list {
		if list[i].Name != "custom_status_id" {
			continue
		}
		for _, s := range statuses {
			if s.active {
				list[i].Values = append(list[i].Values, strconv.FormatInt(s.id, 10))
			}
		}
	}
	return list
}

// customField is the value of a custom field.
type customField struct {
	ID    json.Number `json:"id"`
	Value any         `json:"value"`
}

// body returns the ticket of the request: the entries of the setting, overridden by the values of the call. A
// status of the call replaces both fields that can hold a status.
func (n newTicket) body(fields map[string]any) (map[string]any, error) {
	body := map[string]any{}
	var custom []customField
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if customID.MatchString(name) {
			custom = append(custom, customField{json.Number(name), fields[name]})
			continue
		}
		body[name] = fields[name]
	}
	if custom != nil {
		body["custom_fields"] = custom
	}
	if n.Status != "" || n.CustomStatusID != 0 {
		delete(body, "status")
		delete(body, "custom_status_id")
	}
	given, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return body, json.Unmarshal(given, &body)
}
