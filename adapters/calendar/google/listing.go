package google

import (
	gcal "google.golang.org/api/calendar/v3"

	"frontdesk/core/jsonread"
)

// decodeEvents decodes a page of events that has no other fields than those asked for: [pageFields]. It
// returns what the library would return, or false.
func decodeEvents(body []byte) (*gcal.Events, bool) {
	d := &decoder{Reader: jsonread.New(body)}
	page := d.page()
	return page, d.End() && page != nil
}

// decodeEvent is decodeEvents for one event: [eventFields].
func decodeEvent(body []byte) (*gcal.Event, bool) {
	d := &decoder{
		Reader: jsonread.New(body), events: make([]gcal.Event, 1), times: make([]gcal.EventDateTime, 2),
		attendees: make([]gcal.EventAttendee, 2),
	}
	event := d.event()
	return event, d.End()
}

// decoder decodes the parts of a page. It keeps the values that are mostly the same in all events of a page.
type decoder struct {
	*jsonread.Reader
	zone, status, link, response, video, conference string
	organizer                                       gcal.EventOrganizer

	// Blocks for jsonread.Take.
	events    []gcal.Event
	attendees []gcal.EventAttendee
	times     []gcal.EventDateTime
}

func (d *decoder) page() *gcal.Events {
	page, seen := &gcal.Events{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "kind":
			d.Once(&seen, 0)
			page.Kind = d.String("calendar#events")
		case "nextPageToken":
			d.Once(&seen, 1)
			page.NextPageToken = d.String("")
		case "items":
			d.Once(&seen, 2)
			page.Items = []*gcal.Event{}
			for more := d.Item(); more; more = d.NextItem() {
				page.Items = append(page.Items, d.event())
			}
		default:
			d.GiveUp()
		}
	}
	return page
}

func (d *decoder) event() *gcal.Event {
	e, seen := jsonread.Take(&d.events), jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "id":
			d.Once(&seen, 0)
			e.Id = d.String("")
		case "etag":
			d.Once(&seen, 1)
			e.Etag = d.String("")
		case "status":
			d.Once(&seen, 2)
			e.Status = d.recent(&d.status)
		case "summary":
			d.Once(&seen, 3)
			e.Summary = d.String("")
		case "description":
			d.Once(&seen, 4)
			e.Description = d.String("")
		case "location":
			d.Once(&seen, 5)
			e.Location = d.String("")
		case "start":
			d.Once(&seen, 6)
			e.Start = d.time()
		case "end":
			d.Once(&seen, 7)
			e.End = d.time()
		case "recurringEventId":
			d.Once(&seen, 8)
			e.RecurringEventId = d.String("")
		case "originalStartTime":
			d.Once(&seen, 9)
			e.OriginalStartTime = d.time()
		case "transparency":
			d.Once(&seen, 10)
			e.Transparency = d.String("transparent")
		case "organizer":
			d.Once(&seen, 11)
			e.Organizer = d.organizedBy()
		case "attendees":
			d.Once(&seen, 12)
			e.Attendees = []*gcal.EventAttendee{}
			for more := d.Item(); more; more = d.NextItem() {
				e.Attendees = append(e.Attendees, d.attendee())
			}
		case "hangoutLink":
			d.Once(&seen, 13)
			e.HangoutLink = d.recent(&d.link)
		case "htmlLink":
			d.Once(&seen, 14)
			e.HtmlLink = d.String("")
		case "extendedProperties":
			d.Once(&seen, 15)
			e.ExtendedProperties = d.properties()
		case "conferenceData":
			d.Once(&seen, 16)
			e.ConferenceData = d.conferenceData()
		default:
			d.GiveUp()
		}
	}
	return e
}

// recent reads a text that is mostly that of the event before.
func (d *decoder) recent(kept *string) string {
	*kept = d.String(*kept)
	return *kept
}

