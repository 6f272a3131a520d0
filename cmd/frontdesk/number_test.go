package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	telnyxfake "frontdesk/adapters/telephony/telnyx/fake"
	twiliofake "frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/store/storetest"
)

// phoneAccount is an account at a fake telephony provider.
type phoneAccount struct {
	*fakeProvider
	connection connection.Spec

	// These act at the provider itself. A sandbox has none of them.
	held    func() map[string]thing // by number
	bought  func() int
	lead    func(e164, to string) // changes where calls lead, as in the provider's console
	rename  func(e164, name string)
	arrive  func(e164 string)
	vanish  func(e164 string)
	block   func(e164 string, blocked bool)
	sellOut func(areaCode string)
	snatch  func(orders int) // that many orders come too late
	leads   string           // the prefix of where calls of employee 7 go
	funds   func(enough bool)
	remove  func() // removes what calls lead to
	putBack func()

	perDay int // the tenant's purchase limit per day; 0 means 100
}

// thing is a number as the provider holds it.
type thing struct{ name, leads string }

func phoneAccounts() map[string]func(t testing.TB) *phoneAccount {
	return map[string]func(t testing.TB) *phoneAccount{
		"twilio": fakeTwilio, "telnyx": fakeTelnyx, "sandbox": sandboxPhoneAccount,
	}
}

const voiceTemplate = "https://agents.example.com/voice?employee={cloud_employee_id}&number={e164}"

// sold lists area codes for which every provider has numbers, at least stock of each. That many are needed
// because a purchase with an unknown outcome keeps its number from the others of the account.
var sold = []string{"415", "628", "303", "512", "416", "604"}

const stock = 100

func fakeTwilio(t testing.TB) *phoneAccount {
	fake := twiliofake.New(twiliofake.Options{
		AuthToken: "twilio-secret-token", DefaultVoiceURL: "https://demo.twilio.com/welcome/voice/",
	})
	for i := range stock {
		for _, area := range sold {
			fake.Restock(fmt.Sprintf("+1%s555%d", area, 1000+i))
		}
	}
	p := &fakeProvider{name: "twilio", title: "Twilio", revoke: fake.Revoke}
	base := p.serve(t, func(string) http.Handler { return fake })
	p.environ = []string{"FRONTDESK_PROVIDERS__TWILIO__API_URL=" + base}
	alter := func(e164 string, change func(*twiliofake.Number)) {
		if err := fake.Alter(e164, change); err != nil {
			t.Error(err)
		}
	}
	return &phoneAccount{
		fakeProvider: p,
		connection: connection.Spec{
			Kind: adapter.KindTelephony, Provider: "twilio",
			Settings:    map[string]any{"voice_url_template": voiceTemplate},
			Credentials: map[string]string{"account_sid": twiliofake.AccountSID, "auth_token": "twilio-secret-token"},
		},
		held: func() map[string]thing {
			all := map[string]thing{}
			for _, n := range fake.Numbers() {
				all[n.E164] = thing{n.Name, n.Trunk + n.Application + n.VoiceURL}
			}
			return all
		},
		bought:  fake.Purchases,
		lead:    func(e164, to string) { alter(e164, func(n *twiliofake.Number) { n.VoiceURL = to }) },
		rename:  func(e164, name string) { alter(e164, func(n *twiliofake.Number) { n.Name = name }) },
		arrive:  func(e164 string) { fake.Arrive(twiliofake.AccountSID, e164) },
		vanish:  fake.Vanish,
		sellOut: fake.SellOut,
		snatch:  fake.SnatchNext,
		block: func(e164 string, blocked bool) {
			if blocked {
				if err := fake.RegisterEmergencyAddress(e164); err != nil {
					t.Error(err)
				}
				return
			}
			done, err := fake.UnregisterEmergencyAddress(e164)
			if err == nil {
				err = done()
			}
			if err != nil {
				t.Error(err)
			}
		},
		leads:   "https://agents.example.com/voice?employee=7&number=%2B1",
		funds:   func(enough bool) { fake.SetBalance(map[bool]string{true: "50.00", false: "0.00"}[enough]) },
		remove:  func() { fake.Remove(twiliofake.Application); fake.Remove(twiliofake.Trunk) },
		putBack: fake.PutBack,
	}
}

