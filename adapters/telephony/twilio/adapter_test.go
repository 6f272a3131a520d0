package twilio_test

import (
	"slices"
	"strings"
	"testing"

	"frontdesk/adapters/telephony/twilio"
	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/fault/faulttest"
)

func TestTheWayToAuthoriseFollowsTheCredentials(t *testing.T) {
	for _, c := range []struct {
		rule               string
		by                 access
		username, password string
	}{
		{"the account and its token", byToken, "account_sid", "auth_token"},
		{"an API key", byKey, "api_key_sid", "api_key_secret"},
	} {
		a, err := twilio.Adapter().With(adapter.Values{Credentials: c.by})
		if err != nil || a.Auth.Scheme != adapter.Basic || a.Auth.Username != c.username ||
			a.Auth.Password != c.password || a.Auth.BaseURL != "" {
			t.Errorf("%s: %+v, %v", c.rule, a.Auth, err)
		}
	}
}

func TestWhatDoesNotFitIsToldAtOnceAndWithItsPlace(t *testing.T) {
	const good = "AC0123456789abcdefABCDEF0123456789"
	for _, c := range []struct {
		rule     string
		by       access
		settings []string
		want     []string
	}{
		{"nothing wrong", access{"account_sid": good, "auth_token": "x"},
			[]string{"country=CA", "voice_url_template=http://agents.example/{e164}"}, nil},
		{"no secret at all", access{"account_sid": good}, nil, []string{"credentials.auth_token"}},
		{"both ways", access{"account_sid": good, "auth_token": "x", "api_key_sid": keySID, "api_key_secret": "x"},
			nil, []string{"credentials.auth_token"}},
		{"a token and half a key", access{"account_sid": good, "auth_token": "x", "api_key_secret": "x"}, nil,
			[]string{"credentials.auth_token"}},
		{"a key without its secret", access{"account_sid": good, "api_key_sid": keySID}, nil,
			[]string{"credentials.api_key_secret"}},
		{"a secret without its key", access{"account_sid": good, "api_key_secret": "x"}, nil,
			[]string{"credentials.api_key_sid"}},
		{"every SID of another form or kind",
			access{"account_sid": good[:33], "api_key_sid": good, "api_key_secret": "x"}, []string{
				"subaccount_sid=" + strings.ToLower(good), "voice_application=" + fake.Trunk,
				"sip_trunk=" + fake.Application, "address_sid=" + fake.Address + "/..",
				"bundle_sid=" + fake.Bundle[:33] + "g", "voice_url_template=/voice",
			}, []string{
				"credentials.account_sid", "credentials.api_key_sid", "settings.subaccount_sid",
				"settings.voice_application", "settings.sip_trunk", "settings.address_sid", "settings.bundle_sid",
				"settings.voice_url_template",
			}},
		{"a token that is missing, and a SID that is none", access{"account_sid": "AC1"}, nil,
			[]string{"credentials.auth_token", "credentials.account_sid"}},
		{"a placeholder that is none", access{"account_sid": good, "auth_token": "x"},
			[]string{"voice_url_template=https://agents.example/{employee}"}, []string{"settings.voice_url_template"}},
		{"a template with a password", access{"account_sid": good, "auth_token": "x"},
			[]string{"voice_url_template=https://u:p@agents.example/"}, []string{"settings.voice_url_template"}},
		{"a template of another scheme", access{"account_sid": good, "auth_token": "x"},
			[]string{"voice_url_template=sip:{cloud_employee_id}@agents.example"},
			[]string{"settings.voice_url_template"}},
		{"a country without area codes", access{"account_sid": good, "auth_token": "x"}, []string{"country=GB"},
			[]string{"settings.country"}},
	} {
		values := adapter.Values{Settings: set(c.settings...), Credentials: c.by}
		_, chosen := twilio.Adapter().With(values)
		_, opened := twilio.Adapter().OpenTelephony(t.Context(), values, adapter.Environment{})
		for when, err := range map[string]error{"chosen": chosen, "opened": opened} {
			if got := faulttest.Paths(err); !slices.Equal(got, c.want) {
				t.Errorf("%s, when %s: told are %q, want %q", c.rule, when, got, c.want)
			}
		}
	}
}

func TestTheAddressOfTheAPIIsTakenAsPeopleWriteIt(t *testing.T) {
	s := serve(t, fake.Options{})
	base := s.url
	for _, end := range []string{"", "/", "/2010-04-01", "/2010-04-01/"} {
		s.url = base + end
		if _, err := s.driver(t).Account(t.Context()); err != nil {
			t.Errorf("%q: %v", end, err)
		}
	}
}
