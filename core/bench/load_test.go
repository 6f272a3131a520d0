package main

import (
	"context"
	"encoding/xml"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stalling is a target that stalls once: every caller of it waits for the same moment.
type stalling struct {
	from    int64
	calls   atomic.Int64
	stalled chan struct{}
}

func (s *stalling) call(ctx context.Context, _ int64) (string, error) {
	if s.calls.Add(1) == s.from {
		time.AfterFunc(250*time.Millisecond, func() { close(s.stalled) })
	}
	if s.calls.Load() >= s.from {
		select {
		case <-s.stalled:
		case <-ctx.Done():
		}
	}
	return "", ctx.Err()
}

func (s *stalling) close() {}

// A target that stalls makes all requests late that were due meanwhile. In a closed loop, one caller would
// count one slow request among many fast ones.
func TestAStallCountsForEveryRequestThatWasDue(t *testing.T) {
	s := &stalling{from: 20, stalled: make(chan struct{})}
	l := &loader{}
	measured, err := l.openLoop(t.Context(),
		target{name: "stalling", open: func(context.Context) (caller, error) {
			return s, nil
		}}, 500, 400*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	// From the 20th of 200 on, more than half of the requests were due within the stall, each with the rest of it
	// to wait.
	if measured.N != 200 || measured.P50 < 1000 || measured.P99 < 150_000 {
		t.Errorf("%+v", measured)
	}
}

func TestRefusalsAreCountedApart(t *testing.T) {
	every := refusing{}
	measured, err := (&loader{}).times(t.Context(),
		target{name: "refusing", open: func(context.Context) (caller, error) {
			return every, nil
		}}, 10)
	if err != nil || measured.N != 5 || measured.Refused["503 OVERLOADED"] != 5 {
		t.Errorf("%+v, %v", measured, err)
	}
	if got := refusals([]sample{measured, measured}); got != "refused: 10× 503 OVERLOADED" {
		t.Errorf("says %q", got)
	}
}

// refusing refuses every other request.
type refusing struct{}

func (refusing) call(_ context.Context, i int64) (string, error) {
	if i%2 == 0 {
		return "503 OVERLOADED", nil
	}
	return "", nil
}

func (refusing) close() {}

func TestFiguresAreReadable(t *testing.T) {
	f := figure{What: "p50", Subject: "gateway", Unit: microseconds, Values: []float64{300, 1234.4, 400},
		Base:  "floor",
		Bases: []float64{100, 200, 200}}
	want := []string{"p50, gateway", "400 µs", "floor: 200 µs", "3.00 (2.00 to 6.17)", ""}
	if got := f.columns(); !slices.Equal(got, want) {
		t.Errorf("columns are %q, want %q", got, want)
	}
	for value, want := range map[float64]string{0.1234: "0.12/s", 12.34: "12.3/s", 1234567: "1,234,567/s",
		math.NaN(): "–"} {
		if got := number(value, perSecond); got != want {
			t.Errorf("%v is written %q, want %q", value, got, want)
		}
	}
	var lines strings.Builder
	if err := (&report{figures: []figure{f}}).benchstat(&lines); err != nil ||
		!strings.Contains(lines.String(), "Benchmark/p50/gateway 1 300 µs/op 3 x-floor\n") {
		t.Errorf("for benchstat: %v\n%s", err, lines.String())
	}
}

func TestPicturesAreWellFormed(t *testing.T) {
	p := plot{title: "A & B", unit: microseconds, values: []plotValue{{"gateway", 10}, {"none", math.NaN()}}}
	decoder := xml.NewDecoder(strings.NewReader(p.svg()))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, p.svg())
		}
	}
}

// Each scenario has its place in the document, where the program puts its figures.
func TestEveryScenarioIsInTheDocument(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/README.md"
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r := report{tables: map[string]string{}}
	for _, s := range scenarios() {
		r.tables[s.name] = "renewed: " + s.name + "\n"
	}
	if err := r.write(path, scenarios()); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios() {
		if strings.Count(string(written), "renewed: "+s.name+"\n") != 1 {
			t.Errorf("%s is not there once", s.name)
		}
	}
}
