// Package normalize converts providers' data into the interface's records, and callers' times into instants:
//
//	start, err := normalize.ParseTime("2026-12-01T10:00:00", normalize.DateTime)
//	zone, err := normalize.LoadZone("America/New_York")
//	start.In(zone) // 2026-12-01 10:00:00 -0500 EST
//
// It is pure: it uses no clock and no network, and the same input always gives the same output. Only [LoadZone]
// depends on the machine and remembers: the time package prefers the machine's time-zone data, which an
// operator can update, to the compiled-in copy. A process reads each zone once.
//
// Every error is a sentence for the caller without its subject, which is the field's name: "must be an IANA
// time zone name, …". No error repeats the input, except for a short name that is nearly right.
package normalize

// refusal is an error that says what is wrong with a value, and what to send instead.
type refusal string

// Error returns the sentence.
func (r refusal) Error() string { return string(r) }
