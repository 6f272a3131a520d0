// Package journal makes mutating calls survive crashes and lost responses. It records what a call intends
// before the provider is called, and the answer afterwards. A repeat of the call returns the recorded answer.
// A repeat or recovery resumes an interrupted call from the step that it had reached. See the states in
// core/store.
//
//	j := journal.New(options)
//	j.Register(journal.Operation{Name: "open-door", Resume: journal.Resume(open)})
//	go j.Run(ctx)
//	answer, err := journal.Perform(ctx, j, journal.Call{Operation: "open-door", Plan: plan}, open)
//
// One key has one effect, as far as the operation's handler can find out what an earlier run did. A caller is
// told that a call failed only if it certainly had no effect. The journal knows nothing about any particular
// operation: each is described by an Operation.
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

// Options configure a journal. All but the last six are required.
type Options struct {
	Store       *store.Store
	Log         *slog.Logger
	Now         func() time.Time
	Owner       string        // names this process in intents and leases
	KeepAnswers time.Duration // how long an answer to an Idempotency-Key is kept
	Deadline    time.Duration // time limit of a run whose context has no deadline
	WriteGrace  time.Duration // how long a write may still be under way after its caller's deadline

	LeaseClock   func() time.Time // clock of leases; nil: one that follows the database's clock
	Lease        time.Duration    // length of the lease of a repeatable run; 0: two seconds
	WaitForEqual time.Duration    // how long a call waits for an equal one; 0: as long as Deadline
	Metrics      Metrics          // nil: nothing is counted
	Audit        *audit.Log       // nil: nothing is recorded

	// RecordTimeout bounds the recording of a call's outcome, after the call's own deadline; 0: two seconds.
	RecordTimeout time.Duration
}

// Metrics counts the outcomes of mutating calls.
type Metrics interface {
	// Intent counts the outcome of a call, of a repeat ("replayed"), or of one that recovery resumed
	// ("settled").
	Intent(operation, outcome string)
	// UnsettledIntents records how many abandoned intents a round of recovery found.
	UnsettledIntents(count int)
}

type noMetrics struct{}

func (noMetrics) Intent(string, string) {}
func (noMetrics) UnsettledIntents(int)  {}

// Operation describes a mutating operation to the journal. All fields but the first two are optional.
type Operation struct {
	// Name identifies the operation in intents, logs and metrics.
	Name string

	// Resume resumes a run for which no caller waits. See the function Resume.
	Resume func(context.Context, *Run) error

	// Idempotent means that a repeat changes nothing more, even if it does not count as the same call.
	Idempotent bool

	// Supersede is called instead of Resume for an intent that another call for the same subject has
	// overtaken. It makes sure that the provider ends up with what the other call wrote. nil: calls never
	// overtake each other.
	Supersede func(context.Context, store.Intent) error

	// GaveUp reports whether a plan is marked as one whose outcome can never be learned. Recovery skips such
	// an intent until a caller repeats the call. nil: no plan is marked.
	GaveUp func(plan json.RawMessage) bool

	// InProgress returns the effect keys of the calls that the provider is known to be working on. Recovery
	// tries these every PendingInterval. nil: none is known.
	InProgress func(context.Context) (effectKeys []string, err error)

	// AdviseRepeat returns advice on how a caller gets what a call with an unknown outcome may have left. It
	// returns "" if the journal's own advice applies. nil: the journal's own advice always applies.
	AdviseRepeat func(f *fault.Error, hasKey bool) string

	// AdviseLook returns advice on what a person looks for if the outcome of a call can never be learned.
	// began is the time when the call began. nil: the journal's own advice.
	AdviseLook func(began string) string
}

func (o Operation) gaveUp(plan json.RawMessage) bool { return o.GaveUp != nil && o.GaveUp(plan) }

// Journal runs mutating calls. It is safe for concurrent use.
type Journal struct {
	opts       Options
	clock      *leaseClock
	operations map[string]Operation

	local     localRuns
	owed      owedWrites // of calls that changed nothing
	answers   owedWrites // that callers received
	withdrawn withdrawnRuns
	waiters   waiters
	announced sync.Once
}

// New returns a journal without operations.
func New(o Options) *Journal {
	clock := newLeaseClock()
	if o.LeaseClock == nil {
		o.LeaseClock = clock.now
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	o.RecordTimeout = cmp.Or(o.RecordTimeout, defaultRecordTimeout)
	o.Lease, o.WaitForEqual = cmp.Or(o.Lease, defaultLease), cmp.Or(o.WaitForEqual, o.Deadline)
	return &Journal{opts: o, clock: clock, operations: map[string]Operation{}}
}

// Register adds operations to the journal. It must be called before any other method.
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
