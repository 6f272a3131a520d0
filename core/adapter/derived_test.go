package adapter

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// general is the base of the adapters below. It authorises by OAuth if it has a client, and by a token otherwise.
type general struct {
	BaseURL string            `setting:"base_url" kind:"url" required:"true" help:"Server."`
	Client  string            `setting:"client_id" help:"The client."`
	Values  map[string]string `setting:"values" help:"Texts."`
	Limit   int               `setting:"limit" help:"A limit."`
	Token   string            `credential:"token" help:"Token."`
	Secret  string            `credential:"client_secret" help:"Secret."`
}

// special derives an adapter from general: its queue is a text, and it says so in faults. opened gets what each
// connection is opened with.
func special(opened *general) Adapter {
	base := CRM(Declaration{Name: "general", AuthOf: AuthBy(func(s general) (Auth, error) {
		if s.Client == "" {
			return Auth{Scheme: Header, HeaderName: "X-Token", Password: "token"}, nil
		}
		if s.Secret == "" {
			return Auth{}, fault.InvalidField("settings.values.queue", "needs a secret.")
		}
		return Auth{Scheme: OAuth2, OAuth: &OAuth{API: "api", Grant: GrantOf(
			func(s general, _ Addresses) (Grant, error) {
				if s.Values["queue"] == "closed" {
					return Grant{}, fault.InvalidField("settings.values.queue", "is closed.")
				}
				return Grant{Flow: ClientCredentials, ClientID: s.Client, TokenURL: s.BaseURL + s.Values["queue"]}, nil
			})}}, nil
	})}, func(_ context.Context, s general, _ Environment) (crm.Driver, error) {
		*opened = s
		return nil, nil
	})
	return DerivedCRM(base, Derivation{
		Declaration: Declaration{Name: "general/special", Title: "Special", Auth: Auth{Scheme: Basic}},
		Fields: []Field{
			{Name: "base_url", Type: "url", Required: true, Help: "The address."},
			{Name: "queue", Type: "text", Required: true, Choices: []string{"a", "closed"}, Help: "The queue."},
			{Name: "client_id", Type: "text", Help: "The client."},
			{Name: "override", Type: "object", Help: "What differs."},
			{Name: "token", Type: "text", Secret: true, Help: "The token."},
			{Name: "client_secret", Type: "text", Secret: true, Help: "The secret."},
		},
		Values: func(v Values) (Values, error) {
			settings := map[string]any{"values": map[string]any{"queue": v.Settings["queue"]}, "limit": 7}
			for _, name := range []string{"base_url", "client_id"} {
				if given := v.Settings[name]; given != nil {
					settings[name] = given
				}
			}
			if changes, is := v.Settings["override"].(map[string]any); is {
				for name, value := range changes {
					settings[name] = value
				}
			}
			return Values{Settings: settings, Credentials: v.Credentials}, nil
		},
		Path: func(path string) string {
			if rest, is := strings.CutPrefix(path, "settings.values."); is {
				return "settings." + rest
			}
			if rest, is := strings.CutPrefix(path, "settings."); is && rest != "base_url" {
				return "settings.override." + rest
			}
			return path
		},
	})
}

