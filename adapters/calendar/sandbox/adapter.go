// Package sandbox is the built-in calendar: an account that needs no provider, for building and testing a
// voice agent. Its events live in the gateway's own store. It behaves like real providers (ids that belong to
// a calendar, versions, time zones, series with instances, responses of attendees, read-only calendars) and
// can be made to fail.
//
// An account has three calendars: "primary" (the default one, empty at first, in the connection's zone),
// "team" (in Europe/Berlin, with a weekly meeting, a whole day and an invitation that was withdrawn) and
// "holidays" (read only). Attendees do not respond until someone responds for them. Only accepts@, declines@
// and tentative@ at any domain respond at once. No mail is sent. A calendar keeps 20,000 events: those that
// ended first, or will, make room for new ones.
//
// A magic value makes a call fail. It may be part of a title, or stand next to or instead of an event's or
// calendar's id. The connection's fault setting applies a value to every call:
//
//	value                    where        what the call does
//	sandbox:slow             any          takes three seconds more, then acts
//	sandbox:hang             any          never returns; only the deadline ends it
//	sandbox:rate_limited     any          is rejected: too many calls, retry after 30 s
//	sandbox:revoked          any          is rejected: the credentials are no longer valid
//	sandbox:forbidden        any          is rejected: the account may not do this
//	sandbox:down             any          does not reach the provider
//	sandbox:reply_lost       any write    acts, then loses the reply, once: a repeat finds what was done
//	sandbox:outcome_unknown  any write    acts, then loses the reply, and the event stays out of reach for 10 s
//	sandbox:slot_taken       book, change is rejected as if somebody else had taken the time
//
// So a meeting titled "Haircut sandbox:down" cannot be booked, and listing the calendar "team sandbox:slow"
// takes long.
package sandbox

import (
	"cmp"
	"context"
	"net/mail"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

type settings struct {
	Email        string        `setting:"email" default:"office@example.com" help:"The address of the account, which organizes the booked events."`
	Timezone     string        `setting:"timezone" help:"IANA time zone of the default calendar. The default is the tenant's zone."`
	Seed         string        `setting:"seed" default:"demo" choices:"demo,empty" help:"What the other calendars hold at first: demo events, or nothing."`
	Conferencing bool          `setting:"conferencing" default:"true" help:"Whether the account can make meeting links; personal accounts often cannot."`
	Fault        string        `setting:"fault" choices:"slow,hang,rate_limited,revoked,forbidden,down,reply_lost,outcome_unknown" help:"How every call fails, until this setting is empty again."`
	Latency      time.Duration `setting:"latency" help:"How long each call takes, such as 250ms."`
}

// slotTaken is a scenario of this sandbox only, in addition to those of every sandbox.
const slotTaken scenario.Name = "slot_taken"

// Adapter returns the declaration.
func Adapter() adapter.Adapter {
	return adapter.Calendar(adapter.Declaration{
		Name: "sandbox", Title: "Sandbox calendar", Sandbox: true,
		Help: "A calendar inside the gateway, for building and testing without an account. " +
			"It needs no credentials.",
	}, open)
}

// Validate checks the settings.
func (s settings) Validate() (faults []fault.Field) {
	if _, err := loadZone(cmp.Or(s.Timezone, "UTC")); err != nil {
		faults = append(faults, fault.Field{
			Path: "settings.timezone", Message: "must be the IANA name of a time zone, such as Europe/Berlin.",
		})
	}
	if a, err := mail.ParseAddress(s.Email); err != nil || a.Address != s.Email {
		faults = append(faults, fault.Field{
			Path: "settings.email", Message: "must be an e-mail address without a name.",
		})
	}
	return faults
}

func open(_ context.Context, s settings, env adapter.Environment) (calendar.Driver, error) {
	return &driver{
		settings: s,
		zone:     cmp.Or(s.Timezone, env.Zone),
		storage:  env.Storage,
		now:      env.Now,
		most:     mostEvents,
		scenarios: scenario.Provider{
			Always: scenario.Name(s.Fault), Latency: s.Latency, Storage: env.Storage, Now: env.Now,
			Own: map[scenario.Name]*fault.Error{
				slotTaken: fault.New(fault.Conflict, fault.ReasonSlotTaken,
					"This time is already taken, as sandbox:slot_taken asked. Offer another one."),
			},
		},
	}, nil
}
