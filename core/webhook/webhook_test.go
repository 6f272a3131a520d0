package webhook_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
	"frontdesk/core/webhook"
)

const (
	downUpDown = "provider.down provider.up provider.down"
	downUp     = "provider.down provider.up"
)

// A receiver that is down, slow or broken for an hour gets each event afterwards, in order, acknowledged
// once.
func TestAReceiverInTroubleGetsEachEventInOrder(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		for name, trouble := range map[string]http.HandlerFunc{
			"down": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"slow": func(w http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				w.WriteHeader(http.StatusGatewayTimeout)
			},
			"fails": status(http.StatusInternalServerError),
		} {
			t.Run(name, func(t *testing.T) {
				k := open(t, databaseLike(t, url))
				k.Tenant("acme")
				front, back := k.connect("acme", "front"), k.connect("acme", "back")
				r := receive(t, trouble)
				_, id := k.add("acme", r.URL)
				k.change(front, true)
				k.change(back, true)
				k.change(front, false)
				k.change(front, true)
				sender := k.sender
				if name == "slow" {
					sender = k.senderThatWaits(100*time.Millisecond, k.Store, "impatient", k.pool)
				}
				for range 12 {
					k.must(sender.Drain(t.Context()))
					k.Clock.Advance(5 * time.Minute)
				}
				if got := r.received(); len(got) != 0 {
					t.Fatalf("it has acknowledged %d", len(got))
				}
				// On a busy machine, few impatient attempts arrive.
				if n := len(r.attempts()); name == "fails" && n < 8 || name != "down" && n > 40 {
					t.Errorf("it was tried %d times in an hour", n)
				}
				r.answers(nil)
				k.change(back, false)
				for range 30 {
					k.must(k.sender.Drain(t.Context()))
					k.Clock.Advance(5 * time.Minute)
				}
				got := r.received()
				if told(got, "front") != downUpDown || told(got, "back") != downUp {
					t.Errorf("it was told %q and %q", told(got, "front"), told(got, "back"))
				}
				if states, _ := k.deliveries(id); states != "delivered delivered delivered delivered delivered" {
					t.Errorf("the deliveries are %s", states)
				}
			})
		}
	})
}

// databaseLike returns the URL of a new database of the same kind.
func databaseLike(t *testing.T, url string) string {
	if strings.HasPrefix(url, "sqlite") {
		return storetest.SQLite(t)
	}
	return storetest.Postgres(t)
}

// A process that is killed before it sends loses nothing. One that is killed before it records the answer
// makes the event arrive again, with the same webhook-id.
func TestKilledProcesses(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		_, id := k.add("acme", r.URL)
		k.change(front, true)
		k.change(front, false)
		for _, sends := range []bool{false, true} {
			now := k.Clock.Now()
			d, leased, err := k.Store.LeaseQueue(t.Context(), store.QueueID{WebhookID: id, ConnectionID: front},
				"killed",
				now, now.Add(webhook.LeaseFor))
			if err != nil || !leased || d.Type != store.EventProviderDown {
				t.Fatal(d, leased, err)
			}
			if sends {
				w, err := k.Store.Webhook(t.Context(), id)
				k.must(err)
				if done := k.sender.SendOnly(t.Context(), w, d); !done.Acknowledged() {
					t.Fatal(done)
				}
			}
			k.must(k.sender.Drain(t.Context()))
			if n := len(r.received()); sends && n != 1 || !sends && n != 0 {
				t.Fatalf("while the lease lasts, %d were sent", n)
			}
			k.Clock.Advance(webhook.LeaseFor)
		}
		k.must(k.sender.Drain(t.Context()))
		got := r.received()
		if told(got, "front") != "provider.down provider.down provider.up" || got[0].ID != got[1].ID ||
			got[1].ID == got[2].ID || string(got[0].Raw) != string(got[1].Raw) {
			t.Errorf("it was told %q", told(got, "front"))
		}
	})
}

// An answer that comes after the lease has ended is recorded, and a failure then changes nothing.
func TestALateAnswerCounts(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	front := k.connect("acme", "front")
	_, id := k.add("acme", "http://127.0.0.1:1")
	k.change(front, true)
	q, now := store.QueueID{WebhookID: id, ConnectionID: front}, k.Clock.Now()
	d, _, err := k.Store.LeaseQueue(t.Context(), q, "late", now, now.Add(time.Second))
	k.must(err)
	k.Clock.Advance(time.Minute)
	_, leased, err := k.Store.LeaseQueue(t.Context(), q, "other", k.Clock.Now(), k.Clock.Now().Add(time.Minute))
	if err != nil || !leased {
		t.Fatal(leased, err)
	}
	d.Status = 500
	k.must(k.Store.EndAttempt(t.Context(), d, "late", k.Clock.Now()))
	if _, all := k.deliveries(id); all[0].Attempts != 0 {
		t.Errorf("a late failure counts: %+v", all[0])
	}
	d.State, d.Status, d.EndedAt = store.DeliveryDelivered, 200, k.Clock.Now()
	k.must(k.Store.EndAttempt(t.Context(), d, "late", k.Clock.Now()))
	if states, _ := k.deliveries(id); states != "delivered" {
		t.Errorf("after a late answer it is %s", states)
	}
}

