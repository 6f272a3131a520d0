package salesforce_test

import (
	"testing"

	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/crm/crmtest"
)

// TestContract runs the suite in the settings that TestEveryRequestIsAsSalesforceDescribesThem leaves: it runs the
// suite as well.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		rule string
		how  fake.Options
		more map[string]any
	}{
		{rule: "with emails", more: map[string]any{"comments": "emails"}},
		{rule: "with posts", more: map[string]any{"comments": "feed"}},
		{
			rule: "with labels that are translated", how: fake.Options{
				Statuses: []fake.Value{
					{Value: "New", Label: "Neu", Default: true}, {Value: "On Hold", Label: "Wartet", Inactive: true},
					{Value: "Closed", Label: "Geschlossen", Closed: true},
				},
				Priorities: []fake.Value{{Value: "High", Label: "Hoch"}, {Value: "Low", Label: "Niedrig", Default: true}},
			},
		},
		{
			rule: "with numbers of another format", how: fake.Options{Numbers: "CS-%05d"},
			more: map[string]any{"number_format": "(CS-)?[0-9]{1,20}", "number_width": 0},
		},
		{rule: "with numbers that may be anything", more: map[string]any{"number_format": "(?s).*"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			crmtest.Run(t, func(t *testing.T) crmtest.Harness { return harness(t, serve(t, c.how), c.how, c.more) })
		})
	}
}
