// Package api is the HTTP surface. Every operation is declared once, as a value of operation in
// operations.go; that value registers its Gin route, decodes its requests and feeds the OpenAPI document and
// the /docs page, so the four cannot drift apart.
//
//	handler, err := api.New(api.Options{
//		PublicURL: "https://agents.example.com", Services: services, Keys: directory,
//	})
//
// It promises that every fault of a request is reported at once, that an error has the style of the surface
// in whose prefix the path falls (google.rpc.Status under /v1, RFC 9457 problem details elsewhere), and that
// nothing of a cause marked internal or upstream leaves through it. It holds no business rule: what a request
// does is in core/service.
package api
