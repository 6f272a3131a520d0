package frontdesk_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/deploy/clients/frontdesk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers requests one after another with the given bodies, and keeps what it was asked.
type server struct {
	mu    sync.Mutex
	asked []http.Header
}

func serve(t *testing.T, statuses []int, body string, header ...string) (*server, frontdesk.Client) {
	t.Helper()
	s := &server{}
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.Header.Clone())
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(statuses[min(len(s.asked), len(statuses))-1])
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(http.Close)
	return s, frontdesk.Client{URL: http.URL + "/", Key: "fd_live_x", Language: "de", HTTP: http.Client()}
}

const refusal = `{"code":14,"message":"Down.","details":[` +
	`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PROVIDER_UNAVAILABLE"},` +
	`{"@type":"type.googleapis.com/google.rpc.LocalizedMessage","locale":"de","message":"Es geht gerade nicht."}`

// A call is repeated where that can help and there is time, with the key that it had.
func TestACallIsRepeatedWhereThatCanHelp(t *testing.T) {
	soon := refusal + `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.01s"}]}`
	late := refusal + `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}]}`
	for name, c := range map[string]struct {
		statuses []int
		body     string
		header   []string
		want     int
	}{
		"it ends well":                    {[]int{503, 200}, soon, nil, 2},
		"it goes on":                      {[]int{503}, soon, nil, 3},
		"a repeat cannot help":            {[]int{409}, refusal + "]}", nil, 1},
		"there is no time":                {[]int{503}, late, nil, 1},
		"a proxy refuses":                 {[]int{429}, "Slow down.", nil, 1},
		"a proxy got no answer":           {[]int{502, 504}, "<html>", nil, 3},
		"the gateway says so in a header": {[]int{429}, `{"title":"Slow down"}`, []string{"Retry-After", "60"}, 1},
	} {
		s, client := serve(t, c.statuses, c.body, c.header...)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := client.CreateTicket(ctx, frontdesk.CreateTicketRequest{Subject: new("A")})
		cancel()
		if len(s.asked) != c.want || (err == nil) != (name == "it ends well") {
			t.Errorf("%s: %d requests, want %d: %v", name, len(s.asked), c.want, err)
		}
		for _, h := range s.asked {
			if key := h.Get("Idempotency-Key"); key == "" || key != s.asked[0].Get("Idempotency-Key") {
				t.Errorf("%s: the keys are not one: %q", name, key)
			}
			if h.Get("X-Api-Key") != "fd_live_x" || h.Get("Accept-Language") != "de" ||
				h.Get("X-Request-Timeout-Ms") == "" {
				t.Errorf("%s: the headers are %v", name, h)
			}
		}
	}
}

// Without a deadline, nobody waits for as long as a tenant that has bought its numbers of a day.
func TestARepeatThatIsFarAwayIsLeftToTheCaller(t *testing.T) {
	for _, body := range []string{`{"title":"No more numbers may be bought today"}`, "<html>a proxy's</html>"} {
		s, client := serve(t, []int{429}, body, "Retry-After", "86400")
		_, err := client.BuyPhoneNumber(t.Context(), frontdesk.BuyPhoneNumberRequest{AreaCode: "415"})
		if e, is := errors.AsType[*frontdesk.Error](err); !is || e.RetryAfter != 24*time.Hour || len(s.asked) != 1 ||
			e.Message != "Too Many Requests" {
			t.Errorf("%s: %+v after %d requests", body, err, len(s.asked))
		}
	}
}

