// Package telemetry provides structured logs, the identity of a request in all of them, and the spans of
// traces.
//
//	log, err := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{Format: "json", Level: "info"})
//	ctx = telemetry.ContinueTrace(ctx, r.Header)
//	ctx = telemetry.With(ctx, telemetry.RequestID(id), telemetry.Tenant("acme"))
//	log.InfoContext(ctx, "meeting booked") // carries request_id, tenant and trace_id
//
// It promises that what looks like a secret does not reach a log line (see [Redact]).
//
// Spans are recorded only where a tracer was given, which core/tracing makes. Without one, the functions that
// begin and end spans allocate nothing.
package telemetry
