package sealing_test

import (
	"bytes"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/sealing"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/vault"
)

// intruder can read and write the database, but does not have the key set.
type intruder struct {
	t  *testing.T
	db *sql.DB
}

func intrude(t *testing.T, url string) intruder {
	t.Helper()
	return intruder{t: t, db: storetest.Database(t, url)}
}

// exec changes rows, and fails the test if it changes none.
func (i intruder) exec(query string, args ...any) {
	i.t.Helper()
	done, err := i.db.Exec(query, args...)
	if err != nil {
		i.t.Fatalf("%s: %v", query, err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		i.t.Fatalf("%s: changed %d rows, %v", query, n, err)
	}
}

func (i intruder) bytes(query string, args ...any) (b []byte) {
	i.t.Helper()
	if err := i.db.QueryRow(query, args...).Scan(&b); err != nil {
		i.t.Fatalf("%s: %v", query, err)
	}
	return b
}

// Someone who can write to the database but does not have the key set cannot have a credential sent
// elsewhere. The attacks edit each column that decides this, and copy rows and parts of rows from other
// connections and from earlier states of the same connection.
func TestNoEditOfTheDatabaseSendsACredentialElsewhere(t *testing.T) {
	const evil = `{"url":"https://intruder.example/"}`
	for name, attack := range map[string]func(i intruder, victim, mine connection.Connection){
		"its address": func(i intruder, victim, _ connection.Connection) {
			i.exec("UPDATE connections SET settings = $1 WHERE id = $2", evil, victim.ID)
		},
		"any other setting": func(i intruder, victim, _ connection.Connection) {
			i.exec(`UPDATE connections SET settings = '{"url":"https://cal.acme.example/","room":"2"}' WHERE id = $1`,
				victim.ID)
		},
		"its provider": func(i intruder, victim, _ connection.Connection) {
			i.exec(`UPDATE connections SET provider = 'bearer', kind = 'crm', settings = '{"base_url":"https://intruder.example/"}'
				WHERE id = $1`, victim.ID)
		},
		"its tenant": func(i intruder, victim, mine connection.Connection) {
			i.exec("UPDATE connections SET tenant_id = $1, name = 'stolen', is_default = FALSE WHERE id = $2",
				mine.TenantID, victim.ID)
		},
		"its credentials put into a connection of the intruder's": func(
			i intruder, victim, mine connection.Connection,
		) {
			i.exec(
				`UPDATE connections SET credentials = (SELECT credentials FROM connections WHERE id = $1) WHERE id = $2`,
				victim.ID, mine.ID)
		},
		"all that is sealed and bound put into a connection of the intruder's": func(
			i intruder, victim, mine connection.Connection,
		) {
			i.exec(`UPDATE connections SET (credentials, settings) = (SELECT credentials, settings FROM connections WHERE id = $1)
				WHERE id = $2`, victim.ID, mine.ID)
		},
		"the intruder's row put in its place": func(i intruder, victim, mine connection.Connection) {
			i.exec(`UPDATE connections SET (credentials, settings) = (SELECT credentials, settings FROM connections WHERE id = $1)
				WHERE id = $2`, mine.ID, victim.ID)
		},
		"its seal taken away": func(i intruder, victim, _ connection.Connection) {
			i.exec("UPDATE connections SET credentials = NULL, settings = $1 WHERE id = $2", evil, victim.ID)
		},
		"the form of the version before": func(i intruder, victim, _ connection.Connection) {
			i.exec("UPDATE connections SET credentials = $1, settings = $2 WHERE id = $3",
				append([]byte{1}, i.bytes("SELECT credentials FROM connections WHERE id = $1", victim.ID)[2:]...), evil,
				victim.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
				h := tenanttest.Open(t, url)
				h.Tenant("acme")
				h.Tenant("intruder")
				victim := h.Connection("acme", "a", adapter.KindCalendar, "dav")
				mine := h.Connection("intruder", "a", adapter.KindCalendar, "dav")
				theirs, _ := h.Key("acme", apikey.Spec{})
				own, _ := h.Key("intruder", apikey.Spec{Connections: []string{"a"}})
				attack(intrude(t, url), victim, mine)
				h.Callers.Forget()
				opened := 0
				for _, key := range []string{theirs, own} {
					for _, open := range []func(apikey.Caller) error{
						func(c apikey.Caller) error { _, err := h.Calendar(c); return err },
						func(c apikey.Caller) error { _, err := h.CRM(c); return err },
					} {
						err := open(h.Caller(key))
						if f := fault.From(err); f == nil {
							opened++
						} else if f.Reason != vault.ReasonUnreadable && f.Reason != fault.ReasonNotConnected {
							t.Errorf("refused with %v", err)
						}
					}
				}
				if seen := h.Desk.OpenedWith(); opened > 1 || strings.Contains(seen.URL, "intruder") {
					t.Errorf("%d drivers were opened, the last with %+v", opened, seen)
				}
				wrong, err := h.Rows.Wrong(t.Context())
				if err != nil || len(wrong) != 1 || wrong[0].Table != "connections" {
					t.Errorf("the doctor is told of %v, %v", wrong, err)
				}
				// Neither a reseal nor an update of the credentials alone makes the row genuine.
				if _, err := h.Vault.Rotate(); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Rows.Reseal(t.Context()); fault.From(err) == nil ||
					fault.From(err).Reason != vault.ReasonUnreadable {
					t.Errorf("a rotation says %v", err)
				}
				tenantName := "acme"
				if wrong[0].ID == mine.ID {
					tenantName = "intruder"
				}
				_, err = h.Connections.Update(t.Context(), tenantName, "a", connection.Change{
					Credentials: map[string]string{"username": "u", "password": tenanttest.Canary},
				})
				if err == nil {
					t.Error("new credentials were bound to settings that somebody put in")
				}
			})
		})
	}
}

