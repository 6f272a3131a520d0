package graph

import (
	"net/http"

	"frontdesk/core/jsonread"
)

// Reflection takes most of the processor time of a listing. So models that lists consist of are read here without it.
// What is unusual in any way is left to encoding/json: see [jsonread].

// direct is a model that can be read without reflection.
type direct interface{ read(d *decoder) }

var (
	_ direct = (*Event)(nil)
	_ direct = (*EventCollectionResponse)(nil)
	_ direct = (*BatchResponse)(nil)
)

// parseUsual decodes an object as encoding/json would, or returns false. It skips a known name in another letter case,
// which encoding/json would read.
func parseUsual[T any](body []byte) (*T, bool) {
	object := new(T)
	model, can := any(object).(direct)
	if !can {
		return nil, false
	}
	d := &decoder{Reader: jsonread.New(body), yes: new(true), no: new(false)}
	model.read(d)
	return object, d.End()
}

// decoder reads the parts of a response. It keeps the values that are mostly the same in all events.
type decoder struct {
	*jsonread.Reader
	yes, no *bool

	zone, shownZone, content, showAs, response, kind, owner, ownerName *string

	// Blocks for jsonread.Take.
	texts     []string
	events    []Event
	attendees []Attendee
	addresses []EmailAddress
	times     []DateTimeTimeZone
}

func (d *decoder) text() *string {
	if d.Null() {
		return nil
	}
	to := jsonread.Take(&d.texts)
	*to = d.String("")
	return to
}

// recent reads a text that is mostly that of the event before.
func (d *decoder) recent(kept **string) *string {
	if d.Null() {
		return nil
	}
	before := ""
	if *kept != nil {
		before = **kept
	}
	if now := d.String(before); *kept == nil || now != before {
		*kept = &now
	}
	return *kept
}

func (d *decoder) truth() *bool {
	switch {
	case d.Null():
		return nil
	case d.Bool():
		return d.yes
	}
	return d.no
}

// list reads a list of objects.
func list[T any](d *decoder, one func() *T) []*T {
	if d.Null() {
		return nil
	}
	all := []*T{}
	for more := d.Item(); more; more = d.NextItem() {
		all = append(all, one())
	}
	return all
}

func (r *EventCollectionResponse) read(d *decoder) {
	var s jsonread.Seen
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "value":
			d.Once(&s, 0)
			r.Value = list(d, d.event)
		case "@odata.nextLink":
			d.Once(&s, 1)
			r.NextLink = d.text()
		default:
			d.Skip()
		}
	}
}

func (d *decoder) event() *Event {
	e := jsonread.Take(&d.events)
	e.read(d)
	return e
}

func (e *Event) read(d *decoder) {
	var s jsonread.Seen
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "@odata.etag":
			d.Once(&s, 0)
			e.ETag = d.text()
		case "id":
			d.Once(&s, 1)
			e.ID = d.text()
		case "changeKey":
			d.Once(&s, 2)
			e.ChangeKey = d.text()
		case "createdDateTime":
			d.Once(&s, 3)
			e.CreatedDateTime = d.text()
		case "transactionId":
			d.Once(&s, 4)
			e.TransactionID = d.text()
		case "seriesMasterId":
			d.Once(&s, 5)
			e.SeriesMasterID = d.text()
		case "subject":
			d.Once(&s, 6)
			e.Subject = d.text()
		case "body":
			d.Once(&s, 7)
			e.Body = d.body()
		case "start":
			d.Once(&s, 8)
			e.Start = d.time()
		case "end":
			d.Once(&s, 9)
			e.End = d.time()
		case "originalStartTimeZone":
			d.Once(&s, 10)
			e.OriginalStartTimeZone = d.recent(&d.shownZone)
		case "originalEndTimeZone":
			d.Once(&s, 11)
			e.OriginalEndTimeZone = d.recent(&d.shownZone)
		case "isAllDay":
			d.Once(&s, 12)
			e.IsAllDay = d.truth()
		case "isCancelled":
			d.Once(&s, 13)
			e.IsCancelled = d.truth()
		case "isOrganizer":
			d.Once(&s, 14)
			e.IsOrganizer = d.truth()
		case "responseRequested":
			d.Once(&s, 15)
			e.ResponseRequested = d.truth()
		case "responseStatus":
			d.Once(&s, 16)
			e.ResponseStatus = d.responseStatus()
		case "showAs":
			d.Once(&s, 17)
			e.ShowAs = d.recent(&d.showAs)
		case "organizer":
			d.Once(&s, 18)
			e.Organizer = d.organizer()
		case "attendees":
			d.Once(&s, 19)
			e.Attendees = list(d, d.attendee)
		case "location":
			d.Once(&s, 20)
			e.Location = d.location()
		case "isOnlineMeeting":
			d.Once(&s, 21)
			e.IsOnlineMeeting = d.truth()
		case "onlineMeetingProvider":
			d.Once(&s, 22)
			e.OnlineMeetingProvider = d.text()
		case "onlineMeeting":
			d.Once(&s, 23)
			e.OnlineMeeting = d.onlineMeeting()
		case "webLink":
			d.Once(&s, 24)
			e.WebLink = d.text()
		case "lastModifiedDateTime":
			d.Once(&s, 25)
			e.LastModifiedDateTime = d.text()
		case "type":
			d.Once(&s, 26)
			e.Type = d.text()
		default:
			d.Skip()
		}
	}
}

