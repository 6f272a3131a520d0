package google

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// driver is one Google account. Its caches only save requests: the driver of another replica returns the same
// results.
type driver struct {
	api      *gcal.Service
	client   *http.Client
	base     string // of the API's addresses
	standard string // the id of the default calendar

	address    atomic.Pointer[string] // of the account: the id that primary stands for
	noFreeBusy atomic.Bool            // the token lacks the scope of free/busy
	smallPages atomic.Bool            // a page of the largest size was larger than is read
	meet       abilities
}

var (
	_ calendar.Driver     = (*driver)(nil)
	_ calendar.FreeBusyer = (*driver)(nil)
)

func open(ctx context.Context, s settings, env adapter.Environment) (calendar.Driver, error) {
	client := *env.HTTP
	client.Transport = transport{env.HTTP.Transport}
	base := strings.TrimSuffix(env.Addresses["api_url"], "/") + "/calendar/v3/"
	api, err := gcal.NewService(ctx,
		option.WithHTTPClient(&client),
		option.WithEndpoint(base),
		option.WithLogger(slog.New(slog.DiscardHandler)), // it logs whole bodies when the environment asks for it
	)
	if err != nil {
		return nil, fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The address of Google's API cannot be used.").Because(err)
	}
	return &driver{
		api: api, client: env.HTTP, base: base, standard: s.CalendarID, meet: abilities{now: env.Now},
	}, nil
}

// transport gives a request the caller's context back (see [detach]).
type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if ctx, is := r.Context().Value(callersKey{}).(context.Context); is {
		r = r.WithContext(ctx)
	}
	return t.next.RoundTrip(r)
}

type callersKey struct{}

// detach returns a context for Google's library that does not end, and carries ctx. If the context of a call
// has ended, the library returns that error instead of the transport's (gensupport.SendRequest), and only the
// transport knows whether anything was sent.
func detach(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), callersKey{}, ctx)
}

// mostGuests is Google's limit, except for larger groups in some editions (support.google.com/calendar,
// "Invite people to your Calendar event").
const mostGuests = 200

// Traits returns the same traits for every account. Whether a calendar can create meeting links is checked
// when one is booked.
func (d *driver) Traits() calendar.Traits {
	return calendar.Traits{
		IdempotentBook: true, // the driver chooses the id of an event, and it stays taken after it is deleted
		SendsInvites:   true,
		IDsPerCalendar: true,
		KeepsCancelled: true, // events.get returns a deleted event with the status cancelled
		Instances:      true,
		Conferencing:   true,
		LocationURL:    true,
		MaxAttendees:   mostGuests,
	}
}

// Account reads the primary calendar, whose id is the account's address.
func (d *driver) Account(ctx context.Context) (calendar.Account, error) {
	entry, err := d.readListEntry(ctx, primary)
	if err != nil {
		return calendar.Account{}, err
	}
	return calendar.Account{Email: entry.Id}, nil
}

// primary is Google's alias for an account's own calendar, whatever its address.
const primary = "primary"

const calendarFields = "id,summary,summaryOverride,timeZone,accessRole,primary,conferenceProperties"

// readListEntry reads one entry of the account's list of calendars, and caches what it reports.
func (d *driver) readListEntry(ctx context.Context, calendarID string) (*gcal.CalendarListEntry, error) {
	if !addressable(calendarID) {
		return nil, noCalendar()
	}
	entry, err := present(d.api.CalendarList.Get(calendarID).Fields(calendarFields).Context(detach(ctx)).Do())
	if err != nil {
		return nil, calendarMissing(refusal(err, reading))
	}
	if entry.Id == "" {
		return nil, unreadable(nil, reading)
	}
	d.note(entry)
	return entry, nil
}

func (d *driver) note(entry *gcal.CalendarListEntry) {
	d.meet.note(entry)
	if entry.Primary {
		d.address.Store(&entry.Id)
	}
}

