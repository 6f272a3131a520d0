package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
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
	tenants, err := g.tenants.List(ctx)
	if err != nil {
		return findings, err
	}
	found := tenantName == ""
	for _, t := range tenants {
		if tenantName != "" && t.Name != tenantName {
			continue
		}
		found = true
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
	if !found {
		return findings, fault.Newf(fault.NotFound, "TENANT_NOT_FOUND", "There is no tenant %q.", tenantName)
	}
	return findings, nil
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
			"Make room on its disk, or let store.url lead to the primary server.")
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

func (g *Gateway) examineKeys(ctx context.Context) []Finding {
	const subject = "key set"
	used, missing, err := g.keysInUse(ctx)
	var findings []Finding
	switch {
	case err != nil:
		findings = append(findings, fails(subject, fault.From(err).Detail,
			"Restore the key set that the credentials were sealed with."))
	case len(missing) > 0:
		findings = append(findings, fails(subject,
			fmt.Sprintf("%d credentials are sealed with the key %d, which is not in the key set", used[missing[0]], missing[0]),
			"Restore the key set that holds this key, or enter those credentials again."))
	default:
		keys := g.vault.Status()
		findings = append(findings, fine(subject, fmt.Sprintf("every credential can be opened; keys: %d", len(keys))))
		if former := former(used, keys); former > 0 {
			findings = append(findings, warns(subject,
				fmt.Sprintf("%d credentials are sealed with a former key: a rotation is running, or was interrupted", former),
				"If no rotation is running, run frontdesk keyset rotate, "+prepareFirst+". Until then, the former key is "+
					"needed."))
		}
	}
	findings = append(findings, g.examineKEK(ctx)...)
	if left := g.vault.Interrupted(); left != "" {
		findings = append(findings, warns(subject, left+" is there: a rotation is running, or was interrupted",
			"If no rotation is running, remove the file. Until then, the key set cannot be rotated."))
	}
	return findings
}

// checkKeys refuses to serve with a key set that opens none of the credentials in the store. It is another
// gateway's key set, or a new one, created because the right one was not at its configured place.
func (g *Gateway) checkKeys(ctx context.Context) error {
	held := g.heldKeys()
	if well, err := g.anyRowOf(ctx, held); well || err != nil {
		return err
	}
	at, err := g.rows.Standing(ctx, held)
	if missing := keysWithout(at.Keys, held); err == nil && len(missing) > 0 && len(missing) == len(at.Keys) {
		return fmt.Errorf("the key set (secrets.keyset) opens none of the stored credentials, which are "+
			"sealed with the keys %v. Use the key set of the other replicas, or that of the time of a copy", missing)
	}
	return err
}

// anyRowOf reports whether a row is sealed with one of the keys. Where there is one, a start has nothing to refuse,
// and need not read all the others.
func (g *Gateway) anyRowOf(ctx context.Context, held map[uint32]bool) (bool, error) {
	return g.rows.AnySealedWith(ctx, slices.Collect(maps.Keys(held))...)
}

// tellOfRows logs what will be refused to callers: rows that are not sealed, and those whose key the key set
// lacks. It reads every row, so that no start waits for it.
func (g *Gateway) tellOfRows(ctx context.Context) {
	held := g.heldKeys()
	at, err := g.rows.Standing(ctx, held)
	switch missing := keysWithout(at.Keys, held); {
	case ctx.Err() != nil:
	case err != nil:
		g.log.WarnContext(ctx, "it could not be seen how the rows are sealed; run frontdesk doctor", "error", err)
	case at.Former > 0:
		g.log.ErrorContext(ctx, "some rows are refused because they are not sealed; run frontdesk doctor",
			"rows", at.Former)
	case len(missing) > 0:
		g.log.WarnContext(ctx, "the key set lacks keys that some credentials are sealed with; run frontdesk doctor",
			"keys", missing)
	}
}

// keysInUse returns how many credentials each key seals, and which of those keys the key set does not hold.
func (g *Gateway) keysInUse(ctx context.Context) (used map[uint32]int, missing []uint32, err error) {
	used, err = g.rows.KeysInUse(ctx)
	if err != nil {
		return nil, nil, err
	}
	return used, keysWithout(used, g.heldKeys()), nil
}

