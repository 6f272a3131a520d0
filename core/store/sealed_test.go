package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

const person = "mark-92d0-of-a-person"

// sealing makes a store seal with its own key set.
func sealing(t testing.TB, s *store.Store) *vault.Vault {
	t.Helper()
	v, err := vault.Open("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.SealWith(v)
	return v
}

func rawDB(t *testing.T, url string) *sql.DB {
	t.Helper()
	return storetest.Database(t, url)
}

// answeredCall writes a call and a document that contain data of a person.
func answeredCall(t *testing.T, s *store.Store, key string) store.Intent {
	t.Helper()
	i := begun(t, s, store.Intent{Key: key, Plan: []byte(`{"title":"` + person + `"}`)})
	i.Plan = []byte(`{"attendees":["` + person + `"]}`)
	must(t, s.SaveIntentPlan(t.Context(), i))
	i.Answer = []byte(`{"description":"` + person + `"}`)
	must(t, s.FinishIntent(t.Context(), i, store.Attached{}))
	must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Put("doc "+key, []byte(`{"subject":"`+person+`"}`))
	}))
	return i
}

func document(t *testing.T, s *store.Store, key string) (value []byte, err error) {
	t.Helper()
	err = s.Documents("c1").View(t.Context(), func(tx adapter.StorageTx) error {
		value, err = tx.Get(key)
		return err
	})
	return value, err
}

// The files of a database and its tables do not reveal what callers said about people.
func TestNothingSaidAboutPeopleCanBeReadInTheDatabase(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		sealing(t, s)
		connection(t, s, "c1")
		i := answeredCall(t, s, "a")
		there, found, err := s.Intent(t.Context(), i.TenantID, i.Operation, i.Key)
		must(t, err)
		if !found || string(there.Plan) != string(i.Plan) || string(there.Answer) != string(i.Answer) ||
			!bytes.Equal(there.RequestHash, i.RequestHash) {
			t.Errorf("came back as %+v", there)
		}
		if doc, err := document(t, s, "doc a"); err != nil || string(doc) != `{"subject":"`+person+`"}` {
			t.Errorf("%s, %v", doc, err)
		}
		if strings.HasPrefix(url, "sqlite:") {
			if n := marksIn(t, url, person); n != 0 {
				t.Errorf("the files have it %d times", n)
			}
			return
		}
		var all string
		must(t, rawDB(t, url).QueryRow(`SELECT (SELECT string_agg(CAST(i AS TEXT), ' ') FROM intents i)
			|| (SELECT string_agg(CAST(d AS TEXT), ' ') FROM documents d)`).Scan(&all))
		if strings.Contains(all, person) || len(all) < 100 {
			t.Errorf("the tables have it: %s", all)
		}
	})
}

// A value sealed for one row or column is rejected in another, and a value that is not sealed is rejected
// everywhere.
func TestAnAnswerIsTakenInItsOwnRowOnly(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]string{
		"another's answer": "UPDATE intents SET answer = (SELECT answer FROM intents WHERE key = 'b') WHERE " +
			"key = 'a'",
		"another's plan": "UPDATE intents SET plan = (SELECT plan FROM intents WHERE key = 'b') " +
			"WHERE key = 'a'",
		"an answer of his":   `UPDATE intents SET answer = CAST('{"event":{}}' AS BYTEA) WHERE key = 'a'`,
		"a plan of his":      `UPDATE intents SET plan = '{"title":"x"}' WHERE key = 'a'`,
		"its request's hash": "UPDATE intents SET answer = request_hash WHERE key = 'a'",
	} {
		t.Run(name, func(t *testing.T) {
			bothURLs(t, func(t *testing.T, url string) {
				s := storetest.Open(t, url)
				sealing(t, s)
				connection(t, s, "c1")
				a, b := answeredCall(t, s, "a"), answeredCall(t, s, "b")
				query := attack
				if strings.HasPrefix(url, "sqlite:") {
					query = strings.ReplaceAll(query, "BYTEA", "BLOB")
				} else {
					query = strings.Replace(query, `CAST('{"event":{}}' AS BYTEA)`, `convert_to('{"event":{}}', 'UTF8')`, 1)
				}
				_, err := rawDB(t, url).Exec(query)
				must(t, err)
				_, _, err = s.Intent(t.Context(), a.TenantID, a.Operation, a.Key)
				refused(t, err, fault.Unavailable, store.ReasonRowUnreadable)
				_, found, err := s.Intent(t.Context(), b.TenantID, b.Operation, b.Key)
				must(t, err)
				equal(t, found, true)
				rows := got(s.Reseal(t.Context(), store.Rows{Stale: func([]byte) bool { return true }}))(t)
				equal(t, rows.Plain+rows.Unreadable, 1)
				_, _, err = s.Intent(t.Context(), a.TenantID, a.Operation, a.Key)
				refused(t, err, fault.Unavailable, store.ReasonRowUnreadable)
			})
		})
	}
}

// A call that cannot be opened does not keep others from being settled.
func TestACallThatCannotBeOpenedIsLeftOut(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		sealing(t, s)
		connection(t, s, "c1")
		for _, key := range []string{"a", "b"} {
			must(t, s.ReleaseIntent(t.Context(), begun(t, s, store.Intent{Key: key, ConnectionID: "c1"}),
				store.IntentUnknown))
		}
		_, err := rawDB(t, url).Exec("UPDATE intents SET plan = '{}' WHERE key = 'a'")
		must(t, err)
		all := got(s.UnsettledIntents(t.Context(), noon, noon, 10))(t)
		if len(all) != 1 || all[0].Key != "b" {
			t.Errorf("got %+v", all)
		}
	})
}

// BenchmarkSealedIntent prints what sealing adds to the time that a call's row takes: begun, saved and
// finished.
func BenchmarkSealedIntent(b *testing.B) {
	plan := []byte(`{"title":"Consultation","attendees":["` + strings.Repeat("a@example.com ", 40) + `"]}`)
	life := func(b *testing.B, s *store.Store) {
		for n := range b.N {
			i := intent(store.Intent{Key: fmt.Sprint(n)})
			i.Plan = plan
			if _, began, err := s.BeginIntent(b.Context(), i, time.Time{}); err != nil || !began {
				b.Fatal(err)
			}
			if err := s.SaveIntentPlan(b.Context(), i); err != nil {
				b.Fatal(err)
			}
			i.Answer = plan
			if err := s.FinishIntent(b.Context(), i, store.Attached{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, sealed := range []bool{false, true} {
		b.Run(fmt.Sprintf("sealed=%t", sealed), func(b *testing.B) {
			s := storetest.Open(b, storetest.SQLite(b))
			if err := s.CreateTenant(b.Context(), store.Tenant{
				ID: "acme", Name: "acme", CreatedAt: noon,
			}); err != nil {
				b.Fatal(err)
			}
			row := store.Connection{
				ID: "c1", TenantID: "acme", Name: "c1", Kind: "calendar", Provider: "sandbox", CreatedAt: noon,
			}
			if err := s.CreateConnection(b.Context(), row); err != nil {
				b.Fatal(err)
			}
			if sealed {
				sealing(b, s)
			}
			b.ResetTimer()
			life(b, s)
		})
	}
	b.Run("sealing alone", func(b *testing.B) {
		v, err := vault.Open("", b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			for range 4 { // the request's hash, two plans and the answer
				if _, err := v.SealColumn("intents", "plan", []string{"acme", "book-meeting", "key"}, plan); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