// Two replicas share the work on one database: each event is sent once, in order.
func TestTwoReplicasDeliverOnce(t *testing.T) {
	k := open(t, storetest.Postgres(t))
	k.Tenant("acme")
	r := receive(t, nil)
	k.add("acme", r.URL)
	var connections []string
	for i := range 8 {
		connections = append(connections, k.connect("acme", "c"+strconv.Itoa(i)))
	}
	for _, down := range []bool{true, false, true} {
		for _, id := range connections {
			k.change(id, down)
		}
	}
	_, second := k.replica()
	var group sync.WaitGroup
	for _, s := range []*webhook.Sender{k.sender, second} {
		group.Go(func() {
			if err := s.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	k.must(k.sender.Drain(t.Context()))
	got := r.received()
	ids := map[string]bool{}
	for _, m := range got {
		ids[m.ID] = true
	}
	if len(got) != 32 || len(ids) != 32 {
		t.Errorf("%d events were sent %d times", len(ids), len(got))
	}
	for i := range connections {
		if types := told(got, "c"+strconv.Itoa(i)); types != "connection.connected "+downUpDown {
			t.Errorf("of connection %d was told %s", i, types)
		}
	}
}

// The signature is that of Standard Webhooks. While a secret is rolled, both are right, and then only the new
// one.
func TestSecretsAreRolled(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		first, id := k.add("acme", r.URL)
		next := func(down bool) message {
			k.change(front, down)
			k.must(k.sender.Drain(t.Context()))
			got := r.received()
			return got[len(got)-1]
		}
		m := next(true)
		if !verifies(t, first, m) || m.Header.Get("webhook-timestamp") != strconv.FormatInt(k.Clock.Now().Unix(),
			10) ||
			m.ID == "" {
			t.Errorf("the headers are %v", m.Header)
		}
		changed := m
		changed.Raw = append([]byte{' '}, m.Raw...)
		if verifies(t, first, changed) {
			t.Error("a changed body is accepted")
		}
		second, w, err := k.directory.Roll(t.Context(), id, time.Hour)
		k.must(err)
		if !w.FormerUntil.Equal(k.Clock.Now().Add(time.Hour)) || second == first {
			t.Errorf("the webhook is %+v", w)
		}
		if m = next(false); !verifies(t, first, m) || !verifies(t, second, m) {
			t.Error("one of both secrets is not used")
		}
		k.Clock.Advance(time.Hour)
		if m = next(true); verifies(t, first, m) || !verifies(t, second, m) {
			t.Error("the former secret outlives the overlap")
		}
		_, _, err = k.directory.Roll(t.Context(), id, -time.Second)
		if f := fault.From(err); f.Code != fault.Invalid {
			t.Errorf("a negative overlap: %v", err)
		}
	})
}

// A roll within the overlap of the last one, whose answer may have been lost, does not end what it promised.
func TestASecretSignsAsLongAsWasPromisedThoughAnotherRollFollows(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		first, id := k.add("acme", r.URL)
		all, down := []string{first}, false
		roll := func(overlap time.Duration) {
			t.Helper()
			text, _, err := k.directory.Roll(t.Context(), id, overlap)
			k.must(err)
			all = append(all, text)
		}
		signs := func(want ...int) {
			t.Helper()
			down = !down
			k.change(front, down)
			k.must(k.sender.Drain(t.Context()))
			got := r.received()
			var by []int
			for i, text := range all {
				if verifies(t, text, got[len(got)-1]) {
					by = append(by, i)
				}
			}
			if !slices.Equal(by, want) {
				t.Errorf("signed by %v, want %v", by, want)
			}
		}
		roll(time.Hour)
		roll(3 * time.Hour)
		signs(0, 1, 2)
		k.Clock.Advance(time.Hour)
		signs(1, 2)
		for range 6 {
			roll(time.Hour)
		}
		signs(3, 4, 5, 6, 7, 8) // the current one and five former ones
		roll(0)
		signs(9)
	})
}