// The gateway is given less time than the context has: its answer, which has a reason, then arrives before the
// deadline.
func TestTheGatewayAnswersBeforeTheDeadline(t *testing.T) {
	s, client := serve(t, []int{200}, `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := client.ListCalendars(ctx); err != nil {
		t.Fatal(err)
	}
	if ms, err := strconv.Atoi(s.asked[0].Get("X-Request-Timeout-Ms")); err != nil || ms > 9000 || ms < 1 {
		t.Errorf("of ten seconds, the gateway is given %d ms (%v)", ms, err)
	}
}

// A redirect would make a GET of a change, whose answer looks like the change's, and take the key to another host.
func TestARedirectIsAFailure(t *testing.T) {
	number := `{"id":7,"name":"Front office","e164":"+14155550100","area_code":"415"}`
	moved, other := serve(t, []int{200}, number)
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, client := serve(t, []int{status}, "<html>", "Location", strings.TrimRight(other.URL, "/")+"/beta/phone-numbers/7")
		_, buying := client.BuyPhoneNumber(t.Context(), frontdesk.BuyPhoneNumberRequest{AreaCode: "415"})
		_, updating := client.UpdatePhoneNumber(t.Context(), 7, map[string]any{"name": "Desk"})
		releasing := client.ReleasePhoneNumber(t.Context(), 7)
		_, reading := client.GetPhoneNumber(t.Context(), 7)
		for _, err := range []error{buying, updating, releasing, reading} {
			if e, is := errors.AsType[*frontdesk.Error](err); !is || e.Status != status {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
	if len(moved.asked) > 0 {
		t.Errorf("the other host was sent the key %q", moved.asked[0].Get("X-Api-Key"))
	}
}

// Only what has no answer, a release, takes an empty one for success. Others are sent again, with their key.
func TestAnEmptyAnswerIsNone(t *testing.T) {
	s, client := serve(t, []int{200}, "")
	if booked, err := client.BookMeeting(t.Context(), frontdesk.BookMeetingRequest{}); err == nil || len(s.asked) != 3 ||
		s.asked[0].Get("Idempotency-Key") != s.asked[2].Get("Idempotency-Key") {
		t.Errorf("%+v, %v after %d requests", booked, err, len(s.asked))
	}
	_, client = serve(t, []int{204}, "")
	if err := client.ReleasePhoneNumber(t.Context(), 7); err != nil {
		t.Error(err)
	}
}

func TestAnErrorTellsWhatTheGatewayTold(t *testing.T) {
	_, client := serve(t, []int{409}, refusal+`,{"@type":"x/google.rpc.BadRequest","fieldViolations":[{"field":"a","description":"is b"}]},`+
		`{"@type":"x/google.protobuf.Struct","value":{"nearest_slots":[{"slot_id":"st_1"}]}}]}`)
	_, err := client.HoldSlot(t.Context(), frontdesk.HoldSlotRequest{SlotID: new("st_0")})
	e, is := errors.AsType[*frontdesk.Error](err)
	if !is || e.Status != 409 || e.Reason != "PROVIDER_UNAVAILABLE" || e.Say != "Es geht gerade nicht." ||
		len(e.Fields) != 1 || e.Fields[0] != "a is b" || len(e.Instead) != 1 || e.Instead[0].SlotID != "st_1" {
		t.Errorf("%+v", err)
	}
	_, client = serve(t, []int{422}, `{"type":"https://x.example/problems/invalid-request","detail":"No.",`+
		`"errors":[{"location":"body.name","message":"is blank"}]}`)
	_, err = client.ListPhoneNumbers(t.Context())
	if e, is := errors.AsType[*frontdesk.Error](err); !is || e.Reason != "invalid-request" ||
		e.Message != "No." ||
		len(e.Fields) != 1 || frontdesk.ReasonOf(err) != e.Reason {
		t.Errorf("%+v", err)
	}
}

// A change that a crashed backend repeats has the key that it had.
func TestAKeyCanBeGiven(t *testing.T) {
	s, client := serve(t, []int{200}, `{"status":"released"}`)
	if err := client.ReleaseHold(frontdesk.WithKey(t.Context(), "of-mine"), "hd_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.FindSlots(t.Context(), frontdesk.FindSlotsRequest{}); err != nil {
		t.Fatal(err)
	}
	if s.asked[0].Get("Idempotency-Key") != "of-mine" || s.asked[1].Get("Idempotency-Key") != "" {
		t.Errorf("the keys are %q and %q", s.asked[0].Get("Idempotency-Key"), s.asked[1].Get("Idempotency-Key"))
	}
	// Without a key, the repeats of a change would be further changes.
	if err := client.ReleaseHold(frontdesk.WithKey(t.Context(), ""), "hd_1"); err != nil ||
		s.asked[2].Get("Idempotency-Key") == "" {
		t.Errorf("%v: an empty key is no key of the client's own: %v", err, s.asked[2])
	}
}
