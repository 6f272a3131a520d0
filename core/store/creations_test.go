package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

func TestACreationIsRecordedWithItsRowOrNotAtAll(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		sealing(t, s)
		tenant(t, s, "acme")
		key := func(id string) store.APIKey {
			return store.APIKey{ID: id, TenantID: "acme", Hash: []byte(id), CreatedAt: noon}
		}
		recorded := store.RecordCreation(t.Context(), creationBy("k", noon),
			func(made string, secret string) ([]byte, error) { return []byte(made + " " + secret), nil })
		ctx := store.Creating(recorded, "shown once", func(k store.APIKey) (string, error) { return k.ID, nil })
		must(t, s.CreateKey(ctx, key("first"), auditRow("first")))
		there, found := got2(s.Creation(t.Context(), "key:admin", "create", "k"))(t)
		want := creationBy("k", noon)
		want.TenantID, want.Answer = "acme", []byte("first shown once")
		if !found || fmt.Sprint(there) != fmt.Sprint(want) {
			t.Errorf("recorded is %+v, %v, want %+v", there, found, want)
		}
		if err := s.CreateKey(ctx, key("second"), auditRow("second")); !errors.Is(err, fault.Conflict) {
			t.Errorf("the second with one key gets %v", err)
		}
		failing := store.RecordCreation(t.Context(), creationBy("other", noon),
			func(string, string) ([]byte, error) { return nil, errors.New("no answer") })
		ctx = store.Creating(failing, "", func(k store.APIKey) (string, error) { return k.ID, nil })
		if err := s.CreateKey(ctx, key("third"), auditRow("third")); err == nil {
			t.Error("what has no answer was created")
		}
		if all := got(s.Keys(t.Context(), "acme"))(t); len(all) != 1 || all[0].ID != "first" {
			t.Errorf("the keys are %+v", all)
		}
		rows := got(s.AuditRows(t.Context(), store.AuditFilter{Limit: 10}))(t)
		if len(rows) != 1 || rows[0].UID != "first" {
			t.Errorf("the audit has %+v", rows)
		}
	})
}

// Creations hold secrets that are shown once, so they are bound to their row and go with their tenant.
func TestCreationsAreSealedAndGoWithTheirTenant(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		sealing(t, s)
		tenant(t, s, "acme")
		populateCreations(t, s)
		db := rawDB(t, url)
		rows := got(db.QueryContext(t.Context(), "SELECT request_hash, answer FROM creations"))(t)
		defer rows.Close()
		for rows.Next() {
			var hash, answer []byte
			must(t, rows.Scan(&hash, &answer))
			if bytes.Contains(hash, []byte("hash")) || bytes.Contains(answer, []byte("answer")) {
				t.Errorf("a row is %q, %q", hash, answer)
			}
		}
		must(t, rows.Err())
		all := store.Rows{Stale: func([]byte) bool { return true }}
		if found := got(s.Reseal(t.Context(), all))(t); found != (store.SealedRows{Sealed: 2, Rewritten: 2}) {
			t.Errorf("a rotation finds %+v", found)
		}
		there, found := got2(s.Creation(t.Context(), "key:admin", "create", "of acme"))(t)
		if !found || string(there.Answer) != "answer" || there.TenantID != "acme" {
			t.Errorf("after a rotation it is %+v, %v", there, found)
		}
		got(db.ExecContext(t.Context(), `UPDATE creations SET answer =
			(SELECT answer FROM creations WHERE key = 'of the operator') WHERE key = 'of acme'`))(t)
		_, _, err := s.Creation(t.Context(), "key:admin", "create", "of acme")
		if f := fault.From(err); f == nil || f.Reason != store.ReasonRowUnreadable {
			t.Errorf("an answer from another row is %v", err)
		}
		must(t, s.DeleteTenant(t.Context(), "acme"))
		if _, found := got2(s.Creation(t.Context(), "key:admin", "create", "of acme"))(t); found {
			t.Error("a creation outlives its tenant")
		}
		if n := got(s.PurgeCreations(t.Context(), noon.Add(time.Hour), 10))(t); n != 0 {
			t.Errorf("%d were purged too early", n)
		}
		if n := got(s.PurgeCreations(t.Context(), noon.Add(2*time.Hour), 10))(t); n != 1 {
			t.Errorf("%d were purged", n)
		}
	})
}
