package settingspage_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/agenttools"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/signin"
)

var bodyField = regexp.MustCompile(`(?s)<textarea id="body"[^>]*>(.*?)</textarea>`)

// filled returns the form of a page as it was shown.
func filled(p shown) url.Values {
	form := url.Values{}
	if found := bodyField.FindStringSubmatch(p.body); found != nil {
		form.Set("body", html.UnescapeString(found[1]))
	}
	return form
}

const tryBooking = "/settings/tenants/acme/try/bookMeeting"

// What somebody tries goes the way of every request, and all records name the person.
func TestAnOperationIsTried(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		b := w.signedIn(signin.NewLink{Person: "pat", Tenant: "acme", Role: apikey.RoleAdmin})
		form := filled(b.get(tryBooking))
		form.Set("idempotency_key", "first")
		booked := b.post(tryBooking, form)
		for _, want := range []string{
			"200 OK", "event_id", "in the sandbox", "X-Request-Id", w.url + "/v1/calendar/book-meeting",
			"Idempotency-Key: first", "X-Api-Key: YOUR_KEY", "/requests?request_id=",
		} {
			if !strings.Contains(html.UnescapeString(booked.body), want) {
				t.Fatalf("the answer lacks %q: %d %s", want, booked.status, booked.body)
			}
		}
		if again := b.post(tryBooking, form); !strings.Contains(again.body, "Idempotency-Replayed") {
			t.Errorf("the same key has another effect: %s", again.body)
		}

		cancel := regexp.MustCompile(`href="(/settings/tenants/acme/try/cancelMeeting[^"]+)"`).
			FindStringSubmatch(booked.body)
		if cancel == nil {
			t.Fatalf("a booking leads nowhere: %s", booked.body)
		}
		page := b.get(html.UnescapeString(cancel[1]))
		cancelled := b.post("/settings/tenants/acme/try/cancelMeeting", filled(page))
		if !strings.Contains(cancelled.body, "200 OK") {
			t.Errorf("what was booked cannot be cancelled: %s", cancelled.body)
		}

		story := regexp.MustCompile(`href="([^"]+request_id=[^"]+)"`).FindStringSubmatch(booked.body)
		w.g.Close() // which writes what waits
		w.open()
		if p := b.get(html.UnescapeString(story[1])); !strings.Contains(p.body, "bookMeeting") {
			t.Errorf("the log has nothing of it: %s", p.body)
		}
		log, err := w.g.Admin().ListRequests(t.Context(), apikey.Caller{}, admin.RequestQuery{Tenant: "acme"})
		if err != nil || len(log.Requests) != 3 {
			t.Fatalf("the log has %v, %v", log, err)
		}
		for _, r := range log.Requests {
			if r.KeyID != "person:pat" || r.Status != http.StatusOK {
				t.Errorf("the log has %+v", r)
			}
		}
		audit := b.get("/settings/tenants/acme/audit").body
		for _, action := range []string{"book-meeting", "cancel-meeting"} {
			at := strings.Index(audit, action)
			if at < 0 || !strings.Contains(audit[max(0, at-300):at], "person:pat") {
				t.Errorf("the audit has no %s of the person: %s", action, audit)
			}
		}
	})
}

// An operation that the interface gets has a page at once.
func TestEveryOperationCanBeTried(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	all := b.get("/settings/tenants/acme/try").body
	if len(api.Operations()) < 13 {
		t.Fatalf("%d operations", len(api.Operations()))
	}
	for _, o := range api.Operations() {
		path := "/settings/tenants/acme/try/" + o.ID
		if !strings.Contains(all, `href="`+path+`"`) {
			t.Errorf("%s is not listed", o.ID)
		}
		page := b.get(path)
		form := filled(page)
		if page.status != http.StatusOK || form.Has("body") != (o.Example != "") {
			t.Errorf("%s: %d %s", o.ID, page.status, page.body)
		}
		form.Set("id", "1")
		p := b.post(path, form)
		if p.status != http.StatusOK || !strings.Contains(p.body, `id="answer"`) ||
			strings.Contains(p.body, ">500 ") {
			t.Errorf("%s is answered %d: %s", o.ID, p.status, p.body)
		}
	}
}

