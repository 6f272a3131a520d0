// Package caldav connects to calendars by CalDAV (RFC 4791): Nextcloud, iCloud, Fastmail, Radicale, Xandikos
// and others.
//
// A calendar's id is the path of its collection; an event's is the path of its resource, and that of one
// instance of a series has the instance's original start behind a '#'. So an id says everything, and nothing
// is looked up by it.
//
// Book names the resource and the UID after its key and puts it with If-None-Match, so that repeating it
// makes no second event. A server that ignores If-None-Match (Google's CalDAV documents that it does) would
// overwrite; use the adapter made for it. A removed resource leaves no trace on a CalDAV server, so a Book
// repeated after the event was cancelled makes it anew.
//
// Invitations are the server's to send (RFC 6638). Whether it does is known only once it was asked, and
// traits have to be known before, so the connection says it: with auto_schedule on, a server that does not
// send them is refused when the account is verified, and when attendees are to be invited. With it off, no
// invitation is promised: attendees are written into the event, and whether the server tells them is its own
// affair.
//
// Of a meeting that somebody else organizes the account has a copy. It is not changed (RFC 6638 section
// 3.2.2.1). Cancelling removes it, and a server that schedules tells the organizer.
//
// Recurrence is expanded here, not by the server, from all that an object holds. The iCalendar and the
// recurrence rules are read by packages of our own: the libraries at hand panic on malformed lines, lose what
// they do not know, or follow a rule for ever.
package caldav

import (
	"context"
	"net/url"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
)

// name is the adapter's configuration word.
const name = "caldav"

type settings struct {
	URL      string `setting:"url" kind:"url" required:"true" help:"Address of the server, of the account's principal or calendar home, or of one calendar, such as https://cloud.example.com."`
	Calendar string `setting:"calendar" help:"Name or id of the default calendar, for calls that name none. Without it, the default is the calendar at the address, or the server's default calendar, or the first writable one."`
	Email    string `setting:"email" help:"The account's e-mail address, if the server does not tell it. It becomes the organizer of events with attendees, and the account can change events that it organizes."`

	AutoSchedule bool `setting:"auto_schedule" help:"Whether the server sends invitations itself (RFC 6638). If true, verifying the connection and inviting attendees fail on a server that does not. If false, no invitations are promised."`

	TrustTimeRange bool `setting:"trust_time_range" help:"Whether the server finds recurring events by the time of any instance. If false, the gateway remembers recurring events and asks with each listing what has changed, since some servers check only the first instance (Xandikos 0.2) or overlook single dates (sabre/dav). If true, it makes no such request."`

	Username string `credential:"username" required:"true" help:"The user name at the calendar server."`
	Password string `credential:"password" required:"true" help:"The password. Accounts with two-factor sign-in need an app password."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Calendar(adapter.Declaration{
		Name:  name,
		Title: "CalDAV",
		Help: "Calendars of Nextcloud, iCloud, Fastmail, Radicale and any other CalDAV server. Needs the " +
			"server's address, a user name and an (app) password.",
		Auth: adapter.Auth{Scheme: adapter.Basic, Username: "username", Password: "password", BaseURL: "url"},
	}, open)
}

func open(_ context.Context, s settings, env adapter.Environment) (calendar.Driver, error) {
	base, err := url.Parse(s.URL)
	if err != nil {
		return nil, misconfigured("has an address that cannot be read")
	}
	base.Fragment, base.RawQuery = "", ""
	if base.Path == "" {
		base.Path = "/"
	}
	s.Username, s.Password = "", "" // the client holds them
	return &driver{
		settings: s, base: base, http: env.HTTP, now: env.Now, discovering: make(chan struct{}, 1),
	}, nil
}
