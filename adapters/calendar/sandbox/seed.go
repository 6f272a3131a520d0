package sandbox

import (
	"context"
	"time"

	"frontdesk/core/adapter"
)

const (
	teamZone  = "Europe/Berlin"
	seedMark  = "seeded"
	seedWeeks = 4 // how long the weekly meeting has been going on when the account is first used
)

// seed puts the demo events into the store, once per connection.
func (d *driver) seed(ctx context.Context) error {
	if d.settings.Seed == "empty" || d.seeded.Load() {
		return nil
	}
	var mark []byte
	err := d.storage.View(ctx, func(tx adapter.StorageTx) (err error) {
		mark, err = tx.Get(seedMark)
		return err
	})
	if err == nil && mark == nil {
		err = d.storage.Update(ctx, d.putSeed)
	}
	d.seeded.Store(err == nil)
	return err
}

func (d *driver) putSeed(tx adapter.StorageTx) error {
	mark, err := tx.Get(seedMark)
	if err != nil || mark != nil {
		return err // another replica was faster
	}
	events, err := d.demo()
	if err != nil {
		return err
	}
	for _, s := range events {
		if err := put(tx, s, ""); err != nil {
			return err
		}
	}
	return tx.Put(seedMark, []byte("true"))
}

// demo returns the events of all calendars but the default one, around the day of the first use.
func (d *driver) demo() ([]stored, error) {
	zone, err := loadZone(teamZone)
	if err != nil {
		return nil, err
	}
	now := d.now().In(zone)
	monday := now.AddDate(0, 0, -(int(now.Weekday())+6)%7)
	at := func(days, hour, minute int) time.Time {
		return time.Date(monday.Year(), monday.Month(), monday.Day()+days, hour, minute, 0, 0, zone).UTC()
	}
	date := func(days int) time.Time {
		return time.Date(monday.Year(), monday.Month(), monday.Day()+days, 0, 0, 0, 0, time.UTC)
	}
	var (
		office = person{Email: d.settings.Email}
		lena   = person{Email: "lena.vogt@example.com", Name: "Lena Vogt"}
		jonas  = person{Email: "jonas.weber@example.com", Name: "Jonas Weber"}
		priya  = person{Email: "priya.nair@example.com", Name: "Priya Nair"}
		tomas  = person{Email: "tomas.lind@example.com", Name: "Tomas Lind"}
		room   = person{Email: "room-spree@example.com", Name: "Room Spree"}
	)
	list := []stored{
		{
			ID: "demoweekly", Calendar: team, Version: 1, Title: "Weekly planning",
			Description: "What is due this week, and who does it.",
			Start:       at(-7*seedWeeks, 9, 30), End: at(-7*seedWeeks, 10, 0), Zone: teamZone, Rule: "FREQ=WEEKLY",
			Organizer: lena,
			Attendees: []attendee{
				{office, "", "accepted"}, {jonas, "", "accepted"}, {priya, "", "tentative"},
				{tomas, "optional", "declined"}, {room, "resource", "accepted"},
			},
			Link: meetingLink(team, "demoweekly"),
		},
		{
			ID: "demooffsite", Calendar: team, Version: 1, Title: "Team day", Description: "Nobody is in the office.",
			Start: date(10), End: date(11), Form: dayForm, Organizer: lena,
		},
		{
			ID: "demowithdrawn", Calendar: team, Version: 2, Title: "Cancelled: Review with Nordwind",
			State: withdrawn, Start: at(9, 14, 0), End: at(9, 15, 0), Zone: teamZone, Organizer: jonas,
			Attendees: []attendee{{office, "", "accepted"}, {lena, "", ""}},
		},
	}
	for _, h := range []struct {
		id, name string
		month    time.Month
		day      int
	}{
		{"newyear", "New Year's Day", time.January, 1},
		{"labourday", "Labour Day", time.May, 1},
		{"christmas", "Christmas Day", time.December, 25},
		{"boxingday", "Boxing Day", time.December, 26},
	} {
		first := time.Date(now.Year()-1, h.month, h.day, 0, 0, 0, 0, time.UTC)
		list = append(list, stored{
			ID: h.id, Calendar: holidays, Version: 1, Title: h.name, Start: first, End: first.AddDate(0, 0, 1),
			Form: dayForm, Rule: "FREQ=YEARLY", Free: true,
			Organizer: person{Email: "holidays@example.com", Name: "Holidays"},
		})
	}
	return list, nil
}