// A rotation of the key set seals secrets and payloads anew. Messages go on being signed with the same secret
// once the old key is gone.
func TestSecretsOutliveTheKeyThatSealedThem(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		secret, id := k.add("acme", r.URL)
		k.change(front, true) // waits with a sealed payload
		old := k.Vault.Status()[0].ID
		added, err := k.Vault.Rotate()
		k.must(err)
		_, err = k.Rows.Reseal(t.Context())
		k.must(err)
		_, err = k.Store.Reseal(t.Context(), store.Rows{Stale: func(sealed []byte) bool {
			return vault.KeyOf(sealed) != added.ID
		}})
		k.must(err)
		w, err := k.Store.Webhook(t.Context(), id)
		if err != nil || vault.KeyOf(w.Sealed) != added.ID {
			t.Errorf("the secret is sealed with the key %x, want %x: %v", vault.KeyOf(w.Sealed), added.ID, err)
		}
		_, err = k.Vault.Rotate()
		k.must(err)
		if dropped, err := k.Vault.Prune(func(uint32) bool { return false }); !slices.Contains(dropped, old) {
			t.Fatalf("dropped are %x, %v", dropped, err)
		}
		k.must(k.sender.Drain(t.Context()))
		if got := r.received(); len(got) != 1 || !verifies(t, secret, got[0]) {
			t.Errorf("received %v", got)
		}
	})
}

// What is told has names and ids, and no more.
func TestPayloads(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 123456789, time.UTC)
	const about = `"tenant":"acme","connection":"front","connection_id":"conn_1","kind":"calendar","provider":"google"`
	of := func(change func(*store.Event)) store.Event {
		e := store.Event{
			At: at, Tenant: "acme", Connection: "front", ConnectionID: "conn_1", Kind: "calendar", Provider: "google",
		}
		change(&e)
		return e
	}
	for _, c := range []struct {
		event store.Event
		wants string
	}{
		{of(func(e *store.Event) { e.Type = store.EventReconnectRequired }),
			`{"type":"connection.reconnect_required","timestamp":"2026-12-01T12:00:00.123Z","data":{` + about +
				`,"reason":"RECONNECT_REQUIRED","advice":"The provider refuses the connection's credentials. Send its customer ` +
				`a new connect link, or enter the credentials again."}}`},
		{of(func(e *store.Event) {
			e.Type, e.Settled = store.EventIntentSettled, store.Settled{
				Operation: "book-meeting", RequestID: "r1", Outcome: "done", EffectRef: "ev1",
			}
		}), `{"type":"intent.settled","timestamp":"2026-12-01T12:00:00.123Z","data":{` + about +
			`,"advice":"The call had its effect. Do not repeat it.","operation":"book-meeting","request_id":"r1",` +
			`"outcome":"done","event_id":"ev1"}}`},
		{of(func(e *store.Event) {
			e.Type, e.Kind, e.Settled = store.EventIntentSettled, "crm", store.Settled{
				Operation: "create-ticket", Outcome: "failed", Reason: "FIELD_REFUSED",
			}
		}), `{"type":"intent.settled","timestamp":"2026-12-01T12:00:00.123Z","data":{` +
			strings.Replace(about, "calendar", "crm", 1) + `,"reason":"FIELD_REFUSED","advice":"The call had no effect. ` +
			`Repeat it if it is still wanted.","operation":"create-ticket","outcome":"failed"}}`},
		{of(func(e *store.Event) {
			e.Type, e.Settled = store.EventIntentSettled, store.Settled{
				Operation: "update-meeting", Outcome: "unknown", Reason: "OVERTAKEN",
			}
		}), `{"type":"intent.settled","timestamp":"2026-12-01T12:00:00.123Z","data":{` + about +
			`,"reason":"OVERTAKEN","advice":"What the call was to change has been changed since, so it cannot be known ` +
			`whether the call had an effect before. Look before you repeat it.","operation":"update-meeting",` +
			`"outcome":"unknown"}}`},
		{of(func(e *store.Event) {
			e.Type, e.Number = store.EventNumberGone, store.Number{ID: 7, E164: "+14155550123", Name: "Dr. Private"}
		}), `{"type":"number.gone","timestamp":"2026-12-01T12:00:00.123Z","data":{` + about +
			`,"reason":"NUMBER_GONE","advice":"The provider's account no longer has the number. If that was not intended, ` +
			`look for it at the provider.","phone_number_id":7,"phone_number":"+14155550123"}}`},
	} {
		if got, err := webhook.Payload(c.event); err != nil || string(got) != c.wants {
			t.Errorf("%s is told as\n%s, %v\nwant\n%s", c.event.Type, got, err, c.wants)
		}
	}
	for _, name := range webhook.Types() {
		got, err := webhook.Payload(of(func(e *store.Event) { e.Type = name }))
		if err != nil || !strings.Contains(string(got), `"advice":"`) || strings.Contains(string(got), `"advice":""`) {
			t.Errorf("%s is told as %s, %v", name, got, err)
		}
	}
}

