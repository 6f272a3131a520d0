package faulttest

import "frontdesk/core/fault"

// Paths returns the paths of the fields that a fault names.
func Paths(err error) (paths []string) {
	if f := fault.From(err); f != nil {
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
	}
	return paths
}
