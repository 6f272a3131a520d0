package service

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
)

// Three processes book, move, cancel, hold and release two slots at once, and the provider loses replies. What
// they answered and what is in the calendar in the end is what one process would have done, one call after
// the other. FRONTDESK_HISTORIES=1000 sets the number of histories for each store.
func TestHistoriesOfASlotAreLinearizable(t *testing.T) {
	t.Parallel()
	histories := 25
	if text := os.Getenv("FRONTDESK_HISTORIES"); text != "" {
		var err error
		if histories, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.ReusedSQLite, "PostgreSQL": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			three := []*process{w.start(), w.start(), w.start()}
			var answers [numberOfAnswers]int
			for seed := range histories {
				h := newHistory(t, w, three, uint64(seed))
				operations := h.run(t)
				for _, o := range operations {
					answers[o.Output.(observed).answer]++
				}
				if result := porcupine.CheckOperationsTimeout(slotModel(), operations, time.Minute); result != porcupine.Ok {
					t.Fatalf("history %d is %s:\n%s", seed, result, historyText(operations))
				}
			}
			t.Logf("%d histories: %d calls succeeded, %d were refused, %d found nothing, %d are unknown", histories,
				answers[answeredDone], answers[answeredTaken], answers[answeredGone], answers[answeredUnknown])
			for answer, n := range answers[:answeredUnknown] {
				if n < histories/4 {
					t.Errorf("of answer %d there are %d: the test proves little", answer, n)
				}
			}
		})
	}
}

// Without the hold that serialises bookings, histories are found that are not linearizable.
func TestAHistoryWithoutTheLockIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	_, err := storetest.Database(t, w.url).Exec(
		"CREATE TRIGGER no_lock AFTER INSERT ON holds BEGIN DELETE FROM holds WHERE id = new.id; END")
	w.check(err)
	three := []*process{w.start(), w.start(), w.start()}
	for seed := range 200 {
		operations := newHistory(t, w, three, uint64(seed)).run(t)
		if porcupine.CheckOperationsTimeout(slotModel(), operations, time.Minute) == porcupine.Illegal {
			t.Logf("found in history %d", seed)
			return
		}
	}
	t.Error("200 histories without a lock look right")
}

// What a call is asked to do.
type action int

const (
	actBook action = iota
	actBookHeld
	actMove
	actCancel
	actHold
	actRelease
	actRead // of the calendar, when all is over
)

// asked is a call. A meeting is known by its title, which the caller chose.
type asked struct {
	action  action
	slot    int // the one to take: 0 or 1
	meeting string
	hold    string
	// contended is whether other calls for a slot were under way. Then a refusal may be due to a booking that
	// came to nothing in the end: a caller is rather refused than made to wait for that.
	contended bool
}

type answerKind int

const (
	answeredDone answerKind = iota
	answeredTaken
	answeredGone
	answeredUnknown
	numberOfAnswers
)

// observed is what a call answered.
type observed struct {
	answer answerKind
	hold   string
	read   [2]string
}

// slots is the state: who has each slot.
type slotsState struct{ meeting, hold [2]string }

func (s slotsState) free(slot int, by string) bool {
	return s.meeting[slot] == "" && (s.hold[slot] == "" || s.hold[slot] == by)
}

// slotModel is one process that does one call after the other.
func slotModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{slotsState{}} },
		Step: func(state, input, output any) []any {
			s, in, out := state.(slotsState), input.(asked), output.(observed)
			after, can := s.do(in, out.hold)
			switch out.answer {
			case answeredDone:
				if in.action == actRead {
					if out.read == s.meeting {
						return []any{s}
					}
					return nil
				}
				if can {
					return []any{after}
				}
			case answeredTaken:
				if in.contended || !s.free(in.slot, in.hold) {
					return []any{s}
				}
			case answeredGone:
				if in.contended || !slices.Contains(s.meeting[:], in.meeting) {
					return []any{s}
				}
			case answeredUnknown:
				if can {
					return []any{s, after}
				}
				return []any{s}
			}
			return nil
		},
	}
	return model.ToModel()
}

