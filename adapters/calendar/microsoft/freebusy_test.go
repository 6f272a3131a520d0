package microsoft_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// day is the span that these tests ask about.
var day = calendar.Span{From: monday.Add(-9 * time.Hour), To: monday.Add(15 * time.Hour)}

func freeBusy(t *testing.T, d calendar.Driver, span calendar.Span, ids ...string) []calendar.Busy {
	t.Helper()
	busy, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, span)
	if err != nil {
		t.Fatal(err)
	}
	return busy
}

func must(t *testing.T) func(id string, err error) string {
	return func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
}

// rooms returns that many calendars, each with one event at noon of monday.
func rooms(t *testing.T, a *account, n int) (ids []string) {
	t.Helper()
	for i := range n {
		id := a.AddCalendar(fmt.Sprint("Room ", i), false)
		must(t)(a.Invite(id, "Meeting", "bob@example.com", monday.Add(3*time.Hour), monday.Add(4*time.Hour)))
		ids = append(ids, id)
	}
	return ids
}

// Each batch reads twenty calendars, four at a time.
func TestFreeBusyAsksInBatches(t *testing.T) {
	t.Parallel()
	for calendars, want := range map[int]int{1: 1, 10: 1, 20: 1, 25: 2} {
		a := serve(t, fake.Options{}, nil)
		ids, d := rooms(t, a, calendars), a.open()
		before := a.Calls()
		busy := freeBusy(t, d, day, ids...)
		if n := a.Calls() - before; n != want {
			t.Errorf("%d calendars: %d requests, want %d", calendars, n, want)
		}
		if a.Peak() > 4 || a.Crowded() > 0 {
			t.Errorf("%d calendars: %d ran at one time, %d were refused", calendars, a.Peak(), a.Crowded())
		}
		if len(busy) != calendars {
			t.Errorf("%d calendars: busy are %+v", calendars, busy)
		}
		for i, b := range busy {
			if b.CalendarID != ids[i] || b.Unknown != nil || !b.Span.From.Equal(monday.Add(3*time.Hour)) ||
				!b.Span.To.Equal(monday.Add(4*time.Hour)) {
				t.Errorf("%d calendars: busy are %+v", calendars, b)
			}
		}
	}
}

// counted counts the bytes of the responses.
type counted struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// Free/busy of ten calendars is one request, as a listing of them is, but a fraction of its size.
func TestFreeBusyReadsAFractionOfAListing(t *testing.T) {
	t.Parallel()
	var bytes atomic.Int64
	a := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(counted{w, &bytes},
				r)
		})
	})
	ids := rooms(t, a, 10)
	var queries []calendar.Query
	for _, id := range ids {
		must(t)(a.Series(id, "Daily", monday, time.Hour, "UTC", "FREQ=HOURLY;INTERVAL=2;COUNT=40"))
		queries = append(queries, week(id))
	}
	d := a.open()
	took := func(call func() error) (requests int, size int64) {
		requests, size = a.Calls(), bytes.Load()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		return a.Calls() - requests, bytes.Load() - size
	}
	listRequests, listSize := took(func() error {
		_, err := d.(calendar.ManyLister).EventsOf(t.Context(), queries)
		return err
	})
	requests, size := took(func() error {
		span := calendar.Span{From: queries[0].From, To: queries[0].To}
		_, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, span)
		return err
	})
	t.Logf("%d request of %d bytes, where a listing takes %d of %d bytes", requests, size, listRequests,
		listSize)
	if requests != 1 || listRequests != 1 || size*2 > listSize {
		t.Errorf("%d requests of %d bytes, where a listing takes %d of %d", requests, size, listRequests, listSize)
	}
}

