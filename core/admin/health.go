package admin

import (
	"context"
	"slices"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/requestlog"
)

// Health says whether a connection works, as far as the log of requests shows.
type Health struct {
	State          string     `json:"state" doc:"ok, failing, reconnect_required, or unknown if no kept request has called the provider." example:"ok"`
	Since          *time.Time `json:"since,omitempty" doc:"Since when it is so, as far as the log of requests goes back."`
	Reason         string     `json:"reason,omitempty" doc:"The reason of the last failure, while it fails." example:"PROVIDER_UNAVAILABLE"`
	Advice         string     `json:"advice" doc:"What must be done, and by whom."`
	LastSuccessAt  *time.Time `json:"last_success_at,omitempty" doc:"The last request that the provider answered."`
	LastFailureAt  *time.Time `json:"last_failure_at,omitempty" doc:"The last request that failed at the provider."`
	CircuitBreaker string     `json:"circuit_breaker,omitempty" doc:"closed, half-open or open: whether the process that answers calls the provider for it." example:"closed"`
	// Breakers never name a replica: a tenant's administrator has no business with hosts.
	Breakers []BreakerAt `json:"circuit_breakers,omitempty" doc:"The circuit breakers that are not closed, one for each replica that has one."`
	LastHour HourOf      `json:"last_hour" doc:"The requests of the last hour that called the provider."`
}

// BreakerAt is a circuit breaker at some replica that is not closed.
type BreakerAt struct {
	Level string    `json:"level" doc:"connection, or host: the provider's, which other connections share." example:"connection"`
	State string    `json:"state" doc:"open, or half_open: one call tries whether the provider answers." example:"open"`
	Since time.Time `json:"since" doc:"Since when it is not closed."`
}

// HourOf is an hour of a connection's requests.
type HourOf struct {
	Requests int      `json:"requests" doc:"How many there were." example:"212"`
	Failed   int      `json:"failed" doc:"How many failed at the provider." example:"0"`
	P50Ms    float64  `json:"p50_ms" doc:"The median of how long answers took, in milliseconds." example:"170.3"`
	P95Ms    float64  `json:"p95_ms" doc:"The 95th percentile of how long answers took, in milliseconds." example:"412.9"`
	Minutes  []Minute `json:"minutes" nullable:"false" doc:"The minutes that had requests, the oldest first."`
}

// Minute is a minute of a connection's requests.
type Minute struct {
	At       time.Time `json:"at" doc:"Its beginning."`
	Requests int       `json:"requests" doc:"How many there were." example:"4"`
	Failed   int       `json:"failed" doc:"How many failed at the provider." example:"0"`
	P95Ms    float64   `json:"p95_ms" doc:"The 95th percentile of how long answers took, in milliseconds." example:"201.7"`
}

// The states of a connection's health.
const (
	HealthOK        = "ok"
	HealthFailing   = "failing"
	HealthReconnect = "reconnect_required"
	HealthUnknown   = "unknown"
)

// healthOver is how many requests of a connection are looked at.
const healthOver = 10_000

// ConnectionHealth says whether a connection works, since when, and what must be done.
func (s *Service) ConnectionHealth(ctx context.Context, c apikey.Caller, n ConnectionName) (Health, error) {
	found, err := s.GetConnection(ctx, c, n)
	if err != nil {
		return Health{}, err
	}
	of, err := s.tenant(ctx, c, n.Tenant)
	if err != nil {
		return Health{}, err
	}
	entries, err := s.opts.Requests.List(ctx, requestlog.Filter{
		TenantID: of.ID, ConnectionID: found.ID, Limit: healthOver,
	})
	if err != nil {
		return Health{}, err
	}
	health := healthOf(found, entries, s.opts.Now())
	health.CircuitBreaker = s.opts.Breaker(found.ID)
	if s.opts.Breakers == nil {
		return health, nil
	}
	breakers, err := s.opts.Breakers(ctx, connection.Connection{
		ID: found.ID, Kind: adapter.Kind(found.Kind), Provider: found.Provider, Settings: found.Settings,
	})
	if err != nil {
		return Health{}, err
	}
	for _, b := range breakers {
		health.Breakers = append(health.Breakers, BreakerAt{Level: b.Level, State: b.State, Since: b.Since})
	}
	return health, nil
}

