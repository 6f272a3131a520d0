package sandbox

import (
	"encoding/json"
	"strings"
	"time"

	"frontdesk/core/adapter"
)

// The keys of the store:
//
//	id/CALENDAR/ID                    -> the key of the event's document
//	event/CALENDAR/END/START/ID       a single event that is listed
//	long/CALENDAR/END/START/ID        a listed event that is at least 72 hours long
//	series/CALENDAR/ID                a series with all its instances
//	gone/CALENDAR/END/START/ID        a cancelled event
//	count/CALENDAR                    how many of the calendar there are
//
// Events are ordered by their end, so that a listing starts at the first one that has not ended when the
// window begins, and stops when all that follow begin after the window. The times are part of the key, so
// that events outside the window are skipped without being decoded.

const (
	stampWidth = len("20060102T150405Z")
	shortest   = 72 * time.Hour // length of a long event, including the uncertainty of local times
)

// Local times lie up to 14 hours before and 12 hours after the same wall clock in UTC, depending on the zone.
const (
	furthestEast = 14 * time.Hour
	furthestWest = 12 * time.Hour
)

func pointerKey(calendarID, id string) string { return "id/" + calendarID + "/" + id }

// key returns the key of the event's document.
func (s stored) key() string {
	if s.Rule != "" && s.State != cancelled {
		return "series/" + s.Calendar + "/" + s.ID
	}
	earliest, latest := s.Start, s.End
	if s.Form != instantForm {
		earliest, latest = earliest.Add(-furthestEast), latest.Add(furthestWest)
	}
	prefix := "event/"
	switch {
	case s.State == cancelled:
		prefix = "gone/"
	case latest.Sub(earliest) >= shortest:
		prefix = "long/"
	}
	return prefix + s.Calendar + "/" + roundUp(latest) + "/" + roundDown(earliest) + "/" + s.ID
}

func roundDown(t time.Time) string {
	t = t.UTC()
	switch { // a query may ask for any time at all
	case t.Year() < 0:
		return "00000101T000000Z"
	case t.Year() > 9999:
		return "99991231T235959Z"
	}
	return t.Format(stampOfTime)
}

func roundUp(t time.Time) string { return roundDown(t.Add(time.Second - time.Nanosecond)) }

// get returns the event with that id and the key of its document, which is "" if there is none.
func get(tx adapter.StorageTx, calendarID, id string) (s stored, key string, err error) {
	key, found, err := adapter.GetDocument[string](tx, pointerKey(calendarID, id))
	if err != nil || !found {
		return s, "", err
	}
	if s, found, err = adapter.GetDocument[stored](tx, key); err != nil || !found {
		return s, "", err
	}
	return s, key, nil
}

// put writes the event. key is the previous key of its document, or "" for a new event.
func put(tx adapter.StorageTx, s stored, key string) error {
	now := s.key()
	if err := adapter.PutDocument(tx, now, s); err != nil || now == key {
		return err
	}
	if key != "" {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return adapter.PutDocument(tx, pointerKey(s.Calendar, s.ID), now)
}

// eventWindow reads one calendar's events in a window, page by page.
type eventWindow struct {
	tx       adapter.StorageTx
	calendar string
	window   window
}

// page returns at most limit events after the cursor, and the cursor of the next page, or "" if there is
// none. First come the instances of series, then the long events, then the others. A cursor names the last
// event of its page.
func (w eventWindow) page(cursor string, limit int) (list []stored, next string, err error) {
	kind, _, _ := strings.Cut(cursor, "/")
	if kind != "long" && kind != "event" {
		if list, err = w.instances(cursor, limit); err != nil {
			return nil, "", err
		}
		if len(list) == limit {
			last := list[limit-1]
			return list, "series/" + last.series + "/" + last.ID, nil
		}
	}
	for _, in := range []string{"long", "event"} {
		if kind == "event" && in == "long" {
			continue
		}
		after := ""
		if kind == in {
			after = cursor
		}
		more := false
		err := w.each(in, after, func(key string, s stored) bool {
			if more = len(list) == limit; more {
				return false
			}
			list, next = append(list, s), key
			return true
		})
		if err != nil || more {
			return list, next, err
		}
	}
	return list, "", nil
}

// each calls take for the events of a kind in the window and after the cursor, until take returns false.
func (w eventWindow) each(kind, cursor string, take func(key string, s stored) bool) error {
	prefix := kind + "/" + w.calendar + "/"
	begin, last := roundUp(w.window.To), roundUp(w.window.To.Add(shortest))
	if cursor == "" {
		cursor = prefix + roundDown(w.window.From)
	}
	var broken error
	err := w.tx.Scan(prefix, cursor, func(key string, document []byte) bool {
		end, start := key[len(prefix):][:stampWidth], key[len(prefix)+stampWidth+1:][:stampWidth]
		if kind == "event" && end > last {
			return false
		}
		if start >= begin {
			return true
		}
		var s stored
		if broken = json.Unmarshal(document, &s); broken != nil {
			return false
		}
		return !w.window.holds(s) || take(key, s)
	})
	if err != nil {
		return err
	}
	return broken
}

// instances returns at most limit instances of the calendar's series after the cursor.
func (w eventWindow) instances(cursor string, limit int) ([]stored, error) {
	prefix := "series/" + w.calendar + "/"
	inSeries, afterStamp := "", ""
	if at, ok := strings.CutPrefix(cursor, "series/"); ok {
		var last string
		inSeries, last, _ = strings.Cut(at, "/")
		afterStamp = strings.TrimPrefix(last, inSeries+"_")
	}
	var list []stored
	var broken error
	err := adapter.ScanDocuments(w.tx, prefix, "", func(_ string, s stored) bool {
		after := ""
		if s.ID < inSeries {
			return true
		}
		if s.ID == inSeries {
			after = afterStamp
		}
		var found []stored
		if found, broken = s.within(w.window, after, limit-len(list)); broken != nil {
			return false
		}
		list = append(list, found...)
		return len(list) < limit
	})
	if err != nil {
		return nil, err
	}
	return list, broken
}

// all returns every event in the window.
func (w eventWindow) all() ([]stored, error) {
	const batch = 1000
	var list []stored
	for cursor := ""; ; {
		page, next, err := w.page(cursor, batch)
		if err != nil {
			return nil, err
		}
		list = append(list, page...)
		if next == "" {
			return list, nil
		}
		cursor = next
	}
}
