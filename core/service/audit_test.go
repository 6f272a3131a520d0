package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/guard"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telemetry"
	"frontdesk/core/telephony"
	"frontdesk/core/vault"
)

// keySet returns the key set that all worlds share. A key file per world would have to be synced to disk each
// time.
var keySet = sync.OnceValues(func() (*vault.Vault, error) {
	dir, err := os.MkdirTemp("", "frontdesk-keys-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := vault.Open("", dir); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "keyset.json"))
	if err != nil {
		return nil, err
	}
	const variable = "SERVICE_TEST_KEY_SET"
	if err := os.Setenv(variable, string(raw)); err != nil {
		return nil, err
	}
	return vault.Open("env:"+variable, "")
})

// audit returns the audit log of a process with that store.
func (w *world) audit(s *store.Store) *audit.Log {
	w.tb.Helper()
	keys, err := keySet()
	w.check(err)
	return audit.New(audit.Options{Store: s, Vault: keys, Now: w.clock.now, Log: slog.New(slog.DiscardHandler)})
}

// asKey returns the context of a call with the caller's key.
func asKey(c apikey.Caller) context.Context { return audit.By(background, audit.Key(c.KeyID)) }

// recorded returns the audit rows as "tenant actor action subject outcome", in the order of time.
func (w *world) recorded() []string {
	w.tb.Helper()
	l := w.audit(w.store)
	w.check(l.Seal(background))
	report, err := l.Verify(background, audit.VerifyOptions{})
	w.check(err)
	if !report.Sound || report.Unsealed > 0 {
		w.tb.Errorf("the audit is not sound: %+v", report)
	}
	rows, err := w.store.AuditRows(background, store.AuditFilter{Limit: 1000})
	w.check(err)
	var lines []string
	for _, r := range rows {
		if r.TenantID != "t-"+r.Tenant || r.ConnectionID == "" || r.Effect == "" {
			w.tb.Errorf("a row does not say of what it is: %+v", r)
		}
		lines = append(lines, strings.Join([]string{r.Tenant, r.Actor, r.Action, r.Subject, r.Outcome}, " "))
	}
	return lines
}

// Texts of callers, which the audit must not store.
const canaries = "canary-7f3a"

func canaryMeeting(t *testing.T, h int) BookMeeting {
	in := meeting(t, canaries+" title", h)
	in.Description, in.Attendees = canaries+" description", []string{canaries + "@example.com"}
	return in
}

// A call that is under way while its connection or its tenant is removed has booked its meeting all the same. The
// audit has it, and a repeat gets the answer as long as the tenant is there.
func TestACallDuringARemovalIsInTheAudit(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{
		"sqlite": storetest.ReusedSQLite, "postgres": storetest.ReusedPostgres,
	} {
		for what, remove := range map[string]func(*store.Store) error{
			"connection": func(s *store.Store) error {
				return s.DeleteConnection(background, "t-acme", "c-acme-calendar")
			},
			"tenant": func(s *store.Store) error { return s.DeleteTenant(background, "t-acme") },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, open)
				p, c := w.start(), w.tenant("acme")
				w.meetings.once("book", reaction{after: func(context.Context) error { return remove(w.store) }})
				first := book(t, p, c, key("k"), canaryMeeting(t, 10))
				p.recover(t)
				if what == "connection" {
					again := book(t, p, c, key("k"), canaryMeeting(t, 10))
					if !again.Replayed || string(again.Body) != string(first.Body) {
						t.Errorf("the repeat is answered %s", again.Body)
					}
				}
				if got := w.recorded(); !slices.Equal(got, []string{"acme key:k-acme book-meeting ev1 done"}) {
					t.Errorf("the audit has %q", got)
				}
			})
		}
	}
}

