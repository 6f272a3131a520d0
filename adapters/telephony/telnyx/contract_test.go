package telnyx_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/telephony/telnyx"
	"frontdesk/adapters/telephony/telnyx/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/telephony"
	"frontdesk/core/telephony/telephonytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = telnyx.Adapter()

const apiKey = "KEY0180C1DF633BD05E79DB3308230C3C92_Q3AsTvlD6HwlSx3nsrAxUU"

// testServer serves the fake.
type testServer struct {
	*fake.Server
	url string
	now func() time.Time
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	how.APIKey = apiKey
	if how.Now == nil {
		how.Now = time.Now
	}
	server := fake.New(how)
	return &testServer{Server: server, url: adaptertest.Serve(t, server, around...), now: how.Now}
}

// open opens a driver as the gateway does: with a client that authorises, and without the secret.
func (s *testServer) open(t testing.TB, settings map[string]any) telephony.Driver {
	t.Helper()
	driver, err := declared.OpenTelephony(context.Background(),
		adapter.Values{Settings: settings, Credentials: map[string]string{"api_key": "withheld"}},
		adapter.Environment{
			Zone: "America/New_York", Now: s.now, Addresses: adapter.Addresses{"api_url": s.url + fake.APIPath + "/"},
			HTTP: adaptertest.Client(t, "telnyx", s.url, func(r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+apiKey)
				return nil
			}),
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// TestContract runs the suite in the settings that TestEveryRequestIsAsTelnyxDescribesThem leaves: there, orders take
// their time.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		rule string
		how  fake.Options
	}{
		{"orders that are filled at once", fake.Options{}},
		{"numbers that are listed after their orders are filled", fake.Options{NumberLag: time.Minute}},
		{"orders that are accepted, and fail", fake.Options{LateFail: true}},
		{"numbers without their orders' reference", fake.Options{BareNumber: true, NoCoverage: true}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			telephonytest.Run(t, func(t *testing.T) telephonytest.Harness { return harness(t, serve(t, c.how)) })
		})
	}
}

// TestEveryRequestIsAsTelnyxDescribesThem leaves out /whoami, which is in no description.
func TestEveryRequestIsAsTelnyxDescribesThem(t *testing.T) {
	api := described.Open(t, "telnyx-numbers.openapi.json", fake.APIPath)
	withCheck := func(next http.Handler) http.Handler {
		checked := api.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == fake.APIPath+"/whoami" {
				next.ServeHTTP(w, r)
				return
			}
			checked.ServeHTTP(w, r)
		})
	}
	telephonytest.Run(t, func(t *testing.T) telephonytest.Harness {
		return harness(t, serve(t, fake.Options{OrderTime: time.Hour}, withCheck))
	})
	api.Report(t)
}

func harness(t *testing.T, s *testServer) telephonytest.Harness {
	return telephonytest.Harness{
		Open:     func() telephony.Driver { return s.open(t, map[string]any{"connection_id": fake.Application}) },
		AreaCode: "415", Empty: "212",
		Account: telephony.Account{Name: fake.Email, Ref: fake.Organization},
		Leads:   telephony.Routing{Application: fake.Application}, Application: fake.Application, NoVoiceURL: true,
		Secrets: []string{apiKey}, Now: s.now, Provider: outside{s.Server},
	}
}

// outside implements the suite's interfaces by what people do in Telnyx's portal.
type outside struct{ *fake.Server }

var (
	_ telephonytest.Spender = outside{}
	_ telephonytest.Rival   = outside{}
	_ telephonytest.Mover   = outside{}
	_ telephonytest.Filler  = outside{}
	_ telephonytest.Blocker = outside{}
)

func (o outside) Block(_ context.Context, e164 string, why telephony.Block) error {
	switch why {
	case telephony.BlockEmergency:
		return o.Emergency(e164, "active")
	case telephony.BlockLock:
		return o.Lock(e164, true)
	}
	return errors.ErrUnsupported
}

func (o outside) Unblock(_ context.Context, e164 string) error {
	return errors.Join(o.Emergency(e164, "disabled"), o.Lock(e164, false))
}
