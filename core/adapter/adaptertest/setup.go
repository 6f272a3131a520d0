package adaptertest

import (
	"strings"
	"testing"

	"frontdesk/core/fault"
)

// WantSetup checks what a check of a connection's settings has answered, or a call that relies on them: nothing if
// reason is "", or else a fault that names no field of the caller's.
func WantSetup(t testing.TB, err error, reason, says string) {
	t.Helper()
	f := fault.From(err)
	if reason == "" {
		if err != nil {
			t.Errorf("answered %v, want nil", err)
		}
		return
	}
	if f == nil || f.Reason != reason || !strings.Contains(f.Detail, says) || len(f.Fields) != 0 {
		t.Errorf("answered %v, want %s of %q", err, reason, says)
	}
}
