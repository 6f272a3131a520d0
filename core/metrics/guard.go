package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"frontdesk/core/telemetry"
)

// Call records a guarded call of a driver. The outcome is "ok" or the fault's code.
func (m *Metrics) Call(l telemetry.CallLabels, outcome string, took time.Duration) {
	l = m.boundLabels(l)
	m.calls.WithLabelValues(l.Kind, l.Provider, l.Operation, m.names.of("outcome", outcome)).Inc()
	m.callSeconds.WithLabelValues(l.Kind, l.Provider, l.Operation).Observe(took.Seconds())
}

// Retry counts a try after the first. code is the code of the fault that caused it.
func (m *Metrics) Retry(l telemetry.CallLabels, code string) {
	l = m.boundLabels(l)
	m.retries.WithLabelValues(l.Kind, l.Provider, l.Operation, m.names.of("outcome", code)).Inc()
}

// RetryDenied counts a retry that the rules allow but that was not made. why is "budget", "deadline" or
// "bulkhead".
func (m *Metrics) RetryDenied(l telemetry.CallLabels, why string) {
	l = m.boundLabels(l)
	m.retryDenied.WithLabelValues(l.Kind, l.Provider, l.Operation, why).Inc()
}

// Late counts a driver call that ended after its caller had been answered.
func (m *Metrics) Late(l telemetry.CallLabels, outcome string) {
	l = m.boundLabels(l)
	m.late.WithLabelValues(l.Kind, l.Provider, l.Operation, m.names.of("outcome", outcome)).Inc()
}

// BreakerChanged records a breaker's change from one state to another. The gauge does not count closed
// breakers: there are as many as connections.
func (m *Metrics) BreakerChanged(level, provider, from, to string) {
	provider = m.names.of("provider", provider)
	m.breakerChanges.WithLabelValues(level, provider, to).Inc()
	m.countBreaker(level, provider, from, -1)
	m.countBreaker(level, provider, to, +1)
}

// BreakerForgotten records that a breaker in this state is no longer kept.
func (m *Metrics) BreakerForgotten(level, provider, state string) {
	m.countBreaker(level, m.names.of("provider", provider), state, -1)
}

func (m *Metrics) countBreaker(level, provider, state string, by float64) {
	if state == "closed" {
		return
	}
	m.breakers.WithLabelValues(level, provider, state).Add(by)
}

// Bulkhead returns the metrics for a level and provider. Keep them, so that taking a place costs no look-up.
func (m *Metrics) Bulkhead(level, provider string) telemetry.Bulkhead {
	provider = m.names.of("provider", provider)
	return bulkhead{
		inUse:   m.bulkheadInUse.WithLabelValues(level, provider),
		waiting: m.bulkheadWaiting.WithLabelValues(level, provider),
		refused: m.bulkheadRefused.WithLabelValues(level, provider),
	}
}

// bulkhead holds the metrics of the bulkheads of one level and provider.
type bulkhead struct {
	inUse, waiting prometheus.Gauge
	refused        prometheus.Counter
}

func (b bulkhead) InUse(by int)   { b.inUse.Add(float64(by)) }
func (b bulkhead) Waiting(by int) { b.waiting.Add(float64(by)) }
func (b bulkhead) Refused()       { b.refused.Inc() }

func (m *Metrics) boundLabels(l telemetry.CallLabels) telemetry.CallLabels {
	return telemetry.CallLabels{
		Kind:      m.names.of("kind", l.Kind),
		Provider:  m.names.of("provider", l.Provider),
		Operation: m.names.of("operation", l.Operation),
	}
}
