package fake

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// event is a stored event: a single one, the master of a series, or an exception.
type event struct {
	id    string // immutable
	moves int    // moves to other folders; each changes the id that is not immutable
	box   *box
	key   string // change key

	subject       string
	body          itemBody
	start, end    time.Time
	zone, endZone string // as given
	days          bool   // whole days: start and end are midnights in UTC
	showAs        string
	location      string
	attendees     []attendee
	organizer     string // "" means the account
	withdrawn     bool   // by its organizer
	online        bool
	join          string
	lateReads     int
	transaction   string
	request       [32]byte // digest of the request body that created it
	created       time.Time
	modified      time.Time // zero: not since it was created
	removed       bool

	rule      *rrule.RRule
	master    *event
	date      string            // of an exception: its original day
	changed   map[string]*event // of a master: exceptions by day
	cancelled map[string]bool   // of a master: cancelled days

	notices []Notice
}

type itemBody struct {
	ContentType string `json:"contentType"`
	Content     string `json:"content"`
}

type attendee struct {
	EmailAddress emailAddress `json:"emailAddress"`
	Type         string       `json:"type"`
	response     string
}

type emailAddress struct {
	Address string `json:"address"`
	Name    string `json:"name"`
}

// Notice is a message that Exchange sent to an attendee.
type Notice struct{ To, Kind string }

// write holds the fields of an event that can be written.
type write struct {
	Subject       *string           `json:"subject"`
	Body          *itemBody         `json:"body"`
	Start         *dateTimeTimeZone `json:"start"`
	End           *dateTimeTimeZone `json:"end"`
	IsAllDay      *bool             `json:"isAllDay"`
	ShowAs        *string           `json:"showAs"`
	Location      *location         `json:"location"`
	Attendees     *[]attendee       `json:"attendees"`
	IsOnline      *bool             `json:"isOnlineMeeting"`
	Provider      *string           `json:"onlineMeetingProvider"`
	TransactionID *string           `json:"transactionId"`
}

type dateTimeTimeZone struct {
	DateTime string `json:"dateTime"`
	TimeZone string `json:"timeZone"`
}

type location struct {
	DisplayName string `json:"displayName"`
}

func decode(c *call, into any) *answer {
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || c.Header.Get("Content-Type") != "application/json" {
		a := invalid("RequestBodyRead", fmt.Sprintf("The body cannot be read: %v", err))
		return &a
	}
	return nil
}

// create creates an event (learn.microsoft.com/graph/api/calendar-post-events).
func (s *Server) create(c *call, b *box) answer {
	if b.readOnly {
		return denied()
	}
	var w write
	if a := decode(c, &w); a != nil {
		return *a
	}
	digest := sha256.Sum256(c.body)
	if w.TransactionID != nil {
		if a := s.answerRepeat(c, *w.TransactionID, digest); a != nil {
			return *a
		}
	}
	if w.Start == nil || w.End == nil {
		return invalid("ErrorPropertyValidationFailure", "Start and end are required.")
	}
	e := &event{
		id: s.newID(), box: b, key: s.newKey(), showAs: "busy", created: s.options.Now(), request: digest,
	}
	if w.TransactionID != nil {
		e.transaction = *w.TransactionID
	}
	e.body = itemBody{ContentType: "html", Content: "<html><body></body></html>"}
	if a := e.apply(w); a != nil {
		return *a
	}
	if w.IsOnline != nil && *w.IsOnline && !s.options.Personal && !s.options.Silent {
		if w.Provider == nil || *w.Provider != "teamsForBusiness" {
			return invalid("ErrorInvalidRequest", "The online meeting provider is not allowed in this calendar.")
		}
		e.online, e.lateReads = true, s.options.LateLinks
		e.join = fmt.Sprintf("https://teams.microsoft.com/l/meetup-join/19%%3ameeting_%s%%40thread.v2/"+
			"0?context=%%7b%%7d&anon=true", url.QueryEscape(e.id))
		e.body = itemBody{ContentType: "html", Content: page(plainOf(e.body), blob(e.join))}
	}
	for _, a := range e.attendees {
		e.notice(a.EmailAddress.Address, "invitation")
	}
	s.events[e.id] = e
	return answer{status: http.StatusCreated, body: s.show(c, e)}
}

