package guard

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/fault"
)

// Breakers are shown while they are not closed, since they opened first.
func TestOpenBreakersAreShown(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		if all := g.OpenBreakers(); len(all) != 0 {
			t.Fatalf("at first there are %v", all)
		}
		opened := time.Now()
		fail(t, g, target, 10, failing(fault.Unavailable))
		want := []OpenBreaker{{Level: "connection", Subject: "c1", Provider: "caldav", State: "open", Since: opened}}
		if all := g.OpenBreakers(); !slices.Equal(all, want) {
			t.Errorf("open are %v, want %v", all, want)
		}
		time.Sleep(2 * time.Second)
		want[0].State = "half_open"
		if all := g.OpenBreakers(); !slices.Equal(all, want) {
			t.Errorf("then open are %v, want %v", all, want)
		}
		if _, err := Do(t.Context(), g, target, read, func(context.Context) (string, error) { return "", nil }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if all := g.OpenBreakers(); len(all) != 0 {
			t.Errorf("after a success there are %v", all)
		}
	})
}

// The log names whose breaker it is, beside the line's own level: of a name that comes twice, each reader takes another
// value (RFC 8259 section 4).
func TestTheLogNamesTheBreaker(t *testing.T) {
	var out strings.Builder
	bubble(t, Options{Log: slog.New(slog.NewJSONHandler(&out, nil))}, func(t *testing.T, g *Guard) {
		fail(t, g, target, 10, failing(fault.Unavailable))
	})
	var line map[string]string
	if err := json.Unmarshal([]byte(out.String()), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "time")
	want := map[string]string{
		"level": "WARN", "msg": "circuit breaker changed", "connection": "c1", "provider": "caldav",
		"from": "closed", "to": "open",
	}
	if !maps.Equal(line, want) {
		t.Errorf("the line is %v, want %v", line, want)
	}
}

// shared are permits of one that tests tell how many there are.
type shared struct {
	Permits
	free  chan struct{}
	asked []string
}

func (s *shared) Acquire(ctx context.Context, connectionID string, limit int) (func(), error) {
	s.asked = append(s.asked, connectionID)
	select {
	case <-s.free:
		return func() { s.free <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *shared) TryAcquire(string, int) (func(), bool) { return nil, false }

// Where a provider allows an account a certain number of calls at once, a call has a permit that replicas
// share, and gives it back. Without one, it fails in time, unsent.
func TestReplicasSharePermits(t *testing.T) {
	permits := &shared{}
	bubble(t, Options{Permits: permits, Deadline: time.Second}, func(t *testing.T, g *Guard) {
		permits.free = make(chan struct{}, 1)
		permits.free <- struct{}{}
		limited := target
		limited.MaxConcurrent = 4
		call := func(context.Context) (string, error) { return "", nil }
		for range 3 {
			if _, err := Do(t.Context(), g, limited, read, call); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Do(t.Context(), g, target, read, call); err != nil || len(permits.asked) != 3 {
			t.Errorf("asked for %v, %v", permits.asked, err)
		}
		<-permits.free
		began := time.Now()
		_, err := Do(t.Context(), g, limited, read, call)
		f := fault.From(err)
		if f == nil || f.Code != fault.Timeout || !f.Unsent || time.Since(began) != time.Second {
			t.Errorf("without a permit: %v after %v", err, time.Since(began))
		}
	})
}
