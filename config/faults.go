package config

import (
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/spelling"
)

// Fault is one error in a configuration or a file of tenants.
type Fault struct {
	// The path, such as "server.listen" or "tenants[0].connections[1].kind"; "" for the whole file or for an
	// unknown variable.
	Key      string
	Variable string // the variable that set the key; "" if the file did
	Message  string // what is wrong and what to do, as a sentence without the key
}

// Error holds every fault of a configuration or a file of tenants. It quotes no value.
type Error struct {
	Source string // the file; "" if there is none
	Faults []Fault
}

// Error returns a text that lists the faults, one per line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Source == "" {
		b.WriteString("the configuration cannot be used:")
	} else {
		fmt.Fprintf(&b, "%s cannot be used:", e.Source)
	}
	for _, f := range e.Faults {
		b.WriteString("\n  ")
		switch {
		case f.Variable != "" && f.Key != "":
			fmt.Fprintf(&b, "%s (%s) ", f.Key, f.Variable)
		case f.Variable != "":
			fmt.Fprintf(&b, "%s ", f.Variable)
		case f.Key != "":
			fmt.Fprintf(&b, "%s ", f.Key)
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// wrong records a fault of a key.
func (d *decoder) wrong(key, format string, args ...any) {
	d.faults = append(d.faults, Fault{Key: key, Variable: d.variable, Message: fmt.Sprintf(format, args...)})
}

// sortFaults returns the faults in the order of their keys, without duplicates.
func (d *decoder) sortFaults() []Fault {
	slices.SortStableFunc(d.faults, func(a, b Fault) int {
		return strings.Compare(a.Key+"\x00"+a.Variable, b.Key+"\x00"+b.Variable)
	})
	return slices.Compact(d.faults)
}

// meantBy returns the known key that a path was most likely meant to be, or "" if none is near. It prefers a
// key of the same level with a similar name to a key of another level with the same last name.
func meantBy(path string, known []string) string {
	level, name := split(path)
	var siblings []string
	for _, k := range known {
		if at, sibling := split(k); at == level {
			siblings = append(siblings, sibling)
		}
	}
	if meant := spelling.Nearest(name, siblings); meant != "" {
		return level + meant
	}
	for _, k := range known {
		if _, last := split(k); last == name {
			return k
		}
	}
	return ""
}

// split splits a path into its level, with the final dot, and its last name.
func split(path string) (level, name string) {
	at := strings.LastIndexByte(path, '.')
	return path[:at+1], path[at+1:]
}
