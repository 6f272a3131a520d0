//go:build attack

package main

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// BenchmarkOverload sends a gateway three times what it can do. It prints which share of its peak it still
// serves, by the clock and by its own processor time (since the sender and others use the same processors),
// how soon refused callers are told to come back, and which share of reads and of writes is refused:
//
//	go test -tags attack -run '^$' -bench Overload -benchtime 50x ./cmd/frontdesk
//
// An iteration is a tenth of a second; 3000x is five minutes.
func BenchmarkOverload(b *testing.B) {
	for _, c := range []struct {
		name    string
		latency time.Duration
		calls   func(keys []string) func(int) loadRequest
		alike   bool // requests cost the same, so their number measures work
	}{
		{"bookings", 0, bookings, true},
		{"bookings at a provider that takes 100 ms", 100 * time.Millisecond, bookings, true},
		{"three reads to a booking", 0, mixedCalls, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := newDeployment(b, "")
			keys := d.createSandboxTenants(64, c.latency)
			r := d.serve()
			l := newLoad(b, r.api, c.calls(keys))
			capacity := l.capacity(32+int(c.latency/(500*time.Microsecond)), time.Second)
			// The best rate without overload, before and after: the store grows, and a booking becomes
			// dearer.
			peak := func() (best measurement) {
				for _, times := range []float64{1, 1.5} {
					before := r.measured()
					if m := measure(before, r.measured, l.steady(times*capacity, time.Second),
						time.Second); m.perSecond > best.perSecond {
						best = m
					}
				}
				return best
			}
			first := peak()
			before := r.measured()
			calling, closeIdle := context.WithCancel(b.Context())
			made := make(chan []loadResponse, 1)
			began := time.Now()
			go func() { made <- l.until(calling, 3*capacity) }()
			for b.Loop() {
				time.Sleep(overloadStep)
			}
			closeIdle()
			lasting := time.Since(began)
			over := measure(before, r.measured, <-made, lasting)
			last := peak()
			b.ReportMetric(capacity, "capacity/s")
			if c.alike {
				b.ReportMetric(2*over.perCPU/(first.perCPU+last.perCPU), "goodput/peak-by-cpu")
				b.ReportMetric(2*over.perSecond/(first.perSecond+last.perSecond), "goodput/peak-by-clock")
			}
			b.ReportMetric(milliseconds(over.servedIn), "served-p50-ms")
			b.ReportMetric(milliseconds(over.servedLate), "served-p99-ms")
			b.ReportMetric(milliseconds(over.shedIn), "refused-p50-ms")
			b.ReportMetric(milliseconds(over.shedLate), "refused-p99-ms")
			b.ReportMetric(over.shedReads, "reads-refused")
			b.ReportMetric(over.shedWrites, "writes-refused")
			if over.noRetryAfter > 0 {
				b.Errorf("%d refusals do not say when to come back", over.noRetryAfter)
			}
			if over.broken > over.sent/50 {
				b.Errorf("of %d requests %d were neither answered nor told to come back: %s", over.sent,
					over.broken, over.others)
			}
		})
	}
}

const overloadStep = 100 * time.Millisecond

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measurement is the outcome of a load.
type measurement struct {
	sent, broken, noRetryAfter             int
	servedIn, servedLate, shedIn, shedLate time.Duration // medians and 99th percentiles
	shedReads, shedWrites                  float64       // shares of the requests sent
	perSecond                              float64       // served
	perCPU                                 float64       // served per second of the gateway's processor time
	others                                 string
}

func measure(
	before map[string]float64, now func() map[string]float64, responses []loadResponse, lasting time.Duration,
) measurement {
	answered, refused := only(responses, served), only(responses, overloaded)
	share := func(writes bool) float64 {
		these := func(h loadResponse) bool { return h.writes == writes }
		return float64(count(refused, these)) / float64(max(1, count(responses, these)))
	}
	const cpu = "process_cpu_seconds_total"
	return measurement{
		sent: len(responses), broken: count(responses, failed),
		noRetryAfter: count(refused, func(h loadResponse) bool { return h.retryAfter == "" }),
		servedIn:     quantile(answered, 0.5), servedLate: quantile(answered, 0.99),
		shedIn: quantile(refused, 0.5), shedLate: quantile(refused, 0.99),
		shedReads: share(false), shedWrites: share(true),
		perSecond: float64(len(answered)) / lasting.Seconds(),
		perCPU:    float64(len(answered)) / (now()[cpu] - before[cpu]),
		others:    outcomes(only(responses, failed)),
	}
}

// A neighbour that sends fifty times its quota is refused before the gateway reads anything for it, and the
// others do not notice.
func TestANeighboursExcessSlowsNobody(t *testing.T) {
	t.Parallel()
	const quota = 24 // a minute
	h := newDeployment(t, "")
	keys := h.createSandboxTenants(8, 0)
	h.environ = append(h.environ, fmt.Sprintf("FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=%d", quota))
	r := h.serve()
	loud, quiet := keys[0], keys[1:]
	reading := func(keys []string) func(int) loadRequest {
		return func(i int) loadRequest {
			return loadRequest{key: keys[i%len(keys)], path: "/v1/calendar/list-calendars", body: "{}"}
		}
	}
	const rate, lasting = 10, 4 * time.Second
	neighbours := newLoad(t, r.api, reading(quiet))
	neighbours.steady(rate, time.Second)
	baseline := neighbours.steady(rate, lasting)

	excess := newLoad(t, r.api, reading([]string{loud}))
	refused := make(chan []loadResponse)
	go func() { refused <- excess.steady(50*quota/60, lasting) }()
	underLoad := neighbours.steady(rate, lasting)
	limited := <-refused

	if count(underLoad, failed) > 0 { // OVERLOADED depends on the machine, not on the caller
		t.Errorf("neighbours were refused too: %s", outcomes(underLoad))
	}
	admitted := count(limited, served)
	within := quota + int(float64(quota)*lasting.Minutes()) + 10
	if admitted > within || count(limited, failed)-count(limited,
		func(h loadResponse) bool { return h.reason == "RATE_LIMITED" }) > 0 {
		t.Errorf("of the excess %d were answered, want %d at most: %s", admitted, within, outcomes(limited))
	}
	ratio := func(share float64) float64 {
		return float64(quantile(underLoad, share)) / float64(quantile(baseline, share))
	}
	t.Logf("at %d a second against %d in a minute: neighbours' p50 %v (×%.2f), p99 %v (×%.2f); %s, told in %v",
		50*quota/60, quota, quantile(underLoad, .5), ratio(.5), quantile(underLoad, .99), ratio(.99),
		outcomes(limited), quantile(limited, .5))
	// A request waits for a processor that the refusals share. The bounds allow for a machine with other
	// work.
	if slow := quantile(underLoad, .5); ratio(.5) > 5 && slow > 200*time.Millisecond {
		t.Errorf("a neighbour's request takes %v, %.1f times as long as without", slow, ratio(.5))
	}
}
