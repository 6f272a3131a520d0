package settingspage

import (
	"fmt"
	"testing"
	"time"
)

// Guesses at links are limited for one subscriber, however many addresses it has, and for all together; and
// the memory for them is limited as well.
func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	allowed := func(th *throttle, n int, address func(int) string) (count int) {
		for i := range n {
			if th.allow(address(i)) {
				count++
			}
		}
		return count
	}
	for name, c := range map[string]struct {
		address func(int) string
		want    int
	}{
		"one IPv4 address": {func(i int) string { return fmt.Sprintf("192.0.2.1:%d", 1024+i) },
			attemptsAtOnce},
		"the same, mapped to IPv6": {func(i int) string { return fmt.Sprintf("[::ffff:192.0.2.1]:%d", 1024+i) },
			attemptsAtOnce},
		"one IPv6 network": {func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1024", i) },
			attemptsAtOnce},
		"many IPv6 networks": {func(i int) string { return fmt.Sprintf("[2001:db8:0:%x::1]:1024", i) },
			attemptsAtOnceAll},
		"what is no address": {func(i int) string { return fmt.Sprint("nonsense ", i) }, attemptsAtOnce},
	} {
		th := newThrottle(func() time.Time { return now })
		if got := allowed(th, 1000, c.address); got != c.want {
			t.Errorf("%s: %d of 1000 guesses are answered, want %d", name, got, c.want)
		}
	}

	th := newThrottle(func() time.Time { return now })
	many := func(i int) string { return fmt.Sprintf("[2001:db8:%x:%x::1]:1024", i>>16, i&0xffff) }
	allowed(th, 3*maxAddresses, many)
	if len(th.addresses) > attemptsAtOnceAll {
		t.Errorf("%d addresses are remembered", len(th.addresses))
	}
	for i := range 3 * maxAddresses {
		now = now.Add(time.Second / attemptsPerSecondAll)
		if !th.allow(many(i)) {
			t.Fatalf("after %d attempts, nobody may sign in", i)
		}
		if len(th.addresses) > maxAddresses {
			t.Fatalf("%d addresses are remembered", len(th.addresses))
		}
	}
}
