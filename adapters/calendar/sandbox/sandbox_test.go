package sandbox

import (
	"context"
	"testing"
	"time"
	_ "time/tzdata"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
)

// account is a sandbox account under test. It is also the harness's Provider, with the storage and a gate.
type account struct {
	*adaptertest.GatedStorage
	t        *testing.T
	env      adapter.Environment
	settings map[string]any
}

func newAccount(t *testing.T) *account {
	storage := adaptertest.NewGatedStorage(adaptertest.Storage())
	return &account{GatedStorage: storage, t: t, settings: map[string]any{}, env: adapter.Environment{
		ConnectionID: "c1", Zone: "America/New_York", Storage: storage, Now: time.Now,
	}}
}

func (a *account) open() *driver {
	a.t.Helper()
	d, err := Adapter().OpenCalendar(a.t.Context(), adapter.Values{Settings: a.settings}, a.env)
	if err != nil {
		a.t.Fatal(err)
	}
	return d.(*driver)
}

func (a *account) put(ctx context.Context, s stored) error {
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error { return put(tx, s, "") })
}

// alter changes an event without the driver.
func (a *account) alter(ctx context.Context, ref calendar.EventRef, do func(*stored)) error {
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		f, err := a.open().find(tx, ref)
		if err != nil {
			return err
		}
		do(&f.event)
		f.event.Version++
		return f.save(tx)
	})
}

func (a *account) MakeSeries(ctx context.Context, s calendartest.Series) error {
	return a.put(ctx, stored{
		ID: eventID(s.Title), Calendar: s.CalendarID, Version: 1, Title: s.Title, Start: s.Start.UTC(),
		End: s.Start.Add(s.Length).UTC(), Zone: s.Zone, Rule: s.Rule,
		Organizer: person{Email: "office@example.com"},
	})
}

func (a *account) MakeDays(ctx context.Context, calendarID, title string, from, to calendar.Time) error {
	return a.put(ctx, stored{
		ID: eventID(title), Calendar: calendarID, Version: 1, Title: title, Start: from.Instant, End: to.Instant,
		Form: dayForm,
	})
}

func (a *account) MakeFloating(ctx context.Context, calendarID, title string, from, to calendar.Time) error {
	return a.put(ctx, stored{
		ID: eventID(title), Calendar: calendarID, Version: 1, Title: title, Start: from.Instant, End: to.Instant,
		Form: floatingForm,
	})
}

func (a *account) MakeFree(ctx context.Context, calendarID, title string, from, to time.Time) error {
	return a.put(ctx, stored{
		ID: eventID(title), Calendar: calendarID, Version: 1, Title: title, Start: from, End: to, Zone: "UTC",
		Free: true,
	})
}

func (a *account) Answer(ctx context.Context, ref calendar.EventRef, email, response string) error {
	return a.alter(ctx, ref, func(s *stored) {
		for i := range s.Attendees {
			if s.Attendees[i].Email == email {
				s.Attendees[i].Response = response
			}
		}
	})
}

func (a *account) Retitle(ctx context.Context, ref calendar.EventRef, title string) error {
	return a.alter(ctx, ref, func(s *stored) { s.Title = title })
}

func TestContract(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"as it comes":           {},
		"without links, empty":  {"conferencing": "false", "seed": "empty"},
		"with an address, zone": {"email": "desk@practice.example", "timezone": "Australia/Lord_Howe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calendartest.Run(t, func(t *testing.T) calendartest.Harness {
				a := newAccount(t)
				a.settings = settings
				email, _ := settings["email"].(string)
				if email == "" {
					email = "office@example.com"
				}
				return calendartest.Harness{
					Open:     func() calendar.Driver { return a.open() },
					Calendar: primary, Second: team, ReadOnly: holidays, Email: email, Now: time.Now, Provider: a,
				}
			})
		})
	}
}
