package freshdesk

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/jsonread"
)

// field is a ticket field (developers.freshdesk.com/api, "Ticket fields"). The form of its choices depends on
// its type.
type field struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Required bool            `json:"required_for_agents"`
	Choices  json.RawMessage `json:"choices"`
	Nested   []struct {
		Name string `json:"name"`
	} `json:"nested_ticket_fields"`
}

// labels holds the account's statuses and priorities of tickets, and its ticket fields.
type labels struct {
	statuses, priorities choices
	fields               []adapter.TicketField
}

// choices are the values of a field in the account's order.
type choices []choice

type choice struct {
	number int
	label  string
}

// standard holds the usual labels of the numbers that every account has, for when the account reports none.
var standard = labels{
	statuses: choices{
		{statusOpen, "Open"}, {statusPending, "Pending"}, {statusResolved, "Resolved"}, {statusClosed, "Closed"},
	},
	priorities: choices{
		{priorityLow, "Low"}, {priorityMedium, "Medium"}, {priorityHigh, "High"}, {priorityUrgent, "Urgent"},
	},
}

// labelsOf reads the choices of the two fields. Those of the status are the labels for agents and for
// customers, by number. Those of the priority are the numbers, by label.
func labelsOf(fields []field) labels {
	known := labels{fields: ticketFields(fields)}
	for _, f := range fields {
		switch f.Type {
		case "default_status":
			for _, m := range jsonread.Members(f.Choices, math.MaxInt) {
				var names []string
				number, err := strconv.Atoi(m.Name)
				if err == nil && json.Unmarshal(m.Value, &names) == nil && len(names) > 0 {
					known.statuses = known.statuses.with(number, names[0])
				}
			}
		case "default_priority":
			for _, m := range jsonread.Members(f.Choices, math.MaxInt) {
				var number int
				if json.Unmarshal(m.Value, &number) == nil {
					known.priorities = known.priorities.with(number, m.Name)
				}
			}
		}
	}
	if len(known.statuses) == 0 {
		known.statuses = standard.statuses
	}
	if len(known.priorities) == 0 {
		known.priorities = standard.priorities
	}
	return known
}

func (c choices) with(number int, label string) choices {
	if label = strings.TrimSpace(label); number <= 0 || label == "" {
		return c
	}
	return append(c, choice{number, label})
}

func (l labels) vocabulary() crm.Vocabulary {
	return crm.Vocabulary{Statuses: l.statuses.labels(), Priorities: l.priorities.labels()}
}

// labels returns each label once. If two choices have the same label, the label stands for the first of them.
func (c choices) labels() []string {
	var list []string
	for _, known := range c {
		list = crm.AddText(list, known.label)
	}
	return list
}

// numberOf returns the number to send for a label.
func (c choices) numberOf(label string) (int, bool) {
	i := slices.IndexFunc(c, func(known choice) bool { return known.label == label })
	if i < 0 {
		return 0, false
	}
	return c[i].number, true
}

func (c choices) knows(number int) bool {
	return slices.ContainsFunc(c, func(known choice) bool { return known.number == number })
}

// labelOf returns the label of a number, or the number itself if it has no label.
func (c choices) labelOf(number int) string {
	for _, known := range c {
		if known.number == number {
			return known.label
		}
	}
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}

// put sets the labels of a new ticket. It returns the faults of those that are not known.
func (l labels) put(status, priority string, on *newTicket) (faults []fault.Field) {
	for _, f := range []struct {
		path, label string
		among       choices
		to          *int
	}{{"status", status, l.statuses, &on.Status}, {"priority", priority, l.priorities, &on.Priority}} {
		if f.label == "" {
			continue
		}
		number, ok := f.among.numberOf(f.label)
		if !ok {
			faults = append(faults,
				fault.Field{Path: f.path, Message: "is no longer a label of the Freshdesk account."})
			continue
		}
		*f.to = number
	}
	return faults
}
