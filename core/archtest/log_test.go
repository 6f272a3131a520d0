package archtest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// An attribute of the log has one meaning: who looks for a tenant's name, or for a connection's id, finds every line.
func TestAttributesOfTheLogHaveOneMeaning(t *testing.T) {
	another := regexp.MustCompile(`"tenant", [\w.]*TenantID\b|slog\.String\("connection_id"`)
	err := fs.WalkDir(os.DirFS(top), "core", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path.Join(top, name))
		for _, wrong := range another.FindAll(source, -1) {
			t.Errorf("%s: %s: an id of a tenant is tenant_id, and one of a connection is connection", name, wrong)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
