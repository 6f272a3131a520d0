package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/gateway"
	"frontdesk/deploy/clients/frontdesk"
)

// desk returns a client of a gateway with the demo's sandbox.
func desk(t *testing.T, before func(http.Handler) http.Handler) frontdesk.Client {
	t.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = t.TempDir()
	cfg.Store.URL = "sqlite:" + cfg.DataDir + "/frontdesk.db"
	g, err := gateway.Open(t.Context(), cfg, gateway.Options{Adapters: all.Adapters(), LogTo: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	key, err := g.Demo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(before(g.Handler()))
	t.Cleanup(server.Close)
	return frontdesk.Client{URL: server.URL, Key: key, HTTP: server.Client()}
}

// The dialogue leads to its end, also if the gateway's first answer to each request is lost on the way.
func TestTheDialogue(t *testing.T) {
	for name, lossy := range map[string]bool{"as it should be": false, "where answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			var seen sync.Map
			client := desk(t, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					id := r.URL.Path + r.Header.Get("Idempotency-Key")
					if _, repeated := seen.LoadOrStore(id, true); lossy && !repeated {
						h.ServeHTTP(httptest.NewRecorder(), r)
						panic(http.ErrAbortHandler) // the connection breaks
					}
					h.ServeHTTP(w, r)
				})
			})
			var said bytes.Buffer
			if err := (call{desk: client, number: "+12025550101", out: &said}).run(t.Context()); err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			for _, sentence := range []string{
				"agent:  I have ", "agent:  I am holding ", "agent:  The appointment is booked for ",
				"agent:  The appointment is moved to ", "agent:  The appointment ",
			} {
				if !strings.Contains(said.String(), sentence) {
					t.Errorf("nobody says %q:\n%s", sentence, said.String())
				}
			}
			left, err := client.ListEvents(t.Context(), frontdesk.ListEventsRequest{
				StartTime: new(time.Now().Format(time.DateOnly)),
				EndTime:   new(time.Now().AddDate(0, 0, 30).Format(time.DateOnly)),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left.Events {
				if e.Subject == "Consultation: Pat Doe" && !e.IsCancelled {
					t.Errorf("a meeting is left: %+v", e)
				}
			}
		})
	}
}

// A failure is said, and can be told apart.
func TestAFailureIsSaid(t *testing.T) {
	client := desk(t, func(h http.Handler) http.Handler { return h })
	wrong := client
	wrong.Key = "fd_live_wrong"
	var said bytes.Buffer
	err := call{desk: wrong, number: "+12025550101", out: &said}.run(t.Context())
	if frontdesk.ReasonOf(err) != "INVALID_API_KEY" || !strings.Contains(said.String(),
		"I am not able to reach") {
		t.Errorf("%v\n%s", err, said.String())
	}
	_, err = client.BookSlot(t.Context(), frontdesk.BookSlotRequest{SlotID: new("st_0000000000")})
	if frontdesk.ReasonOf(err) != "INVALID_REQUEST" || !strings.Contains(err.Error(), "title") {
		t.Errorf("without a title: %v", err)
	}
	numbers, err := client.ListPhoneNumbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bought, err := client.BuyPhoneNumber(t.Context(), frontdesk.BuyPhoneNumberRequest{AreaCode: "415"})
	if err != nil {
		t.Fatal(err)
	}
	named, err := client.UpdatePhoneNumber(t.Context(), *bought.ID, map[string]any{
		"name": "Front office", "inbound_cloud_employee_id": nil,
	})
	if err != nil || named.Name != "Front office" {
		t.Errorf("%+v, %v", named, err)
	}
	if err := client.ReleasePhoneNumber(t.Context(), *bought.ID); err != nil {
		t.Error(err)
	}
	_, err = client.GetPhoneNumber(t.Context(), *bought.ID)
	if frontdesk.ReasonOf(err) == "" || err.(*frontdesk.Error).Status != http.StatusNotFound {
		t.Errorf("released, of %d: %v", len(numbers.PhoneNumbers), err)
	}
}
