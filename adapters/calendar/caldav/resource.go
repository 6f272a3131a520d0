package caldav

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/upstream"
)

// resource is one calendar object resource, or one instance in it.
type resource struct {
	id         string // of the resource
	calendarID string
	url        *url.URL
	part       string // names the object in the resource; "" is the first
	key        string // of the instance
	isInstance bool

	version     string // what Event.Version holds
	tag         string // strong ETag, "" if the server sends none
	scheduleTag string
	data        []byte
}

// identify sets the version from the server's tags. If there is no ETag, a hash of the content replaces it:
// it detects changes, but not those made between reading and writing.
func (r *resource) identify(etag, scheduleTag string) {
	r.tag, r.scheduleTag = strongTag(etag), strongTag(scheduleTag)
	r.version = r.tag
	if r.version == "" {
		kept, _ := io.ReadAll(objectWithoutAttachments(bytes.NewReader(r.data))) // lists have no more
		sum := sha256.Sum256(bytes.ReplaceAll(bytes.TrimSpace(kept), []byte("\r\n"), []byte("\n")))
		r.version = "content:" + hex.EncodeToString(sum[:12])
	}
}

// condition returns the precondition that the resource is still as it was read (RFC 9110 section 13.1.1, RFC
// 6638 section 8.3).
func (r resource) condition() http.Header {
	switch {
	case r.tag != "":
		return http.Header{"If-Match": {r.tag}}
	case r.scheduleTag != "":
		return http.Header{"If-Schedule-Tag-Match": {r.scheduleTag}}
	}
	return http.Header{}
}

// file returns the name of the resource's file without its ending, for most the UID of what it holds.
func (r resource) file() string { return strings.TrimSuffix(lastSegment(r.id), ".ics") }

// movedTo returns the resource at the response's Location, for a server that stores it under another name.
func (r resource) movedTo(d *driver, a *account, answered answer) resource {
	if u, ok := answered.resolve(answered.header.Get("Location")); ok && within(r.calendarID, d.id(a, u)) {
		r.id, r.url = d.id(a, u), u
	}
	return r
}

// resource returns the resource that a reference names, which follows from the id. If no known calendar
// contains the id, it repeats the discovery, because a calendar may have been added.
func (d *driver) resource(ctx context.Context, ref calendar.EventRef) (*account, resource, error) {
	id, part, key, isInstance := split(ref.ID)
	a, again, err := d.account(ctx)
	for err == nil {
		i := slices.IndexFunc(a.calendars, func(p calendarCollection) bool { return within(p.ID, id) })
		if i >= 0 && (ref.CalendarID == "" || ref.CalendarID == a.calendars[i].ID) {
			u, err := a.locate(id)
			if err != nil {
				return nil, resource{}, noEvent()
			}
			return a, resource{
				id: id, calendarID: a.calendars[i].ID, url: u, part: part, key: key, isInstance: isInstance,
			}, nil
		}
		if i >= 0 || again || !strings.Contains(id, "/") {
			return nil, resource{}, noEvent()
		}
		again = true
		a, err = d.discoverAgain(ctx)
	}
	return nil, resource{}, err
}

// read fetches the resource without what is attached to it, and parses its object.
func (d *driver) read(ctx context.Context, r resource) (*object, resource, error) {
	return d.readWhole(upstream.Skipping(ctx, objectWithoutAttachments), r)
}

// readWhole fetches all of the resource, to be written back, and parses its object.
func (d *driver) readWhole(ctx context.Context, r resource) (*object, resource, error) {
	a, err := d.send(upstream.ForListing(ctx), http.MethodGet, r.url, http.Header{"Accept": {"text/calendar"}}, nil)
	if err != nil {
		return nil, r, err
	}
	switch a.status {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, r, gone(a)
	default:
		return nil, r, refusal(a)
	}
	r.data = a.body
	r.identify(a.header.Get("ETag"), a.header.Get("Schedule-Tag"))
	o, err := readObject(a.body, zones{})
	switch {
	case errors.Is(err, errNoEvent): // a task
		return nil, r, noEvent()
	case errors.Is(err, ical.ErrNone): // such as a proxy's page, which does not say that the event is gone
		return nil, r, misconfigured("gives an answer that is no calendar object").Because(err)
	case err != nil:
		return nil, r, unreadable(r.id, err)
	}
	switch one := o.named(r.part, r.file()); {
	case one != nil:
		r.part = cmp.Or(r.part, one.part)
		return one, r, nil
	case r.part == "":
		return nil, r, fault.New(fault.Unsupported, fault.ReasonNotSupported,
			"Several events are stored under this event_id by now. List the events, which tells the id of each.")
	}
	return nil, r, noEvent()
}

