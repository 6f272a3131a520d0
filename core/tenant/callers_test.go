package tenant

import (
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store/storetest"
)

func TestKeyAnswersWhoseItIs(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		acme := h.tenant("acme")
		h.tenant("other")
		cal := h.connection("acme", "front-office", adapter.KindCalendar, "dav")
		h.connection("other", "front-office", adapter.KindCalendar, "dav")
		text, made := h.key("acme", NewKey{Label: "agent", Scopes: []Scope{ScopeTicketsRead, ScopeCalendarRead}})
		c := h.caller(text)
		if c.Tenant.ID != acme.ID || c.Tenant.Name != "acme" || c.KeyID != made.ID || c.Test {
			t.Errorf("caller %+v", c)
		}
		if !slices.Equal(c.Scopes, []Scope{ScopeCalendarRead, ScopeTicketsRead}) {
			t.Errorf("scopes %v", c.Scopes)
		}
		if len(c.Connections) != 1 || c.Connections[adapter.KindCalendar].ID != cal.ID {
			t.Errorf("connections %v", c.Connections)
		}
		if err := c.Require(ScopeTicketsRead); err != nil {
			t.Errorf("a scope it has: %v", err)
		}
		f := wantFault(t, c.Require(ScopeTicketsWrite), fault.Forbidden, fault.ReasonScopeMissing)
		if f.Metadata["scope"] != "tickets:write" || !strings.Contains(f.Detail, "tickets:write") {
			t.Errorf("the fault does not name the scope: %v", f)
		}
	})
}

func TestKeyMadeWithoutScopesHasAll(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, _ := h.key("acme", NewKey{})
	if got := h.caller(text).Scopes; !slices.Equal(got, Scopes()) {
		t.Errorf("scopes %v", got)
	}
}

func TestKeysThatAreNotInForce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		h.tenant("gone")
		revoked, made := h.key("acme", NewKey{})
		if err := h.RevokeKey(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		orphan, _ := h.key("gone", NewKey{})
		if err := h.DeleteTenant(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		unknown := secret.NewToken(livePrefix)
		for name, key := range map[string]string{"revoked": revoked, "of a deleted tenant": orphan, "unknown": unknown, "none": "", "mistyped": unknown[:45] + "!"} {
			t.Run(name, func(t *testing.T) {
				for range 2 { // from the store, then from memory
					_, err := h.Authenticate(t.Context(), key)
					f := wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
					if f.Detail != "The API key is not valid: it is mistyped, unknown or revoked." {
						t.Errorf("the answer tells why: %s", f.Detail)
					}
				}
			})
		}
	})
}

func TestMistypedKeyCostsNoQuery(t *testing.T) {
	d := NewDirectory(Options{}) // a query would be a nil dereference
	defer d.Close()
	for _, key := range []string{"", "x", "fd_live_" + strings.Repeat("0", 38), strings.Repeat("k", 1<<20)} {
		_, err := d.Authenticate(t.Context(), key)
		wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
	}
}

// Keys that are guessed, or made from one that was seen, are refused for the price of a checksum.
// FRONTDESK_FORGERIES says how many are tried (20000).
func TestForgedKeysCostNoQuery(t *testing.T) {
	tries := 20_000
	if given := os.Getenv("FRONTDESK_FORGERIES"); given != "" {
		var err error
		tries, err = strconv.Atoi(given)
		must(t, err)
	}
	d := NewDirectory(Options{}) // a query would be a nil dereference
	defer d.Close()
	seen := secret.NewToken(livePrefix)
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	random := mathrand.New(mathrand.NewPCG(1, 2))
	letter := func() byte { return base62[random.IntN(len(base62))] }
	for n := range tries {
		forged := []byte(seen)
		switch n % 4 {
		case 0: // all of it
			for i := len(livePrefix); i < len(forged); i++ {
				forged[i] = letter()
			}
		case 1: // one character
			at := len(livePrefix) + random.IntN(len(forged)-len(livePrefix))
			forged[at] = base62[(strings.IndexByte(base62, forged[at])+1+random.IntN(len(base62)-1))%len(base62)]
		case 2: // its other kind, with a character of luck
			copy(forged, testPrefix)
			forged[len(forged)-1] = letter()
		case 3: // a whole body under the checksum that was seen
			for i := range 32 {
				forged[len(livePrefix)+i] = letter()
			}
		}
		_, err := d.Authenticate(t.Context(), string(forged))
		wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
	}
}

