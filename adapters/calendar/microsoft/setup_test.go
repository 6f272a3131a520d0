package microsoft_test

import (
	"net/url"
	"testing"

	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/fault"
)

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule    string
		how     fake.Options
		mailbox string
		meant   func(*account) string // calendar_id
		scopes  []string
		reason  string
		says    string
	}{
		{rule: "all is well"},
		{rule: "all is well with application permissions", mailbox: email},
		{rule: "another calendar that can be written",
			meant: func(a *account) string { return a.AddCalendar("Second", false) }},
		{rule: "a calendar that is none", meant: func(*account) string { return "AAMkAGI/no+calendar=" },
			reason: fault.ReasonProviderMisconfigured, says: "calendar_id"},
		{rule: "an id that can be none", meant: func(*account) string { return ".." },
			reason: fault.ReasonProviderMisconfigured, says: "calendar_id"},
		{rule: "a calendar that can be read only",
			meant:  func(a *account) string { return a.AddCalendar("Holidays", true) },
			reason: fault.ReasonPermissionDenied, says: "only read"},
		{rule: "a token that may read only", scopes: []string{"User.Read", "Calendars.Read"},
			reason: fault.ReasonPermissionDenied, says: "was not granted"},
		{rule: "a token that may not see calendars", scopes: []string{"User.Read"},
			reason: fault.ReasonPermissionDenied, says: "was not granted"},
		{rule: "a mailbox that is none", mailbox: "nobody@example.com", reason: fault.ReasonProviderMisconfigured,
			says: "settings.mailbox"},
		{rule: "an account without a mailbox", how: fake.Options{NoMailbox: true},
			reason: fault.ReasonProviderMisconfigured, says: "mailbox"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := serve(t, c.how, nil)
			a.mailbox = c.mailbox
			if c.meant != nil {
				a.setting["calendar_id"] = c.meant(a)
			}
			var token string
			if c.scopes == nil {
				token = a.token()
			} else {
				token = adaptertest.AccessToken(t, a.url+"/common/oauth2/v2.0/token", url.Values{
					"client_id": {clientID}, "client_secret": {clientSecret}, "grant_type": {"refresh_token"},
					"refresh_token": {a.OAuth().Grant(clientID, email, append(c.scopes, "offline_access")...)},
				})
			}
			err := a.openWith(token).(adapter.SetupChecker).CheckSetup(t.Context())
			adaptertest.WantSetup(t, err, c.reason, c.says)
		})
	}
}

func TestASetupIsLookedAtAsMicrosoftDescribesIt(t *testing.T) {
	t.Parallel()
	api := described.Open(t, "msgraph-calendar.openapi.json", "/v1.0")
	for rule, meant := range map[string]bool{"of the default calendar": false, "of another": true} {
		t.Run(rule, func(t *testing.T) {
			a := serve(t, fake.Options{}, held(api))
			if meant {
				a.setting["calendar_id"] = a.AddCalendar("Second", false)
			}
			if err := a.open().(adapter.SetupChecker).CheckSetup(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	api.Report(t)
}
