package scenario_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/fault"
)

const taken scenario.Name = "slot_taken"

func provider() scenario.Provider {
	return scenario.Provider{
		Storage: adaptertest.Storage(), Now: time.Now,
		Own: map[scenario.Name]*fault.Error{taken: fault.New(fault.Conflict, fault.ReasonSlotTaken, "Taken.")},
	}
}

type counter struct{ acted int }

func (c *counter) act(context.Context) (int, error) {
	c.acted++
	return c.acted, nil
}

func TestAScenarioSaysHowACallFails(t *testing.T) {
	for _, c := range []struct {
		rule   string
		always scenario.Name
		texts  []string
		code   fault.Code // "" succeeds
		takes  time.Duration
		unsent bool
	}{
		{rule: "no scenario", texts: []string{"Haircut", ""}},
		{rule: "an unknown value is text", texts: []string{"sandbox:castle"}},
		{rule: "a value needs its colon", texts: []string{"sandbox down"}},
		{rule: "a longer value is none", texts: []string{"sandbox:downtown"}},
		{rule: "part of a longer one is none", texts: []string{"mysandbox:down"}},
		{rule: "slow", texts: []string{"Haircut sandbox:slow"}, takes: scenario.SlowFor},
		{rule: "in any letter case", texts: []string{"SANDBOX:Down"}, code: fault.Unavailable, unsent: true},
		{rule: "in any text", texts: []string{"Haircut", "sandbox:down"}, code: fault.Unavailable, unsent: true},
		{rule: "with a mark after it", texts: []string{"Haircut (sandbox:down)."},
			code: fault.Unavailable, unsent: true},
		{rule: "after one that nobody knows", texts: []string{"sandbox:castle sandbox:revoked"},
			code: fault.Disconnected},
		{rule: "the first one counts", texts: []string{"sandbox:forbidden", "sandbox:down"}, code: fault.Forbidden},
		{rule: "rate limited", texts: []string{"sandbox:rate_limited"}, code: fault.RateLimited},
		{rule: "a scenario of the sandbox's own", texts: []string{"sandbox:slot_taken"}, code: fault.Conflict},
		{rule: "the setting counts for every call", always: scenario.Down, code: fault.Unavailable, unsent: true},
		{rule: "a scenario of the call's own counts before the setting", always: scenario.Down,
			texts: []string{"sandbox:slow"}, takes: scenario.SlowFor},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for name, do := range map[string]func(
					context.Context, scenario.Provider, scenario.Call, func(context.Context) (int, error),
				) (int, error){
					"read": scenario.Read[int], "write": scenario.Write[int],
				} {
					p, acts, began := provider(), &counter{}, time.Now()
					p.Always = c.always
					_, err := do(t.Context(), p, scenario.Call{About: "x", Request: "r", Texts: c.texts}, acts.act)
					f := fault.From(err)
					switch {
					case c.code == "" && (err != nil || acts.acted != 1):
						t.Errorf("%s: acted %d times, error %v", name, acts.acted, err)
					case c.code != "" && (f == nil || f.Code != c.code || f.Unsent != c.unsent || acts.acted != 0):
						t.Errorf("%s: acted %d times, error %v, want %s", name, acts.acted, err, c.code)
					}
					if took := time.Since(began); took != c.takes {
						t.Errorf("%s: took %s, want %s", name, took, c.takes)
					}
				}
			})
		})
	}
}

func TestRateLimitedNamesAWaitLongerThanAnyDeadline(t *testing.T) {
	_, err := scenario.Read(t.Context(), provider(), scenario.Call{Texts: []string{"sandbox:rate_limited"}},
		(&counter{}).act)
	if got := fault.From(err).RetryAfter; got != 30*time.Second {
		t.Errorf("RetryAfter is %s", got)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	for rule, p := range map[string]scenario.Provider{
		"hang":    {Always: scenario.Hang},
		"slow":    {Always: scenario.Slow},
		"latency": {Latency: time.Hour},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p.Storage, p.Now = adaptertest.Storage(), time.Now
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began, acts := time.Now(), &counter{}
				_, err := scenario.Write(ctx, p, scenario.Call{About: "x"}, acts.act)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second || acts.acted != 0 {
					t.Errorf("after %s: %v, acted %d times", time.Since(began), err, acts.acted)
				}
			})
		})
	}
}

func TestLatencyIsHowLongACallTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := provider(), time.Now()
		p.Latency = 250 * time.Millisecond
		if _, err := scenario.Read(t.Context(), p, scenario.Call{}, (&counter{}).act); err != nil ||
			time.Since(began) != p.Latency {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestALostReplyIsLostOnceForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, acts := provider(), &counter{}
		write := func(about, request string) error {
			_, err := scenario.Write(t.Context(), p,
				scenario.Call{About: about, Request: request, Texts: []string{"sandbox:reply_lost"}}, acts.act)
			return err
		}
		for _, step := range []struct {
			rule           string
			about, request string
			wait           time.Duration
			lost           bool
		}{
			{"the first time", "x", "book", 0, true},
			{"a repeat finds it", "x", "book", 0, false},
			{"another request is lost again", "x", "change", 0, true},
			{"and its repeat finds it", "x", "change", 0, false},
			{"about another subject", "y", "book", 0, true},
			{"long after, it is lost again", "x", "book", time.Hour, true},
			{"once", "x", "book", 0, false},
		} {
			time.Sleep(step.wait)
			before := acts.acted
			err := write(step.about, step.request)
			if acts.acted != before+1 {
				t.Errorf("%s: did not act", step.rule)
			}
			if lost := errors.Is(err, fault.Unavailable); lost != step.lost || lost && fault.From(err).Unsent ||
				!lost && err != nil {
				t.Errorf("%s: %v", step.rule, err)
			}
		}
	})
}

