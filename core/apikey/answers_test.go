package apikey

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeysThatAreTriedDoNotPushOutThoseInUse(t *testing.T) {
	c := newAnswers()
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
	c := newAnswers()
	_, before := c.find(secret.Hash{1})
	c.forget()
	c.keep(secret.Hash{1}, knownKey{valid: true, at: time.Unix(1, 0)}, before)
	if k, _ := c.find(secret.Hash{1}); k.valid {
		t.Error("an answer asked for before the change is remembered after it")
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
