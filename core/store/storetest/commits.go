package storetest

import (
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
)

// Commits returns a function that returns how many transactions have written to SQLite in this process. It
// counts those of stores that are opened after the first call of Commits, which must come before any other
// goroutine opens a store: in TestMain or in a benchmark.
func Commits() func() int64 { return commits().Load }

var commits = sync.OnceValue(func() *atomic.Int64 {
	count := new(atomic.Int64)
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		if hooks, can := conn.(sqlite.HookRegisterer); can {
			hooks.RegisterCommitHook(func() int32 { count.Add(1); return 0 })
		}
		return nil
	})
	return count
})
