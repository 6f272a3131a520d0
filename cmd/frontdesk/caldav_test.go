package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"frontdesk/adapters/calendar/caldav/servertest"
)

// A newcomer uses a calendar server of their own, and another client of that server sees the results.
func TestNewcomerConnectsACalendarServer(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) servertest.Account{
		"Radicale": servertest.Radicale, "Xandikos": servertest.Xandikos,
	} {
		t.Run(name, func(t *testing.T) {
			account := start(t)
			d := newDeployment(t, "", append(longDeadlines(), "CALDAV_USER="+account.User,
				"CALDAV_PASSWORD="+account.Password, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
			d.must("tenant", "create", "acme", "--timezone", "Europe/Paris")
			d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav",
				"--name", "front-office",
				"--set", "url="+account.URL, "--set", "calendar="+account.Calendar, "--secret",
				"username=env:CALDAV_USER", "--secret", "password=env:CALDAV_PASSWORD")
			if got := d.must("connection", "verify", "--tenant", "acme",
				"front-office"); !strings.HasPrefix(got, "ok") {
				t.Errorf("verify prints %q", got)
			}
			c := d.serve().as(d.must("key", "create", "--tenant", "acme"))
			other := davClient{t, account}

			booked := c.post(200, "calendar/book-meeting",
				`{"title":"Zahnarzt, neu; ümlaut","start_time":"2027-03-02T10:00:00","end_time":"2027-03-02T10:30:00",
				"attendee_emails":["pat@example.com"],"location_url":"https://meet.example.com/x"}`)
			id := booked.text("event", "event_id")
			if got := booked.text("event", "start_time"); got != "2027-03-02T10:00:00+01:00" {
				t.Errorf("start_time is %s", got)
			}
			seen := other.all()
			for _, want := range []string{
				`Zahnarzt\, neu\; ümlaut`, "pat@example.com", "https://meet.example.com/x", "20270302T100000",
				"Europe/Paris",
			} {
				if !strings.Contains(seen, want) {
					t.Errorf("another client does not see %q:\n%s", want, seen)
				}
			}

			other.put("made-elsewhere.ics",
				"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:made-elsewhere\r\n"+
					"DTSTAMP:20270101T000000Z\r\nDTSTART;TZID=America/New_York:20270303T090000\r\nDURATION:PT45M\r\n"+
					"RRULE:FREQ=DAILY;COUNT=3\r\nSUMMARY:Made elsewhere\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
			listed := c.post(200, "calendar/list-events", `{"start_time":"2027-03-01","end_time":"2027-03-08"}`)
			var subjects, starts []string
			for i := range listed.get("events").([]any) {
				subjects = append(subjects, listed.text("events", i, "subject"))
				starts = append(starts, listed.text("events", i, "start_time"))
			}
			if got := fmt.Sprint(
				subjects); got != "[Zahnarzt, neu; ümlaut Made elsewhere Made elsewhere Made elsewhere]" {
				t.Errorf("the list holds %s", got)
			}
			if len(starts) == 4 && !sameInstant(t, starts[1], "2027-03-03T15:00:00+01:00") {
				t.Errorf("an event made elsewhere starts at %s", starts[1])
			}

			c.post(200, "calendar/update-meeting",
				fmt.Sprintf(`{"event_id":%q,"title":"Moved","start_time":"2027-03-02T14:00:00"}`, id))
			if seen := other.all(); !strings.Contains(seen, "SUMMARY:Moved") ||
				!strings.Contains(seen, "20270302T143000") {
				t.Errorf("another client does not see the move:\n%s", seen)
			}
			c.post(200, "calendar/cancel-meeting",
				fmt.Sprintf(`{"event_id":%q}`, listed.text("events", 2, "event_id"))) // one instance
			c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id":%q}`, id))
			c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id":%q}`, id))
			after := c.post(200, "calendar/list-events", `{"start_time":"2027-03-01","end_time":"2027-03-08"}`)
			if got := len(after.get("events").([]any)); got != 2 {
				t.Errorf("%d events are left: %s", got, after.body)
			}
			booking := `{"title":"Again","start_time":"2027-03-09T10:00:00","end_time":"2027-03-09T10:30:00"}`
			removed := c.post(200, "calendar/book-meeting", booking).text("event", "event_id")
			other.do(http.MethodDelete, removed, "")
			if c.post(200, "calendar/book-meeting", booking); !strings.Contains(other.all(), "SUMMARY:Again") {
				t.Error("a booking was answered with a meeting that another client had removed")
			}
			if strings.Contains(other.all(), "SUMMARY:Moved") {
				t.Error("another client still sees the cancelled meeting")
			}
		})
	}
}

func TestATenantsAddressMayNotLeadInside(t *testing.T) {
	t.Parallel()
	account := servertest.Radicale(t)
	d := newDeployment(t, "", "CALDAV_USER="+account.User, "CALDAV_PASSWORD="+account.Password)
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--set",
		"url="+account.URL,
		"--secret", "username=env:CALDAV_USER", "--secret", "password=env:CALDAV_PASSWORD")
	out, errs, code := d.do("", "connection", "verify", "--tenant", "acme", "caldav")
	if code != exitFailed || !strings.Contains(out+errs, "egress.allow") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	c := d.serve().as(d.must("key", "create", "--tenant", "acme"))
	if got := c.post(400, "calendar/list-events", `{}`).reason(); got != "ADDRESS_REFUSED" {
		t.Errorf("the reason is %s", got)
	}
}

// davClient is another client of the calendar server. It uses plain HTTP and none of the adapter's code.
type davClient struct {
	t       *testing.T
	account servertest.Account
}

func (d davClient) do(method, path, body string, headers ...string) string {
	d.t.Helper()
	req, err := http.NewRequest(method, strings.TrimRight(d.account.URL, "/")+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.SetBasicAuth(d.account.User, d.account.Password)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		d.t.Fatalf("%s %s: %d %v\n%s", method, path, res.StatusCode, err, raw)
	}
	return string(raw)
}

func (d davClient) put(name, object string) {
	d.t.Helper()
	d.do(http.MethodPut, strings.TrimRight(d.account.Calendar, "/")+"/"+name, object,
		"Content-Type: text/calendar; charset=utf-8")
}

// all returns every object of the calendar, unfolded.
func (d davClient) all() string {
	d.t.Helper()
	report := d.do("REPORT", d.account.Calendar,
		`<?xml version="1.0"?><C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
		<D:prop><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"/></C:comp-filter></C:filter></C:calendar-query>`,
		"Depth: 1", "Content-Type: application/xml")
	return strings.NewReplacer("\r\n ", "", "\n ", "", "&#13;", "").Replace(report)
}
