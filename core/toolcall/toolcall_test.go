package toolcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"frontdesk/core/api"
)

// A ticket that began as a long mail is no reason to wait for a model that reads all of it, and to forget its prompt.
// What fits stays as it is, and so does everything else of the ticket.
func TestAModelGetsTheBeginningOfALongDescription(t *testing.T) {
	for given, want := range map[string]string{
		strings.Repeat("ü", 2000):       strings.Repeat("ü", 2000),
		strings.Repeat("ü", 2001):       strings.Repeat("ü", 2000) + "…",
		strings.Repeat("<b> & ", 10000): strings.Repeat("<b> & ", 333) + "<b…",
	} {
		r := Runner{
			API: func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_ = json.NewEncoder(w).Encode(map[string]any{"ticket": map[string]string{
						"ticket_number": "7", "description": given, "last_comment": "Sent."}})
				})
			},
			Within: 10 * time.Second, Now: time.Now,
		}
		result, err := r.Run(t.Context(), Call{Tool: api.Tool{Path: "/v1/tickets/get-ticket"}})
		var ticket map[string]string
		if err != nil || json.Unmarshal(result.Answer["ticket"], &ticket) != nil || ticket["description"] != want ||
			ticket["ticket_number"] != "7" || ticket["last_comment"] != "Sent." ||
			strings.Contains(result.Text(), "u003c") {
			t.Errorf("a description of %d bytes became %d: %v", len(given), len(ticket["description"]), err)
		}
	}
}

// Arguments that the interface refuses unread may not cost more here: a megabyte of them becomes forty if it is
// decoded.
func TestArgumentsThatNobodyReadsAreNotDecoded(t *testing.T) {
	names := func(n int) []byte {
		text := []byte(`{"0":0`)
		for i := range n {
			text = fmt.Appendf(text, `,"%x":1`, i+1)
		}
		return append(text, '}')
	}
	for what, arguments := range map[string][]byte{
		"a megabyte of names": names(100_000), "a thousand names": names(1000),
		"values": []byte(`{"a":[` + strings.Repeat("0,", 400_000) + "0]}"),
		"levels": []byte(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)),
	} {
		var got []byte
		r := Runner{
			API: func() http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got, _ = io.ReadAll(io.LimitReader(r.Body, 100))
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"message":"Too much.","details":[]}`)
				})
			},
			Within: 10 * time.Second, Now: time.Now,
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result, err := r.Run(t.Context(), Call{
			Tool:      api.Tool{Name: "find_meetings", Path: "/alpha/x", CallerNumber: "phone_number"},
			Arguments: arguments, CallID: "call-1",
		})
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 10; made > 100 {
			t.Errorf("%s: %d KiB of arguments cost %d KiB", what, len(arguments)>>10, made)
		}
		if err != nil || result.OK || string(result.Answer["message"]) != `"Too much."` ||
			!bytes.HasPrefix(arguments, got) {
			t.Errorf("%s: got %+v %v", what, result, err)
		}
	}
}

// TestAPanicOfACallIsThatOfItsRequest: the API around the request recovers it. In the goroutine in which the call goes
// on when the time for its answer is over, it would end the process.
func TestAPanicOfACallIsThatOfItsRequest(t *testing.T) {
	r := Runner{
		API: func() http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("defect") })
		},
		Within: 10 * time.Second, Now: time.Now,
	}
	for _, writes := range []bool{false, true} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic, though that the tool writes is %t", writes)
				}
			}()
			result, err := r.Run(t.Context(), Call{Tool: api.Tool{Path: "/alpha/x", Writes: writes}})
			t.Errorf("got %+v, %v", result, err)
		}()
	}
}
