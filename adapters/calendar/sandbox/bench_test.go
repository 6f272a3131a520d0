package sandbox

import (
	"fmt"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/calendar"
)

// manyEvents returns an account with that many events, half an hour each and one after the other.
func manyEvents(b *testing.B, count int) *driver {
	b.Helper()
	storage := adaptertest.Storage()
	err := storage.Update(b.Context(), func(tx adapter.StorageTx) error {
		for i := range count {
			start := friday.Add(time.Duration(i) * 30 * time.Minute)
			err := put(tx, stored{
				ID: eventID(fmt.Sprint(i)), Calendar: primary, Version: 1, Title: fmt.Sprintf("Haircut %d", i),
				Description: "Wash, cut and go. Comes with a friend.", Start: start, End: start.Add(30 * time.Minute),
				Zone: "Europe/Berlin", Organizer: person{Email: "office@example.com"},
				Attendees: []attendee{
					{person{Email: "one@example.com"}, "", ""}, {person{Email: "two@example.com"}, "", "accepted"},
				},
			}, "")
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	d, err := Adapter().OpenCalendar(b.Context(), adapter.Values{}, adapter.Environment{
		Zone: "UTC", Storage: storage, Now: time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	return d.(*driver)
}

// BenchmarkEvents lists a week, and everything, of accounts of several sizes. A week must cost the same in
// all of them.
//
//	go test -bench Events ./adapters/calendar/sandbox
func BenchmarkEvents(b *testing.B) {
	for _, count := range []int{500, 5000} {
		d := manyEvents(b, count)
		for name, length := range map[string]time.Duration{
			"a week": 7 * 24 * time.Hour, "all": 10 * 366 * 24 * time.Hour,
		} {
			b.Run(fmt.Sprintf("%d events/%s", count, name), func(b *testing.B) {
				q := calendar.Query{From: friday, To: friday.Add(length), Zone: "UTC", Limit: largestPage}
				for b.Loop() {
					if _, err := everything(b.Context(), d, q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
