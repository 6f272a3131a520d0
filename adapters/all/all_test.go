package all_test

import (
	"maps"
	"net/http"
	"testing"
	"time"

	"frontdesk/adapters/all"
	"frontdesk/core/adapter"
)

// What a connection may not have is refused when it is added or changed, with the setting's name, and not by each call
// from then on.
func TestWhatCannotBeOpenedIsRefusedBefore(t *testing.T) {
	t.Parallel()
	given := map[string]string{ // what adapters require, by name
		"url": "https://dav.example.com/", "base_url": "https://acme.zendesk.com", "requester_email": "calls@example.com",
		"account_sid": "AC0123456789abcdef0123456789abcdef",
	}
	odd := []any{
		"x", "A,A", "|", "-1", "999999", "Foo/Bar", "https://acme.example.com/a/b?c#d", "A <a@b.example>", 99999.0, -1.0,
	}
	for _, a := range all.Adapters() {
		valid := adapter.Values{Settings: map[string]any{}, Credentials: map[string]string{}}
		for _, f := range a.Fields {
			switch value := given[f.Name]; {
			case !f.Required && f.Name != "base_url":
			case f.Secret:
				valid.Credentials[f.Name] = value + "secret"[min(len(value), len("secret")):]
			default:
				valid.Settings[f.Name] = value
			}
		}
		for _, f := range a.Fields {
			if f.Secret {
				continue
			}
			for _, value := range odd {
				values := adapter.Values{Settings: maps.Clone(valid.Settings), Credentials: valid.Credentials}
				values.Settings[f.Name] = value
				if a.Check(values) != nil {
					continue
				}
				if with, err := a.With(values); err != nil || with.Check(values) != nil {
					continue
				}
				if err := open(t, a, values); err != nil {
					t.Errorf("%s %s: %s %v is no fault before it is opened: %v", a.Kind, a.Name, f.Name, value, err)
				}
			}
		}
	}
}

func open(t *testing.T, a adapter.Adapter, values adapter.Values) (err error) {
	env := adapter.Environment{
		ConnectionID: "conn", Zone: "Europe/Berlin", HTTP: http.DefaultClient, Now: time.Now,
		Addresses: adapter.Addresses{"api_url": "https://api.example.com/v2"},
	}
	switch a.Kind {
	case adapter.KindCalendar:
		_, err = a.OpenCalendar(t.Context(), values, env)
	case adapter.KindCRM:
		_, err = a.OpenCRM(t.Context(), values, env)
	case adapter.KindTelephony:
		_, err = a.OpenTelephony(t.Context(), values, env)
	}
	return err
}
