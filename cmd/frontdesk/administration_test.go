package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	caldavfake "frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/config"
	"frontdesk/core/gateway"
)

const adminTenants = "/alpha/admin/tenants"

// From an empty gateway to a booked meeting with nothing but the first key from the command line, and back.
func TestAGatewayIsManagedOverHTTP(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, url string) {
		d := newDeployment(t, url)
		key := d.must("admin", "key", "create", "--label", "platform")
		r := d.serve()
		op := r.as(key)

		op.do(http.StatusCreated, http.MethodPost, adminTenants, `{"name":"acme","settings":{"timezone":"Europe/Paris"}}`)
		op.do(http.StatusConflict, http.MethodPost, adminTenants, `{"name":"acme"}`)
		changed := op.do(http.StatusOK, http.MethodPatch, adminTenants+"/acme",
			`{"settings":{"prevent_double_booking":true,"dedupe_window":"5m","status_words":{"open":"New"}}}`)
		if got := string(changed.body); !strings.Contains(got, `"timezone":"Europe/Paris"`) ||
			!strings.Contains(got, `"dedupe_window":"5m"`) || !strings.Contains(got, `"prevent_double_booking":true`) {
			t.Errorf("the tenant is %s", got)
		}
		changed = op.do(http.StatusOK, http.MethodPatch, adminTenants+"/acme", `{"settings":{"timezone":null}}`)
		if got := string(changed.body); strings.Contains(got, "timezone") || !strings.Contains(got, `"5m"`) {
			t.Errorf("the tenant is %s", got)
		}

		const acme = adminTenants + "/acme"
		made := op.do(http.StatusCreated, http.MethodPost, acme+"/connections", `{"kind":"calendar","provider":"sandbox"}`)
		if made.text("name") != "sandbox" || made.get("default") != true || made.text("status") != "ok" {
			t.Errorf("the connection is %s", made.body)
		}
		op.do(http.StatusOK, http.MethodPatch, acme+"/connections/sandbox", `{"settings":{"latency":"1ms"}}`)
		got := op.do(http.StatusOK, http.MethodGet, acme+"/connections/sandbox", "").body
		if !strings.Contains(string(got), "1ms") {
			t.Errorf("the connection is %s", got)
		}
		verified := op.do(http.StatusOK, http.MethodPost, acme+"/connections/sandbox/verify", "")
		if verified.get("ok") != true {
			t.Errorf("the connection does not work: %s", verified.body)
		}

		first := op.do(http.StatusCreated, http.MethodPost, acme+"/keys",
			`{"label":"agent","scopes":["calendar:write"],"connections":["sandbox"]}`)
		agent := r.as(first.text("key"))
		book := `{"title":"Consultation","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z"}`
		agent.post(http.StatusOK, "calendar/book-meeting", book)
		op.do(http.StatusConflict, http.MethodDelete, acme+"/connections/sandbox", "")
		second := op.do(http.StatusCreated, http.MethodPost, acme+"/keys/"+first.text("id")+"/roll", `{"overlap":"1h"}`)
		agent.post(http.StatusOK, "calendar/book-meeting", book)
		another := strings.ReplaceAll(book, "03-02", "03-03")
		r.as(second.text("key")).post(http.StatusOK, "calendar/book-meeting", another)
		op.do(http.StatusConflict, http.MethodPost, acme+"/keys/"+first.text("id")+"/roll", `{}`)
		op.do(http.StatusNoContent, http.MethodDelete, acme+"/keys/"+first.text("id"), "")
		agent.post(http.StatusUnauthorized, "calendar/book-meeting", book)
		listed := op.do(http.StatusOK, http.MethodGet, acme+"/keys", "")
		if listed.get("keys", 0, "revoked_at") == nil || listed.get("keys", 1, "label") != "agent" ||
			strings.Contains(string(listed.body), second.text("key")) {
			t.Errorf("the keys are %s", listed.body)
		}

		op.do(http.StatusCreated, http.MethodPost, acme+"/connections",
			`{"kind":"telephony","provider":"sandbox","name":"phone"}`)
		numbers := r.as(op.do(http.StatusCreated, http.MethodPost, acme+"/keys", `{}`).text("key"))
		bought := numbers.do(http.StatusCreated, http.MethodPost, "/beta/phone-numbers", `{"area_code":"415"}`)
		held := op.do(http.StatusOK, http.MethodGet, acme+"/phone-numbers", "")
		if held.get("phone_numbers", 0, "id") != bought.get("id") ||
			held.text("phone_numbers", 0, "connection") != "phone" {
			t.Errorf("the numbers are %s", held.body)
		}

		audit := string(op.do(http.StatusOK, http.MethodGet, "/alpha/admin/audit?tenant=acme&limit=1000", "").body)
		for _, action := range []string{
			"create-tenant", "add-connection", "create-key", "roll-key", "revoke-key", "book-meeting",
		} {
			if !strings.Contains(audit, `"action":"`+action+`"`) {
				t.Errorf("the audit lacks %s: %s", action, audit)
			}
		}
		if id := adminKeyID(d, key); !strings.Contains(audit, `"actor":"key:`+id+`"`) {
			t.Errorf("the audit does not name the key %s: %s", id, audit)
		}

		op.do(http.StatusNoContent, http.MethodDelete, acme, "")
		op.do(http.StatusNotFound, http.MethodGet, acme, "")
		numbers.do(http.StatusUnauthorized, http.MethodGet, "/beta/phone-numbers", "")
	})
}

