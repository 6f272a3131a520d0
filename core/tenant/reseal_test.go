package tenant

import (
	"context"
	"maps"
	"sync"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

func TestRotationSealsEverythingAgain(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		var all []Connection
		for _, tenant := range []string{"acme", "beta"} {
			h.tenant(tenant)
			all = append(all, h.connection(tenant, "a", adapter.KindCalendar, "dav"), h.connection(tenant, "b", adapter.KindCalendar, "dav"))
			h.connection(tenant, "s", adapter.KindCalendar, "sandbox") // has no credentials, but is sealed
		}
		old := h.vault.Status()[0].ID
		text, _ := h.key("acme", NewKey{})
		if _, err := h.Calendar(t.Context(), h.caller(text)); err != nil {
			t.Fatal(err)
		}
		added, err := h.vault.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		if inUse, err := h.KeysInUse(t.Context()); err != nil || !maps.Equal(inUse, map[uint32]int{old: 7}) {
			t.Errorf("before: in use %v, %v", inUse, err)
		}
		done, err := h.Reseal(t.Context())
		if err != nil || done.Sealed != 7 || done.Already != 0 || !maps.Equal(done.InUse, map[uint32]int{added.ID: 7}) {
			t.Errorf("done %+v, %v", done, err)
		}
		if done, err = h.Reseal(t.Context()); err != nil || done.Sealed != 0 || done.Already != 7 {
			t.Errorf("a second time %+v, %v", done, err)
		}
		for _, c := range all {
			plain, err := h.openConnection(h.row(c))
			if err != nil || plain["password"] != canary {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		if _, err := h.Calendar(t.Context(), h.caller(text)); err != nil {
			t.Errorf("a call after the rotation: %v", err)
		}
	})
}

func TestInterruptedResealIsCompleted(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	a, b := h.connection("acme", "a", adapter.KindCalendar, "dav"), h.connection("acme", "b", adapter.KindCalendar, "dav")
	if _, err := h.vault.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := h.reseal(t.Context(), h.row(a)); err != nil { // and then the process was killed
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Reseal(over); err == nil {
		t.Error("a context that is over resealed")
	}
	done, err := h.Reseal(t.Context())
	if err != nil || done.Sealed != 1 || done.Already != 1 || len(done.InUse) != 1 {
		t.Errorf("done %+v, %v", done, err)
	}
	if _, err := h.openConnection(h.row(b)); err != nil {
		t.Error(err)
	}
}

func TestResealOfWhatIsRemovedMeanwhile(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	row := h.row(h.connection("acme", "a", adapter.KindCalendar, "dav"))
	if err := h.RemoveConnection(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	if err := h.reseal(t.Context(), row); err != nil {
		t.Error(err)
	}
}

func TestCallsGoOnDuringRotations(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		c := h.connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.key("acme", NewKey{})
		server, err := vault.Open("", h.dataDir) // another process, with the keys of before
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		stop, looped, updated := make(chan struct{}), make(chan struct{}), make(chan struct{})
		work.Go(func() {
			for {
				caller, err := h.Authenticate(t.Context(), text)
				if err == nil {
					_, err = h.Calendar(t.Context(), caller)
				}
				if err != nil {
					t.Errorf("a call: %v", err)
				}
				row, err := h.store.Connection(t.Context(), c.TenantID, c.ID)
				if err == nil {
					_, err = server.OpenRow(boundConnection(row), row.Credentials)
				}
				if err != nil {
					t.Errorf("another process: %v", err)
				}
				select {
				case looped <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
		work.Go(func() {
			for { // while someone enters the credentials again
				_, err := h.UpdateConnection(t.Context(), "acme", "a", ConnectionChange{Credentials: map[string]string{"username": "desk", "password": canary}})
				if f := fault.From(err); f != nil && f.Reason != fault.ReasonChangedMeanwhile {
					t.Errorf("an update: %v", err)
				}
				select {
				case updated <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
		defer work.Wait()
		defer close(stop)
		for range 5 {
			for range 2 { // what began before the last rotation has ended: only the key of the one before it is kept
				<-looped
				<-updated
			}
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
		}
		if n := len(h.vault.Status()); n != 2 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestTokensAreSealedAgainAsTheyAre(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		c := h.connection("acme", "s", adapter.KindCalendar, "sandbox") // has no credentials
		old := h.vault.Status()[0].ID
		put := func() {
			t.Helper()
			sealed, err := h.vault.SealTokens(c.TenantID, c.ID, []byte(canary))
			if err == nil {
				err = h.store.ResetTokens(t.Context(), store.Tokens{TenantID: c.TenantID, ConnectionID: c.ID, Sealed: sealed})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		put()
		before, _, err := h.store.Tokens(t.Context(), c.TenantID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		put() // they are renewed after they were listed
		added, err := h.vault.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		if inUse, err := h.KeysInUse(t.Context()); err != nil || !maps.Equal(inUse, map[uint32]int{old: 2}) {
			t.Errorf("before: in use %v, %v", inUse, err)
		}
		if sealed, err := h.resealTokens(t.Context(), before, added.ID); err != nil || !sealed {
			t.Errorf("sealed %t, %v", sealed, err)
		}
		done, err := h.Reseal(t.Context()) // the connection is sealed again, and its tokens are already
		if err != nil || done.Sealed != 1 || done.Already != 1 || !maps.Equal(done.InUse, map[uint32]int{added.ID: 2}) {
			t.Errorf("a second time %+v, %v", done, err)
		}
		after, _, err := h.store.Tokens(t.Context(), c.TenantID, c.ID)
		if err != nil || after.Version != before.Version+1 { // of the renewal: who redeems for this version still may save
			t.Errorf("the version is %d after %d, %v", after.Version, before.Version, err)
		}
		if plain, err := h.vault.UnsealTokens(c.TenantID, c.ID, after.Sealed); err != nil || string(plain) != canary {
			t.Errorf("%v", err)
		}
	})
}
