package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/config"
	"frontdesk/core/audit"
)

// heard is a log that tells when it has a certain line.
type heard struct {
	line string
	told chan struct{}
}

func (h heard) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(h.line)) {
		h.told <- struct{}{}
	}
	return len(p), nil
}

// A gateway archives what is older than audit.keep, without being asked, and the doctor says when none does.
func TestTheGatewayArchivesItsAudit(t *testing.T) {
	t.Parallel()
	cfg := config.Default(nil)
	cfg.DataDir = t.TempDir()
	cfg.Audit = config.Audit{Keep: 24 * time.Hour, ArchiveDir: filepath.Join(t.TempDir(), "archives")}
	var ahead atomic.Int64
	log := heard{"rows of the audit were archived", make(chan struct{}, 1)}
	g, err := Open(t.Context(), cfg, Options{
		LogTo: log, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	record := func() {
		t.Helper()
		entry := audit.Entry{Tenant: "acme", Action: "book-meeting", Outcome: audit.Done}
		if err := g.audit.Record(t.Context(), entry); err != nil {
			t.Fatal(err)
		}
		if err := g.audit.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	doctor := func(warns bool, says string) {
		t.Helper()
		if f := g.examineAudit(t.Context()); !f.OK || (f.Advice != "") != warns || !strings.Contains(f.Says, says) {
			t.Errorf("the doctor: %+v", f)
		}
	}
	record()
	record()
	doctor(false, "intact, 2 rows")
	ahead.Store(int64(4 * 24 * time.Hour))
	record()
	doctor(true, "older than audit.keep")
	untilTold := func() {
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { g.archiveAudit(ctx); close(ended) }()
		<-log.told
		end()
		<-ended
	}
	untilTold()
	doctor(false, "archived up to row 2")
	r, err := g.VerifyAudit(t.Context(), AuditCheck{Archives: []string{cfg.Audit.ArchiveDir}})
	if err != nil || !r.Sound || r.Boundary != 2 || len(r.Archives) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g.config.Audit.ArchiveDir = inTheWay
	doctor(true, "audit.archive_dir cannot be written to")
	log = heard{"to audit.archive_dir", make(chan struct{}, 1)}
	g.log = slog.New(slog.NewTextHandler(log, nil))
	untilTold() // at the start, though it is not time
	g.config.Audit = config.Audit{}
	g.archiveAudit(t.Context()) // returns at once
}