// What nobody knows of a booking is in the audit as well, although its connection or its tenant is gone; and so is what
// could not be recorded before the tenant was deleted.
func TestACallDuringARemovalIsInTheAuditWhateverFails(t *testing.T) {
	t.Parallel()
	connection := func(s *store.Store) error { return s.DeleteConnection(background, "t-acme", "c-acme-calendar") }
	tenant := func(s *store.Store) error { return s.DeleteTenant(background, "t-acme") }
	for what, remove := range map[string]func(*store.Store) error{"connection": connection, "tenant": tenant} {
		t.Run("no answer, "+what, func(t *testing.T) {
			t.Parallel()
			w, p, c := sqliteWorld(t)
			var once sync.Once
			w.meetings.times(9, "book", reaction{after: func(context.Context) (err error) {
				once.Do(func() { err = remove(w.store) })
				return cmp.Or[error](err, cutOff())
			}})
			_, err := p.Calendar.Book(asKey(c), c, key("k"), canaryMeeting(t, 10))
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			want := []string{"acme key:k-acme book-meeting  unknown:OUTCOME_UNKNOWN"}
			if got := w.recorded(); !slices.Equal(got, want) {
				t.Errorf("the audit has %q", got)
			}
		})
	}
	t.Run("no store", func(t *testing.T) {
		t.Parallel()
		w, p, c := sqliteWorld(t)
		db := storetest.Database(t, w.url)
		run := func(statement string) {
			_, err := db.Exec(statement)
			w.check(err)
		}
		run(`CREATE TRIGGER failing BEFORE UPDATE OF state ON intents WHEN NEW.state = 'done'
			BEGIN SELECT RAISE(ABORT, 'not now'); END`)
		book(t, p, c, key("k"), canaryMeeting(t, 10))
		w.check(tenant(w.store))
		run("DROP TRIGGER failing")
		for range 2 {
			p.recover(t)
		}
		if got := w.recorded(); !slices.Equal(got, []string{"acme key:k-acme book-meeting ev1 done"}) {
			t.Errorf("the audit has %q", got)
		}
	})
}

// A number that is bought while its connection or its tenant is removed is nobody's any more. Its buyer is told that
// the provider may have acted, and the audit has it.
func TestANumberBoughtDuringARemovalIsReported(t *testing.T) {
	t.Parallel()
	for what, remove := range map[string]func(*store.Store) error{
		"connection": func(s *store.Store) error {
			return s.DeleteConnection(background, "t-acme", "c-acme-telephony")
		},
		"tenant": func(s *store.Store) error { return s.DeleteTenant(background, "t-acme") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w, p, c := sqliteWorld(t)
			w.phones.once("buy", reaction{after: func(context.Context) error { return remove(w.store) }})
			_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			want := []string{"acme key:k-acme buy-phone-number  unknown:OUTCOME_UNKNOWN"}
			if got := w.recorded(); !slices.Equal(got, want) {
				t.Errorf("the audit has %q", got)
			}
		})
	}
}