// No address leads a message into the network, and no redirect leads it elsewhere.
func TestEgress(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	front := k.connect("acme", "front")
	inside := receive(t, nil)
	closed := upstream.NewPool(upstream.PoolOptions{Resolver: noNames})
	t.Cleanup(closed.Close)
	guarded := k.newSender(k.Store, "guarded", closed)
	// Addresses may be entered while their network is allowed, or before a name leads there.
	anywhere := upstream.NewPool(upstream.PoolOptions{Resolver: noNames, AllowTenantNetworks: []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"), netip.MustParsePrefix("169.254.169.254/32"),
	}})
	t.Cleanup(anywhere.Close)
	entered := webhook.NewDirectory(webhook.Options{
		Store: k.Store, Vault: k.Vault, Pool: anywhere, Now: k.Clock.Now, PlainHTTP: true,
	})
	strict := webhook.NewDirectory(webhook.Options{
		Store: k.Store, Vault: k.Vault, Pool: closed, Now: k.Clock.Now, PlainHTTP: true,
	})
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	var ids []string
	for _, url := range []string{
		"https://127.0.0.1" + port, "https://localhost" + port, "https://[::1]" + port, "https://2130706433" + port,
		"https://169.254.169.254/latest", "https://10.0.0.1/hooks", "https://[::ffff:127.0.0.1]" + port, inside.URL,
	} {
		_, made, err := entered.Create(t.Context(), "acme", webhook.Spec{URL: url})
		k.must(err)
		ids = append(ids, made.ID)
		if strings.Contains(url, "2130706433") {
			continue // some resolvers know it, others do not
		}
		_, _, err = strict.Create(t.Context(), "acme", webhook.Spec{URL: url})
		if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Path != "url" ||
			!strings.Contains(f.Fields[0].Message, "egress.allow") {
			t.Errorf("%s can be entered: %v", url, err)
		}
	}
	k.change(front, true)
	k.must(guarded.Drain(t.Context()))
	for _, id := range ids {
		_, all := k.deliveries(id)
		w, err := k.Store.Webhook(t.Context(), id)
		k.must(err)
		if d := all[0]; d.State != store.DeliveryWaiting || d.Attempts != 1 || d.Status != 0 ||
			d.Reason != fault.ReasonEgressRefused && !strings.Contains(w.URL, "2130706433") {
			t.Errorf("%s: %+v", w.URL, d)
		}
		k.must(k.directory.Remove(t.Context(), id))
	}
	if got := inside.attempts(); len(got) != 0 {
		t.Errorf("something got through: %v", got)
	}

	redirects := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", inside.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	_, id := k.add("acme", redirects.URL)
	k.change(front, false)
	k.must(k.sender.Drain(t.Context()))
	if _, all := k.deliveries(id); all[0].Reason != "HTTP_307" || len(inside.attempts()) != 0 {
		t.Errorf("a redirect is followed: %+v", all[0])
	}
}

