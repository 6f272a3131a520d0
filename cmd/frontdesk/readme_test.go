package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/servertest"
	"frontdesk/core/adapter/adaptertest"
)

// The steps of CalDAV's README work when they are pasted. Only the ports are replaced by free ones, and the
// binary is built already.
func TestREADMEWalkWorks(t *testing.T) {
	t.Parallel()
	servertest.Radicale(t) // skips if Radicale is not installed
	readme, err := os.ReadFile("../../adapters/calendar/caldav/README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("CalDAV's README has no walk")
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(directory, "frontdesk")); err != nil {
		t.Fatal(err)
	}
	gateway := adaptertest.FreePort(t)
	script := strings.NewReplacer(
		"go build -o frontdesk ./cmd/frontdesk\n", "",
		"127.0.0.1:5232", "127.0.0.1:"+adaptertest.FreePort(t), "127.0.0.1:8080", "127.0.0.1:"+gateway,
	).Replace(string(block[1]))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	walk := exec.CommandContext(ctx, "bash", "-m", "-c", "trap 'kill $(jobs -p) 2>/dev/null' EXIT TERM\n"+script)
	walk.Cancel = func() error { return walk.Process.Signal(syscall.SIGTERM) }
	walk.Dir = directory
	others := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FRONTDESK_") })
	walk.Env = append(others, asCommand+"=1", "GORACE=atexit_sleep_ms=0",
		"FRONTDESK_SERVER__LISTEN=127.0.0.1:"+gateway, "FRONTDESK_SERVER__OPS_LISTEN=127.0.0.1:0",
		"FRONTDESK_LOG__LEVEL=warn")
	walk.WaitDelay = 20 * time.Second
	out, err := walk.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, want := range []string{
		`"start_time":"2026-12-01T15:00:00-05:00","end_time":"2026-12-01T15:30:00-05:00"`,
		`"subject":"Consultation","start_time":"2026-12-01T21:00:00+01:00"`,
		`{"ok":true,`, `"subject":"Broken door handle"`, `"priority":"High"`,
		`"e164":"+1415`, `"inbound_cloud_employee_id":7`, "\n204\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the walk does not print %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// Every link in the documents leads to an existing file, folder or heading, with anchors as GitHub names
// them.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "node_modules" { // where somebody has built the client in TypeScript
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			return err
		}
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			target := filepath.Join("../..", path)
			if l[1] != "" {
				target = filepath.Join("../..", filepath.Dir(path), l[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, l[1])
			}
			if l[2] == "" {
				continue
			}
			linked, _ := os.ReadFile(target)
			if !slices.ContainsFunc(heading.FindAllStringSubmatch(string(linked), -1), func(h []string) bool {
				return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == l[2]
			}) {
				t.Errorf("%s links to #%s, a heading that %s does not have", path, l[2], target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
