package storetest

import (
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
)

var (
	commits atomic.Int64
	count   sync.Once
)

// Commits returns a function that returns how many transactions have written to SQLite in this process. It
// counts those of stores that are opened after the first call of Commits.
func Commits() func() int64 {
	count.Do(func() {
		sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
			if hooks, can := conn.(sqlite.HookRegisterer); can {
				hooks.RegisterCommitHook(func() int32 { commits.Add(1); return 0 })
			}
			return nil
		})
	})
	return commits.Load
}
