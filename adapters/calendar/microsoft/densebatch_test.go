package microsoft_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/calendar"
)

const wallClock = "2006-01-02T15:04:05.0000000"

// dense answers batches for calendars of that many events each, of a quarter of an hour, in pages of $top. An
// event is as Graph sends it (learn.microsoft.com/graph/api/calendar-list-calendarview, "Response"), with four
// attendees if they are asked for.
func dense(t *testing.T, events int) func(http.Handler) http.Handler {
	id := strings.Repeat("AAMkAGI1", 19)
	const attendee = `{"type":"required","status":{"response":"none","time":"0001-01-01T00:00:00Z"},"emailAddress":{"name":"Samantha Booth","address":"samantha@contoso.example"}}`
	invited := `,"attendees":[` + strings.Join([]string{attendee, attendee, attendee, attendee}, ",") + `]`
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/$batch") {
				next.ServeHTTP(w, r)
				return
			}
			var batch struct{ Requests []struct{ ID, URL string } }
			if err := json.Unmarshal([]byte(bodyOf(t, r)), &batch); err != nil {
				t.Error(err)
			}
			var parts []string
			for _, part := range batch.Requests {
				at, err := url.Parse(part.URL)
				if err != nil {
					t.Error(err)
					continue
				}
				query := at.Query()
				top, _ := strconv.Atoi(query.Get("$top"))
				skip, _ := strconv.Atoi(query.Get("$skip"))
				guests := ""
				if strings.Contains(query.Get("$select"), "attendees") {
					guests = invited
				}
				var page []string
				for i := skip; i < min(skip+top, events); i++ {
					from := monday.Add(time.Duration(i) * time.Hour / 2)
					page = append(page, fmt.Sprintf(`{"@odata.etag":"W/\"ZlnW4RIAV06KYYwlrfNZvQAAKGWwbw==\"","id":%q,"isAllDay":false,"isCancelled":false,"showAs":"busy","responseStatus":{"response":"organizer","time":"0001-01-01T00:00:00Z"},"start":{"dateTime":%q,"timeZone":"UTC"},"end":{"dateTime":%q,"timeZone":"UTC"}%s}`,
						fmt.Sprint(id, i), from.Format(wallClock), from.Add(time.Hour/4).Format(wallClock), guests))
				}
				more := ""
				if skip+top < events {
					query.Set("$skip", strconv.Itoa(skip+top))
					at.RawQuery = query.Encode()
					more = fmt.Sprintf(`,"@odata.nextLink":"http://%s/v1.0%s"`, r.Host, at)
				}
				parts = append(parts, fmt.Sprintf(`{"id":%q,"status":200,"headers":{"Content-Type":"application/json"},"body":{"value":[%s]%s}}`,
					part.ID, strings.Join(page, ","), more))
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"responses":[%s]}`, strings.Join(parts, ","))
		})
	}
}

// A batch is one answer: twenty full calendars are not longer than is read.
func TestTheBusyTimesOfTwentyFullCalendarsAreRead(t *testing.T) {
	t.Parallel()
	for calendars, events := range map[int]int{20: 700, 8: 1200, 1: 2200} {
		a := serve(t, fake.Options{}, dense(t, events))
		var ids []string
		for i := range calendars {
			ids = append(ids, a.AddCalendar(fmt.Sprint("Doctor ", i), false))
		}
		busy := freeBusy(t, a.open(), calendar.Span{From: monday, To: monday.AddDate(0, 0, 60)}, ids...)
		unknown := 0
		for _, b := range busy {
			if b.Unknown != nil {
				unknown++
			}
		}
		if len(busy) != calendars*events || unknown > 0 {
			t.Errorf("%d calendars: %d busy times, %d unknown", calendars, len(busy), unknown)
		}
	}
}

// A batch that is longer than is read is asked for in two.
func TestTheEventsOfTwentyFullCalendarsAreRead(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, dense(t, 120))
	var queries []calendar.Query
	for i := range 20 {
		queries = append(queries, calendar.Query{
			CalendarID: a.AddCalendar(fmt.Sprint("Doctor ", i), false), From: monday, To: monday.AddDate(0, 0, 14), Zone: "UTC",
		})
	}
	pages, err := a.open().(calendar.ManyLister).EventsOf(t.Context(), queries)
	if err != nil || len(pages) != len(queries) {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for i, p := range pages {
		if len(p.Events) != 120 || p.Events[0].CalendarID != queries[i].CalendarID {
			t.Errorf("calendar %d has %d events", i, len(p.Events))
		}
	}
}
