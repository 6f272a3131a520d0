package caldav

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/adapters/calendar/caldav/recur"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// edit is one change of an object, stamped with one time. It leaves the rest of the object unchanged.
type edit struct {
	object    *object
	organizer string // for events that get their first attendee
	now       time.Time
}

// apply changes the object's event, or one instance if ofSeries is set.
func (e edit) apply(i instance, ofSeries bool, c calendar.Change) error {
	event := i.event
	if ofSeries {
		own, err := e.overrideFor(i)
		if err != nil {
			return err
		}
		event = own
	}
	if c.Title != nil {
		setText(event, "SUMMARY", *c.Title)
	}
	if c.Description != nil {
		setText(event, "DESCRIPTION", *c.Description)
		// Other forms of the same text: Outlook's, and the one that programs prefer (RFC 9073 section 6.5).
		event.Remove("X-ALT-DESC", "STYLED-DESCRIPTION")
	}
	if c.Start != nil && c.End != nil {
		if err := e.move(event, *c.Start, *c.End, c.Zone); err != nil {
			return err
		}
	}
	if c.Attendees != nil {
		setAttendees(event, *c.Attendees, e.organizer)
	}
	e.stamp(event)
	return nil
}

func setText(event *ical.Component, name, text string) {
	if text == "" {
		event.Remove(name)
		return
	}
	event.SetText(name, text)
}

// move sets the event's start, end and zone.
func (e edit) move(event *ical.Component, from, to time.Time, zoneName string) error {
	location := loadZone(zoneName)
	if location == nil {
		location = time.UTC
	}
	begin, end := momentIn(from, location), momentIn(to, location)
	if begin.Equal(startOf(event)) && end.Equal(e.object.end(event, begin)) {
		return nil
	}
	if event == e.object.master && e.object.recurs() {
		if err := e.shiftSeries(begin, to.Sub(from)); err != nil {
			return err
		}
	}
	setTimes(event, begin, end, location)
	withZone(e.object.root, location, from, to)
	askAgain(event)
	return nil
}

// shiftSeries moves everything that is relative to the start of a series: exceptions, single dates, overrides
// and UNTIL. It refuses a rule that itself names days or times which the new start would not match, because the change
// does not say which new ones are meant.
func (e edit) shiftSeries(begin ical.Moment, length time.Duration) error {
	master := e.object.master
	old := startOf(master)
	s := shift{
		of: e.object, old: old, begin: begin,
		by: begin.Wall.Sub(old.Wall), byDays: midnight(begin.Wall).Sub(midnight(old.Wall)),
	}
	refused := fault.New(fault.Unsupported, fault.ReasonNotSupported,
		"The event repeats by a rule that does not fit the new time. Change its instances one by one, or book a "+
			"new event.")
	if (old.Form == ical.Date) != (begin.Form == ical.Date) || begin.Form == ical.UTC && old.Form != ical.UTC {
		return refused
	}
	isSubDaily := false
	for i, property := range master.Properties {
		switch {
		case property.Is("RRULE"), property.Is("EXRULE"):
			rule, err := recur.Parse(property.Value)
			if err != nil {
				return refused
			}
			if onDay, onClock := rule.Dependent(); onClock || onDay && s.byDays != 0 {
				return refused
			}
			isSubDaily = isSubDaily || rule.Freq < recur.Daily
			if rule.Until != nil {
				master.Properties[i].Value = replaceUntil(property.Value, s.until(*rule.Until))
			}
		case property.Is("EXDATE"), property.Is("RDATE"):
			moments, err := property.Moments()
			if err != nil || strings.Contains(property.Value, "/") {
				return refused
			}
			if len(moments) == 0 {
				continue
			}
			for j := range moments {
				moments[j] = s.moment(moments[j])
			}
			master.Properties[i] = moments[0].Property(property.Name, moments[1:]...)
		}
	}
	for _, ov := range e.object.overrides {
		if s.override(ov, length) {
			askAgain(ov.event)
			e.stamp(ov.event)
		}
	}
	// A date stands for all instances of its day. They stay on one day only if there is one, or if they move by days.
	if s.movedDate && isSubDaily && s.by != s.byDays {
		return refused
	}
	return nil
}

// shift is how a series moves. Its instances keep their distance on the clock, not in time, where clocks are set in
// between.
type shift struct {
	of         *object
	old, begin ical.Moment
	by, byDays time.Duration
	movedDate  bool // a date was moved by it
}

func (s *shift) moment(m ical.Moment) ical.Moment {
	if m.Form == ical.Date {
		s.movedDate = true
		m.Wall = m.Wall.Add(s.byDays)
		return m
	}
	return ical.Moment{Wall: s.of.wallLike(m, s.old).Add(s.by), Form: s.begin.Form, TZID: s.begin.TZID}
}

// until moves the end of a rule, which has no TZID.
func (s *shift) until(m ical.Moment) ical.Moment {
	m = s.moment(m)
	if m.Form == ical.Zoned {
		return ical.Moment{Wall: s.of.instant(m, time.UTC).UTC(), Form: ical.UTC}
	}
	return m
}

