//go:build attack

package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// storeTrouble is a way in which a store fails while the gateway serves.
type storeTrouble struct {
	open  func(t *testing.T) (storeURL string, cluster *storetest.Cluster)
	begin func(t *testing.T, h *deployment, r *running, cluster *storetest.Cluster) (end func())
	reads bool // lists still work
}

func storeTroubles() map[string]storeTrouble {
	sqlite := func(*testing.T) (string, *storetest.Cluster) { return "", nil }
	return map[string]storeTrouble{
		"the disk is full": {
			open: sqlite, reads: true,
			// No file may grow beyond its first page (setrlimit(2), RLIMIT_FSIZE), so the gateway can write
			// no byte.
			begin: func(t *testing.T, _ *deployment, r *running, _ *storetest.Cluster) func() {
				limit := func(soft string) {
					out, err := exec.Command("prlimit", "--pid", strconv.Itoa(r.cmd.Process.Pid), "--fsize="+soft+":").
						CombinedOutput()
					if err != nil {
						t.Fatalf("prlimit: %v\n%s", err, out)
					}
				}
				limit("4096")
				return func() { limit("unlimited") }
			},
		},
		"the file is locked by another process": {
			open: sqlite, reads: true,
			begin: func(t *testing.T, d *deployment, _ *running, _ *storetest.Cluster) func() {
				db := storetest.Database(t, "sqlite:"+d.databaseFile())
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				return func() { _ = tx.Rollback(); _ = db.Close() }
			},
		},
		"the server is gone": {
			open: func(t *testing.T) (string, *storetest.Cluster) {
				c := storetest.Start(t)
				return c.URL("postgres"), c
			},
			begin: func(t *testing.T, _ *deployment, _ *running, c *storetest.Cluster) func() {
				if err := c.Down(); err != nil {
					t.Fatal(err)
				}
				return func() {
					if err := c.Up(); err != nil {
						t.Fatal(err)
					}
				}
			},
		},
	}
}

// TestNothingIsDoneWithoutTheStore checks that no unrecorded call reaches the provider, callers are refused
// at once and well before the deadline, a refused call is not done later, and all works within ten seconds of
// the store's return.
func TestNothingIsDoneWithoutTheStore(t *testing.T) {
	t.Parallel()
	for name, trouble := range storeTroubles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, cluster := trouble.open(t)
			a := accounts()["caldav"](t)
			d := newDeployment(t, url, append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
			key := d.createTenantEach(a.connection)[0]
			r := d.serve()
			c := r.as(key)
			booking := func(title string, hour int) string {
				return fmt.Sprintf(
					`{"title": %q, "start_time": "2027-03-02T%02d:00:00Z", "end_time": "2027-03-02T%02d:30:00Z"}`,
					title, hour, hour)
			}
			there := c.post(200, "calendar/book-meeting", booking("there", 8)).text("event", "event_id")
			var reached atomic.Int64
			a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
				if mutates(req) {
					reached.Add(1)
				}
				serve.ServeHTTP(w, req)
			})

			end := trouble.begin(t, d, r, cluster)
			if trouble.reads {
				c.post(200, "calendar/list-events", `{"start_time": "2027-03-02", "end_time": "2027-03-03"}`)
			}
			var calls sync.WaitGroup
			for _, call := range [][]string{
				{"book-meeting", booking("refused", 10), "Idempotency-Key: asked-once"},
				{"book-meeting", booking("later", 11), "Idempotency-Key: asked-again"},
				{"book-meeting", booking("keyless", 12)},
				{"update-meeting", fmt.Sprintf(`{"event_id": %q, "title": "changed"}`, there)},
				{"cancel-meeting", fmt.Sprintf(`{"event_id": %q}`, there)},
			} {
				calls.Go(func() {
					began := time.Now()
					a, err := c.call(http.MethodPost, "/v1/calendar/"+call[0], call[1], call[2:]...)
					wait, noNumber := strconv.Atoi(a.header.Get("Retry-After"))
					if err != nil || a.status != http.StatusServiceUnavailable || a.reason() != "STORE_UNAVAILABLE" ||
						noNumber != nil || wait < 1 {
						t.Errorf("%s: %v, %d %s, Retry-After %q", call[0], err, a.status, a.body, a.header.Get("Retry-After"))
					}
					if took := time.Since(began); took > 6*time.Second { // of the 8 s deadline
						t.Errorf("%s was answered after %v", call[0], took)
					}
				})
			}
			calls.Wait()
			c.do(200, http.MethodGet, "/healthz", "")
			c.await(http.StatusServiceUnavailable, "/readyz")
			if n := reached.Load(); n > 0 {
				t.Errorf("%d requests reached the provider", n)
			}

			end()
			began := time.Now()
			for {
				a, err := c.call(http.MethodPost, "/v1/calendar/book-meeting", booking("later", 11),
					"Idempotency-Key: asked-again")
				if err == nil && a.status == 200 {
					break
				}
				if time.Since(began) > 10*time.Second {
					t.Fatalf("it does not recover: %v, %d %s", err, a.status, a.body)
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Logf("it works again after %v", time.Since(began).Round(time.Millisecond))
			time.Sleep(12*time.Second - time.Since(began)) // longer than any lease of the calls that were refused
			c.await(http.StatusOK, "/readyz")
			listed := c.post(200, "calendar/list-events", `{"start_time": "2027-03-02", "end_time": "2027-03-03"}`)
			if listed.text("events", 0, "subject") != "there" || listed.text("events", 1, "subject") != "later" ||
				len(listed.get("events").([]any)) != 2 {
				t.Errorf("what was refused was done: %s", listed.body)
			}
			d.wantSound()
		})
	}
}

// await repeats a request until the path responds with that status.
func (c caller) await(status int, path string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		a, err := c.call(http.MethodGet, path, "")
		if err == nil && a.status == status {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: %v, %d, want %d", path, err, a.status, status)
		}
	}
}
