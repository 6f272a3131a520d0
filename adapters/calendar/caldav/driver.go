package caldav

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// driver is one account at one server.
type driver struct {
	settings settings // without the credentials
	base     *url.URL // the connection's address
	http     *http.Client
	zone     *time.Location // of the tenant
	now      func() time.Time

	discovering chan struct{} // a lock, held during a discovery
	known       atomic.Pointer[account]
	series      seriesCache
}

var (
	_ calendar.Driver     = (*driver)(nil)
	_ calendar.FreeBusyer = (*driver)(nil)
)

// Traits implements calendar.Driver. CalDAV keeps nothing of a cancelled event and creates no meeting links.
func (d *driver) Traits() calendar.Traits {
	return calendar.Traits{
		IdempotentBook:  true, // If-None-Match: *
		SendsInvites:    d.settings.AutoSchedule,
		IDsTellCalendar: true,
		Instances:       true,
		LocationURL:     true,
		ConsistentReads: true, // a stored resource is there for the next request (RFC 4791 section 5.3.2)
	}
}

// Account repeats the discovery, which verifies the credentials and that the address has a calendar home.
func (d *driver) Account(ctx context.Context) (calendar.Account, error) {
	a, err := d.discoverAgain(ctx)
	if err != nil {
		return calendar.Account{}, err
	}
	if err := d.checkScheduling(a); err != nil {
		return calendar.Account{}, err
	}
	return calendar.Account{Email: a.email, Name: a.displayName}, nil
}

// checkScheduling returns an error if auto_schedule is set and the server does not send invitations. A server
// may stop sending them.
func (d *driver) checkScheduling(a *account) error {
	if d.settings.AutoSchedule && !a.autoSchedule {
		return misconfigured("does not send invitations itself, though the connection's auto_schedule says so")
	}
	return nil
}

// Calendars repeats the discovery, because calendars are added and removed.
func (d *driver) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	a, err := d.discoverNow(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]calendar.Calendar, 0, len(a.calendars))
	for _, p := range a.calendars {
		list = append(list, p.Calendar)
	}
	return list, nil
}

// Book creates a new resource. If the resource exists already, this booking was made before.
func (d *driver) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	location := loadZone(b.Zone)
	if location == nil {
		return calendar.Event{}, fault.InvalidField("timezone", "is not a known time zone.")
	}
	if b.Conferencing == calendar.ConferencingProvider {
		return calendar.Event{}, fault.New(fault.Unsupported, fault.ReasonConferencing,
			"CalDAV calendars cannot make meeting links. Send one as location_url.")
	}
	a, target, err := d.calendar(ctx, b.CalendarID)
	if err != nil {
		return calendar.Event{}, fault.Unacted(err)
	}
	if target.ReadOnly {
		return calendar.Event{}, readOnly()
	}
	organizer := ""
	if len(b.Attendees) > 0 {
		if err := d.checkScheduling(a); err != nil {
			return calendar.Event{}, err
		}
		if organizer, err = d.organizerIn(ctx, a, target.ID); err != nil {
			return calendar.Event{}, fault.Unacted(err)
		}
	}
	uid := uidOf(b.Key, target.ID)
	r := resource{id: strings.TrimSuffix(target.ID, "/") + "/" + uid + ".ics", calendarID: target.ID}
	if r.url, err = a.locate(r.id); err != nil {
		return calendar.Event{}, fault.From(err)
	}
	root := newObject(b, uid, location, organizer, d.now())
	answered, err := d.send(ctx, http.MethodPut, r.url,
		http.Header{"If-None-Match": {"*"}, "Content-Type": {calendarType}}, ical.Encode(root))
	if err != nil {
		return calendar.Event{}, err
	}
	switch {
	case answered.foreign():
		return calendar.Event{}, notUnderstood()
	case answered.status < 300:
		r = r.movedTo(d, a, answered)
		made, err := d.readStored(ctx, r, root, answered)
		if errors.Is(err, fault.Conflict) {
			// The server accepted the event but does not return it: it appears late, or was never stored.
			// With a Conflict, the caller would take it for cancelled and book another event.
			return calendar.Event{}, notUnderstood().Because(err)
		}
		return made, err
	case answered.status == http.StatusPreconditionFailed:
		return d.bookedBefore(ctx, r, uid)
	}
	failed, href := conditions(answered.body)
	if failed.has(caldavSpace, "no-uid-conflict") {
		// The server stores it under another name (RFC 4791 section 5.3.2.1).
		if u, ok := answered.resolve(href); ok && within(target.ID, d.id(a, u)) {
			r.id, r.url = d.id(a, u), u
		}
		return d.bookedBefore(ctx, r, uid)
	}
	return calendar.Event{}, d.missing(ctx, target.ID, answered)
}

