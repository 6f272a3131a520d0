//go:build attack

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A gateway in long use does not grow in goroutines, open files or heap, while a hundredth of the calls fail
// at their provider. The test takes a few seconds; FRONTDESK_SOAK=1h makes it an hour, for runs by hand. A
// short run has wide bounds, since caches still fill, and calls less often, since it has neighbours.
func TestSoak(t *testing.T) {
	t.Parallel()
	lasting, rate := 6*time.Second, 100.0 // a second
	text := os.Getenv("FRONTDESK_SOAK")
	if text != "" {
		var err error
		if lasting, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	d := newDeployment(t, "")
	keys := d.createSandboxTenants(16, 0)
	r := d.serve()
	calls := mixedCalls(keys)
	l := newLoad(t, r.api, func(i int) loadRequest {
		s := calls(i)
		if i%100 == 0 {
			s = failing(s, i)
		}
		return s
	})
	if text != "" {
		rate = l.capacity(16, time.Second) / 2
	}
	l.steady(rate, lasting/5)

	var took []float64 // seconds
	samples := map[string][]float64{}
	broken, all := 0, 0
	began := time.Now()
	for i := range 10 {
		responses := l.steady(rate, lasting*4/50)
		broken, all = broken+count(responses, failed), all+len(responses)
		if i == 0 && count(responses, served) == 0 {
			t.Fatalf("nothing was served: %s", outcomes(responses))
		}
		l.closeIdle() // the gateway may keep memory for open connections
		took = append(took, time.Since(began).Seconds())
		for name, value := range r.settledGauges() {
			samples[name] = append(samples[name], value)
		}
	}
	t.Logf("%d calls, of which %d failed at their provider or otherwise, at %.0f a second", all, broken, rate)
	if share := float64(broken) / float64(all); share > 0.03 {
		t.Errorf("%.1f %% of the calls failed, want the hundredth that was to", 100*share)
	}
	for name, room := range map[string]float64{
		"go_goroutines": 60, "process_open_fds": 40, aliveTwice: 24 << 20,
	} {
		values := samples[name]
		if len(values) < 10 {
			t.Fatalf("%s was not measured", name)
		}
		perHour := 3600 * slope(took, values)
		growth := slope(took, values) * (took[len(took)-1] - took[0])
		t.Logf("%-26s %12.0f at first, %12.0f at last, %+.4g over the run, %+.4g an hour", name, values[0],
			values[len(values)-1], growth, perHour)
		if growth > room+0.05*values[0] {
			t.Errorf("%s grows by %.0f within %s: %.0f", name, growth, lasting, values)
		}
	}
}

// aliveTwice is about twice the live heap after the last garbage collection. The heap in use beyond it
// depends on the moment.
const aliveTwice = "go_memstats_next_gc_bytes"

// failing returns a request at which the sandbox fails like a provider in trouble.
func failing(s loadRequest, i int) loadRequest {
	at := time.Date(2029, 1, 4, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 5 * time.Minute)
	s.path, s.writes = "/v1/calendar/book-meeting", true
	s.body = fmt.Sprintf(`{"title":"%s","start_time":%q,"end_time":%q}`, soakFaults[i/100%len(soakFaults)],
		at.Format(time.RFC3339), at.Add(5*time.Minute).Format(time.RFC3339))
	return s
}

// soakFaults lists titles that make the sandbox fail.
var soakFaults = []string{"sandbox:down", "sandbox:rate_limited", "sandbox:reply_lost"}

// settledGauges returns the metrics once the gateway has noticed that its callers hung up.
func (r *running) settledGauges() map[string]float64 {
	values := r.measured()
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		next := r.measured()
		if next["go_goroutines"] >= values["go_goroutines"] {
			break
		}
		values = next
	}
	return values
}

func (r *running) measured() map[string]float64 {
	r.t.Helper()
	res, err := http.Get(r.ops + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, text, found := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); found && err == nil {
			values[name] = value
		}
	}
	return values
}

// slope returns the slope of the least-squares line.
func slope(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
