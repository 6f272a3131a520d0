package fake

import (
	"net/http"
	"slices"
)

// roles are the roles of access to a calendar, the lowest first
// (developers.google.com/workspace/calendar/api/v3/reference/calendarList#accessRole).
var roles = []string{"freeBusyReader", "reader", "writerWithoutPrivateAccess", "writer", "owner"}

func (c *collection) atLeast(role string) bool {
	return slices.Index(roles, c.Role) >= slices.Index(roles, role)
}

func (c *collection) entry() map[string]any {
	kinds := []any{}
	for _, kind := range c.Solutions {
		kinds = append(kinds, kind)
	}
	entry := map[string]any{
		"kind": "calendar#calendarListEntry", "etag": `"1"`, "id": c.ID, "summary": c.Name, "timeZone": c.Zone,
		"accessRole":           c.Role,
		"conferenceProperties": map[string]any{"allowedConferenceSolutionTypes": kinds},
	}
	if c.primary {
		entry["primary"] = true
	}
	if c.Hidden {
		entry["hidden"] = true
	}
	return entry
}

// calendarList returns the account's list of calendars, or one entry of it.
func (c call) calendarList(id []string) (map[string]any, *refusal) {
	if refused := c.requireScope("calendar", "calendar.readonly", "calendar.calendarlist",
		"calendar.calendarlist.readonly"); refused != nil {
		return nil, refused
	}
	if c.request.Method != http.MethodGet || len(id) > 1 {
		return nil, notFound()
	}
	if len(id) == 1 {
		if refused := c.takes(); refused != nil {
			return nil, refused
		}
		if found := c.account.calendar(id[0]); found != nil && !found.Unlisted {
			return found.entry(), nil
		}
		return nil, notFound()
	}
	if refused := c.takes("minAccessRole", "showHidden", "maxResults", "pageToken"); refused != nil {
		return nil, refused
	}
	least := c.query.Get("minAccessRole")
	if least != "" && !slices.Contains(roles, least) {
		return nil, invalidParameter("minAccessRole")
	}
	var entries []any
	for _, cal := range c.account.calendars {
		if !cal.Unlisted && (!cal.Hidden || c.query.Get("showHidden") == "true") &&
			(least == "" || cal.atLeast(least)) {
			entries = append(entries, cal.entry())
		}
	}
	return c.page(map[string]any{"kind": "calendar#calendarList", "etag": `"1"`}, entries, 100, 250)
}