// A connection whose row was changed works again once settings and credentials are entered again.
func TestAChangedConnectionIsMendedByEnteringItAnew(t *testing.T) {
	url := storetest.SQLite(t)
	h := tenanttest.Open(t, url)
	h.Tenant("acme")
	c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
	text, _ := h.Key("acme", apikey.Spec{})
	intrude(t, url).exec("UPDATE connections SET settings = '{}' WHERE id = $1", c.ID)
	h.Callers.Forget()
	_, err := h.Calendar(h.Caller(text))
	tenanttest.WantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	mended := apply.Desired{Tenants: []apply.Tenant{{Name: "acme", Connections: []connection.Spec{{
		Name: "a", Kind: adapter.KindCalendar, Provider: "dav", Settings: map[string]any{}, Default: true,
		Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary},
	}}}}}
	if _, err := h.Applier.Apply(t.Context(), mended, apply.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Calendar(h.Caller(text)); err != nil {
		t.Error(err)
	}
}

// A key is accepted only if the gateway made it and no column of it was changed.
func TestNoEditOfTheDatabaseMakesAKey(t *testing.T) {
	type scene struct {
		h            *tenanttest.Kit
		i            intruder
		own, revoked string // keys of the intruder's tenant that he knows
		ownID, id    string
		victim       tenant.Tenant
		c            connection.Connection
	}
	for name, attack := range map[string]func(s scene) (key string){
		"put in": func(s scene) string {
			key := secret.NewToken("fd_live_")
			hash, _ := secret.HashToken(key, "fd_live_")
			s.i.exec(`INSERT INTO api_keys (id, tenant_id, prefix, hash, label, scopes, connections, test, created_at)
				VALUES ('key_of_mine', $1, 'fd_live_xxxx', $2, '', '["calendar:read","calendar:write"]', 'null', FALSE, 0)`, s.victim.ID, hash[:])
			return key
		},
		"put in with the seal of another": func(s scene) string {
			key := secret.NewToken("fd_live_")
			hash, _ := secret.HashToken(key, "fd_live_")
			s.i.exec(
				`INSERT INTO api_keys (id, tenant_id, prefix, hash, label, scopes, connections, test, created_at, seal)
				SELECT 'key_of_mine', tenant_id, prefix, $1, label, scopes, connections, test, created_at, seal FROM api_keys WHERE id = $2`, hash[:], s.ownID)
			return key
		},
		"moved to another tenant": func(s scene) string {
			s.i.exec("UPDATE api_keys SET tenant_id = $1 WHERE id = $2", s.victim.ID, s.ownID)
			return s.own
		},
		"given more scopes": func(s scene) string {
			s.i.exec(`UPDATE api_keys SET scopes = '["calendar:read","calendar:write"]' WHERE id = $1`, s.ownID)
			return s.own
		},
		"bound to another connection": func(s scene) string {
			s.i.exec("UPDATE api_keys SET connections = $1 WHERE id = $2", `["`+s.c.ID+`"]`, s.ownID)
			return s.own
		},
		"made a live one": func(s scene) string {
			s.i.exec("UPDATE api_keys SET test = FALSE WHERE id = $1", s.ownID)
			return s.own
		},
		"with its seal taken away": func(s scene) string {
			s.i.exec("UPDATE api_keys SET seal = NULL WHERE id = $1", s.ownID)
			return s.own
		},
		"in the place of another's": func(s scene) string {
			theirs := s.i.bytes("SELECT id FROM api_keys WHERE tenant_id = $1", s.victim.ID)
			hash, _ := secret.HashToken(s.own, "fd_test_")
			s.i.exec("DELETE FROM api_keys WHERE id = $1", s.ownID)
			s.i.exec("UPDATE api_keys SET hash = $1 WHERE id = $2", hash[:], string(theirs))
			return s.own
		},
		"revoked, and no longer": func(s scene) string {
			s.i.exec("UPDATE api_keys SET revoked_at = NULL WHERE id = $1", s.id)
			return s.revoked
		},
	} {
		t.Run(name, func(t *testing.T) {
			tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
				h := tenanttest.Open(t, url, tenanttest.Audited)
				s := scene{h: h, i: intrude(t, url), victim: h.Tenant("acme")}
				s.c = h.Connection("acme", "s", adapter.KindCalendar, "sandbox")
				h.Key("acme", apikey.Spec{})
				h.Tenant("intruder")
				h.Connection("intruder", "s", adapter.KindCalendar, "sandbox")
				var own, revoked apikey.Key
				s.own, own = h.Key("intruder", apikey.Spec{Scopes: []apikey.Scope{apikey.ScopeCalendarRead}, Test: true})
				s.revoked, revoked = h.Key("intruder", apikey.Spec{})
				s.ownID, s.id = own.ID, revoked.ID
				if err := h.Keys.Revoke(t.Context(), revoked.ID); err != nil {
					t.Fatal(err)
				}
				key := attack(s)
				h.Callers.Forget()
				_, err := h.Callers.Authenticate(t.Context(), key)
				tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
				if !bytes.Contains(h.Logged.Bytes(), []byte("level=ERROR")) {
					t.Errorf("it is not told loudly: %s", h.Logged.Bytes())
				}
				if bytes.Contains(h.Logged.Bytes(), []byte(key)) {
					t.Error("the log has the key")
				}
				wrong, err := h.Rows.Wrong(t.Context())
				if err != nil || len(wrong) != 1 || wrong[0].Table != "api_keys" {
					t.Errorf("the doctor is told of %v, %v", wrong, err)
				}
				// A rotation of the key set seals no row that is wrong.
				if _, err := h.Vault.Rotate(); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Rows.Reseal(t.Context()); err != nil {
					t.Fatal(err)
				}
				h.Callers.Forget()
				_, err = h.Callers.Authenticate(t.Context(), key)
				tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
			})
		})
	}
}

