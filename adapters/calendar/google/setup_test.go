package google_test

import (
	"testing"

	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/fault"
)

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	const scope = "https://www.googleapis.com/auth/"
	for _, c := range []struct {
		rule   string
		meant  string // calendar_id
		scopes []string
		reason string
		says   string
	}{
		{rule: "all is well"},
		{rule: "another calendar that can be written", meant: second},
		{rule: "a calendar that is not in the list", meant: "unlisted@example.com"},
		{rule: "a calendar that is none", meant: "nobody@example.com", reason: fault.ReasonProviderMisconfigured,
			says: "calendar_id"},
		{rule: "an id that can be none", meant: "..", reason: fault.ReasonProviderMisconfigured,
			says: "calendar_id"},
		{rule: "a calendar whose events cannot be seen", meant: "boss@example.com",
			reason: fault.ReasonProviderMisconfigured, says: "calendar_id"},
		{rule: "a calendar that can be read only", meant: holidays, reason: fault.ReasonPermissionDenied,
			says: "only read"},
		{rule: "a token that may read only", scopes: []string{"calendar.readonly"},
			reason: fault.ReasonPermissionDenied, says: "without all the access"},
		{rule: "a token that may see the list only", scopes: []string{"calendar.calendarlist.readonly"},
			reason: fault.ReasonPermissionDenied, says: "without all the access"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			s.AddCalendar(email, fake.Calendar{ID: "unlisted@example.com", Unlisted: true})
			token, more := s.token, map[string]any{}
			if c.scopes != nil {
				var names []string
				for _, name := range c.scopes {
					names = append(names, scope+name)
				}
				token = s.redeem(t, s.OAuth.Grant(clientID, email, names...))
			}
			if c.meant != "" {
				more["calendar_id"] = c.meant
			}
			err := s.open(t, token, more).(adapter.SetupChecker).CheckSetup(t.Context())
			adaptertest.WantSetup(t, err, c.reason, c.says)
		})
	}
}

func TestASetupIsLookedAtAsGoogleDescribesIt(t *testing.T) {
	api := described.Open(t, "google-calendar.openapi.json", "/calendar/v3")
	if err := serve(t, fake.Options{},
		api.Handler).driver(t).(adapter.SetupChecker).CheckSetup(t.Context()); err != nil {
		t.Error(err)
	}
	api.Report(t)
}
