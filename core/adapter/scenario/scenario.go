// Package scenario implements the sandboxes' test scenarios, so that the unhappy paths of a voice agent can
// be built and tested without an account. A magic value such as "sandbox:down" in a text of the request (a
// title, an id), in any letter case, makes the call fail that way. A connection's fault setting does the same
// to every call. A sandbox passes each call through [Read] or [Write]:
//
//	return scenario.Write(ctx, p, scenario.Call{About: id, Request: "book", Texts: []string{b.Title}},
//		func(ctx context.Context) (calendar.Event, error) { ... })
//
//	value                    what the call does
//	sandbox:slow             takes three seconds more, then acts
//	sandbox:hang             gets no response; only the deadline ends it
//	sandbox:rate_limited     is refused: too many calls, again in 30 s
//	sandbox:revoked          is refused: the credentials are no longer valid
//	sandbox:forbidden        is refused: the account may not do this
//	sandbox:down             does not reach the provider
//	sandbox:reply_lost       acts, then loses the reply, once: a repeat of the same request finds what was done
//	sandbox:outcome_unknown  acts, then loses the reply, and whatever the call was about stays out of reach
//	                         for 10 s
//
// The last two do not affect calls that only read. A sandbox may have further scenarios. An unknown
// value is text like any other. In an id, the value is not part of the id: "team sandbox:slow" names "team".
package scenario

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// Name names a scenario, a way to fail, as it is written after "sandbox:".
type Name string

// The scenarios of every sandbox.
const (
	Slow           Name = "slow"
	Hang           Name = "hang"
	RateLimited    Name = "rate_limited"
	Revoked        Name = "revoked"
	Forbidden      Name = "forbidden"
	Down           Name = "down"
	ReplyLost      Name = "reply_lost"
	OutcomeUnknown Name = "outcome_unknown"
)

// Names lists the scenarios of every sandbox, in the order of the table above: the choices of a fault
// setting.
func Names() []Name {
	return []Name{Slow, Hang, RateLimited, Revoked, Forbidden, Down, ReplyLost, OutcomeUnknown}
}

// Durations of the scenarios.
const (
	SlowFor    = 3 * time.Second  // how much longer a call takes with sandbox:slow
	RetryAfter = 30 * time.Second // the wait of sandbox:rate_limited: longer than any deadline
	SilentFor  = 10 * time.Second // how long sandbox:outcome_unknown makes its subject unreachable
	rememberIt = 10 * time.Minute // how long the reply to the same request is not lost again
)

var spelled = regexp.MustCompile(`(?i)\bsandbox:([a-z_]+)`)

// Strip removes from an id the values that name a scenario of every sandbox.
func Strip(id string) string {
	return strings.TrimSpace(spelled.ReplaceAllStringFunc(id, func(value string) string {
		if _, known := common(value[strings.IndexByte(value, ':')+1:]); known {
			return ""
		}
		return value
	}))
}

// common returns the scenario with that spelling, and reports whether every sandbox has it.
func common(spelling string) (Name, bool) {
	w := Name(strings.ToLower(spelling))
	return w, slices.Contains(Names(), w)
}

// Provider is the fake provider behind a sandbox. It may be copied.
type Provider struct {
	Always  Name                  // the connection's fault setting: applies if a call names no scenario
	Latency time.Duration         // how long every call takes
	Own     map[Name]*fault.Error // scenarios of this sandbox only, with the faults they return
	Storage adapter.Storage       // remembers which replies were lost, under "magic/"
	Now     func() time.Time
}

// Call describes a call.
type Call struct {
	// About is the id of what the call creates, reads or changes, the same for each; "" if there is none.
	About string
	// Request is for Write: "book" or "change" and a hash. Repeats of a request have the same one, other
	// requests do not.
	Request string
	Texts   []string // may name a scenario; the first one found applies
}

// scenario returns the scenario that applies to the call, "" if there is none.
func (p Provider) scenario(c Call) Name {
	for _, text := range c.Texts {
		for _, found := range spelled.FindAllStringSubmatch(text, -1) {
			if w, known := common(found[1]); known || p.Own[w] != nil {
				return w
			}
		}
	}
	return p.Always
}