func fakeTelnyx(t testing.TB) *phoneAccount {
	return telnyxWith(t, telnyxfake.Options{
		OrderTime: 300 * time.Millisecond, NumberLag: 100 * time.Millisecond,
	})
}

func telnyxWith(t testing.TB, o telnyxfake.Options) *phoneAccount {
	o.APIKey, o.PerArea = "KEYtelnyx-secret-token", stock
	fake := telnyxfake.New(o)
	p := &fakeProvider{name: "telnyx", title: "Telnyx", revoke: fake.Revoke}
	base := p.serve(t, func(string) http.Handler { return fake })
	p.environ = []string{"FRONTDESK_PROVIDERS__TELNYX__API_URL=" + base + telnyxfake.APIPath}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	return &phoneAccount{
		fakeProvider: p,
		connection: connection.Spec{
			Kind: adapter.KindTelephony, Provider: "telnyx",
			Settings:    map[string]any{"connection_id": telnyxfake.Application},
			Credentials: map[string]string{"api_key": "KEYtelnyx-secret-token"},
		},
		held: func() map[string]thing {
			all := map[string]thing{}
			for _, n := range fake.Held() {
				all[n.E164] = thing{n.CustomerReference, n.ConnectionID}
			}
			return all
		},
		bought: func() int {
			n, err := fake.Purchases(context.Background())
			check(err)
			return n
		},
		lead:    func(e164, to string) { check(fake.Route(e164, to)) },
		rename:  func(e164, name string) { check(fake.Rename(e164, name)) },
		arrive:  func(e164 string) { check(fake.Arrive(context.Background(), e164)) },
		vanish:  func(e164 string) { check(fake.Vanish(context.Background(), e164)) },
		sellOut: fake.SellOut,
		snatch:  fake.Outbid,
		block: func(e164 string, blocked bool) {
			status := "disabled"
			if blocked {
				status = "active"
			}
			check(fake.Emergency(e164, status))
		},
		leads:   telnyxfake.Application,
		funds:   func(enough bool) { fake.SetBalance(map[bool]int{true: 50_00}[enough]) },
		remove:  func() { fake.Remove(telnyxfake.Application) },
		putBack: fake.PutBack,
	}
}

func sandboxPhoneAccount(testing.TB) *phoneAccount {
	return &phoneAccount{fakeProvider: &fakeProvider{name: "sandbox"}, connection: connection.Spec{
		Kind: adapter.KindTelephony, Provider: "sandbox",
		Settings: map[string]any{"voice_url_template": voiceTemplate, "order_time": "300ms"},
	}}
}

// deploy starts a gateway with a tenant that has the account.
func (l *phoneAccount) deploy(
	t testing.TB, storeURL string, settings ...string,
) (*deployment, *running, caller) {
	d := newDeployment(t, storeURL, l.environ...)
	d.must("migrate")
	key := l.tenant(d, "acme", settings...)
	r := d.serve()
	return d, r, r.as(key)
}

// tenant creates a tenant that has the account, and returns a key of the tenant.
func (l *phoneAccount) tenant(d *deployment, name string, settings ...string) (key string) {
	d.must("tenant", "create", name, "--max-purchases-per-day", fmt.Sprint(cmp.Or(l.perDay, 100)))
	connect := []string{
		"connection", "add", "--tenant", name, "--kind", string(l.connection.Kind), "--provider",
		l.connection.Provider, "--name", "phones",
	}
	for name, value := range l.connection.Settings {
		connect = append(connect, "--set", fmt.Sprintf("%s=%v", name, value))
	}
	for name, secret := range l.connection.Credentials {
		d.environ = append(d.environ, "SECRET_"+name+"="+secret)
		connect = append(connect, "--secret", name+"=env:SECRET_"+name)
	}
	for _, s := range settings {
		connect = append(connect, "--set", s)
	}
	d.must(connect...)
	return strings.TrimSpace(d.must("key", "create", "--tenant", name))
}

const phoneNumbers = "/beta/phone-numbers"

func (c caller) buy(areaCode, more string, headers ...string) answer {
	c.t.Helper()
	return c.do(201, http.MethodPost, phoneNumbers, `{"area_code":"`+areaCode+`"`+more+`}`, headers...)
}

func pathOf(a answer) string { return fmt.Sprintf("%s/%.0f", phoneNumbers, a.get("id")) }

