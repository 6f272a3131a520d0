package telemetry

import "sync"

// maxNames is how many values one label takes. The interface has fewer operations, reasons and providers than
// that by far; the bound is for the defect that lets something unbounded through.
const maxNames = 200

// bound keeps the values of a label few: once a label has seen maxNames of them, new ones become "other".
type bound struct {
	mu   sync.RWMutex
	seen map[string]map[string]struct{}
}

func (b *bound) of(label, value string) string {
	b.mu.RLock()
	_, known := b.seen[label][value]
	b.mu.RUnlock()
	if known {
		return value
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[string]map[string]struct{}{}
	}
	values := b.seen[label]
	if values == nil {
		values = map[string]struct{}{}
		b.seen[label] = values
	}
	if _, known := values[value]; !known && len(values) >= maxNames {
		return "other"
	}
	values[value] = struct{}{}
	return value
}
