package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"frontdesk/core/store/storetest"
)

// Pages freed by a purge are returned to the disk, except for a quarter of the file.
func TestFreedPagesAreGivenBack(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/f.db"
	s := storetest.Connect(t, "sqlite:"+path)
	must(t, s.Migrate(t.Context()))
	connection(t, s, "front")
	size := func() int64 {
		must(t, s.Execute(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"))
		return got(os.Stat(path))(t).Size()
	}
	for i := range 100 {
		put(t, s, "front", fmt.Sprint(i), strings.Repeat("x", 40_000))
	}
	full := size()
	must(t, s.Execute(t.Context(), "DELETE FROM documents"))
	for given := int64(1); given > 0; {
		if given = got(s.GiveBack(t.Context(), 50))(t); given > 60 {
			t.Errorf("%d pages were given at a time", given)
		}
	}
	if left := size(); left > full/4 {
		t.Errorf("of %d bytes %d are left", full, left)
	}
	must(t, s.Check(t.Context()))
	must(t, s.Close())
}
