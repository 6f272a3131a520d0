package gatewaytest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/page/browsertest"
	"frontdesk/deploy/gatewaytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// passes runs a program that tests a client in another language, with a gateway as it should be, and with one whose
// first answer to each request is lost on the way.
func passes(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	for name, lossy := range map[string]bool{"as it should be": false, "where answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, key := gatewaytest.Serve(t, lossy)
			run := exec.CommandContext(t.Context(), program, args...)
			run.Dir, run.Env = dir, append(os.Environ(), "GATEWAY_URL="+url, "GATEWAY_KEY="+key)
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The client in TypeScript compiles, and does what it says (test/client.test.mjs).
func TestTheTypeScriptClient(t *testing.T) {
	const client = "../clients/typescript"
	tsc := filepath.Join(browsertest.Package(t, "typescript"), "bin", "tsc")
	built := t.TempDir()
	for _, folder := range []string{"src", "test"} {
		if err := os.CopyFS(filepath.Join(built, folder), os.DirFS(filepath.Join(client, folder))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"package.json", "tsconfig.json"} {
		text, err := os.ReadFile(filepath.Join(client, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(built, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), tsc, "-p", built).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passes(t, built, "node", "--test", "test/client.test.mjs")
}

// The calendar in Python does what LiveKit's example expects of one (test_frontdesk_calendar.py).
func TestTheLiveKitCalendar(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("FRONTDESK_REQUIRE_ALL") == "" {
		t.Skip("python3 is not installed")
	}
	passes(t, "../examples/livekit", python, "-B", "test_frontdesk_calendar.py")
}
