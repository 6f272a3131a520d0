package google

import (
	"context"
	"errors"
	"net/http"
	"slices"

	gcal "google.golang.org/api/calendar/v3"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

var _ adapter.SetupChecker = (*driver)(nil)

// writers are the roles that allow changing events
// (developers.google.com/workspace/calendar/api/v3/reference/calendarList#accessRole).
var writers = []string{"owner", "writer", "writerWithoutPrivateAccess"}

// noEventID has the form of an event id, but no event has it.
const noEventID = "frontdesksetupcheck0"

// CheckSetup checks that the default calendar exists, that the account may change events in it, and that the
// token allows it.
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
				"Choose another one, or have its owner share it with permission to make changes.")
	}
	return d.mayWrite(ctx, calendarID)
}

// mayWrite checks that the token allows changing events, by a change of an event that does not exist. Google
// reports the scopes of a token only to a caller that sends the token itself, which a driver never has.
func (d *driver) mayWrite(ctx context.Context, calendarID string) error {
	change := d.api.Events.Patch(calendarID, noEventID, &gcal.Event{}).SendUpdates("none").Fields("id")
	_, err := change.Context(detach(ctx)).Do()
	f := refusal(err, reading)
	if f == nil || upstream.HasStatus(f, http.StatusNotFound, http.StatusGone) {
		return nil
	}
	return f
}

func noStandard() *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The Google account has no calendar with the id in the connection's setting calendar_id. "+
			"Correct the setting, or leave it out to use the account's own calendar.")
}
