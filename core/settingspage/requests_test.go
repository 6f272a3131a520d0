package settingspage_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/signin"
)

// ask makes a request to the API.
func (w *world) ask(key, path, body string, headers ...string) {
	w.t.Helper()
	w.askBy(http.MethodPost, key, path, body, headers...)
}

func (w *world) askBy(method, key, path, body string, headers ...string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// busy makes requests of all kinds for a tenant, one of which buys a number, and returns the id of a booking
// in the log of requests. The gateway is another one afterwards.
func (w *world) busy(tenant string) (request string) {
	w.t.Helper()
	ctx, operator := w.t.Context(), apikey.Caller{}
	phone := admin.NewConnection{Tenant: tenant}
	phone.Name, phone.Kind, phone.Provider = "phone", "telephony", "sandbox"
	phone.Settings = map[string]any{"release_delay": "24h"}
	_, err := w.g.Admin().CreateConnection(ctx, operator, admin.Write{}, phone)
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := w.g.Admin().CreateKey(ctx, operator, admin.Write{}, admin.NewKey{Tenant: tenant})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ask(made.Record.Secret, "/beta/phone-numbers", `{"area_code": "415", "name": "Front <office>"}`)
	for range 2 {
		w.ask(made.Record.Secret, "/v1/calendar/book-meeting", `{"title": "Dr. Private", "start_time": "2027-03-02T10:00:00Z",
			"end_time": "2027-03-02T10:30:00Z"}`, "Idempotency-Key", "call <7>")
	}
	w.ask(made.Record.Secret, "/v1/calendar/book-meeting", `{"title": "Dr. Private"}`)
	for range 50 {
		w.ask(made.Record.Secret, "/v1/calendar/list-calendars", `{}`)
	}
	w.g.Close() // which writes what waits
	w.open()
	booked, err := w.g.Admin().ListRequests(ctx, operator, admin.RequestQuery{Tenant: tenant,
		IdempotencyKey: "call <7>"})
	if err != nil || len(booked.Requests) != 2 {
		w.t.Fatalf("booked are %v, %v", booked, err)
	}
	held, err := w.g.Admin().ListNumbers(ctx, operator, tenant)
	if err != nil || len(held.PhoneNumbers) != 1 {
		w.t.Fatalf("held are %v, %v", held, err)
	}
	w.number = strconv.FormatInt(held.PhoneNumbers[0].ID, 10)
	return booked.Requests[1].ID
}

func TestRequestsAreSearchedAndRead(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		w.tenant("zebra")
		w.busy("acme")
		b := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleViewer})
		const list = "/settings/tenants/acme/requests"
		has := func(path string, wants ...string) string {
			t.Helper()
			p := b.get(path)
			if p.status != http.StatusOK || strings.Contains(p.body, "Private") {
				t.Errorf("%s: %d %s", path, p.status, p.body)
			}
			for _, want := range wants {
				if !strings.Contains(p.body, want) {
					t.Errorf("%s lacks %q: %s", path, want, p.body)
				}
			}
			return p.body
		}
		newest := has(list, "<td>listCalendars", "Older")
		// A narrow window shows no heading of a table, so each time says its zone itself.
		for path, zoned := range map[string]string{
			list: `<a href="[^"]+">\d+ \w+ [\d:]{8} UTC</a>`,
			"/settings/tenants/acme/connections/acme": `<td>[\d:]{5} UTC</td>`,
		} {
			if !regexp.MustCompile(zoned).MatchString(b.get(path).body) {
				t.Errorf("the times of %s have no zone", path)
			}
		}
		if strings.Contains(newest, "<td>bookMeeting") || strings.Contains(newest, "Newest") {
			t.Errorf("the newest requests are %s", newest)
		}
		older := regexp.MustCompile(`href="(\?before=[^"]+)"`).FindStringSubmatch(newest)
		if older == nil {
			t.Fatalf("there are no older ones: %s", newest)
		}
		has(list+older[1], "<td>bookMeeting", "answered again", "INVALID_REQUEST", "Newest")
		if failed := has(list+"?outcome=failed", "INVALID_REQUEST"); strings.Contains(failed, "<td>listCalendars") {
			t.Errorf("those that failed are %s", failed)
		}
		if none := has(list+"?reason=SLOT_TAKEN", "There is no such request"); strings.Contains(none, "<table") {
			t.Errorf("none are %s", none)
		}
		for path, want := range map[string]string{
			list + "?operation=listCalendar":                    "did you mean listCalendars?",
			"/settings/tenants/acme/audit?action=book-meeting2": "did you mean book-meeting?",
		} {
			if p := b.get(path); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, want) {
				t.Errorf("%s: %d %s", path, p.status, p.body)
			}
		}
		booked := has(list+"?idempotency_key=call+%3C7%3E", "call &lt;7&gt;",
			"frontdesk request list --tenant acme --idempotency-key")
		stories := regexp.MustCompile(`href="(/settings/tenants/acme/requests/[^"]+)"`).FindAllStringSubmatch(booked, -1)
		if len(stories) != 2 {
			t.Fatalf("there are %d bookings: %s", len(stories), booked)
		}
		has(stories[0][1], "It called no provider", "answered again")
		// What a person knows a key and a connection by, and not their ids alone.
		has(list, "<bdi>fd_live_")
		has(stories[1][1], "by <bdi>fd_live_", "?key_id=key_",
			`<a href="/settings/tenants/acme/connections/acme"><bdi>acme</bdi></a>`)
		has(stories[1][1], "sandbox: book", "call &lt;7&gt;", "frontdesk request show --tenant acme",
			w.url+"/v1/calendar/book-meeting", "X-Api-Key: YOUR_KEY")
		has("/settings/tenants/acme/connections/acme", "It works", `<svg class="plot"`, "The last hour by minutes",
			"requests?connection=acme")

		for _, path := range []string{list + "/none", "/settings/tenants/zebra/requests",
			strings.Replace(stories[0][1], "acme", "zebra", 1)} {
			if p := b.get(path); p.status != http.StatusNotFound {
				t.Errorf("%s: %d", path, p.status)
			}
		}
	})
}

