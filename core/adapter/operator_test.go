package adapter

import (
	"context"
	"strings"
	"testing"

	"frontdesk/core/calendar"
	"frontdesk/core/crm"
)

func TestOperatorKeysOfAdapters(t *testing.T) {
	type none struct{}
	calendarOf := func(name string, k *OperatorKeys) Adapter {
		open := func(context.Context, none, Environment) (calendar.Driver, error) { return nil, nil }
		return Calendar(Declaration{Name: name, Operator: k}, open)
	}
	crmOf := func(name string, k *OperatorKeys) Adapter {
		open := func(context.Context, none, Environment) (crm.Driver, error) { return nil, nil }
		return CRM(Declaration{Name: name, Operator: k}, open)
	}
	keys := func(list ...Address) *OperatorKeys { return &OperatorKeys{Help: "Desk.", Addresses: list} }
	api := Address{Name: "api_url", Help: "API."}
	client := keys(api)
	client.ClientIDHelp, client.ClientSecretHelp = "Id.", "Secret."
	half := keys()
	half.ClientIDHelp = "Id."
	for _, rule := range []struct {
		name string
		list []Adapter
		want string // "": they are accepted
	}{
		{"a client and an address", []Adapter{calendarOf("desk", client)}, ""},
		{"the same of two kinds", []Adapter{calendarOf("desk", keys(api)), crmOf("desk", keys(api))}, ""},
		{"of one of two kinds", []Adapter{calendarOf("desk", keys(api)), crmOf("desk", nil)}, ""},
		{"others of another kind", []Adapter{calendarOf("desk", keys(api)), crmOf("desk", client)},
			`two declare different operator keys of "desk"`},
		{"no help", []Adapter{calendarOf("desk", &OperatorKeys{})}, `of "desk" lack`},
		{"half a client", []Adapter{calendarOf("desk", half)}, `of "desk" lack`},
		{"a name that is no variable", []Adapter{calendarOf("a-desk", keys())}, `of "a-desk" lack`},
		{"a name of two levels", []Adapter{calendarOf("a__desk", keys())}, `of "a__desk" lack`},
		{"an address in capitals", []Adapter{calendarOf("desk", keys(Address{Name: "API", Help: "API."}))},
			`"API" of "desk" lacks`},
		{"an address without help", []Adapter{calendarOf("desk", keys(Address{Name: "api_url"}))},
			`"api_url" of "desk" lacks`},
		{"an address twice", []Adapter{calendarOf("desk", keys(api, api))}, `have "api_url" twice`},
		{"an address named as the secret",
			[]Adapter{calendarOf("desk", keys(Address{Name: FieldClientSecret, Help: "A."}))},
			`have "client_secret" twice`},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, err := NewRegistry(rule.list)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if (message == "") != (rule.want == "") || !strings.Contains(message, rule.want) {
				t.Errorf("got %v, want %s", err, rule.want)
			}
		})
	}
}
