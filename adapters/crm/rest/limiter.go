package rest

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/itchyny/gojq"
)

// uses is the kind of a jq function by what it makes. It determines how limiter counts the function.
type uses int

const (
	passes  uses = iota + 1 // it makes nothing that is larger than a number, or only what its arguments make
	makes                   // it makes a value in proportion to its input
	widens                  // it turns a text into a list
	parts                   // it splits a text at its argument
	joins                   // it puts its argument between the members of a list
	formats                 // it formats as its argument says
	tests                   // it tests a regular expression
	matches                 // it turns the matches of a regular expression into values
	deletes                 // its argument is a path
)

// functionsOf returns the functions of jq that expressions may use. Others make more than can be counted
// (combinations, transpose), use paths that they compute (setpath, paths), or reach something outside (input,
// env).
func functionsOf() map[string]uses {
	known := map[string]uses{
		"strftime": formats, "strptime": formats, "split": parts, "join": joins, "test": tests, "del": deletes,
		"explode": widens, "fromjson": widens, "indices": widens, "index": widens, "rindex": widens,
	}
	for group, names := range map[uses]string{
		passes: "empty error not select type length utf8bytelength has in inside contains startswith endswith " +
			"isempty any all first last nth limit skip IN values nulls strings numbers booleans arrays objects " +
			"iterables scalars recurse range until while repeat tonumber toboolean now floor ceil round trunc sqrt " +
			"pow log log2 log10 exp exp2 exp10 fabs abs min max min_by max_by getpath " +
			"isnan isinfinite isnormal infinite nan mktime",
		makes: "map map_values add ascii_downcase ascii_upcase ltrimstr rtrimstr trimstr ltrim rtrim trim " +
			"tostring tojson keys reverse sort sort_by group_by unique unique_by flatten " +
			"to_entries from_entries with_entries walk implode " +
			"todate fromdate todateiso8601 fromdateiso8601 gmtime ascii toarray INDEX given quoted odata_quoted encoded_query uuid unmarked",
		matches: "match capture scan splits sub gsub",
	} {
		for name := range strings.FieldsSeq(names) {
			known[name] = group
		}
	}
	return known
}

// limiter rewrites an expression so that it counts what it makes.
type limiter struct {
	known   map[string]uses
	own     map[string]bool // functions that the expression defines, and their parameters
	problem string          // the first thing that cannot be counted
}

func (l *limiter) refuse(format string, args ...any) {
	if l.problem == "" {
		l.problem = fmt.Sprintf(format, args...)
	}
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func tally(name string, args ...*gojq.Query) *gojq.Query {
	return call(ownPrefix+name, append(args, call(workName))...)
}

func pipe(first, then *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: first, Op: gojq.OpPipe, Right: then}
}

// bound returns the query "value as $name | body".
func bound(value *gojq.Query, name string, body *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: value, Patterns: []*gojq.Pattern{{Name: name}}, Op: gojq.OpPipe, Right: body}
}

func (l *limiter) all(queries []*gojq.Query) {
	for i, q := range queries {
		queries[i] = l.query(q)
	}
}

// query returns the query with its counts; nil stays nil.
func (l *limiter) query(q *gojq.Query) *gojq.Query {
	if q == nil {
		return nil
	}
	if q.Meta != nil || len(q.Imports) > 0 {
		l.refuse("has modules")
	}
	l.define(q.FuncDefs)
	made := l.body(q)
	if len(q.FuncDefs) > 0 {
		made = &gojq.Query{FuncDefs: q.FuncDefs, Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: made}}
	}
	return made
}

func (l *limiter) define(definitions []*gojq.FuncDef) {
	for _, f := range definitions {
		for _, name := range append([]string{f.Name}, f.Args...) {
			name = strings.TrimPrefix(name, "$")
			if l.known[name] != 0 || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ownPrefix) {
				l.refuse("defines %s, which is a function of jq", name)
			}
			l.own[name] = true
		}
		f.Body = l.query(f.Body)
	}
}

