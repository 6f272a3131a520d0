package rest

import (
	"context"
	"errors"
	"math"
	"math/big"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/itchyny/gojq"

	"frontdesk/core/adapter"
)

// Limits of one evaluation of an expression. A few characters of jq can turn a small response into gigabytes,
// in one operation that no deadline ends. So the size of each value that an expression makes is counted right
// after (see limiter). Operations that make much out of little are counted before.
const (
	maxExecuted   = 300_000  // instructions
	maxMadeBytes  = 16 << 20 // of all values that it makes, including those that it drops
	maxMatching   = 50 << 20 // instructions of a regular expression times bytes of the text
	bytesPerMatch = 1000     // memory that gojq needs
	maxDigits     = 1 << 15  // bits of a whole number
	bytesPerPart  = 32       // of a text that is split: one element of a list
	maxPadding    = 1024     // bytes of a part of a time with a width (timefmt-go, format.go)
)

var (
	errTooLarge = errors.New("has a value that is too large")
	errTooLong  = errors.New("takes too many steps")
)

// work is the memory that one evaluation has left. Expressions have it as the variable workName.
type work struct{ bytes int }

const (
	ownPrefix = "fd_" // of names that expressions of the settings cannot use
	workName  = "$" + ownPrefix + "work"
)

// exhausted reports whether no memory is left.
func (w *work) exhausted() bool { return w.bytes < 0 }

func (w *work) take(n int) error {
	if w.bytes < 0 || n > w.bytes {
		w.bytes = -1
		return errTooLarge
	}
	w.bytes -= n
	return nil
}

// hold counts a value and all values in it. It counts a shared part each time it occurs: writing or comparing
// the value goes through it each time.
func (w *work) hold(v any) error {
	switch v := v.(type) {
	case string:
		return w.take(16 + len(v))
	case []any:
		if err := w.take(24 + 16*len(v)); err != nil {
			return err
		}
		for _, item := range v {
			if err := w.hold(item); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if err := w.take(48 + 64*len(v)); err != nil {
			return err
		}
		for name, member := range v {
			if err := errors.Join(w.take(len(name)), w.hold(member)); err != nil {
				return err
			}
		}
		return nil
	case *big.Int:
		if v.BitLen() > maxDigits {
			return w.take(math.MaxInt)
		}
		return w.take(32 + v.BitLen()/8)
	}
	return w.take(8)
}

// metered ends an evaluation that has no memory or no instructions left. gojq calls Done before each
// instruction. Unlike a failure, an expression cannot catch this.
type metered struct {
	context.Context
	work *work
	left int
}

func (m *metered) Done() <-chan struct{} {
	if m.left--; m.left >= 0 && !m.work.exhausted() {
		return m.Context.Done()
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (m *metered) Err() error {
	switch {
	case m.work.exhausted():
		return errTooLarge
	case m.left < 0:
		return errTooLong
	}
	return m.Context.Err()
}

// counting returns the functions that limiter puts into expressions. Each has the work as its last argument
// and returns its input.
func counting() []gojq.CompilerOption {
	options := []gojq.CompilerOption{gojq.WithVariables([]string{workName})}
	for name, count := range map[string]func(w *work, v any, args []any) error{
		"made":    func(w *work, v any, _ []any) error { return w.hold(v) },
		"widens":  func(w *work, v any, _ []any) error { return w.take(bytesPerPart * lengthOf(v)) },
		"formats": func(w *work, _ any, args []any) error { return w.formats(args[0]) },
		"parts":   func(w *work, v any, args []any) error { return w.parts(v, args[0]) },
		"joins": func(w *work, v any, args []any) error {
			return w.take(product(membersOf(v), lengthOf(args[0])))
		},
		"repeats": func(w *work, _ any, args []any) error {
			return errors.Join(w.repeats(args[0], args[1]), w.repeats(args[1], args[0]))
		},
		"tests":   func(w *work, v any, args []any) error { return w.matches(v, args[0], args[1], false) },
		"matches": func(w *work, v any, args []any) error { return w.matches(v, args[0], args[1], true) },
	} {
		options = append(options, gojq.WithFunction(ownPrefix+name, 1, 3, func(v any, args []any) any {
			w, ok := args[len(args)-1].(*work)
			if !ok {
				return errTooLarge
			}
			if err := count(w, v, args); err != nil {
				return err
			}
			return v
		}))
	}
	return options
}

// padded matches a part of a format that has a width.
var padded = regexp.MustCompile(`%[-_^#0]*[1-9]`)

// formats counts what a format of a time makes.
func (w *work) formats(format any) error {
	text, _ := format.(string)
	return w.take(bytesPerPart*len(text) + maxPadding*len(padded.FindAllStringIndex(text, w.bytes/maxPadding+2)))
}

// parts counts the parts of a text that is split at a separator.
func (w *work) parts(v, separator any) error {
	text, isText := v.(string)
	at, isSeparator := separator.(string)
	if !isText || !isSeparator {
		return nil
	}
	return w.take(bytesPerPart * (strings.Count(text, at) + 1))
}

// repeats counts the result of a text times a number, or of a text divided by another.
func (w *work) repeats(v, by any) error {
	text, isText := v.(string)
	if !isText {
		return nil
	}
	switch by := by.(type) {
	case int:
		return w.take(product(len(text), max(by, 0)))
	case float64:
		return w.take(product(len(text), int(min(max(by, 0), math.MaxInt32))))
	case string:
		return w.parts(v, by)
	}
	return w.take(product(len(text), math.MaxInt32))
}

// matches checks that a regular expression is not too costly. If each match becomes a value, it counts the
// matches.
func (w *work) matches(v, pattern, flags any, all bool) error {
	text, _ := v.(string)
	if pair, isPair := pattern.([]any); isPair && len(pair) > 0 {
		pattern = pair[0]
		if len(pair) > 1 {
			flags = pair[1]
		}
	}
	source, _ := pattern.(string)
	if f, _ := flags.(string); strings.Contains(f, "i") {
		source = "(?i)" + source
	}
	parsed, err := adapter.ParsePattern(source)
	if errors.Is(err, adapter.ErrPatternTooLarge) {
		return w.take(math.MaxInt)
	}
	if err != nil {
		return nil //nolint:nilerr // gojq finds it too, and says so
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || product(len(program.Inst), len(text)) > maxMatching {
		return w.take(math.MaxInt)
	}
	if !all {
		return w.take(len(program.Inst))
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil //nolint:nilerr // gojq finds it too, and says so
	}
	return w.take(bytesPerMatch * len(re.FindAllStringIndex(text, w.bytes/bytesPerMatch+2)))
}

func lengthOf(v any) int {
	text, _ := v.(string)
	return len(text)
}

func membersOf(v any) int {
	list, _ := v.([]any)
	return len(list)
}

// product returns a times b, or math.MaxInt if that is too large.
func product(a, b int) int {
	if a > 0 && b > math.MaxInt32/a {
		return math.MaxInt
	}
	return a * b
}
