package service

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/slots"
	"frontdesk/core/store/storetest"
)

// TestEveryErrorOfADriverNamesItsProvider: drivers leave it to the services, at whichever call they fail.
func TestEveryErrorOfADriverNamesItsProvider(t *testing.T) {
	cases := crashCases(t)
	refused := func(code fault.Code) *fault.Error { return fault.New(code, "REASON_OF_THE_DRIVER", "No.") }
	for name, read := range map[string]func(*process, apikey.Caller) error{
		"list events": func(p *process, c apikey.Caller) error {
			return second(p.Calendar.List(background, c, ListEvents{CalendarIDs: []string{"main", "side"}}))
		},
		"list calendars": func(p *process, c apikey.Caller) error { return second(p.Calendar.Calendars(background, c)) },
		"get a ticket":   func(p *process, c apikey.Caller) error { return second(p.Tickets.Get(background, c, "1")) },
		"list numbers":   func(p *process, c apikey.Caller) error { return second(p.Numbers.List(background, c)) },
		"find slots": func(p *process, c apikey.Caller) error {
			return second(p.Calendar.FindSlots(background, c, askSlots(t, func(in *FindSlots) {
				in.CalendarIDs, in.Availability = []string{"main", "side"}, slots.Any
			})))
		},
		"find slots of one calendar": func(p *process, c apikey.Caller) error {
			return second(p.Calendar.FindSlots(background, c, askSlots(t, nil)))
		},
	} {
		for _, freeBusy := range []bool{false, true} {
			cases = append(cases, crashCase{
				name: fmt.Sprintf("%s, free-busy %t", name, freeBusy),
				prepare: func(w *world) {
					w.meetings.freeBusy, w.meetings.unknown, w.meetings.why = freeBusy, 9, refused(fault.Forbidden)
				},
				call: func(p *process, c apikey.Caller, _ string) (json.RawMessage, bool, error) {
					return nil, false, read(p, c)
				},
			})
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, storetest.ReusedSQLite)
			p := w.start()
			for _, code := range []fault.Code{fault.Forbidden, fault.Unavailable, fault.Disconnected} {
				for n := int64(1); w.failsFrom(t, p, c, n, refused(code)); n++ {
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// failsFrom makes the call of a case where each call of a driver fails, from the n-th on. It reports whether there is
// an n-th.
func (w *world) failsFrom(t *testing.T, p *process, c crashCase, n int64, why *fault.Error) bool {
	t.Helper()
	caller, id := w.prepare(c), ""
	if c.before != nil {
		id = c.before(w, p, caller)
	}
	var made atomic.Int64
	react := func(*process, string) reaction {
		if made.Add(1) < n {
			return reaction{}
		}
		return reaction{before: fails(why)}
	}
	w.meetings.script(react)
	w.tickets.script(react)
	w.phones.script(react)
	_, _, err := c.call(p, caller, id)
	w.heal()
	if f := fault.From(err); err != nil && f.Reason == why.Reason && f.Metadata["provider"] != "fake" {
		t.Errorf("%s from call %d on: %v has %v", why.Code, n, f, f.Metadata)
	}
	return made.Load() >= n
}
