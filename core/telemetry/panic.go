package telemetry

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic returns what may be logged of a panic: for a runtime error its message, which holds no data that the
// code was working with, and for any other value only its type. The stack shows where the panic was.
func Panic(cause any) string {
	switch cause := cause.(type) {
	case runtime.Error:
		return cause.Error()
	case recovered:
		return cause.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}

// Recovered returns the error of a panic that was just recovered, for the log: what [Panic] returns, and the stack. If
// it is the cause of another panic, in a goroutine that waits for this one, Panic returns its text.
func Recovered(cause any) error {
	return recovered(fmt.Sprintf("panic: %s\n%s", Panic(cause), debug.Stack()))
}

type recovered string

func (r recovered) Error() string { return string(r) }
