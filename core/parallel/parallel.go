// Package parallel runs functions side by side as errgroup does, and passes a panic of one on to whoever waits for
// them. In a goroutine of its own, a panic ends the process, though the guard around the driver, or the API around
// the request, would recover it. What nobody waits for runs in [Try] or [Lasting].
//
//	group := parallel.New()
//	for i := range pages {
//		group.Go(func() error { return read(&pages[i]) })
//	}
//	err := group.Wait()
package parallel

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/telemetry"
)

// Group is functions that run side by side. Create one with [New] or [WithContext].
type Group struct {
	errs     *errgroup.Group
	panicked atomic.Pointer[error]
}

// New returns a group without functions.
func New() *Group { return &Group{errs: &errgroup.Group{}} }

// WithContext returns a group, and a context that ends when a function fails or panics, or Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	errs, ctx := errgroup.WithContext(ctx)
	return &Group{errs: errs}, ctx
}

// SetLimit bounds how many functions run at a time.
func (g *Group) SetLimit(most int) { g.errs.SetLimit(most) }

// Go runs a function, and waits until it may begin.
func (g *Group) Go(f func() error) {
	g.errs.Go(func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = telemetry.Recovered(cause)
				g.panicked.Store(&err)
			}
		}()
		return f()
	})
}

// Wait waits for all functions and returns the first error. If a function panicked, Wait does.
func (g *Group) Wait() error {
	err := g.errs.Wait()
	if cause := g.panicked.Load(); cause != nil {
		panic(*cause)
	}
	return err
}
