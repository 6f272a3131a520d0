package livekit_test

import (
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/deploy/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The calendar does what LiveKit's example expects of one (test_frontdesk_calendar.py), also if the gateway's
// first answer to each request is lost on the way.
func TestTheCalendar(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("FRONTDESK_REQUIRE_ALL") == "" {
		t.Skip("python3 is not installed")
	}
	for name, lossy := range map[string]bool{"as it should be": false, "where answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, key := gatewaytest.Serve(t, lossy)
			run := exec.CommandContext(t.Context(), python, "-B", "test_frontdesk_calendar.py")
			run.Env = append(os.Environ(), "GATEWAY_URL="+url, "GATEWAY_KEY="+key)
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
