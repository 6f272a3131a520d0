package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// owners can have tickets.
var owners = []string{"6166860", "6166861"}

type ticket struct {
	id               string
	properties       map[string]string
	contact, company string
	primary          bool // the company is the primary one
	created, updated time.Time
	mergedInto       string
	archived         bool // in the recycling bin
}

// maxValueLength is the maximum length of a property's value
// (knowledge.hubspot.com/properties/property-field-types-in-hubspot).
const maxValueLength = 65536

const (
	ticketToContact        = 16
	ticketToPrimaryCompany = 26
	ticketToCompany        = 339
)

type creation struct {
	Properties   map[string]string `json:"properties"`
	Associations []struct {
		To struct {
			ID string `json:"id"`
		} `json:"to"`
		Types []struct {
			Category string `json:"associationCategory"`
			ID       int    `json:"associationTypeId"`
		} `json:"types"`
	} `json:"associations"`
}

func decode(r *http.Request, into any) *refusal {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
		return &refusal{
			status: http.StatusUnsupportedMediaType, category: "VALIDATION_ERROR",
			message: "HTTP 415 Unsupported Media Type",
		}
	}
	body := json.NewDecoder(r.Body)
	body.DisallowUnknownFields()
	if err := body.Decode(into); err != nil {
		return validation("Invalid input JSON on line 1, column 1: " + err.Error())
	}
	if _, err := body.Token(); err != io.EOF {
		return validation("Invalid input JSON: more than one value")
	}
	return nil
}

func (c call) create([]string) (any, *refusal) {
	var in creation
	if refused := first(c.takes(), c.needsOne(writeTickets), decode(c.request, &in)); refused != nil {
		return nil, refused
	}
	t := &ticket{properties: maps.Clone(in.Properties), created: c.options.Now(), updated: c.options.Now()}
	if t.properties == nil {
		t.properties = map[string]string{}
	}
	if t.properties["hs_pipeline"] == "" {
		t.properties["hs_pipeline"] = c.standard().id
	}
	if refused := first(c.complete(t), c.valid(t), c.associate(t, in), c.refuseTaken(t)); refused != nil {
		return nil, refused
	}
	t.id = strconv.FormatInt(c.next(), 10)
	c.settle(t)
	c.tickets = append(c.tickets, t)
	// The response has the properties that were set and a few more, but no associations.
	return c.shape(t, slices.Concat(slices.Collect(maps.Keys(t.properties)), readOnlyProperties,
		[]string{"hubspot_owner_id"}), nil), nil
}

