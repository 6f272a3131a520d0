package adapter

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

type ticketSettings struct {
	Fields TicketFields `setting:"fields" help:"Fields."`
}

func (s ticketSettings) Validate() []fault.Field {
	return s.Fields.Without(map[string]string{"Subject": "is set by the call."})
}

func readFields(t *testing.T, given any) TicketFields {
	t.Helper()
	s, err := decoder[ticketSettings]()(Values{Settings: map[string]any{"fields": given}})
	if err != nil {
		t.Fatal(err, fault.From(err).Fields)
	}
	return s.Fields
}

func TestTicketFieldsAreFilledFromTheCall(t *testing.T) {
	call := crm.NewTicket{Subject: "A pipe", Priority: "High", OwnerID: "7"}
	known := []TicketField{
		{Name: "Text"}, {Name: "Number", Type: NumberField}, {Name: "Bool", Type: BoolField},
		{Name: "List", Type: ListField, Values: []string{"a", "b", "High"}},
	}
	for _, c := range []struct {
		rule  string
		given any
		want  string
	}{
		{"constants", map[string]any{"Text": "EMEA", "Number": float64(5), "Bool": true, "List": []any{"a", "b"}},
			`{"Bool":true,"List":["a","b"],"Number":5,"Text":"EMEA"}`},
		{"a command line has texts, which become what the fields take",
			map[string]any{"Text": "5", "Number": "-5.20", "Bool": "false", "List": "a"},
			`{"Bool":false,"List":["a"],"Number":-5.20,"Text":"5"}`},
		{"a command line has JSON", `{"Number": 5, "List": ["b"]}`, `{"List":["b"],"Number":5}`},
		{"a number in a text", map[string]any{"Text": float64(20978392000101)}, `{"Text":"20978392000101"}`},
		{"values of the call", map[string]any{"Text": "{priority}: {subject}", "Number": "{owner_id}",
			"List": []any{"a", "{priority}"}}, `{"List":["a","High"],"Number":7,"Text":"High: A pipe"}`},
		{"a text with some values", map[string]any{"Text": "{subject} of {account_id}"}, `{"Text":"A pipe of "}`},
		{"what stands for nothing is left out",
			map[string]any{"Text": "Account {account_id}{contact_id}", "Number": "{contact_id}",
				"List": []any{"{status}"}}, `{}`},
		{"doubled braces", map[string]any{"Text": "{{subject}} {{{subject}}}"}, `{"Text":"{subject} {A pipe}"}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			filled, err := readFields(t, c.given).Fill("acme", known, call)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := json.Marshal(filled); string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatACallerSaysIsNoPlaceholder(t *testing.T) {
	filled, err := readFields(t, map[string]any{"Text": "{subject}"}).
		Fill("acme", []TicketField{{Name: "Text"}}, crm.NewTicket{
			Subject: "{description} }{", Description: "secret",
		})
	if err != nil || filled["Text"] != "{description} }{" {
		t.Errorf("got %v, %v", filled, err)
	}
}

func TestTicketFieldsThatCannotBeAreRefused(t *testing.T) {
	given := map[string]any{
		"Subject": "x", "A": "{subjct}", "B": "{nothing}", "C": "a } b", "D": "", "E": nil, "F": map[string]any{},
		"G": []any{float64(1)}, "H": []any{"{x}"}, "I": "{}",
	}
	const known = "Known placeholders: {subject}, {description}, {status}, {priority}, {owner_id}, " +
		"{account_id}, {contact_id}."
	want := []string{
		"settings.fields.A has the unknown placeholder {subjct}. Did you mean {subject}? " + known,
		"settings.fields.B has the unknown placeholder {nothing}. " + known,
		"settings.fields.C has a brace that is not part of a placeholder; write {{ or }} for a brace.",
		"settings.fields.D must not be empty.",
		"settings.fields.E must be text, a number, true, false or a list of texts.",
		"settings.fields.F must be text, a number, true, false or a list of texts.",
		"settings.fields.G must be a list of texts.",
		"settings.fields.H has the unknown placeholder {x}. " + known,
		"settings.fields.I has the unknown placeholder {}. " + known,
	}
	faults := func(given any) (list []string) {
		_, err := decoder[ticketSettings]()(Values{Settings: map[string]any{"fields": given}})
		for _, f := range fault.From(err).Fields {
			list = append(list, f.Path+" "+f.Message)
		}
		return list
	}
	if got := faults(given); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct{ given, want string }{
		{`{"Subject": "x"}`, "settings.fields.Subject is set by the call."},
		{`["x"]`, "settings.fields must be a mapping of the provider's field names to values."},
		{`Region=EMEA`, "settings.fields must be a mapping of the provider's field names to values, or that as " +
			"JSON: it is not JSON."},
	} {
		if got := faults(c.given); !reflect.DeepEqual(got, []string{c.want}) {
			t.Errorf("%s: got %q, want %q", c.given, got, c.want)
		}
	}
}

func TestWhatTicketFieldsDoNotFitAtTheProvider(t *testing.T) {
	known := []TicketField{
		{Name: "Region", Values: []string{"EMEA", "APAC"}},
		{Name: "Count", Type: NumberField, Values: []string{"1", "2"}}, {Name: "Urgent", Type: BoolField},
		{Name: "Topics", Type: ListField, Values: []string{"heating"}}, {Name: "Formula", ReadOnly: true},
	}
	required := append([]TicketField{{Name: "Site", Required: true}}, known...)
	never := func(string) bool { return false }
	for _, c := range []struct {
		rule  string
		given map[string]any
		known []TicketField
		set   func(string) bool
		says  string
	}{
		{"all fits", map[string]any{"Region": "EMEA", "Count": "2", "Urgent": "true", "Topics": "heating"},
			known, never, ""},
		{"no such field", map[string]any{"Regoin": "EMEA"}, known, never,
			"names the field Regoin, which tickets do not have, or which the connected user cannot see. Did you " +
				"mean Region?"},
		{"a field that nobody sets", map[string]any{"Formula": "1"}, known, never,
			"names the field Formula, which the connected user cannot set."},
		{"a value that is none", map[string]any{"Region": "Mars"}, known, never,
			`gives the field Region the value "Mars", which it does not accept; it accepts EMEA, APAC.`},
		{"a value of a list that is none", map[string]any{"Topics": []any{"heating", "water"}}, known, never,
			`the value "water"`},
		{"a number that is none", map[string]any{"Count": "two"}, known, never,
			"gives the field Count a value that is not a number."},
		{"a number out of the list", map[string]any{"Count": float64(3)}, known, never, `the value "3"`},
		{"a truth that is none", map[string]any{"Urgent": "yes"}, known, never,
			"a value that is not true or false."},
		{"a list where a text is needed", map[string]any{"Region": []any{"EMEA"}}, known, never,
			"a value that is not text."},
		{"a value of the call is known in the call only", map[string]any{"Region": "{priority}"}, known, never, ""},
		{"a required field", nil, required, never,
			"requires fields on tickets that nothing sets: Site. Give them values in the connection's " +
				"setting fields."},
		{"a required field that an entry sets", map[string]any{"Site": "Main"}, required, never, ""},
		{"a required field that each call sets", nil, required,
			func(name string) bool { return name == "Site" }, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			err := readFields(t, c.given).Check("acme", c.known, c.set)
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f := fault.From(err)
			if f == nil || f.Code != fault.Unsupported || f.Reason != fault.ReasonProviderMisconfigured ||
				!strings.Contains(f.Detail, c.says) || f.Metadata["provider"] != "acme" {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func TestARefusalOfWhatAnEntrySetIsTheSetups(t *testing.T) {
	fields := readFields(t, map[string]any{"Owner": "7", "Site": "Main"})
	names := map[string]string{"Owner": "owner_id", "Agent": "owner_id", "Subject": "subject"}
	refused := fault.InvalidField("owner_id", "is none.").With("upstream_status", "400")
	got := fault.From(fields.Attribute("acme", refused, crm.NewTicket{Subject: "x"}, names))
	if got.Code != fault.Unsupported || got.Reason != fault.ReasonProviderMisconfigured ||
		len(got.Fields) != 0 ||
		!strings.Contains(got.Detail, "Owner") || got.Metadata["upstream_status"] != "400" {
		t.Errorf("an entry is answered with %v", got)
	}
	for rule, c := range map[string]struct {
		err  error
		call crm.NewTicket
	}{
		"the call set it": {refused, crm.NewTicket{OwnerID: "8"}},
		"another field":   {fault.InvalidField("subject", "is too long."), crm.NewTicket{}},
		"a refusal without fields": {fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"No."), crm.NewTicket{}},
		"another fault": {fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Down."), crm.NewTicket{}},
		"none": {nil, crm.NewTicket{}},
	} {
		if got := fields.Attribute("acme", c.err, c.call, names); got != c.err {
			t.Errorf("%s: got %v", rule, got)
		}
	}
}
