package typescript_test

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

// The client compiles, and does what it says (test/client.test.mjs), also if the gateway's first answer to each
// request is lost on the way.
func TestTheClient(t *testing.T) {
	tsc := filepath.Join(browsertest.Package(t, "typescript"), "bin", "tsc")
	built := t.TempDir()
	for _, folder := range []string{"src", "test"} {
		if err := os.CopyFS(filepath.Join(built, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"package.json", "tsconfig.json"} {
		text, err := os.ReadFile(file)
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
	for name, lossy := range map[string]bool{"as it should be": false, "where answers are lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, key := gatewaytest.Serve(t, lossy)
			node := exec.CommandContext(t.Context(), "node", "--test", "test/client.test.mjs")
			node.Dir, node.Env = built, append(os.Environ(), "GATEWAY_URL="+url, "GATEWAY_KEY="+key)
			if out, err := node.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
