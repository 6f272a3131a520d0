package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"frontdesk/adapters/calendar/caldav/servertest"
)

// eachCalendar runs a test with a calendar in New York at every kind of provider. The function that the test
// gets starts a gateway and returns the caller of the tenant "acme", and the deployment.
func eachCalendar(t *testing.T, test func(t *testing.T, start func() (*deployment, caller))) {
	eachProvider(t, func(t *testing.T, startProvider func(testing.TB) *fakeProvider) {
		test(t, func() (*deployment, caller) {
			p := startProvider(t)
			d := newDeployment(t, "", append(p.environ, longDeadlines()...)...)
			d.must("tenant", "create", "acme", "--timezone", "America/New_York")
			r := d.servePublicly()
			p.connect(d, r)
			return d, r.as(d.must("key", "create", "--tenant", "acme"))
		})
	})
	t.Run("sandbox", func(t *testing.T) {
		t.Parallel()
		test(t, func() (*deployment, caller) {
			d := newDeployment(t, "")
			d.must("tenant", "create", "acme", "--timezone", "America/New_York")
			d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox", "--name",
				"sandbox", "--set", "timezone=America/New_York")
			return d, d.serve().as(d.must("key", "create", "--tenant", "acme"))
		})
	})
	t.Run("caldav", func(t *testing.T) {
		t.Parallel()
		test(t, func() (*deployment, caller) {
			account := servertest.Radicale(t)
			d := newDeployment(t, "", append(longDeadlines(), "CALDAV_USER="+account.User,
				"CALDAV_PASSWORD="+account.Password, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
			d.must("tenant", "create", "acme", "--timezone", "America/New_York")
			d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav",
				"--name", "front-office", "--set", "url="+account.URL, "--set", "calendar="+account.Calendar,
				"--secret", "username=env:CALDAV_USER", "--secret", "password=env:CALDAV_PASSWORD")
			return d, d.serve().as(d.must("key", "create", "--tenant", "acme"))
		})
	})
}

// One question has one answer, whatever holds the calendar. The clocks are turned forward within the window.
func TestSlotsAreTheSameAtEveryProvider(t *testing.T) {
	t.Parallel()
	eachCalendar(t, func(t *testing.T, start func() (*deployment, caller)) {
		d, c := start()
		d.must("tenant", "change", "acme", "--set", "open_hours.sunday=01:00-04:00", "--set",
			"open_hours.monday=09:00-12:00", "--set", "duration_minutes=60", "--set", "slot_interval_minutes=30")
		booked := c.post(200, "calendar/book-meeting", `{"title":"Consultation",
			"start_time":"2037-03-09T09:30:00","end_time":"2037-03-09T10:30:00","timezone":"America/New_York"}`)
		window := `"start":"2037-03-06","end":"2037-03-11","time_zone":"America/New_York","limit":50,"per_day":50`
		ask := func(more string) answer {
			return c.do(http.StatusOK, http.MethodPost, "/alpha/calendar/find-slots", `{`+window+more+`}`)
		}
		want := func(rule string, a answer, starts string) {
			t.Helper()
			var got []string
			for i := range a.get("slots").([]any) {
				got = append(got, a.text("slots", i, "start"))
			}
			if strings.Join(got, " ") != starts {
				t.Errorf("%s: slots at %v, want %s", rule, got, starts)
			}
		}
		const sunday = "2037-03-08T01:00:00-05:00 2037-03-08T01:30:00-05:00 2037-03-08T03:00:00-04:00 "
		found := ask("")
		want("between events, without the hour that clocks skip", found,
			sunday+"2037-03-09T10:30:00-04:00 2037-03-09T11:00:00-04:00")
		if found.get("complete") != true || found.text("time_zone") != "America/New_York" ||
			found.text("slots", 1, "end") != "2037-03-08T03:30:00-04:00" {
			t.Errorf("found: %s", found.body)
		}
		if again := ask(""); string(again.body) != string(found.body) {
			t.Errorf("the same question has another answer: %s", again.body)
		}
		want("for the meeting that is to be moved",
			ask(fmt.Sprintf(`,"reschedule_meeting_id":%q`, booked.text("event", "event_id"))),
			sunday+"2037-03-09T09:00:00-04:00 2037-03-09T09:30:00-04:00 2037-03-09T10:00:00-04:00 "+
				"2037-03-09T10:30:00-04:00 2037-03-09T11:00:00-04:00")
		few := ask(`,"open_hours":[{"days":["monday","tuesday"],"start":"09:00","end":"18:00"}],"buffer":{
			"before_minutes":60},"minimum_notice_minutes":5,"specific_time_availability":[{"date":"2037-03-10",
			"start":"14:15","end":"15:15"}],"tentative_as_busy":false`)
		if got := few.text("slots", len(few.get("slots").([]any))-1, "start"); got != "2037-03-10T14:15:00-04:00" ||
			few.text("slots", 0, "start") != "2037-03-09T11:30:00-04:00" {
			t.Errorf("by the request's rules: %s", few.body)
		}
		partly := ask(fmt.Sprintf(`,"availability":"any","calendar_ids":["no-such-calendar",%q]`,
			found.text("slots", 0, "calendar_ids", 0)))
		want("of the calendar that can be read", partly,
			sunday+"2037-03-09T10:30:00-04:00 2037-03-09T11:00:00-04:00")
		if partly.get("complete") != false || partly.text("unread_calendars", 0) != "no-such-calendar" ||
			partly.text("slots", 0, "calendar_ids", 0) != found.text("slots", 0, "calendar_ids", 0) {
			t.Errorf("with a calendar that cannot be read: %s", partly.body)
		}
		c.do(http.StatusNotFound, http.MethodPost, "/alpha/calendar/find-slots",
			`{`+window+`,"calendar_ids":["no-such-calendar"]}`)

		last := c.do(http.StatusOK, http.MethodPost, "/alpha/calendar/find-slots",
			`{"start":"2037-03-09","end":"2037-03-10","limit":1}`)
		if got := last.text("say"); got != "I have Monday, March the ninth, at ten thirty in the morning." {
			t.Errorf("it says %q", got)
		}
	})
}

func TestAConnectionHasRulesForSlotsOfItsOwn(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme", "--timezone", "America/New_York", "--duration-minutes", "60",
		"--open-hours", "monday=14:00-16:00")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox", "--name",
		"desk",
		"--set", "slots.duration_minutes=45")
	r := d.serve()
	c := r.as(d.must("key", "create", "--tenant", "acme"))
	found := c.do(http.StatusOK, http.MethodPost, "/alpha/calendar/find-slots",
		`{"start":"2037-03-09","end":"2037-03-10","time_zone":"America/New_York"}`)
	const want = "I have Monday, March the ninth, at two in the afternoon or two forty-five in the afternoon."
	if got := found.text("say"); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	_, says, code := d.do("", "connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider",
		"sandbox",
		"--name", "other", "--set", "slots.duration_minutes=0")
	if code == 0 || !strings.Contains(says, "settings.slots.duration_minutes must be from 1 to 1440") {
		t.Errorf("a meeting of no length: %d, %s", code, says)
	}
	says, wrong, code := d.do("", "tenant", "change", "acme", "--set", "open_hours.funday=09:00-17:00")
	if code == 0 || !strings.Contains(wrong, `open_hours has "funday"`) {
		t.Errorf("hours of no day: %d, %s%s", code, says, wrong)
	}
}
