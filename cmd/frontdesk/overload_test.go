package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// At three times what a gateway can do, it does what it can: it answers nearly as many requests as at its peak, tells the
// others at once to come back, refuses reads before bookings, and is at rest again right after. The processors are the
// sender's as well and may be others' too, so what is held to is what the gateway makes of a second of its own processor
// time, against the same run's peak. It takes some seconds; FRONTDESK_OVERLOAD=5m overloads it for so long, by hand.
func TestOverload(t *testing.T) {
	lasting := 2 * time.Second
	if text := os.Getenv("FRONTDESK_OVERLOAD"); text != "" {
		var err error
		if lasting, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, latency := range map[string]time.Duration{"a provider that answers at once": 0, "a provider that takes 100 ms": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, "")
			keys := h.furnish(64, latency)
			r := h.serve()
			l := newLoad(t, r.api, bookings(keys))
			l.pressed(32, time.Second)
			capacity, _ := l.pressed(32+int(latency/(500*time.Microsecond)), max(time.Second, lasting/10))

			at := map[float64]measurement{}
			for _, times := range []float64{1, 2, 3} {
				before := r.measured()
				hits := l.steady(times*capacity, max(time.Second, lasting/3))
				at[times] = measure(before, r.measured(), hits)
				t.Logf("%g× %.0f a second: %s", times, capacity, at[times])
			}
			over := at[3]
			ratio := over.perCPU / max(at[1].perCPU, at[2].perCPU)
			t.Logf("goodput at 3× against the peak: %.2f by the clock, %.2f by the gateway's processor time", float64(over.served)/float64(max(at[1].served, at[2].served)), ratio)
			if ratio < 0.7 {
				t.Errorf("a second of processor time answers %.2f of what it does at the peak", ratio)
			}
			if over.shed == 0 {
				t.Error("nothing was refused: this is no overload")
			}
			if over.broken > over.sent/100 {
				t.Errorf("%d of %d requests were neither answered nor told to come back", over.broken, over.sent)
			}
			if over.noRetryAfter > 0 {
				t.Errorf("%d refusals do not say when to come back", over.noRetryAfter)
			}
			if over.shedIn > time.Second { // 20 ms on a machine that has nothing else to do
				t.Errorf("half of the refusals took %v", over.shedIn)
			}
			calm := measure(nil, nil, l.steady(capacity/10, time.Second))
			if calm.shed+calm.broken > calm.sent/10 {
				t.Errorf("right after: %s", calm)
			}
		})
	}
}

// Of callers who book and callers who look something up, more than the gateway can answer, those who book are served.
func TestBookingsAreRefusedLast(t *testing.T) {
	h := newHouse(t, "")
	keys := h.furnish(64, 0)
	r := h.serve()
	l := newLoad(t, r.api, mixedCalls(keys))
	l.pressed(32, time.Second)
	capacity, _ := l.pressed(32, time.Second)
	m := measure(nil, nil, l.steady(2.5*capacity, 2*time.Second))
	t.Logf("2.5× %.0f a second: %s", capacity, m)
	if m.shedReads == 0 {
		t.Error("nothing was refused: this is no overload")
	}
	if m.shedWrites > 0.7*m.shedReads {
		t.Errorf("%.2f of the bookings were refused and %.2f of the reads", m.shedWrites, m.shedReads)
	}
}

// measurement is what became of a load.
type measurement struct {
	sent, served, shed, broken, noRetryAfter int
	shedReads, shedWrites                    float64 // shares of those sent
	servedIn, servedLate, shedIn, shedLate   time.Duration
	perCPU                                   float64 // served in a second of the gateway's processor time
	others                                   string
}

func measure(before, after map[string]float64, hits []hit) measurement {
	answered, refused := only(hits, served), only(hits, shed)
	m := measurement{
		sent: len(hits), served: len(answered), shed: len(refused), broken: count(hits, failed),
		noRetryAfter: count(refused, func(h hit) bool { return h.retryAfter == "" }),
		servedIn:     quantile(answered, 0.5), servedLate: quantile(answered, 0.99),
		shedIn: quantile(refused, 0.5), shedLate: quantile(refused, 0.99),
		others: outcomes(only(hits, failed)),
	}
	share := func(writes bool) float64 {
		these := func(h hit) bool { return h.writes == writes }
		return float64(count(refused, these)) / float64(max(1, count(hits, these)))
	}
	m.shedReads, m.shedWrites = share(false), share(true)
	const cpu = "process_cpu_seconds_total"
	if used := after[cpu] - before[cpu]; used > 0 {
		m.perCPU = float64(m.served) / used
	}
	return m
}

func (m measurement) String() string {
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("%d served (p50 %v, p99 %v; %.0f per CPU second), %d refused (p50 %v, p99 %v; %.2f of reads, %.2f of writes) %s",
		m.served, round(m.servedIn), round(m.servedLate), m.perCPU, m.shed, round(m.shedIn), round(m.shedLate), m.shedReads, m.shedWrites, m.others)
}

// A neighbour that asks for fifty times its quota is refused before anything is read for it, and the others do not
// notice.
func TestANeighboursExcessSlowsNobody(t *testing.T) {
	const quota = 600 // a minute
	h := newHouse(t, "")
	keys := h.furnish(8, 0)
	h.environ = append(h.environ, fmt.Sprintf("FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=%d", quota))
	r := h.serve()
	loud, quiet := keys[0], keys[1:]
	reading := func(keys []string) func(int) shot {
		return func(i int) shot {
			return shot{key: keys[i%len(keys)], path: "/v1/calendar/list-calendars", body: "{}"}
		}
	}
	const rate, lasting = 40, 4 * time.Second
	neighbours := newLoad(t, r.api, reading(quiet))
	neighbours.steady(rate, time.Second)
	alone := neighbours.steady(rate, lasting)

	excess := newLoad(t, r.api, reading([]string{loud}))
	refused := make(chan []hit)
	go func() { refused <- excess.steady(50*quota/60, lasting) }()
	beside := neighbours.steady(rate, lasting)
	limited := <-refused

	if n := count(beside, served); n != len(beside) {
		t.Errorf("neighbours were refused too: %s", outcomes(beside))
	}
	admitted := count(limited, served)
	within := quota + int(float64(quota)*lasting.Minutes()) + 10
	if admitted > within || count(limited, failed)-count(limited, func(h hit) bool { return h.reason == "RATE_LIMITED" }) > 0 {
		t.Errorf("of the excess %d were answered, want %d at most: %s", admitted, within, outcomes(limited))
	}
	ratio := func(share float64) float64 {
		return float64(quantile(beside, share)) / float64(quantile(alone, share))
	}
	t.Logf("at %d a second against %d in a minute: neighbours' p50 %v (×%.2f), p99 %v (×%.2f); %s, told in %v",
		50*quota/60, quota, quantile(beside, .5), ratio(.5), quantile(beside, .99), ratio(.99), outcomes(limited), quantile(limited, .5))
	// One request waits for a processor that the refusals share: the bounds are those of a machine with other work to do.
	if slow := quantile(beside, .5); ratio(.5) > 3 && slow > 20*time.Millisecond {
		t.Errorf("a neighbour's request takes %v, %.1f times as long as without", slow, ratio(.5))
	}
}
