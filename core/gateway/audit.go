package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/pause"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// headFile is the file in the data directory that holds the last head of the audit that the gateway knows.
const headFile = "audit-head.json"

// AsOperator returns a context under which the audit attributes changes to an operator's command.
func AsOperator(ctx context.Context, command string) context.Context {
	return audit.By(ctx, audit.Operator(command))
}

// AuditFilter selects the changes to list. Zero values do not restrict, except for Limit.
type AuditFilter struct {
	Tenant string // name
	Action string
	Since  time.Duration // how far back from now
	Limit  int
}

// Audit returns the newest changes that match the filter, at most Limit of them, oldest first.
func (g *Gateway) Audit(ctx context.Context, f AuditFilter) ([]store.AuditRow, error) {
	rows := store.AuditFilter{Tenant: f.Tenant, Action: f.Action, Limit: f.Limit}
	if f.Since > 0 {
		rows.Since = g.now().Add(-f.Since)
	}
	return tenant.Changes(ctx, g.store, rows, "action")
}

// AuditReport is the result of VerifyAudit.
type AuditReport = audit.Report

// AuditFile is an archive of the audit.
type AuditFile = audit.File

// AuditCheck says what VerifyAudit compares the audit with, besides the head in the data directory.
type AuditCheck struct {
	Head     string   // "", a file that holds a head, or the text COUNT:HASH or HASH
	Archives []string // files, and folders of them
	First    int64    // the row that the archives begin with; 0: the first
}

// VerifyAudit reports whether the audit was tampered with.
func (g *Gateway) VerifyAudit(ctx context.Context, check AuditCheck) (audit.Report, error) {
	known, err := g.knownHeads()
	if err != nil {
		return audit.Report{}, err
	}
	if head := check.Head; head != "" {
		h, isHead := audit.ParseHead(head)
		from := "the head given"
		if !isHead {
			if h, err = audit.ReadHead(head); err != nil {
				return audit.Report{}, fault.InvalidField("head",
					"must be a file that holds a head, or a head as audit verify prints it: "+err.Error()+".")
			}
			from = head
		}
		known = append(known, audit.Known{From: from, Head: h})
	}
	return g.audit.Verify(ctx, audit.VerifyOptions{
		Known: known, Archives: check.Archives, First: check.First,
	})
}

// ArchiveAudit moves the rows of the audit that are older than keep to files in a directory. Without them,
// keep and dir are those of the configuration. It returns the files that it wrote, also with an error.
func (g *Gateway) ArchiveAudit(ctx context.Context, keep *time.Duration, dir string) ([]AuditFile, error) {
	if keep == nil && g.config.Audit.Keep > 0 {
		keep = &g.config.Audit.Keep
	}
	if dir == "" {
		dir = g.config.Audit.ArchiveDir
	}
	if keep == nil {
		return nil, fault.InvalidField("older-than", "is required: audit.keep is not set.")
	}
	if dir == "" {
		return nil, fault.InvalidField("dir", "is required: audit.archive_dir is not set.")
	}
	return g.audit.Archive(ctx, audit.ArchiveOptions{Folder: dir, Before: g.now().Add(-*keep)})
}

const (
	archiveEvery = 24 * time.Hour
	archiveLooks = 10 * time.Minute // how often each gateway looks whether it is time
)

// archiveAudit archives rows of the audit once in archiveEvery, one of all gateways at a time, until ctx
// ends.
func (g *Gateway) archiveAudit(ctx context.Context) {
	keep, dir := g.config.Audit.Keep, g.config.Audit.ArchiveDir
	if keep == 0 {
		return
	}
	for {
		now := g.now()
		err := g.audit.ArchiveDue(ctx, now.Add(-archiveEvery), audit.ArchiveOptions{
			Folder: dir, Before: now.Add(-keep),
		})
		if err != nil && ctx.Err() == nil {
			g.log.WarnContext(ctx, "the audit could not be archived to audit.archive_dir; it will be tried again",
				"error", err)
		}
		if pause.For(ctx, archiveLooks) != nil {
			return
		}
	}
}

// knownHeads returns the head in the data directory, if there is one.
func (g *Gateway) knownHeads() ([]audit.Known, error) {
	path := filepath.Join(g.config.DataDir, headFile)
	h, err := audit.ReadHead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []audit.Known{{From: path, Head: h}}, err
}

// doctorRows is how many of the newest audit rows the doctor verifies.
const doctorRows = 10_000

func (g *Gateway) examineAudit(ctx context.Context) Finding {
	const subject = "audit"
	known, err := g.knownHeads()
	if err != nil {
		return fails(subject, err.Error(), "Find out what happened to the file. Gateways write it as a whole.")
	}
	report, err := g.audit.Verify(ctx, audit.VerifyOptions{Known: known, Last: doctorRows})
	switch {
	case err != nil:
		return fails(subject, detailOf(err), checkStore)
	case !report.Sound:
		return fails(subject, report.Problem.String(),
			"Somebody changed the audit in the database, or replaced the database: by an older one, or by a copy of the "+
				"file without what was in its -wal. If you did so on purpose, run frontdesk migrate --begin-anew; frontdesk "+
				"backup and restore lose nothing. Otherwise run frontdesk audit verify, and find out who can write the "+
				"database.")
	}
	f := fine(subject, fmt.Sprintf("intact, %d rows, %d not sealed yet", report.Head.Rows, report.Unsealed))
	if report.Head.Rows > doctorRows {
		f.Says += fmt.Sprintf(" (checked the last %d)", doctorRows)
	}
	if report.Boundary > 0 {
		f.Says += fmt.Sprintf("; archived up to row %d", report.Boundary)
	}
	if g.config.Audit.Keep == 0 {
		return f
	}
	if behind, err := g.archivingIsBehind(ctx, report.Boundary); err == nil && behind {
		f.Says += "; rows that are older than audit.keep are still in the database"
		f.Advice = "See the gateway's log for \"the audit could not be archived\", or run frontdesk audit archive."
	}
	if err := audit.CheckFolder(g.config.Audit.ArchiveDir); err != nil {
		f.Says += "; audit.archive_dir cannot be written to: " + err.Error()
		f.Advice = "Give the user that runs frontdesk write permission there. Until then, no row leaves the database."
	}
	return f
}

// archivingIsBehind reports whether the oldest row should have been archived for more than a day.
func (g *Gateway) archivingIsBehind(ctx context.Context, boundary int64) (bool, error) {
	page, err := g.store.AuditChain(ctx, boundary, 1)
	return len(page.Rows) > 0 && page.Rows[0].At.Before(g.now().Add(-g.config.Audit.Keep-2*archiveEvery)), err
}

// recordKey records a change of the key set. No transaction can include the key set's file.
func (g *Gateway) recordKey(ctx context.Context, action string, id uint32, failed error) error {
	outcome := audit.Done
	if failed != nil {
		outcome = audit.Failed(fault.From(failed).Reason)
	}
	return g.audit.Record(ctx, audit.Entry{
		Action: action, Subject: strconv.FormatUint(uint64(id), 10), Outcome: outcome,
	})
}
