package tenant

import (
	"reflect"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
)

func TestVerifySaysWhatItFound(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		c := h.connection("acme", "cal", adapter.KindCalendar, "dav")
		h.desk.says(calendar.Account{Email: "desk@acme.example", Name: "Front Desk"}, nil,
			calendar.Calendar{ID: "/desk/", Name: "Desk", Zone: "Europe/Berlin", IsDefault: true},
			calendar.Calendar{ID: "/holidays/", Name: "Holidays", ReadOnly: true})
		if _, err := h.AddConnection(t.Context(), "acme", NewConnection{Name: "crm", Kind: adapter.KindCRM, Provider: "bearer",
			Settings: map[string]any{"base_url": "https://acme.example"}, Credentials: map[string]string{"token": canary}}); err != nil {
			t.Fatal(err)
		}
		h.connection("acme", "tel", adapter.KindTelephony, "sandbox")
		for name, want := range map[string]Verification{
			"cal": {OK: true, Email: "desk@acme.example", Name: "Front Desk", Details: []string{
				"calendar: Desk (/desk/), zone Europe/Berlin, default", "calendar: Holidays (/holidays/), read-only"}},
			"crm": {OK: true, Email: "help@acme.example", Name: "Acme", Details: []string{
				"statuses: New, Closed", "priorities: Low, High", "account: asked at /me", "ticket: not tried"}},
			"tel": {OK: true, Name: "Lines", Details: []string{"account: AC1"}},
		} {
			got, err := h.VerifyConnection(t.Context(), "acme", name)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, want)
			}
		}
		if row := h.row(c); row.Status != string(StatusOK) || row.Email != "desk@acme.example" {
			t.Errorf("row %+v", row)
		}
	})
}

func TestVerifySaysWhatIsWrongAndWhatToDo(t *testing.T) {
	for _, rule := range []struct {
		name    string
		refusal error
		advice  string
		status  Status
	}{
		{"credentials refused", fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "The server refuses the password."),
			"Enter the credentials again", StatusReconnectRequired},
		{"address refused", fault.New(fault.Forbidden, fault.ReasonEgressRefused, "The address is private."), "egress.allow", StatusOK},
		{"rights missing", fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Not allowed."),
			"Grant the account the missing permissions", StatusOK},
		{"nothing there", fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "No calendar."), "Check the address", StatusOK},
		{"provider down", fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "Down."),
			"Check that the address is right and the provider is up", StatusOK},
		{"too many calls", fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Slow down."), "Wait a while", StatusOK},
		{"defect", errorText("defect " + canary), "see the gateway's log", StatusOK},
	} {
		t.Run(rule.name, func(t *testing.T) {
			h := build(t, storetest.SQLite(t))
			h.tenant("acme")
			c := h.connection("acme", "cal", adapter.KindCalendar, "dav")
			h.desk.says(calendar.Account{}, rule.refusal)
			got, err := h.VerifyConnection(t.Context(), "acme", "cal")
			if err != nil {
				t.Fatal(err)
			}
			if got.OK || got.Problem != fault.From(rule.refusal).Detail ||
				!strings.Contains(got.Advice, rule.advice) || strings.Contains(got.Problem+got.Advice, canary) {
				t.Errorf("got %+v", got)
			}
			if row := h.row(c); row.Status != string(rule.status) {
				t.Errorf("status %s", row.Status)
			}
		})
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

func TestVerifyMendsAConnection(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	c := h.connection("acme", "cal", adapter.KindCalendar, "dav")
	if err := h.MarkVerified(t.Context(), c, "desk@acme.example"); err != nil {
		t.Fatal(err)
	}
	h.desk.says(calendar.Account{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "Refused."))
	for range 2 { // the second time it is marked already
		got, err := h.VerifyConnection(t.Context(), "acme", "cal")
		if err != nil || got.OK || got.Email != "desk@acme.example" {
			t.Errorf("while refused %+v, %v", got, err)
		}
	}
	h.desk.says(calendar.Account{Email: "desk@acme.example"}, nil)
	got, err := h.VerifyConnection(t.Context(), "acme", "cal")
	if err != nil || !got.OK {
		t.Errorf("once accepted %+v, %v", got, err)
	}
	if row := h.row(c); row.Status != string(StatusOK) {
		t.Errorf("status %s", row.Status)
	}
}

func TestVerifyOfWhatDoesNotOpen(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	c := h.connection("acme", "cal", adapter.KindCalendar, "dav")
	h.overwrite(c, "dav", `{"size":"many"}`, nil)
	got, err := h.VerifyConnection(t.Context(), "acme", "cal")
	if err != nil || got.OK || got.Advice != "Correct the connection's settings, then verify again." ||
		!strings.Contains(got.Problem, "settings.size must be a whole number.") {
		t.Errorf("got %+v, %v", got, err)
	}
}
