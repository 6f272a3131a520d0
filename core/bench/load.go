package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// target is something that is measured: it serves a kind of request.
type target struct {
	name string
	pid  int // of the process whose processor time counts; 0 counts none
	open opener
}

// opener opens a caller of a target.
type opener func(ctx context.Context) (caller, error)

// caller makes one request at a time. It returns what the response was: "" for success, else a reason.
type caller interface {
	call(ctx context.Context, i int64) (refused string, err error)
	close()
}

// sample is what a load found out.
type sample struct {
	P50, P99, Max float64 // microseconds, of successful requests
	PerSecond     float64 // successful requests
	CPU           float64 // microseconds of the target's processor time for each request
	N             int64   // successful requests
	Refused       map[string]int64
	Late          float64 // how late the generator was, in microseconds (the 99th percentile)
}

// histogram counts latencies from 1 µs to a minute with three significant digits.
func histogram() *hdr.Histogram { return hdr.New(1, 60_000_000, 3) }

// loader makes loads on targets. Requests are numbered, so that no two of a target are equal.
type loader struct {
	numbers atomic.Int64
}

// openLoop sends perSecond requests a second, each at its time, whatever becomes of earlier ones. A latency
// counts from when the request should have been sent, so that a wait in the generator counts, too. Without
// that, a target that stalls would be asked less often just then (the coordinated omission that
// HdrHistogram's documents describe).
func (l *loader) openLoop(ctx context.Context, t target, perSecond float64, lasting time.Duration) (sample,
	error) {
	const most = 512 // requests at a time; more wait in the generator, and their wait counts
	type due struct {
		at time.Time
		i  int64
	}
	var merging sync.Mutex
	all, late := histogram(), histogram()
	refused := map[string]int64{}
	queue := make(chan due, 1<<16)
	var workers sync.WaitGroup
	var failure atomic.Pointer[error]
	var idle, started atomic.Int64
	work := func() {
		mine, theirs, own := histogram(), map[string]int64{}, failed(&failure)
		c, err := t.open(ctx)
		if err != nil {
			own(err)
			return
		}
		defer c.close()
		for {
			idle.Add(1)
			d, more := <-queue
			idle.Add(-1)
			if !more {
				break
			}
			reason, err := c.call(ctx, d.i)
			if err != nil {
				own(err)
				break
			}
			if reason != "" {
				theirs[reason]++
				continue
			}
			_ = mine.RecordValue(max(1, time.Since(d.at).Microseconds()))
		}
		merging.Lock()
		defer merging.Unlock()
		all.Merge(mine)
		add(refused, theirs)
	}
	start := func() {
		if started.Add(1) <= most {
			workers.Go(work)
		}
	}
	for range 8 {
		start()
	}
	// The dispatcher has a thread of its own, which sleeps precisely.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	preciseTimers()
	for idle.Load() < 8 && failure.Load() == nil {
		sleep(100 * time.Microsecond)
	}
	usedBefore, err := timeOf(t)
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	count := int(perSecond * lasting.Seconds())
	for n := range count {
		// Requests come evenly, but not in step with anything that the target does by itself.
		at := began.Add(time.Duration((float64(n) + rand.Float64()) / perSecond * float64(time.Second)))
		for wait := time.Until(at); wait > 0; wait = time.Until(at) {
			sleep(wait)
		}
		_ = late.RecordValue(max(1, time.Since(at).Microseconds()))
		if idle.Load() < 2 {
			start()
		}
		queue <- due{at, l.numbers.Add(1)}
		if failure.Load() != nil || ctx.Err() != nil {
			break
		}
	}
	close(queue)
	workers.Wait()
	took := time.Since(began)
	if err := errors.Join(failureOf(&failure), ctx.Err()); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name, err)
	}
	s, err := summed(t, all, refused, usedBefore, took)
	s.Late = float64(late.ValueAtPercentile(99))
	return s, err
}

// closedLoop has a number of callers that each wait for the response before the next request: what a target
// can do, when there are many, and how long one takes, when there is one.
func (l *loader) closedLoop(ctx context.Context, t target, callers int, lasting time.Duration) (sample,
	error) {
	var merging sync.Mutex
	all := histogram()
	refused := map[string]int64{}
	var failure atomic.Pointer[error]
	var workers, ready sync.WaitGroup
	begin := make(chan struct{})
	ends := make(chan time.Time, callers)
	ready.Add(callers)
	for range callers {
		workers.Go(func() {
			mine, theirs, own := histogram(), map[string]int64{}, failed(&failure)
			c, err := t.open(ctx)
			ready.Done()
			if err != nil {
				own(err)
				return
			}
			defer c.close()
			<-begin
			end := <-ends
			for time.Now().Before(end) && failure.Load() == nil && ctx.Err() == nil {
				sent := time.Now()
				reason, err := c.call(ctx, l.numbers.Add(1))
				if err != nil {
					own(err)
					return
				}
				if reason != "" {
					theirs[reason]++
					continue
				}
				_ = mine.RecordValue(max(1, time.Since(sent).Microseconds()))
			}
			merging.Lock()
			defer merging.Unlock()
			all.Merge(mine)
			add(refused, theirs)
		})
	}
	ready.Wait()
	usedBefore, err := timeOf(t)
	began := time.Now()
	for range callers {
		ends <- began.Add(lasting)
	}
	close(begin)
	workers.Wait()
	if err := errors.Join(err, failureOf(&failure), ctx.Err()); err != nil {
		return sample{}, fmt.Errorf("%s: %w", t.name, err)
	}
	return summed(t, all, refused, usedBefore, time.Since(began))
}

