// Package metrics holds the gateway's own metrics, and serves them to Prometheus.
//
//	m := metrics.New(metrics.Build{Version: "1.4.0"})
//	m.Request("v1", "book-meeting", 200, "", took)
//	http.Handle("GET /metrics", m.Handler())
//
// It promises that the number of series is bounded whatever callers and tenants do: no label holds a tenant, an
// address, an id or a text. Packages that record metrics declare what they need of it, so that none of them needs
// Prometheus.
package metrics

import (
	"cmp"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"frontdesk/core/telemetry"
)

// Build identifies the running binary.
type Build struct {
	Version  string
	Revision string
}

// Metrics holds the gateway's own metrics.
type Metrics struct {
	registry *prometheus.Registry

	requests        *prometheus.CounterVec
	requestSeconds  *prometheus.HistogramVec
	requestsRunning *prometheus.GaugeVec

	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec
	retries     *prometheus.CounterVec
	retryDenied *prometheus.CounterVec
	late        *prometheus.CounterVec

	breakers        *prometheus.GaugeVec
	breakerChanges  *prometheus.CounterVec
	bulkheadInUse   *prometheus.GaugeVec
	bulkheadWaiting *prometheus.GaugeVec
	bulkheadRefused *prometheus.CounterVec

	exchanges *prometheus.CounterVec
	egress    *prometheus.CounterVec

	renewals *prometheus.CounterVec

	intents   *prometheus.CounterVec
	unsettled prometheus.Gauge

	deliveries *prometheus.CounterVec
	waiting    prometheus.Gauge

	spans              *prometheus.CounterVec
	counted            *census
	certificateBegins  prometheus.Gauge
	certificateExpires prometheus.Gauge

	names bound
}

// requestBuckets and callBuckets are the upper bounds in seconds. The gateway's own share is a fraction of a
// millisecond. A provider's response takes from ten milliseconds to the deadline of eight seconds.
var (
	requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 8, 10}
	callBuckets    = []float64{.005, .01, .025, .05, .1, .2, .3, .5, .75, 1, 1.5, 2.5, 4, 6, 8, 10}
)

// New returns the metrics on a new registry, with those of the Go runtime and the process.
func New(b Build) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),

		requests: counter("frontdesk_requests_total",
			"Requests answered, by surface, operation, class of the status and the fault's reason (empty: none).",
			"surface", "operation", "status", "reason"),
		requestSeconds: histogram("frontdesk_request_duration_seconds",
			"Time from a request's arrival to its answer.", requestBuckets, "surface", "operation"),
		requestsRunning: gauge("frontdesk_requests_in_flight", "Requests being answered now.", "surface"),

		calls: counter("frontdesk_provider_calls_total",
			"Guarded calls of drivers, retries included in one, by outcome: ok, or the fault's code.",
			"kind", "provider", "operation", "outcome"),
		callSeconds: histogram("frontdesk_provider_call_duration_seconds",
			"Time of a guarded call, waiting and retries included.", callBuckets, "kind", "provider", "operation"),
		retries: counter("frontdesk_provider_retries_total",
			"Tries after the first, by the fault's code that made them needed.", "kind", "provider",
			"operation", "code"),
		retryDenied: counter("frontdesk_provider_retries_denied_total",
			"Retries that the rules allow and that were not made, by why: budget, deadline or bulkhead.", "kind",
			"provider", "operation", "why"),
		late: counter("frontdesk_provider_late_results_total",
			"Driver calls that ended after their caller had been answered.", "kind", "provider",
			"operation", "outcome"),

		breakers: gauge("frontdesk_breakers",
			"Circuit breakers that are not closed, by level (host or connection) and state.", "level",
			"provider", "state"),
		breakerChanges: counter("frontdesk_breaker_transitions_total",
			"Changes of a circuit breaker's state.", "level", "provider", "to"),
		bulkheadInUse: gauge("frontdesk_bulkhead_in_use",
			"Calls that hold a place in a bulkhead.", "level", "provider"),
		bulkheadWaiting: gauge("frontdesk_bulkhead_waiting",
			"Calls that wait for a place in a bulkhead.", "level", "provider"),
		bulkheadRefused: counter("frontdesk_bulkhead_refused_total",
			"Calls refused at once because too many were waiting.", "level", "provider"),

		exchanges: counter("frontdesk_upstream_exchanges_total",
			"HTTP exchanges with providers: class of the status, or the fault's code where there was no answer.",
			"provider", "outcome"),
		egress: counter("frontdesk_egress_refused_total",
			"Connections refused because the address given by a tenant leads to a network it must not reach.",
			"provider"),

		renewals: counter("frontdesk_token_renewals_total",
			"Access tokens asked for at a provider: ok, or the fault's code; disconnected is one that a customer "+
				"has to mend.", "provider", "outcome"),

		intents: counter("frontdesk_intents_total",
			"Calls that change something, by what became of them: done, failed (no effect is left), unknown (told "+
				"so), replayed (a repeat), settled (by the gateway itself, nobody waiting).",
			"operation", "outcome"),
		unsettled: prometheus.NewGauge(prometheus.GaugeOpts{Name: "frontdesk_intents_unsettled",
			Help: "Calls whose outcome is open and that nobody carried on when recovery last looked; 1000 stands " +
				"for as many or more. Every replica counts the same ones."}),

		deliveries: counter("frontdesk_webhook_deliveries_total",
			"Attempts to deliver an event to a webhook, by outcome: delivered, retried, or failed (given up).",
			"outcome"),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "frontdesk_webhook_oldest_waiting_seconds",
			Help: "Age of the oldest event that waits to be delivered to a webhook; 0: none waits. Every replica " +
				"sees the same one."}),

		spans: counter("frontdesk_trace_spans_total",
			"Spans of traces by what became of them: exported, failed (the collector did not take them) or dropped "+
				"(too many were waiting).", "outcome"),
		counted: newCensus(),
		certificateBegins: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "frontdesk_tls_certificate_not_before_timestamp_seconds",
			Help: "From when on that certificate is valid, in seconds since 1970, so that its lifetime is known."}),
		certificateExpires: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "frontdesk_tls_certificate_expiration_timestamp_seconds",
			Help: "When the gateway's own certificate expires, in seconds since 1970; of several, the first. 0: there " +
				"is none."}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.requestSeconds, m.requestsRunning,
		m.calls, m.callSeconds, m.retries, m.retryDenied, m.late,
		m.breakers, m.breakerChanges, m.bulkheadInUse, m.bulkheadWaiting, m.bulkheadRefused,
		m.exchanges, m.egress, m.renewals, m.intents, m.unsettled, m.deliveries, m.waiting, m.spans, m.counted,
		m.certificateBegins, m.certificateExpires,
		buildInfo(b))
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func buildInfo(b Build) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "frontdesk_build_info",
		Help:        "Always 1; the labels say which build is running.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "go": runtime.Version()}})
	info.Set(1)
	return info
}

