package tenant

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

func TestDurations(t *testing.T) {
	for _, rule := range []struct {
		text string
		want Duration
		back string
	}{
		{`"10m"`, Duration(10 * time.Minute), `"10m"`},
		{`"90m"`, Duration(90 * time.Minute), `"1h30m"`},
		{`"2h"`, Duration(2 * time.Hour), `"2h"`},
		{`"72h0m5s"`, Duration(72*time.Hour + 5*time.Second), `"72h0m5s"`},
		{`"10s"`, Duration(10 * time.Second), `"10s"`},
		{`"20m"`, Duration(20 * time.Minute), `"20m"`},
		{`"1500ms"`, Duration(1500 * time.Millisecond), `"1.5s"`},
		{`"0"`, 0, `"0s"`},
		{`0`, 0, `"0s"`},
	} {
		for name, read := range map[string]func([]byte, any) error{"JSON": json.Unmarshal, "YAML": yaml.Unmarshal} {
			var d Duration
			if err := read([]byte(rule.text), &d); err != nil || d != rule.want {
				t.Errorf("%s %s: got %s, %v", name, rule.text, d, err)
			}
		}
		if raw, err := json.Marshal(rule.want); err != nil || string(raw) != rule.back {
			t.Errorf("%s is written as %s, %v", rule.text, raw, err)
		}
	}
	for _, text := range []string{`"-1m"`, `10`, `"ten"`, `true`, `""`, `[]`} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s passes as %s", text, d)
		}
	}
}

// FuzzDuration checks that a duration read is not negative, and reads back as it is written.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{
		"10m", "1h30m", "0", `"24h"`, "'1m'", "-1s", "1e9h", "9223372036854775807ns", "1.5h", "", "10",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var text, yaml, again Duration
		if text.UnmarshalJSON(raw) != nil {
			return
		}
		if text < 0 {
			t.Fatalf("%q is %s", raw, text)
		}
		if err := yaml.UnmarshalYAML(raw); err != nil || yaml != text {
			t.Fatalf("%q is %s in JSON, and %s, %v in YAML", raw, text, yaml, err)
		}
		written, err := text.MarshalText()
		if err != nil || again.UnmarshalText(written) != nil || again != text {
			t.Fatalf("%q is written %s and read %s", raw, written, again)
		}
	})
}