// do returns the state after a call, and whether the call can be made.
func (s slotsState) do(in asked, hold string) (slotsState, bool) {
	at := slices.Index(s.meeting[:], in.meeting)
	switch in.action {
	case actBook, actBookHeld:
		if at >= 0 || !s.free(in.slot, in.hold) {
			return s, false
		}
		s.meeting[in.slot] = in.meeting
		if s.hold[in.slot] == in.hold {
			s.hold[in.slot] = ""
		}
	case actMove:
		if at < 0 || at != in.slot && !s.free(in.slot, "") {
			return s, false
		}
		s.meeting[at] = ""
		s.meeting[in.slot] = in.meeting
	case actCancel: // what is gone already stays gone
		if at >= 0 {
			s.meeting[at] = ""
		}
	case actHold:
		if !s.free(in.slot, "") {
			return s, false
		}
		s.hold[in.slot] = hold
	case actRelease:
		if s.hold[in.slot] == in.hold {
			s.hold[in.slot] = ""
		}
	}
	return s, true
}

// history is a run of some clients on slots of their own.
type history struct {
	w       *world
	all     []*process
	caller  apikey.Caller
	random  *rand.Rand
	slotIDs [2]string
	time    atomic.Int64

	mu         sync.Mutex
	operations []porcupine.Operation
	meetings   map[string]string // titles by the provider's ids
	holds      map[string]int    // slots by ids of holds
}

const historyClients, historyCalls = 4, 4

func newHistory(t *testing.T, w *world, all []*process, seed uint64) *history {
	c := w.tenant(fmt.Sprint("history-", seed))
	c.Tenant.Settings.PreventDoubleBooking = true
	h := &history{
		w: w, all: all, caller: w.with(c), random: rand.New(rand.NewPCG(seed, 7)), meetings: map[string]string{},
		holds: map[string]int{},
	}
	w.meetings.script(nil)
	w.meetings.mu.Lock()
	w.meetings.events = nil
	w.meetings.mu.Unlock()
	for i := range h.slotIDs {
		h.slotIDs[i] = slotAt(t, all[0], h.caller, 10+i, nil).SlotID
	}
	return h
}

// run makes the calls, settles what is in doubt, reads the calendar, and returns the history.
func (h *history) run(t *testing.T) []porcupine.Operation {
	faults := rand.New(rand.NewPCG(h.random.Uint64(), 8))
	var mu sync.Mutex
	h.w.meetings.script(func(_ *process, call string) reaction {
		mu.Lock()
		yields, lost := faults.IntN(20), faults.IntN(12) == 0
		mu.Unlock()
		r := reaction{before: func(context.Context) error {
			for range yields {
				runtime.Gosched()
			}
			return nil
		}}
		if lost && (call == "book" || call == "update" || call == "cancel") {
			r.after = func(context.Context) error {
				return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The reply was lost.")
			}
		}
		return r
	})
	var clients sync.WaitGroup
	for client := range historyClients {
		random := rand.New(rand.NewPCG(h.random.Uint64(), 9))
		clients.Go(func() {
			for i := range historyCalls {
				h.call(t, client, h.all[random.IntN(len(h.all))], random, fmt.Sprintf("%d-%d", client, i))
			}
		})
	}
	clients.Wait()
	h.w.meetings.script(nil)
	began := h.time.Add(1)
	for _, p := range h.all {
		p.recover(t)
	}
	var read observed
	for _, e := range h.w.meetings.live() {
		slot := int(e.Start.Instant.Sub(hour(10)) / time.Hour)
		read.read[slot] = strings.TrimPrefix(read.read[slot]+"+"+e.Title, "+")
	}
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: historyClients, Input: asked{action: actRead}, Call: began, Output: read, Return: h.time.Add(1),
	})
	h.markContended()
	return h.operations
}