// times makes a number of requests, one after the other.
func (l *loader) times(ctx context.Context, t target, n int) (sample, error) {
	all := histogram()
	refused := map[string]int64{}
	c, err := t.open(ctx)
	if err != nil {
		return sample{}, err
	}
	defer c.close()
	used, err := timeOf(t)
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	for range n {
		sent := time.Now()
		reason, err := c.call(ctx, l.numbers.Add(1))
		if err := errors.Join(err, ctx.Err()); err != nil {
			return sample{}, fmt.Errorf("%s: %w", t.name, err)
		}
		if reason != "" {
			refused[reason]++
			continue
		}
		_ = all.RecordValue(max(1, time.Since(sent).Microseconds()))
	}
	return summed(t, all, refused, used, time.Since(began))
}

func summed(t target, all *hdr.Histogram, refused map[string]int64, usedBefore, took time.Duration) (sample,
	error) {
	used, err := timeOf(t)
	s := sample{
		P50: float64(all.ValueAtPercentile(50)), P99: float64(all.ValueAtPercentile(99)), Max: float64(
			all.Max()),
		N: all.TotalCount(), PerSecond: float64(all.TotalCount()) / took.Seconds(), Refused: refused,
	}
	calls := all.TotalCount()
	for _, n := range refused {
		calls += n
	}
	s.CPU = float64((used - usedBefore).Nanoseconds()) / 1000 / float64(max(1, calls))
	return s, err
}

func timeOf(t target) (time.Duration, error) {
	if t.pid == 0 {
		return 0, nil
	}
	return processTime(t.pid)
}

func add(to, from map[string]int64) {
	for reason, n := range from {
		to[reason] += n
	}
}

// said lists refusals, the most frequent first.
func said(refused map[string]int64) string {
	text := ""
	for _, reason := range slices.SortedFunc(maps.Keys(refused), func(a, b string) int {
		return int(refused[b] - refused[a])
	}) {
		text += fmt.Sprintf(" %d× %s", refused[reason], reason)
	}
	return text
}

func failed(first *atomic.Pointer[error]) func(error) {
	return func(err error) { first.CompareAndSwap(nil, &err) }
}

func failureOf(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

// wire is a caller over one HTTP/1.1 connection that is kept open. It needs little processor time, which the
// generator shares with what it measures.
type wire struct {
	conn    net.Conn
	from    *bufio.Reader
	buffer  []byte
	request func(buffer []byte, i int64) []byte
	accepts int // the status of success
}

// dial returns how callers of an address are opened. request appends the whole request with that number.
func dial(address string, accepts int, request func(buffer []byte, i int64) []byte) opener {
	return func(ctx context.Context) (caller, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &wire{conn: conn, from: bufio.NewReaderSize(conn, 64<<10), request: request,
			accepts: accepts}, nil
	}
}

func (w *wire) call(_ context.Context, i int64) (string, error) {
	w.buffer = w.request(w.buffer[:0], i)
	if _, err := w.conn.Write(w.buffer); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(w.from, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode == w.accepts {
		_, err := io.Copy(io.Discard, resp.Body)
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return strconv.Itoa(resp.StatusCode) + " " + reason(body), err
}

func (w *wire) close() { _ = w.conn.Close() }

// post appends a request with a JSON body.
func post(buffer []byte, host, path, key, body string) []byte {
	buffer = append(buffer, "POST "...)
	buffer = append(buffer, path...)
	buffer = append(buffer, " HTTP/1.1\r\nHost: "...)
	buffer = append(buffer, host...)
	buffer = append(buffer, "\r\nContent-Type: application/json\r\nX-Api-Key: "...)
	buffer = append(buffer, key...)
	buffer = append(buffer, "\r\nContent-Length: "...)
	buffer = strconv.AppendInt(buffer, int64(len(body)), 10)
	buffer = append(buffer, "\r\n\r\n"...)
	return append(buffer, body...)
}

// get appends a request without a body.
func get(buffer []byte, host, path, more string) []byte {
	return fmt.Appendf(buffer, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, host, more)
}
