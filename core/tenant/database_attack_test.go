package tenant

import (
	"bytes"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

// intruder can read and write the database, and has no key set.
type intruder struct {
	t  *testing.T
	db *sql.DB
}

func intrude(t *testing.T, url string) intruder {
	t.Helper()
	driver, address := "pgx", url
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, address = "sqlite", path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return intruder{t: t, db: db}
}

// exec changes rows, and fails the test where it changes none.
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

// Whoever can write the database, but has not the key set, gets no credential sent to a place of his choice:
// he edits each column that has a say in that, and copies rows and parts of rows of other connections, and of
// the same one at another time.
func TestNoEditOfTheDatabaseSendsACredentialElsewhere(t *testing.T) {
	const evil = `{"url":"https://intruder.example/"}`
	for name, attack := range map[string]func(i intruder, victim, mine Connection){
		"its address": func(i intruder, victim, _ Connection) {
			i.exec("UPDATE connections SET settings = $1 WHERE id = $2", evil, victim.ID)
		},
		"any other setting": func(i intruder, victim, _ Connection) {
			i.exec(`UPDATE connections SET settings = '{"url":"https://cal.acme.example/","room":"2"}' WHERE id = $1`, victim.ID)
		},
		"its provider": func(i intruder, victim, _ Connection) {
			i.exec(`UPDATE connections SET provider = 'bearer', kind = 'crm', settings = '{"base_url":"https://intruder.example/"}'
				WHERE id = $1`, victim.ID)
		},
		"its tenant": func(i intruder, victim, mine Connection) {
			i.exec("UPDATE connections SET tenant_id = $1, name = 'stolen', is_default = FALSE WHERE id = $2", mine.TenantID, victim.ID)
		},
		"its credentials put into a connection of the intruder's": func(i intruder, victim, mine Connection) {
			i.exec(`UPDATE connections SET credentials = (SELECT credentials FROM connections WHERE id = $1) WHERE id = $2`, victim.ID, mine.ID)
		},
		"all that is sealed and bound put into a connection of the intruder's": func(i intruder, victim, mine Connection) {
			i.exec(`UPDATE connections SET (credentials, settings) = (SELECT credentials, settings FROM connections WHERE id = $1)
				WHERE id = $2`, victim.ID, mine.ID)
		},
		"the intruder's row put in its place": func(i intruder, victim, mine Connection) {
			i.exec(`UPDATE connections SET (credentials, settings) = (SELECT credentials, settings FROM connections WHERE id = $1)
				WHERE id = $2`, mine.ID, victim.ID)
		},
		"its seal taken away": func(i intruder, victim, _ Connection) {
			i.exec("UPDATE connections SET credentials = NULL, settings = $1 WHERE id = $2", evil, victim.ID)
		},
		"the form of the version before": func(i intruder, victim, _ Connection) {
			i.exec("UPDATE connections SET credentials = $1, settings = $2 WHERE id = $3",
				append([]byte{1}, i.bytes("SELECT credentials FROM connections WHERE id = $1", victim.ID)[2:]...), evil, victim.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryStore(t, func(t *testing.T, url string) {
				h := build(t, url)
				h.tenant("acme")
				h.tenant("intruder")
				victim := h.connection("acme", "a", adapter.KindCalendar, "dav")
				mine := h.connection("intruder", "a", adapter.KindCalendar, "dav")
				theirs, _ := h.key("acme", NewKey{})
				own, _ := h.key("intruder", NewKey{Connections: []string{"a"}})
				attack(intrude(t, url), victim, mine)
				h.callers.forget()
				opened := 0
				for _, key := range []string{theirs, own} {
					for _, open := range []func(Caller) error{
						func(c Caller) error { _, err := h.Calendar(t.Context(), c); return err },
						func(c Caller) error { _, err := h.CRM(t.Context(), c); return err },
					} {
						err := open(h.caller(key))
						if f := fault.From(err); f == nil {
							opened++
						} else if f.Reason != vault.ReasonUnreadable && f.Reason != fault.ReasonNotConnected {
							t.Errorf("refused with %v", err)
						}
					}
				}
				if seen := h.desk.openedWith(); opened > 1 || strings.Contains(seen.URL, "intruder") {
					t.Errorf("%d drivers were opened, the last with %+v", opened, seen)
				}
				wrong, err := h.WrongRows(t.Context())
				if err != nil || len(wrong) != 1 || wrong[0].Table != "connections" {
					t.Errorf("the doctor is told of %v, %v", wrong, err)
				}
				// Neither is the row blessed by what seals rows anew, or by half of what it needs.
				if _, err := h.vault.Rotate(); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Reseal(t.Context()); fault.From(err) == nil || fault.From(err).Reason != vault.ReasonUnreadable {
					t.Errorf("a rotation says %v", err)
				}
				tenantName := "acme"
				if wrong[0].ID == mine.ID {
					tenantName = "intruder"
				}
				_, err = h.UpdateConnection(t.Context(), tenantName, "a", ConnectionChange{Credentials: map[string]string{"username": "u", "password": canary}})
				if err == nil {
					t.Error("new credentials were bound to settings that somebody put in")
				}
			})
		})
	}
}

// A connection whose row was changed works again once settings and credentials are entered anew.
func TestAChangedConnectionIsMendedByEnteringItAnew(t *testing.T) {
	url := storetest.SQLite(t)
	h := build(t, url)
	h.tenant("acme")
	c := h.connection("acme", "a", adapter.KindCalendar, "dav")
	text, _ := h.key("acme", NewKey{})
	intrude(t, url).exec("UPDATE connections SET settings = '{}' WHERE id = $1", c.ID)
	h.callers.forget()
	_, err := h.Calendar(t.Context(), h.caller(text))
	wantFault(t, err, fault.Unavailable, vault.ReasonUnreadable)
	h.apply(Desired{Tenants: []DesiredTenant{{Name: "acme", Connections: []NewConnection{{
		Name: "a", Kind: adapter.KindCalendar, Provider: "dav", Settings: map[string]any{}, Default: true,
		Credentials: map[string]string{"username": "desk", "password": canary},
	}}}}}, ApplyOptions{})
	if _, err := h.Calendar(t.Context(), h.caller(text)); err != nil {
		t.Error(err)
	}
}

// No key is accepted that the gateway did not make, or not as it is, whichever column of it was written.
func TestNoEditOfTheDatabaseMakesAKey(t *testing.T) {
	type scene struct {
		h            *harness
		i            intruder
		own, revoked string // keys of the intruder's tenant that he knows
		ownID, id    string
		victim       Tenant
		c            Connection
	}
	for name, attack := range map[string]func(s scene) (key string){
		"put in": func(s scene) string {
			key := secret.NewToken(livePrefix)
			hash, _ := hashKey(key)
			s.i.exec(`INSERT INTO api_keys (id, tenant_id, prefix, hash, label, scopes, connections, test, created_at)
				VALUES ('key_of_mine', $1, 'fd_live_xxxx', $2, '', '["calendar:read","calendar:write"]', 'null', FALSE, 0)`, s.victim.ID, hash[:])
			return key
		},
		"put in with the seal of another": func(s scene) string {
			key := secret.NewToken(livePrefix)
			hash, _ := hashKey(key)
			s.i.exec(`INSERT INTO api_keys (id, tenant_id, prefix, hash, label, scopes, connections, test, created_at, seal)
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
			hash, _ := hashKey(s.own)
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
			onEveryStore(t, func(t *testing.T, url string) {
				h := build(t, url, withAudit)
				s := scene{h: h, i: intrude(t, url), victim: h.tenant("acme")}
				s.c = h.connection("acme", "s", adapter.KindCalendar, "sandbox")
				h.key("acme", NewKey{})
				h.tenant("intruder")
				h.connection("intruder", "s", adapter.KindCalendar, "sandbox")
				var own, revoked Key
				s.own, own = h.key("intruder", NewKey{Scopes: []Scope{ScopeCalendarRead}, Test: true})
				s.revoked, revoked = h.key("intruder", NewKey{})
				s.ownID, s.id = own.ID, revoked.ID
				if err := h.RevokeKey(t.Context(), revoked.ID); err != nil {
					t.Fatal(err)
				}
				key := attack(s)
				h.callers.forget()
				_, err := h.Authenticate(t.Context(), key)
				wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
				if !bytes.Contains(h.logged.Bytes(), []byte("level=ERROR")) {
					t.Errorf("it is not told loudly: %s", h.logged.Bytes())
				}
				if bytes.Contains(h.logged.Bytes(), []byte(key)) {
					t.Error("the log has the key")
				}
				wrong, err := h.WrongRows(t.Context())
				if err != nil || len(wrong) != 1 || wrong[0].Table != "api_keys" {
					t.Errorf("the doctor is told of %v, %v", wrong, err)
				}
				// A rotation of the key set seals no row that is wrong.
				if _, err := h.vault.Rotate(); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Reseal(t.Context()); err != nil {
					t.Fatal(err)
				}
				h.callers.forget()
				_, err = h.Authenticate(t.Context(), key)
				wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
			})
		})
	}
}

// A key that was revoked stays so, though the whole row be put back to what it was before, seal and all.
func TestARevokedKeyStaysRevokedWhenItsRowIsPutBack(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url, withAudit)
		h.tenant("acme")
		h.connection("acme", "s", adapter.KindCalendar, "sandbox")
		text, made := h.key("acme", NewKey{})
		i := intrude(t, url)
		before := i.bytes("SELECT seal FROM api_keys WHERE id = $1", made.ID)
		if err := h.RevokeKey(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		i.exec("UPDATE api_keys SET revoked_at = NULL, seal = $1 WHERE id = $2", before, made.ID)
		h.callers.forget()
		_, err := h.Authenticate(t.Context(), text)
		wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if wrong, err := h.WrongRows(t.Context()); err != nil || len(wrong) != 1 {
			t.Errorf("the doctor is told of %v, %v", wrong, err)
		}
	})
}

// Keys go on through rotations, and can be revoked while one goes on.
func TestKeysGoOnThroughRotations(t *testing.T) {
	h := build(t, storetest.SQLite(t), withAudit)
	h.tenant("acme")
	text, made := h.key("acme", NewKey{})
	for range 3 {
		if _, err := h.vault.Rotate(); err != nil {
			t.Fatal(err)
		}
		done, err := h.Reseal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.vault.Prune(func(id uint32) bool { return done.InUse[id] > 0 }); err != nil {
			t.Fatal(err)
		}
		h.callers.forget()
		h.caller(text)
	}
	rows, err := h.store.AllKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.RevokeKey(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if done, err := h.sealKey(t.Context(), rows[0]); err != nil || done { // as a rotation that read it before
		t.Errorf("sealed %t, %v", done, err)
	}
	if wrong, err := h.WrongRows(t.Context()); err != nil || len(wrong) != 0 {
		t.Errorf("wrong %v, %v", wrong, err)
	}
}

// Rows of the version before work once they were adopted, and those that somebody changed since are not
// adopted again.
func TestRowsOfTheVersionBeforeAreAdopted(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		c := h.connection("acme", "a", adapter.KindCalendar, "dav")
		s := h.connection("acme", "s", adapter.KindTelephony, "sandbox")
		text, _ := h.key("acme", NewKey{})
		i := intrude(t, url)
		former, err := h.vault.Seal(c.TenantID, c.ID, map[string]string{"username": "desk", "password": canary})
		if err != nil {
			t.Fatal(err)
		}
		i.exec("UPDATE connections SET credentials = $1 WHERE id = $2", former, c.ID)
		i.exec("UPDATE connections SET credentials = NULL WHERE id = $1", s.ID)
		i.exec("UPDATE api_keys SET seal = NULL")
		h.callers.forget()
		if at, err := h.Standing(t.Context()); err != nil || at != (Standing{Former: 3}) {
			t.Errorf("standing %+v, %v", at, err)
		}
		_, err = h.Authenticate(t.Context(), text)
		wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if n, err := h.Adopt(t.Context()); err != nil || n != 3 {
			t.Errorf("adopted %d, %v", n, err)
		}
		if _, err := h.Calendar(t.Context(), h.caller(text)); err != nil {
			t.Error(err)
		}
		i.exec("UPDATE connections SET settings = '{}' WHERE id = $1", c.ID)
		i.exec("UPDATE api_keys SET label = 'changed'")
		if n, err := h.Adopt(t.Context()); err != nil || n != 0 {
			t.Errorf("adopted %d, %v", n, err)
		}
		wrong, err := h.WrongRows(t.Context())
		if err != nil || len(wrong) != 2 || !slices.ContainsFunc(wrong, func(w WrongRow) bool { return w.ID == c.ID }) {
			t.Errorf("wrong %v, %v", wrong, err)
		}
	})
}

// A link that was sent to a customer leads where it led when it was made.
func TestNoEditOfTheDatabaseTurnsALink(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	l := store.ConnectLink{
		Hash: hashOf("a link"), TenantID: "tenant_a", ConnectionID: "conn_a", Kind: "crm", Provider: "bearer", Name: "desk",
		Settings: []byte("{}"), CreatedAt: h.clock.now(), ExpiresAt: h.clock.now().Add(time.Hour),
	}
	var err error
	if l.Seal, err = h.vault.SealRow(boundLink(l), nil); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"settings": func() { l.Settings = []byte(`{"base_url":"https://intruder.example/"}`) },
		"tenant":   func() { l.TenantID = "tenant_other" },
		"end":      func() { l.ExpiresAt = l.ExpiresAt.Add(time.Hour) },
		"account":  func() { l.OtherAccount = true },
		"seal":     func() { l.Seal = nil },
	} {
		was := l
		if change(); h.genuineLink(l) {
			t.Errorf("a link with another %s is taken", name)
		}
		l = was
	}
	if !h.genuineLink(l) {
		t.Error("the link itself is refused")
	}
	l.Seal = nil
	l.TenantID = h.tenant("acme").ID
	if err := h.store.CreateConnectLink(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := h.goodLinkOf(t.Context(), l.Hash); fault.From(err).Reason != ReasonLinkUnknown {
		t.Errorf("one that was put in: %v", err)
	}
	if !bytes.Contains(h.logged.Bytes(), []byte("level=ERROR")) {
		t.Error("it is not told")
	}
}
