package google

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"
)

func TestPathsAreEscapedAsByTheLibrary(t *testing.T) {
	for _, id := range []string{"primary", "pat@example.com", "en.uk#holiday@group.v.calendar.google.com", "a b/c?d+e%f&é~._-"} {
		want := &url.URL{Path: "calendars/{calendarId}/events"}
		googleapi.Expand(want, map[string]string{"calendarId": id})
		if got := eventsOf(id); got != want.EscapedPath() {
			t.Errorf("the path of %q is %s, want %s", id, got, want.EscapedPath())
		}
	}
}

// What is decoded of an answer before it shows to be unusual is not part of what the library's way makes of it.
func TestAnUnusualAnswerIsDecodedAfresh(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"a"}`)
	}))
	defer server.Close()
	d := &driver{client: server.Client(), base: server.URL + "/"}
	event, err := ask(context.Background(), d, request{method: http.MethodGet}, func([]byte) (*gcal.Event, bool) {
		return &gcal.Event{Summary: "half of it"}, false
	})
	if err != nil || event.Id != "a" || event.Summary != "" {
		t.Errorf("it is %+v, %v", event, err)
	}
}
