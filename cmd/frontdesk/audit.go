package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"frontdesk/core/gateway"
	"frontdesk/core/sealing"
)

type auditList struct {
	Tenant string        `help:"List only changes of this tenant." placeholder:"NAME"`
	Since  time.Duration `help:"List only changes within this time." placeholder:"24h"`
	Action string        `help:"List only changes of this kind, such as book-meeting or create-key. Of what callers do, the newest 100,000 changes are looked through." placeholder:"A"`
	Limit  int           `help:"List at most this many, the newest." default:"100" placeholder:"100"`
	JSON   bool          `help:"Print JSON."`
}

type auditRow struct {
	ID         int64     `json:"id,omitempty"`
	At         time.Time `json:"at"`
	TenantID   string    `json:"tenant_id,omitempty"`
	Tenant     string    `json:"tenant,omitempty"`
	Actor      string    `json:"actor"`
	Action     string    `json:"action"`
	Connection string    `json:"connection_id,omitempty"`
	Subject    string    `json:"subject,omitempty"`
	Changed    []string  `json:"changed,omitempty"`
	Outcome    string    `json:"outcome"`
	Effect     string    `json:"effect,omitempty"`
	RequestID  string    `json:"request_id,omitempty"`
	Hash       string    `json:"hash,omitempty"`
}

// Run lists the newest changes, oldest first.
func (c auditList) Run(ctx context.Context, s *session) error {
	if c.Limit < 1 {
		return usage("--limit must be at least 1")
	}
	if c.Since < 0 {
		return usage("--since must not be negative")
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		found, err := g.Audit(ctx, gateway.AuditFilter{
			Tenant: c.Tenant, Action: c.Action, Since: c.Since, Limit: c.Limit,
		})
		if err != nil {
			return err
		}
		values, rows := make([]auditRow, 0, len(found)), make([][]string, 0, len(found))
		for _, r := range found {
			value := auditRow{
				r.ID, r.At, r.TenantID, r.Tenant, r.Actor, r.Action, r.ConnectionID, r.Subject, r.Changed, r.Outcome,
				r.Effect, r.RequestID, r.MAC,
			}
			id := fmt.Sprint(r.ID)
			if r.ID == 0 { // not sealed yet, so its MAC is not part of the chain
				id, value.Hash = "-", ""
			}
			values = append(values, value)
			rows = append(rows, []string{
				id, moment(r.At), r.Tenant, r.Actor, r.Action, r.Subject, strings.Join(r.Changed, ","), r.Outcome,
				r.RequestID,
			})
		}
		return s.list(c.JSON, values, []string{"ID", "AT", "TENANT", "ACTOR", "ACTION", "SUBJECT", "CHANGED",
			"OUTCOME", "REQUEST"}, rows)
	})
}

type auditArchive struct {
	OlderThan *time.Duration `help:"Archive rows that are older than this. Without it, audit.keep counts." placeholder:"8760h"`
	Dir       string         `help:"The directory to write to. Without it, audit.archive_dir counts." type:"path" placeholder:"DIR"`
}

// Help returns the text that is shown with the flags.
func (auditArchive) Help() string {
	return "Writes the rows to files in the directory, as JSON lines (gzip), and prints their names. A row is " +
		"removed from the database once its file is on the disk, in small batches, while the gateway serves. " +
		"The command can be repeated after whatever kept it from ending.\n\n" +
		"Back the files up: they are not in copies of the database. frontdesk audit verify --archive DIR checks " +
		"them. The keys for that stay in the database, sealed with the key set.\n\n" +
		"Rows that say that a key was revoked or rolled are archived and stay in the database, too. By them, the " +
		"key of somebody who put its row back is refused."
}

