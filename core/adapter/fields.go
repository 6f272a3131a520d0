package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/spelling"
)

// TicketFields is a setting of CRM adapters: values that every new ticket gets in fields for which calls have
// no parameter, by the provider's field names. A value is a constant, or a text in which placeholders such as
// {subject} stand for values of the call; {{ and }} are literal braces.
//
//	fields: {Region__c: EMEA, Callback__c: true, Topics__c: [heating, water], Summary__c: "Call: {subject}"}
//
// A value of the call takes precedence over an entry for the same field, and an entry over the adapter's
// default.
type TicketFields map[string]any

// placeholder is a name that a text may contain in braces.
type placeholder struct {
	name  string
	value func(crm.NewTicket) string // the value it stands for
}

var placeholders = []placeholder{
	{"subject", func(t crm.NewTicket) string { return t.Subject }},
	{"description", func(t crm.NewTicket) string { return t.Description }},
	{"status", func(t crm.NewTicket) string { return t.Status }},
	{"priority", func(t crm.NewTicket) string { return t.Priority }},
	{"owner_id", func(t crm.NewTicket) string { return t.OwnerID }},
	{"account_id", func(t crm.NewTicket) string { return t.AccountID }},
	{"contact_id", func(t crm.NewTicket) string { return t.ContactID }},
}

// braces matches everything with a meaning in a text: doubled braces, placeholders, and braces that are
// neither.
var braces = regexp.MustCompile(`\{\{|\}\}|\{[^{}]*\}|[{}]`)

// ticketFields decodes the setting and returns the faults in it.
func ticketFields(path string, given map[string]any) (TicketFields, []fault.Field) {
	fields := make(TicketFields, len(given))
	var faults []fault.Field
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		if problem := unfit(value); problem != "" {
			faults = append(faults, fault.Field{Path: path + "." + name, Message: problem})
			continue
		}
		fields[name] = value
	}
	return fields, faults
}

// unfit returns what is wrong with the value of an entry, or "" if it is valid.
func unfit(value any) string {
	switch v := value.(type) {
	case string:
		return unfitText(v)
	case []any:
		for _, item := range v {
			text, isText := item.(string)
			if !isText {
				return "must be a list of texts."
			}
			if problem := unfitText(text); problem != "" {
				return problem
			}
		}
		return ""
	case bool, float64, int, int64, uint64:
		return ""
	}
	return "must be text, a number, true, false or a list of texts."
}

func unfitText(text string) string {
	if text == "" {
		return "must not be empty."
	}
	known := make([]string, 0, len(placeholders))
	for _, p := range placeholders {
		known = append(known, p.name)
	}
	for _, found := range braces.FindAllString(text, -1) {
		name := strings.Trim(found, "{}")
		switch {
		case found == "{" || found == "}":
			return "has a brace that is not part of a placeholder; write {{ or }} for a brace."
		case found == "{{" || found == "}}" || slices.Contains(known, name):
			continue
		}
		meant := ""
		if nearest := spelling.Nearest(name, known); nearest != "" {
			meant = " Did you mean {" + nearest + "}?"
		}
		return fmt.Sprintf("has the unknown placeholder %s.%s Known placeholders: {%s}.",
			found, meant, strings.Join(known, "}, {"))
	}
	return ""
}

// FieldType is the type of a field's values.
type FieldType int

// The types of fields.
const (
	TextField   FieldType = iota
	NumberField           // sent as a number
	BoolField             // sent as true or false
	ListField             // sent as a list of texts
)

// shapeOf describes, for messages, what the values of a field must be.
var shapeOf = map[FieldType]string{
	TextField: "text", NumberField: "a number", BoolField: "true or false", ListField: "a list of texts",
}

// TicketField is a field of tickets as the provider describes it.
type TicketField struct {
	Name     string
	Type     FieldType
	ReadOnly bool
	Required bool     // the provider rejects tickets without it
	Values   []string // the accepted values; nil accepts any
}

