package caldav_test

import (
	"testing"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/fault"
)

func TestWhatIsWrongWithTheSetupIsFoundByVerifying(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, path, calendar string
		reason, says         string
	}{
		{rule: "all is well"},
		{rule: "a calendar that the connection names", calendar: "Home"},
		{rule: "a calendar that is none", calendar: "Lunch", reason: fault.ReasonProviderMisconfigured,
			says: `"Lunch"`},
		{rule: "a calendar that can be read only", calendar: "Holidays", reason: fault.ReasonPermissionDenied,
			says: `"Holidays"`},
		{rule: "an address of a calendar that can be read only", path: "/dav/calendars/alice/a-holidays/",
			reason: fault.ReasonPermissionDenied, says: `"Holidays"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d := newAccount(t, fake.Options{}).open(t, c.path, map[string]any{"calendar": c.calendar})
			err := d.(adapter.SetupChecker).CheckSetup(t.Context())
			adaptertest.WantSetup(t, err, c.reason, c.says)
		})
	}
}

func TestAnAccountWithoutCalendarsIsFoundByVerifying(t *testing.T) {
	t.Parallel()
	server := fake.New(fake.Options{User: "alice", Password: password, Email: email})
	server.AddTasks("tasks")
	a := account{Server: server, url: adaptertest.Serve(t, server)}
	want(t, a.open(t, "", nil).(adapter.SetupChecker).CheckSetup(t.Context()), fault.Unsupported,
		fault.ReasonProviderMisconfigured)
}