// answerRepeat handles a POST whose transactionId is taken. It returns the current event if the body is the
// same (blog.rykoma.net/2020/10/05/1559), else an error. It returns nil if the transactionId is free.
func (s *Server) answerRepeat(c *call, transaction string, digest [32]byte) *answer {
	for _, e := range s.events {
		if e.transaction != transaction || e.removed && s.options.Forgets {
			continue
		}
		if e.request == digest && !e.removed {
			return &answer{status: http.StatusCreated, body: s.show(c, e)}
		}
		a := invalid("ErrorDuplicateTransactionId",
			"Your request can't be completed. The TransactionId specified in the request has already been used to "+
				"create a different event.")
		return &a
	}
	return nil
}

func (e *event) apply(w write) *answer {
	if (w.Start == nil) != (w.End == nil) {
		a := invalid("ErrorPropertyValidationFailure", "Start and end change together.")
		return &a
	}
	if w.Start != nil {
		days := w.IsAllDay != nil && *w.IsAllDay || w.IsAllDay == nil && e.days
		if a := e.times(*w.Start, *w.End, days); a != nil {
			return a
		}
	}
	if w.Subject != nil {
		e.subject = *w.Subject
	}
	if w.ShowAs != nil {
		e.showAs = *w.ShowAs
	}
	if w.Location != nil {
		e.location = w.Location.DisplayName
	}
	if w.Body != nil {
		e.body = *w.Body
		// Without the blob, the meeting is no longer online (learn.microsoft.com/graph/api/event-update).
		if e.online && !strings.Contains(e.body.Content, escape(e.join)) {
			e.online, e.join = false, ""
		}
	}
	if w.Attendees == nil {
		return nil
	}
	list := make([]attendee, 0, len(*w.Attendees))
	for _, a := range *w.Attendees {
		if !strings.Contains(a.EmailAddress.Address, "@") {
			a := invalid("ErrorInvalidRecipients", "At least one recipient isn't valid.")
			return &a
		}
		a.response = "none"
		for _, was := range e.attendees {
			if strings.EqualFold(was.EmailAddress.Address, a.EmailAddress.Address) {
				a.response = was.response
			}
		}
		if a.EmailAddress.Name == "" {
			a.EmailAddress.Name = a.EmailAddress.Address
		}
		list = append(list, a)
	}
	e.attendees = list
	return nil
}

func (e *event) times(from, to dateTimeTimeZone, days bool) *answer {
	start, a := from.instant(days)
	if a != nil {
		return a
	}
	end, a := to.instant(days)
	if a != nil {
		return a
	}
	switch {
	case end.Before(start), days && !end.After(start):
		a := invalid("ErrorPropertyValidationFailure", "The event ends before it starts.")
		return &a
	case days && (start != start.Truncate(24*time.Hour) || end != end.Truncate(24*time.Hour)):
		a := invalid("ErrorPropertyValidationFailure",
			"The Event.Start property for an all-day event needs to be set to midnight.")
		return &a
	}
	e.start, e.end, e.zone, e.endZone, e.days = start, end, from.TimeZone, to.TimeZone, days
	return nil
}

func (e *event) notice(to, kind string) { e.notices = append(e.notices, Notice{to, kind}) }

// one handles requests for an event and its actions.
func (s *Server) one(c *call, id string, action []string) answer {
	e, a := s.find(id)
	if a != nil {
		return *a
	}
	switch {
	case len(action) == 1 && c.Method == http.MethodPost && action[0] == "cancel":
		return s.cancel(c, e)
	case len(action) == 1 && c.Method == http.MethodPost && action[0] == "decline":
		return s.decline(c, e)
	case len(action) > 0:
		return invalid("BadRequest", "Resource not found for the segment '"+action[0]+"'.")
	case c.Method == http.MethodGet:
		if e.lateReads > 0 {
			e.lateReads--
		}
		return answer{status: http.StatusOK, body: pick(c, s.show(c, e))}
	case e.box.readOnly:
		return denied()
	case c.Method == http.MethodPatch:
		return s.update(c, e)
	case c.Method == http.MethodDelete:
		s.remove(e)
		return answer{status: http.StatusNoContent}
	}
	return refuse(http.StatusMethodNotAllowed, "ErrorInvalidRequest", "The method is not supported.")
}

