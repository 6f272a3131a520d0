package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	number := func(ref string) store.Number {
		return store.Number{
			TenantID: "acme", ConnectionID: "c1", Ref: ref, E164: "+1212555" + ref, Name: "n", CreatedAt: noon,
		}
	}
	t.Run("a number comes back as it was written, with an id", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			n, inbound := number("0100"), int64(7)
			n.Inbound = &inbound
			kept := got(add(t, s, n))(t)
			n.ID, n.Version = kept.ID, 1
			equal(t, kept, n)
			equal(t, got(s.Number(t.Context(), "acme", kept.ID))(t), n)
			equal(t, got(s.Numbers(t.Context(), "acme", "c1"))(t), []store.Number{n})
			holder, held, err := s.NumberHolder(t.Context(), "", n.E164)
			must(t, err)
			equal(t, held, true)
			equal(t, holder, n)
		})
	})
	t.Run("ids ascend with gaps of 1 to 997 and are never used again", func(t *testing.T) {
		bothURLs(t, func(t *testing.T, url string) {
			s := opened(t, url)
			connection(t, s, "c1")
			var ids []int64
			var added []store.Number
			add := func(n int) {
				for range n {
					added = append(added, got(add(t, s, number(fmt.Sprint(len(ids)))))(t))
					ids = append(ids, added[len(ids)].ID)
				}
			}
			add(40)
			for _, n := range added {
				must(t, s.ReleaseNumber(t.Context(), n, noon))
			}
			must(t, s.DeleteTenant(t.Context(), "acme"))
			must(t, s.Close())
			s = opened(t, url)
			defer s.Close()
			connection(t, s, "c1")
			add(40)
			gaps := map[int64]bool{}
			for i, id := range ids {
				gap := id
				if i > 0 {
					gap -= ids[i-1]
				}
				if gap < 1 || gap > 997 {
					t.Fatalf("id %d follows %v", id, ids[:i])
				}
				gaps[gap] = true
			}
			if len(gaps) < 20 {
				t.Fatalf("the gaps are not random: %v", ids)
			}
		})
	})
	t.Run("of many at once each gets an id of its own, and one ref one row", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			ids := at(40, func(i int) int64 {
				n, err := add(t, s, number(fmt.Sprint(i/2)))
				if err != nil {
					t.Error(err)
				}
				return n.ID
			})
			for i := 0; i < len(ids); i += 2 {
				equal(t, ids[i], ids[i+1])
			}
			slices.Sort(ids)
			equal(t, len(slices.Compact(ids)), 20)
		})
	})
	t.Run("a held ref is answered as it is, a released one anew", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.CreateWebhook(t.Context(), webhookRow("hook", "acme"), 9))
			s.PublishWith(publisher(noon))
			first := got(add(t, s, number("1")))(t)
			again := number("1")
			again.Name = "another name"
			for releases, want := range []string{first.Name, "another name", "another name"} {
				kept, returned, err := s.AddNumber(t.Context(), again, max(0, int64(releases)-1))
				must(t, err)
				if releases > 0 { // it was given back since the caller read it
					equal(t, kept, store.Number{})
					equal(t, returned, int64(releases))
					kept, _, err = s.AddNumber(t.Context(), again, returned)
					must(t, err)
				}
				equal(t, kept.Name, want)
				must(t, s.ReleaseNumber(t.Context(), kept, noon))
			}
			if types, _ := toldOf(t, s); types != strings.TrimSpace(strings.Repeat(store.EventNumberAppeared+" ", 3)) {
				t.Errorf("it was told %s", types)
			}
		})
	})
	t.Run("a released number is not found, not held and not released again", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			n := got(add(t, s, number("1")))(t)
			must(t, s.ReleaseNumber(t.Context(), n, noon.Add(time.Hour)))
			_, err := s.Number(t.Context(), "acme", n.ID)
			refused(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			refused(t, s.ReleaseNumber(t.Context(), n, noon), fault.NotFound, fault.ReasonNumberNotFound)
			refused(t, s.UpdateNumber(t.Context(), n), fault.NotFound, fault.ReasonNumberNotFound)
			equal(t, got(s.Numbers(t.Context(), "acme", "c1"))(t), []store.Number{})
			_, held, err := s.NumberHolder(t.Context(), "", n.E164)
			must(t, err)
			equal(t, held, false)
		})
	})
	t.Run("an update replaces name, employees and where it leads, once for each version", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			n := got(add(t, s, number("1")))(t)
			inbound, outbound := int64(1)<<62, int64(-1)
			n.Name, n.Inbound, n.Outbound, n.Leads = "new", &inbound, &outbound, `{"VoiceURL":"https://x.example"}`
			must(t, s.UpdateNumber(t.Context(), n))
			refused(t, s.UpdateNumber(t.Context(), n), fault.Conflict, fault.ReasonChangedMeanwhile)
			n.Version++
			equal(t, got(s.Number(t.Context(), "acme", n.ID))(t), n)
			n.Inbound, n.Outbound = nil, nil
			must(t, s.UpdateNumber(t.Context(), n))
			n.Version++
			equal(t, got(s.Number(t.Context(), "acme", n.ID))(t), n)
		})
	})
	t.Run("a number is one holder's in its realm", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.CreateConnection(t.Context(), store.Connection{
				ID: "c2", TenantID: "acme", Name: "c2", Kind: "telephony", Provider: "p", Status: "ok", CreatedAt: noon,
			}))
			first := got(add(t, s, number("1")))(t)
			other := number("1")
			other.ConnectionID = "c2"
			_, err := add(t, s, other)
			refused(t, err, fault.Conflict, fault.ReasonNumberTaken)
			other.Realm = "c2"
			got(add(t, s, other))(t)
			moved := number("1")
			moved.Ref, moved.Name = "another ref", "ignored"
			equal(t, got(add(t, s, moved))(t), first)
			again := got(s.ChangeRef(t.Context(), first, "another ref"))(t)
			equal(t, got(s.Number(t.Context(), "acme", first.ID))(t), again)
			equal(t, again.Name, first.Name)
			_, err = s.ChangeRef(t.Context(), first, "a third ref")
			refused(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
		})
	})
	t.Run("a released number waits out of use, comes back, or goes for good", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			inbound := int64(7)
			a := number("1")
			a.Inbound, a.Leads = &inbound, "somewhere"
			n := got(add(t, s, a))(t)
			stale := n
			stale.Version = 99
			refused(t, s.ParkNumber(t.Context(), stale, noon), fault.Conflict, fault.ReasonChangedMeanwhile)
			parked := n
			parked.Leads = ""
			must(t, s.ParkNumber(t.Context(), parked, noon.Add(time.Hour)))
			_, err := s.Number(t.Context(), "acme", n.ID)
			refused(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			equal(t, got(s.Numbers(t.Context(), "acme", "c1"))(t), []store.Number{})
			waiting := got(s.ParkedNumbers(t.Context(), "acme"))(t)
			equal(t, len(waiting), 1)
			equal(t, waiting[0].ReleaseAt, noon.Add(time.Hour))
			equal(t, got(s.TenantNumbers(t.Context(), "acme"))(t), waiting)
			equal(t, len(got(s.ParkedNumbers(t.Context(), "bolt"))(t)), 0)
			_, held, err := s.NumberHolder(t.Context(), "", n.E164)
			must(t, err)
			equal(t, held, true)
			equal(t, got(s.SendBack(t.Context(), noon))(t), []store.Number{})
			_, err = s.RestoreNumber(t.Context(), "bolt", n.ID)
			refused(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			back := got(s.RestoreNumber(t.Context(), "acme", n.ID))(t)
			equal(t, *back.Inbound, inbound)
			equal(t, got(s.Number(t.Context(), "acme", n.ID))(t), back)
			must(t, s.ParkNumber(t.Context(), back, noon))
			equal(t, len(got(s.SendBack(t.Context(), noon))(t)), 1)
			equal(t, len(got(s.SendBack(t.Context(), noon))(t)), 1) // until it is gone
			_, err = s.RestoreNumber(t.Context(), "acme", n.ID)
			refused(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			refused(t, s.ReleaseNumber(t.Context(), n, noon), fault.Conflict, fault.ReasonChangedMeanwhile)
			must(t, s.ReleaseNumber(t.Context(), got(s.SendBack(t.Context(), noon))(t)[0], noon))
			equal(t, got(s.SendBack(t.Context(), noon))(t), []store.Number{})
		})
	})
	t.Run("what numbers must go back by is not removed while they wait", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			n := got(add(t, s, number("1")))(t)
			got(add(t, s, number("2")))(t)
			must(t, s.ParkNumber(t.Context(), n, noon))
			refused(t, s.DeleteConnection(t.Context(), "acme", "c1"), fault.Conflict, fault.ReasonConnectionInUse)
			refused(t, s.DeleteTenant(t.Context(), "acme"), fault.Conflict, fault.ReasonConnectionInUse)
			equal(t, len(got(s.TenantNumbers(t.Context(), "acme"))(t)), 2)
			must(t, s.ReleaseNumber(t.Context(), got(s.SendBack(t.Context(), noon))(t)[0], noon))
			must(t, s.DeleteConnection(t.Context(), "acme", "c1"))
			must(t, s.DeleteTenant(t.Context(), "acme"))
		})
	})
	t.Run("a number is released by a look at what it is now, and not at what it was", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			n := got(add(t, s, number("1")))(t)
			elsewhere := n
			elsewhere.Ref = "another ref"
			refused(t, s.ReleaseNumber(t.Context(), elsewhere, noon), fault.Conflict, fault.ReasonChangedMeanwhile)
			changed := n
			changed.Name = "changed"
			must(t, s.UpdateNumber(t.Context(), changed))
			refused(t, s.ReleaseNumber(t.Context(), n, noon), fault.Conflict, fault.ReasonChangedMeanwhile)
			changed.Version++
			back := got(s.ChangeRef(t.Context(), changed, "another ref"))(t)
			refused(t, s.ReleaseNumber(t.Context(), changed, noon), fault.Conflict, fault.ReasonChangedMeanwhile)
			equal(t, got(s.TakenNumbers(t.Context(), "", "+1"))(t), []string{n.E164})
			must(t, s.ReleaseNumber(t.Context(), back, noon))
			equal(t, got(s.TakenNumbers(t.Context(), "", "+1"))(t), []string{})
		})
	})
	t.Run("another tenant's number is not found, though its holder can be asked for", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			tenant(t, s, "bolt")
			n := got(add(t, s, number("1")))(t)
			_, err := s.Number(t.Context(), "bolt", n.ID)
			refused(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			foreign := n
			foreign.TenantID = "bolt"
			refused(t, s.ReleaseNumber(t.Context(), foreign, noon), fault.NotFound, fault.ReasonNumberNotFound)
			refused(t, s.UpdateNumber(t.Context(), foreign), fault.NotFound, fault.ReasonNumberNotFound)
			_, err = add(t, s, store.Number{
				TenantID: "bolt", ConnectionID: "c1", Ref: "9", E164: "+12125550109", CreatedAt: noon,
			})
			refused(t, err, fault.NotFound, store.ReasonConnectionNotFound)
		})
	})
}

func add(t *testing.T, s *store.Store, n store.Number) (store.Number, error) {
	t.Helper()
	kept, _, err := s.AddNumber(t.Context(), n, 0)
	return kept, err
}
