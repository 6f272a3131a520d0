// Package graph is the part of Microsoft Graph 1.0 that calendars need, as a client in the shape that Kiota
// generates: request builders that follow the paths, and models that serialize themselves. It is kept by hand
// because the generated kit for Go is 15,000 files for a dozen calls.
//
//	client, err := graph.New(httpClient, "https://graph.microsoft.com/v1.0")
//	event, err := client.Me().Calendars().ByCalendarID(id).Events().ByEventID(eventID).Get(ctx, options)
//
// It promises that one call is one HTTP request, whatever the answer: of Kiota's middlewares only the one
// that writes parameter names as Graph has them is in use, and Kiota's own repeat on a claims challenge is
// kept from it. An answer that refuses is an [*Error], one that cannot be read an [*Unreadable]; everything
// else is the HTTP client's own error.
package graph