// Calendars returns the calendars whose events can be read. They include those that the customer hid in
// Google's pages, which can be booked in as well.
func (d *driver) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	const fields = "kind,nextPageToken,items(" + calendarFields + ")"
	call := d.api.CalendarList.List().MinAccessRole("reader").ShowHidden(true).MaxResults(250).Fields(fields).
		Context(detach(ctx))
	var list []calendar.Calendar
	for range mostPages {
		page, err := present(call.Do())
		if err != nil {
			return nil, refusal(err, reading)
		}
		if page.Kind != "calendar#calendarList" && page.Items == nil {
			return nil, unreadable(nil, reading)
		}
		for _, entry := range page.Items {
			if entry == nil || entry.Id == "" {
				continue
			}
			d.note(entry)
			list = append(list, calendarOf(entry, d.standard))
		}
		if page.NextPageToken == "" {
			return list, nil
		}
		call.PageToken(page.NextPageToken)
	}
	return nil, endless()
}

// mostPages limits how many pages are followed, in case the tokens form a circle.
const mostPages = 100

var insertQuery = url.Values{
	"prettyPrint": {"false"}, "conferenceDataVersion": {"1"}, "sendUpdates": {"all"}, "fields": {eventFields},
}.Encode()

// Book inserts an event with an id derived from the key. If the id is taken, this booking was made before.
func (d *driver) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	calendarID, err := d.resolveID(b.CalendarID)
	if err != nil {
		return calendar.Event{}, err
	}
	event, err := newEvent(b)
	if err != nil {
		return calendar.Event{}, err
	}
	wantsMeet := b.Conferencing == calendar.ConferencingProvider
	if wantsMeet {
		if err := d.canMeet(ctx, calendarID); err != nil {
			return calendar.Event{}, fault.Unacted(err)
		}
	}
	made, err := ask(ctx, d, request{http.MethodPost, eventsOf(calendarID), insertQuery, event}, decodeEvent)
	switch f := refusal(err, writing); {
	case f == nil:
	case upstream.HasStatus(f, http.StatusConflict):
		if made, err = d.bookedBefore(ctx, calendarID, b); err != nil {
			return calendar.Event{}, err
		}
		wantsMeet = wantsMeet && made.ConferenceData != nil // without, somebody has removed the link since
	case upstream.HasStatus(f, http.StatusBadRequest) && wantsMeet && d.cannotMeetAnyMore(ctx, calendarID):
		return calendar.Event{}, noMeet()
	default:
		return calendar.Event{}, calendarMissing(f)
	}
	if wantsMeet {
		if made, err = d.meeting(ctx, calendarID, made); err != nil {
			return calendar.Event{}, err
		}
	}
	return d.event(ctx, calendarID, made, writing)
}

// bookedBefore reads the event that an earlier Book with the same key created.
func (d *driver) bookedBefore(
	ctx context.Context, calendarID string, b calendar.Booking,
) (*gcal.Event, error) {
	found, err := d.get(ctx, calendarID, idOf(b.Key), eventFields)
	switch {
	case fault.From(err) != nil && fault.From(err).Code == fault.NotFound:
		return nil, changedMeanwhile()
	case err != nil:
		return nil, afterBooking(err)
	case isCancelled(found) && b.Conferencing == calendar.ConferencingProvider &&
		meetStatus(found) == meetFailed:
		return nil, noMeet() // which is why it was removed
	case isCancelled(found):
		return nil, changedMeanwhile()
	case private(found, keyProperty) != b.Key:
		return nil, fault.New(fault.Conflict, fault.ReasonProviderConflict,
			"Another event already has the id that this booking would get.")
	}
	return found, nil
}

// idOf returns the id of the event for a key. Ids are 5 to 1024 characters of base32hex in lower case, and
// unique in a calendar (developers.google.com/workspace/calendar/api/v3/reference/events#id).
func idOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "fd" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// Event reads one event or instance.
func (d *driver) Event(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	calendarID, err := d.locate(ref)
	if err != nil {
		return calendar.Event{}, err
	}
	found, err := d.get(ctx, calendarID, ref.ID, eventFields+",recurrence")
	if err != nil {
		return calendar.Event{}, err
	}
	return d.event(ctx, calendarID, found, reading)
}