func TestRevocationElsewhereTakesEffectInTwoSeconds(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, made := h.key("acme", NewKey{})
	h.caller(text)
	if err := h.store.RevokeKey(t.Context(), made.ID, h.clock.now(), nil); err != nil { // as another replica does
		t.Fatal(err)
	}
	h.clock.advance(900 * time.Millisecond)
	h.caller(text) // remembered
	h.clock.advance(1100 * time.Millisecond)
	_, err := h.Authenticate(t.Context(), text)
	wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

func TestRevocationHereTakesEffectAtOnce(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, made := h.key("acme", NewKey{})
	h.caller(text)
	if err := h.RevokeKey(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	_, err := h.Authenticate(t.Context(), text)
	wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

func TestKeyInUseIsAskedForBeforeItsAnswerIsTooOld(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := build(t, url)
		h.tenant("acme")
		text, made := h.key("acme", NewKey{})
		h.caller(text)
		h.clock.advance(1500 * time.Millisecond)
		h.caller(text) // remembered, and asked for again meanwhile
		synctest.Wait()
		hash, _ := hashKey(text)
		known, _ := h.callers.find(hash)
		if !known.valid || !known.at.Equal(h.clock.now()) || known.caller.KeyID != made.ID {
			t.Errorf("remembered %+v", known)
		}
		h.clock.advance(1900 * time.Millisecond)
		h.caller(text) // 3.4 s after the first answer, and no call waited
		h.Close()
	})
}

func TestClockThatGoesBackEndsWhatIsRemembered(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, made := h.key("acme", NewKey{})
	h.caller(text)
	if err := h.store.RevokeKey(t.Context(), made.ID, h.clock.now(), nil); err != nil {
		t.Fatal(err)
	}
	h.clock.advance(-time.Hour)
	_, err := h.Authenticate(t.Context(), text)
	wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

func TestStoreThatIsDownIsNoBadKey(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, _ := h.key("acme", NewKey{})
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := h.Authenticate(t.Context(), text)
	if f := fault.From(err); f == nil || f.Code == fault.Unauthenticated {
		t.Errorf("got %v", err)
	}
	hash, _ := hashKey(text)
	if known, _ := h.callers.find(hash); !known.at.IsZero() {
		t.Error("the failure is remembered")
	}
}

func TestWhatAKeyReaches(t *testing.T) {
	const cal, tel = adapter.KindCalendar, adapter.KindTelephony
	for _, rule := range []struct {
		name        string
		connections []NewConnection // made in this order
		key         NewKey
		remove      string // a connection that is gone by the time the key is used
		want        map[adapter.Kind]string
	}{
		{"the defaults",
			[]NewConnection{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav", Default: true}, {Name: "n", Kind: tel, Provider: "sandbox"}},
			NewKey{}, "", map[adapter.Kind]string{cal: "b", tel: "n"}},
		{"what it is bound to, and the defaults of other kinds",
			[]NewConnection{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav"}, {Name: "n", Kind: tel, Provider: "sandbox"}},
			NewKey{Connections: []string{"b"}}, "", map[adapter.Kind]string{cal: "b", tel: "n"}},
		{"no default in place of a connection that is gone",
			[]NewConnection{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav"}, {Name: "n", Kind: tel, Provider: "sandbox"}},
			NewKey{Connections: []string{"b"}}, "b", map[adapter.Kind]string{}},
		{"what is left of what it is bound to",
			[]NewConnection{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "b", Kind: cal, Provider: "dav"}, {Name: "n", Kind: tel, Provider: "sandbox"}},
			NewKey{Connections: []string{"b", "n"}}, "b", map[adapter.Kind]string{tel: "n"}},
		{"a live key: sandboxes too", []NewConnection{{Name: "s", Kind: cal, Provider: "sandbox"}},
			NewKey{}, "", map[adapter.Kind]string{cal: "s"}},
		{"a test key: sandboxes only", []NewConnection{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "n", Kind: tel, Provider: "sandbox"}},
			NewKey{Test: true}, "", map[adapter.Kind]string{tel: "n"}},
		{"a test key: the first sandbox where the default is none",
			[]NewConnection{{Name: "a", Kind: cal, Provider: "dav"}, {Name: "z", Kind: cal, Provider: "sandbox"}, {Name: "s", Kind: cal, Provider: "sandbox"}},
			NewKey{Test: true}, "", map[adapter.Kind]string{cal: "z"}},
		{"a test key: the default where it is a sandbox",
			[]NewConnection{{Name: "z", Kind: cal, Provider: "sandbox"}, {Name: "s", Kind: cal, Provider: "sandbox", Default: true}, {Name: "a", Kind: cal, Provider: "sandbox"}},
			NewKey{Test: true}, "", map[adapter.Kind]string{cal: "s"}},
		{"a test key: what it is bound to",
			[]NewConnection{{Name: "z", Kind: cal, Provider: "sandbox"}, {Name: "s", Kind: cal, Provider: "sandbox"}},
			NewKey{Test: true, Connections: []string{"s"}}, "", map[adapter.Kind]string{cal: "s"}},
		{"nothing", nil, NewKey{}, "", map[adapter.Kind]string{}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			h := build(t, storetest.SQLite(t))
			acme := h.tenant("acme")
			for _, n := range rule.connections {
				if _, err := h.AddConnection(t.Context(), "acme", n); err != nil {
					t.Fatal(err)
				}
				h.clock.advance(time.Millisecond)
			}
			text, _ := h.key("acme", rule.key)
			if rule.remove != "" { // behind the directory's back, which would refuse it
				_, row, err := h.connectionRow(t.Context(), "acme", rule.remove)
				if err != nil {
					t.Fatal(err)
				}
				if err := h.store.DeleteConnection(t.Context(), acme.ID, row.ID); err != nil {
					t.Fatal(err)
				}
			}
			got := map[adapter.Kind]string{}
			for kind, c := range h.caller(text).Connections {
				got[kind] = c.Name
			}
			if fmt.Sprint(got) != fmt.Sprint(rule.want) {
				t.Errorf("reaches %v, want %v", got, rule.want)
			}
		})
	}
}

func TestCallerOfReachesOneConnection(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	acme, other := h.tenant("acme"), h.tenant("other")
	h.connection("acme", "a", adapter.KindCalendar, "dav")
	b := h.connection("acme", "b", adapter.KindCalendar, "dav")
	h.connection("acme", "n", adapter.KindTelephony, "sandbox")
	c, err := h.CallerOf(t.Context(), acme.ID, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	if c.Tenant.ID != acme.ID || len(c.Connections) != 1 || c.Connections[adapter.KindCalendar].ID != b.ID || c.KeyID != "" || c.Scopes != nil {
		t.Errorf("caller %+v", c)
	}
	_, err = h.CallerOf(t.Context(), other.ID, b.ID)
	if f := fault.From(err); f == nil || f.Code != fault.NotFound {
		t.Errorf("a connection of another tenant: %v", err)
	}
}

func TestKeysThatAreTriedDoNotPushOutThoseInUse(t *testing.T) {
	c := newCallers()
	used := secret.Hash{1}
	c.keep(used, knownKey{valid: true, at: time.Unix(1, 0)}, 0)
	for i := range maxInvalid + 100 {
		c.keep(secret.Hash{2, byte(i), byte(i >> 8)}, knownKey{at: time.Unix(1, 0)}, 0)
	}
	if len(c.invalid) != maxInvalid {
		t.Errorf("%d invalid keys are remembered", len(c.invalid))
	}
	if k, _ := c.find(used); !k.valid {
		t.Error("the key in use is forgotten")
	}
	c.sweep(time.Unix(2, 0))
	if len(c.invalid)+len(c.valid) != 0 {
		t.Error("what is too old is not swept")
	}
}

func TestAnswerFromBeforeAChangeIsNotRemembered(t *testing.T) {
	c := newCallers()
	_, before := c.find(secret.Hash{1})
	c.forget()
	c.keep(secret.Hash{1}, knownKey{valid: true, at: time.Unix(1, 0)}, before)
	if k, _ := c.find(secret.Hash{1}); k.valid {
		t.Error("an answer asked for before the change is remembered after it")
	}
}

func TestClosedDirectoryRefuses(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, _ := h.key("acme", NewKey{})
	h.Close()
	_, err := h.Authenticate(t.Context(), text)
	wantFault(t, err, fault.Unavailable, fault.ReasonOverloaded)
}

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := build(t, url, func(o *Options) { o.Now = time.Now })
		h.tenant("acme")
		text, _ := h.key("acme", NewKey{})
		used := func() time.Time {
			keys, err := h.Keys(t.Context(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			return keys[0].LastUsedAt
		}
		h.caller(text)
		time.Sleep(30 * time.Second) // of the bubble's clock
		h.caller(text)
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
		h.caller(text)
		last = time.Now()
		h.Close() // writes what is left
		if !used().Equal(last) {
			t.Errorf("last used %v after closing, want %v", used(), last)
		}
	})
}

func TestLastUseSurvivesAStoreThatIsDown(t *testing.T) {
	u := &usage{at: map[string]time.Time{}}
	u.touch("a", time.Unix(1, 0))
	u.touch("b", time.Unix(1, 0))
	taken := u.take()
	u.touch("a", time.Unix(5, 0))
	u.putBack(taken)
	got := u.take()
	if len(got) != 2 || !got["a"].Equal(time.Unix(5, 0)) || !got["b"].Equal(time.Unix(1, 0)) {
		t.Errorf("kept %v", got)
	}
}
