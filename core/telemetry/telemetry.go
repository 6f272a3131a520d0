// Package telemetry provides structured logs, the identity of a request in all of them, metrics, and
// the spans of traces.
//
//	log, err := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{Format: "json", Level: "info"})
//	metrics := telemetry.NewMetrics(telemetry.Build{Version: "1.4.0"})
//	ctx = telemetry.ContinueTrace(ctx, r.Header)
//	ctx = telemetry.With(ctx, telemetry.RequestID(id), telemetry.Tenant("acme"))
//	log.InfoContext(ctx, "meeting booked") // carries request_id, tenant and trace_id
//
// It promises that what looks like a secret does not reach a log line (see [Redact]), and that the number of
// metric series is bounded whatever callers and tenants do: no label holds a tenant, an address, an id or a
// text.
//
// Spans are recorded only where a tracer was given, which core/tracing makes. Without one, the functions that
// begin and end spans allocate nothing.
package telemetry