// override moves an override, and reports whether its own time has changed. One that differs from the series in other
// ways alone stays at its time and gets its new length; one that has a time or a length of its own keeps it.
func (s *shift) override(ov override, length time.Duration) (moved bool) {
	o := s.of
	at := startOf(ov.event)
	if moved = o.key(at) == o.key(ov.of); moved {
		start := s.moment(at)
		if o.key(o.end(ov.event, at)) == o.key(o.end(o.master, at)) {
			ov.event.Remove("DURATION")
			ov.event.Set(o.momentLike(o.instant(start, time.UTC).Add(length), start).Property("DTEND"))
		} else if property, ok := ov.event.Get("DTEND"); ok {
			if end, err := property.Moment(); err == nil {
				ov.event.Set(s.moment(end).Property("DTEND"))
			}
		}
		ov.event.Set(start.Property("DTSTART"))
	}
	id := s.moment(ov.of).Property("RECURRENCE-ID")
	if ov.following {
		id = id.With("RANGE", "THISANDFUTURE")
	}
	ov.event.Set(id)
	return moved
}

func replaceUntil(rule string, until ical.Moment) string {
	parts := strings.Split(rule, ";")
	for i, part := range parts {
		if strings.HasPrefix(strings.ToUpper(strings.TrimSpace(part)), "UNTIL=") {
			parts[i] = "UNTIL=" + until.String()
		}
	}
	return strings.Join(parts, ";")
}

// overrideFor returns the instance's own component. If there is none, it adds a copy of the series' one.
func (e edit) overrideFor(i instance) (*ical.Component, error) {
	o := e.object
	for _, ov := range o.overrides {
		if ov.event != i.event || o.key(ov.of) != o.key(i.of) {
			continue
		}
		if ov.following {
			return nil, fault.New(fault.Unsupported, fault.ReasonNotSupported,
				"All later instances of the series follow this one, so it cannot be changed on its own.")
		}
		return ov.event, nil
	}
	own := i.event.Clone()
	own.Remove("RRULE", "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID", "DURATION")
	own.Set(i.start.Property("DTSTART"))
	if i.end.Equal(i.start) {
		own.Remove("DTEND") // the series' own lies before this start
	} else {
		own.Set(i.end.Property("DTEND"))
	}
	own.Add(i.of.Property("RECURRENCE-ID"))
	o.root.Children = append(o.root.Children, own)
	return own, nil
}

// cancel removes the object's events, or one instance if ofSeries is set. It reports whether no event is left, so that
// the caller must remove the resource: servers with sabre/dav answer 500 to a series without instances
// (sabre-io/Baikal#817). own means that the account organizes the event. An invited account may add an EXDATE, which
// declines the instance, but must not raise the SEQUENCE (RFC 6638 section 3.2.2.1).
func (e edit) cancel(i instance, ofSeries, own bool) (empty bool) {
	o := e.object
	if !ofSeries {
		return e.removeAll()
	}
	key := o.key(i.of)
	o.root.Children = slices.DeleteFunc(o.root.Children, func(c *ical.Component) bool {
		return slices.ContainsFunc(o.overrides, func(ov override) bool {
			return ov.event == c && !ov.following && o.key(ov.of) == key
		})
	})
	if o.master == nil {
		return len(o.root.ChildrenNamed("VEVENT")) == 0
	}
	o.master.Add(e.asMaster(i.of).Property("EXDATE"))
	if o.isEmpty() {
		return e.removeAll()
	}
	if own {
		raiseSequence(o.master)
	}
	e.stamp(o.master)
	return false
}

// removeAll removes the object's events. It reports whether its resource has no others.
func (e edit) removeAll() (empty bool) {
	own := e.object.events()
	e.object.root.Children = slices.DeleteFunc(e.object.root.Children, func(c *ical.Component) bool {
		return slices.Contains(own, c)
	})
	return len(e.object.root.ChildrenNamed("VEVENT")) == 0
}

// asMaster returns an original start in the form of the series' start (RFC 5545 section 3.8.5.1).
func (e edit) asMaster(of ical.Moment) ical.Moment {
	first := startOf(e.object.master)
	if of.Form == first.Form && of.TZID == first.TZID || e.object.isLocal(of) || e.object.isLocal(first) {
		return of
	}
	return e.object.momentLike(e.object.instant(of, time.UTC), first)
}

func (e edit) stamp(event *ical.Component) {
	now := ical.Moment{Wall: e.now.UTC(), Form: ical.UTC}
	event.Set(now.Property("DTSTAMP"))
	event.Set(now.Property("LAST-MODIFIED"))
}

// askAgain marks another time, to which the attendees have to respond again, and takes their responses back, since
// not every server does what RFC 6638 section 3.2.8 says (sabre-io/dav#1282, cyrusimap/cyrus-imapd#3906). sabre/dav
// removes the RSVP of who has responded.
func askAgain(event *ical.Component) {
	raiseSequence(event)
	organizer, ok := event.Get("ORGANIZER")
	if !ok {
		return
	}
	attendees := event.All("ATTENDEE")
	for i, p := range attendees {
		email := addressOf(p)
		if p.Value == organizer.Value || email != "" && strings.EqualFold(email, addressOf(organizer)) {
			continue
		}
		p.Params = slices.DeleteFunc(slices.Clone(p.Params), func(param ical.Param) bool {
			return strings.EqualFold(param.Name, "PARTSTAT") || strings.EqualFold(param.Name, "RSVP")
		})
		attendees[i] = p.With("PARTSTAT", "NEEDS-ACTION").With("RSVP", "TRUE")
	}
	event.Set(attendees...)
}

// raiseSequence marks a revision that replaces those which the attendees have (RFC 5546 section 2.1.4).
func raiseSequence(event *ical.Component) {
	n, _ := strconv.Atoi(strings.TrimSpace(event.Text("SEQUENCE")))
	event.Set(ical.Raw("SEQUENCE", strconv.Itoa(max(n, 0)+1)))
}
