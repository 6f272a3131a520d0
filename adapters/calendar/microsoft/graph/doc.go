// Package graph is a client for the part of Microsoft Graph 1.0 that calendars need. It has the form that
// Kiota generates: request builders that follow the paths, and models that serialize themselves. It is
// written by hand because the generated SDK for Go is 15,000 files for a dozen calls.
//
//	client, err := graph.New(httpClient, "https://graph.microsoft.com/v1.0")
//	event, err := client.Me().Calendars().ByCalendarID(id).Events().ByEventID(eventID).Get(ctx, options)
//
// One call is one HTTP request, whatever the response: of Kiota's middlewares, only the one that writes
// parameter names in Graph's form is used, and Kiota is kept from repeating a request on a claims challenge.
// An error response is an [*Error], one that cannot be read is an [*Unreadable]; every other error is that of
// the HTTP client.
package graph
