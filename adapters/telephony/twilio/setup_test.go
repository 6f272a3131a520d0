package twilio_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/telephony"
)

func TestASetupIsChecked(t *testing.T) {
	all := []string{
		"voice_application=" + fake.Application, "sip_trunk=" + fake.Trunk, "address_sid=" + fake.Address,
		"bundle_sid=" + fake.Bundle,
	}
	forbids := func(part string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, part) {
					says(http.StatusUnauthorized, `{"code":70051}`).ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		}
	}
	for _, c := range []struct {
		rule     string
		settings []string
		how      fake.Options
		before   func(*testServer)
		around   []func(http.Handler) http.Handler
		names    string // the setting that the fault names; "": no fault
	}{
		{rule: "nothing is named"},
		{rule: "an address of webhooks alone", settings: []string{"voice_url_template=" + template}},
		{rule: "everything is there", settings: all},
		{rule: "everything is there, for a standard key", settings: all, how: fake.Options{StandardKey: true}},
		{rule: "no application", settings: all, before: func(s *testServer) { s.Remove(fake.Application) },
			names: "voice_application"},
		{rule: "no trunk", settings: all, before: func(s *testServer) { s.Remove(fake.Trunk) }, names: "sip_trunk"},
		{rule: "no address", settings: all, before: func(s *testServer) { s.Remove(fake.Address) },
			names: "address_sid"},
		{rule: "no bundle", settings: all, before: func(s *testServer) { s.Remove(fake.Bundle) },
			names: "bundle_sid"},
		{rule: "a bundle that is not approved", settings: all, before: func(s *testServer) { s.Unapprove() },
			names: "bundle_sid"},
		{rule: "a trunk that the credentials may not read", settings: all,
			around: []func(http.Handler) http.Handler{forbids("/Trunks/")}},
		{rule: "a subaccount's trunk, which its parent cannot see", settings: []string{
			"subaccount_sid=" + fake.SubaccountSID, "sip_trunk=" + fake.Trunk,
		},
			before: func(s *testServer) { s.Remove(fake.Trunk) }},
		{rule: "a subaccount's application", settings: []string{
			"subaccount_sid=" + fake.SubaccountSID, "voice_application=" + fake.Application,
		},
			before: func(s *testServer) { s.Remove(fake.Application) }, names: "voice_application"},
	} {
		s := serve(t, c.how, c.around...)
		if c.before != nil {
			c.before(s)
		}
		err := s.open(t, byKey, set(c.settings...)).(adapter.SetupChecker).CheckSetup(t.Context())
		if c.names == "" {
			if err != nil {
				t.Errorf("%s: %v", c.rule, err)
			}
			continue
		}
		wantFault(t, c.rule, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
		if f := fault.From(err); !strings.Contains(f.Detail, c.names) {
			t.Errorf("%s: told is %q", c.rule, f.Detail)
		}
	}
	s := serve(t, fake.Options{})
	s.Instead(says(http.StatusOK, `{"sid":"`+fake.Trunk+`"}`))
	err := s.driver(t, "voice_application="+fake.Application).(adapter.SetupChecker).CheckSetup(t.Context())
	wantFault(t, "something else", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	s = serve(t, fake.Options{})
	s.Stop()
	err = s.driver(t, "voice_application="+fake.Application).(adapter.SetupChecker).CheckSetup(t.Context())
	wantFault(t, "a provider that is down", err, fault.Unavailable, fault.ReasonProviderUnavailable)
}

func TestANameThatCannotBeGivenIsNotBoughtFor(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	o := order("+14155550100")
	o.Name = strings.Repeat("ä", 65)
	_, err := s.driver(t).Buy(t.Context(), o)
	if !slices.Equal(faulttest.Paths(err), []string{"name"}) || s.Calls() != 0 {
		t.Errorf("answered %v after %d calls", err, s.Calls())
	}
	o.Name = o.Name[2:]
	if n, err := s.driver(t).Buy(t.Context(), o); err != nil || n == (telephony.Number{}) {
		t.Errorf("answered %+v, %v", n, err)
	}
}
