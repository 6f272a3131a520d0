package google_test

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func freeBusy(t *testing.T, d calendar.Driver, span calendar.Span, ids ...string) []calendar.Busy {
	t.Helper()
	return must[[]calendar.Busy](t)(d.(calendar.FreeBusyer).FreeBusy(t.Context(), ids, span))
}

// Free/busy asks as few questions as Google allows: fifty calendars and a span that it takes at a time.
func TestFreeBusyAsksInPortions(t *testing.T) {
	s := serve(t, fake.Options{})
	var ids []string
	for i := range 60 {
		id := fmt.Sprintf("c_%d@group.calendar.google.com", i)
		s.AddCalendar(email, fake.Calendar{ID: id, Name: id})
		ids = append(ids, id)
	}
	late := noon.AddDate(0, 0, 99)
	must[string](t)(s.Make(email, ids[59], map[string]any{
		"start": clock(late, "UTC"), "end": clock(late.Add(time.Hour), "UTC"),
	}))
	driver := s.driver(t)
	var busy []calendar.Busy
	asked := s.calls(func() {
		busy = freeBusy(t, driver, calendar.Span{From: noon, To: noon.AddDate(0, 0, 100)}, ids...)
	})
	if asked != 4 {
		t.Errorf("it took %d calls, want 4", asked)
	}
	if len(busy) != 1 || busy[0].CalendarID != ids[59] || !busy[0].Span.From.Equal(late) ||
		busy[0].Unknown != nil {
		t.Errorf("busy are %+v", busy)
	}
}

// A consent without the scope is noticed once. From then on, the events tell the busy times.
func TestAMissingScopeForFreeBusyIsNoticedOnce(t *testing.T) {
	s := serve(t, fake.Options{})
	s.consentWithout(t, "calendar.freebusy")
	driver := s.driver(t)
	span := calendar.Span{From: noon, To: noon.Add(time.Hour)}
	if first := s.calls(func() { freeBusy(t, driver, span, email, second) }); first != 3 {
		t.Errorf("the first time took %d calls, want 3", first)
	}
	if next := s.calls(func() { freeBusy(t, driver, span, email, second) }); next != 2 {
		t.Errorf("the next time took %d calls, want 2", next)
	}
}

// A consent without the scope for events does not look like an empty calendar.
func TestNoScopeAtAllIsAnError(t *testing.T) {
	s := serve(t, fake.Options{})
	s.refresh = s.OAuth.Grant(clientID, email, "https://www.googleapis.com/auth/calendar.calendarlist.readonly")
	s.token = s.redeem(t, s.refresh)
	busy, err := s.driver(t).(calendar.FreeBusyer).FreeBusy(t.Context(), []string{email},
		calendar.Span{From: noon, To: noon.Add(time.Hour)})
	if !errors.Is(err, fault.Forbidden) {
		t.Errorf("busy are %+v, %v", busy, err)
	}
}

// Without the scope, one calendar that cannot be read at the moment is unknown, and the others are told.
func TestACalendarThatCannotBeReadIsUnknown(t *testing.T) {
	s := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, second)
	}))
	s.consentWithout(t, "calendar.freebusy")
	span := calendar.Span{From: noon, To: noon.Add(time.Hour)}
	must[string](t)(s.Make(email, email, map[string]any{"start": clock(span.From, "UTC"),
		"end": clock(span.To, "UTC")}))
	busy := freeBusy(t, s.driver(t), span, email, second)
	if len(busy) != 2 || busy[0].Unknown != nil || busy[1].CalendarID != second || busy[1].Span != span ||
		!errors.Is(busy[1].Unknown, fault.Unavailable) {
		t.Errorf("busy are %+v", busy)
	}
}

// Whole days are those of the calendar, both ways, and also where a day has 23 hours.
func TestWholeDaysAreBusyInTheCalendarsZone(t *testing.T) {
	for _, without := range []string{"", "calendar.freebusy"} {
		t.Run("without the scope "+without, func(t *testing.T) {
			s := serve(t, fake.Options{})
			const sydney = "c_sydney@group.calendar.google.com"
			s.AddCalendar(email, fake.Calendar{ID: sydney, Name: "Sydney", Zone: "Australia/Sydney"})
			must[string](t)(s.Make(email, sydney, map[string]any{
				"start": map[string]any{"date": "2027-10-03"}, "end": map[string]any{"date": "2027-10-04"},
			}))
			if without != "" {
				s.consentWithout(t, without)
			}
			busy := freeBusy(t, s.driver(t), calendar.Span{
				From: time.Date(2027, 10, 2, 0, 0, 0, 0, time.UTC), To: time.Date(2027, 10, 5, 0, 0, 0, 0, time.UTC),
			}, sydney)
			if len(busy) != 1 || !busy[0].Span.From.Equal(time.Date(2027, 10, 2, 14, 0, 0, 0, time.UTC)) ||
				busy[0].Span.To.Sub(busy[0].Span.From) != 23*time.Hour {
				t.Errorf("busy are %+v", busy)
			}
		})
	}
}

