package api

import (
	"fmt"
	"net/http"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/service"
	"frontdesk/core/slots"
	"frontdesk/core/spelling"
)

// The most entries of the lists of find-slots, and the largest numbers.
const (
	maxOpenHours = 14
	maxDates     = 31
	maxExdates   = 100
	maxSlots     = 50
)

// findSlotsRequest is the body of find-slots.
type findSlotsRequest struct {
	Start                    string         `json:"start,omitempty" bytes:"64" doc:"Start of the window: RFC 3339, a local time, or a bare date, which means the start of that day. The default is now." example:"2026-12-01"`
	End                      string         `json:"end,omitempty" bytes:"64" doc:"End of the window, exclusive, at most 60 days after its start. Meetings end by then. The default is 14 days after the start." example:"2026-12-08"`
	TimeZone                 string         `json:"time_zone,omitempty" bytes:"64" doc:"IANA time zone name, of the person who is asked: the zone of local times in start and end, of the answer, and of say. The default is the calendar's own." example:"America/New_York"`
	DurationMinutes          *int64         `json:"duration_minutes,omitempty" doc:"Length of the meeting, from 1 to 1,440. The default is that of the meeting to be moved, or else the connection's or the tenant's setting, or else 30." example:"30"`
	SlotIntervalMinutes      *int64         `json:"slot_interval_minutes,omitempty" doc:"Minutes from one possible start to the next, from the time at which the office opens. The default is the connection's or the tenant's setting, or else the duration." example:"15"`
	CalendarIDs              []string       `json:"calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars, at most 50. The default is the connection's default calendar." example:"[\"primary\"]"`
	Availability             string         `json:"availability,omitempty" bytes:"16" doc:"collective: all the calendars must be free. any: one of them is enough, and each slot names those that are free. The default is collective." example:"collective"`
	OpenHours                []openHours    `json:"open_hours,omitempty" nullable:"false" doc:"When meetings may take place, every week; at most 14 entries. The default is the working hours of the calendar's owner where the provider tells them, as Microsoft 365 does, or else Monday to Friday, 09:00 to 17:00."`
	SpecificTimeAvailability []specificTime `json:"specific_time_availability,omitempty" nullable:"false" doc:"Hours of single days in the place of open_hours, at most 31 entries. A date may have several. A date without start and end is closed."`
	Buffer                   *slotBuffer    `json:"buffer,omitempty" doc:"What must be free around a meeting."`
	MinimumNoticeMinutes     *int64         `json:"minimum_notice_minutes,omitempty" doc:"Minutes from now to the earliest start, at most 86,400. The default is the connection's or the tenant's setting, or else 0." example:"120"`
	BookingWindowDays        *int64         `json:"booking_window_days,omitempty" doc:"Days after today on the last of which a meeting may start, at most 730; 0 means no limit. The default is the connection's or the tenant's setting, or else no limit." example:"30"`
	TentativeAsBusy          *bool          `json:"tentative_as_busy,omitempty" doc:"Whether a meeting counts as busy that the account has accepted tentatively. The default is the connection's or the tenant's setting, or else true." example:"true"`
	RescheduleMeetingID      string         `json:"reschedule_meeting_id,omitempty" bytes:"1024" doc:"The meeting_reference or event_id of a meeting that is to be moved. Its own time does not count as busy. Its calendar has to be free as well, since the meeting stays there; that of an event_id is known if the event was booked or listed through this gateway." example:"mt_5d1y7k2hqs"`
	HoldID                   string         `json:"hold_id,omitempty" bytes:"16" doc:"A hold of the caller's own, which does not count as busy." example:"hd_3n8r5w0c6p"`
	Limit                    *int64         `json:"limit,omitempty" doc:"How many slots to answer, from 1 to 50. The default is 4." example:"4"`
	PerDay                   *int64         `json:"per_day,omitempty" doc:"How many of them on one day, from 1 to 50. The default is 2." example:"2"`
}

// openHours are hours on days of every week.
type openHours struct {
	Days     []string `json:"days,omitempty" need:"true" nullable:"false" bytes:"16" doc:"Days of the week: monday to sunday." example:"[\"monday\", \"tuesday\"]"`
	Start    string   `json:"start,omitempty" need:"true" bytes:"8" doc:"Opening time, from 00:00 to 23:59." example:"09:00"`
	End      string   `json:"end,omitempty" need:"true" bytes:"8" doc:"Closing time, up to 24:00. If it is not after start, it is on the next day." example:"17:00"`
	TimeZone string   `json:"time_zone,omitempty" bytes:"64" doc:"IANA time zone name. The default is the first calendar's own." example:"America/New_York"`
	Exdates  []string `json:"exdates,omitempty" nullable:"false" bytes:"16" doc:"Dates on which these hours do not apply, at most 100." example:"[\"2026-12-24\"]"`
}

