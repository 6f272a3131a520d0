package guard

import (
	"time"

	"frontdesk/core/telemetry"
)

// Metrics records what a Guard does.
type Metrics interface {
	// Call records a call. The outcome is "ok" or the fault's code.
	Call(l telemetry.CallLabels, outcome string, took time.Duration)
	// Retry counts a try after the first. code is the code of the fault that caused it.
	Retry(l telemetry.CallLabels, code string)
	// RetryDenied counts a retry that the rules allow but that was not made. why is "budget", "deadline" or
	// "bulkhead".
	RetryDenied(l telemetry.CallLabels, why string)
	// Late counts a driver call that ended after its caller had been answered.
	Late(l telemetry.CallLabels, outcome string)
	// BreakerChanged records a breaker's change from one state to another.
	BreakerChanged(level, provider, from, to string)
	// BreakerForgotten records that a breaker in this state is no longer kept.
	BreakerForgotten(level, provider, state string)
	// Bulkhead returns what the bulkheads of a level and provider tell of themselves.
	Bulkhead(level, provider string) telemetry.Bulkhead
}

type noMetrics struct{}

func (noMetrics) Call(telemetry.CallLabels, string, time.Duration) {}
func (noMetrics) Retry(telemetry.CallLabels, string)               {}
func (noMetrics) RetryDenied(telemetry.CallLabels, string)         {}
func (noMetrics) Late(telemetry.CallLabels, string)                {}
func (noMetrics) BreakerChanged(_, _, _, _ string)                 {}
func (noMetrics) BreakerForgotten(_, _, _ string)                  {}
func (noMetrics) Bulkhead(_, _ string) telemetry.Bulkhead          { return noBulkhead{} }

type noBulkhead struct{}

func (noBulkhead) InUse(int)   {}
func (noBulkhead) Waiting(int) {}
func (noBulkhead) Refused()    {}
