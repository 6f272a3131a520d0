package rest

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// reads is what an expression surely reads of its input. What comes after a pipe, or in most functions, has another
// input: a response may have members ticket and steps of its own.
type reads struct {
	fields, steps []string // of .ticket and .steps
	all           bool     // it may read every member of its input
}

func readsOf(q *gojq.Query) reads {
	var r reads
	r.query(q)
	r.fields, r.steps = slices.Compact(r.fields), slices.Compact(r.steps)
	return r
}

func (r *reads) query(q *gojq.Query) {
	switch {
	case q == nil:
	case q.Term != nil:
		r.term(q.Term)
	case strings.HasSuffix(q.Op.String(), "=") && !isComparison(q.Op): // it makes members, and keeps all others
		r.all = true
	default:
		r.query(q.Left)
		if q.Op != gojq.OpPipe || len(q.Patterns) > 0 {
			r.query(q.Right)
		}
	}
}

func isComparison(op gojq.Operator) bool {
	return slices.Contains([]gojq.Operator{gojq.OpEq, gojq.OpNe, gojq.OpLe, gojq.OpGe}, op)
}

func (r *reads) queries(list []*gojq.Query) {
	for _, q := range list {
		r.query(q)
	}
}

func (r *reads) text(s *gojq.String) {
	if s != nil {
		r.queries(s.Queries)
	}
}

func (r *reads) index(i *gojq.Index) {
	if i != nil {
		r.text(i.Str)
		r.queries([]*gojq.Query{i.Start, i.End})
	}
}

func (r *reads) term(t *gojq.Term) {
	for _, s := range t.SuffixList {
		r.index(s.Index)
	}
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeRecurse:
		r.all = true
	case gojq.TermTypeIndex:
		r.index(t.Index)
		r.member(t)
	case gojq.TermTypeFunc:
		switch name := t.Func.Name; {
		case name == "first" || name == "last" || name == "limit":
			r.queries(t.Func.Args)
			r.all = r.all || len(t.Func.Args) == 0
		case !strings.HasPrefix(name, "$"):
			r.all = true
		}
	case gojq.TermTypeObject:
		for _, member := range t.Object.KeyVals {
			r.text(member.KeyString)
			r.queries([]*gojq.Query{member.KeyQuery, member.Val})
		}
	case gojq.TermTypeArray:
		r.query(t.Array.Query)
	case gojq.TermTypeUnary:
		r.term(t.Unary.Term)
	case gojq.TermTypeFormat, gojq.TermTypeString:
		r.all = r.all || t.Str == nil
		r.text(t.Str)
	case gojq.TermTypeIf:
		r.queries([]*gojq.Query{t.If.Cond, t.If.Then, t.If.Else})
		for _, e := range t.If.Elif {
			r.queries([]*gojq.Query{e.Cond, e.Then})
		}
	case gojq.TermTypeTry:
		r.query(t.Try.Body)
	case gojq.TermTypeReduce:
		r.queries([]*gojq.Query{t.Reduce.Query, t.Reduce.Start})
	case gojq.TermTypeForeach:
		r.queries([]*gojq.Query{t.Foreach.Query, t.Foreach.Start})
	case gojq.TermTypeLabel:
		r.query(t.Label.Body)
	case gojq.TermTypeQuery:
		r.query(t.Query)
	}
}

// member records .ticket.NAME and .steps.NAME.
func (r *reads) member(t *gojq.Term) {
	if len(t.SuffixList) == 0 || t.SuffixList[0].Index == nil {
		return
	}
	name := t.SuffixList[0].Index.Name
	switch {
	case name == "":
	case t.Index.Name == "ticket":
		r.fields = append(r.fields, name)
	case t.Index.Name == "steps":
		r.steps = append(r.steps, name)
	}
}