// One script for every provider of numbers: search, buy, assign, re-assign, rename, list, release.
func TestLifeOfANumber(t *testing.T) {
	t.Parallel()
	for name, fake := range phoneAccounts() {
		for store, open := range map[string]func(testing.TB) string{
			"SQLite": func(testing.TB) string { return "" }, "PostgreSQL": storetest.Postgres,
		} {
			t.Run(name+" on "+store, func(t *testing.T) {
				t.Parallel()
				l := fake(t)
				_, _, c := l.deploy(t, open(t))
				lifeOfANumber(t, l, c)
			})
		}
	}
}

func lifeOfANumber(t *testing.T, l *phoneAccount, c caller) {
	bought := c.buy("415", `,"name":" Front office ","inbound_cloud_employee_id":7`, "Idempotency-Key: one")
	path, e164 := pathOf(bought), bought.text("e164")
	if location := bought.header.Get("Location"); !strings.HasSuffix(location, path) {
		t.Errorf("Location is %q, want %s", location, path)
	}
	if bought.text("name") != "Front office" || bought.text("area_code") != "415" ||
		bought.get("inbound_cloud_employee_id") != 7.0 || !strings.HasPrefix(e164, "+1415") {
		t.Errorf("bought: %s", bought.body)
	}
	l.has(t, e164, "Front office", l.leads)
	again := c.buy("415", `,"name":" Front office ","inbound_cloud_employee_id":7`, "Idempotency-Key: one")
	if string(again.body) != string(bought.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a repeat answers %s", again.body)
	}
	reassigned := c.do(200, http.MethodPatch, path, `{"inbound_cloud_employee_id":8}`)
	if reassigned.get("inbound_cloud_employee_id") != 8.0 {
		t.Errorf("re-assigned: %s", reassigned.body)
	}
	l.has(t, e164, "Front office", strings.Replace(l.leads, "employee=7", "employee=8", 1))
	changed := c.do(200, http.MethodPatch, path,
		`{"name":"Night desk","inbound_cloud_employee_id":null,"outbound_cloud_employee_id":9}`)
	if changed.text("name") != "Night desk" || changed.get("inbound_cloud_employee_id") != nil ||
		changed.get("outbound_cloud_employee_id") != 9.0 {
		t.Errorf("changed: %s", changed.body)
	}
	l.has(t, e164, "Night desk", "")
	if same := c.do(200, http.MethodPatch, path, `{}`); string(same.body) != string(changed.body) {
		t.Errorf("an empty change answers %s", same.body)
	}
	if got := c.do(200, http.MethodGet, path, ""); string(got.body) != string(changed.body) {
		t.Errorf("get answers %s", got.body)
	}
	second := c.buy("415", "")
	if second.text("name") != second.text("e164") {
		t.Errorf("a number without a name: %s", second.body)
	}
	if got := c.do(200, http.MethodGet, phoneNumbers, ""); got.get("phone_numbers", 0,
		"id") != bought.get("id") || got.get("phone_numbers", 1, "id") != second.get("id") ||
		got.get("phone_numbers", 2) != nil {
		t.Errorf("list answers %s", got.body)
	}
	if l.bought != nil && l.bought() != 2 {
		t.Errorf("%d numbers were bought, want 2", l.bought())
	}
	if got := c.do(204, http.MethodDelete, path, ""); len(got.body) != 0 {
		t.Errorf("release answers a body: %s", got.body)
	}
	c.do(404, http.MethodDelete, path, "")
	c.do(404, http.MethodGet, path, "")
	if l.held != nil {
		if _, still := l.held()[e164]; still {
			t.Error("the provider still has it")
		}
	}
	third := c.buy("415", "")
	if third.get("id").(float64) <= second.get("id").(float64) {
		t.Error("an id was used again")
	}
	if got := c.do(422, http.MethodPatch, path+"x",
		`{"nmae":"x","name":""}`); !strings.Contains(string(got.body), `"path.id"`) ||
		!strings.Contains(string(got.body), `"body.nmae"`) {
		t.Errorf("faults: %s", got.body)
	}
}

// has checks a number at its provider.
func (l *phoneAccount) has(t *testing.T, e164, name, leads string) {
	t.Helper()
	if l.held == nil {
		return
	}
	n, held := l.held()[e164]
	if !held || n.name != name || leads == "" && n.leads != "" || !strings.HasPrefix(n.leads, leads) {
		t.Errorf("at the provider %s is %+v, held %v; want the name %q and calls to %q", e164, n, held, name, leads)
	}
}