// TestEveryCallIsInTheAuditOnce goes through all operations and outcomes.
func TestEveryCallIsInTheAuditOnce(t *testing.T) {
	t.Parallel()
	type outcome struct {
		name string
		do   func(t *testing.T, w *world, p *process, c apikey.Caller)
		want []string // the rows after those of the preparation
	}
	later := func(t *testing.T, w *world) {
		w.clock.advance(30 * time.Second)
		w.start().recover(t)
	}
	for _, c := range []outcome{
		{"book", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			book(t, p, c, Write{}, canaryMeeting(t, 10))
		}, []string{"acme key:k-acme book-meeting ev1 done"}},
		{"book, repeated with its key", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			for range 3 {
				book(t, p, c, key(canaries), canaryMeeting(t, 10))
			}
			_, err := p.Calendar.Book(asKey(c), c, key(canaries), canaryMeeting(t, 11))
			wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyReused)
		}, []string{"acme key:k-acme book-meeting ev1 done"}},
		{"book, asked twice by an interrupted model", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			book(t, p, c, Write{}, canaryMeeting(t, 10))
			book(t, p, c, Write{}, canaryMeeting(t, 10))
		}, []string{"acme key:k-acme book-meeting ev1 done"}},
		{"book, a slot that is taken", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			c.Tenant.Settings.PreventDoubleBooking = true
			book(t, p, c, Write{}, canaryMeeting(t, 10))
			_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, canaries, 10))
			wantReason(t, err, fault.Conflict, fault.ReasonSlotTaken)
		}, []string{"acme key:k-acme book-meeting ev1 done", "acme key:k-acme book-meeting  failed:SLOT_TAKEN"}},
		{"book, refused by the provider", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			w.meetings.once("book", reaction{before: fails(fault.New(fault.Forbidden,
				fault.ReasonPermissionDenied, canaries))})
			_, err := p.Calendar.Book(asKey(c), c, Write{}, canaryMeeting(t, 10))
			wantReason(t, err, fault.Forbidden, fault.ReasonPermissionDenied)
		}, []string{"acme key:k-acme book-meeting  failed:PROVIDER_PERMISSION_DENIED"}},
		{"book, cut off by a crash", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			killed := w.killAt(1, true)
			_, err := p.Calendar.Book(asKey(c), c, Write{}, canaryMeeting(t, 10))
			if err == nil || !killed.Load() {
				t.Fatal("there was no crash")
			}
			w.heal()
			later(t, w)
		}, []string{"acme gateway:settler book-meeting ev1 done"}},
		{"book, finished by a repeat after a crash", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			w.killAt(1, true)
			_, err := p.Calendar.Book(asKey(c), c, key("k"), canaryMeeting(t, 10))
			if err == nil {
				t.Fatal("there was no crash")
			}
			w.heal()
			w.clock.advance(13 * time.Second)
			book(t, w.start(), c, key("k"), canaryMeeting(t, 10))
		}, []string{"acme key:k-acme book-meeting ev1 done"}},
		{"book, cancelled by other means before its outcome was known", func(
			t *testing.T, w *world, p *process, c apikey.Caller,
		) {
			w.meetings.times(3, "book", reaction{after: fails(cutOff())})
			_, err := p.Calendar.Book(asKey(c), c, Write{}, canaryMeeting(t, 10))
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			w.meetings.edit("ev1", func(e *calendar.Event) { e.IsCancelled = true })
			later(t, w)
		}, []string{
			"acme key:k-acme book-meeting  unknown:OUTCOME_UNKNOWN",
			"acme gateway:settler book-meeting  unknown:CHANGED_MEANWHILE",
		}},
		{"update, overtaken before its outcome was known", func(
			t *testing.T, w *world, p *process, c apikey.Caller,
		) {
			id := book(t, p, c, Write{}, canaryMeeting(t, 10)).Record.Event.EventID
			w.meetings.times(3, "change", reaction{after: fails(cutOff())})
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Title: "one"})
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			w.clock.advance(time.Second)
			if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{EventID: id, Description: "two"}); err != nil {
				t.Fatal(err)
			}
			later(t, w)
		}, []string{
			"acme key:k-acme book-meeting ev1 done",
			"acme key:k-acme update-meeting  unknown:OUTCOME_UNKNOWN",
			"acme key:k-acme update-meeting ev1 done",
			"acme gateway:settler update-meeting  unknown:OVERTAKEN",
		}},
		{"update", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			id := book(t, p, c, Write{}, canaryMeeting(t, 10)).Record.Event.EventID
			if _, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
				EventID: id, Title: canaries + " new",
			}); err != nil {
				t.Fatal(err)
			}
		}, []string{"acme key:k-acme book-meeting ev1 done", "acme key:k-acme update-meeting ev1 done"}},
		{"update, of what is not there, under whatever name", func(
			t *testing.T, w *world, p *process, c apikey.Caller,
		) {
			_, err := p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
				EventID: canaries + "@example.com", Title: "x",
			})
			wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
		}, []string{"acme key:k-acme update-meeting  failed:EVENT_NOT_FOUND"}},
		{"cancel", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			id := book(t, p, c, Write{}, canaryMeeting(t, 10)).Record.Event.EventID
			for range 2 {
				if _, err := p.Calendar.Cancel(asKey(c), c, key("k"), CancelMeeting{EventID: id}); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"acme key:k-acme book-meeting ev1 done", "acme key:k-acme cancel-meeting ev1 done"}},
		{"create", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			if _, err := p.Tickets.Create(asKey(c), c, Write{}, CreateTicket{
				Subject: canaries, Description: canaries,
			}); err != nil {
				t.Fatal(err)
			}
		}, []string{"acme key:k-acme create-ticket id1 done"}},
		{"create, an outcome that stays unknown", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			w.tickets.once("create", reaction{after: fails(cutOff())})
			for range 2 {
				_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: canaries})
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			}
			later(t, w)
			later(t, w)
		}, []string{"acme key:k-acme create-ticket  unknown:OUTCOME_UNKNOWN"}},
		{"create, an outcome that is found out", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			w.tickets.findsKeys = true
			w.tickets.script(func(_ *process, call string) reaction {
				if call == "create" {
					return reaction{after: fails(cutOff())}
				}
				return reaction{before: fails(down())}
			})
			_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: canaries})
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			w.heal()
			later(t, w)
		}, []string{"acme key:k-acme create-ticket  unknown:OUTCOME_UNKNOWN",
			"acme gateway:settler create-ticket id1 done"}},
		{"buy, update and release", func(t *testing.T, w *world, p *process, c apikey.Caller) {
			n := buyOne(t, p, c, BuyNumber{Name: canaries, Inbound: employeeID(7)})
			name := canaries + " new"
			if _, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: n.ID, Name: &name}); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Numbers.Release(asKey(c), c, Write{}, n.ID); err != nil {
				t.Fatal(err)
			}
		}, []string{
			"acme key:k-acme buy-phone-number PN4155550000.1 done",
			"acme key:k-acme update-phone-number PN4155550000.1 done",
			"acme key:k-acme release-phone-number PN4155550000.1 done",
		}},
		{"a write that is still under way at its deadline", func(
			t *testing.T, w *world, p *process, c apikey.Caller,
		) {
			ctx, let := faulttest.NewDeadline(asKey(c)), make(chan struct{})
			w.tickets.once("create", reaction{before: func(context.Context) error { ctx.Pass(); <-let; return nil }})
			_, err := p.Tickets.Create(ctx, c, key("k"), CreateTicket{Subject: canaries})
			wantReason(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
			close(let)
			p.stop() // stop waits for the late write
		}, []string{"acme key:k-acme create-ticket  unknown:DEADLINE_EXCEEDED",
			"acme key:k-acme create-ticket id1 done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, open := range map[string]func(testing.TB) string{
				"sqlite": storetest.ReusedSQLite, "postgres": storetest.ReusedPostgres,
			} {
				t.Run(name, func(t *testing.T) {
					w := newWorld(t, open)
					w.options = func(_ *Options, g *guard.Options) { g.WriteGrace = 5 * time.Second }
					caller := w.tenant("acme")
					p := w.start()
					w.clock.advance(time.Millisecond)
					c.do(t, w, p, caller)
					got := w.recorded()
					slices.Sort(got)
					want := slices.Sorted(slices.Values(c.want))
					if !slices.Equal(got, want) {
						t.Errorf("the audit says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
					if all := auditText(t, w); strings.Contains(all, canaries) {
						t.Errorf("the audit holds what callers said: %s", all)
					}
				})
			}
		})
	}
}

