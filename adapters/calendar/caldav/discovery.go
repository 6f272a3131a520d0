package caldav

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// account is the result of the discovery: who the account is and where its calendars are. It is immutable, but for
// what calls have learned of the owners of its calendars.
type account struct {
	base         *url.URL // the origin of the calendars: ids are paths on it
	principal    *url.URL
	organizer    string // the calendar user address to organize with, a URI
	addresses    calendarUser
	email        string
	displayName  string
	autoSchedule bool // the server sends invitations itself (RFC 6638 section 2)
	calendars    []calendarCollection
	found        time.Time
	owners       sync.Map // a calendarOwner for each address of one
	bytes        int      // about how much memory it takes, without the owners
}

// A server, which may be a tenant's own, names as many calendars and addresses as it wants, and an account is remembered
// for as long as its connection is used.
const (
	maxAccountBytes = 1 << 20 // more than a thousand calendars
	maxOwnerBytes   = 4 << 10 // of the addresses of a calendar's owner
)

// take counts what is remembered, with the lengths of its texts.
func (a *account) take(lengths ...int) error {
	a.bytes += bytesBesideObject
	for _, length := range lengths {
		a.bytes += length
	}
	if a.bytes > maxAccountBytes {
		return fault.New(fault.Exhausted, upstream.ReasonAnswerTooLarge,
			"The calendar server names more calendars or addresses of the account than are read.")
	}
	return nil
}

// calendarCollection is one calendar.
type calendarCollection struct {
	calendar.Calendar
	url   *url.URL
	owner *url.URL // the owner's principal; nil if the server does not report it

	syncToken string // as of the discovery (RFC 6578 section 4); "" if the server cannot synchronize
}

// fresh is how long the result of a discovery is used. If something is missing from it, the discovery is
// repeated at once.
const fresh = 10 * time.Minute

const (
	principalProps = `<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop>` +
		`<d:resourcetype/><d:displayname/><d:current-user-principal/><c:calendar-home-set/>` +
		`<c:calendar-user-address-set/><c:schedule-inbox-URL/></d:prop></d:propfind>`
	calendarProps = `<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop>` +
		`<d:resourcetype/><d:displayname/><d:owner/><d:sync-token/><d:current-user-privilege-set/>` +
		`<c:supported-calendar-component-set/>` +
		`<c:calendar-timezone/><c:calendar-timezone-id/><c:schedule-default-calendar-URL/></d:prop></d:propfind>`
	maxHomes = 8
)

// discover asks the server who the account is (RFC 5397), where its calendars are (RFC 4791 section 6.2.1),
// and which calendars exist.
func (d *driver) discover(ctx context.Context) (*account, error) {
	entry, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	a := &account{principal: entry.at, autoSchedule: entry.autoSchedule, found: d.now()}
	if err := a.take(len(entry.own.DisplayName), entry.own.addressBytes()); err != nil {
		return nil, err
	}
	d.identify(a, entry.own)

	homes := resolveAll(entry.at, entry.own.Homes)
	given := entry.given
	if len(homes) == 0 && given == nil {
		homes = []*url.URL{entry.at} // a plain collection of calendars, without a principal
	}
	if len(homes) > maxHomes {
		homes = homes[:maxHomes]
	}
	var standard *url.URL
	for _, home := range homes {
		listed, preferred, err := d.list(ctx, home, "1", a)
		if err != nil {
			return nil, err
		}
		a.calendars = append(a.calendars, listed...)
		standard = cmp.Or(standard, preferred)
	}
	if given != nil && !slices.ContainsFunc(a.calendars,
		func(p calendarCollection) bool { return p.ID == d.id(a, given) }) {
		listed, _, err := d.list(ctx, given, "0", a) // a calendar shared with the account, outside its home
		if err != nil {
			return nil, err
		}
		a.calendars = append(a.calendars, listed...)
	}
	if standard == nil {
		if standard, err = d.schedulingDefault(ctx, entry); err != nil {
			return nil, err
		}
	}
	if d.settings.AutoSchedule && !a.autoSchedule {
		if a.autoSchedule, err = d.offersScheduling(ctx, append(homes, entry.at)[0]); err != nil {
			return nil, err
		}
	}
	if a.base == nil {
		a.base = &url.URL{Scheme: entry.at.Scheme, Host: entry.at.Host}
	}
	slices.SortFunc(a.calendars, func(x, y calendarCollection) int { return strings.Compare(x.ID, y.ID) })
	a.calendars = slices.CompactFunc(a.calendars, func(x, y calendarCollection) bool { return x.ID == y.ID })
	d.markDefault(a, given, standard)
	return a, nil
}