func TestOfManyAtOnceOneReplyIsLost(t *testing.T) {
	p := provider()
	results := make(chan error)
	for range 16 {
		go func() {
			_, err := scenario.Write(t.Context(), p,
				scenario.Call{About: "x", Request: "book", Texts: []string{"sandbox:reply_lost"}},
				func(context.Context) (int, error) { return 0, nil })
			results <- err
		}()
	}
	replies := 0
	for range 16 {
		if err := <-results; err != nil {
			replies++
		}
	}
	if replies != 1 {
		t.Errorf("%d replies were lost, want 1", replies)
	}
}

func TestAnUnknownOutcomeKeepsItsSubjectOutOfReachForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, acts := provider(), &counter{}
		book := scenario.Call{About: "x", Request: "book", Texts: []string{"sandbox:outcome_unknown"}}
		readIt := scenario.Call{About: "x"}
		silent := func(rule string, err error, acted int) {
			t.Helper()
			if f := fault.From(err); !errors.Is(err, fault.Unavailable) || f.Unsent {
				t.Errorf("%s: %v", rule, err)
			}
			if acts.acted != acted {
				t.Errorf("%s: acted %d times, want %d", rule, acts.acted, acted)
			}
		}
		_, err := scenario.Write(t.Context(), p, book, acts.act)
		silent("it acts and loses the reply", err, 1)
		_, err = scenario.Write(t.Context(), p, book, acts.act)
		silent("a repeat does not get through", err, 1)
		_, err = scenario.Read(t.Context(), p, readIt, acts.act)
		silent("nor does a look", err, 1)
		if _, err = scenario.Read(t.Context(), p, scenario.Call{About: "y"}, acts.act); err != nil {
			t.Errorf("another subject is within reach: %v", err)
		}
		time.Sleep(scenario.SilentFor)
		if _, err = scenario.Read(t.Context(), p, readIt, acts.act); err != nil {
			t.Errorf("after a while it is within reach: %v", err)
		}
		if _, err = scenario.Write(t.Context(), p, book, acts.act); err != nil {
			t.Errorf("and the repeat is answered: %v", err)
		}
	})
}

func TestAReadHasNoReplyToLose(t *testing.T) {
	for _, w := range []scenario.Name{scenario.ReplyLost, scenario.OutcomeUnknown} {
		p := provider()
		p.Always = w
		if _, err := scenario.Read(t.Context(), p, scenario.Call{About: "x"}, (&counter{}).act); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
}

func TestAFailedWriteIsToldAsItIs(t *testing.T) {
	p, refusal := provider(), fault.New(fault.NotFound, fault.ReasonEventNotFound, "None.")
	call := scenario.Call{About: "x", Request: "book", Texts: []string{"sandbox:reply_lost"}}
	_, err := scenario.Write(t.Context(), p, call, func(context.Context) (int, error) { return 0, refusal })
	if !errors.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := scenario.Write(t.Context(), p, call, (&counter{}).act); !errors.Is(err, fault.Unavailable) {
		t.Errorf("the first one that acts loses its reply: %v", err)
	}
}

func TestWhatIsRememberedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := provider()
		p.Always = scenario.ReplyLost
		for _, about := range []string{"a", "b", "c"} {
			_, _ = scenario.Write(t.Context(), p, scenario.Call{About: about, Request: "book"}, (&counter{}).act)
		}
		time.Sleep(time.Hour)
		_, _ = scenario.Write(t.Context(), p, scenario.Call{About: "d", Request: "book"}, (&counter{}).act)
		var keys []string
		err := p.Storage.View(t.Context(), func(tx adapter.StorageTx) error {
			return tx.Scan("", "", func(key string, _ []byte) bool {
				keys = append(keys, key)
				return true
			})
		})
		if err != nil || len(keys) != 1 || keys[0] != "magic/d" {
			t.Errorf("the store holds %q, error %v", keys, err)
		}
	})
}

func TestAScenarioIsNoPartOfAnID(t *testing.T) {
	for id, want := range map[string]string{
		"team": "team", "sandbox:down": "", "team sandbox:slow": "team",
		"Sandbox:Hang abc_20261121T090000Z": "abc_20261121T090000Z", "sandbox:castle": "sandbox:castle",
		"a sandbox": "a sandbox",
	} {
		if got := scenario.Strip(id); got != want {
			t.Errorf("Strip(%q) is %q, want %q", id, got, want)
		}
	}
}
