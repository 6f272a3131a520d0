package main

import (
	"os"
	"reflect"
	"testing"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/gateway"
)

const exampleFile = "../../config/frontdesk.example.yaml"

func declared(t *testing.T) []config.Provider {
	t.Helper()
	providers, err := gateway.Providers(all.Adapters())
	if err != nil {
		t.Fatal(err)
	}
	return providers
}

// The example shows every key as declared:
//
//	go test ./cmd/frontdesk -run Example -update
func TestExampleShowsEveryKey(t *testing.T) {
	t.Parallel()
	want := config.Example(declared(t))
	if *update {
		if err := os.WriteFile(exampleFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error(exampleFile + " is not what the keys give: run go test ./cmd/frontdesk -run Example -update")
	}
}

func TestExampleIsTheDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(exampleFile, nil, declared(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := config.Default(declared(t)); !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
}

func TestDefaultsOfProvidersAreTheirPublicAddresses(t *testing.T) {
	t.Parallel()
	got := config.Default(declared(t)).Providers
	for name, want := range (config.Providers{
		"google": {
			"client_id": "", "client_secret": "", "issuer": "https://accounts.google.com",
			"auth_url":  "https://accounts.google.com/o/oauth2/v2/auth",
			"token_url": "https://oauth2.googleapis.com/token", "api_url": "https://www.googleapis.com/",
		},
		"microsoft": {
			"client_id": "", "client_secret": "",
			"authority": "https://login.microsoftonline.com/common",
			"api_url":   "https://graph.microsoft.com/v1.0",
		},
		"salesforce": {"client_id": "", "client_secret": "", "login_url": "https://login.salesforce.com"},
		"hubspot": {
			"client_id": "", "client_secret": "", "auth_url": "https://app.hubspot.com/oauth/authorize",
			"token_url": "https://api.hubapi.com/oauth/2026-09/token",
			"api_url":   "https://api.hubapi.com",
		},
		"zendesk": {"client_id": "", "client_secret": "", "base_url": ""},
		"twilio":  {"api_url": "https://api.twilio.com"},
		"telnyx":  {"api_url": "https://api.telnyx.com/v2"},
	}) {
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
}