// identify sets the account's name and addresses from the principal's properties.
func (d *driver) identify(a *account, own prop) {
	a.displayName = strings.TrimSpace(own.DisplayName)
	a.addresses = calendarUserOf(a.principal, own)
	a.email, a.organizer = mailAddressOf(own)
	if d.settings.Email != "" {
		a.email = d.settings.Email
		given := mailto(a.email)
		key := addressKey(a.principal, given)
		// A server invites nobody to what an address organizes that is not its user's (RFC 6638 section 3.1).
		if a.organizer == "" || a.addresses[key] || !d.settings.AutoSchedule {
			a.organizer = given
		}
		a.addresses[key] = true
	}
	for _, address := range own.Addresses.List {
		value := strings.TrimSpace(address.Href)
		if u, err := url.Parse(value); a.organizer == "" && err == nil && u.IsAbs() {
			a.organizer = value
		}
	}
	// A principal's address is a calendar user address too (RFC 6638 section 2.4.1 allows any URI).
	a.organizer = cmp.Or(a.organizer, a.principal.String())
}

// mailAddressOf returns the preferred mail address of a principal, or else its first one, and the URI of that.
func mailAddressOf(own prop) (email, uri string) {
	preferred := false
	for _, address := range own.Addresses.List {
		value := strings.TrimSpace(address.Href)
		mail, isMail := strings.CutPrefix(strings.ToLower(value), "mailto:")
		if isMail && mail != "" && (email == "" || address.Preferred == "1" && !preferred) {
			email, uri, preferred = value[len("mailto:"):], value, address.Preferred == "1"
		}
	}
	return email, uri
}

// entry is where the discovery starts: the principal, or the calendar or collection used instead of one.
type entry struct {
	at           *url.URL
	own          prop
	given        *url.URL // the connection's address, if it is that of a calendar
	autoSchedule bool
}

// enter finds the principal from the connection's address, and tries the well-known address too, first if the
// connection's address has no path (RFC 6764 section 6).
func (d *driver) enter(ctx context.Context) (entry, error) {
	wellKnown := d.base.ResolveReference(&url.URL{Path: "/.well-known/caldav"})
	tries := []*url.URL{d.base, wellKnown}
	if strings.Trim(d.base.Path, "/") == "" {
		tries = []*url.URL{wellKnown, d.base}
	}
	var first error
	for _, address := range tries {
		e, err := d.enterAt(ctx, address)
		if err == nil {
			return e, nil
		}
		if !isDeadEnd(err) {
			return entry{}, err
		}
		first = cmp.Or(first, err)
	}
	if f := fault.From(first); f.Code != fault.Forbidden && f.Reason != fault.ReasonProviderMisconfigured {
		return entry{}, misconfigured("has no calendars at the connection's address").Because(first)
	}
	return entry{}, first
}

// isDeadEnd reports whether the error means that an address leads nowhere and another one may be tried.
func isDeadEnd(err error) bool {
	f := fault.From(err)
	switch f.Code {
	case fault.NotFound, fault.Unsupported, fault.Forbidden, fault.Invalid:
		return f.Reason != fault.ReasonEgressRefused
	}
	return false
}

