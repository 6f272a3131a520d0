package fake

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/timezone"
)

// event is a resource as it is stored: with times in their own zones, and without properties that depend on
// the request.
type event struct {
	data    map[string]any
	polls   int // reads until its conference exists
	notices []Notice
}

// Notice is a message to an attendee: an invitation, an update or a cancellation.
type Notice struct{ To, Kind string }

// mostAttendees is the maximum number of attendees of an event.
const mostAttendees = 200

var idForm = regexp.MustCompile(`^[a-v0-9]+$`)

func (e *event) isCancelled() bool { return textOf(e.data, "status") == "cancelled" }

func (e *event) isOwn() bool {
	self, _ := objectOf(e.data, "organizer")["self"].(bool)
	return self
}

// events are the methods of the Events resource.
func (c call) events(calendarID string, id []string) (map[string]any, *refusal) {
	scopes := []string{"calendar", "calendar.events"}
	if c.request.Method == http.MethodGet {
		scopes = append(scopes, "calendar.readonly", "calendar.events.readonly")
	}
	if refused := c.requireScope(scopes...); refused != nil {
		return nil, refused
	}
	cal := c.account.calendar(calendarID)
	if cal == nil || !cal.atLeast("reader") {
		return nil, notFound()
	}
	if c.request.Method != http.MethodGet && !cal.atLeast("writerWithoutPrivateAccess") {
		return nil, requiredAccessLevel()
	}
	switch method := c.request.Method; {
	case method == http.MethodGet && len(id) == 0:
		return c.list(cal)
	case method == http.MethodPost && len(id) == 0:
		return c.insert(cal)
	case method == http.MethodGet:
		return c.get(cal, id[0])
	case method == http.MethodPatch && len(id) == 1:
		return c.patch(cal, id[0])
	case method == http.MethodDelete && len(id) == 1:
		return c.remove(cal, id[0])
	}
	return nil, notFound()
}

func (c call) get(cal *collection, id string) (map[string]any, *refusal) {
	if refused := c.takes("timeZone", "maxAttendees"); refused != nil {
		return nil, refused
	}
	found := cal.find(id)
	if found == nil {
		return nil, notFound()
	}
	c.ripen(found)
	return c.shown(cal, found)
}

func (c call) insert(cal *collection) (map[string]any, *refusal) {
	if refused := c.takes("conferenceDataVersion", "sendUpdates", "maxAttendees"); refused != nil {
		return nil, refused
	}
	body, refused := c.readEvent()
	if refused != nil {
		return nil, refused
	}
	id := textOf(body, "id")
	switch {
	case id == "":
		id = "made" + strconv.FormatInt(int64(c.next()), 32)
	case len(id) < 5 || len(id) > 1024 || !idForm.MatchString(id):
		return nil, invalid("Invalid resource id value.")
	case cal.events[id] != nil:
		return nil, duplicate() // a deleted event keeps its id
	}
	e := &event{data: map[string]any{}}
	merge(e.data, body)
	e.data["id"] = id
	if refused := c.complete(cal, e, nil); refused != nil {
		return nil, refused
	}
	cal.events[id] = e
	c.notify(e, "invitation", guestsOf(e.data))
	return c.shown(cal, e)
}

func (c call) patch(cal *collection, id string) (map[string]any, *refusal) {
	if refused := c.takes("conferenceDataVersion", "sendUpdates", "maxAttendees"); refused != nil {
		return nil, refused
	}
	body, refused := c.readEvent()
	if refused != nil {
		return nil, refused
	}
	found := cal.find(id)
	if found == nil {
		return nil, notFound()
	}
	if refused := c.ifMatch(found); refused != nil {
		return nil, refused
	}
	if !found.isOwn() {
		return nil, forbiddenForNonOrganizer()
	}
	changed := &event{data: copied(found.data), polls: found.polls, notices: found.notices}
	merge(changed.data, body)
	if found.isCancelled() {
		changed.data["status"] = "confirmed"
	}
	if refused := c.complete(cal, changed, found); refused != nil {
		return nil, refused
	}
	cal.events[id] = changed
	c.tellOfChange(found, changed)
	return c.shown(cal, changed)
}

