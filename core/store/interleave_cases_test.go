package store_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// notInterleaved are the methods without an operation below, and the reasons.
var notInterleaved = map[string]string{
	"Close":         "it ends the process's calls, and touches no row",
	"Ping":          "it touches no row",
	"Check":         "it reads the file, not the rows' meaning",
	"Waited":        "it asks the pool, not the database",
	"Census":        "it counts rows for metrics, and no call goes by that",
	"Clock":         "it reads no row",
	"Migrate":       "it changes the schema; its own test runs replicas against each other",
	"Pending":       "it reads the schema's version",
	"TenantRecords": "it reads rows of all tables, one page of one table at a time",

	"Forget":  "it moves pages, and changes no row",
	"Rebuild": "it moves pages, and changes no row",
	"Reseal":  "it changes no value, only how it is sealed; its own test runs it against writers",

	"DirectoryChanges":      "it reads a history that no call goes by; its own tests run it beside writers",
	"PurgeDirectoryChanges": "it removes rows of a history that nobody reads any more",

	"Digest":     "it makes one row once; its own test has many make it",
	"BoundCalls": "it is said before the store is used",
	"SealWith":   "it is said before the store is used",

	"PublishWith": "it is said before the store is used",
	"Version":     "it reads the schema's version",
	"Probe":       "it writes a row that nobody reads",
	"GiveBack":    "it moves pages, not rows",
	"Backup":      "it reads the file as it is at one moment",

	"TracksProcesses": "it asks for the kind of database",
	"Announce":        "it writes a file beside the database",
	"Process":         "it reads a file beside the database",

	"Count": "tests alone have it", "Execute": "tests alone have it", "MigrateTo": "tests alone have it",
	"HoldTurn": "it commits nothing: who holds a turn is told by its own test",

	"ChangeConnection": "it is calls of UpdateConnection and Connection; rotations run it against writers",
}

// populate adds the rows that every run begins with, including some for each operation to change.
func populate(t *testing.T, s *store.Store, raw func(statement string)) {
	t.Helper()
	ctx := t.Context()
	tenant(t, s, "acme")
	tenant(t, s, "beta")
	for _, id := range []string{"c1", "c2", "c3"} { // c1 is the default
		connectionOf(t, s, "acme", id, "calendar")
	}
	connectionOf(t, s, "acme", "k1", "crm")

	for _, id := range []string{"c1", "c2"} { // c3 has none
		must(t, s.ResetTokens(ctx, tokens(id)))
	}
	if held := got(s.LeaseTokens(ctx, tokens("c2"), tokens("c2"), noon))(t); !held {
		t.Fatal("the tokens are not leased")
	}

	must(t, s.CreateKey(ctx, store.APIKey{
		ID: "agent1", TenantID: "acme", Hash: []byte("agent"), Platform: "retell", Seal: []byte("sealed"), CreatedAt: noon,
	}))
	must(t, s.CreateKey(ctx, store.APIKey{ID: "key1", TenantID: "acme", Hash: []byte("1"), CreatedAt: noon}))
	must(t, s.CreateKey(ctx, store.APIKey{
		ID: "key2", TenantID: "acme", Hash: []byte("2"), CreatedAt: noon, RevokedAt: noon,
	}))

	old := linkRow("old")
	old.CreatedAt, old.ExpiresAt = noon.AddDate(0, 0, -50), noon.AddDate(0, 0, -49)
	links := []store.ConnectLink{old, linkRow("open"), linkRow("claimed")}
	for _, hash := range []string{"same a", "same b"} { // for one connection
		l := linkRow(hash)
		l.ConnectionID, l.Name = "c2", "name of c2"
		links = append(links, l)
	}
	for _, l := range links {
		must(t, s.CreateConnectLink(ctx, l))
	}
	must(t, s.ClaimConnectLink(ctx, []byte("claimed"), []byte("claim"), noon, noon.Add(time.Minute)))
	for i := range 15 { // one more is the limit
		row := consentRow(fmt.Sprintf("%02d", i), noon.Add(time.Duration(i+1)*time.Minute))
		must(t, s.BeginConsent(ctx, row))
	}

	for _, key := range intentKeys {
		i := intentRow(key)
		if _, began, err := s.BeginIntent(ctx, i, time.Time{}); !began || err != nil {
			t.Fatal(key, began, err)
		}
		switch key {
		case "unknown":
			must(t, s.ReleaseIntent(ctx, i, store.IntentUnknown))
		case "done", "kept":
			must(t, s.FinishIntent(ctx, i, store.Attached{}))
		}
	}
	for _, expires := range []time.Time{noon.Add(time.Hour), noon} {
		link, row := signInLink("open"), sessionRow("open")
		if !expires.After(noon) {
			link.Hash, row.Hash = "old", "old"
		}
		link.ExpiresAt, row.ExpiresAt = expires, expires
		must(t, s.CreateSignInLink(ctx, link))
		must(t, s.CreateSession(ctx, row))
	}
	must(t, s.SeeEvents(ctx, events("first", noon)[:1]))
	holds := []store.Hold{
		hold("old", "c1", 9), hold("mine", "c1", 10), hold("its", "c2", 10), hold("booked", "c1", 11),
	}
	holds[0].Until = noon
	if taken := got(s.TakeHolds(ctx, holds, nil, noon.Add(-time.Hour)))(t); taken != nil {
		t.Fatal("the holds are in each other's way")
	}
	must(t, s.KeepHolds(ctx, keptFor("ev1", "booked")))
	must(t, s.SeeTicket(ctx, ticket("7")))
	must(t, s.OfferSlots(ctx, []store.SlotOffered{slotOffered("first")}))
	must(t, s.SeeMeetings(ctx, []store.Meeting{meetingSeen("first", "pat")}))
	must(t, s.AddRequests(ctx, []store.Request{request("first", noon), request("second", noon.Add(time.Hour))}))
	put(t, s, "c1", "k1", "1")
	put(t, s, "c1", "k2", "1")

	key := store.AuditKey{ID: "key", Sealed: []byte("1"), CreatedAt: noon}
	must(t, s.AddAuditKey(ctx, key, store.AuditHead{}))
	must(t, s.AddAudit(ctx, auditRow("sealed")))
	got2(s.SealAudit(ctx, store.AuditMark{}, 1, chain))(t)
	must(t, s.AddAudit(ctx, auditRow("waits"), auditRow("waits too")))
	raw("UPDATE audit_head SET seal = ''") // as before the first key
	populateNumbers(t, s, raw)
	populateWebhooks(t, s, raw)
	populateCreations(t, s)
	populateBudgets(t, s)
	populateBreakers(t, s)
}