func (d *driver) enterAt(ctx context.Context, address *url.URL) (entry, error) {
	m, a, err := d.query(ctx, methodPropfind, address, "0", principalProps)
	if err != nil {
		return entry{}, err
	}
	if len(m.Responses) == 0 {
		return entry{}, misconfigured("gives no answer about the connection's address")
	}
	own := m.Responses[0].properties()
	e := entry{at: a.url, own: own, autoSchedule: schedules(a.header)}
	if own.Type.has(caldavSpace, "calendar") {
		e.given = a.url
	}
	if own.Principal != nil && own.Principal.Unauthenticated != nil {
		return entry{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
			"The calendar server does not know the connection's user. Connect the account again.")
	}
	if len(own.Homes.List) > 0 {
		return e, nil
	}
	if own.Principal == nil || strings.TrimSpace(own.Principal.Href) == "" {
		if e.given != nil || own.Type.has(davSpace, "collection") && strings.Trim(a.url.Path, "/") != "" {
			return e, nil
		}
		return entry{}, misconfigured("names no user at the connection's address")
	}
	at, ok := a.resolve(own.Principal.Href)
	if !ok {
		return entry{}, misconfigured("names a user by an address that cannot be used")
	}
	m, a, err = d.query(ctx, methodPropfind, at, "0", principalProps)
	if err != nil && e.given != nil && isDeadEnd(err) {
		return e, nil // a shared calendar; the account can see nothing else
	}
	if err != nil {
		return entry{}, err
	}
	if len(m.Responses) == 0 {
		return entry{}, misconfigured("gives no answer about the account")
	}
	e.at, e.own, e.autoSchedule = a.url, m.Responses[0].properties(), e.autoSchedule || schedules(a.header)
	if len(e.own.Homes.List) == 0 && e.given == nil {
		return entry{}, misconfigured("keeps no calendars for the account")
	}
	return e, nil
}

func schedules(header http.Header) bool {
	return slices.ContainsFunc(header.Values("Dav"), func(line string) bool {
		return slices.ContainsFunc(strings.Split(line, ","), func(word string) bool {
			return strings.TrimSpace(word) == "calendar-auto-schedule"
		})
	})
}

// offersScheduling reports whether the server sends invitations, from the response to OPTIONS. RFC 6638 section 2
// promises the header only there, and Cyrus, which Fastmail runs, sends it nowhere else.
func (d *driver) offersScheduling(ctx context.Context, home *url.URL) (bool, error) {
	a, err := d.send(ctx, http.MethodOptions, home, nil, nil)
	if err != nil {
		return false, err
	}
	if refused := refusal(a); a.status > 299 && !isDeadEnd(refused) {
		return false, refused
	}
	return schedules(a.header), nil
}

// list returns the calendars of a home, or one calendar at depth 0. standard is the default calendar, if the
// home's inbox reports it.
func (d *driver) list(
	ctx context.Context, home *url.URL, depth string, a *account,
) (list []calendarCollection, standard *url.URL, err error) {
	m, answered, err := d.query(ctx, methodPropfind, home, depth, calendarProps)
	if err != nil {
		return nil, nil, err
	}
	if a.base == nil {
		a.base = &url.URL{Scheme: answered.url.Scheme, Host: answered.url.Host}
	}
	for _, r := range m.Responses {
		if err := ctx.Err(); err != nil {
			return nil, nil, fault.From(err)
		}
		address, ok := answered.resolve(r.Href)
		if !ok {
			continue
		}
		p := r.properties()
		if urls := resolveAll(answered.url, p.Default); len(urls) > 0 {
			standard = urls[0]
		}
		if !holdsEvents(p) {
			continue
		}
		id := d.id(a, address)
		found := calendarCollection{url: address, syncToken: strings.TrimSpace(p.SyncToken),
			Calendar: calendar.Calendar{
				ID: id, Name: cmp.Or(strings.TrimSpace(p.DisplayName), lastSegment(id)), Zone: d.zoneOf(p),
				ReadOnly: !writable(p),
			}}
		if owners := resolveAll(answered.url, p.Owner); len(owners) > 0 {
			found.owner = owners[0]
		}
		// The id is in the address as well, and what was trimmed is kept with the rest.
		if err := a.take(3*len(id), len(r.Href), len(p.DisplayName), len(p.SyncToken)); err != nil {
			return nil, nil, err
		}
		list = append(list, found)
	}
	return list, standard, nil
}

