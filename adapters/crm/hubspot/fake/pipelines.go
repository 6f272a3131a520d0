package fake

import (
	"slices"
	"strings"
)

type pipeline struct {
	id, label string
	order     int
	archived  bool
	stages    []stage
}

type stage struct {
	id, label string
	order     int
	closed    bool
	archived  bool
}

// initialPipelines returns the pipelines and their stages, not in the order in which they are shown.
func initialPipelines() []pipeline {
	return []pipeline{
		{id: "77130", label: "Returns", order: 1, stages: []stage{
			{id: "77133", label: "Refunded", order: 2, closed: true}, {id: "77131", label: "Announced", order: 0},
			{id: "77132", label: "Arrived ", order: 1},
		}},
		{id: "0", label: "Support Pipeline", order: 0, stages: []stage{
			{id: "4", label: "Closed", order: 3, closed: true}, {id: "1", label: "New", order: 0},
			{id: "77150", label: "Triage", order: 1, archived: true}, {id: "2", label: "Waiting on contact", order: 1},
			{id: "3", label: "Waiting on us", order: 2},
		}},
		{id: "77140", label: "Old", order: 2, archived: true,
			stages: []stage{{id: "77141", label: "New", order: 0}}},
	}
}

// standard returns the pipeline of a ticket that names none.
func (s *Server) standard() pipeline {
	return slices.MinFunc(s.pipelines, func(a, b pipeline) int { return a.order - b.order })
}

// stage finds a stage of a pipeline.
func (s *Server) stage(pipelineID, stageID string) (stage, bool) {
	for _, p := range s.pipelines {
		for _, st := range p.stages {
			if p.id == pipelineID && st.id == stageID && !p.archived && !st.archived {
				return st, true
			}
		}
	}
	return stage{}, false
}

func (c call) listPipelines([]string) (any, *refusal) {
	if refused := first(c.takes(), c.needsOne(readTickets)); refused != nil {
		return nil, refused
	}
	const long = "1970-01-01T00:00:00Z"
	results := []any{}
	for _, p := range c.pipelines {
		stages := []any{}
		for _, st := range p.stages {
			state, isClosed := "OPEN", "false"
			if st.closed {
				state, isClosed = "CLOSED", "true"
			}
			stages = append(stages, map[string]any{
				"id": st.id, "label": st.label, "displayOrder": st.order, "archived": st.archived, "createdAt": long,
				"updatedAt": long, "metadata": map[string]any{"ticketState": state, "isClosed": isClosed},
			})
		}
		results = append(results, map[string]any{
			"id": p.id, "label": p.label, "displayOrder": p.order, "archived": p.archived, "createdAt": long,
			"updatedAt": long, "stages": stages,
		})
	}
	return map[string]any{"results": results}, nil
}

// Relabel gives a stage another label, as an administrator does.
func (s *Server) Relabel(stageID, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pipelines {
		for i := range p.stages {
			if p.stages[i].id == stageID {
				p.stages[i].label = label
			}
		}
	}
}

// RemoveStage archives a stage, as an administrator does.
func (s *Server) RemoveStage(stageID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pipelines {
		for i := range p.stages {
			if p.stages[i].id == stageID {
				p.stages[i].archived = true
			}
		}
	}
}

// choice is an option of a property. Without a position its order is -1.
type choice struct {
	label, value string
	order        int
	hidden       bool
}

var priorities = []choice{
	{"Urgent", "URGENT", -1, false}, {"High", "HIGH", 2, false}, {"Low", "LOW", 0, false},
	{"Whenever", "OLD_LOW", 3, true}, {"Medium", "MEDIUM", 1, false},
}

// standardProperties are HubSpot's own properties that can be set. readOnlyProperties can only be read.
var standardProperties = []string{
	"subject", "content", "hs_pipeline", "hs_pipeline_stage", "hs_ticket_priority", "hubspot_owner_id",
	"source_type",
}

var readOnlyProperties = []string{
	"createdate", "closed_date", "hs_lastmodifieddate", "hs_object_id", "hs_ticket_id",
}

// custom returns the names of the custom properties.
func (s *Server) custom() []string {
	list := slices.Concat(s.options.Unique, s.options.Plain, s.options.Require)
	for _, f := range s.options.Fields {
		list = append(list, f.Name)
	}
	return list
}

// sources returns the sources that a ticket can have.
func (s *Server) sources() []choice {
	list := []choice{{"Chat", "CHAT", 0, false}, {"Email", "EMAIL", 1, false}, {"Form", "FORM", 2, false}}
	if !s.options.NoPhone {
		list = append(list, choice{"Phone", "PHONE", 3, false})
	}
	return list
}

func (c call) property(parts []string) (any, *refusal) {
	if refused := first(c.takes(), c.needsOne(readTickets)); refused != nil {
		return nil, refused
	}
	name := parts[0]
	if !slices.Contains(slices.Concat(standardProperties, readOnlyProperties, c.custom()), name) {
		return nil, &refusal{
			status: 404, category: "OBJECT_NOT_FOUND",
			message: "Property " + name + " does not exist for object type ticket",
		}
	}
	answer := map[string]any{
		"name": name, "label": name, "type": "string", "fieldType": "text", "groupName": "ticketinformation",
		"options": []any{}, "hasUniqueValue": slices.Contains(c.options.Unique, name), "archived": false,
	}
	shown := func(list []choice) []any {
		options := []any{}
		for _, p := range list {
			options = append(options, map[string]any{
				"label": p.label, "value": p.value, "displayOrder": p.order, "hidden": p.hidden,
			})
		}
		return options
	}
	readOnly := slices.Contains(readOnlyProperties, name)
	switch own := c.own(name); {
	case name == "hs_ticket_priority":
		answer["type"], answer["fieldType"], answer["options"] = "enumeration", "select", shown(priorities)
	case name == "source_type":
		answer["type"], answer["fieldType"], answer["options"] = "enumeration", "select", shown(c.sources())
	case name == "hubspot_owner_id":
		answer["type"], answer["fieldType"], answer["externalOptions"] = "enumeration", "select", true
	case own != nil:
		var list []choice
		for i, value := range own.Options {
			list = append(list, choice{strings.ToLower(value), value, i, false})
		}
		answer["type"], answer["fieldType"], answer["options"] = own.Type, own.FieldType, shown(list)
		readOnly = own.ReadOnly
	}
	answer["calculated"] = false
	answer["modificationMetadata"] = map[string]any{
		"archivable": true, "readOnlyDefinition": false, "readOnlyValue": readOnly,
	}
	return answer, nil
}
