package store_test

import (
	"context"
	"database/sql/driver"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// tokensOf returns the row of a connection of "acme".
func tokensOf(t *testing.T, s *store.Store, id string) store.Tokens {
	t.Helper()
	row, found, err := s.Tokens(t.Context(), "acme", id)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	return row
}

// reset gives a connection tokens of version 1 that are due at noon.
func reset(t *testing.T, s *store.Store, id string) store.Tokens {
	t.Helper()
	connection(t, s, id)
	must(t, s.ResetTokens(t.Context(), store.Tokens{
		TenantID: "acme", ConnectionID: id, Sealed: []byte{1}, RefreshAt: noon,
	}))
	return tokensOf(t, s, id)
}

func leased(t store.Tokens, owner string, until time.Time) store.Tokens {
	t.LeaseOwner, t.LeaseUntil = owner, until
	return t
}

var zero = time.UnixMilli(0).UTC()

func TestTokens(t *testing.T) {
	t.Parallel()
	t.Run("come back as they were reset, with the next version", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			if _, found, err := s.Tokens(t.Context(), "acme", "c1"); found || err != nil {
				t.Fatal(found, err)
			}
			row := store.Tokens{TenantID: "acme", ConnectionID: "c1", Sealed: []byte{0xff, 0}, RefreshAt: noon}
			must(t, s.ResetTokens(t.Context(), row))
			row.Version, row.LeaseUntil = 1, zero
			equal(t, tokensOf(t, s, "c1"), row)
			row.RefreshAt = time.Time{}
			must(t, s.ResetTokens(t.Context(), row))
			row.Version = 2
			equal(t, tokensOf(t, s, "c1"), row)
			equal(t, got(s.AllTokens(t.Context()))(t), []store.Tokens{row})
		})
	})
	t.Run("are another tenant's for nobody, and go with their connection", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			reset(t, s, "c1")
			tenant(t, s, "beta")
			if _, found, err := s.Tokens(t.Context(), "beta", "c1"); found || err != nil {
				t.Fatal(found, err)
			}
			foreign := store.Tokens{TenantID: "beta", ConnectionID: "c1", Sealed: []byte{1}}
			refused(t, s.ResetTokens(t.Context(), foreign), fault.NotFound, store.ReasonConnectionNotFound)
			refused(t, s.PutTokens(t.Context(), foreign), fault.NotFound, store.ReasonConnectionNotFound)
			must(t, s.DeleteConnection(t.Context(), "acme", "c1"))
			equal(t, got(s.AllTokens(t.Context()))(t), []store.Tokens{})
		})
	})
	t.Run("of a consent make the connection one that works and that everyone opens anew", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := reset(t, s, "c1")
			disconnect(t, s, "c1")
			got(s.LeaseTokens(t.Context(), row, leased(row, "a", noon.Add(time.Minute)), noon))(t)
			must(t, s.PutTokens(t.Context(), store.Tokens{TenantID: "acme", ConnectionID: "c1", Sealed: []byte{2}}))
			equal(t, tokensOf(t, s, "c1"), store.Tokens{
				TenantID: "acme", ConnectionID: "c1", Sealed: []byte{2}, Version: 2, LeaseUntil: zero,
			})
			c := got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, c.Status, "ok")
			equal(t, c.Revision, int64(3))
		})
	})
}