// Plain http is for networks that the operator allows, and for no public address.
func TestPlainHTTP(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	pool := upstream.NewPool(upstream.PoolOptions{Resolver: noNames})
	t.Cleanup(pool.Close)
	client := pool.Client(upstream.ClientOptions{TenantAddress: true, RequireTLS: true, StatusOnly: true})
	// A public address; it is refused before it is dialled.
	_, err := client.Get("http://192.88.98.1:9/")
	if f := fault.From(err); f.Reason != fault.ReasonEgressRefused || !f.Unsent {
		t.Errorf("plain http to a public address: %v", err)
	}
	strict := webhook.NewDirectory(webhook.Options{Store: k.Store, Vault: k.Vault, Pool: pool, Now: k.Clock.Now})
	for _, url := range []string{
		"", "http://platform.example.com", "ftp://platform.example.com", "https://", "https://user:pw@platform.example.com",
		"https://platform.example.com/#part", "/hooks", "https://platform.example.com/" + strings.Repeat("x", 2048),
		"https://[::1", "https://:443",
	} {
		_, _, err := strict.Create(t.Context(), "", webhook.Spec{URL: url})
		if f := fault.From(err); err == nil || f.Code != fault.Invalid || len(f.Fields) != 1 ||
			f.Fields[0].Path != "url" {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// A tenant's webhook gets the tenant's events alone, of the types that it takes. The operator's gets all.
func TestWhoIsToldWhat(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		k.Tenant("zebra")
		ours, theirs := k.connect("acme", "front"), k.connect("zebra", "front")
		acme, picky, all := receive(t, nil), receive(t, nil), receive(t, nil)
		k.add("acme", acme.URL)
		_, _, err := k.directory.Create(t.Context(), "nobody", webhook.Spec{URL: acme.URL})
		if !errors.Is(err, fault.NotFound) {
			t.Errorf("for an unknown tenant: %v", err)
		}
		k.add("acme", picky.URL, store.EventProviderUp)
		_, operators := k.add("", all.URL)
		for _, id := range []string{ours, theirs} {
			k.change(id, true)
			k.change(id, false)
		}
		k.must(k.sender.Drain(t.Context()))
		tenants := func(r *receiver) (names string) {
			var list []string
			for _, m := range r.received() {
				list = append(list, m.Data["tenant"].(string)+" "+m.Type)
			}
			slices.Sort(list)
			return strings.Join(list, ", ")
		}
		for name, c := range map[string]struct {
			r     *receiver
			wants string
		}{
			"tenant's":   {acme, "acme provider.down, acme provider.up"},
			"picky":      {picky, "acme provider.up"},
			"operator's": {all, "acme provider.down, acme provider.up, zebra provider.down, zebra provider.up"},
		} {
			if got := tenants(c.r); got != c.wants {
				t.Errorf("the %s was told %s", name, got)
			}
		}
		k.must(k.Tenants.Delete(t.Context(), "zebra"))
		if states, _ := k.deliveries(operators); states != "delivered delivered" {
			t.Errorf("after the tenant is deleted, there are %s", states)
		}
	})
}

// A row that was changed in the database gets nothing, and a payload is good in its own row only.
func TestChangedRowsAreNotSent(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	front := k.connect("acme", "front")
	r, thief := receive(t, nil), receive(t, nil)
	_, id := k.add("acme", r.URL)
	w, err := k.Store.Webhook(t.Context(), id)
	k.must(err)
	k.must(k.Store.DeleteWebhook(t.Context(), id))
	w.URL = thief.URL
	k.must(k.Store.CreateWebhook(t.Context(), w, 9))
	k.change(front, true)
	k.must(k.sender.Drain(t.Context()))
	if _, all := k.deliveries(id); len(thief.attempts()) != 0 || all[0].Status != 0 || all[0].Reason == "" {
		t.Errorf("it was sent elsewhere: %+v", all)
	}
	if _, _, err := k.directory.Roll(t.Context(), id, 0); err == nil {
		t.Error("a changed row is made genuine")
	}
	wrong, err := k.Rows.Wrong(t.Context())
	if err != nil || len(wrong) != 1 || wrong[0].Table != "webhooks" || wrong[0].ID != id {
		t.Errorf("wrong rows are %v, %v", wrong, err)
	}
}

// Another replica rotated the key set and sealed an event, and this one cannot read the key set. The event waits.
func TestNoEventIsGivenUpWhileTheKeySetCannotBeRead(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	front := k.connect("acme", "front")
	r := receive(t, nil)
	_, id := k.add("acme", r.URL)
	other, err := vault.Open("", k.DataDir)
	k.must(err)
	_, err = other.Rotate()
	k.must(err)
	k.Store.SealWith(other)
	k.change(front, true)
	k.Store.SealWith(k.Vault)
	path := filepath.Join(k.DataDir, "keyset.json")
	k.must(os.Chmod(path, 0o644))
	k.must(k.sender.Drain(t.Context()))
	if states, _ := k.deliveries(id); states != "waiting" || len(r.received()) != 0 {
		t.Errorf("the delivery is %s, and %d were sent", states, len(r.received()))
	}
	k.must(os.Chmod(path, 0o600))
	k.Clock.Advance(time.Minute)
	k.must(k.sender.Drain(t.Context()))
	if states, _ := k.deliveries(id); states != "delivered" || told(r.received(), "front") != "provider.down" {
		t.Errorf("the delivery is %s, and it was told %q", states, told(r.received(), "front"))
	}
}

// A delivery is given up after a day. Sent again, it arrives with the same id.
func TestGivenUpAndSentAgain(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, status(http.StatusTeapot))
		_, id := k.add("acme", r.URL)
		k.change(front, true)
		k.change(front, false)
		for began := k.Clock.Now(); !k.Clock.Now().After(began.Add(webhook.GiveUp)); {
			k.must(k.sender.Drain(t.Context()))
			k.Clock.Advance(time.Hour)
		}
		k.must(k.sender.Drain(t.Context()))
		states, all := k.deliveries(id)
		if states != "failed failed" || all[0].Reason != "HTTP_418" || all[0].Status != 418 ||
			all[1].Attempts == 0 {
			t.Fatalf("the deliveries are %+v", all)
		}
		again, err := k.directory.Resend(t.Context(), all[0].ID)
		if err != nil || again.State != store.DeliveryWaiting || again.Attempts != 0 {
			t.Fatal(again, err)
		}
		k.must(k.sender.Drain(t.Context())) // the receiver does not work yet
		r.answers(nil)
		k.Clock.Advance(10 * time.Second) // as after any first attempt that failed
		k.must(k.sender.Drain(t.Context()))
		if got := r.received(); len(got) != 1 || got[0].ID != all[0].ID {
			t.Errorf("sent again was %v", got)
		}
		purged, err := k.Store.PurgeDeliveries(t.Context(), k.Clock.Now().Add(time.Second), 10)
		if states, _ := k.deliveries(id); err != nil || purged != 2 || states != "" {
			t.Errorf("purged %d, left %s %v", purged, states, err)
		}
		if _, err := k.directory.Resend(t.Context(), all[0].ID); !errors.Is(err, fault.NotFound) {
			t.Errorf("sending a purged delivery again: %v", err)
		}
	})
}

