package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// found is an event that was looked up, and how to write it back.
type found struct {
	event  stored
	series *stored // the series of an instance
	key    string
}

// find looks up an event or an instance.
func (d *driver) find(tx adapter.StorageTx, ref calendar.EventRef) (found, error) {
	c, err := d.calendar(ref.CalendarID)
	if err != nil {
		return found{}, err
	}
	id := scenario.Strip(ref.ID)
	s, key, err := get(tx, c.ID, id)
	if err != nil || key != "" {
		return found{event: s, key: key}, err
	}
	at := strings.LastIndexByte(id, '_')
	if at < 0 {
		return found{}, notFound()
	}
	s, key, err = get(tx, c.ID, id[:at])
	if err != nil {
		return found{}, err
	}
	if key == "" || s.Rule == "" {
		return found{}, notFound()
	}
	instance, ok, err := s.find(id[at+1:])
	if err == nil && !ok {
		err = notFound()
	}
	return found{event: instance, series: &s, key: key}, err
}

func (f found) unchanged(version string) error {
	if version != "" && version != strconv.Itoa(f.event.Version) {
		return changedMeanwhile("Someone changed the event in the meantime. Read it and try again.")
	}
	return nil
}

func (f found) save(tx adapter.StorageTx) error {
	if f.series == nil {
		return put(tx, f.event, f.key)
	}
	f.series.change(f.event)
	return put(tx, *f.series, f.key)
}

func notFound() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonEventNotFound, "The calendar has no such event.")
}

func changedMeanwhile(detail string) error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, detail)
}

// about describes a call on an event to the scenarios.
func (d *driver) about(ref calendar.EventRef, request string, texts ...string) scenario.Call {
	c, err := d.calendar(ref.CalendarID)
	if err != nil {
		c.ID = "nowhere"
	}
	return scenario.Call{
		About: c.ID + "/" + scenario.Strip(ref.ID), Request: request, Texts: append(texts, ref.CalendarID, ref.ID),
	}
}

// hash returns a hash of the change that does not depend on IfUnchanged.
func hash(c calendar.Change) string {
	c.IfUnchanged = ""
	text, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
