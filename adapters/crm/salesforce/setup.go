package salesforce

import (
	"context"
	"maps"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// CheckSetup checks what the connected user may do with cases. It reads their description and queries one.
func (d *driver) CheckSetup(ctx context.Context) error {
	lists, err := d.describe(ctx)
	if err != nil {
		return err
	}
	if !lists.createable {
		return forbidden(
			"The connected Salesforce user may not create cases. Grant the user that permission, or " +
				"connect another one.")
	}
	if err := d.keyFieldServes(lists); err != nil {
		return err
	}
	if readOnly := lists.readOnly(); readOnly != nil {
		return forbidden("The connected Salesforce user cannot set these fields of cases: " +
			strings.Join(readOnly, ", ") + ". Give the user field-level access to them.")
	}
	err = d.fields.Check(name, lists.fields, func(field string) bool {
		return field == "Subject" || field == d.keyField || field == origin && lists.phone
	})
	if err != nil {
		return err
	}
	if err := d.recordsExist(ctx, lists); err != nil {
		return err
	}
	_, err = query[record](ctx, d, existing, d.selected+" LIMIT 1")
	return err
}

// recordsExist returns an error if there is no record for an id that the setting holds.
func (d *driver) recordsExist(ctx context.Context, lists *picklists) error {
	for _, field := range slices.Sorted(maps.Keys(lists.references)) {
		id, isText := d.fields[field].(string)
		if !isText || strings.Contains(id, "{") { // a placeholder
			continue
		}
		exists := false
		for _, kind := range lists.references[field] {
			if !recordID.MatchString(id) {
				continue
			}
			soql := "SELECT Id FROM " + kind + " WHERE Id = " + quote(id) + " LIMIT 1"
			found, err := query[struct{ ID string }](ctx, d, existing, soql)
			if err != nil {
				return err
			}
			exists = exists || len(found) > 0
		}
		if !exists {
			return adapter.UnfitField(name, field)
		}
	}
	return nil
}

// keyFieldServes returns an error if an upsert cannot use the field for keys, or if it accepts a key twice.
func (d *driver) keyFieldServes(lists *picklists) error {
	if d.keyField == "" || slices.Contains(lists.keys, d.keyField) {
		return nil
	}
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"Cases have no field %s that the connected user can set and that is marked External ID and Unique. "+
			"Create one, or correct the connection's setting external_id_field.",
		d.keyField)
}

// readOnly returns the fields a call can give that the user cannot set.
func (p *picklists) readOnly() (names []string) {
	given := []string{"Subject", "Description", "Status", "Priority", "OwnerId", "AccountId", "ContactId"}
	for _, of := range given {
		isOpen := func(f adapter.TicketField) bool { return f.Name == of && !f.ReadOnly }
		if !slices.ContainsFunc(p.fields, isOpen) {
			names = append(names, of)
		}
	}
	return names
}

func forbidden(detail string) *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, detail)
}
