package fake

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// number is a number of the account.
type number struct {
	id, e164, connection, reference string
	tags                            []string
	status                          string
	lock                            bool
	emergency                       string // the status; "" is disabled
	bought, listed                  time.Time
}

// list returns the numbers that the account lists by now.
func (c call) list() []*number {
	now := c.options.Now()
	return slices.DeleteFunc(slices.Clone(c.numbers), func(n *number) bool { return now.Before(n.listed) })
}

// listNumbers filters by digits, anywhere in the number ("Requires at least three digits. Non-numerical
// characters will result in no values being returned."), and leaves out what was deleted.
func (c call) listNumbers() (map[string]any, *refusal) {
	all := slices.DeleteFunc(c.list(), func(n *number) bool { return n.status == "deleted" })
	if digits, filters := c.query["filter[phone_number]"]; filters {
		if len(digits[0]) < 3 {
			return nil, malformed("filter[phone_number]")
		}
		all = slices.DeleteFunc(all, func(n *number) bool { return !strings.Contains(n.e164[1:], digits[0]) })
	}
	switch c.query.Get("sort") {
	case "":
		slices.SortStableFunc(all, func(a, b *number) int { return b.bought.Compare(a.bought) })
	case "phone_number":
		slices.SortFunc(all, func(a, b *number) int { return cmp.Compare(a.e164, b.e164) })
	default:
		return nil, malformed("sort")
	}
	return page(c, all, (*number).shown)
}

// byID returns a number by its id, or by the number itself.
func (c call) byID(id string) (*number, *refusal) {
	for _, n := range c.list() {
		if (n.id == id || n.e164 == id) && n.status != "deleted" {
			return n, nil
		}
	}
	return nil, notFound()
}

func (c call) showNumber(id string) (map[string]any, *refusal) {
	n, refused := c.byID(id)
	if refused != nil {
		return nil, refused
	}
	return map[string]any{"data": n.shown()}, nil
}

// changeNumber changes the properties given. An empty connection id removes the connection.
func (c call) changeNumber(id string) (map[string]any, *refusal) {
	var ask struct {
		Tags         *[]string `json:"tags"`
		Reference    *string   `json:"customer_reference"`
		ConnectionID *string   `json:"connection_id"`
	}
	if refused := c.body(&ask); refused != nil {
		return nil, refused
	}
	n, refused := c.byID(id)
	switch {
	case refused != nil:
		return nil, refused
	case ask.ConnectionID != nil && *ask.ConnectionID != "" && !c.known(*ask.ConnectionID):
		return nil, invalid("/connection_id")
	case c.keepSettings:
		return map[string]any{"data": n.shown()}, nil
	}
	if ask.Tags != nil {
		n.tags = *ask.Tags
	}
	if ask.Reference != nil {
		n.reference = *ask.Reference
	}
	if ask.ConnectionID != nil {
		n.connection = *ask.ConnectionID
	}
	return map[string]any{"data": n.shown()}, nil
}

// deleteNumber releases a number unless it is locked. Registration for emergency calls does not prevent that:
// the documented example of a response has both.
func (c call) deleteNumber(id string) (map[string]any, *refusal) {
	n, refused := c.byID(id)
	switch {
	case refused != nil:
		return nil, refused
	case n.lock:
		return nil, invalid("/deletion_lock_enabled")
	}
	n.status = "deleted"
	return map[string]any{"data": n.shown()}, nil
}

func (n *number) shown() map[string]any {
	shown := map[string]any{
		"id": n.id, "record_type": "phone_number", "phone_number": n.e164, "country_iso_alpha2": areas[n.e164[2:5]],
		"status": n.status, "tags": n.tags, "connection_id": nil, "connection_name": nil,
		"customer_reference": n.reference, "messaging_profile_id": nil, "billing_group_id": nil,
		"emergency_enabled": n.emergency == "active", "emergency_address_id": nil,
		"emergency_status": cmp.Or(n.emergency, "disabled"), "phone_number_type": "local",
		"purchased_at": stamp(n.bought), "created_at": stamp(n.bought), "updated_at": stamp(n.bought),
		"source_type": "number_order", "deletion_lock_enabled": n.lock,
	}
	if n.connection != "" {
		shown["connection_id"], shown["connection_name"] = n.connection, "connection "+n.connection
	}
	if n.emergency != "" {
		shown["emergency_address_id"] = "1315261609962112019"
	}
	return shown
}
