package salesforce

import (
	"maps"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// The origin of cases taken by phone: a value of Case.Origin in a new organisation (Object Reference,
// "Case").
const (
	origin = "Origin"
	phone  = "Phone"
)

// separator separates the values of a multi-select picklist ("Field Types", Object Reference).
const separator = ";"

// ticketFields returns the fields of cases that the connected user sees. The description does not say what a
// record type leaves out of a picklist.
func (d description) ticketFields() []adapter.TicketField {
	list := make([]adapter.TicketField, 0, len(d.Fields))
	for _, described := range d.Fields {
		f := adapter.TicketField{
			Name: described.Name, ReadOnly: !described.Createable,
			Required: described.Createable && !described.Nillable && !described.DefaultedOnCreate &&
				described.Type != "boolean",
		}
		switch described.Type {
		case "boolean":
			f.Type = adapter.BoolField
		case "int", "long", "double", "currency", "percent":
			f.Type = adapter.NumberField
		case "multipicklist":
			f.Type = adapter.ListField
		}
		for _, v := range described.Values {
			if described.Restricted && v.Active {
				f.Values = append(f.Values, v.Value)
			}
		}
		list = append(list, f)
	}
	return list
}

// offersPhone reports whether the user can set the origin of a case to Phone.
func (d description) offersPhone() bool {
	for _, described := range d.Fields {
		if described.Name != origin || !described.Createable {
			continue
		}
		for _, v := range described.Values {
			if v.Active && v.Value == phone {
				return true
			}
		}
	}
	return false
}

// body returns the fields of a new case: the adapter's default, overridden by the entries of the setting,
// overridden by the values of the call.
func (p *picklists) body(t crm.NewTicket, setting adapter.TicketFields) (map[string]any, error) {
	var unknown []fault.Field
	status, isKnown := p.status.value(t.Status)
	if !isKnown {
		unknown = append(unknown, unknownLabel("status"))
	}
	priority, isKnown := p.priority.value(t.Priority)
	if !isKnown {
		unknown = append(unknown, unknownLabel("priority"))
	}
	if len(unknown) > 0 {
		return nil, fault.InvalidFields(unknown...)
	}
	own, err := setting.Fill(name, p.fields, t)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if p.phone {
		body[origin] = phone
	}
	for field, value := range own {
		if list, isList := value.([]string); isList {
			value = strings.Join(list, separator)
		}
		body[field] = value
	}
	for field, value := range map[string]string{
		"Subject": t.Subject, "Description": t.Description, "Status": status, "Priority": priority,
		"OwnerId": t.OwnerID, "AccountId": t.AccountID, "ContactId": t.ContactID,
	} {
		if value != "" {
			body[field] = value
		}
	}
	return body, nil
}

// ofSetting returns the fields that the setting has entries for, or the default, which an entry can replace: a record
// type may leave Phone out of the origins.
func ofSetting(setting adapter.TicketFields, fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(name string) bool {
		return setting[name] == nil && name != origin
	})
}

// records returns the entries of the setting whose constants can be ids.
func records(setting adapter.TicketFields) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(setting)) {
		if id, isText := setting[name].(string); isText && recordID.MatchString(id) {
			names = append(names, name)
		}
	}
	return names
}
