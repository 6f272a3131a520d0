package upstream

import (
	"context"
	"net/http"
)

// The bounds of a response. A decoder may need hundreds of times the size of a response for what it builds,
// so what it would have to build is counted as well, while the response is read.
const (
	maxAnswerBytes   = 2 << 20
	maxListingBytes  = 6 << 20
	maxReceivedBytes = 64 << 20 // before what is not decoded was left out
	maxRefusalBytes  = 64 << 10 // of an error response; more is not read, since its status suffices

	maxDepth      = 64
	maxNameBytes  = 1 << 10
	maxTextBytes  = 2 << 20 // of one text: the largest are events with attachments
	maxAttributes = 64      // of one element
	maxDigits     = 128     // of one number, or of any text that is not quoted
	maxElements   = 40_000
	maxLines      = 150_000 // of iCalendar, within XML or alone

	// Objects, lists, and elements of lists: a decoder may build a large record for each.
	maxItems, maxListingItems   = 20_000, 40_000
	maxValues, maxListingValues = 150_000, 300_000

	// No program compresses a genuine response more than this. Lists of events that repeat their time zones
	// reach 40.
	maxRatio  = 100
	freeBytes = 256 << 10 // decompressed size up to which any ratio is accepted
)

// The bytes of memory that a decoder takes for each part of a response, roughly and rather too high. Their
// sum is what the response takes of the budget.
const (
	costOfByte      = 8
	costOfItem      = 1 << 10
	costOfElement   = 512
	costOfAttribute = 64
	costOfValue     = 128
	costOfLine      = 128
)

type listingKey struct{}

// ForListing marks a request that changes nothing, whatever its method, and whose response lists events or
// the fields of an object. The bounds for such a response are higher.
func ForListing(ctx context.Context) context.Context {
	return context.WithValue(ctx, listingKey{}, true)
}

func lists(req *http.Request) bool {
	marked, _ := req.Context().Value(listingKey{}).(bool)
	return marked
}

// bounds holds those bounds that depend on the request.
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