func (c call) remove(cal *collection, id string) (map[string]any, *refusal) {
	if refused := c.takes("sendUpdates"); refused != nil {
		return nil, refused
	}
	found := cal.find(id)
	switch {
	case found == nil:
		return nil, notFound()
	case found.isCancelled():
		return nil, deleted()
	}
	if refused := c.ifMatch(found); refused != nil {
		return nil, refused
	}
	cal.events[id] = found // an instance has a resource of its own from now on
	found.data["status"] = "cancelled"
	c.stamp(found)
	for _, exception := range cal.exceptions(id) {
		exception.data["status"] = "cancelled"
		c.stamp(exception)
	}
	if found.isOwn() {
		c.notify(found, "cancellation", guestsOf(found.data))
	}
	return nil, nil
}

// ifMatch compares the version of the event with the one that the caller read
// (developers.google.com/workspace/calendar/api/guides/version-resources).
func (c call) ifMatch(e *event) *refusal {
	if want := c.request.Header.Get("If-Match"); want != "" && want != "*" && want != textOf(e.data, "etag") {
		return conditionNotMet()
	}
	return nil
}

// complete checks an event and sets the properties that the server sets. before is the event before the
// change; nil for a new one.
func (c call) complete(cal *collection, e, before *event) *refusal {
	if refused := settle(cal, e.data); refused != nil {
		return refused
	}
	if refused := attendees(cal, e.data); refused != nil {
		return refused
	}
	limit(objectOf(e.data, "extendedProperties"))
	now := c.options.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	id := textOf(e.data, "id")
	if before == nil {
		for name, value := range map[string]any{
			"kind": "calendar#event", "status": "confirmed", "created": now, "iCalUID": id + "@google.com",
			"sequence": 0.0, "eventType": "default", "organizer": map[string]any{"email": cal.ID, "self": true},
			"creator": map[string]any{"email": c.account.email, "self": cal.primary},
			"htmlLink": "https://www.google.com/calendar/event?eid=" +
				base64.RawURLEncoding.EncodeToString([]byte(id+" "+cal.ID)),
			"reminders": map[string]any{"useDefault": true},
		} {
			e.data[name] = value
		}
	}
	e.data["updated"] = now
	if refused := c.conference(cal, e, before); refused != nil {
		return refused
	}
	c.stamp(e)
	return nil
}

// stamp gives an event a new version.
func (s *Server) stamp(e *event) {
	e.data["etag"] = fmt.Sprintf(`"%d"`, 3181161784712000+int64(s.next()))
}

// settle parses the times of an event, and stores each as a date, or as an instant in its zone.
func settle(cal *collection, data map[string]any) *refusal {
	start, end := objectOf(data, "start"), objectOf(data, "end")
	switch {
	case start == nil:
		return required("Missing start time.")
	case end == nil:
		return required("Missing end time.")
	}
	recurs := len(recurrence(data)) > 0
	from, days1, refused := moment(start, cal.Zone, recurs)
	if refused != nil {
		return refused
	}
	to, days2, refused := moment(end, cal.Zone, recurs)
	if refused != nil {
		return refused
	}
	switch {
	case days1 != days2:
		return invalid("Start and end times must either both be date or both be dateTime.")
	case to.Before(from) || days1 && !to.After(from):
		return timeRangeEmpty()
	}
	return nil
}

// moment parses one time and writes it back in the form in which it is stored.
func moment(t map[string]any, calendarZone string, recurs bool) (at time.Time, isDay bool, refused *refusal) {
	date, clock, zone := textOf(t, "date"), textOf(t, "dateTime"), textOf(t, "timeZone")
	if (date == "") == (clock == "") {
		return at, false, invalid("Invalid start time.")
	}
	if date != "" {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return at, true, invalid("Invalid start time.")
		}
		delete(t, "timeZone")
		return at, true, nil
	}
	if zone == "" && recurs {
		return at, false, required("Missing time zone definition for start time.")
	}
	named := zone != ""
	if !named {
		zone = calendarZone
	}
	location, err := timezone.Load(zone)
	if err != nil || zone == "Local" {
		return at, false, invalid("Invalid time zone definition for start time.")
	}
	at, err = time.Parse(time.RFC3339, clock)
	if err != nil && named {
		at, err = time.ParseInLocation("2006-01-02T15:04:05", clock, location)
	}
	if err != nil {
		return at, false, invalid("Invalid start time.")
	}
	t["dateTime"], t["timeZone"] = at.In(location).Format(time.RFC3339), zone
	return at, false, nil
}