// TestAClockThatWasAheadHoldsUpNoEvent for longer than one waits at most.
func TestAClockThatWasAheadHoldsUpNoEvent(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		_, id := k.add("acme", r.URL)
		const ahead = 24 * time.Hour
		k.Clock.Advance(ahead)
		k.change(front, true)
		k.Clock.Advance(-ahead)
		k.change(front, false)
		k.must(k.sender.Drain(t.Context()))
		if states, all := k.deliveries(id); states != "delivered delivered" {
			t.Errorf("the deliveries are %+v", all)
		}
	})
}

// TestAClockThatWasAheadKeepsNoEventForLonger than a day.
func TestAClockThatWasAheadKeepsNoEventForLonger(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, status(http.StatusTeapot))
		_, id := k.add("acme", r.URL)
		const ahead = 365 * 24 * time.Hour
		k.Clock.Advance(ahead)
		k.change(front, true)
		k.change(front, false)
		k.Clock.Advance(-ahead)
		for began := k.Clock.Now(); !k.Clock.Now().After(began.Add(webhook.GiveUp)); {
			k.must(k.sender.Drain(t.Context()))
			k.Clock.Advance(time.Hour)
		}
		k.must(k.sender.Drain(t.Context()))
		if states, all := k.deliveries(id); states != "failed failed" {
			t.Errorf("the deliveries are %+v", all)
		}
	})
}

// TestAClockThatWasBehindGivesNoEventUp before a day.
func TestAClockThatWasBehindGivesNoEventUp(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, status(http.StatusTeapot))
		_, id := k.add("acme", r.URL)
		const behind = 365 * 24 * time.Hour
		k.Clock.Advance(-behind)
		k.change(front, true)
		k.change(front, false)
		k.must(k.sender.Drain(t.Context()))
		k.Clock.Advance(behind)
		for began := k.Clock.Now(); k.Clock.Now().Before(began.Add(webhook.GiveUp)); k.Clock.Advance(time.Hour) {
			k.must(k.sender.Drain(t.Context()))
			if states, all := k.deliveries(id); states != "waiting waiting" {
				t.Fatalf("after %v, the deliveries are %+v", k.Clock.Now().Sub(began), all)
			}
		}
		k.must(k.sender.Drain(t.Context()))
		if states, all := k.deliveries(id); states != "failed failed" {
			t.Errorf("after a day, the deliveries are %+v", all)
		}
		k.Clock.Advance(-behind)
		k.change(front, true)
		k.Clock.Advance(behind + 24*time.Hour) // nothing of the queue was tried meanwhile
		k.must(k.sender.Drain(t.Context()))
		if states, all := k.deliveries(id); strings.Count(states, "waiting") != 1 {
			t.Errorf("the next deliveries are %+v", all)
		}
	})
}

// A receiver that is too busy says when to come back. It is asked no sooner, within the bounds of the
// backoff.
func TestAReceiverSaysWhenToComeBack(t *testing.T) {
	for rule, c := range map[string]struct {
		status      int
		after       string
		least, most time.Duration // until the second attempt
	}{
		"429 in seconds":             {http.StatusTooManyRequests, "600", 10 * time.Minute, 10 * time.Minute},
		"503 in seconds":             {http.StatusServiceUnavailable, "90", 90 * time.Second, 90 * time.Second},
		"sooner than the backoff":    {http.StatusTooManyRequests, "0", 2 * time.Second, 5 * time.Second},
		"later than the longest one": {http.StatusServiceUnavailable, "80000", 2 * time.Hour, 2 * time.Hour},
		"unreadable":                 {http.StatusServiceUnavailable, "soon", 2 * time.Second, 5 * time.Second},
		"of another status":          {http.StatusInternalServerError, "600", 2 * time.Second, 5 * time.Second},
	} {
		t.Run(rule, func(t *testing.T) {
			k := open(t, storetest.SQLite(t))
			k.Tenant("acme")
			front := k.connect("acme", "front")
			r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.after)
				w.WriteHeader(c.status)
			})
			_, id := k.add("acme", r.URL)
			k.change(front, true)
			k.must(k.sender.Drain(t.Context()))
			_, all := k.deliveries(id)
			if waits := all[0].NextAt.Sub(k.Clock.Now()); waits < c.least || waits > c.most {
				t.Errorf("the next attempt is due after %v, want from %v to %v", waits, c.least, c.most)
			}
			k.Clock.Advance(-10 * time.Second) // as the clock of another replica shows
			k.must(k.sender.Drain(t.Context()))
			if made := len(r.attempts()); made != 1 {
				t.Errorf("%d attempts were made, want 1", made)
			}
		})
	}
}

