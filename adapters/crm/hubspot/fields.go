package hubspot

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// The source of tickets taken by phone (knowledge.hubspot.com/properties/hubspots-default-ticket-properties,
// "Source").
const (
	sourceProperty = "source_type"
	phone          = "PHONE"
)

// separator separates the values of a property that has several
// (developers.hubspot.com/docs/api-reference/latest/crm/properties/guide, "Multiple checkboxes").
const separator = ";"

// property is the definition of a property of tickets.
type property struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	FieldType  string   `json:"fieldType"`
	Unique     bool     `json:"hasUniqueValue"`
	Calculated bool     `json:"calculated"`
	External   bool     `json:"externalOptions"` // its options are not listed here
	Options    []option `json:"options"`
	Changes    struct {
		ReadOnlyValue bool `json:"readOnlyValue"`
	} `json:"modificationMetadata"`
}

// field returns the property as a field of the setting fields.
func (p property) field() adapter.TicketField {
	f := adapter.TicketField{Name: p.Name, ReadOnly: p.Calculated || p.Changes.ReadOnlyValue}
	switch {
	case p.Type == "number":
		f.Type = adapter.NumberField
	case p.Type == "bool":
		f.Type = adapter.BoolField
	case p.FieldType == "checkbox":
		f.Type = adapter.ListField
	}
	if p.Type == "enumeration" && !p.External {
		for _, o := range p.Options {
			f.Values = append(f.Values, o.Value)
		}
	}
	return f
}

// askProperty requests the definition of a property.
func (d *driver) askProperty(ctx context.Context, name string) (property, error) {
	var p property
	err := d.get(ctx, "/crm/properties/"+d.version+"/tickets/"+url.PathEscape(name), nil, &p)
	p.Name = name
	return p, err
}

// own returns the properties that the setting fields gives a ticket. HubSpot accepts each value as text.
func (d *driver) own(t crm.NewTicket) (map[string]string, error) {
	var known []adapter.TicketField
	for name, value := range d.fields {
		f := adapter.TicketField{Name: name}
		if _, several := value.([]any); several {
			f.Type = adapter.ListField
		}
		known = append(known, f)
	}
	filled, err := d.fields.Fill(name, known, t)
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(filled))
	for name, value := range filled {
		switch v := value.(type) {
		case []string:
			texts[name] = strings.Join(v, separator)
		case string:
			texts[name] = v
		}
	}
	return texts, nil
}

// source returns the source of a new ticket: PHONE if the account offers it, or else "". If the sources
// cannot be read, it returns "" for as long as it would remember them.
func (d *driver) source(ctx context.Context) string {
	list, err := d.sources.Look(ctx, d.now(), func(ctx context.Context) ([]option, error) {
		p, err := d.askProperty(ctx, sourceProperty)
		if err != nil {
			return nil, err
		}
		if p.field().ReadOnly {
			p.Options = nil
		}
		d.sources.Put(p.Options, d.now().Add(crm.LabelsLast))
		return p.Options, nil
	}, func([]option) bool { return true })
	if err != nil && ctx.Err() == nil {
		d.sources.Put(nil, d.now().Add(crm.LabelsLast))
	}
	if slices.ContainsFunc(list, func(o option) bool { return o.Value == phone && !o.Hidden }) {
		return phone
	}
	return ""
}

// checkFields checks the properties that the setting names, and the owner. HubSpot does not report which
// properties the account's forms require.
func (d *driver) checkFields(ctx context.Context) error {
	var known []adapter.TicketField
	for _, entry := range slices.Sorted(maps.Keys(d.fields)) {
		p, err := d.askProperty(ctx, entry)
		switch {
		case err == nil:
			known = append(known, p.field())
		case !errors.Is(err, fault.NotFound):
			return err
		}
	}
	if err := d.fields.Check(name, known, func(string) bool { return true }); err != nil {
		return err
	}
	return d.checkOwner(ctx)
}

// checkOwner checks that the owner exists that the setting names, if the connection may see owners.
func (d *driver) checkOwner(ctx context.Context) error {
	own, err := d.own(crm.NewTicket{})
	if err != nil || own[ownerProperty] == "" {
		return err
	}
	var owner struct{}
	err = d.get(ctx, "/crm/owners/"+d.version+"/"+url.PathEscape(own[ownerProperty]), nil, &owner)
	switch {
	case upstream.HasStatus(err, http.StatusNotFound, http.StatusBadRequest):
		return adapter.UnfitField(name, ownerProperty)
	case errors.Is(err, fault.Forbidden):
		return nil
	}
	return err
}
