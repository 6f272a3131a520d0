package caldav_test

import (
	"strings"
	"testing"

	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/calendar"
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