// found returns what read returns of a resource. A booking that is not where it was may be in another calendar by now:
// programs move it there under the name of its file, which is its UID (Evolution: cyrusimap/cyrus-imapd#2345). It is
// not found where one gives it another name (nextcloud/server#50748).
func (d *driver) found(
	ctx context.Context, a *account, r resource, read func(context.Context, resource) (*object, resource, error),
) (*object, resource, error) {
	o, there, missing := read(ctx, r)
	if !errors.Is(missing, fault.NotFound) || !a.hasBooked(r) {
		return o, there, missing
	}
	var places []resource
	for _, other := range a.calendars {
		place := r
		place.calendarID, place.id = other.ID, strings.TrimSuffix(other.ID, "/")+"/"+path.Base(r.id)
		if u, err := a.locate(place.id); err == nil && other.ID != r.calendarID {
			place.url = u
			places = append(places, place)
		}
	}
	objects, errs := make([]*object, len(places)), make([]error, len(places))
	reading, stop := context.WithCancel(ctx)
	defer stop()
	group := parallel.New()
	group.SetLimit(calendarsAtOnce)
	for i := range places {
		group.Go(func() error {
			objects[i], places[i], errs[i] = read(reading, places[i])
			if errs[i] == nil || errors.Is(errs[i], fault.Disconnected) {
				stop() // a password that is refused again and again may lock the account out
			}
			return nil
		})
	}
	_ = group.Wait() // no function fails
	for i, err := range errs {
		hasNone := errors.Is(err, fault.NotFound) || errors.Is(err, fault.Forbidden)
		switch {
		case err == nil:
			return objects[i], places[i], nil
		case !hasNone && !errors.Is(missing, fault.Disconnected):
			missing = err
		}
	}
	return o, there, missing
}

// hasBooked reports whether the name of a resource's file is one that Book gave it, in this calendar or in another of
// the account. No other event has such a name.
func (a *account) hasBooked(r resource) bool {
	return slices.ContainsFunc(a.calendars, func(c calendarCollection) bool {
		return strings.HasSuffix(r.file(), uidOf("", c.ID))
	})
}

// gone returns the fault for an event that does not exist. Status 410 means that it existed once.
func gone(a answer) *fault.Error {
	if a.status == http.StatusGone {
		return noEvent().With(calendar.MetaGone, "true")
	}
	return noEvent()
}

// put writes a changed object back, and returns the event as stored. If the server may have stored something
// else, put checks that it contains the requested change.
func (d *driver) put(
	ctx context.Context, r resource, root *ical.Component, c calendar.Change,
) (calendar.Event, error) {
	a, err := d.write(ctx, r, root)
	if err != nil {
		return calendar.Event{}, err
	}
	event, err := d.readStored(ctx, r, root, a)
	if err != nil || a.keeps() {
		return event, err
	}
	if missing := missingIn(event, c); len(missing) > 0 {
		return calendar.Event{}, notKept(missing)
	}
	return event, nil
}

// keeps reports whether the server stored the object as it was sent, as a strong ETag in the response to PUT
// means (RFC 4791 section 5.3.4).
func (a answer) keeps() bool {
	tag := a.header.Get("ETag")
	return tag != "" && !strings.HasPrefix(tag, "W/")
}

