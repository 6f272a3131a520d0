package guard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	target = Target{Kind: "calendar", Provider: "caldav", Host: "dav.example.com", Connection: "c1"}
	read   = Op{Name: "events", Read: true}
	write  = Op{Name: "book"}
	keyed  = Op{Name: "book", Repeatable: true}
)

func on(connection string) Target {
	t := target
	t.Connection = connection
	return t
}

// bubble runs a test in a synctest bubble, with a guard that is closed at the end.
func bubble(t *testing.T, o Options, test func(t *testing.T, g *Guard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := New(o)
		test(t, g)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func failing(code fault.Code) *fault.Error { return fault.New(code, "REASON", "A sentence.") }

func failingUnsent(code fault.Code) *fault.Error {
	f := failing(code)
	f.Unsent = true
	return f
}

func after(f *fault.Error, d time.Duration) *fault.Error {
	f.RetryAfter = d
	return f
}

func final(f *fault.Error) *fault.Error {
	f.NoRetry = true
	return f
}

// script is a driver that returns one result after the other, and then the last one again and again.
type script struct {
	answers []error // nil: success
	calls   []time.Time
}

func (s *script) call(context.Context) (string, error) {
	n := len(s.calls)
	s.calls = append(s.calls, time.Now())
	if err := s.answers[min(n, len(s.answers)-1)]; err != nil {
		return "", err
	}
	return "done", nil
}

// obedient returns a driver call that takes so long, or until its context ends.
func obedient(takes time.Duration) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// deaf returns a driver call that takes so long, whether its context ends or not.
func deaf(takes time.Duration) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		time.Sleep(takes)
		return "done", nil
	}
}

func instantly(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "done", err }
}

func wantFault(t *testing.T, err error, code fault.Code, reason string) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("%v is not a fault", err)
	}
	if f.Code != code || (reason != "" && f.Reason != reason) {
		t.Fatalf("got %s %s, want %s %s: %v", f.Code, f.Reason, code, reason, f)
	}
	return f
}

func wantElapsed(t *testing.T, since time.Time, least, most time.Duration) {
	t.Helper()
	if took := time.Since(since); took < least || took > most {
		t.Errorf("took %v, want %v to %v", took, least, most)
	}
}
