package budget

import (
	"fmt"
	"testing"
	"time"
)

var permits = Limit{Name: "calls", Units: 4}

func TestALedgersAnswers(t *testing.T) {
	rate := Limit{Name: "key", Units: 60, Per: time.Minute}
	searches := Limit{Name: "searches", Units: 5, Rest: time.Second}
	type step struct {
		after time.Duration // since the step before
		ask   ask
		want  string
	}
	for rule, steps := range map[string][]step{
		"a replica alone gets what it wants, and one to spare": {
			{0, ask{replica: "a", limit: permits, want: 2, spare: 1}, "3 owes 0"},
			{0, ask{replica: "a", limit: permits, want: 9, spare: 0}, "4 owes 0"},
		},
		"two who want all get half, once calls under way have ended": {
			{0, ask{replica: "a", limit: permits, want: 4}, "4 owes 0"},
			{0, ask{replica: "b", limit: permits, want: 4}, "0 owes 0"},
			{0, ask{replica: "a", limit: permits, want: 4, need: 4}, "4 owes 2"},
			{0, ask{replica: "a", limit: permits, want: 4, need: 3}, "3 owes 1"},
			{0, ask{replica: "b", limit: permits, want: 4}, "1 owes 0"},
			{0, ask{replica: "a", limit: permits, want: 4, need: 1}, "2 owes 0"},
			{0, ask{replica: "b", limit: permits, want: 4, need: 1}, "2 owes 0"},
		},
		"what one does not want, another gets": {
			{0, ask{replica: "a", limit: permits, want: 1, spare: 1}, "2 owes 0"},
			{0, ask{replica: "b", limit: permits, want: 3}, "2 owes 0"},
			{0, ask{replica: "a", limit: permits, want: 1, need: 1, spare: 1}, "1 owes 0"},
			{0, ask{replica: "b", limit: permits, want: 3, need: 2}, "3 owes 0"},
		},
		"a lease ends after a second": {
			{0, ask{replica: "a", limit: permits, want: 4}, "4 owes 0"},
			{999 * time.Millisecond, ask{replica: "b", limit: permits, want: 1}, "0 owes 0"},
			{time.Millisecond, ask{replica: "b", limit: permits, want: 1}, "1 owes 0"},
		},
		"an ask that comes when its lease is over takes nothing from others but what is in use": {
			{0, ask{replica: "a", limit: permits, want: 4}, "4 owes 0"},
			{time.Second, ask{replica: "b", limit: permits, want: 4}, "4 owes 0"},
			{0, ask{replica: "a", limit: permits, want: 4, need: 4, inUse: 1}, "1 owes 0"},
		},
		"a clock that was read before another replica's change ends no lease": {
			{0, ask{replica: "a", limit: permits, want: 4}, "4 owes 0"},
			{-20 * time.Millisecond, ask{replica: "b", limit: permits, want: 4}, "0 owes 0"},
		},
		"a permit that rests outlives the lease by its rest": {
			{0, ask{replica: "a", limit: searches, want: 5}, "5 owes 0"},
			{1999 * time.Millisecond, ask{replica: "b", limit: searches, want: 1}, "0 owes 0"},
			{time.Millisecond, ask{replica: "b", limit: searches, want: 1}, "1 owes 0"},
		},
		"the last of five replicas gets a turn at four permits": {
			{0, ask{replica: "a", limit: permits, want: 1}, "1 owes 0"},
			{0, ask{replica: "b", limit: permits, want: 1}, "1 owes 0"},
			{0, ask{replica: "c", limit: permits, want: 1}, "1 owes 0"},
			{0, ask{replica: "d", limit: permits, want: 1}, "1 owes 0"},
			{900 * time.Millisecond, ask{replica: "a", limit: permits, want: 1, need: 1}, "1 owes 0"},
			{0, ask{replica: "b", limit: permits, want: 1, need: 1}, "1 owes 0"},
			{0, ask{replica: "c", limit: permits, want: 1, need: 1}, "1 owes 0"},
			{0, ask{replica: "d", limit: permits, want: 1, need: 1}, "1 owes 0"},
			{50 * time.Millisecond, ask{replica: "e", limit: permits, want: 1}, "0 owes 0"},
			{100 * time.Millisecond, ask{replica: "a", limit: permits, want: 1, need: 1}, "1 owes 0"},
			{0, ask{replica: "a", limit: permits, want: 1, need: 1}, "1 owes 1"},
			{0, ask{replica: "a", limit: permits, want: 1, need: 0}, "0 owes 0"},
			{0, ask{replica: "e", limit: permits, want: 1}, "1 owes 0"},
		},
		"a rate's units come back with time, not with leases": {
			{0, ask{replica: "a", limit: rate, want: 60}, "60 owes 0"},
			{0, ask{replica: "a", limit: rate, spent: 60, want: 5}, "0 owes 0"},
			{0, ask{replica: "b", limit: rate, want: 5}, "0 owes 0"},
			{3 * time.Second, ask{replica: "b", limit: rate, want: 5}, "3 owes 0"},
		},
		"units that a dead replica held count as spent": {
			{0, ask{replica: "a", limit: rate, want: 60}, "60 owes 0"},
			{2 * time.Second, ask{replica: "b", limit: rate, want: 60}, "2 owes 0"},
		},
		"units that were given back are there for others": {
			{0, ask{replica: "a", limit: rate, want: 60}, "60 owes 0"},
			{0, ask{replica: "a", limit: rate, spent: 10, want: 0}, "0 owes 0"},
			{0, ask{replica: "b", limit: rate, want: 60}, "50 owes 0"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			var row string
			now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
			for i, s := range steps {
				now = now.Add(s.after)
				a := readAccount(row)
				g := a.settle(now, s.ask)
				row = a.String()
				if got := fmt.Sprintf("%d owes %d", g.units, g.owed); got != s.want {
					t.Errorf("step %d: %s has %s, want %s: %s", i, s.ask.replica, got, s.want, row)
				}
			}
		})
	}
}

func TestALeaseOfAClockThatWasAheadIsOver(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	var a account
	a.settle(now.Add(time.Hour), ask{replica: "a", limit: permits, want: 4})
	if g := a.settle(now, ask{replica: "b", limit: permits, want: 4}); g.units != 4 {
		t.Errorf("b gets %d permits", g.units)
	}
}

func TestARowIsKeptAsLongAsItSaysSomething(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	l := Limit{Units: 60, Per: time.Minute}
	var a account
	a.settle(now, ask{replica: "a", limit: l, want: 60})
	a.settle(now, ask{replica: "a", limit: l, spent: 30})
	if until := a.kept(l); until.Before(now.Add(30 * time.Second)) {
		t.Errorf("it is kept until %v", until)
	}
}