// A view may have several pages. The next pages of all calendars are one more batch.
func TestFreeBusyReadsEveryPage(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{MostPerPage: 2}, nil)
	ids := rooms(t, a, 3)
	for _, id := range ids[:2] {
		must(t)(a.Series(id, "Daily", monday, time.Hour, "UTC", "FREQ=DAILY;COUNT=4"))
	}
	d := a.open()
	before := a.Calls()
	busy := freeBusy(t, d, calendar.Span{From: monday, To: monday.AddDate(0, 0, 4)}, ids...)
	if n := a.Calls() - before; n != 3 {
		t.Errorf("%d requests", n)
	}
	counts := map[string]int{}
	for _, b := range busy {
		counts[b.CalendarID]++
	}
	if counts[ids[0]] != 5 || counts[ids[1]] != 5 || counts[ids[2]] != 1 {
		t.Errorf("busy times by calendar: %v", counts)
	}
}

// The statuses are those of learn.microsoft.com/graph/api/resources/event, showAs and responseStatus.
func TestWhatCountsAsBusy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		change func(a *account, id string) error
		busy   bool
	}{
		{"an invitation without a response", func(*account, string) error { return nil }, true},
		{"accepted", func(a *account, id string) error { return a.Answer(id, email, "accepted") }, true},
		{"accepted tentatively", func(a *account, id string) error {
			return a.Answer(id, email, "tentativelyAccepted")
		}, true},
		{"declined", func(a *account, id string) error { return a.Answer(id, email, "declined") }, false},
		{"withdrawn by its organizer", func(a *account, id string) error { return a.Withdraw(id) }, false},
		{"shown as busy", func(a *account, id string) error { return a.Show(id, "busy") }, true},
		{"shown as tentative", func(a *account, id string) error { return a.Show(id, "tentative") }, true},
		{"shown as away", func(a *account, id string) error { return a.Show(id, "oof") }, true},
		{"shown as unknown", func(a *account, id string) error { return a.Show(id, "unknown") }, true},
		{"shown as free", func(a *account, id string) error { return a.Show(id, "free") }, false},
		{"shown as working elsewhere", func(a *account, id string) error {
			return a.Show(id, "workingElsewhere")
		}, false},
		{"removed", func(a *account, id string) error { return a.Remove(id) }, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := serve(t, fake.Options{}, nil)
			id := must(t)(a.Invite(a.Default(), "Meeting", "bob@example.com", monday, monday.Add(time.Hour)))
			if err := c.change(a, id); err != nil {
				t.Fatal(err)
			}
			d := a.open()
			if busy := freeBusy(t, d, day, a.Default()); len(busy) > 0 != c.busy {
				t.Errorf("busy are %+v", busy)
			}
			page, err := d.Events(t.Context(), week(a.Default()))
			takesTime := false
			for _, e := range page.Events {
				takesTime = takesTime || !e.IsFree && !e.IsCancelled
			}
			if err != nil || takesTime != c.busy {
				t.Errorf("the events are %+v, %v", page.Events, err)
			}
		})
	}
}

// Whole days are those of the tenant, also where a day has 23 hours; an event without a length takes no time.
func TestBusyTimesAreExact(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	days := must(t)(a.Days(a.Default(), "Closed", time.Date(2027, 3, 14, 0, 0, 0, 0, time.UTC),
		time.Date(2027, 3, 15, 0, 0, 0, 0, time.UTC)))
	if err := a.Show(days, "oof"); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2027, 3, 16, 9, 0, 0, 0, time.UTC)
	must(t)(a.Invite(a.Default(), "Reminder", "bob@example.com", at, at))
	busy := freeBusy(t, a.open(), calendar.Span{From: monday, To: monday.AddDate(0, 0, 14)}, a.Default())
	if len(busy) != 1 || !busy[0].Span.From.Equal(time.Date(2027, 3, 14, 5, 0, 0, 0, time.UTC)) ||
		busy[0].Span.To.Sub(busy[0].Span.From) != 23*time.Hour {
		t.Errorf("busy are %+v", busy)
	}
}

