package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// Finding is the result of one check of the doctor.
type Finding struct {
	Check   string `json:"check"`   // its stable name; see Checks
	Subject string `json:"subject"` // "store", "connection acme/front-office", ...
	Level   Level  `json:"level"`
	OK      bool   `json:"ok"`               // the level is not LevelError
	Says    string `json:"says"`             // what was found
	Advice  string `json:"advice,omitempty"` // what to do, unless the level is LevelOK
}

// fine returns a finding that all is well.
func fine(subject, says string) Finding { return Finding{Subject: subject, OK: true, Says: says} }

// warns returns a finding that something works, and should be looked after.
func warns(subject, says, advice string) Finding {
	return Finding{Subject: subject, OK: true, Says: says, Advice: advice}
}

// fails returns a finding that something does not work, or is not safe.
func fails(subject, says, advice string) Finding {
	return Finding{Subject: subject, Says: says, Advice: advice}
}

// checkStore is the advice if a check could not read the store.
const checkStore = "Check store.url and the database's own log."

// Level says how bad a finding is.
type Level string

// The levels. What is OK and has an advice is a warning.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning" // it works, and should be looked after
	LevelError   Level = "error"   // something does not work, or is not safe
)

// The names of the doctor's checks. Scripts and deploy/troubleshoot.md rely on them.
const (
	CheckConfiguration = "configuration"
	CheckPublicURL     = "public-url"
	CheckCertificate   = "certificate"
	CheckListeners     = "listeners"
	CheckEgress        = "egress"
	CheckSignIn        = "sign-in"
	CheckOAuthClient   = "oauth-client"
	CheckClock         = "clock"
	CheckVolume        = "volume"
	CheckStore         = "store"
	CheckKeySet        = "key-set"
	CheckAudit         = "audit"
	CheckRows          = "rows"
	CheckCalls         = "calls"
	CheckWebhooks      = "webhooks"
	CheckBreakers      = "circuit-breakers"
	CheckTenant        = "tenant"
	CheckConnection    = "connection"
	CheckNumbers       = "numbers"
	CheckAgent         = "agent"
)

// Checks returns the names of all checks, in the order of their findings.
func Checks() []string {
	return []string{
		CheckConfiguration, CheckPublicURL, CheckCertificate, CheckListeners, CheckEgress, CheckSignIn,
		CheckOAuthClient, CheckClock, CheckVolume, CheckStore, CheckKeySet, CheckAudit, CheckRows, CheckCalls, CheckWebhooks,
		CheckBreakers, CheckTenant, CheckConnection, CheckNumbers, CheckAgent,
	}
}

// of returns findings with the name of their check, unless they have one, and their level.
func of(check string, findings ...Finding) []Finding {
	for i := range findings {
		f := &findings[i]
		if f.Check == "" {
			f.Check = check
		}
		switch {
		case !f.OK:
			f.Level = LevelError
		case f.Advice != "":
			f.Level = LevelWarning
		default:
			f.Level = LevelOK
		}
	}
	return findings
}

const (
	doctorWait  = 10 * time.Second // for one connection
	mostSkew    = 2 * time.Second
	earliestNow = 2026 // a clock before this year is wrong
)

// Examine checks the configuration, this machine, the store, the key set, the audit, the rows and every
// connection, or those of one tenant. It changes only the connections' state, which it learns from their
// providers. With repair, it also corrects phone numbers that differ from their provider's account.
func (g *Gateway) Examine(ctx context.Context, tenantName string, repair bool) ([]Finding, error) {
	findings := slices.Concat(
		of(CheckPublicURL, g.examinePublicURL(ctx)),
		of(CheckCertificate, g.examineCertificates(ctx)...),
		of(CheckListeners, g.examineListeners()),
		of(CheckEgress, g.examineEgress()...),
		of(CheckSignIn, g.examineSignIn(ctx)...),
		of(CheckOAuthClient, g.examineOAuthClients(ctx)...),
		of(CheckClock, g.examineClock(ctx)),
		of(CheckVolume, g.examineVolume()...),
		of(CheckStore, g.examineStore(ctx)),
	)
	if !findings[len(findings)-1].OK {
		return findings, nil // all other checks need the store
	}
	findings = slices.Concat(findings,
		of(CheckKeySet, g.examineKeys(ctx)...),
		of(CheckAudit, g.examineAudit(ctx)),
		of(CheckRows, g.examineRows(ctx)...),
		of(CheckCalls, g.examineCalls(ctx)...),
		of(CheckWebhooks, g.examineWebhooks(ctx)...),
	)
	if tenantName == "" {
		findings = append(findings, of(CheckBreakers, g.examineBreakers(ctx)...)...)
	}
	tenants, err := g.tenantsNamed(ctx, tenantName)
	if err != nil {
		return findings, err
	}
	for _, t := range tenants {
		connections, err := g.connections.List(ctx, t.Name)
		if err != nil {
			return findings, err
		}
		findings = append(findings, of(CheckTenant, g.examineTenant(ctx, t.Name, connections)...)...)
		for _, c := range connections {
			found := g.examineConnection(ctx, t.Name, c)
			findings = append(findings, of(CheckConnection, found)...)
			if found.OK && c.Kind == adapter.KindTelephony {
				findings = append(findings, of(CheckNumbers, g.examineNumbers(ctx, t.Name, c, repair)...)...)
			}
		}
	}
	return findings, nil
}

