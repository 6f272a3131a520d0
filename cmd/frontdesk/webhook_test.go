package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// platform takes events, and verifies each with the library of Standard Webhooks.
type platform struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	types  []string
	ids    map[string]int
}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	p := &platform{ids: map[string]int{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	verifier, err := standardwebhooks.NewWebhook(p.secret)
	if err != nil || verifier.Verify(body, r.Header) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var m struct{ Type string }
	_ = json.Unmarshal(body, &m)
	if p.ids[r.Header.Get("webhook-id")]++; p.ids[r.Header.Get("webhook-id")] == 1 {
		p.types = append(p.types, m.Type)
	}
}

func (p *platform) use(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secret = secret
}

func (p *platform) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.types, " ")
}

func (p *platform) wait(t *testing.T, wants string) {
	t.Helper()
	for deadline := time.Now().Add(patience); p.told() != wants; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it was told %q, want %q", p.told(), wants)
		}
	}
}

// From a webhook made on the command line to events at a platform, by program and back.
func TestEventsReachThePlatform(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, url string) {
		p := newPlatform(t)
		d := newDeployment(t, url, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
		d.must("tenant", "create", "acme")
		secret := strings.TrimSpace(d.must("webhook", "add", "--tenant", "acme", "--url", p.URL))
		if !strings.HasPrefix(secret, "whsec_") || strings.Contains(secret, "\n") {
			t.Errorf("standard output has %q", secret)
		}
		p.use(secret)
		id := webhookID(d, "acme")
		r := d.serve()
		own := r.as(d.must("admin", "key", "create", "--tenant", "acme"))
		op := r.as(d.must("admin", "key", "create"))
		const acme = adminTenants + "/acme"
		own.do(http.StatusCreated, http.MethodPost, acme+"/connections", `{"kind":"calendar","provider":"sandbox"}`)
		p.wait(t, "connection.connected")
		own.do(http.StatusCreated, http.MethodPost, acme+"/connections",
			`{"kind":"telephony","provider":"sandbox","name":"phone"}`)
		p.wait(t, "connection.connected connection.connected")

		rolled := own.do(http.StatusOK, http.MethodPost, acme+"/webhooks/"+id+"/roll", `{"overlap":"1h"}`)
		if rolled.text("secret") == secret || rolled.text("id") != id || rolled.get("former_secret_until") == nil {
			t.Errorf("rolled to %s", rolled.body)
		}
		tested := own.do(http.StatusOK, http.MethodPost, acme+"/webhooks/"+id+"/test", "{}")
		if tested.get("ok") != true {
			t.Errorf("with the former secret, the test is %s", tested.body)
		}
		p.use(rolled.text("secret"))
		if said := d.must("webhook", "test", id); !strings.Contains(said, "200") {
			t.Errorf("the test says %s", said)
		}

		var listed answer
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			listed = own.do(http.StatusOK, http.MethodGet, acme+"/webhooks/"+id+"/deliveries", "")
			if strings.Count(string(listed.body), `"state":"delivered"`) == 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the deliveries are %s", listed.body)
			}
		}
		delivery := listed.text("deliveries", 0, "id")
		again := own.do(http.StatusOK, http.MethodPost, acme+"/webhooks/"+id+"/deliveries/"+delivery+"/resend",
			"{}")
		if again.text("id") != delivery {
			t.Errorf("sent again is %s", again.body)
		}
		d.must("webhook", "deliveries", "--resend", delivery)
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			p.mu.Lock()
			n := p.ids[delivery]
			p.mu.Unlock()
			if n > 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("it is not sent again")
			}
		}
		d.wantFailure("There is no such webhook", "webhook", "deliveries", "--webhook", "wh_nobody")
		if table := d.must("webhook", "deliveries", "--webhook", id); !strings.Contains(table, delivery) {
			t.Errorf("the table is %s", table)
		}

		mine := op.do(http.StatusCreated, http.MethodPost, "/alpha/admin/webhooks",
			`{"url":"https://platform.example.com/hooks","events":["connection.connected"]}`)
		if got := op.do(http.StatusOK, http.MethodGet, "/alpha/admin/webhooks", ""); got.get("webhooks",
			1) != nil ||
			got.text("webhooks", 0, "id") != mine.text("id") || strings.Contains(string(got.body), "whsec_") {
			t.Errorf("the operator's are %s", got.body)
		}
		// Neither path reaches the other's webhooks, nor a delivery of another one.
		own.do(http.StatusNotFound, http.MethodDelete, acme+"/webhooks/"+mine.text("id"), "")
		op.do(http.StatusNotFound, http.MethodDelete, "/alpha/admin/webhooks/"+id, "")
		op.do(http.StatusNotFound, http.MethodPost,
			"/alpha/admin/webhooks/"+mine.text("id")+"/deliveries/"+delivery+"/resend", "{}")

		audit := string(op.do(http.StatusOK, http.MethodGet, "/alpha/admin/audit?tenant=acme&limit=1000", "").body)
		for _, action := range []string{"add-webhook", "roll-webhook", "resend-delivery"} {
			if !strings.Contains(audit, `"action":"`+action+`"`) {
				t.Errorf("the audit lacks %s: %s", action, audit)
			}
		}
		d.must("webhook", "remove", id)
		if list := d.must("webhook", "list", "--tenant", "acme", "--json"); strings.TrimSpace(list) != "[]" {
			t.Errorf("left is %s", list)
		}
	})
}

// Whoever rolls a secret is told for how long the former one signs.
func TestARolledSecretTellsHowLongTheFormerSigns(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("webhook", "add", "--url", "https://platform.example.com/hooks")
	id := webhookID(d, "")
	for overlap, want := range map[string]string{"1h": " signs as well until 20", "0s": " signs nothing any more."} {
		if _, errs, code := d.do("", "webhook", "roll", id, "--overlap", overlap); code != exitOK || !strings.Contains(errs, want) {
			t.Errorf("with an overlap of %s: exit %d, %q", overlap, code, errs)
		}
	}
}
