// Package journal carries mutating calls through crashes and lost answers. It writes down what a call intends
// before its provider is asked, and the answer after. A repeat of the call finds that answer. What was cut
// off is carried on by a repeat or by recovery, from the step that it had reached. See the states in
// core/store.
//
//	j := journal.New(options)
//	j.Register(journal.Operation{Name: "open-door", Resume: journal.Resume(open)})
//	go j.Run(ctx)
//	answer, err := journal.Perform(ctx, j, journal.Call{Operation: "open-door", Plan: plan}, open)
//
// One key has one effect, as far as the operation's handler can find out what an earlier run did. A caller is
// told that a call failed only when it surely had no effect. The journal knows no operation: what it needs to
// know of one is in Operation.
package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// Options are what a journal is built from. All but the last five are needed.
type Options struct {
	Store       *store.Store
	Log         *slog.Logger
	Now         func() time.Time
	Owner       string        // names this process in intents and leases
	KeepAnswers time.Duration // how long an answer to an Idempotency-Key is kept
	Deadline    time.Duration // of a run whose context has none
	WriteGrace  time.Duration // how long a write may still be under way after its caller's deadline

	LeaseClock   func() time.Time // of leases; nil: one that follows the database's clock
	Lease        time.Duration    // of runs that can be taken over without harm; 0: two seconds
	WaitForEqual time.Duration    // for an equal call that still runs; 0: as long as Deadline
	Metrics      Metrics          // nil: nothing is counted
	Audit        *audit.Log       // nil: nothing is recorded
}

// Metrics counts what becomes of mutating calls.
type Metrics interface {
	// Intent counts the outcome of a call, of a repeat ("replayed"), or of one that recovery carried on
	// ("settled").
	Intent(operation, outcome string)
	// UnsettledIntents records how many of the intents in a round of recovery nobody carries on.
	UnsettledIntents(count int)
}

type noMetrics struct{}

func (noMetrics) Intent(string, string) {}
func (noMetrics) UnsettledIntents(int)  {}

// Operation is what the journal needs to know of a mutating operation. All but the first two may be left out.
type Operation struct {
	// Name is how intents, logs and metrics know the operation.
	Name string

	// Resume carries on a run that nobody waits for. See the function Resume.
	Resume func(context.Context, *Run) error

	// Idempotent says that a repeat changes nothing more, even where it is not taken for the same call.
	Idempotent bool

	// Supersede is called in place of Resume for an intent that another call for the same subject has
	// overtaken. It sees to it that the provider ends with what the other call wrote. nil: calls never
	// overtake each other.
	Supersede func(context.Context, store.Intent) error

	// GaveUp reports whether a plan says that nothing will tell what became of its call. Recovery leaves such
	// an intent alone until a caller asks again. nil: no plan says so.
	GaveUp func(plan json.RawMessage) bool

	// InProgress returns the effect keys of the calls that the provider is known to be working on. Recovery
	// looks at these every PendingInterval. nil: none is known.
	InProgress func(context.Context) (effectKeys []string, err error)

	// AdviseRepeat returns how a caller gets what an unknown outcome may have left, where the operation knows
	// better than the journal; else "". nil: it never does.
	AdviseRepeat func(f *fault.Error, hasKey bool) string

	// AdviseLook returns what a person looks for when nothing will tell what became of a call that began at
	// that time. nil: the journal's own words.
	AdviseLook func(began string) string
}

// Journal runs mutating calls. It is used concurrently.
type Journal struct {
	opts       Options
	clock      *leaseClock
	operations map[string]Operation

	local     localRuns
	refused   refusedIntents
	answers   pendingAnswers
	waiters   waiters
	announced sync.Once
}

// New returns a journal that knows no operation yet.
func New(o Options) *Journal {
	clock := newLeaseClock()
	if o.LeaseClock == nil {
		o.LeaseClock = clock.now
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	o.Lease, o.WaitForEqual = cmp.Or(o.Lease, defaultLease), cmp.Or(o.WaitForEqual, o.Deadline)
	return &Journal{opts: o, clock: clock, operations: map[string]Operation{}}
}

// Register adds operations to the journal. It comes before every other method.
func (j *Journal) Register(operations ...Operation) {
	for _, op := range operations {
		j.operations[op.Name] = op
	}
}

func (j *Journal) operation(name string) (Operation, error) {
	op, known := j.operations[name]
	if !known {
		return op, fault.Newf(fault.Internal, fault.ReasonInternal,
			"The journal knows no operation %s.", name)
	}
	return op, nil
}
