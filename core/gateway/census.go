package gateway

import (
	"context"
	"syscall"
	"time"

	"frontdesk/core/metrics"
	"frontdesk/core/pause"
	"frontdesk/core/telemetry"
)

const (
	censusEvery = time.Minute
	// overdueAfter is longer than a renewal takes at a provider in trouble, and much shorter than tokens last.
	overdueAfter = 5 * time.Minute
)

// takeCensus counts for the metrics what waits in the store, until ctx ends.
func (g *Gateway) takeCensus(ctx context.Context) {
	for {
		g.census(ctx)
		if pause.For(ctx, censusEvery) != nil {
			return
		}
	}
}

// census counts once. A failure keeps the numbers of before: what the store does not tell is not zero, and
// frontdesk_store_writable tells of the failure.
func (g *Gateway) census(ctx context.Context) {
	now := g.now()
	rows, err := g.store.Census(ctx, now.Add(-overdueAfter))
	if err != nil {
		return
	}
	c := metrics.Census{
		IntentsRunning: rows.IntentsRunning, IntentsUnknown: rows.IntentsUnknown,
		DeliveriesWaiting: rows.DeliveriesWaiting,
	}
	for _, n := range rows.Connections {
		c.Connections = append(c.Connections, metrics.Connections(n))
	}
	for _, n := range rows.NearEnd {
		why := "overdue"
		if n.Failing {
			why = "failing"
		}
		c.NearEnd = append(c.NearEnd, metrics.NearEnd{Provider: n.Provider, Why: why, Count: n.Count})
	}
	if !rows.OldestUnsealed.IsZero() {
		c.OldestUnsealed = max(0, now.Sub(rows.OldestUnsealed))
	}
	g.metrics.Census(c)
}

// watch registers the metrics that are read on demand.
func (g *Gateway) watch() {
	g.metrics.Watch(telemetry.Watched{
		Store:    g.store.Waited,
		Writable: func() bool { return g.unwritable.Load() == nil },
		Openable: func() bool { return g.unopenable.Load() == nil },
		Disk:     func() (free, size float64) { return g.fullest(disk) },
	})
}

// fullest returns what a function returns of data_dir or the SQLite file, whichever has the smaller part free.
func (g *Gateway) fullest(disk func(folder string) (free, size float64)) (free, size float64) {
	places, _ := g.places()
	for _, place := range places {
		if f, s := disk(place); size == 0 || f*size < free*s {
			free, size = f, s
		}
	}
	return free, size
}

// disk returns how many bytes a file system has, and how many of them a process like this one may still use.
// It returns zeros if the system does not tell.
func disk(folder string) (free, size float64) {
	var fs syscall.Statfs_t
	if syscall.Statfs(folder, &fs) != nil {
		return 0, 0
	}
	block := float64(fs.Bsize)
	return float64(fs.Bavail) * block, float64(fs.Blocks) * block
}