// What Graph does not tell of a calendar is unknown, never free; the others are told.
func TestACalendarThatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule   string
		status int
		code   string // of Graph; or
		page   string // the body in its place
		header http.Header
		want   fault.Code
		wait   time.Duration
	}{
		{rule: "throttled", status: http.StatusTooManyRequests, code: "ApplicationThrottled",
			header: http.Header{"Retry-After": {"23"}}, want: fault.RateLimited, wait: 23 * time.Second},
		{rule: "not there", status: http.StatusNotFound, code: "ErrorItemNotFound", want: fault.NotFound},
		{rule: "refused", status: http.StatusForbidden, code: "ErrorAccessDenied", want: fault.Forbidden},
		{rule: "late", status: http.StatusGatewayTimeout, code: "UnknownError", want: fault.Timeout},
		{rule: "another page", status: http.StatusBadGateway, page: "<html>Bad gateway</html>",
			want: fault.Unavailable},
		{rule: "a success that is none", status: http.StatusOK, page: "<html>Sign in</html>",
			want: fault.Unsupported},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := serve(t, fake.Options{}, nil)
			ids, d := rooms(t, a, 3), a.open()
			fail := func(path string) func() {
				if c.page != "" {
					return a.FailWith(path, c.status, c.page)
				}
				return a.Fail(path, c.status, c.code, c.header)
			}
			restore := fail(url.QueryEscape(ids[1]))
			busy := freeBusy(t, d, day, ids...)
			restore()
			if len(busy) != 3 || busy[0].Unknown != nil || busy[2].Unknown != nil {
				t.Fatalf("busy are %+v", busy)
			}
			if b := busy[1]; b.CalendarID != ids[1] || b.Span != day || !errors.Is(b.Unknown, c.want) ||
				fault.From(b.Unknown).RetryAfter != c.wait {
				t.Errorf("the one that cannot be read: %+v", b)
			}
		})
	}
}

// If no calendar can be read, the call fails, with the wait that Graph asks for.
func TestFreeBusyFailsIfNothingCanBeRead(t *testing.T) {
	t.Parallel()
	a := serve(t, fake.Options{}, nil)
	ids, d := rooms(t, a, 2), a.open()
	ids = append(ids, "AAMkAGI/no+calendar=")
	restore := a.Fail("calendarView", http.StatusTooManyRequests, "MailboxConcurrency",
		http.Header{"Retry-After": {"7"}})
	_, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, day)
	restore()
	if f := wantFault(t, "throttled", err, fault.RateLimited, fault.ReasonProviderRateLimited); f.RetryAfter !=
		7*time.Second {
		t.Errorf("a wait of %s", f.RetryAfter)
	}
	restore = a.Fail(url.QueryEscape(ids[0]), http.StatusUnauthorized, "InvalidAuthenticationToken", nil)
	_, err = d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, day)
	restore()
	wantFault(t, "credentials refused", err, fault.Disconnected, fault.ReasonReconnectRequired)
	_, err = d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids,
		calendar.Span{From: monday, To: monday.AddDate(6, 0, 0)})
	wantFault(t, "a span that is too long", err, fault.Exhausted, fault.ReasonTooManyEvents)
}

// Pages that lead elsewhere, or in a circle, do not count as all there is.
func TestACalendarReadInPartIsUnknown(t *testing.T) {
	t.Parallel()
	const two = `{"responses":[{"id":"1","status":200,"body":{"value":[]}},` +
		`{"id":"0","status":200,"body":{"value":[],"@odata.nextLink":%q}}]}`
	for _, next := range []string{"https://example.com/v1.0/me", "https://graph.example.com/v1.0/me/more"} {
		d := answering(t, http.StatusOK, fmt.Sprintf(two, next), nil)
		busy := freeBusy(t, d, day, "a", "b")
		if len(busy) != 1 || busy[0].CalendarID != "a" || busy[0].Span != day || busy[0].Unknown == nil {
			t.Errorf("next at %s: busy are %+v", next, busy)
		}
	}
}