// A revoked key stays revoked even if its whole row is restored to its earlier state, including the seal.
func TestARevokedKeyStaysRevokedWhenItsRowIsPutBack(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url, tenanttest.Audited)
		h.Tenant("acme")
		h.Connection("acme", "s", adapter.KindCalendar, "sandbox")
		text, made := h.Key("acme", apikey.Spec{})
		i := intrude(t, url)
		before := i.bytes("SELECT seal FROM api_keys WHERE id = $1", made.ID)
		if err := h.Keys.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		i.exec("UPDATE api_keys SET revoked_at = NULL, seal = $1 WHERE id = $2", before, made.ID)
		h.Callers.Forget()
		_, err := h.Callers.Authenticate(t.Context(), text)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if wrong, err := h.Rows.Wrong(t.Context()); err != nil || len(wrong) != 1 {
			t.Errorf("the doctor is told of %v, %v", wrong, err)
		}
	})
}

// A rolled key ends as it was told, even if its whole row is restored to its earlier state, or its end is put
// off.
func TestARolledKeyEndsThoughItsRowIsPutBack(t *testing.T) {
	for name, edit := range map[string]string{
		"put back": "UPDATE api_keys SET ends_at = NULL, seal = $1 WHERE id = $2",
		"put off":  "UPDATE api_keys SET ends_at = 4000000000000 WHERE $1 <> seal AND id = $2",
	} {
		t.Run(name, func(t *testing.T) {
			tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
				h := tenanttest.Open(t, url, tenanttest.Audited)
				h.Tenant("acme")
				text, made := h.Key("acme", apikey.Spec{})
				i := intrude(t, url)
				before := i.bytes("SELECT seal FROM api_keys WHERE id = $1", made.ID)
				if _, _, err := h.Keys.Roll(t.Context(), made.ID, time.Hour); err != nil {
					t.Fatal(err)
				}
				h.Caller(text)
				i.exec(edit, before, made.ID)
				h.Callers.Forget()
				_, err := h.Callers.Authenticate(t.Context(), text)
				tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
				if wrong, err := h.Rows.Wrong(t.Context()); err != nil || len(wrong) != 1 {
					t.Errorf("the doctor is told of %v, %v", wrong, err)
				}
			})
		})
	}
}