// Fill returns the values of a new ticket, each of its field's type. It omits entries whose placeholders are
// all empty. The error is that of [TicketFields.Check] for an entry that does not fit the known fields.
func (f TicketFields) Fill(provider string, known []TicketField, t crm.NewTicket) (map[string]any, error) {
	values := make(map[string]any, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		field, err := f.field(provider, known, name)
		if err != nil {
			return nil, err
		}
		filled, given := filledValue(f[name], t)
		if !given {
			continue
		}
		value, err := field.take(provider, filled)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

// Check reports the first entry that names an unknown or read-only field, or a constant that the field does
// not accept; then the first field that the provider requires and that is set neither by an entry nor, as set
// reports, by every call.
func (f TicketFields) Check(provider string, known []TicketField, set func(name string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		field, err := f.field(provider, known, name)
		if err != nil {
			return err
		}
		if isTemplate(f[name]) {
			continue // its value depends on the call
		}
		constant, _ := filledValue(f[name], crm.NewTicket{})
		if _, err := field.take(provider, constant); err != nil {
			return err
		}
	}
	for _, field := range known {
		if _, entry := f[field.Name]; field.Required && !entry && !set(field.Name) {
			return MissingField(provider, field.Name)
		}
	}
	return nil
}

// field returns the known field that an entry sets.
func (f TicketFields) field(provider string, known []TicketField, name string) (TicketField, error) {
	i := slices.IndexFunc(known, func(k TicketField) bool { return k.Name == name })
	switch {
	case i < 0:
		names := make([]string, 0, len(known))
		for _, k := range known {
			names = append(names, k.Name)
		}
		meant := ""
		if nearest := spelling.Nearest(name, names); nearest != "" {
			meant = " Did you mean " + nearest + "?"
		}
		return TicketField{}, misfit(provider,
			"names the field %s, which tickets do not have, or which the connected user cannot see.%s",
			name, meant)
	case known[i].ReadOnly:
		return TicketField{}, misfit(provider,
			"names the field %s, which the connected user cannot set.", name)
	}
	return known[i], nil
}

// take converts value to the field's type, or returns why it does not fit.
func (k TicketField) take(provider string, value any) (any, error) {
	typed, fits := k.convert(value)
	if !fits {
		return nil, misfit(provider, "gives the field %s a value that is not %s.", k.Name,
			shapeOf[k.Type])
	}
	parts, isList := typed.([]string)
	if !isList {
		parts = []string{textOf(typed)}
	}
	for _, part := range parts {
		if k.Values != nil && !slices.Contains(k.Values, part) {
			return nil, misfit(provider,
				"gives the field %s the value %q, which it does not accept; it accepts %s.",
				k.Name, part, some(k.Values))
		}
	}
	return typed, nil
}

func (k TicketField) convert(value any) (typed any, fits bool) {
	list, isList := value.([]string)
	switch k.Type {
	case ListField:
		if !isList {
			list = []string{textOf(value)}
		}
		return list, true
	case NumberField:
		if text, isText := value.(string); isText {
			_, err := strconv.ParseFloat(text, 64)
			return json.Number(text), err == nil && json.Valid([]byte(text))
		}
		_, isBool := value.(bool)
		return json.Number(textOf(value)), !isBool && !isList
	case BoolField:
		if text, isText := value.(string); isText {
			return text == "true", text == "true" || text == "false"
		}
		_, isBool := value.(bool)
		return value, isBool
	}
	return textOf(value), !isList
}

func textOf(value any) string {
	if n, isFloat := value.(float64); isFloat {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// some lists values for a message, but not more than a person can choose from.
func some(values []string) string {
	const most = 20
	if len(values) > most {
		return strings.Join(values[:most], ", ") + fmt.Sprintf(" and %d others", len(values)-most)
	}
	return strings.Join(values, ", ")
}

// filledValue replaces the placeholders in value with values of the call. given is false if all of them are
// empty.
func filledValue(value any, t crm.NewTicket) (filled any, given bool) {
	switch v := value.(type) {
	case string:
		return filledText(v, t)
	case []any:
		var list []string
		for _, item := range v {
			if text, given := filledText(item.(string), t); given {
				list = append(list, text)
			}
		}
		return list, list != nil
	}
	return value, true
}

func filledText(text string, t crm.NewTicket) (filled string, given bool) {
	names, values := 0, 0
	filled = braces.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "{}")
		if name == "" { // a doubled brace
			return found[:1]
		}
		value := ""
		for _, p := range placeholders {
			if p.name == name {
				value = p.value(t)
			}
		}
		names++
		if value != "" {
			values++
		}
		return value
	})
	return filled, names == 0 || values > 0
}

// isTemplate reports whether a value depends on the call.
func isTemplate(value any) bool {
	switch v := value.(type) {
	case string:
		return slices.ContainsFunc(braces.FindAllString(v, -1), func(found string) bool {
			return strings.Trim(found, "{}") != ""
		})
	case []any:
		return slices.ContainsFunc(v, isTemplate)
	}
	return false
}

// Without returns a fault for each entry that has a reason in reasons, which maps the fields that an adapter
// does not accept to messages.
func (f TicketFields) Without(reasons map[string]string) []fault.Field {
	var faults []fault.Field
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if reason := reasons[name]; reason != "" {
			faults = append(faults, fault.Field{Path: "settings.fields." + name, Message: reason})
		}
	}
	return faults
}

// MissingField returns the fault for a field that the provider requires on every ticket and that nothing
// sets.
func MissingField(provider, names string) *fault.Error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The account requires fields on tickets that nothing sets: %s. "+
			"Give them values in the connection's setting fields.",
		names).With("provider", provider)
}

// UnfitField returns the fault for a field whose configured value the provider rejects.
func UnfitField(provider, names string) *fault.Error {
	return misfit(provider, "gives a value that the account does not accept: %s.", names)
}

func misfit(provider, format string, args ...any) *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The connection's setting fields "+fmt.Sprintf(format, args...)+" Correct the setting.",
	).With("provider", provider)
}

// Attribute converts a refusal that names fields of the call into a fault of the setup, if an entry set those
// fields and the call did not. names maps the provider's field names to the call's fields.
func (f TicketFields) Attribute(
	provider string, refused error, t crm.NewTicket, names map[string]string,
) error {
	e := fault.From(refused)
	if e == nil || e.Code != fault.Invalid {
		return refused
	}
	var unfit []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for _, p := range placeholders {
			isNamed := slices.ContainsFunc(e.Fields, func(of fault.Field) bool { return of.Path == p.name })
			if p.name == names[name] && isNamed && p.value(t) == "" {
				unfit = append(unfit, name)
			}
		}
	}
	if unfit == nil {
		return refused
	}
	ours := *UnfitField(provider, strings.Join(unfit, ", "))
	ours.Metadata, ours.Upstream, ours.Err = e.Metadata, e.Upstream, e.Err
	return &ours
}
