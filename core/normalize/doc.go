// Package normalize makes the interface's records of what providers tell, and instants of what callers say. It is pure:
// no clock, no network, no state.
package normalize