// Rolling a key makes no new key of a row that somebody changed.
func TestAChangedKeyIsNotRolled(t *testing.T) {
	url := storetest.SQLite(t)
	h := tenanttest.Open(t, url, tenanttest.Audited)
	h.Tenant("acme")
	_, made := h.Key("acme", apikey.Spec{Scopes: []apikey.Scope{apikey.ScopeCalendarRead}})
	intrude(t, url).exec(`UPDATE api_keys SET scopes = '["numbers:write"]' WHERE id = $1`, made.ID)
	_, _, err := h.Keys.Roll(t.Context(), made.ID, time.Hour)
	tenanttest.WantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	if keys, err := h.Keys.List(t.Context(), "acme"); err != nil || len(keys) != 1 {
		t.Errorf("there are %+v, %v", keys, err)
	}
}

// Keys work through rotations, and can be revoked during one.
func TestKeysGoOnThroughRotations(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t), tenanttest.Audited)
	h.Tenant("acme")
	text, made := h.Key("acme", apikey.Spec{})
	for range 3 {
		if _, err := h.Vault.Rotate(); err != nil {
			t.Fatal(err)
		}
		done, err := h.Rows.Reseal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Vault.Prune(func(id uint32) bool { return done.InUse[id] > 0 }); err != nil {
			t.Fatal(err)
		}
		h.Callers.Forget()
		h.Caller(text)
	}
	rows, err := h.Store.AllKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Keys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	// A rotation that read the row before the revocation does this.
	if done, err := h.Rows.SealKey(t.Context(), rows[0]); err != nil || done {
		t.Errorf("sealed %t, %v", done, err)
	}
	if wrong, err := h.Rows.Wrong(t.Context()); err != nil || len(wrong) != 0 {
		t.Errorf("wrong %v, %v", wrong, err)
	}
}

