package vault

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"frontdesk/core/pause"
)

// The times of reading an encrypted key set again.
const (
	lookEvery = time.Second     // for a change of its source
	callWait  = 3 * time.Second // how long a call waits that needs a key of the changed key set
	failFor   = 5 * time.Second // how long calls are spared another wait after a failure
)

// follower is the state of reading an encrypted key set again.
type follower struct {
	now     func() time.Time
	reading chan struct{} // one place: whoever has it may read and change the rest
	failed  error         // of the last time; nil if it succeeded
	at      time.Time     // of failed
}

// Follow reads an encrypted key set again whenever its source has changed, until ctx ends. While it cannot be
// read, the keys that were read before stay: a rotation leaves them in the set. A key set in cleartext needs
// no Follow.
func (v *Vault) Follow(ctx context.Context, log *slog.Logger) {
	if !v.form.isEncrypted() {
		return
	}
	for logged := false; pause.For(ctx, lookEvery) == nil; {
		err := v.readChanged(ctx)
		if err != nil && !logged && ctx.Err() == nil {
			log.ErrorContext(ctx, "the key set has changed and cannot be read; the gateway goes on with the "+
				"keys it has, and tries again", "error", err)
		}
		logged = err != nil
	}
}

// CatchUp reads the key set again if its source changed, so that a key which is not known may be. It takes no longer
// than a call can wait.
func (v *Vault) CatchUp() error {
	if !v.form.isEncrypted() {
		return v.refresh()
	}
	ctx, cancel := context.WithTimeout(context.Background(), callWait)
	defer cancel()
	if err := v.readChanged(ctx); err != nil {
		return unreachable(err)
	}
	return nil
}

// readChanged reads the key set again if its source changed, once for all who ask at one time. For a while
// after a failure it returns that failure.
func (v *Vault) readChanged(ctx context.Context) error {
	f := &v.follow
	select {
	case f.reading <- struct{}{}:
		defer func() { <-f.reading }()
	case <-ctx.Done():
		return fmt.Errorf("the key set is being read: %w", ctx.Err())
	}
	if f.failed != nil && f.now().Sub(f.at) < failFor {
		return f.failed
	}
	version, err := v.source.version()
	if err == nil && version != v.current().version {
		err = v.read(ctx)
	}
	f.failed, f.at = err, f.now()
	return err
}