// complete refuses a ticket without a required property.
func (c call) complete(t *ticket) *refusal {
	var missing []string
	for _, name := range slices.Concat([]string{"subject", "hs_pipeline_stage"}, c.options.Require) {
		if t.properties[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	refused := validation("Error creating TICKET. Some required properties were not set.")
	refused.context = map[string]any{"properties": missing}
	return refused
}

// valid refuses a ticket with a wrong property or value.
func (c call) valid(t *ticket) *refusal {
	var wrong []any
	bad := func(name, code, format string, args ...any) {
		wrong = append(wrong, map[string]any{
			"isValid": false, "message": fmt.Sprintf(format, args...), "error": code, "name": name,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(t.properties)) {
		value := t.properties[name]
		switch {
		case slices.Contains(readOnlyProperties, name):
			bad(name, "READ_ONLY_VALUE", "%s is a read only property; its value cannot be set", name)
		case !slices.Contains(slices.Concat(standardProperties, c.custom()), name):
			bad(name, "PROPERTY_DOESNT_EXIST", "Property %q does not exist", name)
		case len(value) > maxValueLength:
			bad(name, "PROPERTY_VALUE_TOO_LONG", "The value is too long")
		case name == "hs_ticket_priority" && value != "" &&
			!slices.ContainsFunc(priorities, func(p choice) bool { return p.value == value }):
			bad(name, "INVALID_OPTION", "%s was not one of the allowed options", value)
		case name == "hubspot_owner_id" && value != "" && !slices.Contains(owners, value):
			bad(name, "INVALID_OWNER_ID", "%s was not a valid owner id.", value)
		case name == "source_type" && value != "" &&
			!slices.ContainsFunc(c.sources(), func(p choice) bool { return p.value == value }):
			bad(name, "INVALID_OPTION", "%s was not one of the allowed options", value)
		case c.own(name) != nil && !c.own(name).takes(value):
			bad(name, "INVALID_OPTION", "%s was not one of the allowed options", value)
		case c.own(name) != nil && c.own(name).ReadOnly:
			bad(name, "READ_ONLY_VALUE", "%s is a read only property; its value cannot be set", name)
		case name == "hs_pipeline_stage":
			if _, known := c.stage(t.properties["hs_pipeline"], value); !known {
				bad(name, "INVALID_OPTION", "%s is not a valid pipeline stage ID. Valid options are: [1, 2, 3, 4]", value)
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return invalidProperties(wrong)
}

// own returns a custom property, or nil if there is none with that name.
func (s *Server) own(name string) *Field {
	i := slices.IndexFunc(s.options.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.options.Fields[i]
}

// takes reports whether the property accepts the value
// (developers.hubspot.com/docs/api-reference/latest/crm/properties/guide, "Property type and fieldType
// values").
func (f Field) takes(value string) bool {
	switch f.Type {
	case "number":
		_, err := strconv.ParseFloat(value, 64)
		return err == nil
	case "bool":
		return value == "true" || value == "false"
	}
	if f.Options == nil {
		return true
	}
	parts := []string{value}
	if f.FieldType == "checkbox" {
		parts = strings.Split(value, ";")
	}
	return !slices.ContainsFunc(parts, func(part string) bool { return !slices.Contains(f.Options, part) })
}

// owner responds with an owner, which needs its own scope.
func (c call) owner(parts []string) (any, *refusal) {
	if refused := first(c.takes(), c.needs("crm.objects.owners.read")); refused != nil {
		return nil, refused
	}
	if !slices.Contains(owners, parts[0]) {
		return nil, &refusal{
			status: http.StatusNotFound, category: "OBJECT_NOT_FOUND", message: "resource not found",
		}
	}
	return map[string]any{"id": parts[0], "email": "owner@example.com", "archived": false}, nil
}

// list responds with a page of tickets.
func (c call) list([]string) (any, *refusal) {
	if refused := first(c.takes("limit", "associations"), c.needsOne(readTickets)); refused != nil {
		return nil, refused
	}
	for _, kind := range c.values("associations") {
		if refused := c.needs("crm.objects." + kind + ".read"); refused != nil {
			return nil, refused
		}
	}
	limit, err := strconv.Atoi(c.query.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		return nil, validation("Invalid limit")
	}
	results := []any{}
	for _, t := range c.tickets[:min(limit, len(c.tickets))] {
		results = append(results, c.shape(t, []string{"subject"}, nil))
	}
	return map[string]any{"results": results}, nil
}

// update changes a ticket.
func (c call) update(parts []string) (any, *refusal) {
	var in creation
	if refused := first(c.takes("idProperty"), c.needsOne(writeTickets),
		decode(c.request, &in)); refused != nil {
		return nil, refused
	}
	if found := c.find(func(t *ticket) bool { return t.id == parts[0] }); found != nil {
		maps.Copy(found.properties, in.Properties)
		return c.shape(found, slices.Collect(maps.Keys(in.Properties)), nil), nil
	}
	return nil, &refusal{
		status: http.StatusNotFound, category: "OBJECT_NOT_FOUND", message: "resource not found",
	}
}

// associate reads the associations of a new ticket. It refuses records that do not exist, as HubSpot does.
func (c call) associate(t *ticket, in creation) *refusal {
	for _, a := range in.Associations {
		if len(a.Types) == 0 || a.To.ID == "" {
			return validation("Invalid input JSON on line 1: Some required fields were not set: [types, to]")
		}
		for _, kind := range a.Types {
			object, scope := "CONTACT", "crm.objects.contacts.read"
			if kind.ID != ticketToContact {
				object, scope = "COMPANY", "crm.objects.companies.read"
			}
			if kind.Category != "HUBSPOT_DEFINED" ||
				!slices.Contains([]int{ticketToContact, ticketToPrimaryCompany, ticketToCompany}, kind.ID) {
				return validation(fmt.Sprintf("%d is not a valid association type of tickets", kind.ID))
			}
			if refused := c.needs(scope); refused != nil {
				return refused
			}
			if !c.knows(object, a.To.ID) {
				refused := validation("One or more associations are invalid")
				refused.context = map[string]any{
					"INVALID_OBJECT_IDS": []string{object + "=" + a.To.ID + " is not valid"}, "objectId": []string{a.To.ID},
					"objectType": []string{object},
				}
				return refused
			}
			if object == "CONTACT" {
				t.contact = a.To.ID
			} else {
				t.company, t.primary = a.To.ID, t.primary || kind.ID == ticketToPrimaryCompany
			}
		}
	}
	return nil
}

// refuseTaken refuses a value of a unique property that another ticket has.
func (c call) refuseTaken(t *ticket) *refusal {
	for _, name := range c.options.Unique {
		value := t.properties[name]
		has := func(other *ticket) bool { return !other.archived && other.properties[name] == value }
		if value != "" && c.find(has) != nil {
			return invalidProperties([]any{map[string]any{
				"isValid": false, "message": "propertyValue: already has that value " + name,
				"error": "CONFLICTING_UNIQUE_VALUE", "name": name,
			}})
		}
	}
	return nil
}

// settle sets or clears the date of closing by the stage: only a closed ticket has one.
func (s *Server) settle(t *ticket) {
	st, _ := s.stage(t.properties["hs_pipeline"], t.properties["hs_pipeline_stage"])
	switch {
	case !st.closed:
		delete(t.properties, "closed_date")
	case t.properties["closed_date"] == "":
		t.properties["closed_date"] = stamp(s.options.Now())
	}
}

func (s *Server) find(is func(*ticket) bool) *ticket {
	at := slices.IndexFunc(s.tickets, is)
	if at < 0 {
		return nil
	}
	return s.tickets[at]
}

func (c call) read(parts []string) (any, *refusal) {
	if refused := first(c.takes("properties", "associations", "idProperty", "archived"),
		c.needsOne(readTickets)); refused != nil {
		return nil, refused
	}
	id, by := parts[0], c.query.Get("idProperty")
	switch {
	case by == "":
		if _, err := strconv.ParseInt(id, 10, 64); err != nil {
			return nil, validation("Invalid object id: " + id)
		}
	case !slices.Contains(c.options.Unique, by):
		return nil, validation("Unable to look up by non-unique 0-5 property " + by)
	}
	archived := c.query.Get("archived") == "true" // "Whether to return only results that have been archived"
	found := c.find(func(t *ticket) bool {
		return t.archived == archived && (by == "" && t.id == id || by != "" && t.properties[by] == id)
	})
	merged := found != nil && found.mergedInto != ""
	if merged {
		found = c.find(func(t *ticket) bool { return t.id == found.mergedInto })
	}
	if found == nil {
		return nil, &refusal{
			status: http.StatusNotFound, category: "OBJECT_NOT_FOUND", message: "resource not found",
		}
	}
	names := c.values("properties")
	if len(names) == 0 {
		names = []string{"subject", "content", "hs_pipeline", "hs_pipeline_stage", "hs_ticket_priority"}
	}
	associations := map[string]any{}
	for _, kind := range c.values("associations") {
		results := []any{}
		switch kind {
		case "contacts":
			if refused := c.needs("crm.objects.contacts.read"); refused != nil {
				return nil, refused
			}
			if found.contact != "" {
				results = append(results, map[string]any{"id": found.contact, "type": "ticket_to_contact"})
			}
		case "companies":
			if refused := c.needs("crm.objects.companies.read"); refused != nil {
				return nil, refused
			}
			if found.company != "" {
				results = append(results, map[string]any{"id": found.company, "type": "ticket_to_company_unlabeled"})
			}
			if found.primary {
				results = append(results, map[string]any{"id": found.company, "type": "ticket_to_company"})
			}
		default:
			return nil, validation("Unable to infer object type from: " + kind)
		}
		if len(results) > 0 && !merged {
			associations[kind] = map[string]any{"results": results}
		}
	}
	return c.shape(found, slices.Concat(names, []string{"createdate", "hs_lastmodifieddate", "hs_object_id"}),
		associations), nil
}

// shape returns a ticket as responses have it, with the named properties that are known, null if empty.
func (s *Server) shape(t *ticket, names []string, associations map[string]any) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		switch name {
		case "createdate":
			properties[name] = stamp(t.created)
		case "hs_lastmodifieddate":
			properties[name] = stamp(t.updated)
		case "hs_object_id", "hs_ticket_id":
			properties[name] = t.id
		default:
			if !slices.Contains(slices.Concat(standardProperties, readOnlyProperties, s.custom()), name) {
				continue
			}
			properties[name] = nil
			if value := t.properties[name]; value != "" {
				properties[name] = value
			}
		}
	}
	answer := map[string]any{
		"id": t.id, "properties": properties, "createdAt": stamp(t.created), "updatedAt": stamp(t.updated),
		"archived": t.archived, "url": fmt.Sprintf("https://app.hubspot.com/contacts/%d/record/0-5/%s", PortalID, t.id),
	}
	if len(associations) > 0 {
		answer["associations"] = associations
	}
	return answer
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