// Changes in the provider's own console show on the next list, and are corrected if that is safe.
func TestNumbersFollowTheirAccount(t *testing.T) {
	t.Parallel()
	for name, fake := range phoneAccounts() {
		if name == "sandbox" { // nobody else has access to it
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fake(t)
			d, _, c := l.deploy(t, "")
			mine := c.buy("415", `,"name":"Front","inbound_cloud_employee_id":7`)
			e164 := mine.text("e164")
			list := func() string { return string(c.do(200, http.MethodGet, phoneNumbers, "").body) }

			l.arrive("+13035550123")
			l.rename(e164, "Renamed there")
			l.lead(e164, "")
			if got := list(); !strings.Contains(got, `"+13035550123"`) || !strings.Contains(got, "Renamed there") {
				t.Errorf("the list is %s", got)
			}
			l.has(t, e164, "Renamed there", l.leads)

			otherDestination := map[string]string{"twilio": "https://person.example.com/",
				"telnyx": telnyxfake.Trunk}[name]
			l.lead(e164, otherDestination)
			list()
			l.has(t, e164, "Renamed there", otherDestination)
			out, _, code := d.do("", "doctor", "--tenant", "acme")
			if code != 1 || !strings.Contains(out, e164) || !strings.Contains(out, "--repair") {
				t.Errorf("doctor ends with %d and says\n%s", code, out)
			}
			if out, _, code := d.do("", "doctor", "--tenant", "acme", "--repair"); code != 0 ||
				!strings.Contains(out, "corrected") {
				t.Errorf("doctor --repair ends with %d and says\n%s", code, out)
			}
			l.has(t, e164, "Renamed there", l.leads)

			l.vanish(e164)
			if got := list(); strings.Contains(got, e164) {
				t.Errorf("the list is %s", got)
			}
			c.do(404, http.MethodGet, pathOf(mine), "")
		})
	}
}

// Who changes the connection hears it, before a caller does.
func TestAnAccountWithoutOnesNumbersIsFoundByVerify(t *testing.T) {
	t.Parallel()
	l := fakeTwilio(t)
	d, _, c := l.deploy(t, "")
	verify := []string{"connection", "verify", "--tenant", "acme", "phones"}
	d.must(verify...)
	mine := c.buy("415", "")
	d.must("connection", "change", "--tenant", "acme", "phones", "--set", "subaccount_sid="+twiliofake.SubaccountSID)
	if _, output, code := d.do("", verify...); code != exitFailed || !strings.Contains(output, twiliofake.SubaccountSID) ||
		!strings.Contains(output, mine.text("e164")) {
		t.Errorf("verify ends with %d and says\n%s", code, output)
	}
	d.must("connection", "change", "--tenant", "acme", "phones", "--unset", "subaccount_sid")
	d.must(verify...)
	if list := c.do(200, http.MethodGet, phoneNumbers, ""); !strings.Contains(string(list.body), mine.text("e164")) {
		t.Errorf("the list is %s", list.body)
	}
}

func TestARefusedPurchaseSaysWhy(t *testing.T) {
	t.Parallel()
	for name, fake := range phoneAccounts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fake(t)
			l.perDay = 1
			_, _, c := l.deploy(t, "")
			soldOut := "212"
			if l.sellOut != nil {
				soldOut = "415"
				l.sellOut(soldOut)
			}
			got := c.do(409, http.MethodPost, phoneNumbers, `{"area_code":"`+soldOut+`"}`)
			near := got.text("errors", 0, "value")
			if !strings.HasSuffix(got.text("type"), "/problems/no-numbers-available") ||
				got.text("errors", 0, "location") != "body.area_code" || len(near) != 3 || near == soldOut {
				t.Fatalf("sold out: %s", got.body)
			}
			before := `{"area_code":"` + near + `","name":"sandbox:no_funds"}`
			if l.funds != nil {
				l.funds(false)
			}
			if got = c.do(402, http.MethodPost, phoneNumbers, before); !strings.HasSuffix(got.text("type"),
				"/problems/insufficient-funds") {
				t.Errorf("no funds: %s", got.body)
			}
			if l.funds != nil {
				l.funds(true)
			}
			if bought := c.buy(near, ""); bought.text("area_code") != near { // refusals do not count
				t.Errorf("bought in %s: %s", near, bought.body)
			}
			got = c.do(429, http.MethodPost, phoneNumbers, `{"area_code":"`+near+`"}`)
			if !strings.HasSuffix(got.text("type"), "/problems/purchase-limit-reached") ||
				got.header.Get("Retry-After") == "" {
				t.Errorf("the limit: %s", got.body)
			}
		})
	}
}

