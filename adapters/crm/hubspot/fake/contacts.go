package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
)

// contact is a contact, with the id of its primary company or "".
type contact struct {
	id         string
	properties map[string]string
	company    string
	created    time.Time
}

type company struct{ id, name string }

// initialContacts and initialCompanies return records that tickets can refer to.
func initialContacts() []*contact { return []*contact{{id: "101"}, {id: "102"}, {id: "103"}} }

func initialCompanies() []company { return []company{{"202", "Acme"}, {"203", "Umbrella"}} }

// contactProperties are the properties of contacts that the server knows
// (knowledge.hubspot.com/properties/hubspots-default-contact-properties).
var contactProperties = []string{
	"firstname", "lastname", "email", "hs_additional_emails", "phone", "mobilephone",
	"hs_searchable_calculated_phone_number", "hs_searchable_calculated_mobile_number", "associatedcompanyid",
	"company", "createdate", "lastmodifieddate", "hs_object_id",
}

// Person is a contact to add. The numbers are kept as they are typed.
type Person struct {
	First, Last, Email, Phone, Mobile string
	Emails                            []string // additional ones
	Company                           string   // the name of a new company, or ""
	Uncalculated                      bool     // HubSpot has not calculated the numbers for searches
}

// AddContact adds a contact, as a person does. HubSpot writes addresses in lower case.
func (s *Server) AddContact(p Person) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &contact{id: strconv.FormatInt(s.next(), 10), created: s.options.Now(), properties: map[string]string{
		"firstname": p.First, "lastname": p.Last, "email": strings.ToLower(p.Email), "phone": p.Phone,
		"mobilephone": p.Mobile, "hs_additional_emails": strings.ToLower(strings.Join(p.Emails, ";")),
		"hs_searchable_calculated_phone_number":  calculated(p.Phone),
		"hs_searchable_calculated_mobile_number": calculated(p.Mobile),
	}}
	if p.Uncalculated {
		delete(c.properties, "hs_searchable_calculated_phone_number")
		delete(c.properties, "hs_searchable_calculated_mobile_number")
	}
	c.properties["hs_object_id"] = c.id
	c.properties["createdate"] = stamp(c.created)
	c.properties["lastmodifieddate"] = stamp(c.created)
	if p.Company != "" {
		c.company = strconv.FormatInt(s.next(), 10)
		c.properties["associatedcompanyid"] = c.company
		s.companies = append(s.companies, company{c.company, p.Company})
	}
	s.contacts = append(s.contacts, c)
	return c.id
}

// calculated returns the property that holds a number "without country code", as it is labelled: the area
// code and the local number ("Search the CRM"). HubSpot knows the country code by a plus sign, or by the
// country of the contact, which the server's contacts do not have. Without it, records that others have
// published hold the digits without leading zeros.
func calculated(typed string) string {
	if number, err := phonenumbers.Parse(typed, phonenumbers.UNKNOWN_REGION); err == nil {
		return strconv.FormatUint(number.GetNationalNumber(), 10)
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, typed)
	return strings.TrimLeft(digits, "0")
}

// searchContacts finds contacts by filters. It finds new ones late ("Search the CRM").
func (c call) searchContacts([]string) (any, *refusal) {
	in, refused := c.decodeSearch("crm.objects.contacts.read")
	if refused != nil {
		return nil, refused
	}
	results := []any{}
	for _, person := range c.contacts {
		matches, refused := in.matches(func(f filter) (bool, *refusal) {
			if !slices.Contains(contactProperties, f.PropertyName) {
				return false, validation("There was a problem with the request: property " + f.PropertyName +
					" does not exist.")
			}
			return f.fits(person.properties[f.PropertyName])
		})
		if refused != nil {
			return nil, refused
		}
		if matches && person.properties != nil && c.isIndexed(person.created) {
			results = append(results, person.shape(in.Properties))
		}
	}
	return in.page(results)
}

// shape returns a contact as responses have it, with the named properties that are known, null if empty.
func (p *contact) shape(names []string) map[string]any {
	if len(names) == 0 {
		names = []string{"firstname", "lastname", "email", "lastmodifieddate", "hs_object_id", "createdate"}
	}
	properties := map[string]any{}
	for _, name := range names {
		if slices.Contains(contactProperties, name) {
			properties[name] = nil
			if value := p.properties[name]; value != "" {
				properties[name] = value
			}
		}
	}
	return map[string]any{
		"id": p.id, "properties": properties, "createdAt": stamp(p.created), "updatedAt": stamp(p.created),
		"archived": false,
	}
}

// The most inputs of the batches
// (developers.hubspot.com/docs/api-reference/latest/crm/understanding-the-crm;
// developers.hubspot.com/changelog/bug-fix-batch-read-limit-for-hubspot-associations-api).
const (
	mostRead       = 100
	mostAssociated = 1000
)

// batch is the body of a batch read.
type batch struct {
	Inputs []struct {
		ID    string `json:"id"`
		After string `json:"after"`
	} `json:"inputs"`
	Properties []string `json:"properties"`
}

