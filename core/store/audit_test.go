package store_test

import (
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// recorded lists the subjects in the audit.
func recorded(t *testing.T, s *store.Store) []string {
	t.Helper()
	subjects := []string{}
	for _, r := range got(s.AuditRows(t.Context(), store.AuditFilter{Limit: 100}))(t) {
		subjects = append(subjects, r.Subject)
	}
	return subjects
}

func TestChangesAndWhatTheAuditSaysOfThem(t *testing.T) {
	t.Parallel()
	rowOf := func(subject string) store.AuditRow {
		return store.AuditRow{
			UID: "uid of " + subject, At: noon, Subject: subject, Changed: []string{"a", "b"}, MAC: "mac",
		}
	}
	t.Run("a row comes back as it was written", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			row := store.AuditRow{
				UID: "u", At: noon, TenantID: "t", Tenant: "acme", Actor: "key:k", Action: "book-meeting",
				ConnectionID: "c", Subject: "é ☎ '\"", Changed: []string{"a,b", ""}, Outcome: "done", Effect: "e",
				RequestID: "r", KeyID: "k", MAC: "m",
			}
			bare := store.AuditRow{UID: "v", At: noon.Add(time.Second), Changed: []string{}}
			must(t, s.AddAudit(t.Context(), row, bare))
			equal(t, got(s.AuditRows(t.Context(), store.AuditFilter{Limit: 9}))(t), []store.AuditRow{row, bare})
		})
	})
	t.Run("each change is recorded with it, and what is refused is not", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			ctx := t.Context()
			acme := store.Tenant{ID: "acme", Name: "acme", CreatedAt: noon}
			must(t, s.CreateTenant(ctx, acme, rowOf("create tenant")))
			refused(t, s.CreateTenant(ctx, acme, rowOf("no")), fault.Conflict, store.ReasonAlreadyExists)
			must(t, s.UpdateTenant(ctx, "acme", []byte(`{}`), rowOf("update tenant")))
			refused(t, s.UpdateTenant(ctx, "none", []byte(`{}`), rowOf("no")), fault.NotFound,
				store.ReasonTenantNotFound)
			key := store.APIKey{ID: "k", TenantID: "acme", Hash: []byte{1}, CreatedAt: noon}
			must(t, s.CreateKey(ctx, key, rowOf("create key")))
			refused(t, s.CreateKey(ctx, key, rowOf("no")), fault.Conflict, store.ReasonAlreadyExists)
			must(t, s.RevokeKey(ctx, key, noon, nil, rowOf("revoke key")))
			must(t, s.RevokeKey(ctx, key, noon, nil, rowOf("no"))) // it changes nothing
			refused(t, s.RevokeKey(ctx, store.APIKey{ID: "none"}, noon, nil, rowOf("no")), fault.NotFound, store.ReasonKeyNotFound)
			conn := store.Connection{
				ID: "c", TenantID: "acme", Name: "c", Kind: "calendar", Provider: "p", CreatedAt: noon,
			}
			must(t, s.CreateConnection(ctx, conn, rowOf("create connection")))
			refused(t, s.CreateConnection(ctx, conn, rowOf("no")), fault.Conflict, store.ReasonAlreadyExists)
			must(t, s.UpdateConnection(ctx, conn, 1, rowOf("update connection")))
			refused(t, s.UpdateConnection(ctx, conn, 1, rowOf("no")), fault.Conflict, fault.ReasonChangedMeanwhile)
			link := store.ConnectLink{
				Hash: []byte{2}, TenantID: "acme", ConnectionID: "c", Kind: "calendar", Provider: "p", Name: "c",
				CreatedAt: noon, ExpiresAt: noon.Add(time.Hour),
			}
			must(t, s.CreateConnectLink(ctx, link, rowOf("create link")))
			refused(t, s.CreateConnectLink(ctx, link, rowOf("no")), fault.Conflict, store.ReasonAlreadyExists)
			must(t, s.ClaimConnectLink(ctx, link.Hash, []byte{3}, noon, noon.Add(time.Minute)))
			refused(t, s.FinishConnectLink(ctx, link.Hash, []byte{4}, noon, conn, 2, rowOf("no")), fault.Conflict,
				store.ReasonLinkTaken)
			must(t, s.FinishConnectLink(ctx, link.Hash, []byte{3}, noon, conn, 2, rowOf("finish link")))
			must(t, s.DeleteConnection(ctx, "acme", "c", rowOf("delete connection")))
			refused(t, s.DeleteConnection(ctx, "acme", "c", rowOf("no")), fault.NotFound,
				store.ReasonConnectionNotFound)
			must(t, s.DeleteTenant(ctx, "acme", rowOf("delete tenant")))
			refused(t, s.DeleteTenant(ctx, "acme", rowOf("no")), fault.NotFound, store.ReasonTenantNotFound)
			equal(t, len(recorded(t, s)), 10)
			for _, subject := range recorded(t, s) {
				if subject == "no" {
					t.Error("a change that was refused is recorded")
				}
			}
		})
	})
	seen := []store.EventSeen{{TenantID: "acme", ConnectionID: "c1", EventID: "e", UpdatedAt: noon}}
	for name, end := range map[string]func(t *testing.T, s *store.Store, i store.Intent) error{
		"finished": func(t *testing.T, s *store.Store, i store.Intent) error {
			return s.FinishIntent(t.Context(), i, store.Attached{}, rowOf("end"))
		},
		"finished with events": func(t *testing.T, s *store.Store, i store.Intent) error {
			return s.FinishIntent(t.Context(), i, store.Attached{Seen: seen}, rowOf("end"))
		},
		"extended": func(t *testing.T, s *store.Store, i store.Intent) error {
			return s.ExtendIntent(t.Context(), i, rowOf("end"))
		},
		"left unknown": func(t *testing.T, s *store.Store, i store.Intent) error {
			return s.ReleaseIntent(t.Context(), i, store.IntentUnknown, rowOf("end"))
		},
		"released": func(t *testing.T, s *store.Store, i store.Intent) error {
			return s.ReleaseIntent(t.Context(), i, "", rowOf("end"))
		},
	} {
		t.Run("a run is recorded when it is "+name+", and one that was taken over is not", func(t *testing.T) {
			both(t, func(t *testing.T, s *store.Store) {
				connection(t, s, "c1")
				i := begun(t, s, store.Intent{})
				lost := i
				lost.Owner, lost.EffectKey = "another", "another" // any run may answer, for the same effect
				if err := end(t, s, lost); err != nil {
					refused(t, err, fault.Conflict, store.ReasonIntentLost)
				}
				equal(t, recorded(t, s), []string{})
				must(t, end(t, s, i))
				equal(t, recorded(t, s), []string{"end"})
			})
		})
	}
	t.Run("a row that is refused takes the change with it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			must(t, s.AddAudit(t.Context(), rowOf("taken")))
			refused(t, s.CreateTenant(t.Context(), store.Tenant{ID: "acme", Name: "acme", CreatedAt: noon},
				rowOf("taken")), fault.Conflict, store.ReasonAlreadyExists)
			equal(t, len(got(s.Tenants(t.Context()))(t)), 0)
			connection(t, s, "c1")
			i := begun(t, s, store.Intent{})
			refused(t, s.FinishIntent(t.Context(), i, store.Attached{}, rowOf("taken")), fault.Conflict,
				store.ReasonAlreadyExists)
			must(t, s.FinishIntent(t.Context(), i, store.Attached{}))
		})
	})
}
