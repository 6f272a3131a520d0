package rest

import (
	"context"
	"math"
	"strconv"
	"time"

	"frontdesk/core/crm"
)

// ticket builds a ticket from the responses to the steps.
func (m mapping) ticket(ctx context.Context, r *run) (crm.Ticket, error) {
	var t crm.Ticket
	for _, field := range []struct {
		into *string
		from expression
	}{
		{&t.ID, m.id}, {&t.Number, m.number}, {&t.Subject, m.subject}, {&t.Status, m.status},
		{&t.Priority, m.priority}, {&t.OwnerID, m.ownerID}, {&t.AccountID, m.accountID},
		{&t.ContactID, m.contactID},
	} {
		var err error
		if *field.into, err = field.from.text(ctx, r.input); err != nil {
			return crm.Ticket{}, err
		}
	}
	for _, field := range []struct {
		into *string
		from expression
		of   func(words) []label
	}{{&t.Status, m.statusValue, words.statusLabels}, {&t.Priority, m.priorityValue, words.priorityLabels}} {
		if !field.from.given() {
			continue
		}
		v, err := field.from.value(ctx, r.input)
		if err != nil {
			return crm.Ticket{}, err
		}
		if *field.into, err = r.driver.labelOf(ctx, field.from, field.of, v, *field.into); err != nil {
			return crm.Ticket{}, err
		}
	}
	for _, field := range []struct {
		into *time.Time
		from expression
	}{
		{&t.CreatedAt, m.createdAt}, {&t.UpdatedAt, m.updatedAt}, {&t.ClosedAt, m.closedAt},
		{&t.ResolvedAt, m.resolvedAt},
	} {
		text, err := field.from.text(ctx, r.input)
		if err != nil {
			return crm.Ticket{}, err
		}
		at, ok := readTime(text, r.driver.settings.TimeLayout, r.driver.zone)
		if !ok {
			return crm.Ticket{}, misfit(field.from.setting, "gives text that is not a time; set time_layout")
		}
		*field.into = at
	}
	for _, field := range []struct {
		into *crm.Text
		from expression
	}{{&t.Description, m.description}, {&t.LastComment, m.lastComment}} {
		var err error
		if *field.into, err = field.from.markedUp(ctx, r.input); err != nil {
			return crm.Ticket{}, err
		}
	}
	for _, must := range []struct {
		have string
		from expression
	}{{t.ID, m.id}, {t.Number, m.number}} {
		if must.have == "" {
			return crm.Ticket{}, misfit(must.from.setting, "gives nothing")
		}
	}
	return t, nil
}

// markedUp returns the value of the expression as a text, which can be HTML.
func (e expression) markedUp(ctx context.Context, input any) (crm.Text, error) {
	v, err := e.value(ctx, input)
	if err != nil {
		return crm.Text{}, err
	}
	members, isObject := v.(map[string]any)
	if !isObject {
		members = map[string]any{"text": v}
	}
	body, ok := textOf(members["text"])
	if !ok {
		return crm.Text{}, misfit(e.setting, "gives "+kindOf(members["text"])+", where a text is needed")
	}
	return crm.Text{Body: body, HTML: members["html"] == true && body != ""}, nil
}

// layouts are the usual forms of a time. Go accepts a fraction of a second in any of them.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05-07:00",
	"2006-01-02 15:04:05Z", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
}

// milliseconds is the least number that is read as milliseconds. As seconds it would be in the year 5138.
const milliseconds = 100_000_000_000

// readTime parses a time as ticket systems write it. An empty text and one that stands for none (1970, year 0
// or 1) are the zero time. It returns false if the text is not a time.
func readTime(text, layout string, zone *time.Location) (time.Time, bool) {
	if text == "" || text == "0000-00-00 00:00:00" || text == "0000-00-00" {
		return time.Time{}, true
	}
	forms := layouts
	if layout != "" {
		forms = []string{layout}
	} else if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n < 1 {
			return time.Time{}, true
		}
		if math.IsNaN(n) || n >= milliseconds*1000 {
			return time.Time{}, false
		}
		if n >= milliseconds {
			return time.UnixMilli(int64(n)).UTC(), true
		}
		return time.UnixMilli(int64(n * 1000)).UTC(), true
	}
	for _, form := range forms {
		at, err := time.ParseInLocation(form, text, zone)
		if err != nil {
			continue
		}
		if at.Unix() <= 0 {
			return time.Time{}, true
		}
		return at.UTC(), true
	}
	return time.Time{}, false
}
