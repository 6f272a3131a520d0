package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"frontdesk/core/tenant"
)

// operation is a call whose requests are counted. body gets the event that was booked last, and which call it
// is.
type operation struct {
	name, path string
	body       func(event string, i int64) string
}

// requests counts what each operation asks of the provider.
func requests(ctx context.Context, b *bench, s scenario) error {
	if err := b.provider.set(ctx, 0, false); err != nil {
		return err
	}
	table := map[string]map[string]string{}
	var order []string
	for _, provider := range []string{"google", "microsoft"} {
		ids := b.tenCalendars(provider)
		long := fullCalendar
		if provider == "microsoft" {
			long = b.provider.boxes[calendars]
		}
		for _, prevent := range []bool{false, true} {
			operations := []operation{
				{"book-meeting with `prevent_double_booking`", bookPath,
					func(_ string, i int64) string { return booking(4 + i) }},
			}
			if !prevent {
				operations = plainOperations(ids, long)
			}
			gateways, stop, err := b.gateways(ctx, s, b.binaries[:1], plan{
				tenants: 1, provider: provider, settings: tenant.Settings{PreventDoubleBooking: prevent},
				// On a busy machine, the fake takes seconds for a page of a long list.
				environ: []string{"FRONTDESK_RESILIENCE__DEADLINE=60s",
					"FRONTDESK_RESILIENCE__TRY_TIMEOUT=50s"},
			}, listBody(ids[0]))
			if err != nil {
				return err
			}
			g, event := gateways[0], ""
			for _, op := range operations {
				text, err := b.countRequests(ctx, g, op, &event)
				if err != nil {
					stop()
					return err
				}
				if table[op.name] == nil {
					table[op.name] = map[string]string{}
					order = append(order, op.name)
				}
				table[op.name][provider] = text
			}
			stop()
		}
	}
	text := "| operation | Google | Microsoft |\n|---|---|---|\n"
	for _, name := range order {
		text += fmt.Sprintf("| %s | %s | %s |\n", name, table[name]["google"], table[name]["microsoft"])
	}
	b.report.tables[s.name] = text
	return nil
}

// countRequests makes a call and another of its kind, and says what each asked of the provider: the first one
// may fetch what the gateway then remembers.
func (b *bench) countRequests(ctx context.Context, g served, op operation, event *string) (string, error) {
	var texts []string
	events := []string{*event, *event}
	if strings.HasPrefix(op.name, "cancel") {
		var err error
		if events[1], err = b.bookOne(ctx, g, 3); err != nil {
			return "", err
		}
	}
	for i := range events {
		if _, err := b.provider.counted(ctx); err != nil {
			return "", err
		}
		var answer bookedAnswer
		if err := ask(ctx, g.process, op.path, g.keys[0], op.body(events[i], int64(i+1)),
			&answer); err != nil {
			return "", err
		}
		if answer.Event.ID != "" {
			*event = answer.Event.ID
		}
		counts, err := b.provider.counted(ctx)
		if err != nil {
			return "", err
		}
		texts = append(texts, listed(counts))
	}
	if texts[0] != texts[1] {
		return texts[1] + "<br>the first time " + texts[0], nil
	}
	return texts[1], nil
}

// bookedAnswer is what the answer of a booking has that later calls need.
type bookedAnswer struct {
	Event struct {
		ID string `json:"event_id"`
	} `json:"event"`
}

func (b *bench) bookOne(ctx context.Context, g served, i int64) (event string, err error) {
	var answer bookedAnswer
	err = ask(ctx, g.process, bookPath, g.keys[0], booking(i), &answer)
	return answer.Event.ID, err
}

func plainOperations(ids []string, long string) []operation {
	fixed := func(body string) func(string,
		int64) string {
		return func(string, int64) string { return body }
	}
	slotsOf := func(ids ...string) func(string, int64) string {
		return fixed(`{"start":"2027-03-01","end":"2027-03-06","calendar_ids":` + quoted(ids) + `}`)
	}
	return []operation{
		{"verify-calendar-connection", "/v1/calendar/verify-calendar-connection", fixed(`{}`)},
		{"list-calendars", "/v1/calendar/list-calendars", fixed(`{}`)},
		{"list-events, one calendar", listPath, fixed(listBody(ids[0]))},
		{"list-events, ten calendars", listPath, fixed(listBody(ids...))},
		{"list-events, 2,500 events", listPath, fixed(listBody(long))},
		{"find-slots, one calendar", slotsPath, slotsOf(ids[0])},
		{"find-slots, ten calendars", slotsPath, slotsOf(ids...)},
		{"book-meeting", bookPath, func(_ string, i int64) string { return booking(i) }},
		{"update-meeting", "/v1/calendar/update-meeting", func(event string, i int64) string {
			return fmt.Sprintf(`{"event_id":%q,"title":"Moved %d","start_time":"2028-03-0%dT10:00:00Z"}`,
				event, i, i)
		}},
		{"cancel-meeting", "/v1/calendar/cancel-meeting", func(event string, _ int64) string {
			return fmt.Sprintf(`{"event_id":%q}`, event)
		}},
	}
}

// listed says how many requests there were, and of which kinds.
func listed(counts map[string]int) string {
	all := 0
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all += counts[kind]
		text := "`" + kind + "`"
		if counts[kind] > 1 {
			text = fmt.Sprintf("%d× %s", counts[kind], text)
		}
		kinds = append(kinds, text)
	}
	return fmt.Sprintf("%d: %s", all, strings.Join(kinds, ", "))
}