// find returns the event with an id: the immutable one, or the other one, which changed with the last move.
func (s *Server) find(id string) (*event, *answer) {
	if e := s.events[id]; e != nil && !e.removed {
		return e, nil
	}
	for _, e := range s.events {
		if e.mutableID() == id && !e.removed {
			return e, nil
		}
		if e.rule == nil || e.removed {
			continue
		}
		if date, ok := strings.CutPrefix(id, e.id+".OCC"); ok {
			if o := s.occurrence(e, date); o != nil {
				return o, nil
			}
		}
	}
	a := notFound()
	if !strings.HasPrefix(id, "AAMk") {
		a = invalid("ErrorInvalidIdMalformed", "Id is malformed.")
	}
	return nil, &a
}

func (e *event) mutableID() string { return fmt.Sprintf("%s~%d", e.id, e.moves) }

// update changes an event (learn.microsoft.com/graph/api/event-update).
func (s *Server) update(c *call, e *event) answer {
	if tag := c.Header.Get("If-Match"); tag != "" && tag != e.tag() {
		return refuse(http.StatusPreconditionFailed, "ErrorIrresolvableConflict",
			"The send or update operation could not be performed because the change key passed in the request does "+
				"not match the current change key for the item.")
	}
	var w write
	if a := decode(c, &w); a != nil {
		return *a
	}
	if w.TransactionID != nil || w.IsOnline != nil && !*w.IsOnline && e.online {
		return invalid("ErrorInvalidRequest", "The property cannot be changed.")
	}
	was := *e
	changed := *e
	if a := changed.apply(w); a != nil {
		return *a
	}
	if e.master != nil && w.Start != nil && s.crosses(&changed) {
		return invalid("ErrorOccurrenceCrossingBoundary",
			"Modified occurrence is crossing or overlapping adjacent occurrence.")
	}
	*e = changed
	e.key, e.modified = s.newKey(), s.options.Now()
	if e.master != nil {
		e.master.changed[e.date] = e
		s.events[e.id] = e
	}
	e.tellOfUpdate(was, w)
	return answer{status: http.StatusOK, body: s.show(c, e)}
}

// tellOfUpdate notifies attendees. If only attendees changed, those added or removed are notified, else
// everybody.
func (e *event) tellOfUpdate(was event, w write) {
	has := func(list []attendee, one attendee) bool {
		return slices.ContainsFunc(list,
			func(a attendee) bool { return strings.EqualFold(a.EmailAddress.Address, one.EmailAddress.Address) })
	}
	more := w.Subject != nil || w.Body != nil || w.Start != nil || w.Location != nil
	for _, a := range e.attendees {
		switch {
		case !has(was.attendees, a):
			e.notice(a.EmailAddress.Address, "invitation")
		case more:
			e.notice(a.EmailAddress.Address, "update")
		}
	}
	for _, a := range was.attendees {
		if !has(e.attendees, a) {
			e.notice(a.EmailAddress.Address, "cancellation")
		}
	}
}

// remove deletes an event. If the account is the organizer, it is cancelled for everybody.
func (s *Server) remove(e *event) {
	if e.organizer == "" {
		for _, a := range e.attendees {
			e.notice(a.EmailAddress.Address, "cancellation")
		}
	}
	if e.master != nil {
		e.master.cancelled[e.date] = true
		e.master.key = s.newKey()
		s.events[e.id] = e
	}
	e.removed = true
}

// cancel handles the organizer's action (learn.microsoft.com/graph/api/event-cancel).
func (s *Server) cancel(c *call, e *event) answer {
	var w struct {
		Comment string `json:"comment"`
	}
	if a := decode(c, &w); a != nil {
		return *a
	}
	if e.organizer != "" {
		return invalid("ErrorInvalidRequest",
			"Your request can't be completed. You need to be an organizer to cancel a meeting.")
	}
	s.remove(e)
	return answer{status: http.StatusAccepted}
}

