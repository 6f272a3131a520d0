package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/deploy/clients/frontdesk"
	"frontdesk/deploy/gatewaytest"
)

// desk returns a client of a gateway with the demo's sandbox.
func desk(t *testing.T, lossy bool) frontdesk.Client {
	t.Helper()
	url, key := gatewaytest.Serve(t, lossy)
	return frontdesk.Client{URL: url, Key: key, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// The dialogue leads to its end, also if the gateway's first answer to each request is lost on the way.
func TestTheDialogue(t *testing.T) {
	for name, lossy := range map[string]bool{"as it should be": false, "where answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			client := desk(t, lossy)
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
	client := desk(t, false)
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
