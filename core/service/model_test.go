package service

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// sequence is the model of what callers may rely on, checked against the use cases through sequences of calls and
// faults that are drawn at random.
type sequence struct {
	world   *world
	process *process
	caller  tenant.Caller

	told      map[string]string // by key: the body of the first answer
	asked     map[string]int    // by key: the number of the request, which is the meeting's title
	requests  int               // so far
	confirmed map[string]bool   // event ids told to a caller and not cancelled since
	doubtful  map[string]bool   // event ids that a cancel may have hit
	titles    map[string]string // by event id: the title last confirmed, while no other change is in doubt
}

// TestSequences books, changes and cancels with and without keys, while calls of the provider are not sent, answered
// 503 with and without effect, or lose their answers; while processes die and the settler works.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, storetest.SQLite)
		s := &sequence{
			world: w, caller: w.tenant("acme"), told: map[string]string{}, asked: map[string]int{},
			confirmed: map[string]bool{}, doubtful: map[string]bool{}, titles: map[string]string{},
		}
		s.process = w.start()
		defer func() {
			for p := range w.lives {
				p.stop()
			}
		}()
		r.Repeat(map[string]func(*rapid.T){
			"book with a new key": s.bookNew,
			"repeat a key":        s.repeat,
			"book without a key":  s.bookKeyless,
			"cancel":              s.cancel,
			"update":              s.update,
			"time passes": func(r *rapid.T) {
				w.clock.advance(time.Duration(rapid.IntRange(1, 60).Draw(r, "seconds")) * time.Second)
			},
			"the settler works":    func(*rapid.T) { s.process.settle(t) },
			"the process restarts": func(*rapid.T) { s.process.kill(); s.process = w.start() },
			"":                     s.check,
		})
		s.settleAll(r)
	})
}

// draw makes the next calls of the provider go wrong, or not.
func (s *sequence) draw(r *rapid.T) {
	kinds := []reaction{
		{}, {}, {},
		{before: fails(down())},
		{before: fails(answers503())},
		{after: fails(answers503())},
		{before: fails(cutOff())},
		{after: fails(cutOff())},
		{before: s.die},
		{after: s.die},
	}
	drawn := rapid.SliceOfN(rapid.IntRange(0, len(kinds)-1), 4, 4).Draw(r, "faults")
	call := 0
	s.world.meetings.script(func(*process, string) reaction {
		if call++; call > len(drawn) {
			return reaction{}
		}
		return kinds[drawn[call-1]]
	})
}

func (s *sequence) die(context.Context) error {
	s.process.kill()
	return context.Canceled
}

// revive puts another process in the place of one that died, after the dead one's leases.
func (s *sequence) revive() {
	s.world.meetings.script(nil)
	if s.process.dead.Load() {
		s.process = s.world.start()
		s.world.clock.advance(13 * time.Second)
	}
}

func (s *sequence) bookNew(r *rapid.T) {
	s.requests++
	s.bookWith(r, fmt.Sprint("k", s.requests), s.requests)
}

