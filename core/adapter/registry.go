package adapter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Registry finds adapters by kind and name.
type Registry struct{ list []Adapter }

// NewRegistry returns a registry of the listed adapters. It fails if two have the same kind and name, or if
// two with the same name declare different operator keys.
func NewRegistry(list []Adapter) (Registry, error) {
	seen, keys := map[string]bool{}, map[string]*OperatorKeys{}
	for _, a := range list {
		id := string(a.Kind) + "/" + a.Name
		if a.Name == "" || seen[id] {
			return Registry{}, fmt.Errorf("adapter: %q is listed twice or has no name", id)
		}
		seen[id] = true
		if a.Operator == nil {
			continue
		}
		if err := a.Operator.check(a.Name); err != nil {
			return Registry{}, err
		}
		if other := keys[a.Name]; other != nil && !reflect.DeepEqual(other, a.Operator) {
			return Registry{}, fmt.Errorf("adapter: two declare different operator keys of %q", a.Name)
		}
		keys[a.Name] = a.Operator
	}
	return Registry{list: list}, nil
}

// Family returns the part of a provider's name before a slash: the adapter that a described provider derives
// from.
func Family(provider string) string {
	family, _, _ := strings.Cut(provider, "/")
	return family
}

// DefaultName returns the name of a connection to which nobody gives one: that of its provider, without the
// adapter that the provider derives from.
func DefaultName(provider string) string {
	return provider[strings.LastIndex(provider, "/")+1:]
}

// Find returns the adapter of that kind and name.
func (r Registry) Find(kind Kind, name string) (Adapter, bool) {
	i := slices.IndexFunc(r.list, func(a Adapter) bool { return a.Kind == kind && a.Name == name })
	if i < 0 {
		return Adapter{}, false
	}
	return r.list[i], true
}

// All returns every adapter, sorted by kind, then name.
func (r Registry) All() []Adapter {
	all := slices.Clone(r.list)
	slices.SortFunc(all, func(a, b Adapter) int {
		if c := slices.Index(Kinds(), a.Kind) - slices.Index(Kinds(), b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}
