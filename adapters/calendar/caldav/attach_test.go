package caldav_test

import (
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// What is attached to an event is no part of what is listed, however long it is.
func TestAnAttachmentHurtsNoList(t *testing.T) {
	t.Parallel()
	attached := "ATTACH;ENCODING=BASE64;VALUE=BINARY;FILENAME=\"a<b.pdf\":"
	long := strings.Repeat("QUJD", 2<<20)
	var folded strings.Builder
	for i := 0; i < len(long); i += 72 {
		folded.WriteString(long[i:min(i+72, len(long))] + "\r\n ")
	}
	for form, value := range map[string]string{"in one line": long, "in many": folded.String()} {
		a := newAccount(t, fake.Options{})
		d := a.open(t, "", nil)
		for name, rule := range map[string]string{"single": "", "series": "RRULE:FREQ=DAILY;COUNT=2\r\n"} {
			a.Put(a.home, name+".ics", "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Somebody//EN\r\nBEGIN:VEVENT\r\n"+
				"UID:"+name+"\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20270503T080000Z\r\n"+attached+value+"\r\n"+rule+
				"DTEND:20270503T090000Z\r\nSUMMARY:With a plan\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
		}
		q := week()
		q.CalendarID = a.home
		for range 2 { // with the series that are remembered, too
			page, err := d.Events(t.Context(), q)
			if err != nil || len(page.Events) != 3 || page.Events[0].Title != "With a plan" {
				t.Errorf("%s: listed %d events, %v", form, len(page.Events), err)
			}
		}
		busy, err := d.(calendar.FreeBusyer).FreeBusy(t.Context(), []string{a.home},
			calendar.Span{From: q.From, To: q.To})
		if err != nil || len(busy) != 3 {
			t.Errorf("%s: busy %+v, %v", form, busy, err)
		}
	}
}

// Nor of what is read of one, so that it can be cancelled; who changes an event gives back all of it.
func TestAnEventIsReadAndChangedWhateverIsAttached(t *testing.T) {
	t.Parallel()
	attached := "ATTACH;ENCODING=BASE64;VALUE=BINARY;FILENAME=a<b.pdf:" + strings.Repeat("QUJD", 550_000)
	html := "X-ALT-DESC;FMTTYPE=text/html:<html><b>Plan</b></html>"
	for form, options := range map[string]fake.Options{"with ETags": {}, "without": {NoTags: true}} {
		a := newAccount(t, options)
		d := a.open(t, "", nil)
		put := func(name, rule string) string {
			return a.Put(a.home, name+".ics", "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Somebody//EN\r\n"+
				"BEGIN:VEVENT\r\nUID:"+name+"\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20270503T080000Z\r\n"+attached+"\r\n"+
				html+"\r\n"+rule+"DTEND:20270503T090000Z\r\nSUMMARY:With a plan\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
		}
		single := put("single", "")
		if form == "with ETags" {
			put("series", "RRULE:FREQ=DAILY;COUNT=1\r\n")
		}
		q := week()
		q.CalendarID = a.home
		page, err := d.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2027, 5, 7, 10, 0, 0, 0, time.UTC)
		to := from.Add(time.Hour)
		for _, listed := range page.Events {
			ref := calendar.EventRef{ID: listed.ID}
			e, err := d.Event(t.Context(), ref)
			if err != nil || e.Title != "With a plan" || e.Version != listed.Version {
				t.Fatalf("%s: read %+v, %v", form, e, err)
			}
			moved, err := d.Change(t.Context(), ref, calendar.Change{
				Start: &from, End: &to, Zone: "UTC", IfUnchanged: e.Version,
			})
			if err != nil || !moved.Start.Instant.Equal(from) {
				t.Fatalf("%s: moved %+v, %v", form, moved, err)
			}
			if listed.ID == single {
				stored := strings.ReplaceAll(a.Get(single), "\r\n ", "")
				if !strings.Contains(stored, attached) || !strings.Contains(stored, html) {
					t.Errorf("%s: what is attached is lost", form)
				}
			}
			if err := d.Cancel(t.Context(), ref); err != nil {
				t.Errorf("%s: %v", form, err)
			}
		}
	}
}

// What is longer than is read cannot be changed, but cancelled.
func TestAnEventWithALongFileIsCancelled(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	d := a.open(t, "", nil)
	ref := calendar.EventRef{ID: a.Put(a.home, "long.ics", "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Somebody//EN\r\n"+
		"BEGIN:VEVENT\r\nUID:long\r\nDTSTAMP:20260101T000000Z\r\nDTSTART:20270503T080000Z\r\nATTACH:"+
		strings.Repeat("QUJD", 2<<20)+"\r\nDTEND:20270503T090000Z\r\nSUMMARY:Long\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")}
	title := "Changed"
	_, err := d.Change(t.Context(), ref, calendar.Change{Title: &title})
	want(t, err, fault.Exhausted, upstream.ReasonAnswerTooLarge)
	if err := d.Cancel(t.Context(), ref); err != nil {
		t.Error(err)
	}
}