func TestWhatIsTriedAtARealAccountIsConfirmed(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	real := admin.NewConnection{Tenant: "acme"}
	real.Name, real.Kind, real.Provider, real.Default = "office", "calendar", "caldav", true
	real.Settings = map[string]any{"url": "https://127.0.0.1:1/"}
	real.Credentials = map[string]string{"username": "u", "password": "p"}
	if _, err := w.g.Admin().CreateConnection(t.Context(), apikey.Caller{}, admin.Write{}, real); err != nil {
		t.Fatal(err)
	}
	b := w.signedIn(signin.NewLink{Person: "pat"})
	page := b.get(tryBooking)
	if !strings.Contains(page.body, "office (a real account: caldav)") ||
		!strings.Contains(page.body, "acme (sandbox)") {
		t.Errorf("the choice is %s", page.body)
	}
	form := filled(page)
	p := b.post(tryBooking, form)
	if !strings.Contains(p.body, "200 OK") || !strings.Contains(p.body, "in the sandbox") {
		t.Errorf("without a choice it is not the sandbox: %s", p.body)
	}
	form.Set("connection", "office")
	for _, typed := range []string{"", "Acme", "acme2"} {
		form.Set("confirm", typed)
		if p := b.post(tryBooking, form); p.status != http.StatusUnprocessableEntity ||
			!strings.Contains(p.body, `id="confirm-error"`) || strings.Contains(p.body, `id="answer"`) {
			t.Errorf("typed %q: %d %s", typed, p.status, p.body)
		}
	}
	form.Set("confirm", "acme")
	p = b.post(tryBooking, form)
	if p.status != http.StatusOK || !strings.Contains(p.body, `id="answer"`) ||
		strings.Contains(p.body, "in the sandbox") {
		t.Errorf("confirmed: %d %s", p.status, p.body)
	}
	reads := b.post("/settings/tenants/acme/try/listCalendars", url.Values{"connection": {"office"}})
	if !strings.Contains(reads.body, `id="answer"`) {
		t.Errorf("reading needs a confirmation: %s", reads.body)
	}
	w.g.Close()
	w.open()
	log, err := w.g.Admin().ListRequests(t.Context(), apikey.Caller{}, admin.RequestQuery{Tenant: "acme"})
	if err != nil || len(log.Requests) != 3 {
		t.Errorf("what was not confirmed was sent: %v, %v", log.Requests, err)
	}
}

func TestWhatCannotBeTried(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	w.tenant("zebra")
	b := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleAdmin})
	for path, want := range map[string]int{
		"/settings/tenants/acme/try/none":                          http.StatusNotFound,
		"/settings/tenants/zebra/try/bookMeeting":                  http.StatusNotFound,
		"/settings/tenants/zebra/try":                              http.StatusNotFound,
		"/settings/tenants/zebra/agent":                            http.StatusNotFound,
		"/settings/tenants/acme/agent/none":                        http.StatusNotFound,
		"/settings/tenants/zebra/agent/vapi":                       http.StatusNotFound,
		"/settings/tenants/acme/agent/vapi?key=" + w.tenant("yak"): http.StatusNotFound, // another tenant's key
	} {
		if p := b.get(path); p.status != want {
			t.Errorf("%s: %d %s", path, p.status, p.body)
		}
	}
	p := b.post(tryBooking, url.Values{"connection": {"zebra"}})
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="connection-error"`) {
		t.Errorf("another tenant's connection: %d %s", p.status, p.body)
	}
	if p := b.post(tryBooking, url.Values{"body": {"{"}}); !strings.Contains(p.body, "400 Bad Request") {
		t.Errorf("what is no JSON: %d %s", p.status, p.body)
	}
	p = b.post("/settings/tenants/acme/try/Beta_getPhoneNumber", nil)
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="id-error"`) {
		t.Errorf("no id: %d %s", p.status, p.body)
	}
	viewer := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleViewer})
	for _, path := range []string{tryBooking, "/settings/tenants/acme/agent/vapi"} {
		if p := viewer.get(path); p.status != http.StatusOK || strings.Contains(p.body, "Send the request") ||
			strings.Contains(p.body, "Send a test request") {
			t.Errorf("a viewer at %s: %d %s", path, p.status, p.body)
		}
	}
}

func TestAnAgentIsSetUp(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{Person: "pat"})
	reader, err := w.g.Admin().CreateKey(t.Context(), apikey.Caller{}, admin.Write{}, admin.NewKey{
		Tenant: "acme", Spec: apikey.Spec{Label: "reader", Scopes: []apikey.Scope{apikey.ScopeCalendarRead}},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := b.get("/settings/tenants/acme/agent").body
	for _, id := range agenttools.IDs() {
		path := "/settings/tenants/acme/agent/" + id
		if !strings.Contains(all, `href="`+path+`"`) {
			t.Errorf("%s is not listed", id)
		}
		page := b.get(path)
		text := html.UnescapeString(page.body)
		for _, want := range []string{
			"book_slot", "wait for a yes", "frontdesk agent-tools --platform " + id, w.url,
		} {
			if page.status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s lacks %q: %d %s", id, want, page.status, page.body)
			}
		}
		if len(page.body) > 150_000 {
			t.Errorf("%s has %d bytes", id, len(page.body))
		}
		reads := html.UnescapeString(b.get(path + "?key=" + reader.Record.ID).body)
		if strings.Contains(reads, "book_slot") || !strings.Contains(reads, "find_slots") ||
			!strings.Contains(reads, "--key "+reader.Record.ID) {
			t.Errorf("%s for a key that reads: %s", id, reads)
		}
	}
	for keyID, operation := range map[string]string{"": "find-slots", reader.Record.ID: "find-slots"} {
		p := b.post("/settings/tenants/acme/agent/vapi", url.Values{"key": {keyID}})
		if !strings.Contains(p.body, "200 OK") || !strings.Contains(p.body, "POST /alpha/calendar/"+operation) {
			t.Errorf("the test request with the key %q: %d %s", keyID, p.status, p.body)
		}
	}
}