// The target of calls is checked before the first call, and before money is spent.
func TestAMissingSetupIsFoundBeforeANumberIsBought(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fake  func(testing.TB) *phoneAccount
		set   string
		names string
	}{
		"twilio's application": {fakeTwilio, "voice_application=" + twiliofake.Application, "voice_application"},
		"twilio's trunk":       {fakeTwilio, "sip_trunk=" + twiliofake.Trunk, "sip_trunk"},
		"telnyx's connection":  {fakeTelnyx, "connection_id=" + telnyxfake.Application, "connection_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := test.fake(t)
			d, _, c := l.deploy(t, "", test.set)
			d.must("connection", "verify", "--tenant", "acme", "phones")
			l.remove()
			if _, output, code := d.do("", "connection", "verify", "--tenant", "acme", "phones"); code != 1 ||
				!strings.Contains(output, test.names) {
				t.Errorf("verify ends with %d and says\n%s", code, output)
			}
			if out, _, code := d.do("", "doctor", "--tenant", "acme"); code != 1 ||
				!strings.Contains(out, test.names) {
				t.Errorf("doctor ends with %d and says\n%s", code, out)
			}
			for range 3 {
				got := c.do(400, http.MethodPost, phoneNumbers, `{"area_code":"415","inbound_cloud_employee_id":7}`)
				if !strings.Contains(got.text("detail"), test.names) || got.header.Get("Retry-After") != "" {
					t.Errorf("a purchase is answered %s, again after %q", got.body, got.header.Get("Retry-After"))
				}
			}
			if l.bought() != 0 {
				t.Errorf("%d were bought", l.bought())
			}
			l.putBack()
			c.buy("415", `,"inbound_cloud_employee_id":7`)
		})
	}
}

