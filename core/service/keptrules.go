package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/normalize"
	"frontdesk/core/slots"
)

// keptRules are rules that a request of find-slots gave, those for which a slot has no columns. They are kept with the
// slots of the answer, so that others that are offered in the place of one of them go by the same.
type keptRules struct {
	Weekly            []keptWeekly                   `json:"weekly,omitzero"` // nil: no hours were given
	Dates             map[slots.Date][]slots.Opening `json:"dates,omitzero"`
	Interval          *time.Duration                 `json:"interval,omitempty"`
	MinimumNotice     *time.Duration                 `json:"minimum_notice,omitempty"`
	BookingWindowDays *int                           `json:"booking_window_days,omitempty"`
	Calendars         []string                       `json:"calendars,omitempty"` // nil: those of the slot
	Length            bool                           `json:"length,omitempty"`    // asked for, or that of what moves
	MovesIn           string                         `json:"moves_in,omitempty"`  // of a hold: the calendar of what moves
}

type keptWeekly struct {
	slots.Weekly

	Zone string // in the place of that of Weekly
}

const noRules = "{}" // what is kept where a request gave none

// kept returns the rules of a request as they are kept with a slot of these calendars.
func (in FindSlots) kept(calendarIDs []string) string {
	a := keptRules{
		Dates: in.SpecificTimes, Interval: in.Rules.Interval, MinimumNotice: in.Rules.MinimumNotice,
		BookingWindowDays: in.Rules.BookingWindowDays, Length: in.Rules.Duration != nil,
	}
	if !slices.Equal(in.CalendarIDs, calendarIDs) {
		a.Calendars = in.CalendarIDs
	}
	if in.Rules.Hours != nil {
		a.Weekly = []keptWeekly{}
		for _, w := range in.Rules.Hours.Weekly {
			each := keptWeekly{Weekly: w}
			if w.Zone != nil {
				each.Zone = w.Zone.String()
			}
			a.Weekly = append(a.Weekly, each)
		}
	}
	return a.text()
}

func (a keptRules) text() string {
	raw, err := json.Marshal(a)
	if err != nil {
		panic("service: rules of slots cannot be encoded: " + err.Error()) // strings and numbers always can
	}
	return string(raw)
}

// rulesKept returns the rules of their text.
func rulesKept(text string) (a keptRules, err error) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, fmt.Errorf("service: kept rules of a slot: %w", err)
	}
	return a, nil
}

// recall puts the rules that are kept with a slot into the input.
func (in *FindSlots) recall(a keptRules) error {
	in.SpecificTimes, in.Rules.Interval, in.Rules.MinimumNotice = a.Dates, a.Interval, a.MinimumNotice
	in.Rules.BookingWindowDays = a.BookingWindowDays
	if a.Calendars != nil {
		in.CalendarIDs = a.Calendars
	}
	if a.Weekly == nil {
		return nil
	}
	in.Rules.Hours = &slots.Hours{}
	for _, each := range a.Weekly {
		if each.Zone != "" {
			zone, err := normalize.LoadZone(each.Zone)
			if err != nil {
				return fmt.Errorf("service: kept rules of a slot: %w", err)
			}
			each.Weekly.Zone = zone
		}
		in.Rules.Hours.Weekly = append(in.Rules.Hours.Weekly, each.Weekly)
	}
	return nil
}
