package twilio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/telephony/twilio"
	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/telephony"
	"frontdesk/core/telephony/telephonytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = twilio.Adapter()

const (
	token     = "correct horse battery staple"
	keySID    = "SK0000000000000000000000000000f001"
	keySecret = "6wiIBWbGkBMo1mRDMuVwkw1EPsNkeUj9"
	subToken  = "subaccounts have tokens as well"
	testSID   = "AC0000000000000000000000000000fe57"
	testToken = "test credentials cost nothing"
)

// testServer serves the fake.
type testServer struct {
	*fake.Server
	url string
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	how.AuthToken, how.APIKeySID, how.APIKeySecret, how.SubaccountToken = token, keySID, keySecret, subToken
	how.TestAccountSID, how.TestAuthToken = testSID, testToken
	server := fake.New(how)
	return &testServer{Server: server, url: adaptertest.Serve(t, server, around...)}
}

// access holds the credentials of a connection. The driver sees them without the secret.
type access map[string]string

var (
	byToken = access{"account_sid": fake.AccountSID, "auth_token": token}
	byKey   = access{"account_sid": fake.AccountSID, "api_key_sid": keySID, "api_key_secret": keySecret}
)

// open opens a driver as the gateway does: with a client that authorises, and without the secret.
func (s *testServer) open(t testing.TB, by access, settings map[string]any) telephony.Driver {
	t.Helper()
	a, err := declared.With(adapter.Values{Settings: settings, Credentials: by})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for name, value := range by {
		seen[name] = value
	}
	seen[a.Auth.Password] = "withheld"
	client := adaptertest.Client(t, "twilio", "", func(r *http.Request) error {
		r.SetBasicAuth(by[a.Auth.Username], by[a.Auth.Password])
		return nil
	})
	driver, err := declared.OpenTelephony(t.Context(),
		adapter.Values{Settings: settings, Credentials: seen},
		adapter.Environment{
			Zone: "America/New_York", Now: time.Now, HTTP: client, Addresses: adapter.Addresses{"api_url": s.url},
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// driver opens a driver with the account's auth token.
func (s *testServer) driver(t testing.TB, settings ...string) telephony.Driver {
	t.Helper()
	return s.open(t, byToken, set(settings...))
}

func set(settings ...string) map[string]any {
	all := map[string]any{}
	for _, one := range settings {
		name, value, _ := strings.Cut(one, "=")
		all[name] = value
	}
	return all
}

// way is a way to connect an account, with the results expected of it.
type way struct {
	rule     string
	how      fake.Options
	by       access
	settings []string
	account  telephony.Account
	leads    telephony.Routing
	areaCode string
}

const template = "https://agents.example.com/voice?employee={cloud_employee_id}&number={e164}"

func ways() []way {
	ours := telephony.Account{Name: "Front Desk Inc.", Ref: fake.AccountSID}
	subaccount := telephony.Account{Name: "Front Desk Inc. (subaccount)", Ref: fake.SubaccountSID}
	return []way{
		{rule: "by the auth token", by: byToken, account: ours,
			settings: []string{"voice_url_template=" + template},
			leads: telephony.Routing{
				VoiceURL: "https://agents.example.com/voice?employee=7&number=%2B14155550100",
			}},
		{rule: "by a main API key", by: byKey, account: ours, settings: []string{
			"voice_application=" + fake.Application, "voice_url_template=" + template,
		},
			leads: telephony.Routing{Application: fake.Application}},
		{rule: "by a standard API key, which may not read the account", by: byKey,
			how:     fake.Options{StandardKey: true},
			account: telephony.Account{Name: fake.AccountSID, Ref: fake.AccountSID}},
		{rule: "on a subaccount, by its parent's token", by: byToken, account: subaccount,
			settings: []string{"subaccount_sid=" + fake.SubaccountSID}},
		{rule: "on a subaccount, by its own token",
			by: access{"account_sid": fake.SubaccountSID, "auth_token": subToken}, account: subaccount},
		{rule: "where buying what is held is refused", by: byToken,
			how: fake.Options{RefusesHeld: true}, account: ours},
		{rule: "with an address and a bundle", by: byToken, account: ours, areaCode: "907",
			settings: []string{"address_sid=" + fake.Address, "bundle_sid=" + fake.Bundle}},
		{rule: "where new numbers lead to a welcome", by: byToken, account: ours,
			how:      fake.Options{DefaultVoiceURL: "https://demo.twilio.com/welcome/voice/"},
			settings: []string{"sip_trunk=" + fake.Trunk, "voice_application=" + fake.Application},
			leads:    telephony.Routing{SIPTrunk: fake.Trunk}},
		{rule: "in Canada", by: byToken, account: ours, areaCode: "604"},
	}
}

func (w way) harness(t *testing.T, s *testServer) telephonytest.Harness {
	h := telephonytest.Harness{
		Open: func() telephony.Driver { return s.open(t, w.by, set(w.settings...)) }, AreaCode: "415",
		Empty: "212", Account: w.account, Leads: w.leads, Trunk: fake.Trunk, Application: fake.Application,
		Default: telephony.Routing{VoiceURL: w.how.DefaultVoiceURL}, Secrets: []string{token, keySecret, subToken},
		Now: time.Now, Provider: outside{s.Server, w.account.Ref},
	}
	if w.areaCode != "" {
		h.AreaCode = w.areaCode
	}
	return h
}

// TestContractAndThatEveryRequestIsAsTwilioDescribesThem runs the suite once for both.
func TestContractAndThatEveryRequestIsAsTwilioDescribesThem(t *testing.T) {
	api := described.Open(t, "twilio-numbers.openapi.json", "/")
	for _, w := range ways() {
		t.Run(w.rule, func(t *testing.T) {
			telephonytest.Run(t, func(t *testing.T) telephonytest.Harness {
				return w.harness(t, serve(t, w.how, func(next http.Handler) http.Handler { return checked(api, next) }))
			})
		})
	}
	api.Report(t)
}

// foreign matches paths with references that the suite makes up and that are not Twilio's: Twilio decides
// whether they exist, and its description covers only its own references.
var foreign = regexp.MustCompile(`/IncomingPhoneNumbers/[0-9]+\.json$`)

// checked checks a request against the description, and lets next serve it unchanged. It leaves out empty
// values, which clear (github.com/twilio/twilio-cli-core/pull/57) but are not part of the description.
func checked(api *described.Description, next http.Handler) http.Handler {
	note := api.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, name := range []string{"TrunkSid", "VoiceApplicationSid", "VoiceUrl"} {
			if form.Get(name) == "" {
				form.Del(name)
			}
		}
		if !foreign.MatchString(r.URL.Path) {
			seen := r.Clone(r.Context())
			seen.Body = io.NopCloser(strings.NewReader(form.Encode()))
			// The host that the description names for each path.
			seen.Host, seen.URL.Host, seen.URL.Scheme = "api.twilio.com", "api.twilio.com", "https"
			note.ServeHTTP(httptest.NewRecorder(), seen)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// outside implements the suite's interfaces by what happens in Twilio's Console and at other customers.
type outside struct {
	*fake.Server
	account string
}

var (
	_ telephonytest.Spender = outside{}
	_ telephonytest.Rival   = outside{}
	_ telephonytest.Mover   = outside{}
	_ telephonytest.Blocker = outside{}
)

func (o outside) Purchases(context.Context) (int, error) { return o.Server.Purchases(), nil }

func (o outside) Snatch(context.Context) (string, error) { return o.Server.Snatch("415") }

func (o outside) Arrive(_ context.Context, e164 string) error {
	o.Server.Arrive(o.account, e164)
	return nil
}

func (o outside) Vanish(_ context.Context, e164 string) error {
	o.Server.Vanish(e164)
	return nil
}

func (o outside) Block(_ context.Context, e164 string, why telephony.Block) error {
	if why != telephony.BlockEmergency {
		return fmt.Errorf("twilio: %s: %w", why, errors.ErrUnsupported)
	}
	return o.RegisterEmergencyAddress(e164)
}

func (o outside) Unblock(_ context.Context, e164 string) error {
	done, err := o.UnregisterEmergencyAddress(e164)
	if err != nil {
		return err
	}
	return done()
}