// adminKeyID returns the id of a key of the admin interface.
func adminKeyID(d *deployment, key string) string {
	d.t.Helper()
	var keys []struct{ ID, Prefix string }
	if err := json.Unmarshal([]byte(d.must("admin", "key", "list", "--json")), &keys); err != nil {
		d.t.Fatal(err)
	}
	for _, k := range keys {
		if strings.HasPrefix(key, k.Prefix) {
			return k.ID
		}
	}
	d.t.Fatalf("the key is not among %v", keys)
	return ""
}

// adminOperation is an operation of the admin interface as its description has it.
type adminOperation struct{ method, path string }

func adminOperations(t *testing.T) (all []adminOperation) {
	t.Helper()
	document, err := gateway.Document(config.Default(nil), "json", true)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if method != "parameters" {
				all = append(all, adminOperation{strings.ToUpper(method), path})
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d operations are described", len(all))
	}
	return all
}

// adminBodies are valid bodies, so that a refusal is not about the body.
var adminBodies = map[adminOperation]string{
	{"POST", adminTenants}:                                         `{"name":"third"}`,
	{"PATCH", adminTenants + "/{tenant}"}:                          `{"settings":{"timezone":"UTC"}}`,
	{"POST", adminTenants + "/{tenant}/connections"}:               `{"kind":"crm","provider":"sandbox","name":"crm"}`,
	{"POST", adminTenants + "/{tenant}/connect-links"}:             `{"kind":"calendar","provider":"google"}`,
	{"POST", adminTenants + "/{tenant}/phone-numbers"}:             `{"area_code":"415"}`,
	{"POST", adminTenants + "/{tenant}/phone-numbers/adopt"}:       `{"e164":"+14155550123"}`,
	{"PATCH", adminTenants + "/{tenant}/phone-numbers/{id}"}:       `{"name":"Ours"}`,
	{"POST", "/alpha/admin/keys"}:                                  `{"role":"admin","tenant":"zebra"}`,
	{"PATCH", adminTenants + "/{tenant}/connections/{connection}"}: `{"default":true}`,
	{"POST", adminTenants + "/{tenant}/webhooks"}:                  `{"url":"https://platform.example.com/hooks"}`,
	{"POST", adminTenants + "/{tenant}/agents"}:                    `{"platform":"retell"}`,
	{"PATCH", adminTenants + "/{tenant}/agents/{agent}"}:           `{"scopes":["calendar:read"]}`,
	{"POST", "/alpha/admin/webhooks"}:                              `{"url":"https://platform.example.com/hooks"}`,
}

