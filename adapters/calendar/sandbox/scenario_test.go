package sandbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter/scenario"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

func haircut(title string) calendar.Booking {
	start := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	return calendar.Booking{
		Key: "key1", Title: title, Start: start, End: start.Add(time.Hour), Zone: "Europe/Berlin",
	}
}

func mustBook(t *testing.T, d *driver, b calendar.Booking) calendar.EventRef {
	t.Helper()
	e, err := d.Book(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return calendar.EventRef{CalendarID: e.CalendarID, ID: e.ID}
}

func TestAWordIsRecognisedWhereverACallCanCarryOne(t *testing.T) {
	d := newAccount(t).open()
	ref := mustBook(t, d, haircut("Haircut"))
	down, title := ref.ID+" sandbox:down", "Haircut sandbox:down"
	query := calendar.Query{
		CalendarID: "team sandbox:down", From: time.Now(), To: time.Now().Add(time.Hour), Zone: "UTC",
	}
	for where, err := range map[string]error{
		"the title of a booking": second(d.Book(t.Context(), haircut(title))),
		"the calendar of a booking": second(d.Book(t.Context(), calendar.Booking{
			CalendarID: "sandbox:down", Key: "k", Zone: "UTC",
		})),
		"the title of a change": second(d.Change(t.Context(), ref, calendar.Change{Title: &title})),
		"the id of a change": second(d.Change(t.Context(), calendar.EventRef{ID: down},
			calendar.Change{})),
		"the id of a cancellation": d.Cancel(t.Context(), calendar.EventRef{ID: "sandbox:down"}),
		"the calendar of a cancellation": d.Cancel(t.Context(),
			calendar.EventRef{CalendarID: "sandbox:down", ID: ref.ID}),
		"the id of an event read":   second(d.Event(t.Context(), calendar.EventRef{ID: down})),
		"the calendar of a listing": second(d.Events(t.Context(), query)),
		"one of the calendars of free/busy": second(d.FreeBusy(t.Context(), []string{primary, "sandbox:down"},
			calendar.Span{})),
	} {
		if f := fault.From(err); f == nil || f.Code != fault.Unavailable || !f.Unsent {
			t.Errorf("%s: %v", where, err)
		}
	}
	if e, err := d.Event(t.Context(), ref); err != nil || e.IsCancelled || e.Title != "Haircut" {
		t.Errorf("what did not reach the provider changed the event: %+v, %v", e, err)
	}
}

func TestTheFaultSettingFailsEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t)
		ref := mustBook(t, a.open(), haircut("Haircut"))
		for name, code := range map[scenario.Name]fault.Code{
			scenario.RateLimited: fault.RateLimited, scenario.Revoked: fault.Disconnected,
			scenario.Forbidden: fault.Forbidden, scenario.Down: fault.Unavailable, scenario.Hang: fault.Timeout,
		} {
			a.settings["fault"] = string(name)
			d := a.open()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			now := time.Now()
			for call, err := range map[string]error{
				"Account":   second(d.Account(ctx)),
				"Calendars": second(d.Calendars(ctx)),
				"Book":      second(d.Book(ctx, haircut("Another"))),
				"Event":     second(d.Event(ctx, ref)),
				"Change":    second(d.Change(ctx, ref, calendar.Change{})),
				"Cancel":    d.Cancel(ctx, ref),
				"Events":    second(d.Events(ctx, calendar.Query{From: now, To: now.Add(time.Hour), Zone: "UTC"})),
				"FreeBusy":  second(d.FreeBusy(ctx, []string{primary}, calendar.Span{From: now, To: now.Add(time.Hour)})),
			} {
				if f := fault.From(err); f == nil || f.Code != code {
					t.Errorf("%s with the setting %s: %v", call, name, err)
				}
			}
			cancel()
		}
		a.settings["fault"] = ""
		if e, err := a.open().Event(t.Context(), ref); err != nil || e.Title != "Haircut" || e.IsCancelled {
			t.Errorf("with the setting emptied: %+v, %v", e, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestASlowCalendarIsTheCalendarBesideTheWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t).open()
		b := haircut("Haircut")
		b.CalendarID = "team sandbox:slow"
		began := time.Now()
		e, err := d.Book(t.Context(), b)
		if err != nil || e.CalendarID != team || time.Since(began) != scenario.SlowFor {
			t.Errorf("after %s: %+v, %v", time.Since(began), e, err)
		}
	})
}

