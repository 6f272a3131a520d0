package journal

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

func TestTheLeaseClockFollowsTheDatabase(t *testing.T) {
	stores := map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			clock := newLeaseClock()
			clock.time = clock.time.Add(-time.Hour) // the machine's clock was wrong when the process began
			ahead, err := clock.sync(context.Background(), w.store)
			w.check(err)
			if off := time.Until(clock.now()).Abs(); off > time.Minute || ahead.Abs() > time.Minute {
				t.Errorf("it is %s off, and the machine's %s ahead", off, ahead)
			}
		})
	}
}
