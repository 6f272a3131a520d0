package caldav

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"frontdesk/adapters/calendar/caldav/ical"
)

// calendarUser is the set of addresses of one calendar user (RFC 6638 section 2.4.1), each as its addressKey.
type calendarUser map[string]bool

// calendarUserOf returns the addresses of a principal, including the principal's own URL.
func calendarUserOf(principal *url.URL, p prop) calendarUser {
	user := calendarUser{addressKey(principal, principal.String()): true}
	for _, address := range p.Addresses.List {
		if href := strings.TrimSpace(address.Href); href != "" {
			user[addressKey(principal, href)] = true
		}
	}
	return user
}

// addressKey returns a key that is the same for every way to write a calendar user address. Mail addresses
// are in lower case. Addresses on the server are paths, because only some servers write the origin.
func addressKey(base *url.URL, address string) string {
	if email := addressOf(ical.Raw("", address)); email != "" {
		return "mailto:" + strings.ToLower(email)
	}
	u, err := base.Parse(strings.TrimSpace(address))
	if err == nil && strings.EqualFold(u.Host, base.Host) && u.Opaque == "" {
		return strings.TrimSuffix(canonicalPath(u.EscapedPath()), "/")
	}
	return strings.ToLower(strings.TrimSpace(address))
}

// is reports whether an ORGANIZER names the user. Apple's servers put the mail address into EMAIL.
func (u calendarUser) is(base *url.URL, organizer ical.Property) bool {
	email := organizer.Param("EMAIL")
	return u[addressKey(base, organizer.Value)] || email != "" && u[addressKey(base, mailto(email))]
}

// organizes reports whether the account may change an object: the object has no organizer, or the organizer
// is the account, or the calendar's owner, on whose behalf the account acts (RFC 6638 section 3.1). All
// components of an object have the same organizer; if they differ, each must be one of these.
func (d *driver) organizes(ctx context.Context, a *account, calendarID string, o *object) (bool, error) {
	others := slices.DeleteFunc(organizersOf(o), func(p ical.Property) bool {
		return a.addresses.is(a.principal, p)
	})
	if len(others) == 0 {
		return true, nil
	}
	owner, err := d.ownerOf(ctx, a, calendarID)
	if owner.at == nil || err != nil {
		return false, err
	}
	user := calendarUserOf(owner.at, owner.own)
	return !slices.ContainsFunc(others, func(p ical.Property) bool { return !user.is(owner.at, p) }), nil
}

// organizerIn returns the calendar user address to organize with in a calendar. In somebody else's it is the owner's:
// some servers invite nobody to what another one organizes there (RFC 6638 section 3.1; sabre-io/dav#1454). It is the
// account's own if the server does not tell the owner's.
func (d *driver) organizerIn(ctx context.Context, a *account, calendarID string) (string, error) {
	owner, err := d.ownerOf(ctx, a, calendarID)
	_, address := mailAddressOf(owner.own)
	return cmp.Or(address, a.organizer), err
}

// calendarOwner is the principal of a calendar's owner. at is nil if the account may not read it.
type calendarOwner struct {
	own prop
	at  *url.URL
}

// ownerOf returns the owner of somebody else's calendar, or none if the calendar is the account's own.
func (d *driver) ownerOf(ctx context.Context, a *account, calendarID string) (calendarOwner, error) {
	i := slices.IndexFunc(a.calendars, func(p calendarCollection) bool { return p.ID == calendarID })
	if i < 0 || a.owns(a.calendars[i]) {
		return calendarOwner{}, nil
	}
	address := a.calendars[i].owner
	if known, ok := a.owners.Load(address.String()); ok {
		return known.(calendarOwner), nil
	}
	m, answered, err := d.query(ctx, methodPropfind, address, "0", addressProps)
	if err != nil && !isDeadEnd(err) {
		return calendarOwner{}, err
	}
	var owner calendarOwner
	if err == nil && len(m.Responses) > 0 {
		owner = calendarOwner{prop{Addresses: m.Responses[0].properties().Addresses}, answered.url}
	}
	if owner.own.addressBytes() <= maxOwnerBytes {
		a.owners.Store(address.String(), owner)
	}
	return owner, nil
}

// owns reports whether a calendar is the account's own, as far as the server tells.
func (a *account) owns(c calendarCollection) bool {
	return c.owner == nil || a.addresses[addressKey(a.principal, c.owner.String())]
}

// ownersResponse returns the answer of a calendar's owner to an invitation, by any address of the account, or
// "accepted" if nobody invited it. Of somebody else's calendar, the account does not know the owner's answer: its
// own is another.
func (a *account) ownersResponse(c calendarCollection, event *ical.Component) string {
	response := "accepted"
	if !a.owns(c) {
		return response
	}
	for _, property := range event.All("ATTENDEE") {
		if a.addresses.is(a.principal, property) {
			if response = attendee(property).Response; response != "declined" {
				return response
			}
		}
	}
	return response
}

const addressProps = `<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop>` +
	`<c:calendar-user-address-set/></d:prop></d:propfind>`

func organizersOf(o *object) (all []ical.Property) {
	for _, event := range o.events() {
		if organizer, ok := event.Get("ORGANIZER"); ok && strings.TrimSpace(organizer.Value) != "" {
			all = append(all, organizer)
		}
	}
	return all
}
