package caldav

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSeriesOfAllAccountsTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 5, 3, 12, 0, 0, 0, time.UTC)
	of := func(size int) *seriesSet {
		return &seriesSet{token: "1", examined: now, objects: map[string]resource{"a": {data: make([]byte, size)}}}
	}
	big := of(4 << 20)
	all := newSeriesMemory()
	quiet, greedy := &seriesCache{all: all}, &seriesCache{all: all}
	quiet.put("a", of(100), now)
	kept := 0
	for i := range 1000 {
		greedy.put(strconv.Itoa(i), big, now)
	}
	for i := range 1000 {
		if greedy.get(strconv.Itoa(i), now) != nil {
			kept++
		}
	}
	if most := maxAccountSeriesBytes / big.bytes(); kept != most || greedy.get("999", now) == nil {
		t.Errorf("%d calendars of one account are kept, want the last %d", kept, most)
	}
	if quiet.get("a", now) == nil {
		t.Error("the account of another is dropped")
	}
	for range 100 {
		(&seriesCache{all: all}).put("a", big, now)
	}
	if all.bytes > maxAllSeriesBytes || all.bytes < maxAllSeriesBytes/2 {
		t.Errorf("all take %d MiB", all.bytes>>20)
	}
	now = now.Add(examineAgain) // from then on, a set is of no use
	quiet.put("b", of(100), now)
	if all.sets.Len() != 1 || len(all.of) != 1 || all.bytes != len("b")+of(100).bytes() {
		t.Errorf("an hour later, %d sets of %d accounts take %d bytes", all.sets.Len(), len(all.of), all.bytes)
	}
}

// A server's tokens, addresses and tags may be longer than its events.
func TestAllThatIsRememberedOfACalendarCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 5, 3, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("x", 1<<20)
	with := func(token string, of resource) func(*seriesCache, string) {
		return func(c *seriesCache, id string) {
			c.put(id, &seriesSet{token: token, examined: now, objects: map[string]resource{"a": of}}, now)
		}
	}
	for rule, remember := range map[string]func(c *seriesCache, id string){
		"a token": with(long, resource{}), "a tag": with("1", resource{tag: long}),
		"an address":      with("1", resource{id: long}),
		"a token refused": func(c *seriesCache, id string) { c.refuse(id, long, now) },
	} {
		c := &seriesCache{all: newSeriesMemory()}
		for i := range 100 {
			remember(c, strconv.Itoa(i))
		}
		if kept := c.all.sets.Len(); kept < 2 || kept > maxAccountSeriesBytes/len(long) {
			t.Errorf("%s: %d calendars are kept", rule, kept)
		}
	}
}
