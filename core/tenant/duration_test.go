package tenant

import "testing"

// FuzzDuration: what is read is no negative time, and reads back as it is written.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"10m", "1h30m", "0", `"24h"`, "'1m'", "-1s", "1e9h", "9223372036854775807ns", "1.5h", "", "10"} {
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