func (l *limiter) body(q *gojq.Query) *gojq.Query {
	if q.Term != nil {
		return l.term(q.Term)
	}
	l.patterns(q.Patterns)
	switch q.Op {
	case gojq.OpAdd, gojq.OpSub, gojq.OpMod:
		return pipe(&gojq.Query{Left: l.query(q.Left), Op: q.Op, Right: l.query(q.Right)}, tally("made"))
	case gojq.OpMul, gojq.OpDiv:
		left, right := call("$"+ownPrefix+"left"), call("$"+ownPrefix+"right")
		product := pipe(&gojq.Query{Left: left, Op: q.Op, Right: right}, tally("made"))
		work := pipe(tally("repeats", left, right), product)
		return bound(l.query(q.Right), right.Term.Func.Name, bound(l.query(q.Left), left.Term.Func.Name, work))
	case gojq.OpUpdateMul, gojq.OpUpdateDiv:
		l.refuse("has %s: write it out", q.Op)
		return q
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		l.path(q.Left)
		return pipe(&gojq.Query{Left: q.Left, Op: q.Op, Right: l.query(q.Right)}, tally("made"))
	}
	return &gojq.Query{Left: l.query(q.Left), Patterns: q.Patterns, Op: q.Op, Right: l.query(q.Right)}
}

func (l *limiter) patterns(list []*gojq.Pattern) {
	for _, p := range list {
		if strings.HasPrefix(p.Name, "$"+ownPrefix) {
			l.refuse("uses the variable %s, which is not supported", p.Name)
		}
		l.patterns(p.Array)
		for _, member := range p.Object {
			l.text(member.KeyString)
			member.KeyQuery = l.query(member.KeyQuery)
			if member.Val != nil {
				l.patterns([]*gojq.Pattern{member.Val})
			}
		}
	}
}

func (l *limiter) text(s *gojq.String) {
	if s != nil {
		l.all(s.Queries)
	}
}

func (l *limiter) index(i *gojq.Index) {
	if i != nil {
		l.text(i.Str)
		i.Start, i.End = l.query(i.Start), l.query(i.End)
	}
}

// term returns a term with its counts, which come before the suffixes of the term.
func (l *limiter) term(t *gojq.Term) *gojq.Query {
	for _, s := range t.SuffixList {
		l.index(s.Index)
	}
	base := *t
	base.SuffixList = nil
	made := l.base(&base)
	if len(t.SuffixList) == 0 {
		return made
	}
	if made.Term == &base {
		base.SuffixList = t.SuffixList
		return made
	}
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: made, SuffixList: t.SuffixList}}
}

func (l *limiter) base(t *gojq.Term) *gojq.Query {
	plain := &gojq.Query{Term: t}
	switch t.Type {
	case gojq.TermTypeIndex:
		l.index(t.Index)
	case gojq.TermTypeFunc:
		return l.function(t)
	case gojq.TermTypeObject:
		for _, member := range t.Object.KeyVals {
			if strings.HasPrefix(member.Key, "$"+ownPrefix) {
				l.refuse("uses the variable %s, which is not supported", member.Key)
			}
			l.text(member.KeyString)
			member.KeyQuery, member.Val = l.query(member.KeyQuery), l.query(member.Val)
		}
		return pipe(plain, tally("made"))
	case gojq.TermTypeArray:
		t.Array.Query = l.query(t.Array.Query)
		return pipe(plain, tally("made"))
	case gojq.TermTypeUnary:
		t.Unary.Term = &gojq.Term{Type: gojq.TermTypeQuery, Query: l.term(t.Unary.Term)}
	case gojq.TermTypeFormat:
		return pipe(plain, tally("made"))
	case gojq.TermTypeString:
		if len(t.Str.Queries) > 0 {
			l.text(t.Str)
			return pipe(plain, tally("made"))
		}
	case gojq.TermTypeIf:
		t.If.Cond, t.If.Then, t.If.Else = l.query(t.If.Cond), l.query(t.If.Then), l.query(t.If.Else)
		for _, e := range t.If.Elif {
			e.Cond, e.Then = l.query(e.Cond), l.query(e.Then)
		}
	case gojq.TermTypeTry:
		t.Try.Body, t.Try.Catch = l.query(t.Try.Body), l.query(t.Try.Catch)
	case gojq.TermTypeReduce:
		l.patterns(t.Reduce.Patterns)
		r := t.Reduce
		r.Query, r.Start, r.Update = l.query(r.Query), l.query(r.Start), l.query(r.Update)
	case gojq.TermTypeForeach:
		l.patterns(t.Foreach.Patterns)
		f := t.Foreach
		f.Query, f.Start = l.query(f.Query), l.query(f.Start)
		f.Update, f.Extract = l.query(f.Update), l.query(f.Extract)
	case gojq.TermTypeLabel:
		t.Label.Body = l.query(t.Label.Body)
	case gojq.TermTypeQuery:
		t.Query = l.query(t.Query)
	}
	return plain
}

