package described

import (
	"fmt"
	"testing"
)

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
}

func (l *recorder) Helper() {}

func (l *recorder) Error(args ...any) { l.failures = append(l.failures, fmt.Sprintln(args...)) }

// Skip ends a Report, which calls nothing after it.
func (l *recorder) Skip(args ...any) {
	l.failures = append(l.failures, "skipped: "+fmt.Sprint(args...))
}
