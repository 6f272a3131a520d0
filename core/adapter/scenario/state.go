package scenario

import (
	"context"
	"time"

	"frontdesk/core/adapter"
)

// prefix starts the keys in the storage. It is older than the name of this package.
const prefix = "magic/"

// state records lost replies, in one document per subject.
type state struct {
	Lost   map[string]time.Time `json:"lost"` // by request
	Silent time.Time            `json:"silent"`
}

func (m state) stale(now time.Time) bool {
	for _, at := range m.Lost {
		if now.Before(at.Add(rememberIt)) {
			return false
		}
	}
	return true
}

// silence fails a call whose subject is unreachable.
func (p Provider) silence(ctx context.Context, c Call) error {
	if c.About == "" {
		return nil
	}
	var m state
	err := p.Storage.View(ctx, func(tx adapter.StorageTx) (err error) {
		m, err = load(tx, c.About)
		return err
	})
	if err != nil {
		return err
	}
	if p.Now().Before(m.Silent) {
		return lostConnection("The provider does not answer, as sandbox:outcome_unknown asked.")
	}
	return nil
}

// lose loses the reply to a request, unless that was done recently: then the request is a repeat, and gets a
// reply.
func (p Provider) lose(ctx context.Context, c Call, w Name) error {
	var lose bool
	err := p.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		m, err := load(tx, c.About)
		if err != nil {
			return err
		}
		now := p.Now()
		at, before := m.Lost[c.Request]
		if lose = !before || !now.Before(at.Add(rememberIt)); !lose {
			return nil
		}
		if m.Lost == nil {
			m.Lost = map[string]time.Time{}
		}
		m.Lost[c.Request] = now
		if w == OutcomeUnknown {
			m.Silent = now.Add(SilentFor)
		}
		if err := prune(tx, now); err != nil {
			return err
		}
		return adapter.PutDocument(tx, prefix+c.About, m)
	})
	if err == nil && lose {
		err = lostConnection("The connection to the provider was lost before it answered, as sandbox:" + string(w) +
			" asked.")
	}
	return err
}

func load(tx adapter.StorageTx, about string) (state, error) {
	m, _, err := adapter.GetDocument[state](tx, prefix+about)
	return m, err
}

// prune deletes the states whose lost replies are all older than rememberIt.
func prune(tx adapter.StorageTx, now time.Time) error {
	var stale []string
	err := adapter.ScanDocuments(tx, prefix, "", func(key string, m state) bool {
		if m.stale(now) {
			stale = append(stale, key)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, key := range stale {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}
