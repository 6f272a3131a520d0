package apikey_test

import (
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/vault"
)

func TestKeyAnswersWhoseItIs(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		acme := h.Tenant("acme")
		h.Tenant("other")
		cal := h.Connection("acme", "front-office", adapter.KindCalendar, "dav")
		h.Connection("other", "front-office", adapter.KindCalendar, "dav")
		text, made := h.Key("acme", apikey.Spec{
			Label: "agent", Scopes: []apikey.Scope{apikey.ScopeTicketsRead, apikey.ScopeCalendarRead},
		})
		c := h.Caller(text)
		if c.Tenant.ID != acme.ID || c.Tenant.Name != "acme" || c.KeyID != made.ID || c.Test {
			t.Errorf("caller %+v", c)
		}
		if !slices.Equal(c.Scopes, []apikey.Scope{apikey.ScopeCalendarRead, apikey.ScopeTicketsRead}) {
			t.Errorf("scopes %v", c.Scopes)
		}
		if len(c.Connections) != 1 || c.Connections[adapter.KindCalendar].ID != cal.ID {
			t.Errorf("connections %v", c.Connections)
		}
		if err := c.Require(apikey.ScopeTicketsRead); err != nil {
			t.Errorf("a scope it has: %v", err)
		}
		f := tenanttest.WantFault(t, c.Require(apikey.ScopeTicketsWrite), fault.Forbidden, fault.ReasonScopeMissing)
		if f.Metadata["scope"] != "tickets:write" || !strings.Contains(f.Detail, "tickets:write") {
			t.Errorf("the fault does not name the scope: %v", f)
		}
	})
}

func TestKeyMadeWithoutScopesHasAll(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, _ := h.Key("acme", apikey.Spec{})
	if got := h.Caller(text).Scopes; !slices.Equal(got, apikey.Scopes()) {
		t.Errorf("scopes %v", got)
	}
}

func TestKeysThatAreNotInForce(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Tenant("gone")
		revoked, made := h.Key("acme", apikey.Spec{})
		if err := h.Keys.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		orphan, _ := h.Key("gone", apikey.Spec{})
		if err := h.Tenants.Delete(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		unknown := secret.NewToken(apikey.LivePrefix)
		for name, key := range map[string]string{
			"revoked": revoked, "of a deleted tenant": orphan, "unknown": unknown, "none": "",
			"mistyped": unknown[:45] + "!",
		} {
			t.Run(name, func(t *testing.T) {
				for range 2 { // from the store, then from the cache
					_, err := h.Callers.Authenticate(t.Context(), key)
					f := tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
					if f.Detail != "The API key is not valid: it is mistyped, unknown or revoked." {
						t.Errorf("the answer tells why: %s", f.Detail)
					}
					former, is := errors.AsType[*apikey.FormerKey](err)
					if is != (key == revoked) || is && (former.ID != made.ID || former.Tenant != "acme") {
						t.Errorf("the log tells that it was %+v", former)
					}
				}
			})
		}
	})
}

func TestMistypedKeyCostsNoQuery(t *testing.T) {
	d := apikey.NewCallers(apikey.CallerOptions{}) // a query would be a nil dereference
	defer d.Close()
	for _, key := range []string{"", "x", "fd_live_" + strings.Repeat("0", 38), strings.Repeat("k", 1<<20)} {
		_, err := d.Authenticate(t.Context(), key)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
	}
}

// Keys that are guessed, or derived from a seen key, are refused by their checksum, without a query.
// FRONTDESK_FORGERIES sets how many are tried; the default is 20000.
func TestForgedKeysCostNoQuery(t *testing.T) {
	tries := 20_000
	if given := os.Getenv("FRONTDESK_FORGERIES"); given != "" {
		var err error
		tries, err = strconv.Atoi(given)
		tenanttest.Must(t, err)
	}
	d := apikey.NewCallers(apikey.CallerOptions{}) // a query would be a nil dereference
	defer d.Close()
	seen := secret.NewToken(apikey.LivePrefix)
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	random := mathrand.New(mathrand.NewPCG(1, 2))
	letter := func() byte { return base62[random.IntN(len(base62))] }
	for n := range tries {
		forged := []byte(seen)
		switch n % 4 {
		case 0: // everything but the prefix is replaced
			for i := len(apikey.LivePrefix); i < len(forged); i++ {
				forged[i] = letter()
			}
		case 1: // one character is replaced
			at := len(apikey.LivePrefix) + random.IntN(len(forged)-len(apikey.LivePrefix))
			forged[at] = base62[(strings.IndexByte(base62, forged[at])+1+random.IntN(len(base62)-1))%len(base62)]
		case 2: // the other prefix, with a random last character
			copy(forged, apikey.TestPrefix)
			forged[len(forged)-1] = letter()
		case 3: // another body with the seen checksum
			for i := range 32 {
				forged[len(apikey.LivePrefix)+i] = letter()
			}
		}
		_, err := d.Authenticate(t.Context(), string(forged))
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
	}
}

