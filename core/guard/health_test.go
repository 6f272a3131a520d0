package guard

import (
	"context"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
)

// seen records what a guard says of connections, without repetitions.
type seen struct{ list []string }

func (s *seen) add(what string) {
	if len(s.list) == 0 || s.list[len(s.list)-1] != what {
		s.list = append(s.list, what)
	}
}

func (s *seen) Down(id string) { s.add(id + " down") }
func (s *seen) Up(id string)   { s.add(id + " up") }

// Single failures say nothing. An open breaker, and an answer after that, do.
func TestHealthIsTold(t *testing.T) {
	health := &seen{}
	bubble(t, Options{BreakerFailures: 2, MaxTries: 1, Health: health}, func(t *testing.T, g *Guard) {
		call := func(err error) {
			_, _ = Do(t.Context(), g, target, read, func(context.Context) (string, error) { return "", err })
		}
		call(nil)
		call(failing(fault.Unavailable))
		call(failing(fault.NotFound)) // the provider answers
		call(failing(fault.Unavailable))
		call(failing(fault.Unavailable))
		call(nil) // refused by the open breaker
		time.Sleep(2 * time.Second)
		call(nil)
	})
	if got := strings.Join(health.list, ", "); got != "c1 up, c1 down, c1 up" {
		t.Errorf("it was told: %s", got)
	}
}
