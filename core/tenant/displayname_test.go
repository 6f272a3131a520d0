package tenant_test

import (
	"strings"
	"testing"

	"frontdesk/core/tenant"
)

// A display name is shown to customers: it cannot say something else than what an administrator reads.
func TestDisplayNames(t *testing.T) {
	t.Parallel()
	for name, usable := range map[string]bool{
		"":                      true,
		"Acme Dental Care":      true,
		"Bücher & <Söhne>":      true, // pages escape it
		"عيادة الأسنان":         true,
		"歯科クリニック":               true,
		"ශ්\u200dරී ලංකා":       true, // joiners, which these scripts are written with
		"نمی\u200cدانم":         true,
		"👩\u200d👩\u200d👧":       true,
		"Ac\u200dme":            false,
		"\u200d":                false,
		"ශ්\u200d\u200dරී":      false,
		strings.Repeat("ü", 80): true,
		strings.Repeat("ü", 81): false,
		" Acme":                 false,
		"Acme\u00a0":            false,
		" ":                     false,
		"Acme\nDental":          false,
		"Acme\x00":              false,
		"Acme\u202eeraC":        false, // right-to-left override
		"Acme\u2066Care\u2069":  false, // isolates
		"Acme\u200fCare":        false, // right-to-left mark
		"Ac\u200bme":            false, // zero-width space
		"Ac\u00adme":            false, // soft hyphen
		"Acme\ufeff":            false,
		"Acme\u2028Care":        false, // line separator
		"Acme\xff":              false,
		"Acme \U000e0041":       false, // a tag
	} {
		faults := tenant.Settings{DisplayName: name}.Check("settings.")
		if usable && len(faults) != 0 ||
			!usable && (len(faults) != 1 || faults[0].Path != "settings.display_name") {
			t.Errorf("%q: %v", name, faults)
		}
	}
}
