package gateway

import (
	"context"
	"reflect"
	"testing"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
)

// The keys that adapters declare are part of the configuration, once per provider name. Drivers receive the
// addresses, but no client secret.
func TestWhatIsDeclaredReachesTheAdapter(t *testing.T) {
	t.Parallel()
	keys := &adapter.OperatorKeys{
		Help: "Desk.", ClientIDHelp: "Id.", ClientSecretHelp: "Secret.",
		Addresses: []adapter.Address{
			{Name: "api_url", Default: "https://api.desk.example", Help: "API."},
			{Name: "issuer", Optional: true, Help: "Issuer."},
		},
	}
	type none struct{}
	list := []adapter.Adapter{
		adapter.CRM(adapter.Declaration{Name: "desk", Operator: keys},
			func(context.Context, none, adapter.Environment) (crm.Driver, error) { return nil, nil }),
		adapter.Calendar(adapter.Declaration{Name: "desk", Operator: keys},
			func(context.Context, none, adapter.Environment) (calendar.Driver, error) { return nil, nil }),
		adapter.Calendar(adapter.Declaration{Name: "plain"},
			func(context.Context, none, adapter.Environment) (calendar.Driver, error) { return nil, nil }),
	}
	declared, err := Providers(list)
	if err != nil {
		t.Fatal(err)
	}
	if want := []config.Provider{{Name: "desk", Help: "Desk.", Keys: []config.ProviderKey{
		{Name: "client_id", Kind: "line or none", Help: "Id."},
		{Name: "client_secret", Kind: "client secret", Help: "Secret."},
		{Name: "api_url", Default: "https://api.desk.example", Kind: "base", Help: "API."},
		{Name: "issuer", Kind: "base or none", Help: "Issuer."},
	}}}; !reflect.DeepEqual(declared, want) {
		t.Errorf("got  %+v\nwant %+v", declared, want)
	}
	cfg, err := config.Load("", []string{
		"FRONTDESK_PROVIDERS__DESK__CLIENT_ID=id",
		"FRONTDESK_PROVIDERS__DESK__CLIENT_SECRET=env:SECRET", "SECRET=secret",
	}, declared)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]adapter.Operator{"desk": {
		ClientID: "id", ClientSecret: "secret",
		Addresses: adapter.Addresses{"api_url": "https://api.desk.example", "issuer": ""},
	}}
	if got := operators(cfg); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if cfg.Providers["desk"]["client_id"] != "id" {
		t.Error("the configuration was changed")
	}
	if _, err := Providers(append(list, list[0])); err == nil {
		t.Error("a list with one adapter twice is taken")
	}
}
