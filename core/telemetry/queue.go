package telemetry

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	queuedLines = 4096        // a megabyte or two
	writtenMost = 32 << 10    // bytes of lines that are written at once
	flushWait   = time.Second // for which Close waits for the reader
)

// Queue writes the lines of a log in the background, so that no call waits for whoever reads the log: a write to a
// pipe that is full waits until somebody reads (pipe(7)). What finds no room is lost, and the log tells how many lines
// that were.
type Queue struct {
	to         io.Writer
	own        *slog.Logger
	lines      chan []byte
	lost       atomic.Int64
	stop, done chan struct{}
}

// NewQueue returns a queue of lines to w, which tells of lost ones in the format of the options. Close ends it.
func NewQueue(w io.Writer, o LogOptions) (*Queue, error) {
	own, err := NewLogger(w, o)
	if err != nil {
		return nil, err
	}
	q := &Queue{
		to: w, own: own, lines: make(chan []byte, queuedLines), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go q.run()
	return q, nil
}

// Write takes a line, and never waits.
func (q *Queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.lost.Add(1)
	}
	return len(line), nil
}

// Close writes what waits, and gives up if nobody reads it within a second. No line is written after it.
func (q *Queue) Close() {
	close(q.stop)
	select {
	case <-q.done:
	case <-time.After(flushWait):
	}
}

func (q *Queue) run() {
	defer close(q.done)
	for {
		select {
		case line := <-q.lines:
			q.put(line)
		case <-q.stop:
			for len(q.lines) > 0 {
				q.put(<-q.lines)
			}
			return
		}
	}
}

// put writes a line with those that wait behind it, since each write is a call of the system.
func (q *Queue) put(lines []byte) {
	for len(q.lines) > 0 && len(lines) < writtenMost {
		lines = append(lines, <-q.lines...)
	}
	_, _ = q.to.Write(lines) // there is nobody else to tell
	if lost := q.lost.Swap(0); lost > 0 {
		q.own.Warn("lines of the log are lost, since nobody read it for a while", "lines", lost)
	}
}