func (c call) decodeBatch(most int) (batch, *refusal) {
	var in batch
	if refused := first(c.takes(), decode(c.request, &in)); refused != nil {
		return in, refused
	}
	if len(in.Inputs) == 0 || len(in.Inputs) > most {
		return in, validation(fmt.Sprintf("The number of inputs must be from 1 to %d", most))
	}
	return in, nil
}

// multiStatus is the response to a batch of which some inputs were not found. Its status is 207.
type multiStatus map[string]any

func batchResult(results, errors []any) any {
	now := time.Now().UTC().Format(time.RFC3339)
	answer := map[string]any{"status": "COMPLETE", "results": results, "startedAt": now, "completedAt": now}
	if len(errors) == 0 {
		return answer
	}
	answer["errors"], answer["numErrors"] = errors, len(errors)
	return multiStatus(answer)
}

func notFoundOf(object string, ids []string) map[string]any {
	return map[string]any{
		"status": "error", "category": "OBJECT_NOT_FOUND", "context": map[string]any{"ids": ids},
		"message": "Could not get some " + object + " objects, they may be deleted or not exist.",
	}
}

// readCompanies reads companies by their ids.
func (c call) readCompanies([]string) (any, *refusal) {
	if refused := c.needs("crm.objects.companies.read"); refused != nil {
		return nil, refused
	}
	in, refused := c.decodeBatch(mostRead)
	if refused != nil {
		return nil, refused
	}
	results, errors := []any{}, []any{}
	for _, input := range in.Inputs {
		at := slices.IndexFunc(c.companies, func(known company) bool { return known.id == input.ID })
		if at < 0 {
			errors = append(errors, notFoundOf("COMPANY", []string{input.ID}))
			continue
		}
		properties := map[string]any{"hs_object_id": input.ID}
		if slices.Contains(in.Properties, "name") {
			properties["name"] = c.companies[at].name
		}
		results = append(results, map[string]any{"id": input.ID, "properties": properties, "archived": false})
	}
	return batchResult(results, errors), nil
}

// readTickets reads tickets by their ids.
func (c call) readTickets([]string) (any, *refusal) {
	if refused := c.needsOne(readTickets); refused != nil {
		return nil, refused
	}
	in, refused := c.decodeBatch(mostRead)
	if refused != nil {
		return nil, refused
	}
	results, errors := []any{}, []any{}
	for _, input := range in.Inputs {
		if t := c.find(func(t *ticket) bool { return t.id == input.ID }); t != nil {
			results = append(results, c.shape(t, in.Properties, nil))
			continue
		}
		errors = append(errors, notFoundOf("TICKET", []string{input.ID}))
	}
	return batchResult(results, errors), nil
}

// mostInPage is how many associations a page has. HubSpot names no number, and has larger pages.
const mostInPage = 50

// ticketsOf lists the tickets of contacts (developers.hubspot.com/docs/api-reference/latest, "Batch read
// associations"). A contact without tickets is an error within a response of status 207, as others have
// recorded it.
func (c call) ticketsOf([]string) (any, *refusal) {
	if refused := first(c.needs("crm.objects.contacts.read"), c.needsOne(readTickets)); refused != nil {
		return nil, refused
	}
	in, refused := c.decodeBatch(mostAssociated)
	if refused != nil {
		return nil, refused
	}
	results, errors := []any{}, []any{}
	for _, input := range in.Inputs {
		from, err := strconv.Atoi("0" + input.After)
		if err != nil {
			return nil, validation("Invalid paging token")
		}
		to := []any{}
		for _, t := range c.tickets {
			if t.contact == input.ID {
				to = append(to, map[string]any{"toObjectId": t.id, "associationTypes": []any{
					map[string]any{"category": "HUBSPOT_DEFINED", "typeId": 15, "label": nil},
				}})
			}
		}
		if len(to) == 0 {
			errors = append(errors, map[string]any{
				"status": "error", "category": "OBJECT_NOT_FOUND",
				"subCategory": "crm.associations.NO_ASSOCIATIONS_FOUND",
				"message":     "No ticket is associated with contact " + input.ID + ".",
				"context": map[string]any{
					"fromObjectId": []string{input.ID}, "fromObjectType": []string{"contact"},
					"toObjectType": []string{"ticket"},
				},
			})
			continue
		}
		page := to[min(from, len(to)):min(from+mostInPage, len(to))]
		found := map[string]any{"from": map[string]any{"id": input.ID}, "to": page}
		if from+mostInPage < len(to) {
			found["paging"] = map[string]any{"next": map[string]any{"after": strconv.Itoa(from + mostInPage)}}
		}
		results = append(results, found)
	}
	return batchResult(results, errors), nil
}

// knows reports whether there is a contact or a company with this id.
func (s *Server) knows(object, id string) bool {
	if object == "CONTACT" {
		return slices.ContainsFunc(s.contacts, func(c *contact) bool { return c.id == id })
	}
	return slices.ContainsFunc(s.companies, func(c company) bool { return c.id == id })
}

// statusOf returns the status of a response that is no refusal.
func statusOf(r *http.Request, answer any) int {
	_, partly := answer.(multiStatus)
	switch {
	case partly:
		return http.StatusMultiStatus
	case r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/search") &&
		!strings.HasSuffix(r.URL.Path, "/batch/read"):
		return http.StatusCreated
	}
	return http.StatusOK
}
