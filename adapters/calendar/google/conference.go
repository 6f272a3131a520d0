package google

import (
	"context"
	"slices"
	"sync"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"frontdesk/core/fault"
)

// hangoutsMeet is Google Meet. Conferences of the kinds eventHangout and eventNamedHangout can no longer be
// created.
const hangoutsMeet = "hangoutsMeet"

// abilities remembers which calendars can create meeting links, so that only the first such booking needs
// another request. That a calendar cannot is not remembered: its owner may be about to change that, and a
// refused booking need not be fast.
type abilities struct {
	now   func() time.Time
	mu    sync.Mutex
	until map[string]time.Time
}

// remembered is how long an ability is taken to last.
const remembered = time.Hour

func (a *abilities) note(entry *gcal.CalendarListEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Time{}
	}
	ids := []string{entry.Id}
	if entry.Primary {
		ids = append(ids, primary)
	}
	for _, id := range ids {
		if makesLinks(entry) {
			a.until[id] = a.now().Add(remembered)
		} else {
			delete(a.until, id)
		}
	}
}

func (a *abilities) has(calendarID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now().Before(a.until[calendarID])
}

// makesLinks reports whether a calendar may be able to create links. If Google does not report its kinds of
// conference, it refuses such a booking without booking anything.
func makesLinks(entry *gcal.CalendarListEntry) bool {
	return entry.ConferenceProperties == nil ||
		slices.Contains(entry.ConferenceProperties.AllowedConferenceSolutionTypes, hangoutsMeet)
}

// canMeet fails if the calendar cannot create meeting links. Nothing is known in advance about a calendar
// that the account does not list: Google refuses such a booking without booking anything.
func (d *driver) canMeet(ctx context.Context, calendarID string) error {
	if d.meet.has(calendarID) {
		return nil
	}
	entry, err := d.readListEntry(ctx, calendarID)
	switch f := fault.From(err); {
	case f != nil && f.Code == fault.NotFound:
		return nil
	case f != nil:
		return f
	case !makesLinks(entry):
		return noMeet()
	}
	return nil
}

// cannotMeetAnyMore reads the calendar again after a booking was refused as not valid: Google's response
// ("Invalid conference type value.") gives the reason only as text.
func (d *driver) cannotMeetAnyMore(ctx context.Context, calendarID string) bool {
	entry, err := d.readListEntry(ctx, calendarID)
	return err == nil && !makesLinks(entry)
}

func noMeet() *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonConferencing,
		"The Google calendar cannot make Google Meet links: it has no licence for them, or its "+
			"administrator has turned them off. Nothing was booked. Send a link as location_url, or book "+
			"without one.")
}

// Statuses of the request for a conference
// (developers.google.com/workspace/calendar/api/v3/reference/events#conferenceData.createRequest.status).
const (
	meetPending = "pending"
	meetFailed  = "failure"
)

func meetStatus(e *gcal.Event) string {
	if e.ConferenceData == nil || e.ConferenceData.CreateRequest == nil ||
		e.ConferenceData.CreateRequest.Status == nil {
		return ""
	}
	return e.ConferenceData.CreateRequest.Status.StatusCode
}

// Pauses between reads of a conference that is being created. Usually it exists at once.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = time.Second
)

// meeting waits until the event has its link, which Google creates after the event. It removes an event whose
// link fails.
func (d *driver) meeting(ctx context.Context, calendarID string, made *gcal.Event) (*gcal.Event, error) {
	pending := func() bool { return meetLink(made) == "" && meetStatus(made) == meetPending }
	for pause := firstPause; pending(); pause = min(2*pause, longestPause) {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, fault.From(ctx.Err())
		case <-timer.C:
		}
		now, err := d.get(ctx, calendarID, made.Id, eventFields)
		if err != nil {
			return nil, afterBooking(err)
		}
		if isCancelled(now) {
			return nil, changedMeanwhile()
		}
		made = now
	}
	if meetLink(made) != "" {
		return made, nil
	}
	if f := fault.From(d.remove(ctx, calendarID, made.Id)); f != nil && f.Code != fault.NotFound {
		return nil, afterBooking(f)
	}
	return nil, noMeet()
}

// afterBooking converts an error that occurs after the event was created.
func afterBooking(err error) *fault.Error {
	f := *fault.From(err)
	f.Unsent = false // this request may be; the booking is not
	if f.Code != fault.Timeout && f.Code != fault.Canceled {
		f.Code, f.Reason = fault.UnknownOutcome, fault.ReasonOutcomeUnknown
		f.Detail = "Google has the event, but its state could not be read afterwards."
	}
	return &f
}