// got2 is got for two values.
func got2[T, U any](value T, other U, err error) func(*testing.T) (T, U) {
	return func(t *testing.T) (T, U) {
		t.Helper()
		must(t, err)
		return value, other
	}
}

func request(id string, at time.Time) store.Request {
	return store.Request{
		ID: id, TenantID: "acme", At: at, RequestID: "r " + id, KeyID: "key1", ConnectionID: "c1",
		Operation: "bookMeeting", Status: 200, Took: time.Second, Tries: json.RawMessage("{}"),
	}
}

func tokens(id string) store.Tokens {
	return store.Tokens{
		TenantID: "acme", ConnectionID: id, Sealed: []byte("sealed"), Version: 1, RefreshAt: noon,
		LeaseOwner: "owner", LeaseUntil: noon.Add(time.Minute),
	}
}

func tokensBy(c caller, id string) store.Tokens {
	row := tokens(id)
	row.Sealed, row.LeaseOwner, row.LeaseUntil = []byte("of "+c.name), "owner "+c.name, noon.Add(time.Hour)
	return row
}

func linkRow(hash string) store.ConnectLink {
	return store.ConnectLink{
		Hash: []byte(hash), TenantID: "acme", ConnectionID: "new with " + hash, Kind: "calendar",
		Provider: "sandbox", Name: "new with " + hash, CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
}

func signInLink(hash string) store.SignInLink {
	return store.SignInLink{Hash: hash, TenantID: "acme", Opens: []byte("o"), ExpiresAt: noon.Add(time.Hour)}
}

func sessionRow(hash string) store.Session {
	return store.Session{
		Hash: hash, Person: "pat", TenantID: "acme", Data: []byte("d"), ExpiresAt: noon.Add(time.Hour),
	}
}

func consentRow(hash string, expires time.Time) store.Consent {
	return store.Consent{
		Hash: []byte(hash), LinkHash: []byte("open"), BrowserHash: []byte("b"), Sealed: []byte("s"),
		ExpiresAt: expires,
	}
}

var intentKeys = []string{"running", "lapsed", "unknown", "done", "kept"}

func intentRow(key string) store.Intent {
	began := noon.Add(-time.Duration(slices.Index(intentKeys, key)+2) * time.Minute)
	i := store.Intent{
		TenantID: "acme", Operation: "book-meeting", Key: key, Kept: key == "kept", ConnectionID: "c1",
		EffectKey: key, DedupeKey: "same", Owner: "owner", LeaseUntil: noon.Add(time.Minute),
		CreatedAt: began, UpdatedAt: began,
		State: store.IntentRunning, Answer: []byte("answer"), EffectRef: "ev1",
	}
	if key == "lapsed" {
		i.LeaseUntil = noon.Add(-time.Minute)
	}
	return i
}

func intentRowIn(key, state string) store.Intent {
	i := intentRow(key)
	i.State = state
	return i
}

// events returns three events, which take two statements to write.
func events(calendar string, at time.Time) (seen []store.EventSeen) {
	for _, id := range []string{"ev1", "ev2", "ev3"} {
		seen = append(seen, store.EventSeen{
			TenantID: "acme", ConnectionID: "c1", EventID: id, CalendarID: calendar, UpdatedAt: at,
		})
	}
	return seen
}

func hold(id, connectionID string, hour int) store.Hold {
	from := noon.Truncate(24 * time.Hour).Add(time.Duration(hour) * time.Hour)
	return store.Hold{
		ID: id, ConnectionID: connectionID, CalendarID: "cal", From: from, To: from.Add(time.Hour),
		Until: noon.Add(10 * time.Minute),
	}
}

func ticket(number string) store.TicketSeen {
	return store.TicketSeen{
		TenantID: "acme", ConnectionID: "k1", Number: number, TicketID: "t1", CreatedAt: noon,
	}
}

func slotOffered(id string) store.SlotOffered {
	return store.SlotOffered{
		TenantID: "acme", ConnectionID: "c1", ID: id, From: noon, To: noon.Add(time.Hour),
		CalendarIDs: []string{"cal"}, OfferedAt: noon,
	}
}

func meetingSeen(reference string, people ...string) store.Meeting {
	return store.Meeting{
		TenantID: "acme", ConnectionID: "c1", Reference: reference, EventID: "event of " + reference,
		EndsAt: noon, People: people,
	}
}

func auditRow(uid string) store.AuditRow {
	return store.AuditRow{UID: uid, At: noon, TenantID: "acme", Tenant: "name of acme", Action: "act"}
}

// audit returns the audit row of an operation of the caller.
func (c caller) audit() store.AuditRow { return auditRow("audit of " + c.name) }

// chain seals each row in a way that depends on all rows before it.
func chain(head store.AuditHead, last int64, rows []store.AuditRow) ([]store.AuditRow, store.AuditHead) {
	sealed := slices.Clone(rows)
	for i := range sealed {
		last++
		head.Count++
		mac := sha256.Sum256([]byte(head.MAC + sealed[i].UID))
		head.MAC = fmt.Sprintf("%x", mac[:4])
		sealed[i].ID, sealed[i].MAC, sealed[i].KeyID = last, head.MAC, "key"
	}
	return sealed, head
}

// cut seals each boundary in a way that depends on all rows before it.
func cut(from store.AuditBoundary, rows []store.AuditRow) (store.AuditBoundary, error) {
	for _, row := range rows {
		from.Count, from.MAC, from.Kept, from.KeyID = row.ID, row.MAC, from.Kept+row.UID, "key"
	}
	from.Seal = "of " + from.Kept
	return from, nil
}

// only returns the result of a method that returns only an error.
func only(err error) (any, error) { return nil, err }

// one returns the result of a method that returns a value.
func one[T any](value T, err error) (any, error) { return value, err }

// two returns the result of a method that returns two values.
func two[T, U any](value T, other U, err error) (any, error) { return []any{value, other}, err }

func (c caller) updateConnection(id string, change func(*store.Connection)) (any, error) {
	row := store.Connection{
		ID: id, TenantID: "acme", Name: "name of " + id, Kind: "calendar", Provider: "sandbox",
		Settings: json.RawMessage(`{"by":"` + c.name + `"}`),
	}
	change(&row)
	return only(c.s.UpdateConnection(c.ctx, row, 1, c.audit()))
}

func (c caller) createConnection(tenantID, name, kind string, isDefault bool) (any, error) {
	return only(c.s.CreateConnection(c.ctx, store.Connection{
		ID: "new of " + c.name, TenantID: tenantID, Name: name, Kind: kind, Provider: "sandbox",
		IsDefault: isDefault, CreatedAt: noon,
	}, c.audit()))
}

func (c caller) replaceKey() (any, error) {
	old := store.APIKey{ID: "key1", EndsAt: noon.Add(time.Hour), Seal: []byte("replaced by " + c.name)}
	next := store.APIKey{
		ID: "next of " + c.name, TenantID: "acme", Hash: []byte("of " + c.name), CreatedAt: noon,
	}
	return only(c.s.ReplaceKey(c.ctx, old, next, c.audit()))
}

// operations has every method of the store, some in several variants.
var operations = slices.Concat(numberOperations, webhookOperations, creationOperations, budgetOperations, breakerOperations, []operation{
	{"CreateTenant", func(c caller) (any, error) {
		return only(c.s.CreateTenant(c.ctx, store.Tenant{ID: "of " + c.name, Name: "new"}, c.audit()))
	}},
	{"CreateTenants", func(c caller) (any, error) {
		return only(c.s.CreateTenants(c.ctx, []store.NewTenant{
			{Tenant: store.Tenant{ID: "2nd of " + c.name, Name: "new"}, Audit: []store.AuditRow{c.audit()}},
			{Tenant: store.Tenant{ID: "1st of " + c.name, Name: "newer"}, Connections: []store.Connection{
				{ID: "of 1st of " + c.name, Name: "new", Kind: "calendar", Provider: "sandbox", CreatedAt: noon},
			}},
		}))
	}},
	{"UpdateTenant", func(c caller) (any, error) {
		return only(c.s.UpdateTenant(c.ctx, "acme", json.RawMessage(`{"by":"`+c.name+`"}`), c.audit()))
	}},
	{"ChangeTenant", func(c caller) (any, error) {
		return only(c.s.ChangeTenant(c.ctx, "acme", json.RawMessage(`{"timezone":"UTC"}`),
			json.RawMessage(`{"by":"`+c.name+`"}`), c.audit()))
	}},
	{"DeleteTenant", func(c caller) (any, error) { return only(c.s.DeleteTenant(c.ctx, "acme", c.audit())) }},
	{"EraseTenants", func(c caller) (any, error) { return one(c.s.EraseTenants(c.ctx, 100)) }},
	{"Tenants", func(c caller) (any, error) { return one(c.s.Tenants(c.ctx)) }},
	{"TenantByName", func(c caller) (any, error) { return one(c.s.TenantByName(c.ctx, "name of acme")) }},
	{"TenantByID", func(c caller) (any, error) { return one(c.s.TenantByID(c.ctx, "acme")) }},

	{"CreateConnection", func(c caller) (any, error) {
		return c.createConnection("acme", "new", "calendar", false)
	}},
	{"CreateConnection: a new default", func(c caller) (any, error) {
		return c.createConnection("acme", "new of "+c.name, "calendar", true)
	}},
	{"CreateConnection: the first of its kind", func(c caller) (any, error) {
		return c.createConnection("acme", "new of "+c.name, "telephony", false)
	}},
	{"UpdateConnection: the default", func(c caller) (any, error) {
		return c.updateConnection("c1", func(*store.Connection) {})
	}},
	{"UpdateConnection: a new name", func(c caller) (any, error) {
		return c.updateConnection("c1", func(row *store.Connection) { row.Name = "new" })
	}},
	{"UpdateConnection: a new default", func(c caller) (any, error) {
		return c.updateConnection("c2", func(row *store.Connection) { row.IsDefault = true })
	}},
	{"DeleteConnection: the default", func(c caller) (any, error) {
		return only(c.s.DeleteConnection(c.ctx, "acme", "c1", c.audit()))
	}},
	{"DeleteConnection", func(c caller) (any, error) {
		return only(c.s.DeleteConnection(c.ctx, "acme", "c2", c.audit()))
	}},
	{"Connections", func(c caller) (any, error) { return one(c.s.Connections(c.ctx, "acme")) }},
	{"ConnectionsOf", func(c caller) (any, error) {
		return one(c.s.ConnectionsOf(c.ctx, []string{"acme", "other"}))
	}},
	{"WorkingConnections", func(c caller) (any, error) {
		return one(c.s.WorkingConnections(c.ctx, "calendar"))
	}},
	{"AllConnections", func(c caller) (any, error) { return one(c.s.AllConnections(c.ctx)) }},
	{"Seals", func(c caller) (any, error) { return one(c.s.Seals(c.ctx, noon)) }},
	{"SealedByOneOf", func(c caller) (any, error) { return one(c.s.SealedByOneOf(c.ctx, []byte{2})) }},
	{"ConnectionsToReconnect", func(c caller) (any, error) {
		return one(c.s.ConnectionsToReconnect(c.ctx, "", 10))
	}},
	{"Connection", func(c caller) (any, error) { return one(c.s.Connection(c.ctx, "acme", "c1")) }},
	{"SetConnectionEmail", func(c caller) (any, error) {
		return only(c.s.SetConnectionEmail(c.ctx, "acme", "c1", c.name+"@example.com", 1))
	}},

	{"CreateKey", func(c caller) (any, error) {
		key := store.APIKey{ID: "of " + c.name, TenantID: "acme", Hash: []byte("new"), CreatedAt: noon}
		return only(c.s.CreateKey(c.ctx, key, c.audit()))
	}},
	{"KeyOwnerByHash", func(c caller) (any, error) { return one(c.s.KeyOwnerByHash(c.ctx, []byte("1"))) }},
	{"KeyOwnerByID", func(c caller) (any, error) { return one(c.s.KeyOwnerByID(c.ctx, "key1")) }},
	{"Keys", func(c caller) (any, error) { return one(c.s.Keys(c.ctx, "acme")) }},
	{"Key", func(c caller) (any, error) { return one(c.s.Key(c.ctx, "key1")) }},
	{"RevokeKey", func(c caller) (any, error) {
		return only(c.s.RevokeKey(c.ctx, store.APIKey{ID: "key1"}, noon, []byte("revoked"), c.audit()))
	}},
	{"AllKeys", func(c caller) (any, error) { return one(c.s.AllKeys(c.ctx)) }},
	{"SealKey", func(c caller) (any, error) {
		return one(c.s.SealKey(c.ctx, store.APIKey{ID: "key1"}, []byte("by "+c.name)))
	}},
	{"RevokeKey: once more", func(c caller) (any, error) {
		return only(c.s.RevokeKey(c.ctx, store.APIKey{ID: "key2"}, noon.Add(1), nil, c.audit()))
	}},
	{"ChangeAgent", func(c caller) (any, error) {
		was := store.APIKey{ID: "agent1", Seal: []byte("sealed")}
		is := store.APIKey{ID: "agent1", Scopes: []string{c.name}, Seal: []byte("changed by " + c.name)}
		return only(c.s.ChangeAgent(c.ctx, was, is, c.audit()))
	}},
	{"RevokeKey: of an agent", func(c caller) (any, error) {
		return only(c.s.RevokeKey(c.ctx, store.APIKey{ID: "agent1", Seal: []byte("sealed")}, noon, []byte("revoked"), c.audit()))
	}},
	{"ReplaceKey", func(c caller) (any, error) { return c.replaceKey() }},
	{"NoteCall", func(c caller) (any, error) {
		n := store.CallNote{TenantID: "acme", Call: "1", Kind: "slots", Value: []string{c.name}, NotedAt: noon}
		hold := n
		hold.Kind = "hold"
		return only(c.s.NoteCall(c.ctx, n, hold))
	}},
	{"NoteCallOnce", func(c caller) (any, error) {
		return one(c.s.NoteCallOnce(c.ctx, store.CallNote{TenantID: "acme", Call: "1", Kind: "slots", Value: []string{c.name}, NotedAt: noon}))
	}},
	{"CallNote", func(c caller) (any, error) { return one(c.s.CallNote(c.ctx, "acme", "1", "slots")) }},
	{"PurgeCallNotes", func(c caller) (any, error) { return one(c.s.PurgeCallNotes(c.ctx, noon.Add(1), 10)) }},
	{"TouchKeys", func(c caller) (any, error) {
		return only(c.s.TouchKeys(c.ctx, map[string]time.Time{"key1": noon, "key2": noon}))
	}},

	{"CreateConnectLink", func(c caller) (any, error) {
		return only(c.s.CreateConnectLink(c.ctx, linkRow("of "+c.name), c.audit()))
	}},
	{"ConnectLink", func(c caller) (any, error) { return one(c.s.ConnectLink(c.ctx, []byte("open"))) }},
	{"ConnectLinks", func(c caller) (any, error) { return one(c.s.ConnectLinks(c.ctx, noon)) }},
	{"SealConnectLink", func(c caller) (any, error) {
		return one(c.s.SealConnectLink(c.ctx, store.ConnectLink{Hash: []byte("open")}, []byte("by "+c.name)))
	}},
	{"BeginConsent", func(c caller) (any, error) {
		row := consentRow("of "+c.name, noon.Add(time.Hour))
		return only(c.s.BeginConsent(c.ctx, row))
	}},
	{"TakeConsent", func(c caller) (any, error) { return one(c.s.TakeConsent(c.ctx, []byte("00"))) }},
	{"ClaimConnectLink", func(c caller) (any, error) {
		return only(c.s.ClaimConnectLink(c.ctx, []byte("open"), []byte(c.name), noon, noon.Add(time.Minute)))
	}},
	{"ClaimConnectLink: of one connection", func(c caller) (any, error) {
		hash := []byte("same " + c.name)
		return only(c.s.ClaimConnectLink(c.ctx, hash, []byte(c.name), noon, noon.Add(time.Minute)))
	}},
	{"ClaimConnectLink: after another claim", func(c caller) (any, error) {
		now := noon.Add(time.Minute)
		return only(c.s.ClaimConnectLink(c.ctx, []byte("claimed"), []byte(c.name), now, now.Add(time.Minute)))
	}},
	{"ReleaseConnectLink", func(c caller) (any, error) {
		return only(c.s.ReleaseConnectLink(c.ctx, []byte("claimed"), []byte("claim")))
	}},
	{"FinishConnectLink", func(c caller) (any, error) {
		row := store.Connection{ID: "c1", TenantID: "acme", Email: c.name + "@example.com"}
		return only(c.s.FinishConnectLink(c.ctx, []byte("claimed"), []byte("claim"), noon, row, 1, c.audit()))
	}},

	{"Tokens", func(c caller) (any, error) { return two(c.s.Tokens(c.ctx, "acme", "c2")) }},
	{"AllTokens", func(c caller) (any, error) { return one(c.s.AllTokens(c.ctx)) }},
	{"DueTokens", func(c caller) (any, error) {
		return one(c.s.DueTokens(c.ctx, noon.Add(time.Hour), store.Tokens{}, 10))
	}},
	{"PutTokens", func(c caller) (any, error) { return only(c.s.PutTokens(c.ctx, tokensBy(c, "c2"))) }},
	{"PutTokens: the first", func(c caller) (any, error) {
		return only(c.s.PutTokens(c.ctx, tokensBy(c, "c3")))
	}},
	{"ResetTokens", func(c caller) (any, error) { return only(c.s.ResetTokens(c.ctx, tokensBy(c, "c2"))) }},
	{"ResetTokens: the first", func(c caller) (any, error) {
		return only(c.s.ResetTokens(c.ctx, tokensBy(c, "c3")))
	}},
	{"LeaseTokens: free", func(c caller) (any, error) {
		return one(c.s.LeaseTokens(c.ctx, tokens("c1"), tokensBy(c, "c1"), noon))
	}},
	{"LeaseTokens: lapsed", func(c caller) (any, error) {
		return one(c.s.LeaseTokens(c.ctx, tokens("c2"), tokensBy(c, "c2"), noon.Add(2*time.Minute)))
	}},
	{"LeaseTokens: the first", func(c caller) (any, error) {
		none := store.Tokens{TenantID: "acme", ConnectionID: "c3", Sealed: []byte("none")}
		return one(c.s.LeaseTokens(c.ctx, none, tokensBy(c, "c3"), noon))
	}},
	{"SaveTokens", func(c caller) (any, error) { return one(c.s.SaveTokens(c.ctx, tokensBy(c, "c2"), 1)) }},
	{"PostponeTokens", func(c caller) (any, error) {
		return only(c.s.PostponeTokens(c.ctx, tokens("c2"), noon.Add(time.Hour)))
	}},
	{"RefuseTokens", func(c caller) (any, error) {
		return one(c.s.RefuseTokens(c.ctx, tokensBy(c, "c2"), 1, 1))
	}},
	{"ResealTokens", func(c caller) (any, error) {
		return one(c.s.ResealTokens(c.ctx, tokens("c2"), []byte("by "+c.name)))
	}},

	{"BeginIntent", func(c caller) (any, error) { return c.beginIntent("new", time.Time{}) }},
	{"BeginIntent: beside a recent one", func(c caller) (any, error) {
		return c.beginIntent("new", noon.Add(-time.Hour))
	}},
	{"BeginIntent: one that is there", func(c caller) (any, error) {
		return c.beginIntent("running", time.Time{})
	}},
	{"BeginIntentHolding", func(c caller) (any, error) {
		return c.beginHolding("new", hold("of "+c.name, "c1", 15))
	}},
	{"BeginIntentHolding: taken", func(c caller) (any, error) {
		return c.beginHolding("new of "+c.name, hold("of "+c.name, "c1", 10))
	}},
	{"BeginIntentHolding: one slot", func(c caller) (any, error) {
		return c.beginHolding("new of "+c.name, hold("of "+c.name, "c1", 15))
	}},
	{"Intent", func(c caller) (any, error) { return two(c.s.Intent(c.ctx, "acme", "book-meeting", "running")) }},
	{"TakeOverIntent: lapsed", func(c caller) (any, error) {
		return c.takeOver("lapsed", store.IntentRunning)
	}},
	{"TakeOverIntent: unknown", func(c caller) (any, error) {
		return c.takeOver("unknown", store.IntentUnknown)
	}},
	{"SaveIntentPlan", func(c caller) (any, error) { return c.savePlan("running") }},
	{"SaveIntentPlan: lapsed", func(c caller) (any, error) { return c.savePlan("lapsed") }},
	{"ExtendIntent", func(c caller) (any, error) { return c.extend("running") }},
	{"ExtendIntent: lapsed", func(c caller) (any, error) { return c.extend("lapsed") }},
	{"FinishIntent", func(c caller) (any, error) {
		return only(c.s.FinishIntent(c.ctx, intentRow("running"), store.Attached{}, c.audit()))
	}},
	{"FinishIntent: with events and holds", func(c caller) (any, error) {
		return only(c.s.FinishIntent(c.ctx, intentRow("running"),
			store.Attached{Seen: events(c.name, noon), Holds: keptFor("ev1", "mine")}, c.audit()))
	}},
	{"FinishIntent: with a meeting", func(c caller) (any, error) {
		return only(c.s.FinishIntent(c.ctx, intentRow("running"),
			store.Attached{Meetings: []store.Meeting{meetingSeen("first", c.name)}}, c.audit()))
	}},
	{"FinishIntent: lapsed", func(c caller) (any, error) {
		return only(c.s.FinishIntent(c.ctx, intentRow("lapsed"),
			store.Attached{Seen: events(c.name, noon)}, c.audit()))
	}},
	{"ReleaseIntent", func(c caller) (any, error) {
		return only(c.s.ReleaseIntent(c.ctx, intentRow("running"), "", c.audit()))
	}},
	{"ReleaseIntent: unknown", func(c caller) (any, error) {
		return only(c.s.ReleaseIntent(c.ctx, intentRow("running"), store.IntentUnknown, c.audit()))
	}},
	{"ReleaseIntent: lapsed", func(c caller) (any, error) {
		return only(c.s.ReleaseIntent(c.ctx, intentRow("lapsed"), "", c.audit()))
	}},
	{"ReleaseIntent: done", func(c caller) (any, error) {
		return only(c.s.ReleaseIntent(c.ctx, intentRowIn("done", store.IntentDone), "", c.audit()))
	}},
	{"DropIntentsOfEffect", func(c caller) (any, error) {
		return only(c.s.DropIntentsOfEffect(c.ctx, "acme", "c1", "book-meeting", "ev1"))
	}},
	{"ClaimEffect", func(c caller) (any, error) { return c.claimEffect("claimed") }},
	{"EffectsSince", func(c caller) (any, error) {
		return one(c.s.EffectsSince(c.ctx, intentRow("running"), noon.Add(-time.Hour)))
	}},
	{"RecentIntent", func(c caller) (any, error) {
		return two(c.s.RecentIntent(c.ctx, "acme", "book-meeting", "same", noon.Add(-time.Hour)))
	}},
	{"Overtaken", func(c caller) (any, error) { return one(c.s.Overtaken(c.ctx, intentRow("running"))) }},
	{"OpenIntents", func(c caller) (any, error) {
		return one(c.s.OpenIntents(c.ctx, intentRow("running")))
	}},
	{"UnsettledIntents", func(c caller) (any, error) {
		return one(c.s.UnsettledIntents(c.ctx, noon, noon.Add(time.Hour), 10))
	}},
	{"RecoverableIntents", func(c caller) (any, error) {
		return one(c.s.RecoverableIntents(c.ctx, noon, noon.Add(time.Hour), 10))
	}},
	{"PurgeIntents", func(c caller) (any, error) { // fewer than one batch
		return one(c.s.PurgeIntents(c.ctx, noon, noon, 100))
	}},

	{"SeeEvents", func(c caller) (any, error) { return only(c.s.SeeEvents(c.ctx, events(c.name, noon))) }},
	{"SeeEvents: later", func(c caller) (any, error) {
		return only(c.s.SeeEvents(c.ctx, events(c.name, noon.Add(time.Minute))))
	}},
	{"EventSeen", func(c caller) (any, error) { return two(c.s.EventSeen(c.ctx, "acme", "c1", "ev1")) }},

	{"TakeHolds", func(c caller) (any, error) { // of two calendars
		both := []store.Hold{hold("2 of "+c.name, "c2", 15), hold("1 of "+c.name, "c1", 15)}
		return one(c.s.TakeHolds(c.ctx, both, nil, noon))
	}},
	{"TakeHolds: taken", func(c caller) (any, error) {
		return one(c.s.TakeHolds(c.ctx, []store.Hold{hold("of "+c.name, "c1", 10)}, nil, noon))
	}},
	{"TakeHolds: taken before", func(c caller) (any, error) {
		return one(c.s.TakeHolds(c.ctx, []store.Hold{hold("of "+c.name, "c1", 9)}, nil, noon))
	}},
	{"TakeHolds: past the caller's own", func(c caller) (any, error) {
		taken := hold("of "+c.name, "c1", 10)
		taken.After = 30 * time.Minute
		return one(c.s.TakeHolds(c.ctx, []store.Hold{taken}, []string{"mine"}, noon))
	}},
	{"KeepHolds", func(c caller) (any, error) {
		return only(c.s.KeepHolds(c.ctx, keptFor("ev1", "mine", "its")))
	}},
	{"KeepHolds: others are left", func(c caller) (any, error) {
		kept := keptFor("ev2", "mine")
		kept.Left = []string{"booked"}
		return only(c.s.KeepHolds(c.ctx, kept))
	}},
	{"PurgeHolds", func(c caller) (any, error) { return one(c.s.PurgeHolds(c.ctx, noon, 100)) }},
	{"HoldsOfEvent", func(c caller) (any, error) { return one(c.s.HoldsOfEvent(c.ctx, "c1", "ev1")) }},
	{"KeepHolds: one that has ended", func(c caller) (any, error) {
		return only(c.s.KeepHolds(c.ctx, keptFor("ev1", "old", "mine")))
	}},
	{"DropHolds", func(c caller) (any, error) {
		return only(c.s.DropHolds(c.ctx, intentRow("running"), []string{"mine", "its"}))
	}},
	{"DropHoldsOfEvent", func(c caller) (any, error) {
		return only(c.s.DropHoldsOfEvent(c.ctx, "c1", "ev1"))
	}},

	{"HoldsWithin", func(c caller) (any, error) {
		return one(c.s.HoldsWithin(c.ctx, "c1", noon.Add(-24*time.Hour), noon.Add(24*time.Hour), noon))
	}},

	{"OfferSlots", func(c caller) (any, error) {
		first, second := slotOffered("first"), slotOffered("of "+c.name)
		first.CalendarIDs = []string{"of " + c.name}
		return only(c.s.OfferSlots(c.ctx, []store.SlotOffered{first, second}))
	}},
	{"SlotOffered", func(c caller) (any, error) { return two(c.s.SlotOffered(c.ctx, "acme", "c1", "first")) }},
	{"PurgeEvents", func(c caller) (any, error) {
		return one(c.s.PurgeEvents(c.ctx, noon.Add(time.Minute), 100))
	}},
	{"PurgeSlots", func(c caller) (any, error) {
		return one(c.s.PurgeSlots(c.ctx, noon.Add(time.Minute), 100))
	}},

	{"SeeMeetings", func(c caller) (any, error) { // in either order
		seen := []store.Meeting{meetingSeen("second", c.name), meetingSeen("first", "pat", c.name)}
		seen[0].EndsAt, seen[1].CalendarID = noon.Add(time.Hour), "of "+c.name
		if c.name == "b" {
			slices.Reverse(seen)
		}
		return only(c.s.SeeMeetings(c.ctx, seen))
	}},
	{"Meeting", func(c caller) (any, error) { return two(c.s.Meeting(c.ctx, "acme", "c1", "first")) }},
	{"MeetingsWith", func(c caller) (any, error) {
		return one(c.s.MeetingsWith(c.ctx, "acme", "c1", "pat", noon, noon.Add(-time.Hour), 10))
	}},
	{"PurgeMeetings", func(c caller) (any, error) {
		return one(c.s.PurgeMeetings(c.ctx, noon.Add(time.Minute), 100))
	}},

	{"SeeTicket", func(c caller) (any, error) {
		row := ticket("7")
		row.TicketID = "of " + c.name
		return only(c.s.SeeTicket(c.ctx, row))
	}},
	{"TicketSeen", func(c caller) (any, error) { return two(c.s.TicketSeen(c.ctx, "acme", "k1", "7")) }},
	{"PurgeTickets", func(c caller) (any, error) {
		return one(c.s.PurgeTickets(c.ctx, noon.Add(time.Minute), 100))
	}},

	{"AddRequests", func(c caller) (any, error) {
		return only(c.s.AddRequests(c.ctx, []store.Request{request("of "+c.name, noon), request("second", noon)}))
	}},
	{"Requests", func(c caller) (any, error) {
		return one(c.s.Requests(c.ctx, store.RequestFilter{TenantID: "acme", Limit: 10}))
	}},
	{"Request", func(c caller) (any, error) { return two(c.s.Request(c.ctx, "acme", "first")) }},
	{"PurgeRequests", func(c caller) (any, error) { return one(c.s.PurgeRequests(c.ctx, "acme", 1, 100)) }},
	{"PurgeRequestsBefore", func(c caller) (any, error) {
		return one(c.s.PurgeRequestsBefore(c.ctx, noon.Add(time.Minute), 100))
	}},

	{"Documents.View", func(c caller) (any, error) {
		var read []string
		err := c.s.Documents("c1").View(c.ctx, func(tx adapter.StorageTx) error {
			first, err := tx.Get("k1")
			if err != nil {
				return err
			}
			read = append(read, string(first))
			return tx.Scan("k", "", func(key string, value []byte) bool {
				read = append(read, key+"="+string(value))
				return true
			})
		})
		return read, err
	}},
	{"Documents.Update", func(c caller) (any, error) {
		return only(c.s.Documents("c1").Update(c.ctx, func(tx adapter.StorageTx) error {
			value, err := tx.Get("k1")
			if err != nil {
				return err
			}
			if err := tx.Put("k1", append(value, c.name...)); err != nil {
				return err
			}
			if err := tx.Delete("k2"); err != nil {
				return err
			}
			return tx.Put("k3", append(value, c.name...))
		}))
	}},

	{"CreateSignInLink", func(c caller) (any, error) {
		return only(c.s.CreateSignInLink(c.ctx, signInLink("of "+c.name), c.audit()))
	}},
	{"SignInLink", func(c caller) (any, error) { return one(c.s.SignInLink(c.ctx, "open")) }},
	{"TakeSignInLink", func(c caller) (any, error) {
		return only(c.s.TakeSignInLink(c.ctx, "open", c.audit()))
	}},
	{"CreateSession", func(c caller) (any, error) {
		return only(c.s.CreateSession(c.ctx, sessionRow("of "+c.name)))
	}},
	{"Session", func(c caller) (any, error) { return two(c.s.Session(c.ctx, "open")) }},
	{"UpdateSession", func(c caller) (any, error) {
		row := sessionRow("open")
		row.Data = []byte("by " + c.name)
		return one(c.s.UpdateSession(c.ctx, row))
	}},
	{"DeleteSession", func(c caller) (any, error) { return only(c.s.DeleteSession(c.ctx, "open")) }},
	{"DeleteSessionsOf", func(c caller) (any, error) {
		return only(c.s.DeleteSessionsOf(c.ctx, "acme", "pat", c.audit()))
	}},
	{"PurgeAccess", func(c caller) (any, error) { return only(c.s.PurgeAccess(c.ctx, noon.Add(2*time.Minute))) }},

	{"AddAudit", func(c caller) (any, error) {
		return only(c.s.AddAudit(c.ctx, auditRow("1 of "+c.name), auditRow("2 of "+c.name)))
	}},
	{"AuditRows", func(c caller) (any, error) {
		return one(c.s.AuditRows(c.ctx, store.AuditFilter{Limit: 10}))
	}},
	{"AuditChain", func(c caller) (any, error) { return one(c.s.AuditChain(c.ctx, 0, 10)) }},
	{"ArchivedAudit", func(c caller) (any, error) { return one(c.s.ArchivedAudit(c.ctx)) }},
	{"CutAudit", func(c caller) (any, error) { return one(c.s.CutAudit(c.ctx, 10, 10, cut)) }},
	{"TryArchiving", func(c caller) (any, error) {
		return one(c.s.TryArchiving(c.ctx, noon, noon.Add(time.Minute)))
	}},
	{"UnsealedAudit", func(c caller) (any, error) {
		return one(c.s.UnsealedAudit(c.ctx, store.AuditMark{}, 10))
	}},
	{"SealAudit", func(c caller) (any, error) {
		return two(c.s.SealAudit(c.ctx, store.AuditMark{}, 10, chain))
	}},
	{"SealAudit: one row", func(c caller) (any, error) {
		return two(c.s.SealAudit(c.ctx, store.AuditMark{}, 1, chain))
	}},
	{"AuditKeys", func(c caller) (any, error) { return one(c.s.AuditKeys(c.ctx)) }},
	{"AddAuditKey", func(c caller) (any, error) {
		key := store.AuditKey{ID: "of " + c.name, Sealed: []byte(c.name), CreatedAt: noon}
		return only(c.s.AddAuditKey(c.ctx, key, store.AuditHead{KeyID: key.ID, Seal: "by " + c.name}))
	}},
	{"ResealAuditKey", func(c caller) (any, error) {
		return only(c.s.ResealAuditKey(c.ctx, "key", []byte("by "+c.name)))
	}},
	{"ScheduleTokens", func(c caller) (any, error) {
		return only(c.s.ScheduleTokens(c.ctx, noon.Add(time.Hour)))
	}},
})

// claimEffect claims an effect for an intent of the caller, unless another intent has it.
func (c caller) claimEffect(ref string) (any, error) {
	key := map[string]string{"a": "running", "b": "lapsed"}[c.name]
	return only(c.s.ClaimEffect(c.ctx, intentRow(key), ref, func(others []store.Intent) error {
		if slices.ContainsFunc(others, func(o store.Intent) bool { return o.EffectRef == ref }) {
			return fault.New(fault.Conflict, fault.ReasonProviderConflict, "It is another's.")
		}
		return nil
	}))
}

func (c caller) beginIntent(key string, since time.Time) (any, error) {
	i := intentRow(key)
	i.Owner, i.CreatedAt, i.UpdatedAt = c.name, noon, noon
	return two(c.s.BeginIntent(c.ctx, i, since))
}

func (c caller) beginHolding(key string, h store.Hold) (any, error) {
	i := intentRow(key)
	i.Owner, i.CreatedAt, i.UpdatedAt = c.name, noon, noon
	with := store.Holding{Holds: []store.Hold{h}, Plan: json.RawMessage(`{"free":true}`)}
	existing, began, holds, err := c.s.BeginIntentHolding(c.ctx, i, with, noon)
	return []any{existing, began, holds}, err
}

func (c caller) takeOver(key, state string) (any, error) {
	ours := store.Intent{Owner: c.name, LeaseUntil: noon.Add(time.Minute)}
	return one(c.s.TakeOverIntent(c.ctx, intentRowIn(key, state), ours, noon))
}

func (c caller) savePlan(key string) (any, error) {
	i := intentRow(key)
	i.Plan = json.RawMessage(`{"by":"` + c.name + `"}`)
	return only(c.s.SaveIntentPlan(c.ctx, i))
}

func (c caller) extend(key string) (any, error) {
	i := intentRow(key)
	i.LeaseUntil = noon.Add(2 * time.Minute)
	return only(c.s.ExtendIntent(c.ctx, i, c.audit()))
}

func keptFor(eventID string, ids ...string) store.HoldsKept {
	return store.HoldsKept{IDs: ids, EventID: eventID, Until: noon.Add(time.Hour)}
}
