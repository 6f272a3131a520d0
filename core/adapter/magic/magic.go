// Package magic is how the sandboxes are told to fail, so that the unhappy paths of a voice agent can be built and tested
// without an account. A word such as "sandbox:down" in a text of the request (a title, an id), in any letter case, has
// the call fail that way; a connection's fault setting does the same to every call. A sandbox puts each call through
// [Read] or [Write]:
//
//	return magic.Write(ctx, p, magic.Call{About: id, Request: "book", Texts: []string{b.Title}},
//		func(ctx context.Context) (calendar.Event, error) { ... })
//
//	word                     what the call does
//	sandbox:slow             takes three seconds more, then acts
//	sandbox:hang             never answers; only the deadline ends it
//	sandbox:rate_limited     is refused: too many calls, again in 30 s
//	sandbox:revoked          is refused: the credentials do not count any more
//	sandbox:forbidden        is refused: the account may not do this
//	sandbox:down             does not reach the provider
//	sandbox:reply_lost       acts, then loses the reply, once: a repeat of the same request finds what was done
//	sandbox:outcome_unknown  acts, then loses the reply, and whatever the call was about stays out of reach for 10 s
//
// The last two do nothing to a call that only reads. A sandbox may know more words of its own. A word that nobody knows
// is text like any other. In an id, the word is not part of the id: "team sandbox:slow" names "team".
package magic

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// Word is a way to fail, as it is written after "sandbox:".
type Word string

// The words that every sandbox knows.
const (
	Slow           Word = "slow"
	Hang           Word = "hang"
	RateLimited    Word = "rate_limited"
	Revoked        Word = "revoked"
	Forbidden      Word = "forbidden"
	Down           Word = "down"
	ReplyLost      Word = "reply_lost"
	OutcomeUnknown Word = "outcome_unknown"
)

// Words lists the words that every sandbox knows, in the order of the table above: the choices of a fault setting.
func Words() []Word {
	return []Word{Slow, Hang, RateLimited, Revoked, Forbidden, Down, ReplyLost, OutcomeUnknown}
}

// How long what lasts.
const (
	SlowFor    = 3 * time.Second  // more than a call takes that is sandbox:slow
	RetryAfter = 30 * time.Second // what sandbox:rate_limited asks for: longer than any deadline
	SilentFor  = 10 * time.Second // how long sandbox:outcome_unknown keeps its subject out of reach
	rememberIt = 10 * time.Minute // how long a lost reply is not lost again
)

var spelled = regexp.MustCompile(`(?i)\bsandbox:([a-z_]+)`)

// Strip answers an id without the words in it that every sandbox knows.
func Strip(id string) string {
	return strings.TrimSpace(spelled.ReplaceAllStringFunc(id, func(word string) string {
		if _, known := common(word[strings.IndexByte(word, ':')+1:]); known {
			return ""
		}
		return word
	}))
}

// common answers the word that every sandbox knows by that spelling.
func common(spelling string) (Word, bool) {
	w := Word(strings.ToLower(spelling))
	return w, slices.Contains(Words(), w)
}

// Provider is the pretended provider behind a sandbox. It is copied freely.
type Provider struct {
	Always  Word                  // the connection's fault setting: counts where a call carries no word of its own
	Latency time.Duration         // how long every call takes
	Own     map[Word]*fault.Error // words of this sandbox alone, and how they are refused
	Storage adapter.Storage       // remembers which replies were lost, under "magic/"
	Now     func() time.Time
}

// Call says what a call is.
type Call struct {
	About   string   // the id of what the call makes, reads or changes, the same for all of them; "" is nothing in particular
	Request string   // the same for repeats of one request and no others, "book" or "change" and a hash; for Write
	Texts   []string // where a word may stand, the first found counts
}

// word is the one that the call carries, "" when there is none.
func (p Provider) word(c Call) Word {
	for _, text := range c.Texts {
		for _, found := range spelled.FindAllStringSubmatch(text, -1) {
			if w, known := common(found[1]); known || p.Own[w] != nil {
				return w
			}
		}
	}
	return p.Always
}
