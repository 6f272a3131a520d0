package sandbox

import (
	"slices"
	"strings"

	"frontdesk/core/adapter"
)

const (
	mostEvents    = 20_000 // of a calendar; those that ended first make room for others
	removedAtOnce = 50     // so that few bookings look for what has to go
)

// add puts a new event into its calendar, and removes those that ended first if the calendar has too many.
// Series stay: no caller makes one.
func (d *driver) add(tx adapter.StorageTx, s stored) error {
	count, err := countOf(tx, s.Calendar)
	if err != nil {
		return err
	}
	if err := put(tx, s, ""); err != nil {
		return err
	}
	if count++; count > d.most {
		removed, err := removeFirst(tx, s)
		if err != nil {
			return err
		}
		count -= removed
	}
	return adapter.PutDocument(tx, "count/"+s.Calendar, count)
}

// countOf returns how many events a calendar has. One of an earlier version is counted once.
func countOf(tx adapter.StorageTx, calendarID string) (count int, err error) {
	count, found, err := adapter.GetDocument[int](tx, "count/"+calendarID)
	if err != nil || found {
		return count, err
	}
	err = tx.Scan(pointerKey(calendarID, ""), "", func(string, []byte) bool { count++; return true })
	return count, err
}

// removeFirst removes the events that ended first of the calendar of a new event, but not that one. It returns
// how many it removed.
func removeFirst(tx adapter.StorageTx, added stored) (int, error) {
	var keys []string
	for _, kind := range []string{"event/", "long/", "gone/"} {
		found := 0
		err := tx.Scan(kind+added.Calendar+"/", "", func(key string, _ []byte) bool {
			if key != added.key() {
				keys = append(keys, key)
				found++
			}
			return found < removedAtOnce
		})
		if err != nil {
			return 0, err
		}
	}
	slices.SortFunc(keys, func(a, b string) int { // by the end, which follows the kind and the calendar
		_, endOfA, _ := strings.Cut(a, "/")
		_, endOfB, _ := strings.Cut(b, "/")
		return strings.Compare(endOfA, endOfB)
	})
	keys = keys[:min(len(keys), removedAtOnce)]
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return 0, err
		}
		if err := tx.Delete(pointerKey(added.Calendar, key[strings.LastIndexByte(key, '/')+1:])); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}
