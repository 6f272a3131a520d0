package google

import (
	"context"
	"errors"
	"net/http"
	"slices"

	gcal "google.golang.org/api/calendar/v3"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// writers are the roles that let change events
// (developers.google.com/workspace/calendar/api/v3/reference/calendarList#accessRole).
var writers = []string{"owner", "writer", "writerWithoutPrivateAccess"}

// noEventID is in the form of an event's id, and none's.
const noEventID = "frontdesksetupcheck0"

// CheckSetup looks at the calendar that is meant when none is named: that it is there, that the account may
// change events in it, and that the token lets it.
func (d *driver) CheckSetup(ctx context.Context) error {
	calendarID, err := d.resolveID("")
	if err != nil {
		return noStandard()
	}
	list := d.api.Events.List(calendarID).MaxResults(1).Fields("kind,accessRole")
	page, err := present(list.Context(detach(ctx)).Do())
	switch f := refusal(err, reading); {
	case f == nil:
	case errors.Is(f, fault.NotFound):
		return noStandard()
	default:
		return f
	}
	if !slices.Contains(writers, page.AccessRole) {
		return fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
			"The account can only read the Google calendar of the connection's setting calendar_id. "+
				"Choose another one, or have its owner share it with permission to make changes.").With("provider", name)
	}
	return d.mayWrite(ctx, calendarID)
}

// mayWrite reports whether the token lets change events, by a change of an event that there is not. The
// scopes of a token are else told only to who sends the token itself, which a driver never has.
func (d *driver) mayWrite(ctx context.Context, calendarID string) error {
	change := d.api.Events.Patch(calendarID, noEventID, &gcal.Event{}).SendUpdates("none").Fields("id")
	_, err := change.Context(detach(ctx)).Do()
	f := refusal(err, reading)
	if f == nil || hasStatus(f, http.StatusNotFound) || hasStatus(f, http.StatusGone) {
		return nil
	}
	return f
}

func noStandard() *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The Google account has no calendar with the id in the connection's setting calendar_id. "+
			"Correct the setting, or leave it out to use the account's own calendar.").With("provider", name)
}
