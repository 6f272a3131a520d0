package api

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The gate admits fewer requests while goroutines queue for a processor, which a fixed bound would not
// notice, and as many as before when they no longer do.
func TestTheGateFollowsTheQueueForProcessors(t *testing.T) {
	queue, now := 0.0, time.Unix(1_800_000_000, 0)
	g := newGate(1000, func() float64 { return queue })
	fill := func() (entered []string) { // with one request per tenant
		for tenant := "1"; g.enter(now, tenant, true); tenant += "1" {
			entered = append(entered, tenant)
		}
		return entered
	}
	inside := func() int { // returns how many more requests it admits, and removes them again
		entered := fill()
		for _, tenant := range entered {
			g.leave(tenant, true)
		}
		return len(entered)
	}
	if n := inside(); n != 1000 {
		t.Fatalf("at rest it lets in %d", n)
	}
	queue = 1.01
	fill()
	now = now.Add(lookEvery)
	g.look(now)
	if n := g.limit; n != 800 {
		t.Errorf("after the first look at a long queue the limit is %d, want a fifth less than there are inside", n)
	}
	g.look(now.Add(lookEvery - 1))
	if n := g.limit; n != 800 {
		t.Errorf("it looks before it is time: %d", n)
	}
	g.inside = 500
	now = now.Add(lookEvery)
	g.look(now)
	if n := g.limit; n != 400 {
		t.Errorf("with 500 inside and a long queue the limit is %d: an old, high one hides a rush", n)
	}
	g.inside, g.tenant = 0, map[string]*guest{}
	for range 100 {
		now = now.Add(lookEvery)
		g.look(now)
	}
	if n := inside(); n != g.fewest {
		t.Errorf("it lets in %d, want %d whatever the queue is", n, g.fewest)
	}
	queue = 1
	looks := 0
	for ; g.limit < 1000 && looks < 1000; looks++ {
		now = now.Add(lookEvery)
		g.look(now)
	}
	if took := time.Duration(looks) * lookEvery; took > time.Second {
		t.Errorf("it took %v to let in all again", took)
	}
}

// The queue for the store is the average wait of the calls that waited since the last look.
func TestTheQueueForTheStoreIsMeasuredInTime(t *testing.T) {
	calls, together := int64(1000), time.Hour
	queue := queues(func() (int64, time.Duration) { return calls, together })
	soonBelow := func(most float64) bool { // the processors may be busy for a moment
		for range 100 {
			if queue() < most {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	}
	if !soonBelow(1) {
		t.Error("what was before counts")
	}
	calls, together = calls+10, together+10*mayWait*5
	if n := queue(); n < 4.99 {
		t.Errorf("ten calls that waited five times too long: %v", n)
	}
	calls, together = calls+1000, together+1000*mayWait/5
	if !soonBelow(1) {
		t.Error("a thousand calls that waited briefly are too many")
	}
}

// While writes are refused, reads give up their places, down to one. Once no write is refused, reads return.
func TestReadsGiveWayToWrites(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := newGate(100, func() float64 { return 0 })
	reads, writes := 0, 0 // numbers of requests inside
	for range 20 {
		now = now.Add(lookEvery)
		for g.enter(now, "a", false) {
			reads++
		}
		for g.enter(now, "a", true) {
			writes++
		}
		for ; reads > 0; reads-- { // all reads end, and half of the writes
			g.leave("a", false)
		}
		for range writes / 2 {
			g.leave("a", true)
			writes--
		}
	}
	for g.enter(now.Add(lookEvery), "a", false) {
		reads++
	}
	if reads != 1 {
		t.Errorf("%d reads are let in while writes are refused", reads)
	}
	for ; reads > 0; reads-- {
		g.leave("a", false)
	}
	for ; writes > 1; writes-- {
		g.leave("a", true)
	}
	for range 100 {
		now = now.Add(lookEvery)
		g.tenant["a"].look(now, g.limit)
	}
	for g.enter(now, "a", false) {
		reads++
	}
	if reads != 43 { // 44 with the write inside: four fifths of the 56 that are free
		t.Errorf("%d reads are let in once writes find their places", reads)
	}
}

// Goroutines that wait for a provider do not queue for a processor; those that compute do.
func TestTheQueueIsOfThoseThatCouldRun(t *testing.T) {
	queue := queueForProcessor()
	many := 100 * runtime.GOMAXPROCS(0)
	hold := make(chan struct{})
	var all sync.WaitGroup
	for range many {
		all.Go(func() { <-hold })
	}
	soon := func(what string, reached func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !reached(); runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Errorf("%s: the queue is %v of what it may be", what, queue())
				return
			}
		}
	}
	soon("all wait", func() bool { return queue() <= 1 })
	ctx, stop := context.WithCancel(context.Background())
	for range many {
		all.Go(func() {
			for ctx.Err() == nil {
				runtime.Gosched()
			}
		})
	}
	soon("many compute", func() bool { return queue() > 1 })
	stop()
	close(hold)
	all.Wait()
}

// A refusal that was rendered in advance equals one that is rendered for the request.
func TestARefusalIsWrittenAsAnyOther(t *testing.T) {
	for name, refused := range map[string]struct {
		adjust func(*Options)
		key    string
		status int
		header string
	}{
		"the gate":      {func(o *Options) { o.MaxInFlight = 2 }, testKey, 503, "Retry-After"},
		"a quota":       {func(o *Options) { o.PerMinuteOfKey = 1 }, testKey, 429, "Retry-After"},
		"a long wait":   {func(o *Options) { o.PerMinuteOfTenant = 1 }, testKey, 429, "RateLimit"},
		"a strange key": {func(*Options) {}, "fd_live_none", 401, "WWW-Authenticate"},
	} {
		t.Run(name, func(t *testing.T) {
			at := newClock()
			g := startGateway(t, refused.adjust, func(o *Options) { o.Now = at.now })
			entered, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
			g.hook = func(context.Context) error { close(entered); <-release; return nil }
			go func() {
				defer close(done)
				g.post(bookPath, with(nil))
			}()
			<-entered
			for _, path := range []string{calendarsPath, bookPath, numbersPath} {
				for range 2 { // it is rendered once, and the wait is another one then
					before := g.post(path, "{}", "X-Request-Id", "call-7", "X-Api-Key", refused.key)
					// Such an id is not plain: the other one is rendered for the request.
					each := g.post(path, "{}", "X-Request-Id", `call"7`, "X-Api-Key", refused.key)
					quoted := `call\"7`
					if path == numbersPath {
						quoted = "call%227"
					}
					if want := strings.ReplaceAll(each.body, quoted, "call-7"); before.body != want {
						t.Errorf("%s:\n%s\nwant\n%s", path, before.body, want)
					}
					for _, name := range []string{
						"Content-Type", "Retry-After", "WWW-Authenticate", "Cache-Control", headerRate, headerRatePolicy,
					} {
						if got, want := before.header.Get(name), each.header.Get(name); got != want {
							t.Errorf("%s: %s is %q, want %q", path, name, got, want)
						}
					}
					if before.status != refused.status || each.status != refused.status ||
						before.header.Get(refused.header) == "" || before.header.Get(headerRequestID) != "call-7" {
						t.Errorf("%s: %d %v", path, before.status, before.header)
					}
					at.advance(500 * time.Millisecond)
				}
			}
			close(release)
			<-done
		})
	}
}
