package microsoft_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func bodyOf(t testing.TB, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return string(body)
}

func errorBody(code string) string {
	return fmt.Sprintf(`{"error":{"code":%q,"message":"As it says.","innerError":{"request-id":"rid-1"}}}`, code)
}

func TestWhatAnAnswerOfGraphMeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		code   fault.Code
		reason string
	}{
		{400, errorBody("ErrorInvalidIdMalformed"), fault.NotFound, fault.ReasonEventNotFound},
		{404, errorBody("ErrorItemNotFound"), fault.NotFound, fault.ReasonEventNotFound},
		{400, errorBody("ErrorCalendarCannotUpdateDeletedItem"), fault.NotFound, fault.ReasonEventNotFound},
		{400, errorBody("ErrorCalendarOccurrenceIsDeletedFromRecurrence"), fault.NotFound, fault.ReasonEventNotFound},
		{404, errorBody("ErrorCalendarOccurrenceIsDeletedFromRecurrence"), fault.NotFound, fault.ReasonEventNotFound},
		{403, errorBody("ErrorCannotDeleteObject"), fault.Forbidden, fault.ReasonPermissionDenied},
		{404, errorBody("MailboxNotEnabledForRESTAPI"), fault.Unsupported, fault.ReasonProviderMisconfigured},
		{404, errorBody("MailboxNotSupportedForRESTAPI"), fault.Unsupported, fault.ReasonProviderMisconfigured},
		{404, errorBody("ErrorMailboxMoveInProgress"), fault.Unavailable, fault.ReasonProviderUnavailable},
		{503, errorBody("ErrorMailboxStoreUnavailable"), fault.Unavailable, fault.ReasonProviderUnavailable},
		{404, errorBody("ErrorInvalidUser"), fault.Unsupported, fault.ReasonProviderMisconfigured},
		{403, errorBody("ErrorAccessDenied"), fault.Forbidden, fault.ReasonPermissionDenied},
		{403, errorBody("ErrorInsufficientPermissionsInAccessToken"), fault.Forbidden,
			fault.ReasonPermissionDenied},
		{429, errorBody("TooManyRequests"), fault.RateLimited, fault.ReasonProviderRateLimited},
		{429, errorBody("ApplicationThrottled"), fault.RateLimited, fault.ReasonProviderRateLimited},
		{503, errorBody("ErrorServerBusy"), fault.RateLimited, fault.ReasonProviderRateLimited},
		{503, errorBody("MailboxConcurrency"), fault.RateLimited, fault.ReasonProviderRateLimited},
		{409, errorBody("ErrorIrresolvableConflict"), fault.Conflict, fault.ReasonChangedMeanwhile},
		{412, errorBody("ErrorIrresolvableConflict"), fault.Conflict, fault.ReasonChangedMeanwhile},
		{412, "", fault.Conflict, fault.ReasonChangedMeanwhile},
		{401, errorBody("InvalidAuthenticationToken"), fault.Disconnected, fault.ReasonReconnectRequired},
		{400, errorBody("InvalidAuthenticationToken"), fault.Disconnected, fault.ReasonReconnectRequired},
		{400, errorBody("TimeZoneNotSupportedException"), fault.Invalid, fault.ReasonProviderRefused},
		{400, errorBody("ErrorOccurrenceCrossingBoundary"), fault.Invalid, fault.ReasonProviderRefused},
		{400, errorBody("SomethingNew"), fault.Invalid, fault.ReasonProviderRefused},
		{507, errorBody("ErrorQuotaExceeded"), fault.Exhausted, fault.ReasonStorageFull},
		{500, errorBody("ErrorInternalServerError"), fault.Unavailable, fault.ReasonProviderUnavailable},
		{503, errorBody("ServiceUnavailable"), fault.Unavailable, fault.ReasonProviderUnavailable},
		{504, errorBody("UnknownError"), fault.Timeout, fault.ReasonDeadlineExceeded},
		{509, "", fault.RateLimited, fault.ReasonProviderRateLimited},
		// Malformed bodies.
		{503, "", fault.Unavailable, fault.ReasonProviderUnavailable},
		{502, "<html><body>Bad Gateway</body></html>", fault.Unavailable, fault.ReasonProviderUnavailable},
		{404, "", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{404, "<html>No such page</html>", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{410, "<html>No more</html>", fault.Unsupported, fault.ReasonProviderMisconfigured},
		// No message.
		{400, `{"error":{"code":"ErrorInvalidIdMalformed"}}`, fault.NotFound, fault.ReasonEventNotFound},
		{400, `{"error":{}}`, fault.Invalid, fault.ReasonProviderRefused},
		{400, `{"error":null}`, fault.Invalid, fault.ReasonProviderRefused},
		{400, `{"error":"text"}`, fault.Invalid, fault.ReasonProviderRefused},
		{400, `{"error":{"code":7,"message":[]}}`, fault.Invalid, fault.ReasonProviderRefused},
		{400, `[]`, fault.Invalid, fault.ReasonProviderRefused},
		{400, `null`, fault.Invalid, fault.ReasonProviderRefused},
		{400, `{"error":`, fault.Invalid, fault.ReasonProviderRefused},
		{302, "", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, "", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, "<html>Sign in</html>", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, "null", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, "[]", fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, "{}", fault.NotFound, fault.ReasonEventNotFound}, // no event, such as for the id "delta"
		{200, `{"id":"x","start":{"dateTime":"soon"}}`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, `{"id":7}`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{200, `{"id":"x","attendees":[null]}`, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{204, "", fault.Unsupported, fault.ReasonProviderMisconfigured},
	} {
		d := answering(t, c.status, c.body, http.Header{"Retry-After": {"9"}, "Request-Id": {"rid-1"}})
		_, err := d.Event(t.Context(), calendar.EventRef{CalendarID: "c", ID: "e"})
		what := fmt.Sprintf("%d %s", c.status, c.body)
		f := wantFault(t, what, err, c.code, c.reason)
		if c.status >= 400 && c.code != fault.NotFound &&
			(f.RetryAfter != 9*time.Second || !strings.Contains(f.Upstream, "rid-1")) {
			t.Errorf("%s: wait %s, upstream %q", what, f.RetryAfter, f.Upstream)
		}
		if strings.Contains(f.Detail, "As it says") {
			t.Errorf("%s: what the provider said is shown to the tenant: %s", what, f.Detail)
		}
	}
}

func TestAWriteWhoseAnswerCannotBeReadIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	title := "Other"
	for _, body := range []string{"", "<html>Welcome</html>", "null", "{}"} {
		d := answering(t, http.StatusCreated, body, nil)
		_, err := d.Book(t.Context(), calendar.Booking{
			Key: "k", CalendarID: "c", Start: monday, End: monday, Zone: "UTC",
		})
		wantFault(t, "Book answered "+body, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		_, err = d.Change(t.Context(), calendar.EventRef{CalendarID: "c", ID: "e"}, calendar.Change{
			IfUnchanged: "v", Title: &title,
		})
		wantFault(t, "Change answered "+body, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	}
}

// An empty list would report that the day is free, or that there is no calendar.
func TestAnAnswerThatIsNoListIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"error":{"code":"500"}}`, `{"value":null}`, `{"id":"x"}`} {
		d := answering(t, http.StatusOK, body, nil)
		_, err := d.Calendars(t.Context())
		wantFault(t, "Calendars answered "+body, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		_, err = d.Events(t.Context(), week("c"))
		wantFault(t, "Events answered "+body, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	}
	d := answering(t, http.StatusOK, `{"value":[]}`, nil)
	if list, err := d.Calendars(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("no calendars are %v, %v", list, err)
	}
	if page, err := d.Events(t.Context(), week("c")); err != nil || len(page.Events) != 0 {
		t.Errorf("no events are %v, %v", page, err)
	}
}

// answering returns a driver of a Graph that gives every request the same response.
func answering(t testing.TB, status int, body string, header http.Header) calendar.Driver {
	t.Helper()
	client := &http.Client{
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			for name, values := range header {
				w.Header()[name] = values
			}
			w.Header().Set("Content-Type", "text/html") // the body decides, not this
			w.WriteHeader(status)
			_, _ = w.WriteString(body)
			resp := w.Result()
			resp.Request = r
			return resp, nil
		}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return openDriver(t, client, "https://graph.example.com/v1.0", "", nil)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzAnswers checks that a call ends with a result or a fault, whatever Graph responds.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		"", "null", "{}", "[]", `{"value":[null]}`, `{"value":[{}]}`, `{"value":{}}`,
		`{"error":{"code":"ErrorItemNotFound"}}`,
		`{"id":"x","start":{"dateTime":"2027-03-08T09:00:00.0000000","timeZone":"UTC"},"end":{"dateTime":"2027-03-08T09:00:00Z","timeZone":"x"},"attendees":[{}],"body":{"content":"____________________x"},"onlineMeeting":{"joinUrl":"x"},"isOnlineMeeting":true}`,
		`{"responses":[{"id":"0","status":200,"body":"PGh0bWw+"},{"id":"0","status":"x","headers":{"Retry-After":3}}]}`,
		`{"value":[],"@odata.nextLink":"https://example.com"}`,
		`{"responses":[{"id":"0","status":1e99,"body":{"value":[{"start":null}]}}]}`,
	} {
		f.Add(200, body)
		f.Add(400, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		d := answering(t, status, body, nil)
		ref, title, description := calendar.EventRef{CalendarID: "c", ID: "e"}, "t", "d"
		list := []string{"bob@example.com"}
		_, _ = d.Account(t.Context())
		_, _ = d.Event(t.Context(), ref)
		_, _ = d.Events(t.Context(), week("c"))
		_, _ = d.(calendar.ManyLister).EventsOf(t.Context(), []calendar.Query{week("c"), week("c")})
		_, _ = d.(calendar.FreeBusyer).FreeBusy(t.Context(), []string{"c", "c"}, day)
		_, _ = d.Change(t.Context(), ref, calendar.Change{
			Title: &title, Description: &description, Attendees: &list,
		})
		_ = d.Cancel(t.Context(), ref)
		_, _ = d.Book(t.Context(), calendar.Booking{
			Key: "k", CalendarID: "c", Start: monday, End: monday, Zone: "UTC",
			Conferencing: calendar.ConferencingProvider,
		})
	})
}