// Every operation of the admin interface refuses who must not use it: no key, a tenant's API key, a viewer
// who would change something, and a key for another tenant, to which what it asks for does not exist.
func TestAdminKeysReachOnlyWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	ids := map[string]string{}
	for _, name := range []string{"acme", "zebra"} {
		d.must("tenant", "create", name)
		d.must("connection", "add", "--tenant", name, "--kind", "calendar", "--provider", "sandbox", "--name", name)
		ids[name+" API key"] = d.must("key", "create", "--tenant", name)
		ids[name+" admin"] = d.must("admin", "key", "create", "--tenant", name)
	}
	ids["operator's viewer"] = d.must("admin", "key", "create", "--role", "viewer")
	ids["operator"] = d.must("admin", "key", "create")
	otherKey, otherAdmin := keyOf(d, "zebra", ids["zebra API key"]), adminKeyID(d, ids["zebra admin"])
	operatorID := adminKeyID(d, ids["operator"])
	d.must("webhook", "add", "--tenant", "zebra", "--url", "https://zebra.example.com/hooks")
	webhook := webhookID(d, "zebra")
	address := d.must("agent", "add", "--tenant", "zebra", "--platform", "tools")
	agent := address[strings.LastIndexByte(address, '/')+1:]
	r := d.serve()
	r.as(ids["zebra API key"]).post(http.StatusOK, "calendar/list-calendars", `{}`)
	request := eventually(t, r.as(ids["operator"]), adminTenants+"/zebra/requests").text("requests", 0, "id")
	before := r.as(ids["operator"]).do(http.StatusOK, http.MethodGet, "/alpha/admin/audit?limit=1000", "").body

	for _, o := range adminOperations(t) {
		body := adminBodies[o]
		if body == "" && o.method != http.MethodGet {
			body = "{}"
		}
		path := func(tenant, connection, key string) string {
			return strings.NewReplacer("{tenant}", tenant, "{connection}", connection, "{key}", key, "{id}", "1",
				"{request}", request, "{webhook}", webhook, "{agent}", agent, "{delivery}", "msg_none").Replace(o.path)
		}
		others := path("zebra", "zebra", otherKey)
		if strings.HasPrefix(o.path, "/alpha/admin/keys/{key}") {
			others = path("", "", otherAdmin)
		}
		name := o.method + " " + o.path
		wants := func(who, key, path string, status int) answer {
			a, err := r.as(key).call(o.method, path, body)
			if err != nil || a.status != status {
				t.Errorf("%s by %s: %v %d %s, want %d", name, who, err, a.status, a.body, status)
			}
			return a
		}
		wants("nobody", "", others, http.StatusUnauthorized)
		wants("an API key", ids["acme API key"], others, http.StatusForbidden)
		wants("an API key of the tenant", ids["zebra API key"], others, http.StatusForbidden)
		if o.method != http.MethodGet && !strings.HasSuffix(o.path, "/verify") {
			wants("a viewer", ids["operator's viewer"], others, http.StatusForbidden)
		}
		switch {
		case o == adminOperation{http.MethodPost, adminTenants},
			o == adminOperation{http.MethodDelete, adminTenants + "/{tenant}"},
			strings.HasPrefix(o.path, "/alpha/admin/webhooks"):
			wants("a tenant's admin", ids["acme admin"], others, http.StatusForbidden)
		case strings.Contains(o.path, "{") || o.method == http.MethodPost:
			// What is another tenant's is refused as what does not exist.
			a := wants("another tenant's admin", ids["acme admin"], others, http.StatusNotFound)
			b := wants("another tenant's admin", ids["acme admin"], path("nobody", "zebra", "key_none"),
				http.StatusNotFound)
			if o.path != "/alpha/admin/keys" && a.text("type") != b.text("type") {
				t.Errorf("%s: other %s, unknown %s", name, a.body, b.body)
			}
		default: // a list
			a := wants("another tenant's admin", ids["acme admin"], others, http.StatusOK)
			if strings.Contains(string(a.body), "zebra") {
				t.Errorf("%s tells acme of another tenant: %s", name, a.body)
			}
		}
	}
	acme := r.as(ids["acme admin"])
	acme.do(http.StatusNotFound, http.MethodDelete, "/alpha/admin/keys/"+operatorID, "")
	acme.do(http.StatusNotFound, http.MethodPost, "/alpha/admin/keys/"+operatorID+"/roll", "{}")
	acme.do(http.StatusNotFound, http.MethodGet, "/alpha/admin/audit?tenant=zebra", "")
	acme.do(http.StatusNotFound, http.MethodDelete, adminTenants+"/acme/keys/"+otherKey, "")
	acme.do(http.StatusNotFound, http.MethodDelete, adminTenants+"/acme/agents/"+agent, "")
	acme.do(http.StatusNotFound, http.MethodDelete, adminTenants+"/acme/keys/"+agent, "")
	acme.do(http.StatusNotFound, http.MethodPost, adminTenants+"/acme/keys/"+otherAdmin+"/roll", "{}")
	acme.do(http.StatusUnprocessableEntity, http.MethodPost, "/alpha/admin/keys", `{"role":"admin"}`)
	after := r.as(ids["operator"]).do(http.StatusOK, http.MethodGet, "/alpha/admin/audit?limit=1000", "").body
	if string(after) != string(before) {
		t.Errorf("something was changed: before %s\nafter %s", before, after)
	}
}