// A number belongs to one tenant, whichever of three gateways buys it. The tenants share an account, in which
// an order for a number that it holds looks like a purchase.
func TestTenantsOfOneAccountAtThreeGateways(t *testing.T) {
	t.Parallel()
	l := fakeTwilio(t)
	d := newDeployment(t, storetest.Postgres(t), l.environ...)
	d.must("migrate")
	var keys []string
	for i := range 3 {
		keys = append(keys, l.tenant(d, fmt.Sprint("tenant", i)))
	}
	var gateways []*running
	for range 3 {
		gateways = append(gateways, d.serve())
	}
	type sale struct {
		tenant int
		e164   string
	}
	sales := make(chan sale, 200)
	var all sync.WaitGroup
	for i, key := range keys {
		for _, g := range gateways {
			all.Go(func() {
				c := g.as(key)
				for range 6 {
					got, err := c.call(http.MethodPost, phoneNumbers,
						fmt.Sprintf(`{"area_code":"415","name":"tenant %d","inbound_cloud_employee_id":7}`, i))
					if err != nil || got.status != 201 {
						t.Errorf("tenant %d: %v %d %s", i, err, got.status, got.body)
						return
					}
					sales <- sale{i, got.text("e164")}
					if _, err := c.call(http.MethodGet, phoneNumbers, ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	close(sales)
	owner := map[string]int{}
	for s := range sales {
		if other, sold := owner[s.e164]; sold {
			t.Errorf("%s was told to tenant %d and tenant %d", s.e164, other, s.tenant)
		}
		owner[s.e164] = s.tenant
		l.has(t, s.e164, fmt.Sprintf("tenant %d", s.tenant), l.leads)
	}
	if l.bought() != 54 || len(owner) != 54 || len(l.held()) != 54 {
		t.Errorf("%d were bought, %d told, %d are held; want 54", l.bought(), len(owner), len(l.held()))
	}
	for i, key := range keys {
		list := string(gateways[i].as(key).do(200, http.MethodGet, phoneNumbers, "").body)
		for e164, of := range owner {
			if strings.Contains(list, e164) != (of == i) {
				t.Errorf("%s is tenant %d's; tenant %d lists\n%s", e164, of, i, list)
			}
		}
	}
}

func TestOrdersThatComeTooLateAreFollowedByOthers(t *testing.T) {
	t.Parallel()
	for name, fake := range phoneAccounts() {
		if name == "sandbox" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fake(t)
			_, _, c := l.deploy(t, "")
			l.snatch(2)
			bought := c.buy("415", "")
			if l.bought() != 1 || len(l.held()) != 1 {
				t.Errorf("%d were bought", l.bought())
			}
			if l.held()[bought.text("e164")].name != bought.text("name") {
				t.Errorf("%s is answered, held are %v", bought.body, l.held())
			}
		})
	}
}

func TestAReleasedNumberCanWait(t *testing.T) {
	t.Parallel()
	for name, fake := range phoneAccounts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fake(t)
			d, _, c := l.deploy(t, "", "release_delay=72h")
			mine := c.buy("415", `,"name":"Front","inbound_cloud_employee_id":7`)
			path, e164 := pathOf(mine), mine.text("e164")
			if l.block != nil {
				l.block(e164, true)
				got := c.do(409, http.MethodDelete, path, "")
				if !strings.HasSuffix(got.text("type"), "/problems/emergency-address-registered") {
					t.Errorf("with an emergency address: %s", got.body)
				}
				c.do(200, http.MethodGet, path, "")
				l.block(e164, false)
			}
			c.do(204, http.MethodDelete, path, "")
			c.do(404, http.MethodGet, path, "")
			l.has(t, e164, "Front", "")
			if got := c.do(200, http.MethodGet, phoneNumbers, ""); strings.Contains(string(got.body), e164) {
				t.Errorf("the list is %s", got.body)
			}
			if out := d.must("number", "list", "--tenant", "acme"); !strings.Contains(out, e164) ||
				!strings.Contains(out, "goes back") {
				t.Errorf("number list says\n%s", out)
			}
			none := filepath.Join(t.TempDir(), "none.yaml")
			if err := os.WriteFile(none, []byte("tenants: []\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, lost := range [][]string{
				{"connection", "remove", "--tenant", "acme", "phones"}, {"tenant", "delete", "acme", "--yes"},
				{"apply", "-f", none, "--prune"}, {"apply", "-f", none, "--prune", "--dry-run"},
			} {
				if out, errs, code := d.do("", lost...); code != exitFailed || !strings.Contains(errs, e164) || out != "" {
					t.Errorf("%q while a number waits: exit %d\n%s%s", lost, code, out, errs)
				}
			}
			if out := strings.TrimSpace(d.must("number", "restore", "--tenant", "acme",
				fmt.Sprintf("%.0f", mine.get("id")))); out != e164 {
				t.Errorf("restore prints %q", out)
			}
			if got := c.do(200, http.MethodGet, path, ""); string(got.body) != string(mine.body) {
				t.Errorf("restored is %s, was %s", got.body, mine.body)
			}
			l.has(t, e164, "Front", l.leads)
			_, told, code := d.do("", "connection", "remove", "--tenant", "acme", "phones")
			if code != exitOK || !strings.Contains(told, e164) {
				t.Errorf("of the number that stays and costs money, the removal says: exit %d\n%s", code, told)
			}
			l.has(t, e164, "Front", l.leads)
		})
	}
}

// Who is not told of a number that was bought buys another one.
func TestANumberThatCannotBePrintedIsToldAllTheSame(t *testing.T) {
	t.Parallel()
	l := sandboxPhoneAccount(t)
	d := newDeployment(t, "")
	l.tenant(d, "acme")
	var errs bytes.Buffer
	w := world{out: fullDisk{}, err: &errs}
	w.adapters, w.environ = known(d.environ)
	code := run([]string{"number", "buy", "--tenant", "acme", "415"}, w)
	var held []struct{ E164 string }
	if err := json.Unmarshal([]byte(d.must("number", "list", "--tenant", "acme", "--json")), &held); err != nil {
		t.Fatal(err)
	}
	if len(held) != 1 || code != exitFailed || !strings.Contains(errs.String(), held[0].E164) {
		t.Errorf("exit %d, of %v:\n%s", code, held, &errs)
	}
}

func TestOnlyOnesOwnNumbers(t *testing.T) {
	t.Parallel()
	l := fakeTwilio(t)
	d, _, c := l.deploy(t, "", "numbers=own")
	l.arrive("+13035550123")
	mine := c.buy("415", "")
	if got := c.do(200, http.MethodGet, phoneNumbers, ""); strings.Contains(string(got.body), "+13035550123") ||
		!strings.Contains(string(got.body), mine.text("e164")) {
		t.Errorf("the list is %s", got.body)
	}
	id := strings.TrimSpace(d.must("number", "adopt", "--tenant", "acme", "+13035550123"))
	if got := c.do(200, http.MethodGet, phoneNumbers+"/"+id, ""); got.text("e164") != "+13035550123" {
		t.Errorf("adopted is %s", got.body)
	}
}

// A gateway is killed just after its provider has done what it was asked. Another process ends with one
// number, named and pointed at its employee, whether or not the caller repeats the request.
func TestKillWhileANumberIsBought(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fake  func(testing.TB) *phoneAccount
		order bool // if false, while the number is set up
	}{
		"twilio at the order": {fakeTwilio, true}, "twilio at the name and routing": {fakeTwilio, false},
		"telnyx at the order": {fakeTelnyx, true},
	} {
		for _, repeated := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, asked for again %v", name, repeated), func(t *testing.T) {
				t.Parallel()
				l := test.fake(t)
				d, r, c := l.deploy(t, "")
				writes := 0
				l.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
					if req.Method != http.MethodGet {
						writes++
					}
					if req.Method == http.MethodGet || writes == 1 && !test.order {
						serve.ServeHTTP(w, req)
						return
					}
					serve.ServeHTTP(httptest.NewRecorder(), req)
					r.kill()
				})
				q := request{path: phoneNumbers, body: `{"area_code":"415","name":"Front","inbound_cloud_employee_id":7}`}
				if got, err := c.call(http.MethodPost, q.path, q.body, "Idempotency-Key: k"); err == nil {
					t.Errorf("the killed gateway answers %d %s", got.status, got.body)
				}
				l.put(nil)
				c = d.serve().as(c.key)
				if repeated {
					c.settle(q, "k")
				} else {
					finished := func() bool {
						listed := c.do(200, http.MethodGet, phoneNumbers, "")
						return strings.Contains(string(listed.body), `"inbound_cloud_employee_id":7`)
					}
					for deadline := time.Now().Add(30 * time.Second); !finished(); time.Sleep(50 * time.Millisecond) {
						if time.Now().After(deadline) {
							t.Fatal("nobody has finished the purchase")
						}
					}
				}
				held := l.held()
				if l.bought() != 1 || len(held) != 1 {
					t.Errorf("%d were bought, the account holds %v", l.bought(), held)
				}
				for e164 := range held {
					l.has(t, e164, "Front", l.leads)
				}
			})
		}
	}
}