// bookedBefore returns the event that an earlier Book of the same key created.
func (d *driver) bookedBefore(ctx context.Context, r resource, uid string) (calendar.Event, error) {
	o, r, err := d.read(ctx, r)
	if err != nil {
		return calendar.Event{}, readBackFault(err)
	}
	i := o.single()
	if i.event.Text("UID") != uid {
		return calendar.Event{}, fault.New(fault.Conflict, fault.ReasonProviderConflict,
			"Another event already has the name that this booking would get.")
	}
	if isCancelled(i.event) {
		return calendar.Event{}, changedMeanwhile()
	}
	return o.event(i, r.calendarID, r.id, r.version), nil
}

// uidOf returns the UID for a key in one calendar. UIDs are unique in an account if the server schedules (RFC
// 6638 section 3.2.4.1), but keys only in a calendar, so the UID depends on the calendar too.
func uidOf(key, calendarID string) string {
	sum := sha256.Sum256([]byte(calendarID))
	return key + "-" + hex.EncodeToString(sum[:6])
}

// Event reads one event, or one instance of a series.
func (d *driver) Event(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	a, r, err := d.resource(ctx, ref)
	if err != nil {
		return calendar.Event{}, err
	}
	o, r, err := d.found(ctx, a, r, d.read)
	if err != nil {
		return calendar.Event{}, err
	}
	i, err := o.pick(r)
	if err != nil {
		return calendar.Event{}, err
	}
	return o.eventOf(i, r), nil
}

// pick returns the event that the resource refers to. A cancelled event is reported as not found.
func (o *object) pick(r resource) (instance, error) {
	i := o.single()
	if r.isInstance {
		found, ok, err := o.find(r.key)
		if err != nil {
			return instance{}, unreadable(r.id, err)
		}
		if !ok {
			return instance{}, noEvent()
		}
		i = found
	}
	if isCancelled(i.event) {
		return instance{}, noEvent().With(calendar.MetaGone, "true")
	}
	return i, nil
}

func (o *object) eventOf(i instance, r resource) calendar.Event {
	if r.isInstance {
		return o.instanceEvent(i, r.calendarID, r.id, r.version)
	}
	e := o.event(i, r.calendarID, r.id, r.version)
	if o.recurs() {
		e.SeriesID = e.ID
	}
	return e
}

