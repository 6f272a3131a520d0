package toolcall

import (
	"net/http"
	"testing"
	"time"

	"frontdesk/core/api"
)

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
