package upstream

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"

	"frontdesk/core/fault"
)

// The memory that all responses of a pool, and so of the process, may take at once.
const (
	maxReadingBytes  = 48 << 20            // by responses that are being read
	maxReadingShare  = maxReadingBytes / 3 // for one connection
	unchargedBytes   = 64 << 10            // of each response; bounded by the number of calls
	maxDecodingBytes = 64 << 20            // by responses that are being decoded, by cost
)

// budget bounds the memory that responses take. Reading depends on the pace of providers, so a response that
// finds no room is refused at once. Decoding depends on this process alone, so calls wait for room.
type budget struct {
	mu      sync.Mutex
	reading int64
	shares  map[string]int64 // of reading, by connection

	decoding *semaphore.Weighted
}

func newBudget() *budget {
	return &budget{shares: map[string]int64{}, decoding: semaphore.NewWeighted(maxDecodingBytes)}
}

// reads takes room for n more bytes of a response, and reports whether there was any.
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

// hasRead returns the room for n bytes.
func (b *budget) hasRead(connection string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading -= n
	if b.shares[connection] -= n; b.shares[connection] == 0 {
		delete(b.shares, connection)
	}
}

// decode waits for room to decode a response of that cost. A cost above the whole budget takes all of it.
func (b *budget) decode(ctx context.Context, cost int64) (release func(), err error) {
	cost = min(cost, maxDecodingBytes)
	if err := b.decoding.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { b.decoding.Release(cost) }), nil
}

// Decoding waits for room to decode the contents of responses, such as iCalendar within XML, after they were
// read. Call release before the next request to a provider; after a panic, the end of ctx does. A client that is not
// from a Pool has no budget.
func Decoding(ctx context.Context, client *http.Client, bytes, lines int) (release func(), err error) {
	t, ok := client.Transport.(*transport)
	if !ok {
		return func() {}, nil
	}
	giveBack, err := t.pool.budget.decode(ctx, costOfByte*int64(bytes)+costOfLine*int64(lines))
	if err != nil {
		return nil, fault.From(err)
	}
	forgotten := context.AfterFunc(ctx, giveBack)
	return func() { forgotten(); giveBack() }, nil
}
