// Package normalize makes the interface's records of what providers tell, and instants of what callers say:
//
//	start, err := normalize.ParseTime("2026-12-01T10:00:00", normalize.DateTime)
//	zone, err := normalize.LoadZone("America/New_York")
//	start.In(zone) // 2026-12-01 10:00:00 -0500 EST
//
// It is pure: no clock, no network, no state, and the same input always gives the same output. Only
// [LoadZone] looks outside: the time package prefers the machine's time-zone data, which an operator can
// update, to the compiled-in copy.
//
// Every error is a sentence for the caller without its subject, which is the field's name: "must be an IANA
// time zone name, …". No error repeats the input, except for a short name that is nearly right.
package normalize

// refusal says what is wrong with a value, and what to send in its place.
type refusal string

// Error gives the sentence.
func (r refusal) Error() string { return string(r) }