func TestRevocationElsewhereTakesEffectInTwoSeconds(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, made := h.Key("acme", apikey.Spec{})
	h.Caller(text)
	// Another replica revokes the key.
	row, err := h.Store.Key(t.Context(), made.ID)
	tenanttest.Must(t, err)
	tenanttest.Must(t, h.Store.RevokeKey(t.Context(), row, h.Clock.Now(), nil))
	h.Clock.Advance(2 * time.Second)
	_, err = h.Callers.Authenticate(t.Context(), text)
	tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

// A telephone call asks for something every few seconds. Once it is known what other processes change, it waits for no
// query, and what they change takes effect as soon.
func TestKeyInUseIsNotLookedUpAgain(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) { // in which no time passes, and nothing but the test looks for changes
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Tenant("beta")
		text, made := h.Key("acme", apikey.Spec{})
		other, _ := h.Key("beta", apikey.Spec{})
		asked := func(key string) time.Time {
			h.Caller(key)
			_, at := h.Callers.Remembered(key)
			return at
		}
		asked(text)
		h.Callers.Look(t.Context())
		h.Clock.Advance(2 * time.Second)
		first, second := asked(text), asked(other)
		for range 100 {
			h.Callers.Look(t.Context())
			h.Clock.Advance(1900 * time.Millisecond)
			if at := asked(text); !at.Equal(first) {
				t.Fatalf("the key is looked up again after %s", at.Sub(first))
			}
		}
		// Another replica revokes the key.
		row, err := h.Store.Key(t.Context(), made.ID)
		tenanttest.Must(t, err)
		tenanttest.Must(t, h.Store.RevokeKey(t.Context(), row, h.Clock.Now(), nil))
		h.Callers.Look(t.Context())
		_, err = h.Callers.Authenticate(t.Context(), text)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if at := asked(other); !at.Equal(second) {
			t.Errorf("the key of another tenant is looked up again after %s", at.Sub(second))
		}
		h.Close()
	})
}

func TestRevocationHereTakesEffectAtOnce(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, made := h.Key("acme", apikey.Spec{})
	h.Caller(text)
	if err := h.Keys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	_, err := h.Callers.Authenticate(t.Context(), text)
	tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

func TestKeyInUseIsAskedForBeforeItsAnswerIsTooOld(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		text, made := h.Key("acme", apikey.Spec{})
		h.Caller(text)
		h.Clock.Advance(1500 * time.Millisecond)
		h.Caller(text) // from the cache, which is refreshed meanwhile
		synctest.Wait()
		if caller, at := h.Callers.Remembered(text); !at.Equal(h.Clock.Now()) || caller.KeyID != made.ID {
			t.Errorf("remembered %+v of %v", caller, at)
		}
		h.Clock.Advance(1900 * time.Millisecond)
		h.Caller(text) // 3.4 s after the first lookup; no call has waited
		h.Close()
	})
}

