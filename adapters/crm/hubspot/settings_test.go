package hubspot_test

import (
	"testing"

	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/crm"
	"frontdesk/core/crm/crmtest"
)

// TestContract runs the suite in the settings that TestEveryRequestIsAsHubSpotDescribesThem, which runs it with a
// private app's token, and TestContractWithAPropertyForTheKey leave.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		rule    string
		how     fake.Options
		more    map[string]any
		consent bool
		words   crm.Vocabulary
	}{
		{rule: "with a customer's consent to the scopes asked for", consent: true, words: support},
		{rule: "with a pipeline named by its label", more: map[string]any{"pipeline": "returns"}, words: returned},
		{rule: "with a pipeline named by its id", more: map[string]any{"pipeline": "77130"}, words: returned},
		{rule: "with another version", how: fake.Options{Version: "2027-03"},
			more: map[string]any{"api_version": "2027-03"}, words: support},
	} {
		t.Run(c.rule, func(t *testing.T) {
			crmtest.Run(t, func(t *testing.T) crmtest.Harness {
				s, token := serve(t, c.how), private
				if c.consent {
					token = s.consented(t)
				}
				return harness(t, s, token, c.more, c.words)
			})
		})
	}
}
