//go:build attack

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/connection"
)

// misbehaviour is a way in which a provider misbehaves, and the reasons that callers may get for a read and
// for a write.
type misbehaviour struct {
	do          http.HandlerFunc
	read, write []string // the allowed reasons
	large       bool
}

const huge = 50 << 20

// bomb is 64 MB of spaces, or a gigabyte at full size, compressed a thousandfold.
var bomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	megabytes := 64
	if fullSize() {
		megabytes = 1024
	}
	for range megabytes {
		_, _ = z.Write(spaces)
	}
	_ = z.Close()
	return packed.Bytes()
})

// Some writes succeed with an empty response, or with an empty JSON value.
const (
	nothing       = "nothing at all"
	nothingInJSON = "nothing in JSON"
)

func misbehaviours() map[string]misbehaviour {
	answers := func(status int, kind, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			status := status
			if status == http.StatusOK && (r.Method == "PROPFIND" || r.Method == "REPORT") {
				status = http.StatusMultiStatus // WebDAV's status of success
			}
			w.Header().Set("Content-Type", kind)
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const page = `<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Something went wrong</h1></body></html>`
	limited := []string{"PROVIDER_RATE_LIMITED"}
	down := []string{"PROVIDER_UNAVAILABLE"}
	garbage := []string{"PROVIDER_MISCONFIGURED"}
	large := []string{"PROVIDER_ANSWER_TOO_LARGE", "EXHAUSTED"} // the latter is the problem's type on /beta
	unknown := []string{"OUTCOME_UNKNOWN"}
	return map[string]misbehaviour{
		"429":                 {answers(429, "application/json", `{}`, "Retry-After: 99"), limited, limited, false},
		"500":                 {answers(500, "text/html", page), down, unknown, false},
		"503":                 {answers(503, "text/html", page), down, down, false},
		"cut off in the body": {cutOffInTheBody, down, unknown, false},
		"a page":              {answers(200, "text/html", page), garbage, unknown, false},
		"half an answer":      {answers(200, "application/json", `{"id": "12`), garbage, unknown, false},
		"other types": {answers(200, "application/json",
			`{"id":{"a":1},"items":"no","value":7,"ticket":"x","tickets":3,"results":"no","records":5,
			"data":"no","incoming_phone_numbers":false,"available_phone_numbers":1,"sid":[],"success":"maybe"}`),
			garbage, unknown, false},
		"a list":      {answers(200, "application/json", `[1,2]`), garbage, unknown, false},
		nothingInJSON: {answers(200, "application/json", `null`), garbage, unknown, false},
		nothing:       {answers(200, "application/json", ``), garbage, unknown, false},
		"an error that is a 200": {answers(200, "application/json",
			`{"error":{"code":500,"message":"Internal error"}}`), garbage, unknown, false},
		"50 MB": {fiftyMegabytes, large, unknown, true},
		"a bomb": {func(w http.ResponseWriter, r *http.Request) {
			answers(200, "application/json", string(bomb()), "Content-Encoding: gzip")(w, r)
		}, large, unknown, true},
	}
}

func cutOffInTheBody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id": "12`)
	panic(http.ErrAbortHandler)
}

func fiftyMegabytes(w http.ResponseWriter, r *http.Request) {
	if r.Method == "PROPFIND" || r.Method == "REPORT" {
		w.WriteHeader(http.StatusMultiStatus)
	}
	part := bytes.Repeat([]byte(" "), 1<<20)
	for range huge / len(part) {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// Whatever a provider responds, its caller is told promptly, with the right reason, that the call failed or
// that its outcome is unknown, but never that it succeeded. No response exceeds the gateway's memory.
func TestNoAnswerOfAProviderIsTakenForWhatItIsNot(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
		"FRONTDESK_RESILIENCE__BREAKER__FAILURES=1000000",
		// The content must decide, not the time.
		"FRONTDESK_RESILIENCE__DEADLINE=60s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=50s")
	at := map[string]account{}
	for name, open := range accounts() {
		a := open(t)
		d.environ = append(d.environ, a.environ...)
		at[name] = a
	}
	// One connection per trouble, since the gateway remembers what a provider asked for.
	keys := map[string]string{}
	var names []string
	var connections []connection.Spec
	for name, a := range at {
		for how := range misbehaviours() {
			for _, operation := range append(a.writes(), "read") {
				names = append(names, name+how+operation)
				connections = append(connections, a.connection)
			}
		}
	}
	for i, key := range d.createTenantEach(connections...) {
		keys[names[i]] = key
	}
	r := d.serve()
	bomb()
	baseline := residentBytes(t, r)
	t.Run("providers", func(t *testing.T) {
		for name, a := range at {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, operation := range append(a.writes(), "read") {
					for how, x := range misbehaviours() {
						if a.isExempt(operation, how, x) {
							continue
						}
						t.Run(operation+" "+how, func(t *testing.T) {
							c := r.as(keys[name+how+operation])
							c.t = t
							a.meets(t, c, operation, x)
						})
					}
				}
			})
		}
	})
	if underRaceDetector() { // the detector takes several times the memory of the process
		return
	}
	peak := residentBytes(t, r)
	t.Logf("%d MB before, %d MB at most", baseline>>20, peak>>20)
	if grown := peak - baseline; grown > 600<<20 {
		t.Errorf("memory grew by %d MB", grown>>20)
	}
}

// isExempt reports whether an operation is not tested with a misbehaviour: if it looks like the operation's
// success, or if it is large, because those meet every operation at full size only (FRONTDESK_TROUBLE=full).
func (a account) isExempt(operation, how string, x misbehaviour) bool {
	return (how == nothing || how == nothingInJSON && a.name != "caldav") &&
		slices.Contains(a.emptyWhenDone, operation) ||
		x.large && operation != "read" && !fullSize()
}

// oneLarge lets one large response come at a time: its duration must not depend on how many there are.
var oneLarge sync.Mutex

func (a account) meets(t *testing.T, c caller, operation string, x misbehaviour) {
	q, want, befalls := a.request(c, operation, "Once"), x.write, mutates
	if operation == "read" {
		want, befalls = x.read, ofAPI
	}
	var reached atomic.Bool
	a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if !befalls(req) {
			serve.ServeHTTP(w, req)
			return
		}
		reached.Store(true)
		x.do(w, req)
	})
	defer a.put(nil)
	if x.large {
		oneLarge.Lock()
		defer oneLarge.Unlock()
	}
	began := time.Now()
	got, err := c.send(q)
	took := time.Since(began)
	reason := got.reason()
	if reason == "" {
		kind := got.text("type")
		reason = strings.ToUpper(strings.ReplaceAll(kind[strings.LastIndex(kind, "/")+1:], "-", "_"))
	}
	if err != nil || got.status < 400 || !slices.Contains(want, reason) {
		t.Errorf("answered %d %s, want %v\n%s", got.status, reason, want, got.body)
	}
	if !reached.Load() {
		t.Error("the provider was not asked")
	}
	if took > 20*time.Second {
		t.Errorf("answered after %v", took)
	}
	if want[0] == "PROVIDER_RATE_LIMITED" && got.header.Get("Retry-After") != "99" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
}

func underRaceDetector() bool {
	info, known := debug.ReadBuildInfo()
	return known && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// residentBytes returns the most memory that the process has held so far.
func residentBytes(t *testing.T, r *running) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		t.Skip("the system does not tell how much memory a process has: ", err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
