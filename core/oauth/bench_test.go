package oauth

import (
	"context"
	"sync"
	"testing"
	"time"
)

// BenchmarkToken measures the cost of an access token per call in the steady state, as a ratio to a bare read
// of a map under a lock in the same run:
//
//	go test -run '^$' -bench Token ./core/oauth
func BenchmarkToken(b *testing.B) {
	source := NewTokenSource(Options{})
	b.Cleanup(source.Close)
	ctx := context.Background()
	var (
		mu   sync.RWMutex
		bare = map[string]*entry{}
		ids  []string
	)
	for i := range 10_000 {
		e := &entry{connectionID: name(i), access: "access", until: time.Now().Add(time.Hour)}
		e.checkAt.Store(time.Now().Add(time.Hour).UnixMilli())
		source.cache.put(e)
		bare[e.connectionID] = e
		ids = append(ids, e.connectionID)
	}
	var perRead, perToken float64
	b.Run("map", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			mu.RLock()
			e := bare[ids[i%len(ids)]]
			mu.RUnlock()
			if e.access == "" {
				b.Fatal("no token")
			}
		}
		perRead = float64(b.Elapsed()) / float64(b.N)
	})
	b.Run("token source", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if access, err := source.Token(ctx, "acme", ids[i%len(ids)]); access == "" || err != nil {
				b.Fatal(err)
			}
		}
		perToken = float64(b.Elapsed()) / float64(b.N)
		if perRead > 0 {
			b.ReportMetric(perToken/perRead, "x-map")
		}
	})
}