// Handler returns a handler that serves the metrics in the formats that Prometheus asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 4})
}

// Registry returns the registry, for the metrics of other packages, such as those of the store's pool. Their
// names begin with frontdesk_.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Request records a finished request. The reason is the fault's, or "" if there was none.
func (m *Metrics) Request(surface, operation string, status int, reason string, took time.Duration) {
	surface, operation = m.names.of("surface", surface), m.names.of("operation", operation)
	m.requests.WithLabelValues(surface, operation, telemetry.StatusClass(status), m.names.of("reason", reason)).Inc()
	m.requestSeconds.WithLabelValues(surface, operation).Observe(took.Seconds())
}

// RequestRunning counts a request as in flight until done is called.
func (m *Metrics) RequestRunning(surface string) (done func()) {
	g := m.requestsRunning.WithLabelValues(m.names.of("surface", surface))
	g.Inc()
	return g.Dec
}

// Intent counts the outcome of a call that changes something.
func (m *Metrics) Intent(operation, outcome string) {
	m.intents.WithLabelValues(m.names.of("operation", operation), m.names.of("intent", outcome)).Inc()
}

// UnsettledIntents records how many intents recovery found that no process carries on.
func (m *Metrics) UnsettledIntents(count int) {
	m.unsettled.Set(float64(count))
}

// Delivery counts an attempt to deliver an event: delivered, retried or failed.
func (m *Metrics) Delivery(outcome string) {
	m.deliveries.WithLabelValues(m.names.of("delivery", outcome)).Inc()
}

// OldestDelivery records how long the oldest event has waited to be delivered.
func (m *Metrics) OldestDelivery(age time.Duration) {
	m.waiting.Set(age.Seconds())
}

// Spans counts spans of traces: exported, failed or dropped.
func (m *Metrics) Spans(outcome string, count int) {
	m.spans.WithLabelValues(outcome).Add(float64(count))
}

// Certificate records from when and until when the gateway's own certificate is valid; of several, the one that expires
// first.
func (m *Metrics) Certificate(from, until time.Time) {
	m.certificateBegins.Set(float64(from.Unix()))
	m.certificateExpires.Set(float64(until.Unix()))
}

// Exchange counts one HTTP exchange with a provider. If there was no response, status is 0 and code is the
// fault's code.
func (m *Metrics) Exchange(provider string, status int, code string) {
	outcome := code
	if status != 0 {
		outcome = telemetry.StatusClass(status)
	}
	m.exchanges.WithLabelValues(m.names.of("provider", provider), m.names.of("outcome", outcome)).Inc()
}

// TokenRenewal counts a request for an access token. code is the fault's code, or "" for success.
func (m *Metrics) TokenRenewal(provider, code string) {
	m.renewals.WithLabelValues(m.names.of("provider", provider), m.names.of("outcome", cmp.Or(code, "ok"))).Inc()
}

// EgressRefused counts a refused connection to an address that a tenant must not reach.
func (m *Metrics) EgressRefused(provider string) {
	m.egress.WithLabelValues(m.names.of("provider", provider)).Inc()
}