// Rows of the version before work once they are adopted. Rows that were changed since are not adopted again.
func TestRowsOfTheVersionBeforeAreAdopted(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
		s := h.Connection("acme", "s", adapter.KindTelephony, "sandbox")
		text, _ := h.Key("acme", apikey.Spec{})
		i := intrude(t, url)
		former, err := h.Vault.Seal(c.TenantID, c.ID, map[string]string{
			"username": "desk", "password": tenanttest.Canary,
		})
		if err != nil {
			t.Fatal(err)
		}
		i.exec("UPDATE connections SET credentials = $1 WHERE id = $2", former, c.ID)
		i.exec("UPDATE connections SET credentials = NULL WHERE id = $1", s.ID)
		i.exec("UPDATE api_keys SET seal = NULL")
		h.Callers.Forget()
		if at, err := h.Rows.Standing(t.Context(), nil); err != nil || at.Sealed != 0 || at.Former != 3 {
			t.Errorf("standing %+v, %v", at, err)
		}
		_, err = h.Callers.Authenticate(t.Context(), text)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if n, err := h.Rows.Adopt(t.Context()); err != nil || n != 3 {
			t.Errorf("adopted %d, %v", n, err)
		}
		if _, err := h.Calendar(h.Caller(text)); err != nil {
			t.Error(err)
		}
		i.exec("UPDATE connections SET settings = '{}' WHERE id = $1", c.ID)
		i.exec("UPDATE api_keys SET label = 'changed'")
		if n, err := h.Rows.Adopt(t.Context()); err != nil || n != 0 {
			t.Errorf("adopted %d, %v", n, err)
		}
		wrong, err := h.Rows.Wrong(t.Context())
		if err != nil || len(wrong) != 2 ||
			!slices.ContainsFunc(wrong, func(w sealing.WrongRow) bool { return w.ID == c.ID }) {
			t.Errorf("wrong %v, %v", wrong, err)
		}
	})
}

// A link sent to a customer leads where it led when it was made.
func TestNoEditOfTheDatabaseTurnsALink(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	token := secret.NewToken("fdc_")
	hash, _ := secret.HashToken(token, "fdc_")
	l := store.ConnectLink{
		Hash: hash[:], TenantID: "tenant_a", ConnectionID: "conn_a", Kind: "crm", Provider: "bearer", Name: "desk",
		Settings: []byte("{}"), CreatedAt: h.Clock.Now(), ExpiresAt: h.Clock.Now().Add(time.Hour),
	}
	tenanttest.Must(t, h.Sealer.SealLink(&l))
	for name, change := range map[string]func(){
		"settings": func() { l.Settings = []byte(`{"base_url":"https://intruder.example/"}`) },
		"tenant":   func() { l.TenantID = "tenant_other" },
		"end":      func() { l.ExpiresAt = l.ExpiresAt.Add(time.Hour) },
		"account":  func() { l.OtherAccount = true },
		"way back": func() { l.ReturnURL = "https://platform.example.com/" },
		"seal":     func() { l.Seal = nil },
	} {
		was := l
		change()
		if genuine, err := h.Sealer.Genuine(l); genuine || err != nil {
			t.Errorf("a link with another %s is taken: %v", name, err)
		}
		l = was
	}
	if genuine, err := h.Sealer.Genuine(l); !genuine || err != nil {
		t.Errorf("the link itself is refused: %v", err)
	}
	l.Seal = nil
	l.TenantID = h.Tenant("acme").ID
	if err := h.Store.CreateConnectLink(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Links.Get(t.Context(), token); fault.From(err).Reason != link.ReasonUnknown {
		t.Errorf("one that was put in: %v", err)
	}
	if !bytes.Contains(h.Logged.Bytes(), []byte("level=ERROR")) {
		t.Error("it is not told")
	}
}
