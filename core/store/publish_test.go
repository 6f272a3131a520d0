package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// toldOf lists what the webhook "hook" is told, oldest first.
func toldOf(t *testing.T, s *store.Store) (types string, last store.Event) {
	t.Helper()
	var list []string
	for _, d := range got(s.Deliveries(t.Context(), "hook", 100))(t) {
		list = append(list, d.Type)
		must(t, json.Unmarshal(d.Payload, &last))
	}
	return strings.Join(list, " "), last
}

// Each change of a connection's status is told once, whichever method makes it.
func TestStatusesAreTold(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		p, now := publisher(noon), noon
		p.Now = func() time.Time {
			now = now.Add(time.Second)
			return now
		}
		s.PublishWith(p)
		ctx := t.Context()
		tenant(t, s, "acme")
		must(t, s.CreateWebhook(ctx, webhookRow("hook", "acme"), 9))
		wants := ""
		expect := func(step, more string) {
			t.Helper()
			wants = strings.TrimSpace(wants + " " + more)
			if types, _ := toldOf(t, s); types != wants {
				t.Fatalf("after %s it was told %q, want %q", step, types, wants)
			}
		}
		connectionOf(t, s, "acme", "a", "calendar")
		expect("a connection that works", store.EventConnected)
		must(t, s.CreateConnection(ctx, store.Connection{
			ID: "b", TenantID: "acme", Name: "b", Kind: "crm", Provider: "hubspot", Status: "reconnect_required",
			CreatedAt: noon,
		}))
		expect("a connection without consent", "")
		must(t, s.PutTokens(ctx, tokens("b")))
		expect("the first tokens", store.EventConnected)
		must(t, s.PutTokens(ctx, tokens("b")))
		expect("further tokens", "")
		revision := got(s.Connection(ctx, "acme", "b"))(t).Revision
		if refused := got(s.RefuseTokens(ctx, tokens("b"), 2, revision))(t); !refused {
			t.Fatal("the tokens are not refused")
		}
		expect("refused tokens", store.EventReconnectRequired)
		must(t, s.PutTokens(ctx, tokens("b")))
		expect("new tokens", store.EventRecovered)
		disconnect(t, s, "a")
		expect("refused credentials", store.EventReconnectRequired)
		disconnect(t, s, "a")
		expect("once more", "")
		_, last := toldOf(t, s)
		if last.Tenant != "name of acme" || last.Connection != "name of a" || last.ConnectionID != "a" ||
			last.Kind != "calendar" || last.Provider != "sandbox" || !last.At.Equal(now) {
			t.Errorf("it was told %+v", last)
		}
		must(t, s.DeleteConnection(ctx, "acme", "b"))
		if types, _ := toldOf(t, s); strings.Count(types, " ") != 1 {
			t.Errorf("after the connection is removed, there are %s", types)
		}
	})
}

// A change is not made if what is to be told of it cannot be written, and is made whole with it.
func TestAChangeAndItsEventAreOne(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		p := publisher(noon)
		fails := errors.New("no payload")
		p.Payload = func(store.Event) ([]byte, error) { return []byte("{}"), fails }
		c := connection(t, s, "a")
		must(t, s.CreateWebhook(t.Context(), webhookRow("hook", "acme"), 9))
		s.PublishWith(p)
		c.Status = "reconnect_required"
		if err := s.UpdateConnection(t.Context(), c, c.Revision); err == nil {
			t.Error("the change is made")
		}
		if got := got(s.Connection(t.Context(), "acme", "a"))(t); got.Status != "ok" {
			t.Errorf("the connection is %s", got.Status)
		}
		fails = nil
		must(t, s.UpdateConnection(t.Context(), c, c.Revision))
		if due := got(s.DueQueues(t.Context(), noon, "", 4, 10))(t); len(due) != 1 {
			t.Errorf("due are %v", due)
		}
	})
}

// An outcome that was unknown is told once it is known, and numbers that come and go are told.
func TestOutcomesAndNumbersAreTold(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		connection(t, s, "c1")
		must(t, s.CreateWebhook(ctx, webhookRow("hook", "acme"), 9))
		s.PublishWith(publisher(noon))
		for _, key := range []string{"done", "running", "unknown"} {
			i := intentRow(key)
			i.RequestID = "request of " + key
			got2(s.BeginIntent(ctx, i, time.Time{}))(t)
			stored, _, err := s.Intent(ctx, "acme", i.Operation, key)
			must(t, err)
			stored.Answer, stored.EffectRef = []byte("{}"), "ev1"
			switch key {
			case "done":
				must(t, s.FinishIntent(ctx, stored, store.Attached{}))
			case "running":
				must(t, s.FinishIntent(ctx, stored, store.Attached{Settles: true}))
			default:
				stored.EffectRef = ""
				must(t, s.Settle(ctx, stored, store.Settled{Outcome: "failed", Reason: "REASON"}))
				err := s.Settle(ctx, stored, store.Settled{Outcome: "failed", Reason: "REASON"}) // it is gone already
				if fault.From(err).Reason != store.ReasonIntentLost {
					t.Error(err)
				}
			}
		}
		types, last := toldOf(t, s)
		if types != store.EventIntentSettled+" "+store.EventIntentSettled || last.Settled != (store.Settled{
			Operation: "book-meeting", RequestID: "request of unknown", Outcome: "failed", Reason: "REASON",
		}) {
			t.Errorf("it was told %s, %+v", types, last.Settled)
		}
		n := store.Number{TenantID: "acme", ConnectionID: "c1", Ref: "r1", E164: "+14155550123", CreatedAt: noon}
		kept, _, err := s.AddNumber(ctx, n, 0)
		must(t, err)
		got2(s.AddNumber(ctx, n, 0))(t) // it is there already
		must(t, s.LoseNumber(ctx, kept, noon))
		refused(t, s.LoseNumber(ctx, kept, noon), fault.NotFound, fault.ReasonNumberNotFound)
		types, last = toldOf(t, s)
		if !strings.HasSuffix(types, " "+store.EventNumberAppeared+" "+store.EventNumberGone) ||
			last.Number.ID != kept.ID || last.Number.E164 != n.E164 {
			t.Errorf("it was told %s, %+v", types, last.Number)
		}
		if again, err := s.Webhook(ctx, "hook"); err != nil || !again.CreatedAt.Equal(noon) {
			t.Errorf("%+v %v", again, err)
		}
		if oldest := got(s.OldestWaiting(ctx))(t); !oldest.Equal(noon.Truncate(time.Millisecond)) {
			t.Errorf("the oldest is of %s", oldest)
		}
	})
}
