package upstream

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"

	"frontdesk/core/fault"
)

// What all answers of a pool, and so of the process, may take at once.
const (
	maxReadingBytes  = 48 << 20            // of those that are being read
	maxReadingShare  = maxReadingBytes / 3 // for one connection
	unchargedBytes   = 64 << 10            // of each: there are no more of them than there are calls
	maxDecodingBytes = 64 << 20            // of those that are being decoded, by cost
)

// budget bounds the memory that answers take. Reading goes at the pace of providers, so nobody waits for one
// that reads: who finds no room is refused. Decoding goes at our own, so others wait for it.
type budget struct {
	mu      sync.Mutex
	reading int64
	shares  map[string]int64 // of reading, by connection

	decoding *semaphore.Weighted
}

func newBudget() *budget {
	return &budget{shares: map[string]int64{}, decoding: semaphore.NewWeighted(maxDecodingBytes)}
}

// reads takes room for n more bytes of an answer, and reports whether there is any.
func (b *budget) reads(connection string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading+n > maxReadingBytes || b.shares[connection]+n > maxReadingShare {
		return false
	}
	b.reading += n
	b.shares[connection] += n
	return true
}

// hasRead gives the room back.
func (b *budget) hasRead(connection string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading -= n
	if b.shares[connection] -= n; b.shares[connection] == 0 {
		delete(b.shares, connection)
	}
}

// decode waits until there is room to decode what costs that much. What costs more than there ever is has all
// of it.
func (b *budget) decode(ctx context.Context, cost int64) (release func(), err error) {
	cost = min(cost, maxDecodingBytes)
	if err := b.decoding.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { b.decoding.Release(cost) }), nil
}

// Decoding waits for room to decode what answers held, such as iCalendar within XML, after they were read.
// Release it before anything else is asked of a provider. A client that is none of a Pool's has no budget.
func Decoding(ctx context.Context, client *http.Client, bytes, lines int) (release func(), err error) {
	t, ok := client.Transport.(*transport)
	if !ok {
		return func() {}, nil
	}
	release, err = t.pool.budget.decode(ctx, costOfByte*int64(bytes)+costOfLine*int64(lines))
	if err != nil {
		return nil, fault.From(err)
	}
	return release, nil
}