// attendees checks the guests and sets their initial properties.
func attendees(cal *collection, data map[string]any) *refusal {
	guests := attendeesOf(data)
	if len(guests) > mostAttendees {
		return invalid("Too many attendees.")
	}
	for _, guest := range guests {
		switch textOf(guest, "responseStatus") {
		case "":
			guest["responseStatus"] = "needsAction"
		case "needsAction", "declined", "tentative", "accepted":
		default:
			return invalid("Invalid attendee response status.")
		}
		if strings.EqualFold(textOf(guest, "email"), cal.ID) {
			guest["self"] = true
		}
	}
	if len(guests) == 0 {
		delete(data, "attendees")
	}
	return nil
}

// limit applies the limits of extended properties, as Google does silently
// (developers.google.com/workspace/calendar/api/guides/extended-properties, "Limits").
func limit(properties map[string]any) {
	for _, kind := range []string{"private", "shared"} {
		of := objectOf(properties, kind)
		for name, value := range of {
			if s, _ := value.(string); len([]rune(s)) > 1024 {
				of[name] = string([]rune(s)[:1024])
			}
			if len(name) > 44 {
				delete(of, name)
			}
		}
	}
}

// guestsOf returns the addresses to notify.
func guestsOf(data map[string]any) (emails []string) {
	for _, guest := range attendeesOf(data) {
		if self, _ := guest["self"].(bool); !self {
			emails = append(emails, textOf(guest, "email"))
		}
	}
	return emails
}

// notify sends a message if the request asks for it by sendUpdates; the default is "none"
// (developers.google.com/workspace/calendar/api/v3/reference/events/insert#sendUpdates).
func (c call) notify(e *event, kind string, to []string) {
	if c.query.Get("sendUpdates") != "all" {
		return
	}
	for _, email := range to {
		e.notices = append(e.notices, Notice{email, kind})
	}
}

func (c call) tellOfChange(before, after *event) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, email := range guestsOf(before.data) {
		was[strings.ToLower(email)] = true
	}
	for _, email := range guestsOf(after.data) {
		is[strings.ToLower(email)] = true
		if was[strings.ToLower(email)] {
			c.notify(after, "update", []string{email})
		} else {
			c.notify(after, "invitation", []string{email})
		}
	}
	for _, email := range guestsOf(before.data) {
		if !is[strings.ToLower(email)] {
			c.notify(after, "cancellation", []string{email})
		}
	}
}

// shown returns an event as in a response: with its times in the requested zone, and with only its own entry
// of the attendees if they exceed maxAttendees.
func (c call) shown(cal *collection, e *event) (map[string]any, *refusal) {
	zone := cal.Zone
	if asked := c.query.Get("timeZone"); asked != "" {
		zone = asked
	}
	location, err := timezone.Load(zone)
	if err != nil {
		return nil, invalidParameter("timeZone")
	}
	data := copied(e.data)
	for _, name := range []string{"start", "end", "originalStartTime"} {
		t := objectOf(data, name)
		if at, err := time.Parse(time.RFC3339, textOf(t, "dateTime")); err == nil {
			t["dateTime"] = at.In(location).Format(time.RFC3339)
		}
	}
	if asked := c.query.Get("maxAttendees"); asked != "" {
		most, err := strconv.Atoi(asked)
		if err != nil || most < 1 {
			return nil, invalidParameter("maxAttendees")
		}
		if guests := attendeesOf(data); len(guests) > most {
			data["attendeesOmitted"] = true
			own := []any{}
			for _, guest := range guests {
				if guest["self"] == true {
					own = append(own, guest)
				}
			}
			data["attendees"] = own
		}
	}
	return data, nil
}

// recurrence returns the lines by which an event recurs; none if it does not.
func recurrence(data map[string]any) (all []string) {
	items, _ := data["recurrence"].([]any)
	for _, item := range items {
		if s, is := item.(string); is {
			all = append(all, s)
		}
	}
	return all
}