// A whole day whose midnight clocks skip begins just after it, not an hour before.
func TestAWholeDayWithoutMidnightIsBusyFromItsBeginning(t *testing.T) {
	s := serve(t, fake.Options{})
	const santiago = "c_santiago@group.calendar.google.com"
	s.AddCalendar(email, fake.Calendar{ID: santiago, Name: "Santiago", Zone: "America/Santiago"})
	must[string](t)(s.Make(email, santiago, map[string]any{
		"start": map[string]any{"date": "2027-09-05"}, "end": map[string]any{"date": "2027-09-06"},
	}))
	s.consentWithout(t, "calendar.freebusy")
	busy := freeBusy(t, s.driver(t), calendar.Span{
		From: time.Date(2027, 9, 4, 0, 0, 0, 0, time.UTC), To: time.Date(2027, 9, 7, 0, 0, 0, 0, time.UTC),
	}, santiago)
	want := calendar.Span{From: time.Date(2027, 9, 5, 4, 0, 0, 0, time.UTC), To: time.Date(2027, 9, 6, 3, 0, 0, 0, time.UTC)}
	if len(busy) != 1 || !busy[0].Span.From.Equal(want.From) || !busy[0].Span.To.Equal(want.To) {
		t.Errorf("busy are %+v, want %+v", busy, want)
	}
}

// answering answers every question for free/busy in the provider's place.
func answering(answer string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/freeBusy") {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
		})
	}
}

// What Google does not tell of a calendar is unknown, never free.
func TestWhatGoogleDoesNotTellIsUnknown(t *testing.T) {
	span := calendar.Span{From: noon, To: noon.Add(time.Hour)}
	for _, c := range []struct {
		rule, answer string
		code         fault.Code
	}{
		{"an error", `{"errors":[{"domain":"global","reason":"internalError"}],"busy":[]}`, fault.Unavailable},
		{"no such calendar", `{"errors":[{"domain":"global","reason":"notFound"}]}`, fault.NotFound},
		{"null", `null`, fault.Unsupported},
		{"an empty object", `{}`, fault.Unsupported},
		{"a time that is none", `{"busy":[{"start":"noon","end":"2027-03-04T13:00:00Z"}]}`, fault.Unsupported},
		{"a busy time that is null", `{"busy":[null]}`, fault.Unsupported},
		{"nothing", "", fault.Unsupported},
	} {
		t.Run(c.rule, func(t *testing.T) {
			calendars := fmt.Sprintf(`%q:{"busy":[]}`, second)
			if c.answer != "" {
				calendars += fmt.Sprintf(`,%q:%s`, email, c.answer)
			}
			s := serve(t, fake.Options{}, answering(`{"kind":"calendar#freeBusy","calendars":{`+calendars+`}}`))
			busy := freeBusy(t, s.driver(t), span, second, email)
			if len(busy) != 1 || busy[0].CalendarID != email || busy[0].Span != span ||
				!errors.Is(busy[0].Unknown, c.code) {
				t.Errorf("busy are %+v", busy)
			}
		})
	}
}

// An answer that is none at all is an error.
func TestAFreeBusyAnswerThatIsNone(t *testing.T) {
	for _, answer := range []string{`{}`, `null`, `[]`, `<html>`} {
		s := serve(t, fake.Options{}, answering(answer))
		_, err := s.driver(t).(calendar.FreeBusyer).FreeBusy(t.Context(), []string{email},
			calendar.Span{From: noon, To: noon.Add(time.Hour)})
		if !errors.Is(err, fault.Unsupported) || strings.Contains(fmt.Sprint(err), "html") {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// Tokens of pages that form a circle end a list, long before the call's deadline does.
func TestPagesInACircleEnd(t *testing.T) {
	asked := 0
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			kind := map[string]string{"calendarList": "calendarList", "events": "events"}[path.Base(r.URL.Path)]
			if kind == "" {
				next.ServeHTTP(w, r)
				return
			}
			asked++
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"kind":"calendar#%s","timeZone":"UTC","items":[],"nextPageToken":"again"}`, kind)
		})
	})
	s.consentWithout(t, "calendar.freebusy")
	_, err := s.driver(t).Calendars(t.Context())
	span := calendar.Span{From: noon, To: noon.Add(time.Hour)}
	_, busyErr := s.driver(t).(calendar.FreeBusyer).FreeBusy(t.Context(), []string{email}, span)
	if !errors.Is(err, fault.Unsupported) || !errors.Is(busyErr, fault.Unsupported) {
		t.Errorf("the list of calendars: %v, busy times: %v", err, busyErr)
	}
	if asked > 200 {
		t.Errorf("%d pages were read", asked)
	}
}
