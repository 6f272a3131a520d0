package config

import (
	"strings"
	"testing"
	"time"
)

// Rows that are not kept for ever have a place to go to.
func TestAuditIsKeptOrArchived(t *testing.T) {
	const keep, dir = "FRONTDESK_AUDIT__KEEP=", "FRONTDESK_AUDIT__ARCHIVE_DIR=/archives"
	for name, c := range map[string]struct {
		environ []string
		want    Audit
		fault   string
	}{
		"for ever":               {nil, Audit{}, ""},
		"for ever, with a place": {[]string{dir}, Audit{ArchiveDir: "/archives"}, ""},
		"for a day":              {[]string{keep + "24h", dir}, Audit{24 * time.Hour, "/archives"}, ""},
		"without a place":        {[]string{keep + "8760h"}, Audit{}, "audit.archive_dir"},
		"shorter than replicas'": {[]string{keep + "23h", dir}, Audit{}, "audit.keep"},
		"before it was recorded": {[]string{keep + "-24h", dir}, Audit{}, "audit.keep"},
	} {
		cfg, err := Load("", c.environ, nil)
		if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) ||
			c.fault == "" && (err != nil || cfg.Audit != c.want) {
			t.Errorf("%s: %+v, %v", name, cfg.Audit, err)
		}
	}
}