func (d *driver) get(
	ctx context.Context, calendarID, id string, fields googleapi.Field,
) (*gcal.Event, error) {
	found, err := present(d.api.Events.Get(calendarID, id).Fields(fields).Context(detach(ctx)).Do())
	if err != nil {
		return nil, eventMissing(refusal(err, reading))
	}
	return found, nil
}

// Change patches the given fields. It reads the event first only if necessary: for the entries of the guests
// who stay, and, if the caller has no version, for a version that keeps the patch from restoring a deleted
// event.
func (d *driver) Change(
	ctx context.Context, ref calendar.EventRef, c calendar.Change,
) (calendar.Event, error) {
	calendarID, err := d.locate(ref)
	if err != nil {
		return calendar.Event{}, err
	}
	patch, err := newPatch(c)
	if err != nil {
		return calendar.Event{}, err
	}
	version := c.IfUnchanged
	if version == "" || c.Attendees != nil || patch == nil {
		fields := googleapi.Field("id,etag,status,attendees,attendeesOmitted")
		if patch == nil {
			fields = eventFields
		}
		before, err := d.get(ctx, calendarID, ref.ID, fields)
		switch {
		case err != nil:
			return calendar.Event{}, fault.Unacted(err)
		case isCancelled(before):
			return calendar.Event{}, noEvent()
		case version != "" && version != before.Etag:
			return calendar.Event{}, changedMeanwhile()
		case patch == nil: // attendees would be notified of an empty patch
			return d.event(ctx, calendarID, before, reading)
		}
		version = before.Etag
		if c.Attendees != nil {
			if before.AttendeesOmitted || len(*c.Attendees) > 0 && slices.ContainsFunc(before.Attendees, isNameless) {
				return calendar.Event{}, guestsHidden()
			}
			patch.Attendees = mergeAttendees(before.Attendees, *c.Attendees)
		}
	}
	call := d.api.Events.Patch(calendarID, ref.ID, patch).ConferenceDataVersion(1).SendUpdates("all").
		Fields(eventFields).Context(detach(ctx))
	call.Header().Set("If-Match", version)
	changed, err := present(call.Do())
	if err != nil {
		return calendar.Event{}, eventMissing(refusal(err, writing))
	}
	if isCancelled(changed) {
		return calendar.Event{}, noEvent()
	}
	return d.event(ctx, calendarID, changed, writing)
}

// Cancel deletes the event or instance. For an event that the account organizes, Google notifies the
// attendees. For another's event, it removes this calendar's copy.
func (d *driver) Cancel(ctx context.Context, ref calendar.EventRef) error {
	calendarID, err := d.locate(ref)
	if err != nil {
		return err
	}
	return d.remove(ctx, calendarID, ref.ID)
}

func (d *driver) remove(ctx context.Context, calendarID, id string) error {
	call := d.api.Events.Delete(calendarID, id).SendUpdates("all").Context(detach(upstream.ExpectEmpty(ctx)))
	if err := call.Do(); err != nil {
		return eventMissing(refusal(err, writing))
	}
	return nil
}

// The sizes of a page of events. The first is the largest that Google gives
// (developers.google.com/workspace/calendar/api/v3/reference/events/list#maxResults), so that most lists are one
// request. Of events with many guests or long texts, so many may be more than upstream reads of one answer. The
// account's lists then have pages of the second size.
const largestPage, smallPage = 2500, 500