// decline handles an attendee's action (learn.microsoft.com/graph/api/event-decline).
func (s *Server) decline(c *call, e *event) answer {
	var w struct {
		Comment      string `json:"comment"`
		SendResponse *bool  `json:"sendResponse"`
	}
	if a := decode(c, &w); a != nil {
		return *a
	}
	if e.organizer == "" {
		return invalid("ErrorInvalidRequest",
			"Your request can't be completed. You can't respond to this meeting because you're the meeting organizer.")
	}
	e.notice(e.organizer, "declined: "+w.Comment)
	s.remove(e)
	return answer{status: http.StatusAccepted}
}

func (e *event) tag() string { return `W/"` + e.key + `"` }

// show returns an event as Graph returns it, in the form that the request prefers.
// responseTo returns the account's own response to an event.
func (s *Server) responseTo(e *event) string {
	if e.organizer == "" {
		return "organizer"
	}
	for _, a := range e.attendees {
		if strings.EqualFold(a.EmailAddress.Address, s.options.Account) && a.response != "none" {
			return a.response
		}
	}
	return "notResponded"
}

func (s *Server) show(c *call, e *event) map[string]any {
	id := e.id
	if c.prefer["idtype"] != "ImmutableId" && e.master == nil {
		id = e.mutableID()
	}
	owner := s.options.Account
	if e.organizer != "" {
		owner = e.organizer
	}
	attendees := []map[string]any{}
	for _, a := range e.attendees {
		response := a.response
		if e.organizer != "" { // only the organizer's copy has them (microsoft-graph-docs-contrib#7956)
			response = "none"
		}
		attendees = append(attendees, map[string]any{
			"type": a.Type, "emailAddress": a.EmailAddress,
			"status": map[string]any{"response": response, "time": "0001-01-01T00:00:00Z"},
		})
	}
	kind, series := "singleInstance", any(nil)
	switch {
	case e.rule != nil:
		kind = "seriesMaster"
	case e.master != nil:
		kind, series = "occurrence", e.master.id
		if e.master.changed[e.date] != nil {
			kind = "exception"
		}
	}
	modified := e.created
	if e.modified.After(modified) {
		modified = e.modified
	}
	var meeting any
	if e.join != "" && e.lateReads == 0 {
		meeting = map[string]any{"joinUrl": e.join}
	}
	object := map[string]any{
		"@odata.etag": e.tag(), "id": id, "changeKey": e.key,
		"createdDateTime":      e.created.UTC().Format("2006-01-02T15:04:05.0000000Z"),
		"lastModifiedDateTime": modified.UTC().Format("2006-01-02T15:04:05.0000000Z"), "subject": e.subject,
		"body": e.body.as(c.prefer["outlook.body-content-type"]), "bodyPreview": "", "start": e.shown(c, e.start),
		"end": e.shown(c, e.end), "originalStartTimeZone": e.zone, "originalEndTimeZone": e.endZone,
		"isAllDay": e.days, "isCancelled": e.withdrawn, "isOrganizer": e.organizer == "", "responseRequested": true,
		"responseStatus": map[string]any{"response": s.responseTo(e), "time": "0001-01-01T00:00:00Z"},
		"showAs":         e.showAs, "type": kind, "seriesMasterId": series, "attendees": attendees,
		"organizer":       map[string]any{"emailAddress": map[string]any{"name": owner, "address": owner}},
		"location":        map[string]any{"displayName": e.location, "locationType": "default"},
		"isOnlineMeeting": e.online, "onlineMeeting": meeting, "onlineMeetingUrl": nil,
		"webLink": "https://outlook.office365.com/owa/?itemid=" + url.QueryEscape(e.id) +
			"&exvsurl=1&path=/calendar/item",
	}
	if e.transaction != "" {
		object["transactionId"] = e.transaction
	}
	return maps.Clone(object)
}
