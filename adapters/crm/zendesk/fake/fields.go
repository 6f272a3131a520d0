package fake

import "strings"

// status is a custom status. The first of each category is Zendesk's own.
type status struct {
	id       int64
	category string
	label    string
	active   bool
}

// statuses holds the initial statuses of the account, in the order of the API.
var statuses = []status{
	{1, "new", "New", true}, {2, "open", "Open", true}, {3, "pending", "Pending", true},
	{4, "hold", "On-hold", true}, {5, "solved", "Solved", true}, {6, "open", "Waiting for the plumber", true},
	{7, "open", "Escalated to the owner", false}, {8, "solved", "Nothing to mend", true},
}

// system holds the options of the system's status field, with their names in the account's language.
var system = [][2]string{{"Open", "open"}, {"Pending", "pending"}, {"On-hold", "hold"}, {"Solved", "solved"}}

var priorities = [][2]string{{"Low", "low"}, {"Normal", "normal"}, {"High", "high"}, {"Urgent", "urgent"}}

func (c call) customStatuses() (map[string]any, *refusal) {
	if c.options.NoStatuses {
		return nil, &refusal{
			status: 404, body: map[string]any{"error": "InvalidEndpoint", "description": "Not found"},
		}
	}
	list := []any{}
	for _, s := range c.statuses {
		if c.options.SystemStatuses {
			break
		}
		list = append(list, map[string]any{
			"id": s.id, "status_category": s.category, "agent_label": s.label, "raw_agent_label": s.label,
			"end_user_label": s.label, "active": s.active, "default": s.id <= 5,
		})
	}
	return map[string]any{"custom_statuses": list}, nil
}

func (c call) ticketFields() (map[string]any, *refusal) {
	field := func(id int, kind, title string, options [][2]string) map[string]any {
		f := map[string]any{"id": id, "type": kind, "title": title, "active": true, "required": false}
		if options != nil {
			list := []any{}
			for _, o := range options {
				list = append(list, map[string]any{"name": o[0], "value": o[1]})
			}
			f["system_field_options"] = list
		}
		return f
	}
	list := []any{
		field(34, "subject", "Subject", nil), field(35, "description", "Description", nil),
		field(36, "status", "Status", system), field(37, "priority", "Priority", priorities),
		field(38, "tickettype", "Type", kinds), field(39, "group", "Group", nil),
		field(40, "assignee", "Assignee", nil),
	}
	for _, own := range c.options.Fields {
		f := map[string]any{
			"id": own.ID, "type": own.Type, "title": own.Title, "active": !own.Inactive, "required": own.Required,
			"removable": true,
		}
		options := []any{}
		for _, value := range own.Options {
			options = append(options, map[string]any{"id": 1, "name": strings.ToUpper(value), "value": value})
		}
		if len(options) > 0 {
			f["custom_field_options"] = options
		}
		list = append(list, f)
	}
	return map[string]any{"ticket_fields": list, "count": len(list), "next_page": nil}, nil
}

var kinds = [][2]string{
	{"Question", "question"}, {"Incident", "incident"}, {"Problem", "problem"}, {"Task", "task"},
}

// statusOf finds a custom status.
func (s *Server) statusOf(fits func(status) bool) (status, bool) {
	for _, one := range s.statuses {
		if fits(one) {
			return one, true
		}
	}
	return status{}, false
}

// AddStatus adds a custom status to the account, as an administrator does.
func (s *Server) AddStatus(label, category string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses = append(s.statuses, status{100 + s.next(), category, label, true})
}

// Rename gives a status another label, as an administrator does.
func (s *Server) Rename(label, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.statuses {
		if s.statuses[i].label == label {
			s.statuses[i].label = to
		}
	}
}

// AddField adds a custom field to the account, as an administrator does.
func (s *Server) AddField(f Field) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Fields = append(s.options.Fields, f)
}
