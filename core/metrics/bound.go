package metrics

import "sync"

// maxNames is how many values one label takes. The API has far fewer operations, reasons and providers. The
// bound guards against a defect that lets unbounded values through.
const maxNames = 200

// bound limits the number of a label's values: once a label has maxNames of them, new ones become "other".
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
