// Package api implements the HTTP API. Every operation is declared once, as a value of type operation in
// operations.go. The Gin route, the decoder, the OpenAPI document and the /docs page all derive from that
// value, so they cannot drift apart.
//
//	handler, err := api.New(api.Options{
//		PublicURL: "https://agents.example.com", Services: services, Keys: directory,
//	})
//
// The package guarantees that all faults of a request are reported at once, that errors have the style of the
// path's prefix (google.rpc.Status under /v1 and for voice agents, RFC 9457 problem details elsewhere), and that
// nothing of an internal cause or of upstream text is shown to callers. It contains no business rules; they are
// in core/service.
package api
