// Package graph is a client for the part of Microsoft Graph 1.0 that calendars need. It is written by hand
// because the generated SDK for Go is 15,000 files for a dozen calls. Of Kiota, by which that SDK is generated, it uses
// what fills in the parameters of an address.
//
//	client := graph.New(httpClient, "https://graph.microsoft.com/v1.0")
//	event, err := graph.Send[graph.Event](ctx, client, graph.Request{Path: "/me/events/" + graph.Escape(id)})
//
// One call is one HTTP request, whatever the response. An error response is an [*Error], one that cannot be
// read is an [*Unreadable]; every other error is that of the HTTP client.
package graph