func (l *limiter) function(t *gojq.Term) *gojq.Query {
	f, plain := t.Func, &gojq.Query{Term: t}
	if strings.HasPrefix(f.Name, "$") {
		if strings.HasPrefix(f.Name, "$"+ownPrefix) {
			l.refuse("uses the variable %s, which is not supported", f.Name)
		}
		return plain
	}
	if l.own[f.Name] {
		l.all(f.Args)
		return plain
	}
	kind := l.known[f.Name]
	switch kind {
	case 0:
		l.refuse("has %s/%d, whose memory cannot be bounded", f.Name, len(f.Args))
		return plain
	case deletes:
		for _, path := range f.Args {
			l.path(path)
		}
		return pipe(plain, tally("made"))
	}
	l.all(f.Args)
	switch {
	case kind == makes:
		return pipe(plain, tally("made"))
	case kind == widens:
		return pipe(pipe(tally("widens"), plain), tally("made"))
	case len(f.Args) == 1 && (kind == joins || kind == formats || kind == parts):
		argument := f.Args[0]
		f.Args[0] = call("$" + ownPrefix + "by")
		first := tally(map[uses]string{joins: "joins", formats: "formats", parts: "parts"}[kind], f.Args[0])
		return bound(argument, f.Args[0].Term.Func.Name, pipe(first, pipe(plain, tally("made"))))
	case kind == parts, kind == tests, kind == matches:
		return l.regular(f, plain, kind)
	}
	return plain
}

// regular adds a check of a call's regular expression before it is used.
func (l *limiter) regular(f *gojq.Func, plain *gojq.Query, k uses) *gojq.Query {
	if len(f.Args) == 0 {
		return plain
	}
	pattern, flags := f.Args[0], &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}
	variable, flagsVariable := call("$"+ownPrefix+"re"), call("$"+ownPrefix+"flags")
	f.Args[0] = variable
	last := 1
	if f.Name == "sub" || f.Name == "gsub" {
		last = 2
		if len(f.Args) > 1 {
			f.Args[1] = pipe(f.Args[1], tally("made"))
		}
	}
	if len(f.Args) > last {
		flags, f.Args[last] = f.Args[last], flagsVariable
	}
	name := "matches"
	if k == tests {
		name = "tests"
	}
	look := pipe(tally(name, variable, flagsVariable), plain)
	if k != tests {
		look = pipe(look, tally("made"))
	}
	return bound(flags, flagsVariable.Term.Func.Name, bound(pattern, variable.Term.Func.Name, look))
}

// maxIndex is the highest list index that may be assigned. All elements before it are made as well.
const maxIndex = 1000

// path requires that the left side of an assignment is written out, so that no value of a response chooses
// its members.
func (l *limiter) path(q *gojq.Query) {
	switch {
	case q == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0:
	case q.Term != nil:
		if l.plain(q.Term) {
			return
		}
	case q.Op == gojq.OpPipe || q.Op == gojq.OpComma:
		l.path(q.Left)
		l.path(q.Right)
		return
	}
	l.refuse("assigns or deletes by a path that is not written out")
}

func (l *limiter) plain(t *gojq.Term) bool {
	for _, s := range t.SuffixList {
		if s.Index != nil && !isWrittenOut(s.Index) {
			return false
		}
	}
	switch t.Type {
	case gojq.TermTypeIdentity:
		return true
	case gojq.TermTypeIndex:
		return isWrittenOut(t.Index)
	case gojq.TermTypeQuery:
		l.path(t.Query)
		return true
	case gojq.TermTypeFunc:
		if t.Func.Name == "select" && len(t.Func.Args) == 1 && !l.own["select"] {
			l.all(t.Func.Args)
			return true
		}
	}
	return false
}

// isWrittenOut reports whether an index is a name or a small number.
func isWrittenOut(i *gojq.Index) bool {
	switch {
	case i.IsSlice:
		return false
	case i.Name != "":
		return true
	case i.Str != nil:
		return len(i.Str.Queries) == 0
	case i.Start == nil || i.Start.Term == nil || len(i.Start.Term.SuffixList) > 0:
		return false
	}
	switch t := i.Start.Term; t.Type {
	case gojq.TermTypeString:
		return len(t.Str.Queries) == 0
	case gojq.TermTypeNumber:
		n, ok := new(big.Int).SetString(t.Number, 10)
		return ok && n.IsInt64() && n.Int64() <= maxIndex
	}
	return false
}
