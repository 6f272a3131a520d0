package journal

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// world is a store, a clock, and a provider that opens doors.
type world struct {
	tb    testing.TB
	url   string
	store *store.Store
	open  func(*Run) error // called when a door is opened; nil: nothing is called

	mu     sync.Mutex
	time   time.Time
	opened []string   // the effects, by their keys
	plans  []doorPlan // the plans passed to the handler
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

// doorPlan is the plan of an operation of the tests, and how far it got.
type doorPlan struct {
	Door  string `json:"door"`
	Tried bool   `json:"tried,omitempty"`
}

// door is the answer. Each run has another one.
type door struct {
	Door string `json:"door"`
	Run  string `json:"run"`
}

const opOpen = "open-door"

var processes atomic.Int64

func newWorld(tb testing.TB, database func(testing.TB) string) *world {
	tb.Helper()
	url := database(tb)
	now := time.Now().UTC().Truncate(time.Millisecond)
	w := &world{tb: tb, url: url, store: storetest.Open(tb, url), time: now}
	ctx := context.Background()
	w.check(w.store.CreateTenant(ctx, store.Tenant{
		ID: "t", Name: "acme", Settings: []byte("{}"), CreatedAt: now,
	}))
	w.check(w.store.CreateConnection(ctx, store.Connection{
		ID: "c", TenantID: "t", Name: "doors", Kind: "calendar", Provider: "fake", IsDefault: true,
		Settings: []byte("{}"), Status: "ok", Revision: 1, CreatedAt: now,
	}))
	return w
}

func (w *world) check(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// journal returns the journal of a new process that knows one operation.
func (w *world) journal(op Operation) *Journal {
	w.tb.Helper()
	rows := storetest.Connect(w.tb, w.url)
	w.tb.Cleanup(func() { w.check(rows.Close()) })
	j := New(Options{
		Store: rows, Log: slog.New(slog.DiscardHandler), Now: w.now, LeaseClock: w.now,
		Owner: fmt.Sprintf("process-%d", processes.Add(1)), KeepAnswers: time.Hour, Deadline: 5 * time.Second,
	})
	op.Name, op.Resume = opOpen, Resume(w.handle)
	j.Register(op)
	return j
}

// handle opens a door once for each effect.
func (w *world) handle(ctx context.Context, r *Run, plan doorPlan) (Result[door], error) {
	w.mu.Lock()
	w.plans = append(w.plans, plan)
	w.mu.Unlock()
	key := r.Intent().EffectKey
	if !plan.Tried {
		plan.Tried = true
		if err := r.Save(ctx, plan); err != nil {
			return Result[door]{}, err
		}
	}
	r.ExpectEffect(true)
	if w.open != nil {
		if err := w.open(r); err != nil {
			return Result[door]{}, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.opened, key) {
		w.opened = append(w.opened, key)
	}
	return Result[door]{Record: door{plan.Door, r.Intent().Owner}, Ref: plan.Door}, nil
}

func (w *world) call(key, name string) Call {
	return Call{
		Caller: Caller{TenantID: "t", Tenant: "acme", KeyID: "k"}, Operation: opOpen, ConnectionID: "c",
		Write: Write{IdempotencyKey: key}, Plan: doorPlan{Door: name}, Subject: name, Repeatable: true,
	}
}

func (w *world) perform(j *Journal, key, name string) (Answer[door], error) {
	return Perform(context.Background(), j, w.call(key, name), w.handle)
}

func (w *world) recover(j *Journal) {
	w.tb.Helper()
	w.check(j.RecoverOnce(context.Background()))
}

// database returns the database of SQLite itself.
func (w *world) database() *sql.DB {
	w.tb.Helper()
	return storetest.Database(w.tb, w.url)
}

func loseReply(*Run) error {
	return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The connection broke.")
}

// cutOff makes a call whose answer is lost, and returns what its caller is told.
func (w *world) cutOff(j *Journal, key, name string) *fault.Error {
	w.tb.Helper()
	w.open = loseReply
	_, err := w.perform(j, key, name)
	w.open = nil
	f := fault.From(err)
	if err == nil || f.Code != fault.UnknownOutcome {
		w.tb.Fatalf("the caller is told %v", err)
	}
	return f
}
