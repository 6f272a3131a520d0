package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter/adaptertest"
)

// Every response of every operation, success or error, passes a validating proxy that knows only the written
// interface. FRONTDESK_CONTRACT names that document and FRONTDESK_PRISM the proxy (@stoplight/prism-cli).
func TestEveryAnswerKeepsTheContract(t *testing.T) {
	t.Parallel()
	contract, prism := os.Getenv("FRONTDESK_CONTRACT"), os.Getenv("FRONTDESK_PRISM")
	if contract == "" || prism == "" {
		// Not even FRONTDESK_REQUIRE_ALL makes this fail: the contract is kept outside the repository.
		t.Skip("FRONTDESK_CONTRACT and FRONTDESK_PRISM are not set")
	}
	d := newDeployment(t, "")
	r, direct := demo(t, d)
	d.must("tenant", "create", "bare")
	proxied := startPrism(t, prism, contract, r.api)
	c := caller{t: t, base: proxied, key: direct.key}
	unconnected := caller{t: t, base: proxied, key: d.must("key", "create", "--tenant", "bare")}
	reader := caller{
		t: t, base: proxied, key: d.must("key", "create", "--tenant", "demo", "--scope", "calendar:read"),
	}
	stranger := caller{t: t, base: proxied, key: "fd_live_nonsense"}

	booked := direct.post(200, "calendar/book-meeting",
		`{"title":"A","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T11:00:00Z","attendee_emails":["pat@example.com"]}`)
	event := booked.text("event", "event_id")
	bought := direct.do(201, http.MethodPost, "/beta/phone-numbers",
		`{"area_code":"415","inbound_cloud_employee_id":7}`)
	number := bought.header.Get("Location")
	number = number[strings.Index(number, "/beta/"):]
	ticket := direct.post(200, "tickets/create-ticket", `{"subject":"A","description":"x"}`).
		text("ticket", "ticket_number")
	slot := `"start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T11:00:00Z"`

	type try struct {
		by     caller
		method string
		path   string
		body   string
		status int
		header []string
	}
	tries := []try{
		{c, "POST", "/v1/calendar/book-meeting", `{"title":"B",` + slot + `,"conferencing_type":"provider"}`,
			200, nil},
		{c, "POST", "/v1/calendar/book-meeting", `{"title":"B",` + slot + `,"conferencing_type":"nylas"}`,
			200, nil},
		{c, "POST", "/v1/calendar/book-meeting",
			`{"title":"B",` + slot + `,"location_url":"https://meet.example.com/x"}`, 200,
			[]string{"Idempotency-Key: p1"}},
		{c, "POST", "/v1/calendar/book-meeting",
			`{"title":"B",` + slot + `,"location_url":"https://meet.example.com/x"}`, 200,
			[]string{"Idempotency-Key: p1"}},
		{c, "POST", "/v1/calendar/book-meeting", `{"title":"C",` + slot + `}`, 400,
			[]string{"Idempotency-Key: p1"}},
		{c, "POST", "/v1/calendar/book-meeting", `{}`, 400, nil},
		{c, "POST", "/v1/calendar/book-meeting", `{"attendees":["x"],"title":7}`, 400, nil},
		{c, "POST", "/v1/calendar/book-meeting",
			`{"title":"B",` + slot + `,"selected_calendar_ids":["no-such-calendar"]}`, 404, nil},
		{c, "POST", "/v1/calendar/update-meeting", `{"event_id":"` + event + `","title":"D"}`, 200, nil},
		{c, "POST", "/v1/calendar/update-meeting", `{"event_id":"no-such-event","title":"D"}`, 404, nil},
		{c, "POST", "/v1/calendar/update-meeting", `{"event_id":"` + event + `"}`, 400, nil},
		{c, "POST", "/v1/calendar/list-events", `{` + slot + `}`, 200, nil},
		{c, "POST", "/v1/calendar/list-events",
			`{"start_time":"2027-03-01","end_time":"2027-04-01","timezone":"Asia/Tokyo","selected_calendar_ids":["team"]}`, 200, nil},
		{c, "POST", "/v1/calendar/list-events", `{"timezone":"Mars/Olympus"}`, 400, nil},
		{c, "POST", "/v1/calendar/list-calendars", `{}`, 200, nil},
		{c, "POST", "/v1/calendar/verify-calendar-connection", `{}`, 200, nil},
		{c, "POST", "/v1/calendar/cancel-meeting", `{"event_id":"` + event + `"}`, 200, nil},
		{c, "POST", "/v1/calendar/cancel-meeting", `{"event_id":"` + event + `"}`, 200, nil},
		{c, "POST", "/v1/calendar/cancel-meeting", `{"event_id":"no-such-event"}`, 404, nil},
		{c, "POST", "/v1/tickets/create-ticket", `{"subject":"A","priority":"urgent"}`, 200, nil},
		{c, "POST", "/v1/tickets/create-ticket", `{"subject":"A","priority":"whenever"}`, 400, nil},
		{c, "POST", "/v1/tickets/get-ticket", `{"ticket_number":"` + ticket + `"}`, 200, nil},
		{c, "POST", "/v1/tickets/get-ticket", `{"ticket_number":"404404"}`, 404, nil},
		{c, "GET", "/beta/phone-numbers", ``, 200, nil},
		{c, "POST", "/beta/phone-numbers", `{"area_code":"206","name":"X"}`, 201, nil},
		{c, "POST", "/beta/phone-numbers", `{"area_code":"800"}`, 422, nil},
		{c, "POST", "/beta/phone-numbers", `{"area_code":415,"nmae":"x"}`, 422, nil},
		{c, "GET", number, ``, 200, nil},
		{c, "PATCH", number, `{"name":"Y","outbound_cloud_employee_id":9}`, 200, nil},
		{c, "PATCH", number, `{}`, 200, nil},
		{c, "PATCH", number, `{"name":""}`, 422, nil},
		{c, "PATCH", number, `{"name":`, 400, nil},
		{c, "DELETE", number, ``, 204, nil},
		{c, "DELETE", number, ``, 404, nil},
		{c, "GET", number, ``, 404, nil},
		{unconnected, "GET", "/beta/phone-numbers", ``, 400, nil},
		{unconnected, "POST", "/v1/calendar/list-events", `{}`, 400, nil},
		{unconnected, "POST", "/v1/calendar/verify-calendar-connection", `{}`, 200, nil},
		{reader, "POST", "/v1/calendar/cancel-meeting", `{"event_id":"x"}`, 403, nil},
		{reader, "GET", "/beta/phone-numbers", ``, 403, nil},
		{stranger, "POST", "/v1/tickets/get-ticket", `{"ticket_number":"1"}`, 401, nil},
		{stranger, "GET", "/beta/phone-numbers", ``, 401, nil},
	}
	// Faults of the sandbox: the rest of the error table.
	for word, status := range map[string]int{
		"rate_limited": 429, "revoked": 400, "down": 503, "forbidden": 403, "hang": 504,
	} {
		quick := []string{"X-Request-Timeout-Ms: 700"}
		tries = append(tries,
			try{c, "POST", "/v1/calendar/book-meeting", `{"title":"sandbox:` + word + `",` + slot + `}`,
				status, quick},
			try{c, "POST", "/v1/tickets/create-ticket", `{"subject":"sandbox:` + word + `"}`, status, quick},
			try{c, "POST", "/beta/phone-numbers", `{"area_code":"503","name":"sandbox:` + word + `"}`, status, quick},
		)
	}
	for _, x := range tries {
		a, err := x.by.call(x.method, x.path, x.body, x.header...)
		if err != nil {
			t.Fatal(err)
		}
		if a.status != x.status {
			t.Errorf("%s %s %s: status %d, want %d\n%s", x.method, x.path, x.body, a.status, x.status, a.body)
		}
		for _, v := range violations(t, a) {
			t.Errorf("%s %s %s: %d %s\nbreaks the contract: %s", x.method, x.path, x.body, a.status, a.body, v)
		}
	}
}

// violations returns the violations that the proxy found in the response.
func violations(t *testing.T, a answer) []string {
	t.Helper()
	raw := a.header.Get("sl-violations")
	if raw == "" {
		return nil
	}
	var found []struct {
		Location []any
		Message  string
	}
	if err := json.Unmarshal([]byte(raw), &found); err != nil {
		return []string{raw}
	}
	var list []string
	for _, f := range found {
		if len(f.Location) > 0 && f.Location[0] == "response" {
			list = append(list, fmt.Sprint(f.Location, " ", f.Message))
		}
	}
	return list
}

// startPrism puts the proxy in front of the gateway and returns its address.
func startPrism(t *testing.T, prism, contract, upstream string) string {
	t.Helper()
	port := adaptertest.FreePort(t)
	proxy := exec.Command(prism, "proxy", "--host", "127.0.0.1", "--port", port, contract, upstream)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return "http://127.0.0.1:" + port
		}
	}
	t.Fatal("the proxy did not start")
	return ""
}
