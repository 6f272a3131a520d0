package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// link creates a link of the tenant "acme", and the tenant with the first link.
func link(t *testing.T, s *store.Store, token string) store.ConnectLink {
	t.Helper()
	if _, err := s.TenantByID(t.Context(), "acme"); err != nil {
		tenant(t, s, "acme")
	}
	l := store.ConnectLink{
		Hash: []byte(token), TenantID: "acme", ConnectionID: "c1", Reconnects: true, Kind: "calendar",
		Provider: "google", Name: "front-office",
		Settings: json.RawMessage(`{"calendar_id":"team"}`), IsDefault: true, OtherAccount: true, CreatedAt: noon,
		ReturnURL: "https://platform.example.com/back",
		ExpiresAt: noon.Add(time.Hour),
	}
	must(t, s.CreateConnectLink(t.Context(), l))
	return l
}

func consent(l store.ConnectLink, state string) store.Consent {
	return store.Consent{
		Hash: []byte(state), LinkHash: l.Hash, BrowserHash: []byte{0, 0xff}, Sealed: []byte{1, 0, 2},
		Redirect: "https://gw.example/oauth/callback/google", ExpiresAt: noon.Add(10 * time.Minute),
	}
}

func TestConnectLinks(t *testing.T) {
	t.Parallel()
	t.Run("a link comes back as it was written", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			l := link(t, s, "a")
			equal(t, got(s.ConnectLink(t.Context(), l.Hash))(t), l)
		})
	})
	t.Run("an unknown link is not found, and one of an unknown tenant is not made", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			_, err := s.ConnectLink(t.Context(), []byte("nothing"))
			refused(t, err, fault.NotFound, store.ReasonLinkNotFound)
			l := store.ConnectLink{
				Hash: []byte("a"), TenantID: "nobody", ConnectionID: "c", Kind: "crm", Provider: "p", Name: "n",
			}
			refused(t, s.CreateConnectLink(t.Context(), l), fault.NotFound, store.ReasonTenantNotFound)
		})
	})
	t.Run("with a tenant go its links and their consents", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			l := link(t, s, "a")
			must(t, s.BeginConsent(t.Context(), consent(l, "s")))
			must(t, s.DeleteTenant(t.Context(), "acme"))
			_, err := s.ConnectLink(t.Context(), l.Hash)
			refused(t, err, fault.NotFound, store.ReasonLinkNotFound)
			_, err = s.TakeConsent(t.Context(), []byte("s"))
			refused(t, err, fault.NotFound, store.ReasonConsentNotFound)
		})
	})
	t.Run("of claims at once one holds, until it ends or is released", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			l := link(t, s, "a")
			won := -1
			for i, err := range at(12, func(i int) error {
				return s.ClaimConnectLink(t.Context(), l.Hash, []byte{byte(i)}, noon, noon.Add(time.Minute))
			}) {
				if err == nil && won < 0 {
					won = i
					continue
				}
				refused(t, err, fault.Conflict, store.ReasonLinkTaken)
			}
			other := []byte("other")
			must(t, s.ReleaseConnectLink(t.Context(), l.Hash, other))
			refused(t, s.ClaimConnectLink(t.Context(), l.Hash, other, noon.Add(time.Minute-1), noon.Add(time.Hour)),
				fault.Conflict, store.ReasonLinkTaken)
			must(t, s.ReleaseConnectLink(t.Context(), l.Hash, []byte{byte(won)}))
			must(t, s.ClaimConnectLink(t.Context(), l.Hash, other, noon, noon.Add(time.Minute)))
			must(t, s.ClaimConnectLink(t.Context(), l.Hash, []byte("third"), noon.Add(time.Minute),
				noon.Add(time.Hour)))
		})
	})
	t.Run("finishing marks the link as used and the connection as working, in one", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			l := link(t, s, "a")
			connection(t, s, "c1")
			disconnect(t, s, "c1")
			c := got(s.Connection(t.Context(), "acme", "c1"))(t)
			mine := []byte("mine")
			must(t, s.ClaimConnectLink(t.Context(), l.Hash, mine, noon, noon.Add(time.Minute)))
			c.Email = "b@example.com"
			refused(t, s.FinishConnectLink(t.Context(), l.Hash, []byte("other"), noon, c, c.Revision), fault.Conflict,
				store.ReasonLinkTaken)
			refused(t, s.FinishConnectLink(t.Context(), l.Hash, mine, noon, c, c.Revision-1), fault.Conflict,
				fault.ReasonChangedMeanwhile)
			equal(t, got(s.ConnectLink(t.Context(), l.Hash))(t).UsedAt, time.Time{})
			equal(t, got(s.Connection(t.Context(), "acme", "c1"))(t).Status, "reconnect_required")

			must(t, s.FinishConnectLink(t.Context(), l.Hash, mine, noon.Add(time.Second), c, c.Revision))
			equal(t, got(s.ConnectLink(t.Context(), l.Hash))(t).UsedAt, noon.Add(time.Second))
			now := got(s.Connection(t.Context(), "acme", "c1"))(t)
			equal(t, []any{now.Status, now.Email, now.Revision}, []any{"ok", "b@example.com", c.Revision + 1})
			refused(t, s.FinishConnectLink(t.Context(), l.Hash, mine, noon, now, now.Revision), fault.Conflict,
				store.ReasonLinkTaken)
			refused(t, s.ClaimConnectLink(t.Context(), l.Hash, mine, noon, noon.Add(time.Minute)), fault.Conflict,
				store.ReasonLinkTaken)
		})
	})
}

func TestConsents(t *testing.T) {
	t.Parallel()
	t.Run("a consent comes back as it was written, to one of those who take it at once", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			l := link(t, s, "a")
			c := consent(l, "s")
			must(t, s.BeginConsent(t.Context(), c))
			type taken struct {
				c   store.Consent
				err error
			}
			won := 0
			for _, x := range at(12, func(int) taken {
				c, err := s.TakeConsent(t.Context(), c.Hash)
				return taken{c, err}
			}) {
				if x.err == nil {
					equal(t, x.c, c)
					won++
					continue
				}
				refused(t, x.err, fault.NotFound, store.ReasonConsentNotFound)
			}
			equal(t, won, 1)
		})
	})
	t.Run("a consent of an unknown link is not begun", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			err := s.BeginConsent(t.Context(), consent(store.ConnectLink{Hash: []byte("nothing")}, "s"))
			refused(t, err, fault.NotFound, store.ReasonLinkNotFound)
		})
	})
	t.Run("a link has sixteen consents under way; the oldest makes room, others' stay", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			l, other := link(t, s, "a"), link(t, s, "b")
			must(t, s.BeginConsent(t.Context(), consent(other, "theirs")))
			for i := range 18 {
				c := consent(l, fmt.Sprint(i))
				c.ExpiresAt = c.ExpiresAt.Add(time.Duration(i) * time.Second)
				must(t, s.BeginConsent(t.Context(), c))
			}
			for i := range 18 {
				if _, err := s.TakeConsent(t.Context(), []byte(fmt.Sprint(i))); (err == nil) != (i >= 2) {
					t.Errorf("consent %d: %v", i, err)
				}
			}
			got(s.TakeConsent(t.Context(), []byte("theirs")))(t)
		})
	})
}
