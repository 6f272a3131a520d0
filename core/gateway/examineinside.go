package gateway

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/store"
)

// volume is what holds a directory.
type volume struct {
	freeBytes, allBytes uint64
	freeFiles, files    uint64
	network             string // the protocol, if another machine serves the file system
}

const (
	leastFree    = 64 << 20  // bytes; SQLite's log alone may take as much
	littleFree   = 512 << 20 // bytes
	littleOfFree = 20        // of how many parts one must be free
	leastFiles   = 1000
)

// places returns data_dir, and the directory of the SQLite file if that is another one.
func (g *Gateway) places() (all []string, isSQLite bool) {
	all = []string{g.config.DataDir}
	file, err := store.PathOf(storeURL(g.config))
	home, _ := filepath.Abs(g.config.DataDir)
	if dir := filepath.Dir(file); err == nil && home != dir {
		all = append(all, dir)
	}
	return all, err == nil
}

// examineVolume checks the volumes that hold data_dir and the SQLite file.
func (g *Gateway) examineVolume() []Finding {
	places, isSQLite := g.places()
	var findings []Finding
	for _, path := range places {
		v, err := g.volumeOf(path)
		if err != nil {
			continue // not known on this system, or reported by the check of the clock
		}
		findings = append(findings, examineVolume(path, v, isSQLite))
	}
	return findings
}

func examineVolume(path string, v volume, isSQLite bool) Finding {
	subject, says := "volume of "+path, fmt.Sprintf("%d MiB are free", v.freeBytes>>20)
	switch {
	case v.network != "" && isSQLite:
		return fails(subject, "the SQLite database is on a network file system ("+v.network+")",
			"Move data_dir to a disk of this machine, or use PostgreSQL (store.url). Locks and the write-ahead log of "+
				"SQLite do not work across machines.")
	case v.freeBytes < leastFree:
		return fails(subject, says, "Make room now. Without it, no call that changes something is accepted.")
	case v.files > 0 && v.freeFiles < leastFiles:
		return fails(subject, fmt.Sprintf("only %d files can still be created", v.freeFiles),
			"Remove files from the volume, or enlarge it.")
	case v.freeBytes < littleFree && v.freeBytes < v.allBytes/littleOfFree:
		return warns(subject, says,
			"Make room, or keep less: request_log.per_tenant, request_log.keep, idempotency.keep.")
	}
	return fine(subject, says)
}

const (
	calmAfter   = 10 * time.Minute // within which recovery takes up a call that was cut off
	mostCalls   = 1000             // that are counted
	tardyAfter  = time.Hour        // after which a waiting event is reported
	endsSoon    = 72 * time.Hour   // of a refresh token
	rolledAfter = 15 * time.Minute // within which the use of a key that ends counts
)

// examineCalls reports calls whose outcome nobody finds out.
func (g *Gateway) examineCalls(ctx context.Context) []Finding {
	const subject = "calls"
	now := g.now()
	never := now.Add(365 * 24 * time.Hour)
	rows, err := g.store.UnsettledIntents(ctx, now.Add(-calmAfter), never, mostCalls)
	if err != nil {
		return []Finding{fails(subject, detailOf(err), checkStore)}
	}
	cutOff, unknown := 0, 0
	for _, i := range rows {
		switch {
		case i.State == store.IntentUnknown && now.Sub(i.CreatedAt) > calmAfter:
			unknown++
		case i.State == store.IntentRunning:
			cutOff++
		}
	}
	var findings []Finding
	if cutOff > 0 {
		findings = append(findings, fails(subject,
			fmt.Sprintf("%d calls were cut off, and nobody carries on with them", cutOff),
			"Start frontdesk serve. It settles them, and finds out what became of them at the provider."))
	}
	if unknown > 0 {
		findings = append(findings, warns(subject, fmt.Sprintf("the outcome of %d calls is unknown", unknown),
			"Look at frontdesk request list --tenant NAME --failed, and in the provider's account for what these calls "+
				"asked for."))
	}
	if len(findings) == 0 {
		findings = append(findings, fine(subject, "every change has an outcome"))
	}
	return findings
}

