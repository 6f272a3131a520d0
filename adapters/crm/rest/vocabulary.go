package rest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// label is a word of the vocabulary and the value that stands for it.
type label struct {
	name  string
	value any // the name itself if there is no other
}

// maxLabels bounds each list of a vocabulary: it is remembered, and looked through label by label.
const maxLabels = 1000

// words is the vocabulary with its values.
type words struct{ statuses, priorities []label }

func (w words) statusLabels() []label   { return w.statuses }
func (w words) priorityLabels() []label { return w.priorities }

// Vocabulary implements crm.Driver. If vocabulary has no steps, it runs the steps of account, which fail if
// the credentials are refused.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	return d.labels(ctx, d.begin(map[string]any{}))
}

func (d *driver) labels(ctx context.Context, r *run) (crm.Vocabulary, error) {
	if len(d.vocabulary) == 0 {
		if err := r.steps(ctx, d.compiled.account); err != nil {
			return crm.Vocabulary{}, err
		}
	}
	w, err := d.ask(ctx, r)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	return crm.Vocabulary{Statuses: names(w.statuses), Priorities: names(w.priorities)}, nil
}

func names(labels []label) []string {
	list := make([]string, 0, len(labels))
	for _, l := range labels {
		list = append(list, l.name)
	}
	return list
}

// ask requests the vocabulary and remembers it.
func (d *driver) ask(ctx context.Context, r *run) (words, error) {
	if err := r.steps(ctx, d.vocabulary); err != nil {
		return words{}, err
	}
	var w words
	for _, list := range []struct {
		into   *[]label
		fixed  []string
		source expression
	}{{&w.statuses, d.settings.Statuses, d.statuses}, {&w.priorities, d.settings.Priorities, d.priorities}} {
		v, err := list.source.value(ctx, r.input)
		if err != nil {
			return words{}, err
		}
		for _, name := range list.fixed {
			*list.into = append(*list.into, label{name, name})
		}
		items, isList := v.([]any)
		if v != nil && !isList {
			return words{}, misfit(list.source.setting, "gives "+kindOf(v)+", where a list is needed")
		}
		for _, item := range items {
			l, ok := labelFrom(item)
			if !ok {
				return words{}, misfit(list.source.setting,
					"gives a list of something other than labels or {label, value}")
			}
			*list.into = append(*list.into, l)
		}
		if *list.into = distinct(*list.into); len(*list.into) > maxLabels {
			return words{}, misfit(list.source.setting, "gives more than 1,000 labels")
		}
	}
	d.words.Put(w, d.now().Add(crm.LabelsLast))
	return w, nil
}

func labelFrom(v any) (label, bool) {
	if name, ok := v.(string); ok {
		return label{name, name}, true
	}
	members, ok := v.(map[string]any)
	name, isText := members["label"].(string)
	if value := members["value"]; value != nil {
		return label{name, value}, ok && isText
	}
	return label{name, name}, ok && isText
}

// distinct drops empty labels. Of labels that differ only in case it keeps the first.
func distinct(labels []label) []label {
	var kept []label
	known := map[string]bool{"": true}
	for _, l := range labels {
		l.name = strings.TrimSpace(l.name)
		if key := strings.ToLower(l.name); !known[key] {
			known[key] = true
			kept = append(kept, l)
		}
	}
	return kept
}

// find searches the remembered labels. If none fits and one is needed, it requests them and searches again.
func (d *driver) find(
	ctx context.Context, of func(words) []label, is func(label) bool, needed bool,
) (label, bool, error) {
	known, err := d.words.Look(ctx, d.now(),
		func(ctx context.Context) (words, error) { return d.ask(ctx, d.begin(map[string]any{})) },
		func(w words) bool { return !needed || slices.ContainsFunc(of(w), is) })
	if err != nil {
		return label{}, false, err
	}
	if i := slices.IndexFunc(of(known), is); i >= 0 {
		return of(known)[i], true, nil
	}
	return label{}, false, nil
}

// valueOf returns the value to send for a label, or nil if no label is given.
func (d *driver) valueOf(
	ctx context.Context, field string, source expression, of func(words) []label, given string,
) (any, error) {
	if given == "" {
		return nil, nil
	}
	if !source.given() {
		return given, nil
	}
	l, found, err := d.find(ctx, of, func(l label) bool { return l.name == given }, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.InvalidField(field, "is not a label that the ticket system knows.")
	}
	return l.value, nil
}

// labelOf returns the label that a value stands for. If none is known, it returns the one that the system told, or
// "": the system may have others than the vocabulary, which is of new tickets.
func (d *driver) labelOf(
	ctx context.Context, source expression, of func(words) []label, v any, told string,
) (string, error) {
	value, ok := textOf(v)
	if !ok {
		return "", misfit(source.setting, "gives "+kindOf(v)+", where a value of the vocabulary is needed")
	}
	if value == "" {
		return told, nil
	}
	is := func(l label) bool {
		text, ok := textOf(l.value)
		return ok && text == value
	}
	l, _, err := d.find(ctx, of, is, told == "") // not once more for every ticket with such a label
	return cmp.Or(l.name, told), err
}
