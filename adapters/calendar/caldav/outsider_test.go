package caldav_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
)

// outsider is another program at the same account. It uses plain HTTP and none of the adapter's code.
type outsider struct {
	url, user, password string
	client              *http.Client
	made                int
}

var (
	_ calendartest.SeriesMaker   = (*outsider)(nil)
	_ calendartest.Inviter       = (*outsider)(nil)
	_ calendartest.DayMaker      = (*outsider)(nil)
	_ calendartest.FloatingMaker = (*outsider)(nil)
	_ calendartest.FreeMaker     = (*outsider)(nil)
	_ calendartest.Answerer      = (*outsider)(nil)
	_ calendartest.Meddler       = (*outsider)(nil)
)

func (o *outsider) do(
	ctx context.Context, method, path, body string, condition ...string,
) (text, etag string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, o.url+path, strings.NewReader(body))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(o.user+":"+o.password)))
	if body != "" {
		req.Header.Set("Content-Type", "text/calendar; charset=utf-8")
	}
	for i := 0; i+1 < len(condition); i += 2 {
		if condition[i+1] != "" {
			req.Header.Set(condition[i], strings.TrimPrefix(condition[i+1], "W/"))
		}
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode > 299 {
		err = fmt.Errorf("%s %s answered %s: %s", method, path, resp.Status, content)
	}
	return string(content), resp.Header.Get("ETag"), err
}

// put creates an event of the given lines. The rest of the object is the minimum that RFC 5545 requires.
func (o *outsider) put(ctx context.Context, calendarID string, before []string, lines ...string) error {
	o.made++
	uid := fmt.Sprintf("outsider-%d-%d", time.Now().UnixNano(), o.made)
	all := append([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Outsider//EN"}, before...)
	all = append(all, "BEGIN:VEVENT", "UID:"+uid, "DTSTAMP:20260101T000000Z")
	all = append(all, lines...)
	all = append(all, "END:VEVENT", "END:VCALENDAR", "")
	_, _, err := o.do(ctx, http.MethodPut, calendarID+uid+".ics", fold(all), "If-None-Match", "*")
	return err
}

func (o *outsider) MakeSeries(ctx context.Context, s calendartest.Series) error {
	return o.makeSeries(ctx, s)
}

// Invite creates the object that a server creates in the calendar of an invited account.
func (o *outsider) Invite(ctx context.Context, organizer, guest string, s calendartest.Series) error {
	return o.makeSeries(ctx, s, "ORGANIZER:mailto:"+organizer,
		"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:"+email,
		"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:"+guest)
}

func (o *outsider) makeSeries(ctx context.Context, s calendartest.Series, lines ...string) error {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return err
	}
	const local = "20060102T150405"
	// Many programs write definitions as short as this one: only the name counts.
	definition := []string{"BEGIN:VTIMEZONE", "TZID:" + s.Zone,
		"BEGIN:STANDARD", "DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:+0000", "END:STANDARD",
		"END:VTIMEZONE"}
	lines = append(lines, "SUMMARY:"+s.Title,
		"DTSTART;TZID="+s.Zone+":"+s.Start.In(zone).Format(local),
		"DTEND;TZID="+s.Zone+":"+s.Start.Add(s.Length).In(zone).Format(local))
	if s.Rule != "" {
		lines = append(lines, "RRULE:"+s.Rule)
	}
	return o.put(ctx, s.CalendarID, definition, lines...)
}

func (o *outsider) MakeDays(ctx context.Context, calendarID, title string, from, to calendar.Time) error {
	return o.put(ctx, calendarID, nil, "SUMMARY:"+title,
		"DTSTART;VALUE=DATE:"+from.Instant.Format("20060102"), "DTEND;VALUE=DATE:"+to.Instant.Format("20060102"))
}

func (o *outsider) MakeFloating(ctx context.Context, calendarID, title string, from, to calendar.Time) error {
	const local = "20060102T150405"
	return o.put(ctx, calendarID, nil, "SUMMARY:"+title, "DTSTART:"+from.Instant.Format(local),
		"DTEND:"+to.Instant.Format(local))
}

func (o *outsider) MakeFree(ctx context.Context, calendarID, title string, from, to time.Time) error {
	const utc = "20060102T150405Z"
	return o.put(ctx, calendarID, nil, "SUMMARY:"+title, "TRANSP:TRANSPARENT",
		"DTSTART:"+from.UTC().Format(utc), "DTEND:"+to.UTC().Format(utc))
}

// fold joins lines. It folds long ones between characters.
func fold(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		room := 75
		for _, r := range line {
			if room -= len(string(r)); room < 0 {
				b.WriteString("\r\n ")
				room = 74 - len(string(r))
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// rewrite changes the unfolded lines of an event.
func (o *outsider) rewrite(
	ctx context.Context, ref calendar.EventRef, change func(line string) string,
) error {
	text, etag, err := o.do(ctx, http.MethodGet, ref.ID, "")
	if err != nil {
		return err
	}
	text = strings.NewReplacer("\r\n ", "", "\r\n\t", "").Replace(text)
	lines := strings.Split(text, "\r\n")
	changed := false
	for i, line := range lines {
		lines[i] = change(line)
		changed = changed || lines[i] != line
	}
	if !changed {
		return errors.New("the event has nothing to change")
	}
	_, _, err = o.do(ctx, http.MethodPut, ref.ID, fold(lines), "If-Match", etag)
	return err
}

func (o *outsider) Retitle(ctx context.Context, ref calendar.EventRef, title string) error {
	return o.rewrite(ctx, ref, func(line string) string {
		if strings.HasPrefix(line, "SUMMARY") {
			return "SUMMARY:" + title
		}
		return line
	})
}

func (o *outsider) Answer(ctx context.Context, ref calendar.EventRef, email, response string) error {
	partstat := regexp.MustCompile("PARTSTAT=[A-Z-]+")
	return o.rewrite(ctx, ref, func(line string) string {
		if strings.HasPrefix(line, "ATTENDEE") &&
			strings.Contains(strings.ToLower(line), "mailto:"+strings.ToLower(email)) {
			return partstat.ReplaceAllLiteralString(line, "PARTSTAT="+strings.ToUpper(response))
		}
		return line
	})
}
