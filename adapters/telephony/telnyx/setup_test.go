package telnyx_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"frontdesk/adapters/telephony/telnyx/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func TestASetupIsChecked(t *testing.T) {
	check := func(s *testServer, connection string) error {
		settings := map[string]any{}
		if connection != "" {
			settings["connection_id"] = connection
		}
		return s.open(t, settings).(adapter.SetupChecker).CheckSetup(t.Context())
	}
	s := serve(t, fake.Options{})
	for rule, connection := range map[string]string{
		"none": "", "an application": fake.Application, "a SIP connection": fake.Trunk,
	} {
		if err := check(s, connection); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
	s.Remove(fake.Application)
	for rule, connection := range map[string]string{
		"one that was removed": fake.Application, "one that never was": "1",
	} {
		f := fault.From(check(s, connection))
		if f == nil || f.Code != fault.Unsupported || f.Reason != fault.ReasonProviderMisconfigured ||
			!strings.Contains(f.Detail, "connection_id") {
			t.Errorf("%s: %v", rule, f)
		}
	}
	s.Forbid()
	if err := check(s, "1"); err != nil {
		t.Errorf("where the key may not look: %v", err)
	}
	s = serve(t, fake.Options{})
	s.Stop()
	wantFault(t, check(s, fake.Application), fault.Unavailable, fault.ReasonProviderUnavailable)
}

func TestANameThatCannotBeGivenIsNotBoughtFor(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	e164 := offered(t, d, "415")
	before := s.Calls()
	_, err := d.Buy(t.Context(), telephony.Order{Key: "k", E164: e164, Name: "frontdesk-order-k"})
	if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest); len(f.Fields) != 1 ||
		f.Fields[0].Path != "name" || s.Calls() != before {
		t.Errorf("answered %v after %d calls", err, s.Calls()-before)
	}
}

// TestAnAnswerThatIsNoneNamesOnlySettingsThatThereAre: a connection to Telnyx has no address setting.
func TestAnAnswerThatIsNoneNamesOnlySettingsThatThereAre(t *testing.T) {
	for _, status := range []int{
		200, 204, 302, 400, 401, 403, 404, 405, 409, 418, 422, 429, 499, 500, 502, 503,
	} {
		for what, ask := range map[string]func(d telephony.Driver) error{
			"read": func(d telephony.Driver) error { _, err := d.Number(t.Context(), "1"); return err },
			"list": func(d telephony.Driver) error {
				_, err := d.Numbers(t.Context(), telephony.Query{})
				return err
			},
			"check": func(d telephony.Driver) error { return d.(adapter.SetupChecker).CheckSetup(t.Context()) },
			"change": func(d telephony.Driver) error {
				_, err := d.Change(t.Context(), "1", telephony.Change{Routing: &telephony.Routing{}})
				return err
			},
			"order": func(d telephony.Driver) error {
				_, err := d.Buy(t.Context(), telephony.Order{Key: "k", E164: "+14155550100"})
				return err
			},
		} {
			t.Run(fmt.Sprint(what, " ", status), func(t *testing.T) {
				s := serve(t, fake.Options{})
				s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					w.WriteHeader(status)
					_, _ = w.Write([]byte("<html><title>Sign in</title></html>"))
				}))
				err := ask(s.open(t, map[string]any{"connection_id": fake.Application}))
				if err == nil {
					if what == "check" && status == 403 {
						return
					}
					t.Fatal("no fault")
				}
				f := fault.From(err)
				if strings.Contains(f.Detail, "address") && !strings.Contains(f.Detail, "providers.telnyx.api_url") ||
					strings.Contains(f.Detail, "connection_id") {
					t.Errorf("told is %q", f.Detail)
				}
			})
		}
	}
}