func TestLeasesOfTokens(t *testing.T) {
	t.Parallel()
	until := noon.Add(30 * time.Second)
	t.Run("of many who want one, exactly one has it, also where there is no row yet", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			none := store.Tokens{TenantID: "acme", ConnectionID: "c1", Sealed: []byte{7}}
			won := 0
			for _, ok := range at(16, func(i int) bool {
				return got(s.LeaseTokens(t.Context(), none, leased(none, string(rune('a'+i)), until), noon))(t)
			}) {
				if ok {
					won++
				}
			}
			equal(t, won, 1)
			row := tokensOf(t, s, "c1")
			equal(t, row.Sealed, []byte{7})
			equal(t, row.Version, int64(0))
			equal(t, row.RefreshAt, noon)
		})
	})
	t.Run("are had again once they lapsed, for the version that was read", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := reset(t, s, "c1")
			equal(t, got(s.LeaseTokens(t.Context(), row, leased(row, "a", until), noon))(t), true)
			equal(t, got(s.LeaseTokens(t.Context(), row, leased(row, "b", until.Add(time.Minute)),
				until.Add(-time.Millisecond)))(t), false)
			equal(t, got(s.LeaseTokens(t.Context(), row, leased(row, "b", until.Add(time.Minute)), until))(t), true)
			old := row
			old.Version--
			equal(t, got(s.LeaseTokens(t.Context(), old, leased(old, "c", until.Add(time.Hour)),
				until.Add(time.Hour)))(t), false)
			equal(t, tokensOf(t, s, "c1").LeaseOwner, "b")
		})
	})
	t.Run("do not decide what is saved: the version does", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := reset(t, s, "c1")
			got(s.LeaseTokens(t.Context(), row, leased(row, "a", until), noon))(t)
			got(s.LeaseTokens(t.Context(), row, leased(row, "b", until.Add(time.Hour)), until))(t)
			row.Sealed, row.RefreshAt = []byte{2}, noon.Add(time.Hour)
			equal(t, got(s.SaveTokens(t.Context(), row, 1))(t), true) // by a, whose lease has expired
			equal(t, got(s.SaveTokens(t.Context(), row, 1))(t), false)
			row.Version, row.LeaseUntil = 2, zero
			equal(t, tokensOf(t, s, "c1"), row)
		})
	})
	t.Run("end with a failure, but only their own", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := reset(t, s, "c1")
			mine := leased(row, "a", until)
			got(s.LeaseTokens(t.Context(), row, mine, noon))(t)
			must(t, s.PostponeTokens(t.Context(), leased(row, "a", until.Add(time.Second)), noon.Add(time.Hour)))
			must(t, s.PostponeTokens(t.Context(), leased(row, "b", until), noon.Add(time.Hour)))
			equal(t, tokensOf(t, s, "c1").LeaseOwner, "a")
			must(t, s.PostponeTokens(t.Context(), mine, noon.Add(time.Hour)))
			row.Failures, row.RefreshAt, row.LeaseUntil = 1, noon.Add(time.Hour), zero
			equal(t, tokensOf(t, s, "c1"), row)
			got(s.LeaseTokens(t.Context(), row, mine, noon))(t)
			must(t, s.PostponeTokens(t.Context(), mine, time.Time{}))
			equal(t, tokensOf(t, s, "c1").RefreshAt, time.Time{})
		})
	})
}

func TestDueTokens(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		for i, id := range []string{"c1", "c2", "c3", "c4", "c5", "c6"} {
			row := reset(t, s, id)
			row.RefreshAt = []time.Time{noon, noon.Add(-time.Hour), noon.Add(time.Millisecond), {}, noon,
				noon.Add(-time.Minute)}[i]
			got(s.SaveTokens(t.Context(), row, 1))(t)
		}
		last := tokensOf(t, s, "c6")
		got(s.LeaseTokens(t.Context(), last, leased(last, "a", noon.Add(time.Second)), noon))(t)
		var ids []string
		page := func(now time.Time, after store.Tokens) (last store.Tokens) {
			ids = nil
			for _, row := range got(s.DueTokens(t.Context(), now, after, 2))(t) {
				ids, last = append(ids, row.ConnectionID), row
			}
			return last
		}
		after := page(noon, store.Tokens{})
		equal(t, ids, []string{"c2", "c1"}) // the one that waits the longest comes first
		after = page(noon, after)
		equal(t, ids, []string{"c5"})
		page(noon, after)
		equal(t, ids, nil)
		page(noon.Add(time.Second), store.Tokens{})
		equal(t, ids, []string{"c2", "c6"}) // c6: its lease has expired
	})
}

func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	t.Run("mark the connection, once", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := reset(t, s, "c1")
			row.Sealed = []byte{9}
			equal(t, got(s.RefuseTokens(t.Context(), row, 1, 1))(t), true)
			equal(t, got(s.RefuseTokens(t.Context(), row, 1, 1))(t), false)
			row.Version, row.Refused, row.RefreshAt = 2, true, time.Time{}
			equal(t, tokensOf(t, s, "c1"), row)
			c := got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, c.Status, "reconnect_required")
			equal(t, c.Revision, int64(2))
			equal(t, got(s.RefuseTokens(t.Context(), row, 2, 2))(t), true) // again, for something else
			equal(t, got(s.Connection(t.Context(), "acme", "c1"))(t).Revision, int64(2))
			got(s.SaveTokens(t.Context(), row, 3))(t)
			equal(t, tokensOf(t, s, "c1").Refused, false)
		})
	})
	t.Run("mark nothing where tokens or connection are others by now", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := reset(t, s, "c1")
			equal(t, got(s.RefuseTokens(t.Context(), row, 2, 1))(t), false)
			equal(t, got(s.RefuseTokens(t.Context(), row, 1, 2))(t), false)
			equal(t, tokensOf(t, s, "c1"), row)
			c := got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, c.Status, "ok")
			equal(t, c.Revision, int64(1))
		})
	})
}