// Events reads a page. Deleted events are not in it: Google lists those only on demand, together with all
// that were ever deleted. Whole days are in the given zone, which determines the zone of the response and,
// though that is not documented, how timeMin and timeMax are compared with days
// (googleapis/google-api-dotnet-client#1778).
func (d *driver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	calendarID, err := d.resolveID(q.CalendarID)
	if err != nil {
		return calendar.Page{}, err
	}
	limit := largestPage
	if d.smallPages.Load() {
		limit = smallPage
	}
	if q.Limit > 0 {
		limit = min(q.Limit, largestPage)
	}
	answer, f := d.list(ctx, calendarID, q, limit)
	if f != nil && f.Reason == upstream.ReasonAnswerTooLarge && limit > smallPage {
		d.smallPages.Store(true)
		answer, f = d.list(ctx, calendarID, q, smallPage)
	}
	if f != nil {
		return calendar.Page{}, calendarMissing(f)
	}
	// A response that is no list must not look like an empty page.
	if answer.Kind != "calendar#events" && answer.Items == nil {
		return calendar.Page{}, unreadable(nil, reading)
	}
	page := calendar.Page{
		Next: answer.NextPageToken, Events: slices.Grow([]calendar.Event(nil), len(answer.Items)),
	}
	items := slices.DeleteFunc(answer.Items, func(e *gcal.Event) bool {
		return e == nil || isCancelled(e) && e.Start == nil // a cancelled instance has only its id
	})
	for _, item := range items {
		event, err := eventOf(item)
		if err != nil {
			return calendar.Page{}, unreadable(err, reading)
		}
		page.Events = append(page.Events, event)
	}
	if len(items) > 0 {
		calendarID = d.listedAs(ctx, calendarID, items)
	}
	for i := range page.Events {
		page.Events[i].CalendarID = calendarID
	}
	return page, nil
}

// list asks for a page of at most limit events.
func (d *driver) list(
	ctx context.Context, calendarID string, q calendar.Query, limit int,
) (*gcal.Events, *fault.Error) {
	query := url.Values{
		"prettyPrint": {"false"}, "singleEvents": {"true"}, "maxResults": {strconv.Itoa(limit)},
		"timeMin": {q.From.UTC().Format(time.RFC3339)}, "timeMax": {wholeSecond(q.To).UTC().Format(time.RFC3339)},
		"fields": {pageFields},
	}
	if q.Zone != "" {
		query.Set("timeZone", q.Zone)
	}
	if q.Cursor != "" {
		query.Set("pageToken", q.Cursor)
	}
	answer, err := ask(upstream.ForListing(ctx), d,
		request{http.MethodGet, eventsOf(calendarID), query.Encode(), nil}, decodeEvents)
	return answer, refusal(err, reading)
}

// wholeSecond returns the first whole second not before t: Google ignores fractions.
func wholeSecond(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}

func (d *driver) event(
	ctx context.Context, calendarID string, item *gcal.Event, access access,
) (calendar.Event, error) {
	event, err := eventOf(item)
	if err != nil {
		return calendar.Event{}, unreadable(err, access)
	}
	event.CalendarID = d.listedAs(ctx, calendarID, []*gcal.Event{item})
	return event, nil
}

// listedAs returns the id under which a calendar is listed: for primary, the account's address. Usually an
// event in the calendar shows it: the calendar is the organizer of its own events. If the address cannot be
// found out, listedAs returns primary, which Google accepts as well.
func (d *driver) listedAs(ctx context.Context, calendarID string, items []*gcal.Event) string {
	if calendarID != primary {
		return calendarID
	}
	if known := d.address.Load(); known != nil {
		return *known
	}
	for _, e := range items {
		if e.Organizer != nil && e.Organizer.Self && e.Organizer.Email != "" {
			return e.Organizer.Email
		}
	}
	entry, err := d.readListEntry(ctx, primary)
	if err != nil {
		return primary
	}
	return entry.Id
}

// resolveID returns the given calendar id, or that of the default calendar for "".
func (d *driver) resolveID(calendarID string) (string, error) {
	if calendarID == "" {
		calendarID = d.standard
	}
	if !addressable(calendarID) {
		return "", noCalendar()
	}
	return calendarID, nil
}

// locate returns the calendar of a reference. It rejects event ids that Google would not assign: ".." would
// lead to another path.
func (d *driver) locate(ref calendar.EventRef) (string, error) {
	calendarID, err := d.resolveID(ref.CalendarID)
	if err != nil || !addressable(ref.ID) || strings.ContainsFunc(ref.ID, foreignToIDs) {
		return "", noEvent()
	}
	return calendarID, nil
}

// addressable reports whether an id remains one segment of a path.
func addressable(id string) bool { return strings.Trim(id, ".") != "" }

// foreignToIDs reports whether an event id cannot contain r. It allows more than base32hex, since the ids of
// instances and imported events have more letters.
func foreignToIDs(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
		!strings.ContainsRune("_-.@", r)
}