func (d *decoder) time() *gcal.EventDateTime {
	t, seen := jsonread.Take(&d.times), jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "date":
			d.Once(&seen, 0)
			t.Date = d.String("")
		case "dateTime":
			d.Once(&seen, 1)
			t.DateTime = d.String("")
		case "timeZone":
			d.Once(&seen, 2)
			t.TimeZone = d.recent(&d.zone)
		default:
			d.GiveUp()
		}
	}
	return t
}

func (d *decoder) organizedBy() *gcal.EventOrganizer {
	o, seen := &gcal.EventOrganizer{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "email":
			d.Once(&seen, 0)
			o.Email = d.recent(&d.organizer.Email)
		case "displayName":
			d.Once(&seen, 1)
			o.DisplayName = d.recent(&d.organizer.DisplayName)
		case "self":
			d.Once(&seen, 2)
			o.Self = d.Bool()
		default:
			d.GiveUp()
		}
	}
	return o
}

func (d *decoder) attendee() *gcal.EventAttendee {
	a, seen := jsonread.Take(&d.attendees), jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "email":
			d.Once(&seen, 0)
			a.Email = d.String("")
		case "displayName":
			d.Once(&seen, 1)
			a.DisplayName = d.String("")
		case "optional":
			d.Once(&seen, 2)
			a.Optional = d.Bool()
		case "resource":
			d.Once(&seen, 3)
			a.Resource = d.Bool()
		case "responseStatus":
			d.Once(&seen, 4)
			a.ResponseStatus = d.recent(&d.response)
		case "self":
			d.Once(&seen, 5)
			a.Self = d.Bool()
		default:
			d.GiveUp()
		}
	}
	return a
}

func (d *decoder) properties() *gcal.EventExtendedProperties {
	p, seen := &gcal.EventExtendedProperties{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		if string(name) != "private" {
			d.GiveUp()
			break
		}
		d.Once(&seen, 0)
		p.Private = map[string]string{}
		for key, more := d.Member(); more; key, more = d.Next() {
			property := property(key)
			p.Private[property] = d.String("")
		}
	}
	return p
}

// property returns the name of a property, which is mostly one of ours.
func property(name []byte) string {
	switch string(name) {
	case keyProperty:
		return keyProperty
	case linkProperty:
		return linkProperty
	}
	return string(name)
}

func (d *decoder) conferenceData() *gcal.ConferenceData {
	c, seen := &gcal.ConferenceData{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "entryPoints":
			d.Once(&seen, 0)
			c.EntryPoints = []*gcal.EntryPoint{}
			for more := d.Item(); more; more = d.NextItem() {
				c.EntryPoints = append(c.EntryPoints, d.entryPoint())
			}
		case "createRequest":
			d.Once(&seen, 1)
			c.CreateRequest = d.createRequest()
		default:
			d.GiveUp()
		}
	}
	return c
}

func (d *decoder) entryPoint() *gcal.EntryPoint {
	p, seen := &gcal.EntryPoint{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		switch string(name) {
		case "entryPointType":
			d.Once(&seen, 0)
			p.EntryPointType = d.recent(&d.video)
		case "uri":
			d.Once(&seen, 1)
			p.Uri = d.recent(&d.link)
		default:
			d.GiveUp()
		}
	}
	return p
}

func (d *decoder) createRequest() *gcal.CreateConferenceRequest {
	c, seen := &gcal.CreateConferenceRequest{}, jsonread.Seen(0)
	for name, more := d.Member(); more; name, more = d.Next() {
		if string(name) != "status" {
			d.GiveUp()
			break
		}
		d.Once(&seen, 0)
		c.Status = &gcal.ConferenceRequestStatus{}
		within := jsonread.Seen(0)
		for name, more := d.Member(); more; name, more = d.Next() {
			if string(name) != "statusCode" {
				d.GiveUp()
				break
			}
			d.Once(&within, 0)
			c.Status.StatusCode = d.recent(&d.conference)
		}
	}
	return c
}
