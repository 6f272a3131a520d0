package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"frontdesk/core/telemetry"
)

// Census is what the gateway counts in its store from time to time. Every replica counts the same rows.
type Census struct {
	Connections []Connections
	NearEnd     []NearEnd

	IntentsRunning, IntentsUnknown int
	DeliveriesWaiting              int
	OldestUnsealed                 time.Duration // how long the oldest row of the audit has not been sealed; 0: all are
}

// Connections counts the connections of a provider with one status.
type Connections struct {
	Kind, Provider, Status string
	Count                  int
}

// NearEnd counts the connections of a provider whose access ends soon, because their tokens are not renewed.
type NearEnd struct {
	Provider, Why string // why: "failing" (the last tries failed) or "overdue" (nobody tried)
	Count         int
}

// Census records what was counted.
func (m *Metrics) Census(c Census) {
	for i := range c.Connections {
		c.Connections[i].Provider = m.names.of("provider", c.Connections[i].Provider)
	}
	for i := range c.NearEnd {
		c.NearEnd[i].Provider = m.names.of("provider", c.NearEnd[i].Provider)
	}
	m.counted.last.Store(&c)
}

// census exposes the last Census as one, so that no scrape sees a part of it. There are no metrics before the
// first one: nothing was counted yet, which is not zero.
type census struct {
	last atomic.Pointer[Census]

	connections, nearEnd, intents, deliveries, unsealed *prometheus.Desc
}

func newCensus() *census {
	return &census{
		connections: prometheus.NewDesc("frontdesk_connections",
			"Connections by status: ok or reconnect_required. Every replica counts the same ones.",
			[]string{"kind", "provider", "status"}, nil),
		nearEnd: prometheus.NewDesc("frontdesk_tokens_near_end",
			"Connections whose access ends soon because their tokens are not renewed, by why: failing (the last "+
				"tries failed) or overdue (nobody tried for five minutes). Every replica counts the same ones.",
			[]string{"provider", "why"}, nil),
		intents: prometheus.NewDesc("frontdesk_intents_open",
			"Calls that change something and have no answer yet, by state: running or unknown. Every replica counts "+
				"the same ones.", []string{"state"}, nil),
		deliveries: prometheus.NewDesc("frontdesk_webhook_deliveries_waiting",
			"Events that wait to be delivered to a webhook. Every replica counts the same ones.", nil, nil),
		unsealed: prometheus.NewDesc("frontdesk_audit_oldest_unsealed_seconds",
			"Age of the oldest row of the audit that is not sealed; 0: all are. A row that the gateway did not write "+
				"is never sealed.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *census) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.connections, c.nearEnd, c.intents, c.deliveries, c.unsealed} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *census) Collect(to chan<- prometheus.Metric) {
	last := c.last.Load()
	if last == nil {
		return
	}
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	type series [3]string
	sums := map[series]int{} // names beyond the bound are one series
	for _, n := range last.Connections {
		sums[series{n.Kind, n.Provider, n.Status}] += n.Count
	}
	for labels, count := range sums {
		send(c.connections, float64(count), labels[:]...)
	}
	clear(sums)
	for _, n := range last.NearEnd {
		sums[series{n.Provider, n.Why}] += n.Count
	}
	for labels, count := range sums {
		send(c.nearEnd, float64(count), labels[:2]...)
	}
	send(c.intents, float64(last.IntentsRunning), "running")
	send(c.intents, float64(last.IntentsUnknown), "unknown")
	send(c.deliveries, float64(last.DeliveriesWaiting))
	send(c.unsealed, last.OldestUnsealed.Seconds())
}

// Watch registers metrics that are read when somebody asks for them. It must be called once at most for each
// field of w.
func (m *Metrics) Watch(w telemetry.Watched) {
	gauge := func(name, help string, read func() float64, labels prometheus.Labels) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
	}
	if w.Gate != nil {
		gauge("frontdesk_gate_requests", "Requests that the gate has admitted and that are not answered yet.",
			func() float64 { inside, _ := w.Gate(); return float64(inside) }, nil)
		gauge("frontdesk_gate_limit", "Requests that the gate would admit now. It falls below limits.max_in_flight "+
			"while processors or the store cannot keep up.",
			func() float64 { _, limit := w.Gate(); return float64(limit) }, nil)
	}
	for name, length := range w.Queues {
		gauge("frontdesk_requests_waiting", "Requests that wait before they are served, by for what: body (that it "+
			"arrives; a large one counts as several) or equal (for the answer to an equal one).",
			func() float64 { return float64(length()) }, prometheus.Labels{"for": name})
	}
	if w.Store != nil {
		m.registry.MustRegister(
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "frontdesk_store_waits_total",
				Help: "Calls of the store that had to wait for a connection, or for their turn to write."},
				func() float64 { calls, _ := w.Store(); return float64(calls) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "frontdesk_store_wait_seconds_total",
				Help: "How long these calls have waited in all."},
				func() float64 { _, together := w.Store(); return together.Seconds() }))
	}
	flag := func(name, help string, is func() bool) {
		if is != nil {
			gauge(name, help+", as /readyz says: 1 or 0.", func() float64 {
				if is() {
					return 1
				}
				return 0
			}, nil)
		}
	}
	flag("frontdesk_store_writable", "Whether the store took the last write that tried it", w.Writable)
	flag("frontdesk_key_set_opens_rows", "Whether the key set opens what is stored", w.Openable)
	if w.Disk != nil {
		gauge("frontdesk_data_dir_free_bytes", "Bytes that are free for the gateway where data_dir or the SQLite file is, "+
			"whichever disk is fuller.",
			func() float64 { free, _ := w.Disk(); return free }, nil)
		gauge("frontdesk_data_dir_size_bytes", "Bytes that this disk has.",
			func() float64 { _, size := w.Disk(); return size }, nil)
	}
}
