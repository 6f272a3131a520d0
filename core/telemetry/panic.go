package telemetry

import (
	"fmt"
	"runtime"
)

// Panic tells of a panic what may be logged: the words of Go's runtime, in which there is nothing of the data
// that the code was working with, and of any other value its type alone. The stack says where it was.
func Panic(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}
