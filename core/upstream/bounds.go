package upstream

import (
	"context"
	"net/http"
)

// What is read of an answer. What a decoder makes of an answer can take hundreds of times its bytes, so what
// it would have to make is counted as well, while the answer is read.
const (
	maxAnswerBytes  = 2 << 20
	maxListingBytes = 6 << 20
	maxRefusalBytes = 64 << 10 // more of a refusal is not read, since its status says what it is

	maxDepth      = 64
	maxNameBytes  = 1 << 10
	maxTextBytes  = 2 << 20 // of one text: the largest are events with what is attached to them
	maxAttributes = 64      // of one element
	maxDigits     = 128     // of one number, or of what stands where one could
	maxElements   = 40_000
	maxLines      = 150_000 // of iCalendar, within XML or alone

	// Objects, lists, and what stands in lists: a decoder may make a large record of each.
	maxItems, maxListingItems   = 20_000, 40_000
	maxValues, maxListingValues = 150_000, 300_000

	// An answer that is compressed more than this is none that a program wrote to be read. Lists of events
	// that repeat their time zones come to 40.
	maxRatio  = 100
	freeBytes = 256 << 10 // of which any ratio is taken
)

// The memory that a decoder takes for each thing that an answer holds, as a rough and high guess. Their sum
// is what the answer takes of the budget.
const (
	costOfByte      = 8
	costOfItem      = 1 << 10
	costOfElement   = 512
	costOfAttribute = 64
	costOfValue     = 128
	costOfLine      = 128
)

type listingKey struct{}

// ForListing marks a request that changes nothing, whatever its method, and whose answer lists events or the
// fields of an object: more is read of it than of others.
func ForListing(ctx context.Context) context.Context {
	return context.WithValue(ctx, listingKey{}, true)
}

func lists(req *http.Request) bool {
	marked, _ := req.Context().Value(listingKey{}).(bool)
	return marked
}

// bounds are what depends on the request.
type bounds struct {
	bytes         int64
	items, values int
}

func (t *transport) boundsOf(req *http.Request) bounds {
	if lists(req) {
		return bounds{maxListingBytes, maxListingItems, maxListingValues}
	}
	return bounds{t.pool.options.MaxResponseBytes, maxItems, maxValues}
}