// call makes one call. What it does depends on the client's random numbers and on what there is by then.
func (h *history) call(t *testing.T, client int, p *process, random *rand.Rand, name string) {
	in := asked{action: action(random.IntN(int(actRead))), slot: random.IntN(2), meeting: name}
	meetingID := h.choose(&in, random)
	write := key(name)
	began := h.time.Add(1)
	var err error
	var out observed
	switch in.action {
	case actBook:
		var answer string
		answer, err = h.book(t, p, write, in)
		h.learn(answer, in.meeting)
	case actBookHeld:
		answer, failed := p.Calendar.BookSlot(background, h.caller, write, BookSlot{
			Offered: Offered{HoldID: in.hold}, Title: in.meeting, Phone: "+12025550101",
		})
		err = failed
		_ = answer
	case actMove:
		_, err = p.Calendar.Update(asKey(h.caller), h.caller, write, UpdateMeeting{
			EventID: meetingID, Start: when(t, hour(10+in.slot).Format(time.RFC3339)),
			End: when(t, hour(11+in.slot).Format(time.RFC3339)), Timezone: "UTC",
		})
	case actCancel:
		_, err = p.Calendar.Cancel(asKey(h.caller), h.caller, write, CancelMeeting{EventID: meetingID})
	case actHold:
		answer, failed := p.Calendar.Hold(background, h.caller, write, HoldSlot{
			SlotID: h.slotIDs[in.slot], For: 5 * time.Minute, Phone: "+1202555010" + strconv.Itoa(client),
		})
		if err = failed; err == nil {
			out.hold = answer.Record.HoldID
			h.mu.Lock()
			h.holds[out.hold] = in.slot
			h.mu.Unlock()
		}
	case actRelease:
		_, err = p.Calendar.ReleaseHold(background, h.caller, write, in.hold)
	}
	out.answer = answerKindOf(err)
	over := h.time.Add(1)
	if out.answer == answeredUnknown {
		over = math.MaxInt64 // it may happen at any time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: len(h.operations), Input: in, Call: began, Output: out, Return: over,
	})
}

// choose replaces an action that needs a meeting or a hold by a booking if there is none, else names one.
func (h *history) choose(in *asked, random *rand.Rand) (meetingID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch in.action {
	case actMove, actCancel:
		ids := make([]string, 0, len(h.meetings))
		for id := range h.meetings {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			in.action = actBook
			return ""
		}
		slices.Sort(ids)
		id := ids[random.IntN(len(ids))]
		in.meeting = h.meetings[id]
		return id
	case actBookHeld, actRelease:
		ids := make([]string, 0, len(h.holds))
		for id := range h.holds {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			in.action = actHold
			return ""
		}
		slices.Sort(ids)
		in.hold = ids[random.IntN(len(ids))]
		in.slot = h.holds[in.hold]
	}
	return ""
}

func (h *history) book(t *testing.T, p *process, write Write, in asked) (id string, err error) {
	answer, err := p.Calendar.Book(asKey(h.caller), h.caller, write, meeting(t, in.meeting, 10+in.slot))
	return answer.Record.Event.EventID, err
}

func (h *history) learn(id, title string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != "" {
		h.meetings[id] = title
	}
}

func answerKindOf(err error) answerKind {
	f := fault.From(err)
	switch {
	case err == nil:
		return answeredDone
	case f.Reason == fault.ReasonSlotTaken:
		return answeredTaken
	case f.Code == fault.NotFound, f.Reason == fault.ReasonChangedMeanwhile:
		return answeredGone
	}
	return answeredUnknown
}

// markContended finds the calls during which others had to do with the slots.
func (h *history) markContended() {
	overlap := func(a, b porcupine.Operation) bool { return a.Call < b.Return && b.Call < a.Return }
	for i, a := range h.operations {
		in := a.Input.(asked)
		for j, b := range h.operations {
			if i != j && b.Input.(asked).action != actRead && overlap(a, b) {
				in.contended = true
			}
		}
		h.operations[i].Input = in
	}
}

func historyText(operations []porcupine.Operation) string {
	var text strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&text, "%d to %d: %+v answered %+v\n", o.Call, o.Return, o.Input, o.Output)
	}
	return text.String()
}