// missingIn returns the fields of a change that the event does not have. It allows for servers that trim and
// wrap texts, or list the organizer among the attendees.
func missingIn(e calendar.Event, c calendar.Change) (fields []string) {
	differs := func(asked *string, kept string) bool {
		return asked != nil && !slices.Equal(strings.Fields(*asked), strings.Fields(kept))
	}
	if differs(c.Title, e.Title) {
		fields = append(fields, "title")
	}
	if differs(c.Description, e.Description) {
		fields = append(fields, "description")
	}
	moved := func(asked *time.Time, kept calendar.Time) bool {
		return asked != nil && !kept.Instant.Equal(asked.Truncate(time.Second)) // RFC 5545 has no parts of a second
	}
	if moved(c.Start, e.Start) || moved(c.End, e.End) {
		fields = append(fields, "times")
	}
	if c.Attendees != nil {
		asked, kept := map[string]bool{}, map[string]bool{}
		for _, email := range *c.Attendees {
			asked[strings.ToLower(email)] = true
		}
		for _, attendee := range e.Attendees {
			kept[strings.ToLower(attendee.Email)] = true
		}
		for _, unasked := range []string{strings.ToLower(e.Organizer.Email), ""} { // "": a room without an address
			delete(asked, unasked)
			delete(kept, unasked)
		}
		if !maps.Equal(asked, kept) {
			fields = append(fields, "attendees")
		}
	}
	return fields
}

// checkCancelled returns nil if the cancelled instance no longer exists.
func (d *driver) checkCancelled(ctx context.Context, r resource) error {
	o, r, err := d.read(ctx, r)
	if err == nil {
		_, err = o.pick(r)
	}
	switch {
	case err == nil:
		return notKept([]string{"instances"})
	case errors.Is(err, fault.NotFound):
		return nil
	}
	return readBackFault(err)
}

// write replaces the object that was read with the changed one.
func (d *driver) write(ctx context.Context, r resource, root *ical.Component) (answer, error) {
	header := r.condition()
	header.Set("Content-Type", calendarType)
	a, err := d.send(ctx, http.MethodPut, r.url, header, ical.Encode(root))
	if err != nil {
		return a, err
	}
	return a, d.judge(ctx, r, a)
}

// judge returns the fault of the response to a write or removal, if it is one.
func (d *driver) judge(ctx context.Context, r resource, a answer) error {
	switch {
	case a.foreign():
		return notUnderstood()
	case a.status < 300:
		return nil
	case a.status == http.StatusPreconditionFailed:
		return d.stale(ctx, r)
	case a.status == http.StatusNotFound, a.status == http.StatusGone:
		return gone(a)
	}
	return refusal(a)
}

// readStored returns the event as it is after a write. A strong ETag in the response means that it was stored
// as sent (RFC 4791 section 5.3.4). Without one, the server may have altered it, so it is read.
func (d *driver) readStored(
	ctx context.Context, r resource, root *ical.Component, a answer,
) (calendar.Event, error) {
	var o *object
	var err error
	if a.keeps() {
		r.identify(a.header.Get("ETag"), a.header.Get("Schedule-Tag"))
		if o, err = objectOf(root, zones{}); err == nil {
			o = o.named(r.part, r.file()) // it was there when it was changed
		}
	} else {
		o, r, err = d.read(ctx, r)
	}
	if err != nil {
		return calendar.Event{}, readBackFault(err)
	}
	i := o.single()
	if r.isInstance {
		found, ok, err := o.find(r.key)
		if err != nil {
			return calendar.Event{}, readBackFault(unreadable(r.id, err))
		}
		if !ok {
			return calendar.Event{}, changedMeanwhile()
		}
		i = found
	}
	return o.eventOf(i, r), nil
}

// readBackFault returns the fault for a failure to read back what was written, or what the server reported to
// exist. If it is not found, someone removed it in between. The fault never says that nothing happened, because
// the write was sent and accepted, even if the read was not.
func readBackFault(err error) error {
	f := *fault.From(err)
	switch f.Unsent = false; f.Code {
	case fault.NotFound:
		return changedMeanwhile().Because(err)
	case fault.Unavailable, fault.Timeout, fault.Canceled, fault.UnknownOutcome:
		return &f
	}
	return f.Restate(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"The calendar server accepted the request, but what it made of it could not be read.").Because(err)
}

// stale returns the fault for a failed precondition: the event was changed, or is gone.
func (d *driver) stale(ctx context.Context, r resource) error {
	if _, _, err := d.read(ctx, r); errors.Is(err, fault.NotFound) {
		return err
	}
	return changedMeanwhile()
}

func (d *driver) remove(ctx context.Context, r resource, condition http.Header) error {
	a, err := d.send(ctx, http.MethodDelete, r.url, condition, nil)
	if err != nil {
		return err
	}
	return d.judge(ctx, r, a)
}