// An administrator buys, changes and releases numbers by program and by command, each once, and the audit
// names who did it.
func TestNumbersAreManagedByTheAdminInterface(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, url string) {
		d := newDeployment(t, url)
		d.must("tenant", "create", "acme")
		d.must("connection", "add", "--tenant", "acme", "--kind", "telephony", "--provider", "sandbox", "--name", "phone")
		key, other := d.must("admin", "key", "create"), d.must("admin", "key", "create", "--tenant", "acme")
		agent := d.must("key", "create", "--tenant", "acme")
		r := d.serve()
		op := r.as(key)
		const numbers, once = adminTenants + "/acme/phone-numbers", "Idempotency-Key: purchase-1"
		const front = `{"area_code":"415","name":" Front office ","inbound_cloud_employee_id":7}`

		first := op.do(http.StatusCreated, http.MethodPost, numbers, front, once)
		again := op.do(http.StatusCreated, http.MethodPost, numbers, front, once)
		if string(first.body) != string(again.body) || again.header.Get("Idempotency-Replayed") != "true" ||
			first.text("name") != "Front office" || first.text("connection") != "phone" {
			t.Errorf("bought %s, and again %s", first.body, again.body)
		}
		op.do(http.StatusUnprocessableEntity, http.MethodPost, numbers, `{"area_code":"512"}`, once)
		// Neither another key of the admin interface nor the tenant's API key is told of this purchase.
		theirs := r.as(other).do(http.StatusCreated, http.MethodPost, numbers, front, once)
		agents := r.as(agent).do(http.StatusCreated, http.MethodPost, "/beta/phone-numbers", `{"area_code":"415"}`, once)
		if theirs.get("id") == first.get("id") || agents.get("id") == first.get("id") ||
			agents.get("id") == theirs.get("id") {
			t.Errorf("bought are %s, %s and %s", first.body, theirs.body, agents.body)
		}
		for _, wrong := range []string{`{}`, `{"area_code":"111"}`, `{"area_code":"415","name":" "}`} {
			op.do(http.StatusUnprocessableEntity, http.MethodPost, numbers, wrong)
		}
		op.do(http.StatusNotFound, http.MethodPost, numbers, `{"area_code":"415","connection":"none"}`)

		one := numbers + "/" + fmt.Sprint(int64(first.get("id").(float64)))
		changed := op.do(http.StatusOK, http.MethodPatch, one,
			`{"name":"Night line","inbound_cloud_employee_id":null,"outbound_cloud_employee_id":8}`)
		if changed.text("name") != "Night line" || changed.get("inbound_cloud_employee_id") != nil ||
			fmt.Sprint(changed.get("outbound_cloud_employee_id")) != "8" {
			t.Errorf("changed to %s", changed.body)
		}
		op.do(http.StatusNoContent, http.MethodDelete, one, "", once)
		op.do(http.StatusNoContent, http.MethodDelete, one, "", once)
		op.do(http.StatusNotFound, http.MethodDelete, one, "")
		op.do(http.StatusNotFound, http.MethodPatch, one, `{"name":"Gone"}`)

		bought := d.must("number", "buy", "--tenant", "acme", "512", "--name", "Desk", "--idempotency-key", "k")
		if repeated := d.must("number", "buy", "--tenant", "acme", "512", "--name", "Desk", "--idempotency-key",
			"k"); repeated != bought {
			t.Errorf("the command bought %s, and again %s", bought, repeated)
		}
		id, _, _ := strings.Cut(bought, " ")
		d.must("number", "rename", "--tenant", "acme", id, "Back office")
		d.must("number", "assign", "--tenant", "acme", id, "--inbound", "9")
		held := d.must("number", "list", "--tenant", "acme")
		if !strings.Contains(held, "Back office") || !strings.Contains(held, "9") {
			t.Errorf("the numbers are %s", held)
		}
		for _, args := range [][]string{
			{"release", "--tenant", "acme", id}, {"assign", "--tenant", "acme", id},
			{"assign", "--tenant", "acme", id, "--inbound", "nobody"}, {"buy", "--tenant", "acme", "12"},
		} {
			if out, errs, code := d.do("", append([]string{"number"}, args...)...); code == exitOK {
				t.Errorf("number %v: %s%s", args, out, errs)
			}
		}
		d.must("number", "release", "--tenant", "acme", id, "--yes")

		var did []string
		for _, row := range d.audit("--tenant", "acme") {
			if strings.HasSuffix(row.Action, "-phone-number") {
				did = append(did, row.Actor+" "+row.Action+" "+row.Outcome)
			}
		}
		operatorKey := "key:" + adminKeyID(d, key)
		want := []string{
			operatorKey + " buy-phone-number done", "key:" + adminKeyID(d, other) + " buy-phone-number done",
			"key:" + keyOf(d, "acme", agent) + " buy-phone-number done", operatorKey + " update-phone-number done",
			operatorKey + " release-phone-number done",
			operatorKey + " release-phone-number failed:PHONE_NUMBER_NOT_FOUND",
			operatorKey + " update-phone-number failed:PHONE_NUMBER_NOT_FOUND", "operator:number buy buy-phone-number done",
			"operator:number rename update-phone-number done", "operator:number assign update-phone-number done",
			"operator:number release release-phone-number done",
		}
		if !slices.Equal(did, want) {
			t.Errorf("the audit has\n%s\nwant\n%s", strings.Join(did, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A platform's program repeats a creation whose answer it has lost, perhaps at another replica.
func TestARepeatedCreationIsAnsweredOverHTTP(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, url string) {
		d := newDeployment(t, url)
		key := d.must("admin", "key", "create")
		one, other := d.serve().as(key), d.serve().as(key)
		const once, acme = "Idempotency-Key: setup-1", adminTenants + "/acme"
		for _, c := range []struct{ path, body, another string }{
			{adminTenants, `{"name":"acme"}`, `{"name":"beta"}`},
			{acme + "/connections", `{"kind":"calendar","provider":"sandbox"}`, `{"kind":"crm","provider":"sandbox"}`},
			{acme + "/keys", `{"label":"agent"}`, `{"label":"another"}`},
			{"/alpha/admin/keys", `{"role":"viewer","tenant":"acme"}`, `{"role":"admin","tenant":"acme"}`},
			{acme + "/webhooks", `{"url":"https://platform.example.com/a"}`, `{"url":"https://platform.example.com/b"}`},
			{"/alpha/admin/webhooks", `{"url":"https://platform.example.com/a"}`,
				`{"url":"https://platform.example.com/b"}`},
		} {
			header := once
			if c.path == "/alpha/admin/webhooks" { // one operation with the webhooks of tenants
				header = "Idempotency-Key: setup-2"
			}
			first := one.do(http.StatusCreated, http.MethodPost, c.path, c.body, header)
			again := other.do(http.StatusCreated, http.MethodPost, c.path, c.body, header)
			if string(again.body) != string(first.body) || first.header.Get("Idempotency-Replayed") != "" ||
				again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("POST %s gets %s %v, and again %s %v", c.path, first.body, first.header, again.body, again.header)
			}
			refused := other.do(http.StatusUnprocessableEntity, http.MethodPost, c.path, c.another, header)
			if !strings.HasSuffix(refused.text("type"), "/problems/idempotency-key-reused") {
				t.Errorf("another request with the key gets %s", refused.body)
			}
		}
		keys := one.do(http.StatusOK, http.MethodGet, acme+"/keys", "")
		if all, _ := keys.get("keys").([]any); len(all) != 1 {
			t.Errorf("the keys are %s", keys.body)
		}
		hers := caller{t: t, base: one.base, key: d.must("admin", "key", "create", "--tenant", "acme")}
		made := hers.do(http.StatusCreated, http.MethodPost, acme+"/keys", `{"label":"agent"}`, once)
		if made.text("id") == keys.text("keys", 0, "id") {
			t.Errorf("another caller gets the operator's answer: %s", made.body)
		}
	})
}

// A tenant's administrator manages the tenant, and rolls and revokes keys of the admin interface for it.
func TestATenantsAdministratorManagesTheTenant(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	key := d.must("admin", "key", "create", "--tenant", "acme", "--label", "customer")
	r := d.serve()
	own := r.as(key)
	const acme = adminTenants + "/acme"
	own.do(http.StatusOK, http.MethodPatch, acme, `{"settings":{"timezone":"Europe/Paris"}}`)
	own.do(http.StatusCreated, http.MethodPost, acme+"/connections", `{"kind":"calendar","provider":"sandbox"}`)
	agent := own.do(http.StatusCreated, http.MethodPost, acme+"/keys", `{}`).text("key")
	r.as(agent).post(http.StatusOK, "calendar/list-calendars", `{}`)

	made := own.do(http.StatusCreated, http.MethodPost, "/alpha/admin/keys", `{"role":"viewer","tenant":"acme"}`)
	viewer := r.as(made.text("key"))
	viewer.do(http.StatusOK, http.MethodGet, acme, "")
	viewer.do(http.StatusForbidden, http.MethodPost, acme+"/keys", `{}`)
	next := own.do(http.StatusCreated, http.MethodPost, "/alpha/admin/keys/"+made.text("id")+"/roll", `{"overlap":"0s"}`)
	if next.text("role") != "viewer" || next.text("tenant") != "acme" {
		t.Errorf("the key was rolled to %s", next.body)
	}
	viewer.do(http.StatusUnauthorized, http.MethodGet, acme, "")
	r.as(next.text("key")).do(http.StatusOK, http.MethodGet, acme, "")
	own.do(http.StatusNoContent, http.MethodDelete, "/alpha/admin/keys/"+next.text("id"), "")
	r.as(next.text("key")).do(http.StatusUnauthorized, http.MethodGet, acme, "")
	if listed := own.do(http.StatusOK, http.MethodGet, "/alpha/admin/keys", ""); listed.get("keys", 3) != nil ||
		listed.text("keys", 0, "label") != "customer" || listed.text("keys", 2, "tenant") != "acme" {
		t.Errorf("the keys are %s", listed.body)
	}
	if again := d.must("admin", "key", "list"); strings.Contains(again, key) {
		t.Error("a key is shown again")
	}
}

func webhookID(d *deployment, tenant string) string {
	d.t.Helper()
	var webhooks []struct{ ID string }
	err := json.Unmarshal([]byte(d.must("webhook", "list", "--tenant", tenant, "--json")), &webhooks)
	if err != nil || len(webhooks) != 1 {
		d.t.Fatalf("%v %v", webhooks, err)
	}
	return webhooks[0].ID
}

func keyOf(d *deployment, tenant, key string) string {
	d.t.Helper()
	var keys []struct{ ID, Prefix string }
	err := json.Unmarshal([]byte(d.must("key", "list", "--tenant", tenant, "--json")), &keys)
	if err != nil || len(keys) != 1 {
		d.t.Fatalf("%v %v", keys, err)
	}
	return keys[0].ID
}

// Bad input at the admin interface is refused with the field's name, all faults at once.
func TestBadInputOfTheAdminInterface(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	r := d.serve()
	op := r.as(d.must("admin", "key", "create"))
	for _, c := range []struct{ method, path, body, wants string }{
		{"POST", adminTenants, `{"name":"No Good","settings":{"timezon":"UTC","reject_past":"yes"}}`,
			"name settings.reject_past settings.timezon"},
		{"PATCH", adminTenants + "/acme", `{"settings":{"timezone":"Mars/Base","dedupe_window":"soon"}}`,
			"settings.dedupe_window settings.timezone"},
		{"PATCH", adminTenants + "/acme", `{"settings":[]}`, "settings"},
		{"POST", adminTenants + "/acme/connections", `{"kind":"calendar","provider":"caldav","credentials":{"username":1}}`, "credentials"},
		{"POST", adminTenants + "/acme/connections", `{"kind":"calendar","provider":"none"}`, "provider"},
		{"POST", adminTenants + "/acme/keys", `{"scopes":["everything"],"connections":["none"],"test":"yes"}`, "test"},
		{"POST", adminTenants + "/acme/keys", `{"scopes":["admin:write"]}`, "scopes[0]"},
		{"POST", adminTenants + "/acme/keys/key_x/roll", `{"overlap":"a while"}`, "overlap"},
		{"GET", "/alpha/admin/audit?limt=5&limit=many&limit=5", "", "query.limit query.limt"},
		{"GET", "/alpha/admin/audit?limit=5000", "", "query.limit"},
		{"GET", "/alpha/admin/audit?tenant=ac%me", "", "query.tenant"}, // it would tell of all tenants
		{"GET", adminTenants + "/acme/requests?outcome=failed;limit=1", "", "query.outcome"},
		{"GET", adminTenants + "/acme/requests?limit=501&outcome=bad", "", "query.limit query.outcome"},
		{"POST", "/alpha/admin/keys", `{"role":"root"}`, "role"},
		{"POST", "/alpha/admin/webhooks", `{"url":"http://platform.example.com","events":["connection.lost"]}`,
			"events[0] url"},
		{"POST", "/alpha/admin/webhooks", `{"url":"https://user:pw@platform.example.com"}`, "url"},
	} {
		a := op.do(http.StatusUnprocessableEntity, c.method, c.path, c.body)
		var problem struct{ Errors []struct{ Location string } }
		if err := json.Unmarshal(a.body, &problem); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range problem.Errors {
			got = append(got, e.Location)
		}
		slices.Sort(got)
		wants := strings.Fields(c.wants)
		for i, field := range wants {
			if !strings.HasPrefix(field, "query.") {
				wants[i] = "body." + field
			}
		}
		if !slices.Equal(got, wants) {
			t.Errorf("%s %s %s: faults of %q, want %q: %s", c.method, c.path, c.body, got, wants, a.body)
		}
	}
	unchanged := op.do(http.StatusOK, http.MethodGet, adminTenants+"/acme", "")
	if got := fmt.Sprint(unchanged.get("settings")); got != "map[]" {
		t.Errorf("the tenant has %s", got)
	}
}

// eventually returns the list of requests at a path once the log has one.
func eventually(t *testing.T, c caller, path string) answer {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		a := c.do(http.StatusOK, http.MethodGet, path, "")
		if len(a.get("requests").([]any)) > 0 {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s stays empty", path)
		}
	}
}

