package zendesk

import (
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// labels holds the account's statuses and priorities of tickets, and its ticket fields.
type labels struct {
	custom     []customStatus // if the account has any, they replace the system's
	system     []option
	priorities []option
	fields     []adapter.TicketField
}

type customStatus struct {
	id       int64
	label    string
	active   bool
	category string // the system's status that it counts as
}

// option is one value of a field of Zendesk's own.
type option struct{ value, label string }

// systemStatuses holds the English labels of Zendesk's own statuses. The options of the status field leave
// out those that agents do not choose.
var systemStatuses = []option{
	{"new", "New"}, {"open", "Open"}, {"pending", "Pending"}, {"hold", "On-hold"}, {solved, "Solved"},
	{closed, "Closed"},
}

func labelsOf(statuses customStatusesAnswer, fields fieldsAnswer) labels {
	var known labels
	for _, s := range statuses.Statuses {
		if label := strings.TrimSpace(s.Label); label != "" && s.ID != 0 {
			known.custom = append(known.custom, customStatus{s.ID, label, s.Active, s.Category})
		}
	}
	known.fields = ticketFields(fields, known.custom)
	for _, f := range fields.Fields {
		for _, o := range f.Options {
			given := option{o.Value, strings.TrimSpace(o.Name)}
			switch {
			case given.value == "" || given.label == "":
			case f.Type == "status":
				known.system = append(known.system, given)
			case f.Type == "priority" || f.Type == "basic_priority":
				known.priorities = append(known.priorities, given)
			}
		}
	}
	return known
}

// vocabulary returns the labels that a new ticket can have. A new ticket cannot be closed.
func (l labels) vocabulary() crm.Vocabulary {
	var v crm.Vocabulary
	for _, s := range l.custom {
		if s.active {
			v.Statuses = crm.AddText(v.Statuses, s.label)
		}
	}
	if len(l.custom) == 0 {
		for _, s := range l.system {
			if s.value != closed {
				v.Statuses = crm.AddText(v.Statuses, s.label)
			}
		}
	}
	for _, p := range l.priorities {
		v.Priorities = crm.AddText(v.Priorities, p.label)
	}
	return v
}

// put sets the labels of a new ticket. It returns the faults of those that are not known.
func (l labels) put(status, priority string, on *newTicket) (faults []fault.Field) {
	unknown := func(path string) {
		faults = append(faults, fault.Field{Path: path, Message: "is no longer a label of the Zendesk account."})
	}
	on.Status, on.CustomStatusID, on.Priority = "", 0, ""
	if status != "" && !l.putStatus(status, on) {
		unknown("status")
	}
	if priority != "" {
		i := slices.IndexFunc(l.priorities, func(p option) bool { return p.label == priority })
		if i < 0 {
			unknown("priority")
		} else {
			on.Priority = l.priorities[i].value
		}
	}
	return faults
}

func (l labels) putStatus(label string, on *newTicket) bool {
	for _, s := range l.custom {
		if s.active && s.label == label {
			on.CustomStatusID = s.id
			return true
		}
	}
	for _, s := range l.system {
		if len(l.custom) == 0 && s.value != closed && s.label == label {
			on.Status = s.value
			return true
		}
	}
	return false
}

// knows reports whether the status of a ticket has a label in l.
func (l labels) knows(t ticket) bool {
	if len(l.custom) == 0 || t.CustomStatusID == nil || t.Status == closed {
		return true
	}
	return slices.ContainsFunc(l.custom, func(s customStatus) bool { return s.id == *t.CustomStatusID })
}

// statusOf returns the status as agents see it. Closed is not a custom status: a closed ticket keeps the
// custom status that it was solved with.
func (l labels) statusOf(t ticket) string {
	if t.CustomStatusID != nil && t.Status != closed {
		for _, s := range l.custom {
			if s.id == *t.CustomStatusID {
				return s.label
			}
		}
	}
	return labelOf(append(slices.Clone(l.system), systemStatuses...), t.Status)
}

func (l labels) priorityOf(value string) string { return labelOf(l.priorities, value) }

// labelOf returns the label of a value, or the value itself if it has no label.
func labelOf(options []option, value string) string {
	for _, o := range options {
		if o.value == value {
			return o.label
		}
	}
	return value
}
