package sandbox

import (
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/fault/faulttest"
)

func TestTheDeclarationIsThatOfASandbox(t *testing.T) {
	a := Adapter()
	if a.Name != "sandbox" || a.Kind != adapter.KindCalendar || !a.Sandbox || a.Auth != (adapter.Auth{}) {
		t.Errorf("declared as %+v", a.Declaration)
	}
	var words []string
	for _, w := range scenario.Names() {
		words = append(words, string(w))
	}
	i := slices.IndexFunc(a.Fields, func(f adapter.Field) bool { return f.Name == "fault" })
	if got := a.Fields[i].Choices; !slices.Equal(got, words) {
		t.Errorf("the fault setting offers %q, want every word of every sandbox: %q", got, words)
	}
}

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	for rule, c := range map[string]struct {
		settings map[string]any
		paths    []string
	}{
		"as it comes":            {nil, nil},
		"an unknown zone":        {map[string]any{"timezone": "Europe/Atlantis"}, []string{"settings.timezone"}},
		"the machine's own zone": {map[string]any{"timezone": "Local"}, []string{"settings.timezone"}},
		"a name in the address": {map[string]any{"email": "Office <office@example.com>"},
			[]string{"settings.email"}},
		"no address": {map[string]any{"email": "office"}, []string{"settings.email"}},
		"both": {map[string]any{"email": "office", "timezone": "x"},
			[]string{"settings.timezone", "settings.email"}},
		"an unknown word":    {map[string]any{"fault": "sideways"}, []string{"settings.fault"}},
		"a negative latency": {map[string]any{"latency": "-1s"}, []string{"settings.latency"}},
	} {
		env := adapter.Environment{Zone: "UTC", Storage: adaptertest.Storage(), Now: time.Now}
		_, err := Adapter().OpenCalendar(t.Context(), adapter.Values{Settings: c.settings}, env)
		paths := faulttest.Paths(err)
		if !slices.Equal(paths, c.paths) {
			t.Errorf("%s: %v, want faults of %q", rule, err, c.paths)
		}
	}
}
