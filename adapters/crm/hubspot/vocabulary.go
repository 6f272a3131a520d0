package hubspot

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// pipeline is a sequence of stages, which are the statuses of its tickets
// (developers.hubspot.com/docs/api-reference/latest/crm/pipelines/guide).
type pipeline struct {
	ID           string  `json:"id"`
	Label        string  `json:"label"`
	DisplayOrder int     `json:"displayOrder"`
	Archived     bool    `json:"archived"`
	Stages       []stage `json:"stages"`
}

type stage struct {
	ID           string         `json:"id"`
	Label        string         `json:"label"`
	DisplayOrder int            `json:"displayOrder"`
	Archived     bool           `json:"archived"`
	Metadata     map[string]any `json:"metadata"`
}

// closed reports whether tickets of this stage are closed. A pipeline may have several such stages.
func (s stage) closed() bool {
	return s.Metadata["ticketState"] == "CLOSED" || s.Metadata["isClosed"] == "true"
}

// option is a value that a property may have.
type option struct {
	Label        string `json:"label"`
	Value        string `json:"value"`
	DisplayOrder int    `json:"displayOrder"`
	Hidden       bool   `json:"hidden"`
}

// look searches the remembered value. If find has no result there, look asks once and searches the new value.
func look[T, F any](
	ctx context.Context, r *crm.Remembered[T], now time.Time, ask func(context.Context) (T, error),
	find func(T) (F, bool),
) (found F, ok bool, err error) {
	known, err := r.Look(ctx, now, ask, func(known T) bool {
		_, ok := find(known)
		return ok
	})
	if err == nil {
		found, ok = find(known)
	}
	return found, ok, err
}

// askPipelines requests the pipelines with their stages, each in the order in which HubSpot shows them.
func (d *driver) askPipelines(ctx context.Context) ([]pipeline, error) {
	var answer struct {
		Results []pipeline `json:"results"`
	}
	if err := d.get(ctx, "/crm/pipelines/"+d.version+"/tickets", nil, &answer); err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(answer.Results, func(p pipeline) bool { return p.Archived })
	slices.SortStableFunc(list, func(a, b pipeline) int { return cmp.Compare(a.DisplayOrder, b.DisplayOrder) })
	for i := range list {
		stages := slices.DeleteFunc(list[i].Stages, func(s stage) bool { return s.Archived })
		slices.SortStableFunc(stages, func(a, b stage) int { return cmp.Compare(a.DisplayOrder, b.DisplayOrder) })
		for j := range stages {
			stages[j].Label = strings.TrimSpace(stages[j].Label)
		}
		list[i].Stages = stages
	}
	d.pipelines.Put(list, d.now().Add(crm.LabelsLast))
	return list, nil
}

// askPriorities requests the values that a ticket's priority can have.
func (d *driver) askPriorities(ctx context.Context) ([]option, error) {
	var answer struct {
		Options []option `json:"options"`
	}
	if err := d.get(ctx, "/crm/properties/"+d.version+"/tickets/hs_ticket_priority", nil, &answer); err != nil {
		return nil, err
	}
	list := answer.Options
	for i := range list {
		list[i].Label = strings.TrimSpace(list[i].Label)
	}
	// Options without a position have -1. HubSpot shows them after those that have one.
	position := func(o option) int {
		if o.DisplayOrder < 0 {
			return math.MaxInt
		}
		return o.DisplayOrder
	}
	slices.SortStableFunc(list, func(a, b option) int { return cmp.Compare(position(a), position(b)) })
	d.priorities.Put(list, d.now().Add(crm.LabelsLast))
	return list, nil
}

// selectPipeline returns the pipeline that the setting names by its id or, ignoring case, by its label. If
// the setting is empty, it returns the first one.
func (d *driver) selectPipeline(list []pipeline) (pipeline, error) {
	at := slices.IndexFunc(list, func(p pipeline) bool { return d.pipeline == "" || p.ID == d.pipeline })
	if at < 0 {
		at = slices.IndexFunc(list, func(p pipeline) bool {
			return strings.EqualFold(strings.TrimSpace(p.Label), d.pipeline)
		})
	}
	if at >= 0 && len(list[at].Stages) > 0 {
		return list[at], nil
	}
	labels := make([]string, 0, len(list))
	for _, p := range list {
		labels = append(labels, p.Label)
	}
	return pipeline{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The HubSpot account has no ticket pipeline %q with stages; it has: %s. Correct the connection's setting "+
			"pipeline.",
		d.pipeline, strings.Join(labels, ", "))
}

// opening returns the pipeline and the stage of a new ticket. If label is empty, that is the first stage.
func (d *driver) opening(ctx context.Context, label string) (pipeline, stage, error) {
	type start struct {
		in pipeline
		at stage
	}
	var unknown error
	found, ok, err := look(ctx, &d.pipelines, d.now(), d.askPipelines,
		func(list []pipeline) (start, bool) {
			p, err := d.selectPipeline(list)
			if unknown = err; err != nil {
				return start{}, false
			}
			at := slices.IndexFunc(p.Stages, func(s stage) bool { return label == "" || s.Label == label })
			if at < 0 {
				unknown = fault.InvalidField("status", "is not a stage of the HubSpot pipeline "+p.Label+".")
				return start{}, false
			}
			return start{p, p.Stages[at]}, true
		})
	if err != nil {
		return pipeline{}, stage{}, err
	}
	if !ok {
		return pipeline{}, stage{}, unknown
	}
	return found.in, found.at, nil
}

// stageOf returns a ticket's stage, in any pipeline. A stage that does not exist has no label.
func (d *driver) stageOf(ctx context.Context, pipelineID, stageID string) (stage, error) {
	if stageID == "" {
		return stage{}, nil
	}
	found, _, err := look(ctx, &d.pipelines, d.now(), d.askPipelines,
		func(list []pipeline) (stage, bool) { return stageIn(list, pipelineID, stageID) })
	return found, err
}

func stageIn(list []pipeline, pipelineID, stageID string) (stage, bool) {
	for _, p := range list {
		at := slices.IndexFunc(p.Stages, func(s stage) bool { return s.ID == stageID })
		if at >= 0 && (pipelineID == "" || p.ID == pipelineID) {
			return p.Stages[at], true
		}
	}
	return stage{}, false
}

// priorityOf returns the label of a priority, or "" if the priority does not exist.
func (d *driver) priorityOf(ctx context.Context, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	found, _, err := d.option(ctx, func(o option) bool { return o.Value == value })
	return found.Label, err
}

// priorityNamed returns the value of a label.
func (d *driver) priorityNamed(ctx context.Context, label string) (string, error) {
	if label == "" {
		return "", nil
	}
	found, ok, err := d.option(ctx, func(o option) bool { return !o.Hidden && o.Label == label })
	if err == nil && !ok {
		err = fault.InvalidField("priority", "is not a priority of the HubSpot account.")
	}
	return found.Value, err
}

func (d *driver) option(ctx context.Context, is func(option) bool) (option, bool, error) {
	return look(ctx, &d.priorities, d.now(), d.askPriorities,
		func(list []option) (option, bool) {
			at := slices.IndexFunc(list, is)
			if at < 0 {
				return option{}, false
			}
			return list[at], true
		})
}

// labels returns each label on offer once. It compares labels without regard to case.
func labels[T any](list []T, of func(T) (label string, offered bool)) []string {
	var known []string
	for _, item := range list {
		if label, offered := of(item); offered {
			known = crm.AddText(known, label)
		}
	}
	return known
}