// specificTime is an opening on one date.
type specificTime struct {
	Date  string `json:"date,omitempty" need:"true" bytes:"16" doc:"The day." example:"2026-12-24"`
	Start string `json:"start,omitempty" bytes:"8" doc:"Opening time, in the first calendar's own time zone." example:"09:00"`
	End   string `json:"end,omitempty" bytes:"8" doc:"Closing time, in the form of open_hours." example:"12:00"`
}

// slotBuffer is what must be free around a meeting.
type slotBuffer struct {
	BeforeMinutes *int64 `json:"before_minutes,omitempty" doc:"Minutes before the start, at most 1,440." example:"0"`
	AfterMinutes  *int64 `json:"after_minutes,omitempty" doc:"Minutes after the end, at most 1,440." example:"15"`
}

func (r findSlotsRequest) input(c *checks) service.FindSlots {
	in := service.FindSlots{
		Start:        c.instant("start", r.Start, normalize.DateTimeOrDate),
		End:          c.instant("end", r.End, normalize.DateTimeOrDate),
		Timezone:     c.zone("time_zone", r.TimeZone),
		CalendarIDs:  c.ids("calendar_ids", r.CalendarIDs),
		Availability: c.availability("availability", r.Availability),
		Rules: slots.Rules{
			Hours:         c.openHours("open_hours", r.OpenHours),
			Duration:      c.minutes("duration_minutes", r.DurationMinutes, slots.LimitDuration),
			Interval:      c.minutes("slot_interval_minutes", r.SlotIntervalMinutes, slots.LimitInterval),
			MinimumNotice: c.minutes("minimum_notice_minutes", r.MinimumNoticeMinutes, slots.LimitNotice),
			BookingWindowDays: c.number("booking_window_days", r.BookingWindowDays, slots.LimitBookingWindow.Least,
				slots.LimitBookingWindow.Most),
			TentativeAsBusy: r.TentativeAsBusy,
		},
		SpecificTimes:       c.specificTimes("specific_time_availability", r.SpecificTimeAvailability),
		RescheduleMeetingID: r.RescheduleMeetingID,
		HoldID:              r.HoldID,
		Limit:               c.number("limit", r.Limit, 1, maxSlots),
		PerDay:              c.number("per_day", r.PerDay, 1, maxSlots),
	}
	c.present("reschedule_meeting_id", r.RescheduleMeetingID)
	c.present("hold_id", r.HoldID)
	if r.Buffer != nil {
		in.Rules.Before = c.minutes("buffer.before_minutes", r.Buffer.BeforeMinutes, slots.LimitBefore)
		in.Rules.After = c.minutes("buffer.after_minutes", r.Buffer.AfterMinutes, slots.LimitAfter)
	}
	return in
}

// number checks that a number lies within its limits.
func (c *checks) number(path string, given *int64, least, most int) *int {
	if given == nil || !c.passed(path) {
		return nil
	}
	if *given < int64(least) || *given > int64(most) {
		c.fail(path, fmt.Sprintf("must be from %s to %s", thousands(least), thousands(most)))
		return nil
	}
	n := int(*given)
	return &n
}

// minutes checks a number of minutes.
func (c *checks) minutes(path string, given *int64, limit slots.Limit) *time.Duration {
	n := c.number(path, given, limit.Least, limit.Most)
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Minute
	return &d
}

func (c *checks) availability(path, given string) slots.Availability {
	switch a := slots.Availability(given); a {
	case "", slots.Collective, slots.Any:
		return a
	}
	if c.passed(path) {
		c.add(fault.Field{Path: path, Message: "must be collective or any",
			Hint: spelling.Nearest(given, []string{string(slots.Collective), string(slots.Any)})})
	}
	return ""
}

// most checks the length of a list.
func (c *checks) most(path string, n, most int) {
	if n > most {
		c.fail(path, fmt.Sprintf("has %s entries, at most %d are allowed", thousands(n), most))
	}
}

func (c *checks) openHours(path string, given []openHours) *slots.Hours {
	if given == nil {
		return nil
	}
	c.most(path, len(given), maxOpenHours)
	var hours slots.Hours
	for i, each := range given {
		at := elementPath(path, i)
		if !c.passed(at) {
			continue
		}
		c.most(at+".exdates", len(each.Exdates), maxExdates)
		weekly := slots.Weekly{Opening: c.opening(at, each.Start, each.End)}
		for j, name := range each.Days {
			day, err := slots.ParseWeekday(name)
			if where := elementPath(at+".days", j); err != nil && c.passed(where) {
				c.add(fault.Field{Path: where, Message: err.Error(), Hint: spelling.Nearest(name, slots.Weekdays())})
			}
			weekly.Days = append(weekly.Days, day)
		}
		for j, text := range each.Exdates {
			weekly.Except = append(weekly.Except, c.date(elementPath(at+".exdates", j), text))
		}
		if name := c.zone(at+".time_zone", each.TimeZone); name != "" && c.passed(at+".time_zone") {
			weekly.Zone, _ = normalize.LoadZone(name) // it was just checked
		}
		hours.Weekly = append(hours.Weekly, weekly)
	}
	return &hours
}

