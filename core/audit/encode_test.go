package audit

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"frontdesk/core/store"
)

// cut cuts a text into n pieces, at positions taken from the bytes of at.
func cut(text string, at []byte, n int) []string {
	pieces := make([]string, 0, n)
	for i := range n - 1 {
		end := len(text)
		if i < len(at) {
			end = int(at[i]) % (len(text) + 1)
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	return append(pieces, text)
}

// rowOf returns a row whose texts together are text, however it is cut.
func rowOf(text string, at []byte, number int64, changed uint8) store.AuditRow {
	list := int(changed % 4)
	p := cut(text, at, 11+list)
	return store.AuditRow{
		UID: p[0], At: time.UnixMilli(number).UTC(), TenantID: p[1], Tenant: p[2], Actor: p[3], Action: p[4],
		ConnectionID: p[5], Subject: p[6], Changed: p[7 : 7+list], Outcome: p[7+list], Effect: p[8+list],
		RequestID: p[9+list], KeyID: p[10+list],
	}
}

// read decodes an encoding. If each encoding can be decoded, no two rows have the same one.
func read(e encoding) (r store.AuditRow, rest encoding) {
	number := func() int64 {
		n := int64(binary.BigEndian.Uint64(e))
		e = e[8:]
		return n
	}
	text := func() string {
		n := number()
		s := string(e[:n])
		e = e[n:]
		return s
	}
	r.UID, r.At = text(), time.UnixMilli(number()).UTC()
	for _, field := range []*string{&r.TenantID, &r.Tenant, &r.Actor, &r.Action, &r.ConnectionID, &r.Subject} {
		*field = text()
	}
	r.Changed = []string{}
	for range number() {
		r.Changed = append(r.Changed, text())
	}
	for _, field := range []*string{&r.Outcome, &r.Effect, &r.RequestID, &r.KeyID} {
		*field = text()
	}
	return r, e
}

func FuzzNoTwoRowsEncodeAlike(f *testing.F) {
	f.Add("acmebook-meetingdone", []byte{1, 2, 3}, []byte{1, 2, 4}, int64(1), int64(1), uint8(0), uint8(1))
	f.Add("", []byte{}, []byte{}, int64(0), int64(-1), uint8(3), uint8(0))
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x01a", []byte{8, 1}, []byte{0, 9}, int64(5), int64(5),
		uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, text string, atA, atB []byte, numberA, numberB int64, changedA, changedB uint8) {
		numberA, numberB = numberA%1e15, numberB%1e15 // times that time.Time can hold in milliseconds
		a, b := rowOf(text, atA, numberA, changedA), rowOf(text, atB, numberB, changedB)
		encodedA, encodedB := encoding(nil).row(a), encoding(nil).row(b)
		if equal := reflect.DeepEqual(a, b); bytes.Equal(encodedA, encodedB) != equal {
			t.Errorf("equal: %v, but they encode as\n%q\n%q\n%+v\n%+v", equal, encodedA, encodedB, a, b)
		}
		if back, rest := read(encodedA); !reflect.DeepEqual(back, a) || len(rest) > 0 {
			t.Errorf("%+v reads back as %+v, and %q is left", a, back, rest)
		}
	})
}

// TestEveryFieldCounts goes through the fields by reflection, so that it covers fields that are added later.
func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	keys := &ring{held: map[string][]byte{"k": {1}, "l": {1}}, current: "k"}
	row := store.AuditRow{ID: 1, At: time.UnixMilli(1), KeyID: "k", Changed: []string{"a"}}
	unchained, placed := keys.macOf(row), keys.macAfter(row, "before")
	if unchained == placed {
		t.Error("a row's MAC is good for a place")
	}
	for i := range reflect.TypeFor[store.AuditRow]().NumField() {
		name := reflect.TypeFor[store.AuditRow]().Field(i).Name
		changed := row
		switch field := reflect.ValueOf(&changed).Elem().Field(i).Addr().Interface().(type) {
		case *string:
			*field = "l"
		case *int64:
			*field = 2
		case *time.Time:
			*field = time.UnixMilli(2)
		case *[]string:
			*field = []string{"a", ""}
		default:
			t.Fatalf("%s is of a kind that this test does not know", name)
		}
		if same := keys.macOf(changed) == unchained; same != (name == "ID" || name == "MAC") {
			t.Errorf("%s: the MAC of the row alone is the same: %v", name, same)
		}
		if same := keys.macAfter(changed, "before") == placed; same != (name == "MAC") {
			t.Errorf("%s: the MAC of the row in its place is the same: %v", name, same)
		}
	}
	if keys.macAfter(row, "another") == placed {
		t.Error("the row before does not count")
	}
	head := store.AuditHead{Count: 1, MAC: "m", KeyID: "k", Seal: "s"}
	for name, other := range map[string]store.AuditHead{
		"count": {Count: 2, MAC: "m", KeyID: "k"}, "mac": {Count: 1, MAC: "n", KeyID: "k"},
		"key": {Count: 1, MAC: "m", KeyID: "l"},
	} {
		if keys.seal(other) == keys.seal(head) {
			t.Errorf("the head's %s does not count", name)
		}
	}
	if same("", keys.macOf(store.AuditRow{KeyID: "gone"})) {
		t.Error("without the key, no MAC is as good as the right one")
	}
}
