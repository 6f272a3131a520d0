//go:build attack

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// Three replicas serve behind a plain balancer, under load, while replicas are killed, stopped and restarted
// and PostgreSQL crashes, in random order. Each call that fails succeeds when it is repeated once, after the
// fault. In the end the provider has each ticket once. From the middle on, the schema is one of a later
// version that suits this one, as during an upgrade. FRONTDESK_REPLICAS=60 sets the number of faults, and
// FRONTDESK_OLD_BINARY names a build of an earlier version, of which one of the replicas is.
func TestReplicasLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(testing.TB, string) string{
		"PostgreSQL": func(_ testing.TB, url string) string { return url },
		"PgBouncer":  storetest.Pooled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := 4
			if text := os.Getenv("FRONTDESK_REPLICAS"); text != "" {
				var err error
				if faults, err = strconv.Atoi(text); err != nil {
					t.Fatal(err)
				}
			}
			cluster := storetest.Start(t)
			replicasUnderFaults(t, cluster, reach(t, cluster.URL("postgres")), faults)
		})
	}
}

func replicasUnderFaults(t *testing.T, cluster *storetest.Cluster, storeURL string, faults int) {
	a := accounts()["zendesk"](t)
	d := newDeployment(t, storeURL, append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
	d.must("migrate")
	keys := d.createTenantEach(a.connection)
	old := os.Getenv("FRONTDESK_OLD_BINARY")
	serve := func(i int) *running {
		if i == 0 && old != "" {
			return d.serveAs(old)
		}
		return d.serve()
	}
	b := balance(t)
	var replicas [3]*running
	for i := range replicas {
		replicas[i] = serve(i)
		b.add(replicas[i])
	}
	allReady := func() {
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if b.ready() == len(replicas) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the replicas are not ready again")
			}
		}
	}
	allReady()

	var fault sync.RWMutex // held for writing while there is a fault
	var over atomic.Bool
	var calls, repeated atomic.Int64
	var callers sync.WaitGroup
	held := false
	defer func() { // also when the test gives up
		over.Store(true)
		if held {
			fault.Unlock()
		}
		callers.Wait()
	}()
	for i := range 6 {
		callers.Go(func() {
			for n := 0; !over.Load(); n++ {
				name := fmt.Sprintf("Call %d of %d", n, i)
				q := a.create(name)
				try := func() bool {
					c := caller{t: t, base: "http://" + b.next(), key: keys[0]}
					got, err := c.send(q, "Idempotency-Key: "+name)
					return err == nil && got.status/100 == 2
				}
				calls.Add(1)
				if try() {
					continue
				}
				repeated.Add(1)
				fault.RLock()
				cured := try()
				fault.RUnlock()
				if !cured {
					t.Errorf("%s failed, and failed when it was repeated", name)
				}
			}
		})
	}

	asReplicas := storetest.Database(t, storeURL)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	kinds := []string{"kill", "stop", "restart", "database"}
	for n := range faults {
		if n == faults/2 && old == "" {
			asAfterAnUpgrade(t, cluster.URL("postgres"))
		}
		if n%len(kinds) == 0 {
			random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		}
		i := random.IntN(len(replicas))
		fault.Lock()
		held = true
		switch kinds[n%len(kinds)] {
		case "kill":
			replicas[i].kill()
			b.remove(replicas[i])
			replicas[i] = serve(i)
			b.add(replicas[i])
		case "stop":
			_ = replicas[i].cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(200+random.IntN(1300)) * time.Millisecond)
			_ = replicas[i].cmd.Process.Signal(syscall.SIGCONT)
		case "restart":
			if code := replicas[i].stop(); code != exitOK {
				t.Errorf("a replica that was told to end did so with %d:\n%s", code, replicas[i].log())
			}
			b.remove(replicas[i])
			replicas[i] = serve(i)
			b.add(replicas[i])
		case "database":
			if err := cluster.Down(); err != nil {
				t.Fatal(err)
			}
			if err := cluster.Up(); err != nil {
				t.Fatal(err)
			}
			// PgBouncer refuses everybody until it has logged in again, a while after PostgreSQL is back. The
			// fault lasts as long: the replicas' readiness may be that from before it.
			for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				_, err := asReplicas.ExecContext(t.Context(), "SELECT 1")
				if err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
		}
		allReady()
		held = false
		fault.Unlock()
		for before := calls.Load(); calls.Load() < before+20; { // the load goes on for a while
			time.Sleep(5 * time.Millisecond)
		}
	}
	over.Store(true)
	callers.Wait()
	t.Logf("%d calls, %d of them repeated, %d tickets", calls.Load(), repeated.Load(), a.made())
	if got := int64(a.made()); got != calls.Load() {
		t.Errorf("%d calls made %d tickets", calls.Load(), got)
	}
	if calls.Load() < int64(20*faults) {
		t.Errorf("only %d calls were made: the test proves nothing", calls.Load())
	}
	// A replica records an answer that it gave without its database soon after the database is back.
	if left := unsettled(t, cluster.URL("postgres"), patience); left != "" {
		t.Errorf("left unsettled: %s", left)
	}
}