// What a request did is found by who asked, what for, and how it ended, with each call of a provider. The
// connection's health follows from it. Nothing of what the request said is kept.
func TestWhatRequestsDidIsFound(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, url string) {
		var down atomic.Bool
		fake := caldavfake.New(caldavfake.Options{User: "pat", Password: "desk-secret", Email: "pat@example.com"})
		calendar := fake.AddCalendar("work", "Work", "", false)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if down.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			fake.ServeHTTP(w, req)
		}))
		t.Cleanup(server.Close)
		d := newDeployment(t, url, "CALDAV_PASSWORD=desk-secret", "CALDAV_USER=pat",
			"FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
		d.must("tenant", "create", "acme")
		d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--name",
			"office",
			"--set", "url="+server.URL, "--set", "calendar="+server.URL+calendar, "--secret", "username=env:CALDAV_USER",
			"--secret", "password=env:CALDAV_PASSWORD")
		key := d.must("key", "create", "--tenant", "acme")
		r := d.serve()
		op := r.as(d.must("admin", "key", "create", "--role", "viewer"))
		const acme = adminTenants + "/acme"
		health := func() answer {
			return op.do(http.StatusOK, http.MethodGet, acme+"/connections/office/health", "")
		}
		if got := health(); got.text("state") != "unknown" || got.text("circuit_breaker") != "closed" {
			t.Errorf("before any request its health is %s", got.body)
		}

		agent := r.as(key)
		book := `{"title":"Dr. Private","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z"}`
		for range 2 {
			agent.do(http.StatusOK, http.MethodPost, "/v1/calendar/book-meeting", book, "Idempotency-Key: call-1",
				"X-Request-Id: turn-1")
		}
		down.Store(true)
		agent.do(http.StatusServiceUnavailable, http.MethodPost, "/v1/calendar/list-events", `{}`)

		failed := eventually(t, op, acme+"/requests?outcome=failed&operation=listEvents")
		if failed.text("requests", 0, "reason") != "PROVIDER_UNAVAILABLE" {
			t.Errorf("the failed request is %s", failed.body)
		}
		if none := op.do(http.StatusNotFound, http.MethodGet, "/alpha/admin/audit?tenant=nobody", ""); !strings.Contains(
			string(none.body), "nobody") {
			t.Errorf("the audit of nobody is %s", none.body)
		}
		for query, want := range map[string]string{
			acme + "/requests?operation=listEvent":  "did you mean listEvents?",
			"/alpha/admin/audit?action=book-meting": "did you mean book-meeting?",
		} {
			if refused := op.do(http.StatusUnprocessableEntity, http.MethodGet, query, ""); !strings.Contains(
				string(refused.body), want) {
				t.Errorf("GET %s: %s", query, refused.body)
			}
		}
		story := op.do(http.StatusOK, http.MethodGet, acme+"/requests/"+failed.text("requests", 0, "id"), "")
		if story.get("tries", 1) == nil || story.text("tries", 0, "outcome") != "unavailable" ||
			fmt.Sprint(story.get("tries", 0, "exchanges", 0, "status")) != "503" {
			t.Errorf("its story is %s", story.body)
		}
		booked := op.do(http.StatusOK, http.MethodGet, acme+"/requests?idempotency_key=call-1&request_id=turn-1"+
			"&connection=office", "")
		if len(booked.get("requests").([]any)) != 2 || booked.get("requests", 0, "replayed") != true ||
			booked.get("requests", 1, "replayed") != false || booked.get("next") != nil {
			t.Errorf("the bookings are %s", booked.body)
		}
		story = op.do(http.StatusOK, http.MethodGet, acme+"/requests/"+booked.text("requests", 1, "id"), "")
		if story.text("tries", 0, "provider") != "caldav" || strings.Contains(string(story.body), "Private") {
			t.Errorf("its story is %s", story.body)
		}
		page := op.do(http.StatusOK, http.MethodGet, acme+"/requests?limit=1", "")
		next := op.do(http.StatusOK, http.MethodGet, acme+"/requests?limit=1&before="+page.text("next"), "")
		if next.text("requests", 0, "id") == page.text("requests", 0, "id") {
			t.Errorf("the next page is %s", next.body)
		}

		got := health()
		if got.text("state") != "failing" || got.text("reason") != "PROVIDER_UNAVAILABLE" ||
			got.get("since") == nil ||
			got.get("last_success_at") == nil || fmt.Sprint(got.get("last_hour", "failed")) != "1" ||
			fmt.Sprint(got.get("last_hour", "requests")) != "2" { // the replayed one called nobody
			t.Errorf("its health is %s", got.body)
		}
		down.Store(false)
		for deadline := time.Now().Add(patience); ; {
			if a, err := agent.call(http.MethodPost, "/v1/calendar/list-events", `{}`); err == nil && a.status == 200 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the provider is not used again")
			}
			time.Sleep(50 * time.Millisecond)
		}
		for deadline := time.Now().Add(patience); health().text("state") != "ok"; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("its health is %s", health().body)
			}
		}

		listed := d.must("request", "list", "--tenant", "acme", "--failed")
		if !strings.Contains(listed, "PROVIDER_UNAVAILABLE") {
			t.Errorf("the command lists %s", listed)
		}
	})
}
