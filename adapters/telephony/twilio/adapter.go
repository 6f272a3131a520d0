// Package twilio buys, routes and releases phone numbers of a Twilio account by its REST API of 2010-04-01
// (twilio.com/docs/phone-numbers/api). It offers local numbers of the US and Canada that can take calls.
package twilio

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// name is the adapter's name in the configuration.
const name = "twilio"

type settings struct {
	AccountSID   string `credential:"account_sid" required:"true" help:"SID of the account, AC and 32 characters: the user name for auth_token, or the account of the API key."`
	AuthToken    string `credential:"auth_token" help:"The account's auth token."`
	APIKeySID    string `credential:"api_key_sid" help:"SID of an API key of the account, SK and 32 characters, with api_key_secret, instead of auth_token. A standard key is enough; only a main key can read the account's name."`
	APIKeySecret string `credential:"api_key_secret" help:"The secret of api_key_sid."`

	SubaccountSID string `setting:"subaccount_sid" help:"SID of the subaccount that holds the numbers, with the credentials of its parent. The default is the credentials' own account."`
	Country       string `setting:"country" choices:"US,CA" help:"The only country to search for numbers. By default the gateway searches the US and, if it has none in the area code, Canada."`
	VoiceURL      string `setting:"voice_url_template" help:"URL that Twilio requests, by POST, for each inbound call to a number with an inbound employee. {cloud_employee_id} and {e164} are filled in."`
	Application   string `setting:"voice_application" help:"SID of the TwiML application for inbound calls, AP and 32 characters, instead of voice_url_template."`
	SIPTrunk      string `setting:"sip_trunk" help:"SID of the Elastic SIP trunk for inbound calls, TK and 32 characters, instead of both."`
	AddressSID    string `setting:"address_sid" help:"SID of the address for buying numbers, AD and 32 characters. Without it, numbers that require one are not offered."`
	BundleSID     string `setting:"bundle_sid" help:"SID of the regulatory bundle for buying numbers, BU and 32 characters."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Telephony(adapter.Declaration{
		Name:  name,
		Title: "Twilio",
		Help: "Phone numbers of a Twilio account or of one of its subaccounts. The account's auth token or " +
			"an API key connects it.",
		AuthOf: adapter.AuthBy(authOf),
		Operator: &adapter.OperatorKeys{
			Help: "Twilio. Each connection has its own account.",
			Addresses: []adapter.Address{
				{
					Name: "api_url", Default: "https://api.twilio.com",
					Help: "Root of the API, above 2010-04-01/.",
				},
			},
		},
	}, open)
}

// authOf returns the authentication for the credentials that are set
// (twilio.com/docs/usage/requests-to-twilio, "Credentials").
func authOf(s settings) (adapter.Auth, error) {
	if s.byKey() {
		return adapter.Auth{Scheme: adapter.Basic, Username: "api_key_sid", Password: "api_key_secret"}, nil
	}
	return adapter.Auth{Scheme: adapter.Basic, Username: "account_sid", Password: "auth_token"}, nil
}

func (s settings) byKey() bool { return s.APIKeySID != "" }

func open(_ context.Context, s settings, env adapter.Environment) (telephony.Driver, error) {
	d := &driver{
		client: env.HTTP, root: root(env.Addresses["api_url"]), owner: s.AccountSID,
		account: cmp.Or(s.SubaccountSID, s.AccountSID), byKey: s.byKey(), countries: []string{"US", "CA"},
		address: s.AddressSID, bundle: s.BundleSID,
		voiceURL: s.VoiceURL, application: s.Application, trunk: s.SIPTrunk,
	}
	if s.Country != "" {
		d.countries = []string{s.Country}
	}
	return d, nil
}

// root returns the URL of the accounts for a URL of the API, with or without its version.
func root(address string) string {
	address = strings.TrimRight(address, "/")
	return strings.TrimSuffix(address, "/"+version) + "/" + version + "/Accounts/"
}

// version is the API's version, as it is in URLs.
const version = "2010-04-01"

// Validate checks the settings and credentials.
func (s settings) Validate() []fault.Field {
	faults := s.misfits()
	for _, f := range []struct{ path, given, letters string }{
		{"credentials.account_sid", s.AccountSID, "AC"},
		{"credentials.api_key_sid", s.APIKeySID, "SK"},
		{"settings.subaccount_sid", s.SubaccountSID, "AC"},
		{"settings.voice_application", s.Application, "AP"},
		{"settings.sip_trunk", s.SIPTrunk, "TK"},
		{"settings.address_sid", s.AddressSID, "AD"},
		{"settings.bundle_sid", s.BundleSID, "BU"},
	} {
		if f.given != "" && !isSID(f.given, f.letters) {
			faults = append(faults, fault.Field{
				Path: f.path, Message: "must be " + f.letters +
					" and 32 characters of 0-9 and a-f, as Twilio's Console shows it.",
			})
		}
	}
	if s.VoiceURL != "" && !isTemplate(s.VoiceURL) {
		faults = append(faults, fault.Field{Path: "settings.voice_url_template",
			Message: "must be an absolute http or https address without a user name, with no placeholders but " +
				"{cloud_employee_id} and {e164}."})
	}
	return faults
}

// misfits returns the faults of credentials that are missing or cannot be combined.
func (s settings) misfits() []fault.Field {
	switch {
	case s.AuthToken != "" && (s.APIKeySID != "" || s.APIKeySecret != ""):
		return []fault.Field{{Path: "credentials.auth_token", Message: "cannot be combined with an API key; " +
			"choose one."}}
	case s.AuthToken != "":
		return nil
	case s.APIKeySID == "" && s.APIKeySecret == "":
		return []fault.Field{{Path: "credentials.auth_token",
			Message: "is required, or api_key_sid with api_key_secret in its place."}}
	case s.APIKeySID == "":
		return []fault.Field{{Path: "credentials.api_key_sid",
			Message: "is required with credentials.api_key_secret."}}
	case s.APIKeySecret == "":
		return []fault.Field{{Path: "credentials.api_key_secret",
			Message: "is required with credentials.api_key_sid."}}
	}
	return nil
}

// sid matches Twilio's ids (twilio.com/docs/glossary/what-is-a-sid).
var sid = regexp.MustCompile(`^[A-Z]{2}[0-9a-fA-F]{32}$`)

func isSID(text, letters string) bool {
	return strings.HasPrefix(text, letters) && sid.MatchString(text)
}

// isTemplate reports whether a filled template is a URL that Twilio can request.
func isTemplate(template string) bool {
	filled := telephony.VoiceURL(template, 1, "+14155550100")
	u, err := url.Parse(filled)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		!strings.ContainsAny(filled, "{} ")
}