func TestClockThatGoesBackEndsWhatIsRemembered(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, made := h.Key("acme", apikey.Spec{})
	h.Caller(text)
	row, err := h.Store.Key(t.Context(), made.ID)
	tenanttest.Must(t, err)
	tenanttest.Must(t, h.Store.RevokeKey(t.Context(), row, h.Clock.Now(), nil))
	h.Clock.Advance(-time.Hour)
	_, err = h.Callers.Authenticate(t.Context(), text)
	tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

func TestStoreThatIsDownIsNoBadKey(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, _ := h.Key("acme", apikey.Spec{})
	if err := h.Store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := h.Callers.Authenticate(t.Context(), text)
	if f := fault.From(err); f == nil || f.Code == fault.Unauthenticated {
		t.Errorf("got %v", err)
	}
	if _, at := h.Callers.Remembered(text); !at.IsZero() {
		t.Error("the failure is remembered")
	}
}

func TestKeySetThatCannotBeReadIsNoBadKey(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, made := h.Key("acme", apikey.Spec{})
	again := h.LoseKeySet()
	_, err := h.Callers.Authenticate(t.Context(), text)
	tenanttest.WantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	if _, at := h.Callers.Remembered(text); !at.IsZero() {
		t.Error("the failure is remembered")
	}
	if said := h.Logged.String(); !strings.Contains(said, made.ID) || !strings.Contains(said, "chmod 600") ||
		strings.Contains(said, "not as the gateway wrote it") {
		t.Errorf("the log does not tell the cause: %s", said)
	}
	if _, err := h.Rows.KeysInUse(t.Context()); err == nil { // or a rotation would drop the keys of such rows
		t.Error("the keys that rows need are known without the key set")
	}
	again()
	h.Caller(text)
}

func TestWhatAKeyReaches(t *testing.T) {
	const cal, tel = adapter.KindCalendar, adapter.KindTelephony
	for _, rule := range []struct {
		name        string
		connections []connection.Spec // created in this order
		key         apikey.Spec
		remove      string // a connection that is removed before the key is used
		want        map[adapter.Kind]string
	}{
		{"the defaults",
			[]connection.Spec{
				{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav", Default: true},
				{Name: "n", Kind: tel, Provider: "sandbox"},
			},
			apikey.Spec{}, "", map[adapter.Kind]string{cal: "b", tel: "n"}},
		{"what it is bound to, and the defaults of other kinds",
			[]connection.Spec{
				{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav"},
				{Name: "n", Kind: tel, Provider: "sandbox"},
			},
			apikey.Spec{Connections: []string{"b"}}, "", map[adapter.Kind]string{cal: "b", tel: "n"}},
		{"no default in place of a connection that is gone",
			[]connection.Spec{
				{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav"},
				{Name: "n", Kind: tel, Provider: "sandbox"},
			},
			apikey.Spec{Connections: []string{"b"}}, "b", map[adapter.Kind]string{}},
		{"what is left of what it is bound to",
			[]connection.Spec{
				{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav"},
				{Name: "n", Kind: tel, Provider: "sandbox"},
			},
			apikey.Spec{Connections: []string{"b", "n"}}, "b", map[adapter.Kind]string{tel: "n"}},
		{"a live key: sandboxes too", []connection.Spec{{Name: "s", Kind: cal, Provider: "sandbox"}},
			apikey.Spec{}, "", map[adapter.Kind]string{cal: "s"}},
		{"a test key: sandboxes only",
			[]connection.Spec{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "n", Kind: tel, Provider: "sandbox"}},
			apikey.Spec{Test: true}, "", map[adapter.Kind]string{tel: "n"}},
		{"a test key: the first sandbox where the default is none",
			[]connection.Spec{
				{Name: "a", Kind: cal, Provider: "dav"}, {Name: "z", Kind: cal, Provider: "sandbox"},
				{Name: "s", Kind: cal, Provider: "sandbox"},
			},
			apikey.Spec{Test: true}, "", map[adapter.Kind]string{cal: "z"}},
		{"a test key: the default where it is a sandbox",
			[]connection.Spec{
				{Name: "z", Kind: cal, Provider: "sandbox"}, {Name: "s", Kind: cal, Provider: "sandbox", Default: true},
				{Name: "a", Kind: cal, Provider: "sandbox"},
			},
			apikey.Spec{Test: true}, "", map[adapter.Kind]string{cal: "s"}},
		{"a test key: what it is bound to",
			[]connection.Spec{
				{Name: "z", Kind: cal, Provider: "sandbox"}, {Name: "s", Kind: cal, Provider: "sandbox"},
			},
			apikey.Spec{Test: true, Connections: []string{"s"}}, "", map[adapter.Kind]string{cal: "s"}},
		{"nothing", nil, apikey.Spec{}, "", map[adapter.Kind]string{}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			h := tenanttest.Open(t, storetest.SQLite(t))
			acme := h.Tenant("acme")
			for _, n := range rule.connections {
				if _, err := h.Connections.Add(t.Context(), "acme", n); err != nil {
					t.Fatal(err)
				}
				h.Clock.Advance(time.Millisecond)
			}
			text, _ := h.Key("acme", rule.key)
			if rule.remove != "" { // in the store, since connection.Directory would refuse it
				all, err := h.Connections.List(t.Context(), "acme")
				tenanttest.Must(t, err)
				at := slices.IndexFunc(all, func(c connection.Connection) bool { return c.Name == rule.remove })
				tenanttest.Must(t, h.Store.DeleteConnection(t.Context(), acme.ID, all[at].ID))
			}
			got := map[adapter.Kind]string{}
			for kind, c := range h.Caller(text).Connections {
				got[kind] = c.Name
			}
			if fmt.Sprint(got) != fmt.Sprint(rule.want) {
				t.Errorf("reaches %v, want %v", got, rule.want)
			}
		})
	}
}

func TestCallerOfReachesOneConnection(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	acme, other := h.Tenant("acme"), h.Tenant("other")
	h.Connection("acme", "a", adapter.KindCalendar, "dav")
	b := h.Connection("acme", "b", adapter.KindCalendar, "dav")
	h.Connection("acme", "n", adapter.KindTelephony, "sandbox")
	c, err := h.Callers.CallerOf(t.Context(), acme.ID, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Tenant.ID != acme.ID || len(c.Connections) != 1 || c.Connections[adapter.KindCalendar].ID != b.ID ||
		c.KeyID != "" || c.Scopes != nil {
		t.Errorf("caller %+v", c)
	}
	_, err = h.Callers.CallerOf(t.Context(), other.ID, b.ID)
	if f := fault.From(err); f == nil || f.Code != fault.NotFound {
		t.Errorf("a connection of another tenant: %v", err)
	}
}

func TestClosedCallersRefuse(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, _ := h.Key("acme", apikey.Spec{})
	h.Close()
	_, err := h.Callers.Authenticate(t.Context(), text)
	tenanttest.WantFault(t, err, fault.Unavailable, fault.ReasonOverloaded)
}

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := tenanttest.Open(t, url, func(o *tenanttest.Options) { o.Now = time.Now })
		h.Tenant("acme")
		text, _ := h.Key("acme", apikey.Spec{})
		used := func() time.Time {
			keys, err := h.Keys.List(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			return keys[0].LastUsedAt
		}
		h.Caller(text)
		time.Sleep(30 * time.Second) // of the bubble's clock
		h.Caller(text)
		last := time.Now()
		if !used().IsZero() {
			t.Error("written on the way of a call")
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if !used().Equal(last) {
			t.Errorf("last used %v, want %v", used(), last)
		}
		time.Sleep(5 * time.Second)
		h.Caller(text)
		last = time.Now()
		h.Close() // writes the remaining times
		if !used().Equal(last) {
			t.Errorf("last used %v after closing, want %v", used(), last)
		}
	})
}

// Anybody may send a request to an agent's address. That is no use of the agent before the request has proved itself.
func TestAnAgentIsNotUsedByWhoeverKnowsItsAddress(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	made, err := h.Keys.CreateAgent(t.Context(), "acme", apikey.AgentSpec{Platform: "retell"})
	if err != nil {
		t.Fatal(err)
	}
	for _, proven := range []bool{false, true} {
		callers := apikey.NewCallers(apikey.CallerOptions{
			Store: h.Store, Vault: h.Vault, Now: h.Clock.Now, Log: slog.New(slog.DiscardHandler),
		})
		agent, err := callers.Agent(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if proven {
			callers.Used(agent.Caller)
		}
		callers.Close() // writes when keys were used
		all, err := h.Keys.ListAgents(t.Context(), "acme")
		if err != nil || all[0].LastUsedAt.IsZero() == proven {
			t.Errorf("proven %v: last used %v, %v", proven, all[0].LastUsedAt, err)
		}
	}
}

// A platform that was left with the address of a removed agent is told no more than of one that never was, and the log
// whose it is.
func TestARemovedAgentIsKnownInTheLog(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	made, err := h.Keys.CreateAgent(t.Context(), "acme", apikey.AgentSpec{Platform: "retell"})
	tenanttest.Must(t, err)
	tenanttest.Must(t, h.Keys.RemoveAgent(t.Context(), "acme", made.ID))
	_, err = h.Callers.Agent(t.Context(), made.ID)
	former, is := errors.AsType[*apikey.FormerKey](err)
	if !is || former.ID != made.ID || former.Tenant != "acme" || !strings.Contains(err.Error(), "was revoked at") {
		t.Errorf("the log has %v", err)
	}
	_, unknown := h.Callers.Agent(t.Context(), "agent_none")
	if fault.From(err).Error() != unknown.Error() || errors.Is(err, fault.Unauthenticated) {
		t.Errorf("the platform is told %v, and of an unknown agent %v", fault.From(err), unknown)
	}
}

func BenchmarkCallerToDriver(b *testing.B) {
	h := tenanttest.Open(b, storetest.SQLite(b))
	h.Tenant("acme")
	h.Connection("acme", "a", adapter.KindCalendar, "dav")
	text, _ := h.Key("acme", apikey.Spec{})
	b.ReportAllocs()
	for b.Loop() { // after the first lookup, from the cache: the clock stands still
		caller, err := h.Callers.Authenticate(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := h.Calendar(caller); err != nil {
			b.Fatal(err)
		}
	}
}
