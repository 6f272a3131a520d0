package adapter

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

type phoneSettings struct {
	Trunk string `setting:"sip_trunk" help:"A trunk."`
	Token string `credential:"token" required:"true" help:"A token."`
}

func TestTelephonyConnectionsShareSettings(t *testing.T) {
	var opened phoneSettings
	a := Telephony(Declaration{Name: "x",
		AuthOf: AuthBy(func(phoneSettings) (Auth, error) { return Auth{Scheme: Bearer, Password: "token"}, nil })},
		func(_ context.Context, s phoneSettings, _ Environment) (telephony.Driver, error) {
			opened = s
			return nil, nil
		})
	v := Values{
		Settings:    map[string]any{"sip_trunk": "TK1", "release_delay": "72h", "numbers": "own"},
		Credentials: map[string]string{"token": "t"},
	}
	if err := a.Check(v); err != nil {
		t.Fatal(err)
	}
	if _, err := a.With(v); err != nil {
		t.Errorf("the way to authorise: %v", err)
	}
	if _, err := a.OpenTelephony(t.Context(), v, Environment{}); err != nil || opened.Trunk != "TK1" {
		t.Errorf("opened with %+v, %v", opened, err)
	}
	if n, err := NumbersOf(v.Settings); err != nil ||
		n != (Numbers{Held: HeldOwn, ReleaseDelay: 72 * time.Hour}) {
		t.Errorf("got %+v, %v", n, err)
	}
	if n, err := NumbersOf(nil); err != nil || n != (Numbers{Held: "account"}) {
		t.Errorf("nothing set is %+v, %v", n, err)
	}
	if len(a.Fields) != 4 || a.Fields[2].Name != "numbers" || a.Fields[3].Name != "release_delay" {
		t.Errorf("declared are %+v", a.Fields)
	}
}

func TestFaultsOfSharedAndOwnSettingsAreToldAtOnce(t *testing.T) {
	a := Telephony(Declaration{Name: "x"},
		func(context.Context, phoneSettings, Environment) (telephony.Driver, error) { return nil, nil })
	err := a.Check(Values{Settings: map[string]any{"trunk": "TK1", "numbers": "mine"}})
	paths := map[string]bool{}
	for _, f := range fault.From(err).Fields {
		paths[f.Path] = true
	}
	if len(paths) != 3 || !paths["settings.trunk"] || !paths["settings.numbers"] || !paths["credentials.token"] {
		t.Errorf("told are %v", paths)
	}
	for _, delay := range []string{"-1h", "2161h"} {
		err := a.Check(Values{
			Settings: map[string]any{"release_delay": delay}, Credentials: map[string]string{"token": "t"},
		})
		if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "settings.release_delay" {
			t.Errorf("a delay of %s: %v", delay, err)
		}
	}
}
