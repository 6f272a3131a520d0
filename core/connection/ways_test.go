package connection_test

import (
	"context"
	"net/http"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

// severalWays is a CRM whose connections authorise in a way that depends on their credentials.
func severalWays() adapter.Adapter {
	type settings struct {
		BaseURL string `setting:"base_url" kind:"url" required:"true" help:"Server."`
		Token   string `credential:"token" help:"Token."`
		Email   string `credential:"email" help:"Address."`
		Key     string `credential:"key" help:"Key."`
	}
	return adapter.CRM(adapter.Declaration{Name: "ways", Title: "Ways", Help: "For tests.",
		AuthOf: adapter.AuthBy(func(s settings) (adapter.Auth, error) {
			switch {
			case s.Token != "":
				return adapter.Auth{
					Scheme: adapter.Header, HeaderName: "Authorization", Prefix: "token ", Password: "token",
					BaseURL: "base_url",
				}, nil
			case s.Email != "":
				return adapter.Auth{
					Scheme: adapter.Basic, Username: "email", UsernameSuffix: "/token", Password: "key", BaseURL: "base_url",
				}, nil
			case s.Key != "":
				return adapter.Auth{Scheme: adapter.Basic, Username: "key", FixedPassword: "X", BaseURL: "base_url"}, nil
			}
			return adapter.Auth{}, fault.InvalidField("credentials.token", "is required, or email and key, or key.")
		})}, func(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
		return &tenanttest.CRMDriver{
			Env:      env,
			Settings: tenanttest.TokenSettings{BaseURL: s.BaseURL, Token: s.Token + "|" + s.Email + "|" + s.Key},
		}, nil
	})
}

func TestAConnectionAuthorisesByWhatItWasGiven(t *testing.T) {
	server, got := tenanttest.Origin(t)
	h := tenanttest.Open(t, storetest.SQLite(t), func(o *tenanttest.Options) {
		o.Adapters = []adapter.Adapter{severalWays()}
	})
	h.Tenant("acme")
	basic := func(user, password string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	for _, rule := range []struct {
		name        string
		credentials map[string]string
		want, seen  string
	}{
		{"a token behind a word", map[string]string{"token": tenanttest.Canary}, "token " + tenanttest.Canary,
			connection.Withheld + "||"},
		{"a user name with something behind it",
			map[string]string{"email": "pat@example.com", "key": tenanttest.Canary},
			basic("pat@example.com/token", tenanttest.Canary), "|pat@example.com|" + connection.Withheld},
		{"a key in the place of a user name", map[string]string{"key": tenanttest.Canary},
			basic(tenanttest.Canary, "X"), "||" + connection.Withheld},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, err := h.Connections.Add(t.Context(), "acme", connection.Spec{
				Name: "desk", Kind: adapter.KindCRM, Provider: "ways", Settings: map[string]any{"base_url": server},
				Credentials: rule.credentials,
			})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := h.Key("acme", apikey.Spec{})
			o, err := h.CRM(h.Caller(text))
			if err != nil {
				t.Fatal(err)
			}
			driver := o.Driver.(*tenanttest.CRMDriver)
			tenanttest.Get(t, driver.Env.HTTP, server)
			if given := got().Get("Authorization"); given != rule.want {
				t.Errorf("sent %q, want %q", given, rule.want)
			}
			if driver.Settings.Token != rule.seen {
				t.Errorf("the adapter saw %q, want %q", driver.Settings.Token, rule.seen)
			}
			if err := h.Connections.Remove(t.Context(), "acme", "desk"); err != nil {
				t.Fatal(err)
			}
		})
	}
	_, err := h.Connections.Add(t.Context(), "acme", connection.Spec{
		Name: "none", Kind: adapter.KindCRM, Provider: "ways", Settings: map[string]any{"base_url": server},
	})
	tenanttest.WantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest)
}