// What does not fit a derived adapter is told in its own fields, whether they or the base refuse it.
func TestADerivedAdapterTellsFaultsInItsOwnFields(t *testing.T) {
	const server = "https://tickets.example.com/"
	for _, c := range []struct {
		rule     string
		settings map[string]any
		secrets  map[string]string
		want     []string // the paths of the faults
	}{
		{"what fits", map[string]any{"base_url": server, "queue": "a"}, map[string]string{"token": "t"}, nil},
		{"nothing", nil, nil, []string{"settings.base_url", "settings.queue"}},
		{"an empty text is none", map[string]any{"base_url": server, "queue": ""}, nil, []string{"settings.queue"}},
		{"values of the wrong form", map[string]any{"base_url": "tickets", "queue": "b", "override": "[]"}, nil,
			[]string{"settings.base_url", "settings.queue", "settings.override"}},
		{"settings of the base alone are unknown", map[string]any{"base_url": server, "queue": "a", "limit": 3}, nil,
			[]string{"settings.limit"}},
		{"a credential among the settings", map[string]any{"base_url": server, "queue": "a", "token": "t"}, nil,
			[]string{"settings.token"}},
		{"a setting among the credentials", map[string]any{"base_url": server, "queue": "a"},
			map[string]string{"queue": "a"}, []string{"credentials.queue"}},
		{"what the base refuses", map[string]any{
			"base_url": server, "queue": "a", "override": map[string]any{"limit": "many", "unheard_of": 1},
		}, nil, []string{"settings.override.limit", "settings.override.unheard_of"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var opened general
			a, v := special(&opened), Values{Settings: c.settings, Credentials: c.secrets}
			_, authErr := a.With(v)
			_, openErr := a.OpenCRM(t.Context(), v, Environment{})
			for from, err := range map[string]error{"Check": a.Check(v), "With": authErr} {
				if got := pathsOf(err); !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s: %q, want %q", from, got, c.want)
				}
			}
			if (openErr != nil) != (len(c.want) > 0) {
				t.Errorf("it opens with %v", openErr)
			}
		})
	}
}

// pathsOf returns the paths of the fields that an error names, or nil without an error.
func pathsOf(err error) (paths []string) {
	if err == nil {
		return nil
	}
	for _, field := range fault.From(err).Fields {
		paths = append(paths, field.Path)
	}
	return paths
}

// Connections of a derived adapter are those of its base: opened, authorised and granted with the converted values.
func TestADerivedAdapterConnectsAsItsBase(t *testing.T) {
	var opened general
	a := special(&opened)
	if a.Name != "general/special" || a.Kind != KindCRM || a.Auth.Scheme != None || len(a.Fields) != 6 {
		t.Errorf("it is declared as %+v", a)
	}
	given := func(queue string, more ...string) Values {
		v := Values{Settings: map[string]any{"base_url": "https://tickets.example.com/", "queue": queue},
			Credentials: map[string]string{"token": "t"}}
		if len(more) > 0 {
			v.Settings["client_id"], v.Credentials = more[0], map[string]string{}
			if len(more) > 1 {
				v.Credentials["client_secret"] = more[1]
			}
		}
		return v
	}
	if _, err := a.OpenCRM(t.Context(), given("a"), Environment{}); err != nil {
		t.Fatal(err)
	}
	want := general{BaseURL: "https://tickets.example.com/", Values: map[string]string{"queue": "a"}, Limit: 7, Token: "t"}
	if !reflect.DeepEqual(opened, want) {
		t.Errorf("it was opened with %+v, want %+v", opened, want)
	}
	if by, err := a.With(given("a")); err != nil || by.Auth.HeaderName != "X-Token" || by.AuthOf != nil {
		t.Errorf("with a token: %+v, %v", by.Auth, err)
	}
	if _, err := a.With(given("a", "client")); !reflect.DeepEqual(pathsOf(err), []string{"settings.queue"}) {
		t.Errorf("a client without its secret: %v, %q", err, pathsOf(err))
	}
	by, err := a.With(given("a", "client", "secret"))
	if err != nil || by.Auth.Scheme != OAuth2 || by.Auth.OAuth.API != "api" {
		t.Fatalf("with a client: %+v, %v", by.Auth, err)
	}
	grant, err := by.Auth.OAuth.Grant(given("a", "client", "secret"), Addresses{})
	if err != nil || grant.TokenURL != "https://tickets.example.com/a" || grant.ClientID != "client" {
		t.Errorf("the grant is %+v, %v", grant, err)
	}
	for queue, want := range map[string]string{"closed": "settings.queue", "unheard of": "settings.queue"} {
		_, err := by.Auth.OAuth.Grant(given(queue, "client", "secret"), Addresses{})
		if !reflect.DeepEqual(pathsOf(err), []string{want}) {
			t.Errorf("the queue %q: %v, %q", queue, err, pathsOf(err))
		}
	}
}