func TestResealedTokensKeepTheirVersion(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		row := reset(t, s, "c1")
		equal(t, got(s.ResealTokens(t.Context(), row, []byte{2}))(t), true)
		equal(t, got(s.ResealTokens(t.Context(), row, []byte{3}))(t), false)
		row.Sealed = []byte{2}
		equal(t, tokensOf(t, s, "c1"), row)
	})
}

func TestTurns(t *testing.T) {
	t.Parallel()
	t.Run("are one replica's at a time, and keep nobody from removing the connection", func(t *testing.T) {
		url := storetest.Postgres(t)
		a, b := storetest.Open(t, url), storetest.Open(t, url)
		connection(t, a, "c1")
		release, held, err := a.HoldTurn(t.Context(), "c1", time.Minute)
		if !held || err != nil {
			t.Fatal(held, err)
		}
		for range 2 {
			if _, held, err := b.HoldTurn(t.Context(), "c1", time.Minute); held || err != nil {
				t.Fatal(held, err)
			}
		}
		other, held, err := b.HoldTurn(t.Context(), "c2", time.Minute)
		if !held || err != nil {
			t.Fatal(held, err)
		}
		other()
		must(t, b.DeleteConnection(t.Context(), "acme", "c1"))
		release()
		release() // does nothing
		release, held, err = b.HoldTurn(t.Context(), "c1", time.Minute)
		if !held || err != nil {
			t.Fatal(held, err)
		}
		release()
	})
	t.Run("end although the server has stopped to answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := got(store.OpenThrough(t.Context(), "postgres://db.example/", func(driver.Connector) driver.Connector {
				return deafServer{}
			}))(t)
			defer s.Close()
			release, held, err := s.HoldTurn(t.Context(), "c1", time.Minute)
			if !held || err != nil {
				t.Fatal(held, err)
			}
			began := time.Now()
			release()
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("after %s", took)
			}
		})
	})
	t.Run("outlive the context they were taken with", func(t *testing.T) {
		url := storetest.Postgres(t)
		a, b := storetest.Open(t, url), storetest.Open(t, url)
		ctx, cancel := context.WithCancel(t.Context())
		release, held, err := a.HoldTurn(ctx, "c1", time.Minute)
		if !held || err != nil {
			t.Fatal(held, err)
		}
		defer release()
		cancel()
		if _, held, err := b.HoldTurn(t.Context(), "c1", time.Minute); held || err != nil {
			t.Fatal(held, err)
		}
	})
	t.Run("leave connections to everything else", func(t *testing.T) {
		s := storetest.Open(t, storetest.Postgres(t)) // with as few connections as a store may have
		for i := range 8 {
			release, held, err := s.HoldTurn(t.Context(), string(rune('a'+i)), time.Minute)
			if !held || err != nil {
				t.Fatal(held, err)
			}
			defer release()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, held, err := s.HoldTurn(ctx, "one more", time.Minute)
		if held {
			t.Fatal("it is held")
		}
		refused(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
		must(t, s.Ping(t.Context()))
	})
	t.Run("end with the server's session", func(t *testing.T) {
		cluster := storetest.Start(t)
		a := storetest.Open(t, cluster.URL("postgres"))
		release, held, err := a.HoldTurn(t.Context(), "c1", time.Minute)
		if !held || err != nil {
			t.Fatal(held, err)
		}
		must(t, cluster.Down())
		must(t, cluster.Up())
		b := storetest.Open(t, cluster.URL("postgres"))
		again, held, err := b.HoldTurn(t.Context(), "c1", time.Minute)
		if !held || err != nil {
			t.Fatal(held, err)
		}
		again()
		release()
		must(t, a.Ping(t.Context()))
	})
	t.Run("need no waiting on SQLite", func(t *testing.T) {
		s := storetest.Open(t, storetest.SQLite(t))
		for range 2 {
			release, held, err := s.HoldTurn(t.Context(), "c1", time.Minute)
			if !held || err != nil {
				t.Fatal(held, err)
			}
			defer release()
		}
	})
}

// deafServer is a connector, connection and transaction of a server that does not answer the end of a transaction.
type deafServer struct{ transaction context.Context }

func (s deafServer) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (deafServer) Driver() driver.Driver                          { return nil }
func (deafServer) Close() error                                   { return nil }
func (deafServer) Commit() error                                  { return driver.ErrBadConn }
func (deafServer) Begin() (driver.Tx, error)                      { return nil, driver.ErrBadConn }
func (deafServer) Prepare(string) (driver.Stmt, error)            { return nil, driver.ErrBadConn }
func (deafServer) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	return deafServer{ctx}, nil
}
func (deafServer) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}

// Rollback waits as long as pgx does: until the context of the transaction ends.
func (s deafServer) Rollback() error {
	<-s.transaction.Done()
	return s.transaction.Err()
}