// Answers that lack what they should have are not taken for free time.
func TestWhatABatchLacksIsUnknown(t *testing.T) {
	t.Parallel()
	for rule, part := range map[string]string{
		"no answer":            `{"id":"7","status":200,"body":{"value":[]}}`,
		"no status":            `{"id":"1","body":{"value":[]}}`,
		"no list":              `{"id":"1","status":200,"body":{}}`,
		"an event that is not": `{"id":"1","status":200,"body":{"value":[{"showAs":"busy"}]}}`,
		"a null for an event":  `{"id":"1","status":200,"body":{"value":[null]}}`,
		"something else":       `{"id":"1","status":200,"body":{"value":"PGh0bWw+"}}`,
	} {
		d := answering(t, http.StatusOK, `{"responses":[{"id":"0","status":200,"body":{"value":[]}},`+part+`]}`, nil)
		busy := freeBusy(t, d, day, "a", "b")
		if len(busy) != 1 || busy[0].CalendarID != "b" || !errors.Is(busy[0].Unknown, fault.Unsupported) {
			t.Errorf("%s: busy are %+v", rule, busy)
		}
	}
}

// busyGraph answers batches at once: each calendar is busy from noon to one, which the last of so many pages tells. It
// does not answer a batch that asks for the last page of one of hang. slow is how long it takes to answer what it is
// asked alone for the first time.
func busyGraph(t *testing.T, pages int, hang []string, slow time.Duration) calendar.FreeBusyer {
	t.Helper()
	const busyPage = `{"value":[{"showAs":"busy","start":{"dateTime":"2027-03-08T12:00:00","timeZone":"UTC"},` +
		`"end":{"dateTime":"2027-03-08T13:00:00","timeZone":"UTC"}}]}`
	const api = "https://graph.example.com/v1.0"
	var open atomic.Int32
	var known sync.Map
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if now := open.Add(1); now > 4 { // learn.microsoft.com/graph/throttling-limits#outlook-service-limits
			t.Errorf("%d requests at once", now)
		}
		defer open.Add(-1)
		var batch struct {
			Requests []struct{ ID, URL string }
		}
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
			return nil, err
		}
		var parts []string
		for _, part := range batch.Requests {
			page, asks := busyPage, func(id string) bool { return strings.Contains(part.URL, "/"+id+"/") }
			switch {
			case strings.Count(part.URL, "skip") < pages-1:
				page = fmt.Sprintf(`{"value":[],"@odata.nextLink":%q}`, api+part.URL+"&$skip=1")
			case slices.ContainsFunc(hang, asks):
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			parts = append(parts, fmt.Sprintf(`{"id":%q,"status":200,"body":%s}`, part.ID, page))
		}
		if _, again := known.LoadOrStore(batch.Requests[0].URL, true); !again && len(parts) == 1 {
			if time.Sleep(slow); r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
		}
		body := `{"responses":[` + strings.Join(parts, ",") + `]}`
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
	return openDriver(t, client, api, "", nil).(calendar.FreeBusyer)
}

// A batch is answered when its slowest part is. Calendars that hang are unknown, and hide none of the others, even if
// they are more than Outlook reads at a time, and no further page of them.
func TestACalendarThatHangsIsUnknown(t *testing.T) {
	for _, c := range []struct {
		calendars int
		hang      []int
		slow      time.Duration
	}{
		{6, []int{2}, 0}, {25, []int{2}, 0}, {25, []int{24}, 0}, {21, []int{20}, 0}, {20, []int{0, 1, 2, 3}, 0},
		{25, []int{0, 5, 10, 15, 19, 22}, 0}, {12, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0},
		{12, []int{0, 1, 2, 3, 4, 5, 6, 7}, 100 * time.Millisecond}, // longer than the last of the first turns
	} {
		for pages := 1; pages <= 3; pages++ {
			t.Run(fmt.Sprint(c, pages), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ids, hang []string
					for i := range c.calendars {
						ids = append(ids, fmt.Sprint("room", i))
					}
					for _, i := range c.hang {
						hang = append(hang, ids[i])
					}
					ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
					defer cancel()
					busy, err := busyGraph(t, pages, hang, c.slow).FreeBusy(ctx, ids, day)
					if err != nil || len(busy) != len(ids) || ctx.Err() != nil {
						t.Fatalf("busy are %+v, %v", busy, err)
					}
					for _, b := range busy {
						if unknown := slices.Contains(hang, b.CalendarID); (b.Unknown != nil) != unknown {
							t.Errorf("busy is %+v", b)
						}
					}
				})
			})
		}
	}
}