func TestPhoneNumbersAreShownAndRestored(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		w.busy("acme")
		ctx, operator := t.Context(), apikey.Caller{}
		made, err := w.g.Admin().CreateKey(ctx, operator, admin.Write{}, admin.NewKey{Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		held, err := w.g.Admin().ListNumbers(ctx, operator, "acme")
		if err != nil || len(held.PhoneNumbers) != 1 {
			t.Fatalf("held are %v, %v", held, err)
		}
		number := held.PhoneNumbers[0]
		digits := strings.TrimPrefix(number.E164, "+") // templates write a plus as an entity

		const list = "/settings/tenants/acme/phone-numbers"
		b := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleAdmin})
		if p := b.get(list); !strings.Contains(p.body, digits) || !strings.Contains(p.body,
			"Front &lt;office&gt;") ||
			!strings.Contains(p.body, "in use") || strings.Contains(p.body, "/restore") {
			t.Errorf("the page is %s", p.body)
		}
		path := "/beta/phone-numbers/" + strconv.FormatInt(number.ID, 10)
		w.askBy(http.MethodDelete, made.Record.Secret, path, "")
		p := b.get(list)
		restore := regexp.MustCompile(`href="([^"]+/restore)"`).FindStringSubmatch(p.body)
		if !strings.Contains(p.body, "goes back on") || restore == nil {
			t.Fatalf("after the release the page is %s", p.body)
		}
		if p := b.get(restore[1]); p.status != http.StatusOK || !strings.Contains(p.body, "Restore the number") ||
			!strings.Contains(p.body, "Leave it released") {
			t.Errorf("asked for a restore: %d %s", p.status, p.body)
		}
		for _, typed := range []string{"", "restore"} {
			p := b.post(restore[1], url.Values{"e164": {typed}})
			if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="e164-error"`) {
				t.Errorf("restored with %q typed: %d %s", typed, p.status, p.body)
			}
		}
		if p := b.get(list); !strings.Contains(p.body, "goes back on") {
			t.Errorf("without the number typed the page is %s", p.body)
		}
		typed := url.Values{"e164": {" " + number.E164 + " "}}
		if p := b.post(restore[1], typed); p.to != strings.TrimSuffix(restore[1], "/restore") {
			t.Errorf("restoring leads to %q: %d %s", p.to, p.status, p.body)
		}
		if p := b.get(list); !strings.Contains(p.body, digits+" is in use again.") {
			t.Errorf("after that the page is %s", p.body)
		}
		p = b.post(list+"/adopt", url.Values{"adopted_connection": {"phone"}, "e164": {"call me"}})
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="e164-error"`) ||
			!strings.Contains(p.body, "call me") {
			t.Errorf("a wrong number: %d %s", p.status, p.body)
		}
		for _, wrong := range []string{list + "/none/restore", list + "/999/restore"} {
			if p := b.post(wrong, nil); p.status != http.StatusNotFound {
				t.Errorf("%s: %d", wrong, p.status)
			}
		}
	})
}