// Run archives, and prints the names of the files.
func (c auditArchive) Run(ctx context.Context, s *session) error {
	if c.OlderThan != nil && *c.OlderThan < 0 {
		return usage("--older-than must not be negative")
	}
	ctx = gateway.AsOperator(ctx, "audit archive")
	return s.with(ctx, func(g *gateway.Gateway) error {
		files, err := g.ArchiveAudit(ctx, c.OlderThan, c.Dir)
		for _, file := range files {
			if _, err := fmt.Fprintln(s.out, file.Path); err != nil {
				return err
			}
		}
		if err == nil && len(files) == 0 {
			fmt.Fprintln(s.err, "No row is old enough.")
		}
		return err
	})
}

type auditVerify struct {
	Head    string   `help:"Also compare the audit with a head that you kept: a file such as audit-head.json, or a head as this command prints it." placeholder:"FILE|HASH"`
	Archive []string `help:"Also check archives, and that they join each other and the database: a file, or a directory of them. Repeat it for several." type:"path" sep:"none" placeholder:"PATH"`
	First   int64    `help:"The row that the archives begin with, if you disposed of earlier ones." placeholder:"ROW"`
	JSON    bool     `help:"Print the report as JSON."`
}

// Help returns the text that is shown with the flags.
func (auditVerify) Help() string {
	return "Prints the head of the audit, ROWS:HASH. Keep it where those who can write the database cannot " +
		"reach it. Passed back with --head, it shows whether rows were removed from the end, or the whole " +
		"database was put back to an earlier state. The gateway keeps the last head it knows in " +
		"audit-head.json in its data directory, and this command always checks it. After restoring the " +
		"database by other means than frontdesk restore, run: frontdesk migrate --begin-anew.\n\n" +
		"Of rows that were archived, the database proves the last one. With --archive, the archives are " +
		"checked row by row, from the first row of all.\n\n" +
		"Two things no check can show: a row removed within a second of being written, before it was sealed; " +
		"and what somebody did who has the key set."
}

// verified is the JSON output of audit verify.
type verified struct {
	gateway.AuditReport
	WrongRows []sealing.WrongRow `json:"wrong_rows,omitempty"`
}

// Run fails when the audit or an archive is not sound, and names the first row that is wrong. It also fails
// when a connection, key or link is not as the gateway wrote it, and names each of them.
func (c auditVerify) Run(ctx context.Context, s *session) error {
	if c.First != 0 && (c.First < 1 || len(c.Archive) == 0) {
		return usage("--first must be at least 1, and needs --archive")
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		report, err := g.VerifyAudit(ctx, gateway.AuditCheck{
			Head: c.Head, Archives: c.Archive, First: c.First,
		})
		if err != nil {
			return err
		}
		wrong, err := g.WrongRows(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := s.printJSON(verified{report, wrong}); err != nil {
				return err
			}
		}
		for _, row := range wrong {
			fmt.Fprintln(s.err, row)
		}
		if !report.Sound {
			return fmt.Errorf("the audit is not intact: %s", report.Problem)
		}
		if len(wrong) > 0 {
			return fmt.Errorf("%d rows are not as the gateway wrote them, and are refused", len(wrong))
		}
		if c.JSON {
			return nil
		}
		describe(s.err, report)
		_, err = fmt.Fprintln(s.out, report.Head)
		return err
	})
}

// describe says what was found intact.
func describe(to io.Writer, r gateway.AuditReport) {
	for _, head := range r.Archived {
		fmt.Fprintf(to, "The row that %s knows is archived; compare them with --archive.\n", head)
	}
	switch {
	case len(r.Archives) > 0:
		fmt.Fprintf(to, "%d archives are intact: they begin with row %d and join the database.\n",
			len(r.Archives), r.Archives[0].First)
	case r.Boundary > 0:
		fmt.Fprintf(to, "The rows up to %d are archived, and not checked here.\n", r.Boundary)
	}
	fmt.Fprintf(to, "The audit is intact: %d rows, %d not sealed yet. Keep this head elsewhere:\n",
		r.Head.Rows, r.Unsealed)
}