// holdsEvents reports whether a collection is a calendar of events. Nextcloud also lists deleted calendars.
func holdsEvents(p prop) bool {
	const nextcloud = "http://nextcloud.com/ns"
	if !p.Type.has(caldavSpace, "calendar") || p.Type.has(nextcloud, "deleted-calendar") {
		return false
	}
	if p.Components == nil || len(p.Components.Names) == 0 {
		return true // any component (RFC 4791 section 5.2.3)
	}
	for _, component := range p.Components.Names {
		if strings.EqualFold(component.Name, "VEVENT") {
			return true
		}
	}
	return false
}

// writable reports whether events can be added and changed (RFC 3744 section 3). A server that does not
// report privileges is assumed to allow it; if it does not, it refuses the write.
func writable(p prop) bool {
	if p.Privileges == nil || len(p.Privileges.Held) == 0 {
		return true
	}
	for _, held := range p.Privileges.Held {
		for _, enough := range []string{"all", "write", "write-content", "bind"} {
			if held.has(davSpace, enough) {
				return true
			}
		}
	}
	return false
}

// zoneOf returns the calendar's own zone. The server reports an IANA name (RFC 7809) or a VTIMEZONE (RFC 4791
// section 5.2.2).
func (d *driver) zoneOf(p prop) string {
	known := zones{}
	if location := known.location(strings.TrimSpace(p.ZoneID)); location != nil {
		return location.String()
	}
	if strings.TrimSpace(p.Zone) == "" {
		return ""
	}
	return zoneName([]byte(p.Zone), known)
}

// schedulingDefault asks the scheduling inbox for the default calendar (RFC 6638 section 9.2). The property
// is optional: if the server does not return it, there is no default.
func (d *driver) schedulingDefault(ctx context.Context, e entry) (*url.URL, error) {
	inboxes := resolveAll(e.at, e.own.Inbox)
	if len(inboxes) == 0 {
		return nil, nil
	}
	m, a, err := d.query(ctx, methodPropfind, inboxes[0], "0", calendarProps)
	if err != nil {
		if isDeadEnd(err) {
			return nil, nil
		}
		return nil, err
	}
	for _, r := range m.Responses {
		if urls := resolveAll(a.url, r.properties().Default); len(urls) > 0 {
			return urls[0], nil
		}
	}
	return nil, nil
}

// markDefault marks the default calendar: the one that the connection names, the one at the connection's
// address, the server's default, or else the first writable one.
func (d *driver) markDefault(a *account, given, standard *url.URL) {
	mark := func(is func(calendarCollection) bool) bool {
		i := slices.IndexFunc(a.calendars, is)
		if i >= 0 {
			a.calendars[i].IsDefault = true
		}
		return i >= 0
	}
	if wanted := d.settings.Calendar; wanted != "" {
		id := wanted
		if u, err := a.base.Parse(wanted); err == nil {
			id = d.id(a, u)
		}
		_ = mark(func(p calendarCollection) bool { return p.ID == id }) ||
			mark(func(p calendarCollection) bool {
				return strings.TrimSuffix(p.ID, "/") == strings.TrimSuffix(id, "/")
			}) ||
			mark(func(p calendarCollection) bool { return p.Name == wanted }) ||
			mark(func(p calendarCollection) bool { return strings.EqualFold(p.Name, wanted) })
		return // if the name matches none, there is no default: no event may land in an unchosen calendar
	}
	if given != nil && mark(func(p calendarCollection) bool { return p.ID == d.id(a, given) }) {
		return
	}
	if standard != nil && mark(func(p calendarCollection) bool {
		return p.ID == d.id(a, standard) && !p.ReadOnly
	}) {
		return
	}
	_ = mark(func(p calendarCollection) bool { return !p.ReadOnly }) ||
		mark(func(calendarCollection) bool { return true })
}

func resolveAll(base *url.URL, list hrefs) []*url.URL {
	var all []*url.URL
	for _, item := range list.List {
		if u, ok := resolve(base, item.Href); ok {
			all = append(all, u)
		}
	}
	return all
}
