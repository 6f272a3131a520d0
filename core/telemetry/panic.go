package telemetry

import (
	"fmt"
	"runtime"
)

// Panic returns what may be logged of a panic. That is the message of Go's runtime, which holds no data that
// the code was working with, or else only the type of the value. The stack says where it was.
func Panic(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}