func (s *sequence) repeat(r *rapid.T) {
	if len(s.asked) == 0 {
		r.Skip("no key yet")
	}
	keys := make([]string, 0, len(s.asked))
	for k := range s.asked {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	k := rapid.SampledFrom(keys).Draw(r, "key")
	s.bookWith(r, k, s.asked[k])
}

func (s *sequence) bookWith(r *rapid.T, k string, request int) {
	s.draw(r)
	defer s.revive()
	s.asked[k] = request
	answer, err := s.process.Calendar.Book(background, s.caller, key(k), meeting(s.world.tb, fmt.Sprint("request ", request), request%20))
	switch {
	case s.process.dead.Load():
		return // whatever it says, nobody hears it
	case err != nil && s.told[k] != "":
		r.Fatalf("key %s was answered and is refused now: %v", k, err)
	case err != nil:
		return
	}
	if s.told[k] != "" && s.told[k] != string(answer.Body) {
		r.Fatalf("key %s was answered %s, and now %s", k, s.told[k], answer.Body)
	}
	if s.told[k] == "" {
		s.confirmed[answer.Record.Event.EventID] = true
	}
	s.told[k] = string(answer.Body)
}

func (s *sequence) bookKeyless(r *rapid.T) {
	s.draw(r)
	defer s.revive()
	request := rapid.IntRange(1, 3).Draw(r, "request")
	answer, err := s.process.Calendar.Book(background, s.caller, Write{}, meeting(s.world.tb, fmt.Sprint("keyless ", request), request))
	if err == nil && !s.process.dead.Load() {
		s.confirmed[answer.Record.Event.EventID] = true
		delete(s.doubtful, answer.Record.Event.EventID)
	}
}

func (s *sequence) anEvent(r *rapid.T) string {
	var ids []string
	for id := range s.confirmed {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		r.Skip("no event yet")
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(r, "event")
}

func (s *sequence) cancel(r *rapid.T) {
	id := s.anEvent(r)
	s.draw(r)
	defer s.revive()
	answer, err := s.process.Calendar.Cancel(background, s.caller, Write{}, CancelMeeting{EventID: id})
	delete(s.confirmed, id)
	switch {
	case err != nil, s.process.dead.Load():
		s.doubtful[id] = true
	case !answer.Record.OK:
		r.Fatalf("cancelling %s answers %+v", id, answer.Record)
	default:
		for _, e := range s.world.meetings.live() {
			if e.ID == id {
				r.Fatalf("%s is said to be cancelled and is there", id)
			}
		}
	}
}

func (s *sequence) update(r *rapid.T) {
	id := s.anEvent(r)
	s.draw(r)
	defer s.revive()
	s.world.clock.advance(time.Millisecond) // no two changes at one time
	s.requests++
	title := fmt.Sprint("title ", s.requests)
	_, err := s.process.Calendar.Update(background, s.caller, Write{}, UpdateMeeting{EventID: id, Title: title})
	if f := fault.From(err); err != nil && f.Code == fault.NotFound {
		r.Fatalf("%s is not found: %v", id, err)
	}
	if err != nil || s.process.dead.Load() {
		delete(s.titles, id) // this one may come through yet
		return
	}
	s.titles[id] = title
}

// check holds after every step.
func (s *sequence) check(r *rapid.T) {
	made := map[string]int{}
	live := map[string]string{}
	s.world.meetings.mu.Lock()
	for _, e := range s.world.meetings.events {
		made[e.key]++
		if !e.IsCancelled {
			live[e.ID] = e.Title
		}
	}
	s.world.meetings.mu.Unlock()
	for key, n := range made {
		if n > 1 {
			r.Fatalf("%d events were made under the effect key %s", n, key)
		}
	}
	for id := range s.confirmed {
		if _, there := live[id]; !there {
			r.Fatalf("%s was told to a caller, was not cancelled, and is not there", id)
		}
	}
	for id, title := range s.titles {
		if s.confirmed[id] && live[id] != title {
			r.Fatalf("%s was changed to %q and is %q", id, title, live[id])
		}
	}
}

// settleAll lets everything be settled, and every key answered, with one meeting for each key.
func (s *sequence) settleAll(r *rapid.T) {
	s.revive()
	for range 200 {
		s.world.clock.advance(20 * time.Second)
		s.process.settle(s.world.tb)
		if s.world.unsettled() == 0 {
			break
		}
	}
	if open := s.world.unsettled(); open != 0 {
		r.Fatalf("%d intents are never settled", open)
	}
	s.check(r)
	for k, request := range s.asked {
		answer, err := s.process.Calendar.Book(background, s.caller, key(k), meeting(s.world.tb, fmt.Sprint("request ", request), request%20))
		if err != nil || s.told[k] != "" && s.told[k] != string(answer.Body) {
			r.Fatalf("key %s: %s, %v; told before %s", k, answer.Body, err, s.told[k])
		}
	}
	s.check(r)
	ofRequest := map[string]int{}
	s.world.meetings.mu.Lock()
	defer s.world.meetings.mu.Unlock()
	for _, e := range s.world.meetings.events {
		ofRequest[e.key]++
	}
	if len(ofRequest) != len(s.world.meetings.events) {
		r.Fatalf("%d events of %d requests", len(s.world.meetings.events), len(ofRequest))
	}
}
