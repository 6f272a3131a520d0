// Package faulttest lets tests cause faults at a chosen moment, and look at what they name.
package faulttest

import (
	"context"
	"sync"
)

// A Deadline is a context whose deadline passes when a test calls Pass, however fast the machine is.
type Deadline struct {
	context.Context
	over chan struct{}
	once sync.Once
}

// NewDeadline returns a context whose deadline has not passed yet.
func NewDeadline(parent context.Context) *Deadline {
	return &Deadline{Context: parent, over: make(chan struct{})}
}

// Pass makes the deadline pass.
func (d *Deadline) Pass() { d.once.Do(func() { close(d.over) }) }

// Done returns a channel that is closed when the deadline passes.
func (d *Deadline) Done() <-chan struct{} { return d.over }

// Err returns context.DeadlineExceeded once the deadline has passed.
func (d *Deadline) Err() error {
	select {
	case <-d.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