// heldKeys returns the ids of the keys in the key set.
func (g *Gateway) heldKeys() map[uint32]bool {
	held := map[uint32]bool{}
	for _, k := range g.vault.Status() {
		held[k.ID] = true
	}
	return held
}

// keysWithout returns the keys in use that are not held.
func keysWithout(used map[uint32]int, held map[uint32]bool) (missing []uint32) {
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if !held[id] {
			missing = append(missing, id)
		}
	}
	return missing
}

// former counts what is sealed with other keys than the primary one.
func former(used map[uint32]int, keys []vault.Key) (rows int) {
	for _, k := range keys {
		if !k.Primary {
			rows += used[k.ID]
		}
	}
	return rows
}

// Rotation is the result of RotateKeys.
type Rotation struct {
	Primary uint32   `json:"primary"`
	Sealed  int      `json:"sealed"` // credentials and rows sealed again
	Dropped []uint32 `json:"dropped,omitempty"`
}

// PrepareKey adds the key that the next rotation makes the primary one, and returns its id. Gateways with copies of
// the key set get it before anything is sealed with it.
func (g *Gateway) PrepareKey(ctx context.Context) (uint32, error) {
	id, err := g.vault.Prepare()
	if err != nil {
		return 0, err
	}
	return id, g.recordKey(context.WithoutCancel(ctx), "prepare-key", id, nil)
}

// prepareFirst is advice to whoever rotates once more: that adds another key.
const prepareFirst = "and before it keyset rotate --prepare if gateways have copies of the key set"

// RotateKeys makes a new or the prepared key the primary one, seals every credential with it, and drops keys that
// nothing needs. The former primary key stays until the next rotation, for gateways that have not read the new set
// yet.
func (g *Gateway) RotateKeys(ctx context.Context) (Rotation, error) {
	key, err := g.vault.Rotate()
	if err != nil {
		return Rotation{}, err
	}
	done, err := g.sealAgain(ctx, key.ID)
	recorded := g.recordKey(context.WithoutCancel(ctx), "rotate-keyset", key.ID, err) // the key stays, whoever interrupts
	if err != nil {
		return done, errors.Join(recorded, fmt.Errorf("the key %d was added, but not everything is sealed with it; "+
			"run frontdesk keyset rotate again, %s: %w", key.ID, prepareFirst, err))
	}
	return done, recorded
}

// sealAgain seals everything with the new primary key, and drops keys that nothing needs.
func (g *Gateway) sealAgain(ctx context.Context, primary uint32) (Rotation, error) {
	done, err := g.rows.Reseal(ctx)
	rotation := Rotation{Primary: primary, Sealed: done.Sealed}
	if err != nil {
		return rotation, err
	}
	records, err := g.store.Reseal(ctx,
		store.Rows{Stale: func(sealed []byte) bool { return vault.KeyOf(sealed) != primary }})
	rotation.Sealed += records.Rewritten
	if err != nil {
		return rotation, err
	}
	if err := g.audit.Reseal(ctx); err != nil {
		return rotation, err
	}
	audits, err := g.audit.SealedWith(ctx)
	if err != nil {
		return rotation, err
	}
	rotation.Dropped, err = g.vault.Prune(func(id uint32) bool { return done.InUse[id] > 0 || audits[id] })
	return rotation, err
}

// KeyStatus is one key of the key set.
type KeyStatus struct {
	ID          uint32 `json:"id"`
	Primary     bool   `json:"primary"`
	Credentials int    `json:"credentials"` // how many the key seals
}

// Keys returns the keys of the key set.
func (g *Gateway) Keys(ctx context.Context) ([]KeyStatus, error) {
	used, err := g.rows.KeysInUse(ctx)
	if err != nil {
		return nil, err
	}
	var list []KeyStatus
	for _, k := range g.vault.Status() {
		list = append(list, KeyStatus{ID: k.ID, Primary: k.Primary, Credentials: used[k.ID]})
	}
	return list, nil
}
