package apikey

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeysThatAreTriedDoNotPushOutThoseInUse(t *testing.T) {
	c := newAnswers()
	used := secret.Hash{1}
	c.keep(used, knownKey{at: time.Unix(1, 0)}, 0)
	for i := range maxInvalid + 100 {
		c.keep(secret.Hash{2, byte(i), byte(i >> 8)}, knownKey{invalid: ErrKey, at: time.Unix(1, 0)}, 0)
	}
	if len(c.invalid) != maxInvalid {
		t.Errorf("%d invalid keys are remembered", len(c.invalid))
	}
	if k, _, _ := c.find(used, time.Unix(1, 0)); k.at.IsZero() {
		t.Error("the key in use is forgotten")
	}
	c.sweep(time.Unix(3, 0), nil)
	if len(c.invalid)+len(c.valid) != 0 {
		t.Error("what is too old is not swept")
	}
}

func TestAnswerFromBeforeAChangeIsNotRemembered(t *testing.T) {
	c := newAnswers()
	_, _, before := c.find(secret.Hash{1}, time.Unix(1, 0))
	c.forget()
	c.keep(secret.Hash{1}, knownKey{at: time.Unix(1, 0)}, before)
	if k, _, _ := c.find(secret.Hash{1}, time.Unix(1, 0)); !k.at.IsZero() {
		t.Error("an answer asked for before the change is remembered after it")
	}
}

// How long an answer may be used: two seconds, or much longer while the store tells what is changed.
func TestLifeOfAnAnswer(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	key := func(asked int) knownKey {
		return knownKey{at: at(asked), caller: Caller{KeyID: "k", Tenant: tenant.Tenant{ID: "acme"}}}
	}
	elsewhere := key(11)
	elsewhere.server = 1
	ending := key(20)
	ending.ends = at(30)
	for _, rule := range []struct {
		name string
		key  knownKey
		now  int
		want time.Duration
	}{
		{"changes since before the query are known", key(11), 21, followedLife},
		{"those between the query and the end of the first look are not", key(10), 21, answerLife},
		{"another server was asked, which may lag behind the one that tells of changes", elsewhere, 21, answerLife},
		{"the last look is too long ago", key(11), 22, answerLife},
		{"the clock was set back since the last look", key(11), 19, answerLife},
		{"a key that ends later", ending, 21, followedLife},
		{"a key that has ended", ending, 30, 0},
	} {
		c := newAnswers()
		c.learn(at(8), at(10), nil, store.Mark{}, false)
		c.learn(at(20), at(21), []string{"beta"}, store.Mark{}, true)
		if got := c.life(rule.key, at(rule.now)); got != rule.want {
			t.Errorf("%s: %s, want %s", rule.name, got, rule.want)
		}
		c.learn(at(20), at(21), []string{"acme"}, store.Mark{}, true)
		if got := c.life(rule.key, at(rule.now)); got != 0 {
			t.Errorf("%s, and the tenant was changed: %s", rule.name, got)
		}
	}
}

func TestKeysInUseStayCached(t *testing.T) {
	c := newAnswers()
	for i, id := range []string{"used", "unused"} {
		c.keep(secret.Hash{byte(i)}, knownKey{at: time.Unix(1, 0), caller: Caller{KeyID: id}}, 0)
	}
	used := map[string]time.Time{"used": time.Unix(50, 0), "unused": time.Unix(30, 0)}
	if c.sweep(time.Unix(60, 0), used); len(c.valid) != 1 || c.valid[secret.Hash{0}].caller.KeyID != "used" {
		t.Errorf("cached: %v", c.valid)
	}
	used["used"] = time.Unix(1, 0).Add(followedLife)
	if c.sweep(used["used"], used); len(c.valid) != 0 {
		t.Errorf("cached although its time is over: %v", c.valid)
	}
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

func TestAKeyIsUsedAnewAfterAPause(t *testing.T) {
	u := &usage{at: map[string]time.Time{}}
	for _, use := range []struct {
		at   time.Duration
		anew bool
	}{{0, true}, {usePause - 1, false}, {2*usePause - 2, false}, {3*usePause - 2, true}} {
		if got := u.touch("a", time.Unix(1, 0).Add(use.at)); got != use.anew {
			t.Errorf("a use at %s is anew: %t", use.at, got)
		}
	}
}
