// Package caldav connects to calendars by CalDAV (RFC 4791): Nextcloud, iCloud, Fastmail, Radicale, Xandikos
// and others.
//
// A calendar's id is the path of its collection. An event's id is the path of its resource. The id of one
// instance of a series also has a '#' and the instance's original start; that of an event that shares its
// resource with others, a '#' and a name made of its UID. The driver needs no lookup to find an event by its id, unless
// somebody has moved a booking to another calendar: then it is there under the same name, and told with its new id.
//
// Book derives the resource's name and the UID from the booking's key and sends PUT with If-None-Match, so a
// repeated Book creates no second event. A server that ignores If-None-Match (Google's CalDAV documents that
// it does) would overwrite the event; use that provider's own adapter. A removed resource leaves no trace on
// a CalDAV server, so a Book repeated after the event was cancelled creates it again.
//
// The server sends the invitations (RFC 6638). Only a request shows whether it does so, but traits must be
// known before any request, so the setting auto_schedule declares it. If it is on, verifying the account and
// inviting attendees fail on a server that sends no invitations. If it is off, no invitation is promised:
// attendees are written into the event, and the server may or may not notify them.
//
// The account has a copy of a meeting that somebody else organizes. Change refuses to change the copy (RFC
// 6638 section 3.2.2.1). Cancel removes it, and a server that supports scheduling notifies the organizer.
//
// The driver, not the server, expands recurring events, from the complete object. It parses iCalendar and
// recurrence rules with its own packages: the available libraries panic on malformed lines, drop unknown
// data, or expand a rule without end.
package caldav

import (
	"context"
	"net/url"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
)

// name is the adapter's name in configurations.
const name = "caldav"

type settings struct {
	URL      string `setting:"url" kind:"url" required:"true" help:"Address of the server, of the account's principal or calendar home, or of one calendar, such as https://cloud.example.com."`
	Calendar string `setting:"calendar" help:"Name or id of the default calendar, for calls that name none. Without it, the default is the calendar at the address, or the server's default calendar, or the first writable one."`
	Email    string `setting:"email" help:"The account's e-mail address, if the server does not tell it. It becomes the organizer of events with attendees, unless the server tells the address of another owner of the calendar, or auto_schedule is true and it tells other addresses of the account. The account can change events that it organizes."`

	AutoSchedule bool `setting:"auto_schedule" help:"Whether the server sends invitations itself (RFC 6638). If true, verifying the connection and inviting attendees fail on a server that does not. If false, no invitations are promised."`

	TrustTimeRange bool `setting:"trust_time_range" help:"Whether the server finds recurring events by the time of any instance. If false, the gateway remembers recurring events and asks with each listing what has changed, since some servers check only the first instance (Xandikos 0.2) or overlook single dates (sabre/dav). If true, it makes no such request."`

	Username string `credential:"username" required:"true" help:"The user name at the calendar server."`
	Password string `credential:"password" required:"true" help:"The password. Accounts with two-factor sign-in need an app password."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	all := newSeriesMemory()
	return adapter.Calendar(adapter.Declaration{
		Name:  name,
		Title: "CalDAV",
		Help: "Calendars of Nextcloud, iCloud, Fastmail, Radicale and any other CalDAV server. Needs the " +
			"server's address, a user name and an (app) password.",
		Auth: adapter.Auth{Scheme: adapter.Basic, Username: "username", Password: "password", BaseURL: "url"},
	}, func(_ context.Context, s settings, env adapter.Environment) (calendar.Driver, error) {
		return open(s, env, all)
	})
}

func open(s settings, env adapter.Environment, all *seriesMemory) (calendar.Driver, error) {
	base, err := url.Parse(s.URL)
	if err != nil {
		return nil, misconfigured("has an address that cannot be read")
	}
	base.Fragment, base.RawQuery = "", ""
	if base.Path == "" {
		base.Path = "/"
	}
	s.Username, s.Password = "", "" // the client holds them
	zone, err := timezone.Load(env.Zone)
	if err != nil {
		return nil, fault.From(err)
	}
	return &driver{
		settings: s, base: base, http: env.HTTP, zone: zone, now: env.Now, discovering: make(chan struct{}, 1),
		series: seriesCache{all: all},
	}, nil
}