func (c *checks) specificTimes(path string, given []specificTime) map[slots.Date][]slots.Opening {
	if given == nil {
		return nil
	}
	c.most(path, len(given), maxDates)
	dates := map[slots.Date][]slots.Opening{}
	for i, each := range given {
		at := elementPath(path, i)
		if !c.passed(at) {
			continue
		}
		date := c.date(at+".date", each.Date)
		openings := dates[date]
		if each.Start != "" || each.End != "" {
			openings = append(openings, c.opening(at, each.Start, each.End))
		}
		dates[date] = openings
	}
	return dates
}

func (c *checks) date(path, given string) slots.Date {
	date, err := slots.ParseDate(given)
	if err != nil && c.passed(path) {
		c.fail(path, err.Error())
	}
	return date
}

// opening checks the start and the end of an opening.
func (c *checks) opening(path, start, end string) slots.Opening {
	o := slots.Opening{Start: c.clock(path+".start", start), End: c.clock(path+".end", end)}
	if !c.passed(path+".start") || !c.passed(path+".end") {
		return o
	}
	if err := o.Check(); err != nil {
		c.fail(path+".end", err.Error())
	}
	return o
}

func (c *checks) clock(path, given string) slots.Clock {
	clock, err := slots.ParseClock(given)
	if err != nil && c.passed(path) {
		c.fail(path, err.Error())
	}
	return clock
}

// findSlots declares find-slots.
func findSlots(s Calendar) operation {
	two, quarter, half := int64(2), int64(15), int64(30)
	found := record.SlotsAnswer{
		Slots: []record.Slot{
			{SlotID: "st_7q2m9xk4tz", Start: "2026-12-01T10:00:00-05:00", End: "2026-12-01T10:30:00-05:00",
				CalendarIDs: []string{"primary"}},
			{SlotID: "st_0c5v8hn3wa", Start: "2026-12-02T14:00:00-05:00", End: "2026-12-02T14:30:00-05:00",
				CalendarIDs: []string{"primary"}},
		},
		TimeZone: "America/New_York", Complete: true, UnreadCalendars: []string{},
		Say: "I have Tuesday the first at ten in the morning, and Wednesday the second at two in the afternoon.",
	}
	partial := found
	partial.Complete, partial.UnreadCalendars = false, []string{"dr-lee"}
	partial.Slots = []record.Slot{partial.Slots[0]}
	partial.Say = "I have Tuesday the first at ten in the morning. I could not see every calendar just now."
	return operation{
		ID: "findSlots", Method: http.MethodPost, Path: "/alpha/calendar/find-slots",
		Scope: apikey.ScopeCalendarRead, Summary: "Find slots (alpha)",
		Tool: tool{
			Name: "find_slots",
			Description: "Finds times at which a meeting can take place, in the opening hours of the business. Offer " +
				"the caller the times in the sentence of the result, and hold or book one of them by its slot_id.",
			Without: []string{"calendar_ids", "open_hours", "specific_time_availability", "buffer",
				"tentative_as_busy", "slot_interval_minutes", "minimum_notice_minutes",
				"booking_window_days"}, // for the office to say: a model gives the default of a field that it reads of
		},
		Description: "Answers when a meeting can take place: a few times, spread over days and parts of the day, " +
			"with a sentence that offers them. Rules that the request does not give are those of the connection, " +
			"or else of the tenant. A calendar that cannot be read counts as busy and is named in " +
			"unread_calendars. A slot is not held until hold-slot holds it: book-slot finds out whether it is still " +
			"free. Alpha: this may change without notice.",
		Reasons: []string{fault.ReasonEventNotFound, fault.ReasonCalendarNotFound, fault.ReasonTooManyEvents,
			fault.ReasonNotConnected, fault.ReasonReconnectRequired},
		Examples: []example{
			// Without a window, so that the examples can be tried on any day.
			{Name: "soon", Summary: "Half an hour within the next two weeks", Request: findSlotsRequest{
				TimeZone: "America/New_York", DurationMinutes: &half, Limit: &two,
			}, Response: found},
			{Name: "any", Summary: "Whoever is free; one calendar cannot be read", Request: findSlotsRequest{
				TimeZone: "America/New_York", DurationMinutes: &half,
				CalendarIDs: []string{"primary", "dr-lee"}, Availability: string(slots.Any),
				OpenHours: []openHours{{Days: []string{"tuesday"}, Start: "10:00", End: "10:30"}},
				Buffer:    &slotBuffer{AfterMinutes: &quarter},
			}, Response: partial},
		},
		endpoint: query(s, Calendar.FindSlots, findSlotsRequest.input),
	}
}