// A provider that accepts the order and never responds has sold one number. A repeat gets that number.
func TestAProviderThatSellsAndNeverAnswers(t *testing.T) {
	t.Parallel()
	for name, fake := range map[string]func(testing.TB) *phoneAccount{
		"twilio": fakeTwilio, "telnyx": fakeTelnyx,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := fake(t)
			_, _, c := l.deploy(t, "")
			l.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
				if req.Method == http.MethodGet {
					serve.ServeHTTP(w, req)
					return
				}
				serve.ServeHTTP(httptest.NewRecorder(), req)
				<-req.Context().Done()
			})
			q := request{path: phoneNumbers, body: `{"area_code":"415","name":"Front","inbound_cloud_employee_id":7}`}
			began := time.Now()
			got := c.do(504, http.MethodPost, q.path, q.body, "Idempotency-Key: k", "X-Request-Timeout-Ms: 1500")
			if took := time.Since(began); took > 4*time.Second ||
				!strings.Contains(got.text("detail"), "same Idempotency-Key") {
				t.Errorf("after %v: %s", took, got.body)
			}
			l.put(nil)
			if bought := c.settle(q, "k"); bought.text("name") != "Front" || l.bought() != 1 || len(l.held()) != 1 {
				t.Errorf("%s is answered, %d were bought, held are %v", bought.body, l.bought(), l.held())
			}
		})
	}
}
