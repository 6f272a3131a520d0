package telemetry

import (
	"fmt"
	"runtime"
)

// Panic returns what may be logged of a panic: for a runtime error its message, which holds no data that the
// code was working with, and for any other value only its type. The stack shows where the panic was.
func Panic(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}