// auditText returns the text of all audit rows as stored in the database.
func auditText(t *testing.T, w *world) string {
	t.Helper()
	rows, err := w.store.AuditRows(background, store.AuditFilter{Limit: 1000})
	w.check(err)
	return fmt.Sprintf("%+v", rows)
}

func TestRowsNameTheRequest(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	ctx := telemetry.With(background, telemetry.RequestID("req-1"))
	if _, err := p.Calendar.Book(ctx, c, Write{}, meeting(t, "checkup", 10)); err != nil {
		t.Fatal(err)
	}
	rows, err := w.store.AuditRows(background, store.AuditFilter{Limit: 9})
	w.check(err)
	if len(rows) != 1 || rows[0].RequestID != "req-1" || rows[0].ConnectionID != "c-acme-calendar" {
		t.Errorf("%+v", rows)
	}
}

func TestADeletedTenantsRowsStay(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{
		"sqlite": storetest.ReusedSQLite, "postgres": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			c := w.tenant("acme")
			book(t, w.start(), c, Write{}, meeting(t, "checkup", 10))
			w.check(w.store.DeleteTenant(background, c.Tenant.ID))
			if got := w.recorded(); !slices.Equal(got, []string{"acme key:k-acme book-meeting ev1 done"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestAnEffectThatCannotBeRecordedStands makes the audit reject rows. What the caller was told stays true,
// and the row is written once the audit accepts rows again.
func TestAnEffectThatCannotBeRecordedStands(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	db := w.database()
	_, err := db.Exec(
		"CREATE TRIGGER failing BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	w.check(err)
	first := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	_, err = db.Exec("DROP TRIGGER failing")
	w.check(err)
	w.clock.advance(13 * time.Second)
	p.recover(t)
	if again := book(t, p, c, key("k"), meeting(t, "checkup", 10)); !again.Replayed ||
		string(again.Body) != string(first.Body) || w.meetings.booked != 1 {
		t.Errorf("the repeat is told %s, %d are booked", again.Body, w.meetings.booked)
	}
	if got := w.recorded(); !slices.Equal(got, []string{"acme key:k-acme book-meeting ev1 done"}) {
		t.Errorf("%q", got)
	}
}

// TestARefusedCallIsRecordedOnceTheStoreIsBack lets the store take nothing when a call was refused. Nobody carries the
// call out later, and its row of the audit is written once the store takes it.
func TestARefusedCallIsRecordedOnceTheStoreIsBack(t *testing.T) {
	t.Parallel()
	const noRow = "CREATE TRIGGER no_row BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'not now'); END"
	const noEnd = "CREATE TRIGGER no_end BEFORE DELETE ON intents BEGIN SELECT RAISE(ABORT, 'not now'); END"
	for name, tc := range map[string]struct {
		call, triggers string
		drop           string
		look           bool
	}{
		"the provider refuses it, and the store takes nothing": {
			call: "book", triggers: noRow + ";" + noEnd, drop: "DROP TRIGGER no_row; DROP TRIGGER no_end",
		},
		"the provider refuses it, and the audit takes no row": {
			call: "book", triggers: noRow, drop: "DROP TRIGGER no_row",
		},
		"it is refused before it begins": {
			call: "", triggers: noRow, drop: "DROP TRIGGER no_row", look: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p, c := sqliteWorld(t)
			c.Tenant.Settings.PreventDoubleBooking = tc.look
			db := w.database()
			execute := func(statement string) {
				_, err := db.Exec(statement)
				w.check(err)
			}
			w.meetings.script(func(_ *process, made string) reaction {
				if strings.HasPrefix(made, tc.call) {
					return reaction{before: fails(down())}
				}
				return reaction{}
			})
			execute(tc.triggers)
			_, err := p.Calendar.Book(asKey(c), c, key("k"), canaryMeeting(t, 10))
			wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
			w.meetings.script(nil)
			if tc.triggers == noRow { // the audit may take none for long
				w.clock.advance(time.Minute)
				p.recover(t)
			}
			execute(tc.drop)
			w.clock.advance(time.Minute)
			for range 2 {
				p.recover(t)
			}
			if w.meetings.booked != 0 {
				t.Errorf("%d meetings are booked", w.meetings.booked)
			}
			want := []string{"acme key:k-acme book-meeting  failed:PROVIDER_UNAVAILABLE"}
			if got := w.recorded(); !slices.Equal(got, want) {
				t.Errorf("the audit has %q, want %q", got, want)
			}
		})
	}
}

func TestWhatBecomesOfNumbersByOtherMeansIsRecorded(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.telephonySettings(c, map[string]any{"release_delay": "72h"})
	number := func(ref, e164 string) telephony.Number { return telephony.Number{Ref: ref, E164: e164} }
	w.phones.held = append(w.phones.held, number("PN1", "+14155550001"), number("PN2", "+14155550002"),
		number("PN3", "+14155550003"), number("PN4", "+14155550004"))
	all := listed(t, p, c)
	_, err := p.Numbers.Release(asKey(c), c, Write{}, all[3].ID)
	w.check(err)
	w.phones.held = w.phones.held[:1] // the others are gone
	name := "Night"
	_, err = p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: all[2].ID, Name: &name})
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	listed(t, p, c)
	operator := audit.By(background, audit.Operator("number restore"))
	_, err = p.Numbers.Restore(operator, c.Tenant.ID, all[3].ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	release := func() {
		t.Helper()
		w.clock.advance(time.Second)
		if _, err := p.Numbers.Release(asKey(c), c, Write{}, all[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	release()
	_, err = p.Numbers.Restore(operator, c.Tenant.ID, all[0].ID)
	w.check(err)
	release()
	w.clock.advance(72 * time.Hour)
	w.check(p.Numbers.returnDue(background))
	rows, err := w.store.AuditRows(background, store.AuditFilter{Limit: 99})
	w.check(err)
	var lines []string
	for _, r := range rows {
		if r.Action != opReleaseNumber && r.Action != opChange { // their runs record these
			lines = append(lines, r.Actor+" "+r.Action+" "+r.Subject)
		}
	}
	slices.Sort(lines)
	want := []string{
		"gateway adopt-phone-number PN1", "gateway adopt-phone-number PN2",
		"gateway adopt-phone-number PN3", "gateway adopt-phone-number PN4", "gateway lose-phone-number PN2",
		"gateway lose-phone-number PN3", "gateway lose-phone-number PN4",
		"gateway return-phone-number PN1",
		fmt.Sprintf("operator:number restore restore-phone-number %d", all[0].ID),
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}
