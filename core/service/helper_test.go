package service

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/guard"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
)

// Intervals of the recovery in core/journal.
const (
	pollInterval     = 40 * time.Millisecond
	recoveryInterval = 2 * time.Second
	recoveryScan     = 1000
	recoveryBatch    = 200
	maxRetryDelay    = 10 * time.Minute
)

// when parses a time as a caller writes it.
func when(tb testing.TB, s string) normalize.InputTime {
	tb.Helper()
	t, err := normalize.ParseTime(s, normalize.DateTimeOrDate)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// monday is the day of the tests' meetings. Slots are counted in hours from its midnight in UTC.
var monday = time.Date(2030, 3, 4, 0, 0, 0, 0, time.UTC)

func hour(h int) time.Time { return monday.Add(time.Duration(h) * time.Hour) }

// meeting returns a booking of one hour.
func meeting(tb testing.TB, title string, h int) BookMeeting {
	return BookMeeting{
		Title: title, Start: when(tb, hour(h).Format(time.RFC3339)), End: when(tb, hour(h+1).Format(time.RFC3339)),
		Timezone: "UTC",
	}
}

// book books a meeting and fails the test if that fails.
func book(tb testing.TB, p *process, c apikey.Caller, w Write, in BookMeeting) Answer[record.MeetingAnswer] {
	tb.Helper()
	answer, err := p.Calendar.Book(asKey(c), c, w, in)
	if err != nil {
		tb.Fatalf("booking %q: %v", in.Title, err)
	}
	return answer
}

// impatient makes calls stop waiting for equal ones at once.
func impatient(o *Options, _ *guard.Options) { o.WaitForEqual = pollInterval }

// within returns a context with a deadline so short that a test can wait for a hanging provider.
func within(tb testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}