// asAfterAnUpgrade adds a step that this program does not know, and that suits it.
func asAfterAnUpgrade(t *testing.T, url string) {
	db := storetest.Database(t, url)
	for _, statement := range []string{
		"INSERT INTO schema_compatibility (version, least) SELECT 1000000, MAX(version_id) FROM goose_db_version",
		// The tests' server forgets in a crash how far a sequence was that it made without a log.
		"INSERT INTO goose_db_version (id, version_id, is_applied) " +
			"SELECT MAX(id) + 1, 1000000, TRUE FROM goose_db_version",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

// serveAs is serve with another binary.
func (d *deployment) serveAs(binary string) *running {
	d.t.Helper()
	other := &deployment{t: d.t, binary: binary, environ: slices.DeleteFunc(slices.Clone(d.environ),
		func(variable string) bool { return strings.HasPrefix(variable, asCommand) })}
	return other.serve()
}

// ready returns how many gateways are ready.
func (b *balancer) ready() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ready := range b.known {
		if ready {
			n++
		}
	}
	return n
}

// Three replicas together make no more calls at once, and no more searches in a second, than the provider
// allows one account.
func TestReplicasTogetherKeepWhatAProviderAllows(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]func(t *testing.T, a account, three []caller){
		"microsoft": func(t *testing.T, a account, three []caller) {
			peak := a.mostAtOnce()
			var callers sync.WaitGroup
			for i := range 30 {
				callers.Go(func() {
					for range 4 {
						if got, err := three[i%3].send(a.read); err != nil || got.status != http.StatusOK {
							t.Errorf("answered %d %s, %v", got.status, got.body, err)
						}
					}
				})
			}
			callers.Wait()
			if peak.Load() > 4 || peak.Load() < 3 {
				t.Errorf("%d calls at once, want 4 at most", peak.Load())
			}
		},
		"hubspot": func(t *testing.T, a account, three []caller) {
			var mu sync.Mutex
			var searches []time.Time
			a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
				if strings.HasSuffix(req.URL.Path, "/search") {
					mu.Lock()
					searches = append(searches, time.Now())
					mu.Unlock()
				}
				serve.ServeHTTP(w, req)
			})
			var callers sync.WaitGroup
			for i := range 24 {
				callers.Go(func() {
					got, err := three[i%3].call(http.MethodPost, "/alpha/callers/look-up",
						fmt.Sprintf(`{"phone_number":"+120255501%02d"}`, i))
					if err != nil || got.status >= 500 && got.status != http.StatusGatewayTimeout {
						t.Errorf("answered %d %s, %v", got.status, got.body, err)
					}
				})
			}
			callers.Wait()
			if len(searches) < 6 {
				t.Fatalf("only %d searches came: the test proves nothing", len(searches))
			}
			// A busy machine brings them late, and so closer to each other than they were sent.
			took := searches[len(searches)-1].Sub(searches[0])
			if most := 1.1 * 5 * (1 + took.Seconds()); float64(len(searches)) > most {
				t.Errorf("%d searches came within %v, want %.0f at most", len(searches), took, most)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := accounts()[name](t)
			d := newDeployment(t, storetest.Postgres(t), append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
				"FRONTDESK_RESILIENCE__DEADLINE=100s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=90s")...)
			keys := d.createTenantEach(a.connection)
			three := make([]caller, 3)
			for i := range three {
				three[i] = d.serve().as(keys[0])
			}
			keeps(t, a, three)
		})
	}
}

// Three replicas admit as many requests of a key as the limit says, within a tenth.
func TestReplicasTogetherKeepTheLimitOfAKey(t *testing.T) {
	t.Parallel()
	const quota = 300
	d := newDeployment(t, storetest.Postgres(t),
		fmt.Sprintf("FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=%d", quota))
	keys := d.createSandboxTenants(1, 0)
	three := make([]caller, 3)
	for i := range three {
		three[i] = d.serve().as(keys[0])
	}
	began := time.Now()
	admitted := 0
	for i := range 3 * quota {
		got, err := three[i%3].call(http.MethodPost, "/v1/calendar/list-calendars", "{}")
		if err != nil {
			t.Fatal(err)
		}
		if got.status == http.StatusOK {
			admitted++
		}
	}
	most := quota * (1 + time.Since(began).Minutes())
	if got := float64(admitted); got > most+1 || got < 0.9*most-float64(quota)/60 {
		t.Errorf("%d requests were admitted in %v, of at most %.0f", admitted, time.Since(began), most)
	}
}

// What one replica finds to be down, the doctor and another replica's admin interface show, until it is up.
func TestEachReplicaShowsItsBreakers(t *testing.T) {
	t.Parallel()
	a := accounts()["zendesk"](t)
	d := newDeployment(t, storetest.Postgres(t), append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
	keys := d.createTenantEach(a.connection)
	operator := d.must("admin", "key", "create", "--role", "viewer")
	one, other := d.serve(), d.serve()
	var down atomic.Bool
	down.Store(true)
	a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		serve.ServeHTTP(w, req)
	})
	get := func(path string) answer { return other.as(operator).do(http.StatusOK, http.MethodGet, path, "") }
	base := "/alpha/admin/tenants/" + get("/alpha/admin/tenants").text("tenants", 0, "name") + "/connections"
	path := base + "/" + get(base).text("connections", 0, "name") + "/health"
	shown := func() (inDoctor, inHealth bool) {
		out, _, _ := d.do("", "doctor")
		return strings.Contains(out, "circuit breaker of"), get(path).get("circuit_breakers") != nil
	}
	await := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			for range 12 { // as many as open a breaker, within the time in which they count
				_, _ = one.as(keys[0]).send(request{path: ticketPath, body: `{"ticket_number":"1"}`})
			}
			inDoctor, inHealth := shown()
			if inDoctor == want && inHealth == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("shown by the doctor: %v, in the connection's health: %v; want %v", inDoctor, inHealth, want)
			}
		}
	}
	await(true)
	down.Store(false)
	await(false)
}