func (d *decoder) body() *ItemBody {
	if d.Null() {
		return nil
	}
	b, s := &ItemBody{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "contentType":
			d.Once(&s, 0)
			b.ContentType = d.recent(&d.content)
		case "content":
			d.Once(&s, 1)
			b.Content = d.text()
		default:
			d.Skip()
		}
	}
	return b
}

func (d *decoder) time() *DateTimeTimeZone {
	if d.Null() {
		return nil
	}
	t, s := jsonread.Take(&d.times), jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "dateTime":
			d.Once(&s, 0)
			t.DateTime = d.text()
		case "timeZone":
			d.Once(&s, 1)
			t.TimeZone = d.recent(&d.zone)
		default:
			d.Skip()
		}
	}
	return t
}

func (d *decoder) responseStatus() *ResponseStatus {
	if d.Null() {
		return nil
	}
	r, s := &ResponseStatus{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		if string(name) != "response" {
			d.Skip()
			continue
		}
		d.Once(&s, 0)
		r.Response = d.recent(&d.response)
	}
	return r
}

func (d *decoder) organizer() *Recipient {
	if d.Null() {
		return nil
	}
	r, s := &Recipient{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		if string(name) != "emailAddress" {
			d.Skip()
			continue
		}
		d.Once(&s, 0)
		r.EmailAddress = d.address(func() *string { return d.recent(&d.owner) },
			func() *string { return d.recent(&d.ownerName) })
	}
	return r
}

func (d *decoder) address(address, person func() *string) *EmailAddress {
	if d.Null() {
		return nil
	}
	a, s := jsonread.Take(&d.addresses), jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "address":
			d.Once(&s, 0)
			a.Address = address()
		case "name":
			d.Once(&s, 1)
			a.Name = person()
		default:
			d.Skip()
		}
	}
	return a
}

func (d *decoder) attendee() *Attendee {
	a, s := jsonread.Take(&d.attendees), jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "emailAddress":
			d.Once(&s, 0)
			a.EmailAddress = d.address(d.text, d.text)
		case "type":
			d.Once(&s, 1)
			a.Type = d.recent(&d.kind)
		case "status":
			d.Once(&s, 2)
			a.Status = d.responseStatus()
		default:
			d.Skip()
		}
	}
	return a
}

func (d *decoder) location() *Location {
	if d.Null() {
		return nil
	}
	l, s := &Location{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "displayName":
			d.Once(&s, 0)
			l.DisplayName = d.text()
		case "locationUri":
			d.Once(&s, 1)
			l.LocationURI = d.text()
		default:
			d.Skip()
		}
	}
	return l
}

func (d *decoder) onlineMeeting() *OnlineMeetingInfo {
	if d.Null() {
		return nil
	}
	o, s := &OnlineMeetingInfo{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		if string(name) != "joinUrl" {
			d.Skip()
			continue
		}
		d.Once(&s, 0)
		o.JoinURL = d.text()
	}
	return o
}

func (r *BatchResponse) read(d *decoder) {
	var s jsonread.Seen
	for name, more := d.Member(); more; name, more = d.Next() {
		if string(name) != "responses" {
			d.Skip()
			continue
		}
		d.Once(&s, 0)
		r.Responses = list(d, d.batchAnswer)
	}
}

// batchAnswer reads the answer of a part that succeeded.
func (d *decoder) batchAnswer() *BatchAnswer {
	a, s := &BatchAnswer{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "id":
			d.Once(&s, 0)
			a.ID = d.text()
		case "status":
			d.Once(&s, 1)
			status := int32(d.Int())
			a.Status = &status
			if status != http.StatusOK {
				d.GiveUp()
			}
		case "headers":
			d.Once(&s, 2)
			a.Header = d.headers()
		case "body":
			d.Once(&s, 3)
			a.Page = &EventCollectionResponse{}
			a.Page.read(d)
		default:
			d.Skip()
		}
	}
	return a
}

func (d *decoder) headers() http.Header {
	h := http.Header{}
	for name, more := d.Member(); more; name, more = d.Next() {
		key := http.CanonicalHeaderKey(string(name))
		if _, twice := h[key]; twice {
			d.GiveUp()
		}
		if !d.Null() {
			h[key] = []string{d.String("")}
		}
	}
	return h
}