// tenantsNamed returns the tenant with a name, or all tenants for "".
func (g *Gateway) tenantsNamed(ctx context.Context, name string) ([]tenant.Tenant, error) {
	if name == "" {
		return g.tenants.List(ctx)
	}
	only, err := tenant.ByName(ctx, g.store, name)
	return []tenant.Tenant{only}, err
}

// Unusable returns the findings about a configuration that cannot be read, or a gateway that cannot be
// opened.
func Unusable(err error) []Finding {
	wrong, is := errors.AsType[*config.Error](err)
	if !is {
		says := err.Error()
		if f, is := errors.AsType[*fault.Error](err); is {
			says = detailOf(err)
			for _, field := range f.Fields {
				says += " " + field.Path + " " + field.Text()
			}
		}
		return of(CheckConfiguration, fails("start", says, "Correct this first. No other check could be made."))
	}
	var findings []Finding
	for _, f := range wrong.Faults {
		subject := cmp.Or(f.Key, f.Variable, "configuration")
		from := "the configuration"
		switch {
		case f.Variable != "":
			from = "the variable " + f.Variable
		case wrong.Source != "":
			from = wrong.Source
		}
		findings = append(findings, fails(subject, f.Message, "Correct it in "+from+
			". config/frontdesk.example.yaml has every key. No other check could be made."))
	}
	return of(CheckConfiguration, findings...)
}

// detailOf returns what a finding says of an error, with the cause if the operator must know it.
func detailOf(err error) string {
	f := fault.From(err)
	if cause := f.ForOperator(); cause != "" {
		return f.Detail + " Cause: " + cause + "."
	}
	return f.Detail
}

func (g *Gateway) examineStore(ctx context.Context) Finding {
	const subject = "store"
	if err := g.checkDatabase(ctx); err != nil {
		return fails(subject, detailOf(err), "Check store.url, the database's own log, and that the database is the one "+
			"that this gateway used last.")
	}
	pending, err := g.store.Pending(ctx)
	if err == nil && pending > 0 {
		return fails(subject, fmt.Sprintf("%d migrations are not applied", pending),
			"Run frontdesk migrate. frontdesk serve does this at its start.")
	}
	if err == nil {
		err = g.store.Check(ctx)
	}
	if err != nil {
		return fails(subject, detailOf(err), checkStore+" A damaged file is replaced by: frontdesk restore")
	}
	if err := g.store.Probe(ctx); err != nil {
		return fails(subject, "accepts no writes: "+detailOf(err),
			"Make room on its disk, let its user write there, or let store.url lead to the primary server.")
	}
	return fine(subject, "reachable, intact and up to date")
}

// examineClock compares the clock with those of the database and of the file system, and with earliestNow.
// Tokens, dedupe windows and "now" in a request's window all depend on the clock.
func (g *Gateway) examineClock(ctx context.Context) Finding {
	const subject = "clock"
	now := g.now().UTC().Format(time.RFC3339)
	file, err := os.CreateTemp(g.config.DataDir, ".clock-*")
	if err != nil {
		return fails(subject, "data_dir is not writable: "+err.Error(),
			"Give the user that runs frontdesk write permission there.")
	}
	defer os.Remove(file.Name())
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fails(subject, err.Error(), "Check the volume that holds data_dir.")
	}
	if g.now().Year() < earliestNow {
		return fails(subject, now, "The clock is years behind. Run a time service such as chrony or systemd-timesyncd.")
	}
	if skew := g.now().Sub(info.ModTime()); skew.Abs() > mostSkew {
		return differs(subject, "the file system", skew)
	}
	// examineStore reports a database that does not respond.
	if there, err := g.store.Clock(ctx); err == nil && g.now().Sub(there).Abs() > mostSkew {
		return differs(subject, "the database", g.now().Sub(there))
	}
	return fine(subject, now)
}

func differs(subject, whose string, skew time.Duration) Finding {
	return fails(subject, fmt.Sprintf("differs by %s from the clock of %s", skew.Round(time.Millisecond), whose),
		"Run a time service on both machines.")
}