// examineWebhooks reports webhooks that take no events.
func (g *Gateway) examineWebhooks(ctx context.Context) []Finding {
	const subject = "webhooks"
	all, err := g.webhooks.List(ctx)
	oldest, failed := g.store.OldestWaiting(ctx)
	if err = errors.Join(err, failed); err != nil {
		return []Finding{fails(subject, detailOf(err), checkStore)}
	}
	var findings []Finding
	for _, w := range all {
		if !w.DisabledAt.IsZero() {
			findings = append(findings, warns("webhook "+w.ID,
				"its receiver answered 410, so it is sent nothing since "+w.DisabledAt.UTC().Format(time.RFC3339),
				"Remove it with frontdesk webhook remove "+w.ID+", and add it again if the receiver is to have events."))
		}
	}
	if !oldest.IsZero() && g.now().Sub(oldest) > tardyAfter {
		findings = append(findings, warns(subject,
			fmt.Sprintf("an event waits for %s", g.now().Sub(oldest).Round(time.Minute)),
			"See why with frontdesk webhook deliveries. If nothing was tried lately, start frontdesk serve."))
	}
	if len(findings) == 0 && len(all) > 0 {
		findings = append(findings, fine(subject, "no event waits for long"))
	}
	return findings
}

// examineTenant reports what keeps a tenant's agents from its connections.
func (g *Gateway) examineTenant(
	ctx context.Context, name string, connections []connection.Connection,
) []Finding {
	subject := "tenant " + name
	var findings []Finding
	if len(connections) == 0 {
		findings = append(findings, fails(subject, "has no connection",
			"Add one with: frontdesk connection add --tenant "+name+" --kind calendar --provider caldav ..."))
	}
	for _, kind := range adapter.Kinds() {
		ofKind := func(c connection.Connection) bool { return c.Kind == kind }
		isDefault := func(c connection.Connection) bool { return c.Kind == kind && c.IsDefault }
		if slices.ContainsFunc(connections, ofKind) && !slices.ContainsFunc(connections, isDefault) {
			findings = append(findings, warns(subject,
				fmt.Sprintf("has no default %s connection, so keys that are bound to none cannot use one", kind),
				"Make one the default: repeat its frontdesk connection add with --default."))
		}
	}
	keys, err := g.keys.List(ctx, name)
	agents, failed := g.keys.ListAgents(ctx, name)
	if err = errors.Join(err, failed); err != nil {
		return append(findings, fails(subject, detailOf(err), checkStore))
	}
	now, valid := g.now(), 0
	for _, k := range keys {
		if !k.RevokedAt.IsZero() || !k.EndsAt.IsZero() && !k.EndsAt.After(now) {
			continue
		}
		valid++
		if !k.EndsAt.IsZero() && now.Sub(k.LastUsedAt) < rolledAfter {
			findings = append(findings, warns(subject,
				fmt.Sprintf("the API key %s ends %s, and is still used", k.ID, k.EndsAt.UTC().Format(time.RFC3339)),
				"Give its callers the key that has taken its place."))
		}
	}
	if valid+len(agents) == 0 && len(connections) > 0 {
		findings = append(findings, warns(subject, "has no API key and no voice agent, so nobody can call",
			"Create one with: frontdesk key create --tenant "+name))
	}
	if len(findings) == 0 {
		findings = append(findings, fine(subject,
			fmt.Sprintf("connections: %d; API keys: %d; voice agents: %d", len(connections), valid, len(agents))))
	}
	return findings
}

func (g *Gateway) examineConnection(ctx context.Context, tenantName string, c connection.Connection) Finding {
	ctx, cancel := context.WithTimeout(ctx, doctorWait)
	defer cancel()
	subject := "connection " + tenantName + "/" + c.Name
	v, err := g.connections.Verify(ctx, tenantName, c.Name)
	if err != nil {
		return fails(subject, detailOf(err),
			"Check the connection's settings, and whether this machine can reach the provider.")
	}
	if !v.OK {
		return fails(subject, v.Problem, v.Advice)
	}
	f := fine(subject, strings.Join(strings.Fields("works "+v.Email+" "+v.Name), " "))
	if ends, err := g.tokens.RefreshEnds(ctx, c.TenantID, c.ID); err == nil && !ends.IsZero() &&
		ends.Sub(g.now()) < endsSoon {
		f.Says += ", until its authorization ends at " + ends.UTC().Format(time.RFC3339)
		f.Advice = fmt.Sprintf("Have the customer connect the account again: frontdesk connect-link --tenant %s "+
			"--provider %s --name %s. At Google, publish the app: while it is in testing, each consent ends after "+
			"seven days.", tenantName, c.Provider, c.Name)
	}
	return f
}
