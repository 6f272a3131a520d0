package described

import (
	"fmt"
	"testing"
)

// listener is a test that notes what fails it.
type listener struct {
	testing.TB
	said []string
}

func (l *listener) Helper() {}

func (l *listener) Error(args ...any) { l.said = append(l.said, fmt.Sprintln(args...)) }
