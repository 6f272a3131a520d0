package calendartest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// variants returns the traits of accounts that fulfil the contract and promise more or less.
func variants() map[string]calendar.Traits {
	inTime := everyTrait
	inTime.ConsistentReads = false
	without := calendar.Traits{ConsistentReads: true}
	forgets := everyTrait
	forgets.KeepsCancelled, forgets.MaxConcurrent = false, 4
	return map[string]calendar.Traits{
		"every trait": everyTrait, "listings that lag": inTime, "no trait": without,
		"cancelled ones forgotten": forgets,
	}
}

func TestTheReferencePassesWhateverItPromises(t *testing.T) {
	for name, traits := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, check := range calendartest.Checks() {
				synctest.Test(t, func(t *testing.T) {
					h := newProvider(traits).harness()
					if !check.Binds(h) {
						return
					}
					if err := check.Do(t.Context(), h); err != nil {
						t.Errorf("%s: %v", check.Name, err)
					}
				})
			}
		})
	}
}

// TestOtherEventsDisturbNoCheck fills most afternoons of the year, as other checks and their account's owner do.
func TestOtherEventsDisturbNoCheck(t *testing.T) {
	for _, check := range calendartest.Checks() {
		synctest.Test(t, func(t *testing.T) {
			h := newProvider(everyTrait).harness()
			if !check.Binds(h) {
				return
			}
			for day := range 365 {
				if day%4 == 0 {
					continue
				}
				from := h.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, day).Add(12 * time.Hour)
				if _, err := h.Open().Book(t.Context(), calendar.Booking{Key: fmt.Sprint("another", day), Zone: "UTC",
					CalendarID: h.Calendar, Title: "Another", Start: from, End: from.Add(8 * time.Hour)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := check.Do(t.Context(), h); err != nil {
				t.Errorf("%s: %v", check.Name, err)
			}
		})
	}
}

func TestEveryCheckCatchesItsMutants(t *testing.T) {
	left := mutants()
	for _, traits := range []calendar.Traits{everyTrait, variants()["no trait"]} {
		open := func(*testing.T) calendartest.Harness { return newProvider(traits).harness() }
		var bound []calendartest.Check
		var theirs []conformance.Mutant[calendartest.Harness]
		for _, check := range calendartest.Checks() {
			ofThis := func(l conformance.Mutant[calendartest.Harness]) bool { return l.Check == check.Name }
			if check.Binds(open(t)) && slices.ContainsFunc(left, ofThis) {
				bound = append(bound, check)
				for _, l := range left {
					if ofThis(l) {
						theirs = append(theirs, l)
					}
				}
				left = slices.DeleteFunc(left, ofThis)
			}
		}
		conformance.Catch(t, bound, theirs, open)
	}
	for _, l := range left {
		t.Errorf("no account of these binds the check %q, so its mutant proves nothing", l.Check)
	}
}

func TestEveryCheckHasAMutantAndANameOfItsOwn(t *testing.T) {
	names := map[string]bool{}
	for _, check := range calendartest.Checks() {
		if names[check.Name] {
			t.Errorf("two checks are called %q", check.Name)
		}
		names[check.Name] = true
		if !slices.ContainsFunc(mutants(),
			func(l conformance.Mutant[calendartest.Harness]) bool { return l.Check == check.Name }) {
			t.Errorf("no mutant proves that %q detects a fault", check.Name)
		}
	}
}

func TestOnlyHarmlessChecksRunWithoutWriting(t *testing.T) {
	for _, check := range calendartest.Checks() {
		if !check.Harmless {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			p := newProvider(everyTrait)
			if err := check.Do(t.Context(), p.harness()); err != nil {
				t.Error(err)
			}
			if len(p.events) > 0 {
				t.Errorf("%q is called harmless and wrote %d events", check.Name, len(p.events))
			}
		})
	}
}

func TestWhatIsBookedIsRemoved(t *testing.T) {
	for _, check := range calendartest.Checks() {
		synctest.Test(t, func(t *testing.T) {
			p := newProvider(everyTrait)
			h := p.harness()
			if !check.Binds(h) {
				return
			}
			if err := check.Do(t.Context(), h); err != nil {
				t.Error(err)
			}
			for ref, e := range p.events {
				made := e.SeriesID != "" || e.Start.AllDay || e.Start.Floating || e.IsFree // by the provider
				if !made && !e.IsCancelled && p.Enter(t.Context()) == nil {
					t.Errorf("%q leaves the event %q behind", check.Name, ref.ID)
				}
			}
		})
	}
}