// A number is bought once however often its form is sent, changed, and released when it was typed.
func TestPhoneNumbersAreBoughtChangedAndReleased(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		w.busy("acme")
		held := func(want int) admin.PhoneNumber {
			t.Helper()
			all, err := w.g.Admin().ListNumbers(t.Context(), apikey.Caller{}, "acme")
			if err != nil || len(all.PhoneNumbers) != want {
				t.Fatalf("held are %+v, %v; want %d", all, err, want)
			}
			newest := all.PhoneNumbers[0]
			for _, n := range all.PhoneNumbers {
				if n.ID > newest.ID {
					newest = n
				}
			}
			return newest
		}
		held(1)
		const list = "/settings/tenants/acme/phone-numbers"
		b := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleAdmin})
		page := b.get(list)
		once := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(page.body)
		if once == nil {
			t.Fatalf("the page has no form: %s", page.body)
		}
		form := url.Values{"once": {once[1]}, "connection": {"phone"}, "area_code": {"512"}, "name": {"Night <line>"},
			"inbound_cloud_employee_id": {"7"}}
		for name, value := range map[string]string{
			"area_code": "five", "inbound_cloud_employee_id": "Pat", "name": strings.Repeat("n", 65),
		} {
			bad := maps.Clone(form)
			bad[name] = []string{value}
			p := b.post(list, bad)
			if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="`+name+`-error"`) ||
				!strings.Contains(p.body, `value="`+value+`"`) {
				t.Errorf("a wrong %s: %d %s", name, p.status, p.body)
			}
		}
		allBad := func(path string, form url.Values, names ...string) {
			t.Helper()
			for _, name := range names {
				form[name] = []string{strings.Repeat("n", 65)}
			}
			for _, name := range names {
				if p := b.post(path, form); !strings.Contains(p.body, `id="`+name+`-error"`) {
					t.Errorf("with every field wrong, %s is not told: %s", name, p.body)
				}
			}
		}
		allBad(list, maps.Clone(form), "area_code", "name", "inbound_cloud_employee_id", "outbound_cloud_employee_id")
		held(1)
		first, again := b.post(list, form), b.post(list, form)
		if first.status != http.StatusSeeOther || again.to != first.to {
			t.Errorf("bought: %d %s, and again: %d %s", first.status, first.to, again.status, again.to)
		}
		bought := held(2)
		digits := strings.TrimPrefix(bought.E164, "+")
		if p := b.get(first.to); !strings.Contains(p.body, digits+" was bought") ||
			!strings.Contains(p.body, "Night &lt;line&gt;") || !strings.Contains(p.body, "cloud employee 7") ||
			!strings.Contains(p.body, "frontdesk number rename --tenant acme "+strconv.FormatInt(bought.ID, 10)) {
			t.Errorf("the page is %s", p.body)
		}
		allBad(first.to, url.Values{}, "name", "inbound_cloud_employee_id", "outbound_cloud_employee_id")
		bad := url.Values{"was_name": {"Night <line>"}, "name": {" "}, "outbound_cloud_employee_id": {"8"}}
		if p := b.post(first.to, bad); p.status != http.StatusUnprocessableEntity ||
			!strings.Contains(p.body, `id="name-error"`) || !strings.Contains(p.body, `value="8"`) {
			t.Errorf("a name of spaces: %d %s", p.status, p.body)
		}
		// What somebody else changes while the form is open stays, unless the person edits the same field.
		if shown := b.get(first.to).body; !strings.Contains(shown, `name="was_inbound_cloud_employee_id" value="7"`) {
			t.Errorf("the form does not say what it shows: %s", shown)
		}
		shown := url.Values{"was_name": {"Night <line>"}, "name": {"Night <line>"}, "was_inbound_cloud_employee_id": {"7"},
			"inbound_cloud_employee_id": {"7"}, "was_outbound_cloud_employee_id": {""}, "outbound_cloud_employee_id": {"8"}}
		rename := admin.NumberChange{Tenant: "acme"}
		rename.ID, rename.Name = bought.ID, new("Day line")
		if _, err := w.g.Admin().ChangeNumber(t.Context(), apikey.Caller{}, admin.Write{}, rename); err != nil {
			t.Fatal(err)
		}
		p := b.post(first.to, shown)
		if n := held(2); p.to != first.to || n.Name != "Day line" || n.Inbound == nil || *n.Inbound != 7 {
			t.Errorf("a change of one field made it %+v: %d %s", n, p.status, p.body)
		}
		if p := b.post(first.to, url.Values{"was_name": {"x"}, "name": {"x"}}); p.to != first.to {
			t.Errorf("nothing edited: %d %s", p.status, p.body)
		}
		p = b.post(first.to, url.Values{"was_inbound_cloud_employee_id": {"7"}, "inbound_cloud_employee_id": {""}})
		changed := held(2)
		if p.to != first.to || changed.Name != "Day line" || changed.Inbound != nil || changed.Outbound == nil ||
			*changed.Outbound != 8 {
			t.Errorf("changed to %+v: %d %s", changed, p.status, p.body)
		}
		release := first.to + "/release"
		if p := b.get(release); p.status != http.StatusOK || !strings.Contains(p.body, digits) {
			t.Errorf("asked for the release: %d %s", p.status, p.body)
		}
		if p := b.post(release, url.Values{"e164": {"yes"}}); p.status != http.StatusUnprocessableEntity ||
			held(2).ReleaseAt != nil {
			t.Errorf("released without the number: %d %s", p.status, p.body)
		}
		if p := b.post(release, url.Values{"e164": {bought.E164}}); p.to != list || held(2).ReleaseAt == nil {
			t.Errorf("released: %d %s", p.status, p.body)
		}
		for _, wrong := range []string{list + "/none", list + "/9007199254740991", list + "/9007199254740991/release"} {
			if p := b.get(wrong); p.status != http.StatusNotFound {
				t.Errorf("%s: %d", wrong, p.status)
			}
		}
	})
}