func TestASlotCanBeTakenByAWord(t *testing.T) {
	d := newAccount(t).open()
	_, err := d.Book(t.Context(), haircut("Haircut sandbox:slot_taken"))
	if f := fault.From(err); f == nil || f.Code != fault.Conflict || f.Reason != fault.ReasonSlotTaken {
		t.Errorf("got %v", err)
	}
}

func TestAWrittenEventKeepsTheWordInItsTitle(t *testing.T) {
	d := newAccount(t).open()
	const title = "Haircut sandbox:reply_lost"
	if _, err := d.Book(t.Context(), haircut(title)); !errors.Is(err, fault.Unavailable) {
		t.Fatalf("the first reply: %v", err)
	}
	if e, err := d.Book(t.Context(), haircut(title)); err != nil || e.Title != title {
		t.Errorf("the repeat: %+v, %v", e, err)
	}
}

func TestALostReplyOfAChangeIsFoundByItsRepeat(t *testing.T) {
	d := newAccount(t).open()
	ref := mustBook(t, d, haircut("Haircut"))
	before, err := d.Event(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	title := "Shave sandbox:reply_lost"
	change := calendar.Change{IfUnchanged: before.Version, Title: &title}
	if _, err := d.Change(t.Context(), ref, change); !errors.Is(err, fault.Unavailable) {
		t.Errorf("the first reply: %v", err)
	}
	if _, err := d.Change(t.Context(), ref, change); fault.From(err) == nil ||
		fault.From(err).Reason != fault.ReasonChangedMeanwhile {
		t.Errorf("the repeat of a version that is no more: %v", err)
	}
	now, err := d.Event(t.Context(), ref)
	if err != nil || now.Title != title {
		t.Fatalf("read back: %+v, %v", now, err)
	}
	change.IfUnchanged = now.Version
	if e, err := d.Change(t.Context(), ref, change); err != nil || e.Title != title {
		t.Errorf("the repeat of the version read back: %+v, %v", e, err)
	}
}

func TestALostReplyOfACancellationIsFoundByItsRepeat(t *testing.T) {
	d := newAccount(t).open()
	ref := mustBook(t, d, haircut("Haircut"))
	ref.ID += " sandbox:reply_lost"
	if err := d.Cancel(t.Context(), ref); !errors.Is(err, fault.Unavailable) {
		t.Errorf("the first reply: %v", err)
	}
	err := d.Cancel(t.Context(), ref)
	if f := fault.From(err); f == nil || f.Code != fault.NotFound || f.Metadata["gone"] != "true" {
		t.Errorf("the repeat: %v", err)
	}
}

func TestAnUnknownOutcomeKeepsTheEventOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t)
		b := haircut("Haircut sandbox:outcome_unknown")
		ref := calendar.EventRef{ID: eventID(b.Key)}
		calls := map[string]func(context.Context, *driver) error{
			"Book":  func(ctx context.Context, d *driver) error { return second(d.Book(ctx, b)) },
			"Event": func(ctx context.Context, d *driver) error { return second(d.Event(ctx, ref)) },
			"Change": func(ctx context.Context, d *driver) error {
				return second(d.Change(ctx, ref, calendar.Change{}))
			},
		}
		if _, err := a.open().Book(t.Context(), b); !errors.Is(err, fault.Unavailable) {
			t.Fatalf("the first reply: %v", err)
		}
		for name, call := range calls {
			if err := call(t.Context(), a.open()); !errors.Is(err, fault.Unavailable) || fault.From(err).Unsent {
				t.Errorf("%s at once, by another replica: %v", name, err)
			}
		}
		time.Sleep(scenario.SilentFor)
		for name, call := range calls {
			if err := call(t.Context(), a.open()); err != nil {
				t.Errorf("%s later: %v", name, err)
			}
		}
	})
}
