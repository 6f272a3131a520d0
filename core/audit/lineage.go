package audit

import "context"

// Lineage is what a database has to do with a head that was kept of one.
type Lineage int

// The lineages.
const (
	LineageSame  Lineage = iota // it holds the head's row, or a key that the key set opens
	LineageNone                 // nothing was ever recorded in it
	LineageOther                // neither its keys nor its rows are known here
)

// Lineage returns what the database has to do with the head. One without tables is empty. It changes nothing.
func (l *Log) Lineage(ctx context.Context, head Head) (Lineage, error) {
	version, err := l.Store.Version(ctx)
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
	row, found, err := l.Store.AuditRow(ctx, head.Rows)
	if err != nil || !found || row.MAC != head.Hash {
		return LineageOther, err
	}
	return LineageSame, nil
}