// 410 disables the webhook. What waits fails, and nothing is sent any more.
func TestGoneDisables(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	front := k.connect("acme", "front")
	r := receive(t, status(http.StatusGone))
	_, id := k.add("acme", r.URL)
	k.change(front, true)
	k.change(front, false)
	k.must(k.sender.Drain(t.Context()))
	if changed, err := k.Store.SetProviderHealth(t.Context(), front, true); changed || err != nil {
		t.Errorf("a change is written for a disabled webhook: %v", err)
	}
	states, all := k.deliveries(id)
	if states != "failed failed" || all[1].Reason != webhook.ReasonDisabled || len(r.attempts()) != 1 {
		t.Errorf("the deliveries are %+v after %d attempts", all, len(r.attempts()))
	}
	w, err := k.Store.Webhook(t.Context(), id)
	if _, resent := k.directory.Resend(t.Context(), all[0].ID); err != nil || w.DisabledAt.IsZero() ||
		fault.From(resent).Reason != webhook.ReasonDisabled {
		t.Errorf("the webhook is %+v, %v, %v", w, err, resent)
	}
}

// A receiver that hangs holds up nobody else, and is asked a few times at once only.
func TestAReceiverThatHangsHoldsUpNobody(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	release := make(chan struct{})
	var running, most atomic.Int64
	hangs := receive(t, func(http.ResponseWriter, *http.Request) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		<-release
	})
	quick := receive(t, nil)
	k.add("acme", hangs.URL)
	var ids []string
	for i := range 6 {
		ids = append(ids, k.connect("acme", "c"+strconv.Itoa(i)))
	}
	for _, id := range ids {
		k.change(id, true)
	}
	patient := webhook.NewSender(webhook.SenderOptions{
		Store: k.Store, Vault: k.Vault, Pool: k.pool, Owner: "patient", Now: k.Clock.Now, Log: discard(),
	})
	k.must(patient.Begin(t.Context()))
	for running.Load() < webhook.AtOncePerWebhook {
		time.Sleep(time.Millisecond)
	}
	k.must(patient.Begin(t.Context()))
	k.add("acme", quick.URL)
	k.change(ids[0], false)
	k.must(patient.Begin(t.Context()))
	for len(quick.received()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if most.Load() != webhook.AtOncePerWebhook {
		t.Errorf("%d attempts at once", most.Load())
	}
	close(release)
	patient.Wait()
	k.must(patient.Drain(t.Context()))
	if got := len(hangs.received()); got != 13 { // those that tell of new connections, too
		t.Errorf("%d events arrived in the end", got)
	}
}

// More receivers hang than there are attempts at once, each with several events that wait. The one that answers has
// its turn after them, not once all their events were tried.
func TestReceiversTakeTurns(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	var answers atomic.Value // the path of the receiver that answers
	answers.Store("")
	var begun atomic.Pointer[chan struct{}] // closed once a round has begun its attempts: the others hang until then
	all := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != answers.Load() {
			<-*begun.Load()
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	last := ""
	for _, tenant := range []string{"a", "b", "c", "d", "e"} {
		k.Tenant(tenant)
		for i := range 14 { // fewer than a tenant may have at once
			path := "/" + tenant + strconv.Itoa(i)
			if _, id := k.add(tenant, all.URL+path); id > last {
				last = id
				answers.Store(path)
			}
		}
		for i := range 3 {
			k.connect(tenant, tenant+strconv.Itoa(i))
		}
	}
	for range 2 {
		round := make(chan struct{})
		begun.Store(&round)
		k.must(k.sender.Begin(t.Context()))
		close(round)
		k.sender.Wait()
	}
	if states, _ := k.deliveries(last); !strings.Contains(states, store.DeliveryDelivered) {
		t.Errorf("nothing has arrived where it would be taken: %s", states)
	}
}

// Without a webhook nothing is written, and a tenant has no more than it may.
func TestNothingIsWrittenForNobody(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	k.Tenant("zebra")
	front := k.connect("acme", "front")
	k.add("zebra", "https://platform.example.com")
	if changed, err := k.Store.SetProviderHealth(t.Context(), front, true); changed || err != nil {
		t.Errorf("a change is written for nobody: %v %v", changed, err)
	}
	for range 19 {
		k.add("zebra", "https://platform.example.com")
	}
	_, _, err := k.directory.Create(t.Context(), "zebra", webhook.Spec{URL: "https://platform.example.com"})
	if fault.From(err).Reason != webhook.ReasonLimit {
		t.Errorf("one too many: %v", err)
	}
}

// Of two replicas that see a provider go down and come back, each change is told once.
func TestEachChangeOfAProviderIsToldOnce(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		k.add("acme", r.URL)
		other, _ := k.replica()
		a, b := webhook.NewHealth(k.Store, discard()), webhook.NewHealth(other, discard())
		both := func() {
			for _, h := range []*webhook.Health{a, b} {
				h.Write(t.Context())
			}
		}
		a.Up(front) // nothing was down
		both()
		for range 3 {
			a.Down(front)
			b.Down(front)
		}
		both()
		both()
		b.Up(front)
		both()
		a.Up(front)
		both()
		a.Down(front)
		both()
		b.Up(front) // the replica that saw it go down is gone
		both()
		k.must(k.sender.Drain(t.Context()))
		if got := told(r.received(), "front"); got != downUp+" "+downUp {
			t.Errorf("it was told %s", got)
		}
	})
}

