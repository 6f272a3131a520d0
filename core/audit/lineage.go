package audit

import "context"

// Lineage is how a database is related to a head that was kept.
type Lineage int

// The lineages.
const (
	LineageSame  Lineage = iota // it holds the head's row, or a key that the key set opens
	LineageNone                 // nothing was ever recorded in it
	LineageOther                // the key set opens no key of it, and the head's row is not in it
)

// Lineage returns how the database is related to the head: LineageNone without tables. For a zero head, only the keys
// count. It changes nothing.
func (l *Log) Lineage(ctx context.Context, head Head) (Lineage, error) {
	version, err := l.opts.Store.Version(ctx)
	if err != nil || version == 0 {
		return LineageNone, err
	}
	keys, there, err := l.readKeys(ctx)
	if err != nil || there == 0 {
		return LineageNone, err
	}
	if len(keys.held) > 0 {
		return LineageSame, nil
	}
	if head == (Head{}) { // none was kept
		return LineageOther, nil
	}
	at, err := l.at(ctx, keys, head.Rows)
	if err != nil || at.hash != head.Hash {
		return LineageOther, err
	}
	return LineageSame, nil
}
