package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// ids returns the ids of all events of the default calendar, and how many documents the account has.
func (a *account) ids(t *testing.T) (ids []string, documents int) {
	t.Helper()
	prefix := pointerKey(primary, "")
	err := a.env.Storage.View(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Scan("", "", func(key string, _ []byte) bool {
			if documents++; strings.HasPrefix(key, prefix) {
				ids = append(ids, strings.TrimPrefix(key, prefix))
			}
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, documents
}

// A calendar has no more events than its bound. Those that ended first make room, whether they are short, long or
// cancelled; a booking of the past does not make room for itself.
func TestEventsThatEndedFirstMakeRoom(t *testing.T) {
	a := newAccount(t)
	a.settings["seed"] = "empty"
	d := a.open()
	d.most = 3 * removedAtOnce
	day := func(n int) time.Time { return time.Date(2027, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, n) }
	book := func(n int, length time.Duration) calendar.EventRef {
		t.Helper()
		b := haircut(fmt.Sprint("of day ", n))
		b.Key, b.Start, b.End, b.Zone = fmt.Sprint("key", n), day(n), day(n).Add(length), "UTC"
		return mustBook(t, d, b)
	}
	var all []calendar.EventRef
	for n := range d.most {
		ref := book(n, []time.Duration{time.Hour, 200 * time.Hour}[n%2])
		if n%3 == 0 {
			if err := d.Cancel(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, ref)
	}
	if ids, documents := a.ids(t); len(ids) != d.most || documents != 2*d.most+1 {
		t.Fatalf("there are %d events and %d documents", len(ids), documents)
	}
	past := book(-1, time.Hour)
	ids, documents := a.ids(t)
	if want := d.most + 1 - removedAtOnce; len(ids) != want || documents != 2*want+1 {
		t.Errorf("there are %d events and %d documents, want %d events", len(ids), documents, want)
	}
	if !slices.Contains(ids, past.ID) {
		t.Error("the new event made room for itself")
	}
	var last time.Time // when the last one that went ended
	var first = day(2 * d.most)
	for n, ref := range all {
		end := day(n).Add([]time.Duration{time.Hour, 200 * time.Hour}[n%2])
		switch _, err := d.Event(t.Context(), ref); {
		case errors.Is(err, fault.NotFound):
			last = latest(last, end)
		case err != nil:
			t.Fatal(err)
		case end.Before(first):
			first = end
		}
	}
	if !last.Before(first) {
		t.Errorf("an event that ended at %s went, and one that ended at %s stayed", last, first)
	}
	for n := range removedAtOnce { // and there is room for as many
		book(d.most+n, time.Hour)
	}
	if ids, _ := a.ids(t); len(ids) > d.most {
		t.Errorf("there are %d events", len(ids))
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// The events of an account that did not count them are counted.
func TestEventsOfAnEarlierVersionAreCounted(t *testing.T) {
	a := newAccount(t)
	a.settings["seed"] = "empty"
	d := a.open()
	d.most = 2
	for i := range 3 {
		start := time.Date(2027, 1, 1+i, 9, 0, 0, 0, time.UTC)
		s := stored{ID: fmt.Sprint("e", i), Calendar: primary, Start: start, End: start.Add(time.Hour), Zone: "UTC"}
		if err := a.put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	ref := mustBook(t, d, haircut("Haircut"))
	if ids, _ := a.ids(t); !slices.Equal(ids, []string{ref.ID}) {
		t.Errorf("the calendar has %q", ids)
	}
}

func TestTheBoundIsDocumented(t *testing.T) {
	limits, err := os.ReadFile("../../../deploy/limits.md")
	if err != nil || mostEvents != 20_000 || !strings.Contains(string(limits), "20,000 events of a calendar") {
		t.Errorf("deploy/limits.md does not say that a calendar keeps %d events (%v)", mostEvents, err)
	}
}