// A replica that no call has reached since the last outage, which another saw end, tells the next one.
func TestAReplicaTellsTheNextOutageThoughAnotherSawTheLastOneEnd(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		k := open(t, url)
		k.Tenant("acme")
		front := k.connect("acme", "front")
		r := receive(t, nil)
		k.add("acme", r.URL)
		other, _ := k.replica()
		a, b := webhook.NewHealth(k.Store, discard()), webhook.NewHealth(other, discard())
		both := func() {
			for _, h := range []*webhook.Health{a, b} {
				h.Write(t.Context())
			}
		}
		a.Down(front)
		both()
		a.Up(front)
		both()
		b.Down(front)
		both()
		b.Up(front)
		both()
		k.must(k.sender.Drain(t.Context()))
		if got := told(r.received(), "front"); got != downUp+" "+downUp {
			t.Errorf("it was told %s", got)
		}
	})
}

// A test is a message like others, and says what became of it.
func TestATestSaysWhatBecameOfIt(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	r := receive(t, nil)
	secret, id := k.add("", r.URL)
	done, err := k.directory.Test(t.Context(), id)
	if err != nil || !done.Acknowledged() || !verifies(t, secret, r.received()[0]) ||
		r.received()[0].Type != "webhook.test" {
		t.Errorf("%+v %v", done, err)
	}
	r.answers(status(http.StatusForbidden))
	if done, err = k.directory.Test(t.Context(), id); err != nil || done.Reason != "HTTP_403" {
		t.Errorf("%+v %v", done, err)
	}
}

// Of an answer at most 64 KiB are read, whatever follows.
func TestALongAnswerIsNotRead(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for part := make([]byte, 32<<10); err == nil; {
			_, err = w.Write(part)
		}
		ended <- err
	}))
	t.Cleanup(server.Close)
	_, id := k.add("", server.URL)
	if done, err := k.directory.Test(t.Context(), id); err != nil || !done.Acknowledged() {
		t.Errorf("%+v %v", done, err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the answer is still being read")
	}
}

// brokenMetrics panics where an attempt ends, as code may that meets what nobody has thought of.
type brokenMetrics struct{}

func (brokenMetrics) Delivery(string)              { panic("broken") }
func (brokenMetrics) OldestDelivery(time.Duration) {}

func TestAnAttemptThatPanicsEndsNoProcess(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	connection := k.connect("acme", "front")
	r := receive(t, status(http.StatusNoContent))
	k.add("acme", r.URL)
	k.change(connection, true)
	var logged bytes.Buffer
	sender := webhook.NewSender(webhook.SenderOptions{
		Store: k.Store, Vault: k.Vault, Pool: k.pool, Owner: "broken", Now: k.Clock.Now,
		Log: slog.New(slog.NewTextHandler(&logged, nil)), Metrics: brokenMetrics{},
	})
	k.must(sender.Drain(t.Context()))
	if text := logged.String(); !strings.Contains(text, "background work panicked") {
		t.Errorf("logged: %s", text)
	}
}

// What panics at the receiver's answer was sent. It is not sent every half a minute for ever.
func TestAnAttemptThatPanicsIsOneThatFailed(t *testing.T) {
	k := open(t, storetest.SQLite(t))
	k.Tenant("acme")
	connection := k.connect("acme", "front")
	var answered atomic.Bool
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		answered.Store(true)
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, id := k.add("acme", r.URL)
	k.change(connection, true)
	sender := webhook.NewSender(webhook.SenderOptions{
		Store: k.Store, Vault: k.Vault, Pool: k.pool, Owner: "broken", Log: discard(),
		Now: func() time.Time {
			if answered.Swap(false) {
				panic("broken")
			}
			return k.Clock.Now()
		},
	})
	k.must(sender.Drain(t.Context()))
	if states, all := k.deliveries(id); states != store.DeliveryWaiting || all[0].Attempts != 1 ||
		all[0].Reason != fault.ReasonInternal {
		t.Errorf("%s: %+v", states, all)
	}
	k.Clock.Advance(webhook.GiveUp)
	k.must(sender.Drain(t.Context()))
	if states, _ := k.deliveries(id); states != store.DeliveryFailed {
		t.Errorf("after a day it is %s", states)
	}
}