// healthOf judges a connection by its requests, the newest first.
func healthOf(c Connection, entries []requestlog.Entry, now time.Time) Health {
	health := Health{State: HealthUnknown}
	var hour []requestlog.Entry
	reconnected := false // since the newest request
	for _, e := range entries {
		called, failed := judge(e)
		if !called {
			continue
		}
		if e.At.After(now.Add(-time.Hour)) {
			hour = append(hour, e)
		}
		if health.State == HealthUnknown {
			reconnected = e.Reason == fault.ReasonReconnectRequired && c.Status == string(connection.StatusOK)
		}
		health.see(e, failed)
	}
	if reconnected {
		health.State, health.Reason, health.Since = HealthUnknown, "", nil
	}
	if c.Status == string(connection.StatusReconnectRequired) {
		if health.State != HealthFailing {
			health.Since = nil // no request has met it yet
		}
		health.State, health.Reason = HealthReconnect, fault.ReasonReconnectRequired
	}
	health.Advice = adviceFor(health.State, health.Reason)
	health.LastHour = hourOf(hour)
	return health
}

// see adds the next older request that called the provider.
func (h *Health) see(e requestlog.Entry, failed bool) {
	at := e.At.UTC()
	state, last := HealthOK, &h.LastSuccessAt
	if failed {
		state, last = HealthFailing, &h.LastFailureAt
	}
	if h.State == HealthUnknown {
		h.State = state
		if failed {
			h.Reason = e.Reason
		}
	}
	if state == h.State && (h.LastSuccessAt == nil || h.LastFailureAt == nil) {
		h.Since = &at // until one of the other kind is met
	}
	if *last == nil {
		*last = &at
	}
}

// judge reports whether a request called its connection's provider, or was kept from it by the connection's
// state, and whether it failed there. What the provider refuses about a single record is no failure.
func judge(e requestlog.Entry) (called, failed bool) {
	switch e.Reason {
	case fault.ReasonReconnectRequired, fault.ReasonBreakerOpen, fault.ReasonEgressRefused,
		fault.ReasonProviderMisconfigured, fault.ReasonProviderRateLimited:
		return true, true
	}
	if len(e.Tries) == 0 {
		return false, false
	}
	return true, e.Status >= 500 && e.Tries[len(e.Tries)-1].Outcome != "ok"
}

// adviceFor says what must be done about a state.
func adviceFor(state, reason string) string {
	switch {
	case state == HealthOK:
		return "Nothing: the provider answers."
	case state == HealthUnknown:
		return "No request has called the provider lately, or since it was reconnected. Verify the connection to see " +
			"whether it works."
	case state == HealthReconnect:
		return "The provider no longer accepts the credentials. Whoever owns the account must connect it again, by a " +
			"connect link or with new credentials."
	case reason == fault.ReasonEgressRefused, reason == fault.ReasonProviderMisconfigured:
		return "The connection's settings do not fit what is at the provider. Verify it: that says what to correct."
	case reason == fault.ReasonProviderRateLimited:
		return "The provider limits how much the account may ask. Wait, or have the limit raised there."
	}
	return "The provider does not answer as it should. The gateway tries again by itself; if it lasts, look at the " +
		"provider's status page, then verify the connection."
}

func hourOf(entries []requestlog.Entry) HourOf {
	hour := HourOf{Requests: len(entries), Minutes: []Minute{}}
	var all []time.Duration
	var minute []requestlog.Entry
	for i, e := range slices.Backward(entries) { // the oldest first
		all, minute = append(all, e.Took), append(minute, e)
		at := e.At.UTC().Truncate(time.Minute)
		if i > 0 && entries[i-1].At.UTC().Truncate(time.Minute).Equal(at) {
			continue
		}
		m := minuteOf(at, minute)
		hour.Failed += m.Failed
		hour.Minutes, minute = append(hour.Minutes, m), nil
	}
	hour.P50Ms, hour.P95Ms = percentile(all, 50), percentile(all, 95)
	return hour
}

func minuteOf(at time.Time, entries []requestlog.Entry) Minute {
	m := Minute{At: at, Requests: len(entries)}
	took := make([]time.Duration, 0, len(entries))
	for _, e := range entries {
		took = append(took, e.Took)
		if _, failed := judge(e); failed {
			m.Failed++
		}
	}
	m.P95Ms = percentile(took, 95)
	return m
}

// percentile returns the smallest duration that at least so many percent of all do not exceed, in
// milliseconds; 0 if there are none.
func percentile(all []time.Duration, percent int) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return milliseconds(sorted[(len(sorted)*percent+99)/100-1])
}
