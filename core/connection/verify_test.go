package connection_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant/tenanttest"
)

func TestVerifySaysWhatItFound(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		c := h.Connection("acme", "cal", adapter.KindCalendar, "dav")
		h.Desk.Says(calendar.Account{Email: "desk@acme.example", Name: "Front Desk"}, nil,
			calendar.Calendar{ID: "/desk/", Name: "Desk", Zone: "Europe/Berlin", IsDefault: true},
			calendar.Calendar{ID: "/holidays/", Name: "Holidays", ReadOnly: true})
		if _, err := h.Connections.Add(t.Context(), "acme", connection.Spec{
			Name: "crm", Kind: adapter.KindCRM, Provider: "bearer",
			Settings:    map[string]any{"base_url": "https://acme.example"},
			Credentials: map[string]string{"token": tenanttest.Canary},
		}); err != nil {
			t.Fatal(err)
		}
		h.Connection("acme", "tel", adapter.KindTelephony, "sandbox")
		for name, want := range map[string]connection.Verification{
			"cal": {OK: true, Email: "desk@acme.example", Name: "Front Desk", Details: []string{
				"calendar: Desk (/desk/), zone Europe/Berlin, default", "calendar: Holidays (/holidays/), read-only"}},
			"crm": {OK: true, Email: "help@acme.example", Name: "Acme", Details: []string{
				"statuses: New, Closed", "priorities: Low, High", "account: asked at /me", "ticket: not tried"}},
			"tel": {OK: true, Name: "Lines", Details: []string{"account: AC1"}},
		} {
			got, err := h.Connections.Verify(t.Context(), "acme", name)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, want)
			}
		}
		if row := h.Row(c); row.Status != string(connection.StatusOK) || row.Email != "desk@acme.example" {
			t.Errorf("row %+v", row)
		}
	})
}

func TestVerifySaysWhatIsWrongAndWhatToDo(t *testing.T) {
	for _, rule := range []struct {
		name    string
		refusal error
		advice  string
		status  connection.Status
	}{
		{"credentials refused",
			fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "The server refuses the password."),
			"Enter the credentials again", connection.StatusReconnectRequired},
		{"address refused", fault.New(fault.Forbidden, fault.ReasonEgressRefused, "The address is private."),
			"public address by https", connection.StatusOK},
		{"rights missing", fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Not allowed."),
			"Grant the account the missing permissions", connection.StatusOK},
		{"account suspended", fault.New(fault.Forbidden, fault.ReasonAccountSuspended, "Suspended."),
			"Put the account in order", connection.StatusOK},
		{"nothing there", fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "No calendar."),
			"Check the address", connection.StatusOK},
		{"provider down", fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "Down."),
			"Check that the address is right and the provider is up", connection.StatusOK},
		{"too many calls", fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Slow down."),
			"Wait a while", connection.StatusOK},
		{"defect", errorText("defect " + tenanttest.Canary), "see the gateway's log", connection.StatusOK},
	} {
		t.Run(rule.name, func(t *testing.T) {
			h := tenanttest.Open(t, storetest.SQLite(t))
			h.Tenant("acme")
			c := h.Connection("acme", "cal", adapter.KindCalendar, "dav")
			h.Desk.Says(calendar.Account{}, rule.refusal)
			got, err := h.Connections.Verify(t.Context(), "acme", "cal")
			if err != nil {
				t.Fatal(err)
			}
			if got.OK || got.Problem != fault.From(rule.refusal).Detail ||
				!strings.Contains(got.Advice, rule.advice) ||
				strings.Contains(got.Problem+got.Advice, tenanttest.Canary) {
				t.Errorf("got %+v", got)
			}
			if row := h.Row(c); row.Status != string(rule.status) {
				t.Errorf("status %s", row.Status)
			}
		})
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

func TestVerifyMendsAConnection(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	c := h.Connection("acme", "cal", adapter.KindCalendar, "dav")
	if err := h.Connections.MarkVerified(t.Context(), c, "desk@acme.example"); err != nil {
		t.Fatal(err)
	}
	h.Desk.Says(calendar.Account{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "Refused."))
	for range 2 { // the second time it is already marked
		got, err := h.Connections.Verify(t.Context(), "acme", "cal")
		if err != nil || got.OK || got.Email != "desk@acme.example" {
			t.Errorf("while refused %+v, %v", got, err)
		}
	}
	h.Desk.Says(calendar.Account{Email: "desk@acme.example"}, nil)
	got, err := h.Connections.Verify(t.Context(), "acme", "cal")
	if err != nil || !got.OK {
		t.Errorf("once accepted %+v, %v", got, err)
	}
	if row := h.Row(c); row.Status != string(connection.StatusOK) {
		t.Errorf("status %s", row.Status)
	}
}

func TestVerifyOfWhatDoesNotOpen(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	c := h.Connection("acme", "cal", adapter.KindCalendar, "dav")
	h.Overwrite(c, "dav", `{"size":"many"}`, nil)
	got, err := h.Connections.Verify(t.Context(), "acme", "cal")
	if err != nil || got.OK || got.Advice != "Correct the connection's settings, then verify again." ||
		!strings.Contains(got.Problem, "settings.size must be a whole number.") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNumbersWhosePagesLeadInACircleEndWithAFault(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	pages := 0
	_, err := connection.NumbersOf(ctx, func(ctx context.Context, _ telephony.Query) (telephony.Page, error) {
		if pages++; pages == 10 {
			stop()
		}
		n := telephony.Number{Ref: strconv.Itoa(pages % 2), E164: "+14155550100"}
		return telephony.Page{Numbers: []telephony.Number{n}, Next: n.Ref}, ctx.Err()
	})
	if !errors.Is(err, fault.Unavailable) || pages != 3 {
		t.Errorf("%d pages were read, %v", pages, err)
	}
}
