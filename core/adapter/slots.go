package adapter

import (
	"maps"
	"reflect"

	"frontdesk/core/fault"
	"frontdesk/core/slots"
)

// SettingSlots is a setting of every calendar connection, whatever its adapter: the rules for slots in the
// place of the tenant's.
const SettingSlots = "slots"

// slotSettings declares what the setting holds.
type slotSettings struct {
	OpenHours            map[string]string `setting:"open_hours" help:"When meetings may take place: days of the week and dates, each with its openings, such as monday: 09:00-17:00 or 2026-12-25: closed."`
	DurationMinutes      int               `setting:"duration_minutes" help:"How long a meeting takes for which find-slots looks."`
	SlotIntervalMinutes  int               `setting:"slot_interval_minutes" help:"How many minutes after one slot the next one may begin."`
	BufferBeforeMinutes  int               `setting:"buffer_before_minutes" help:"How many minutes before a slot must be free."`
	BufferAfterMinutes   int               `setting:"buffer_after_minutes" help:"How many minutes after a slot must be free."`
	MinimumNoticeMinutes int               `setting:"minimum_notice_minutes" help:"How many minutes from now a slot may begin at the earliest."`
	BookingWindowDays    int               `setting:"booking_window_days" help:"How many days after today a slot may begin at the latest; 0 means without limit."`
	TentativeAsBusy      bool              `setting:"tentative_as_busy" help:"Whether a time is busy while the calendar's owner has a meeting that was accepted only tentatively."`
}

// fieldSlots returns the declaration of the setting.
func fieldSlots() Field {
	type settings struct {
		Slots slotSettings `setting:"slots" help:"Rules for find-slots, in the place of the tenant's."`
	}
	return fieldsOf[settings]()[0]
}

// WithSlots returns the settings of a calendar connection with the rules in the place of theirs. Rules that
// are nil are those of the tenant.
func WithSlots(settings, rules map[string]any) map[string]any {
	changed := maps.Clone(settings)
	own := maps.Clone(rules)
	maps.DeleteFunc(own, func(_ string, value any) bool { return value == nil })
	delete(changed, SettingSlots)
	if len(own) == 0 {
		return changed
	}
	if changed == nil {
		changed = map[string]any{}
	}
	changed[SettingSlots] = own
	return changed
}

// SlotDefaults returns the rules for slots among the settings of a calendar connection. The error is
// fault.Invalid with everything that is wrong with them.
func SlotDefaults(settings map[string]any) (slots.Defaults, error) {
	if settings[SettingSlots] == nil {
		return slots.Defaults{}, nil
	}
	var read struct{ Slots slotSettings }
	field := fieldSlots()
	path := field.Path()
	faults := store(reflect.ValueOf(&read.Slots).Elem(), path, field, settings[SettingSlots])
	if len(faults) > 0 {
		return slots.Defaults{}, fault.InvalidFields(faults...)
	}
	given := settings[SettingSlots]
	if text, isText := given.(string); isText {
		given, _ = fromJSON(text) // it has just been read
	}
	members, _ := given.(map[string]any)
	number := func(name string, n int) *int {
		if members[name] == nil || members[name] == "" {
			return nil
		}
		return &n
	}
	s := read.Slots
	d := slots.Defaults{
		OpenHours: s.OpenHours, DurationMinutes: number(slots.LimitDuration.Name, s.DurationMinutes),
		SlotIntervalMinutes:  number(slots.LimitInterval.Name, s.SlotIntervalMinutes),
		BufferBeforeMinutes:  number(slots.LimitBefore.Name, s.BufferBeforeMinutes),
		BufferAfterMinutes:   number(slots.LimitAfter.Name, s.BufferAfterMinutes),
		MinimumNoticeMinutes: number(slots.LimitNotice.Name, s.MinimumNoticeMinutes),
		BookingWindowDays:    number(slots.LimitBookingWindow.Name, s.BookingWindowDays),
	}
	if members[slots.NameTentative] != nil && members[slots.NameTentative] != "" {
		d.TentativeAsBusy = &s.TentativeAsBusy
	}
	_, wrong := d.Rules()
	for _, w := range wrong {
		faults = append(faults, fault.Field{Path: path + "." + w.Name, Message: w.Err.Error() + "."})
	}
	if len(faults) > 0 {
		return d, fault.InvalidFields(faults...)
	}
	return d, nil
}

// ofAdapter returns the values that the adapter declares.
func (v Values) ofAdapter() Values {
	if _, there := v.Settings[SettingSlots]; !there {
		return v
	}
	own := make(map[string]any, len(v.Settings))
	for name, value := range v.Settings {
		if name != SettingSlots {
			own[name] = value
		}
	}
	v.Settings = own
	return v
}

// calendarChecker returns the check of a calendar adapter with settings S.
func calendarChecker[S any](decode func(Values) (S, error)) func(Values) error {
	return func(v Values) error {
		_, errOwn := decode(v.ofAdapter())
		_, errSlots := SlotDefaults(v.Settings)
		if errOwn == nil {
			return errSlots
		}
		if errSlots == nil {
			return errOwn
		}
		return fault.InvalidFields(append(fault.From(errOwn).Fields, fault.From(errSlots).Fields...)...)
	}
}