// Change reads the object, applies the change, and writes the object back if it is still the same.
func (d *driver) Change(
	ctx context.Context, ref calendar.EventRef, c calendar.Change,
) (calendar.Event, error) {
	a, r, err := d.resource(ctx, ref)
	if err != nil {
		return calendar.Event{}, fault.Unacted(err)
	}
	o, r, err := d.found(ctx, a, r, d.readWhole)
	if err != nil {
		return calendar.Event{}, fault.Unacted(err)
	}
	i, err := o.pick(r)
	if err != nil {
		return calendar.Event{}, err
	}
	if c.IfUnchanged != "" && c.IfUnchanged != r.version {
		return calendar.Event{}, changedMeanwhile()
	}
	if c.Title == nil && c.Description == nil && c.Start == nil && c.Attendees == nil {
		return o.eventOf(i, r), nil
	}
	if o.isMasked() {
		return calendar.Event{}, notWhole()
	}
	if o.isTwin && c.Start != nil {
		return calendar.Event{}, fault.New(fault.Unsupported, fault.ReasonNotSupported,
			"Another event is stored with this one under the same UID, so it cannot be moved. Book a new event.")
	}
	switch own, err := d.organizes(ctx, a, r.calendarID, o); {
	case err != nil:
		return calendar.Event{}, fault.Unacted(err)
	case !own:
		return calendar.Event{}, d.notOrganizer(a)
	}
	e := edit{object: o, now: d.now()}
	if c.Attendees != nil && len(*c.Attendees) > 0 {
		if err := d.checkScheduling(a); err != nil {
			return calendar.Event{}, err
		}
		if e.organizer, err = d.organizerIn(ctx, a, r.calendarID); err != nil {
			return calendar.Event{}, fault.Unacted(err)
		}
	}
	if err := e.apply(i, r.isInstance, c); err != nil {
		return calendar.Event{}, err
	}
	return d.put(ctx, r, o.root, c)
}

// Cancel removes the resource, or one instance from its series, or one of several events from their resource. The
// server notifies the attendees (RFC 6638 section 3.2.1.3); for somebody else's meeting, it sends the organizer a
// decline (sections 3.2.2.3 and 3.2.2.4).
func (d *driver) Cancel(ctx context.Context, ref calendar.EventRef) error {
	a, r, err := d.resource(ctx, ref)
	if err != nil {
		return fault.Unacted(err)
	}
	isBare := !r.isInstance && r.part == ""
	if isBare && a.hasBooked(r) {
		// Nobody stores others in the resource of a booking.
		if err := d.remove(ctx, r, nil); !errors.Is(err, fault.NotFound) {
			return err
		}
	}
	read := d.readWhole
	if isBare { // it mostly is the only event of its resource, and then nothing is written back
		read = d.read
	}
	o, r, err := d.found(ctx, a, r, read)
	if err == nil && isBare && o.part != "" {
		o, r, err = d.readWhole(ctx, r)
	}
	if err != nil {
		return fault.Unacted(err)
	}
	if isBare && o.part == "" {
		return d.remove(ctx, r, nil)
	}
	i, err := o.pick(r)
	if err != nil {
		return err
	}
	if o.isMasked() {
		return notWhole()
	}
	own, err := d.organizes(ctx, a, r.calendarID, o)
	if err != nil {
		return fault.Unacted(err)
	}
	e := edit{object: o, now: d.now()}
	if e.cancel(i, r.isInstance, own) {
		return d.remove(ctx, r, r.condition())
	}
	answered, err := d.write(ctx, r, o.root)
	if err != nil || answered.keeps() {
		return err
	}
	return d.checkCancelled(ctx, r)
}

// Events reads the objects of a time range and expands them. CalDAV has no pages: each call reads everything,
// and returns the events after the cursor.
func (d *driver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	a, target, err := d.calendar(ctx, q.CalendarID)
	if err != nil {
		return calendar.Page{}, err
	}
	fallback := loadZone(q.Zone)
	if fallback == nil {
		fallback = time.UTC
	}
	var list []listed
	type common struct {
		calendar.Event

		recurs bool
	}
	known := map[*ical.Component]common{}
	err = d.eachInstance(ctx, a, target, calendar.Span{From: q.From, To: q.To}, fallback,
		func(r located, i instance) {
			all, is := known[i.event]
			if !is {
				all = common{described(i.event), r.object.recurs()}
				all.OwnerResponse = a.ownersResponse(target, i.event)
				known[i.event] = all
			}
			e := r.object.placed(all.Event, i, r.calendarID, r.id, r.version)
			if all.recurs {
				e = r.object.inSeries(e, i)
			}
			list = append(list, listed{e, r.object.instant(i.start, fallback)})
		})
	if err != nil {
		return calendar.Page{}, err
	}
	return page(list, q.Cursor, q.Limit), nil
}
