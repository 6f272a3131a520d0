package settingspage_test

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/signin"
)

const acmeHours = "/settings/tenants/acme/opening-hours"

// settings returns the stored settings of acme and of its connection.
func (w *world) settings() (admin.Tenant, map[string]any) {
	w.t.Helper()
	of, err := w.g.Admin().GetTenant(w.t.Context(), apikey.Caller{}, "acme")
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := w.g.Admin().GetConnection(w.t.Context(), apikey.Caller{},
		admin.ConnectionName{Tenant: "acme", Name: "acme"})
	if err != nil {
		w.t.Fatal(err)
	}
	return of, at.Settings
}

// Hours and rules are stored as they are in the form, and what is as the default says stays the default. The
// page that follows shows what callers are offered.
func TestOpeningHoursAreStored(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		b := w.signedIn(signin.NewLink{})
		form := url.Values{
			"monday": {"09:00-12:30, 14:00-18:00"}, "tuesday": {"closed"},
			"dates":            {"2030-12-25: closed\n\n2030-12-24: 9:00-12:00 "},
			"duration_minutes": {"45"}, "minimum_notice_minutes": {"0"},
			"tentative_as_busy": {"false"},
		}
		if p := b.post(acmeHours, form); p.status != http.StatusSeeOther || p.to != acmeHours+"?preview=yes" {
			t.Fatalf("%d %s %s", p.status, p.to, p.body)
		}
		of, _ := w.settings()
		want := map[string]string{
			"monday": "09:00-12:30, 14:00-18:00", "tuesday": "closed", "2030-12-25": "closed",
			"2030-12-24": "9:00-12:00",
		}
		if s := of.Settings; !reflect.DeepEqual(s.OpenHours, want) || *s.DurationMinutes != 45 ||
			*s.MinimumNoticeMinutes != 0 ||
			s.TentativeAsBusy == nil || *s.TentativeAsBusy || s.SlotIntervalMinutes != nil || s.BookingWindowDays != nil {
			t.Errorf("stored: %+v", s)
		}
		p := b.get(acmeHours + "?preview=yes")
		for _, want := range []string{
			"were saved", "An agent would say", "Meetings of 45 minutes can begin every 45 minutes", "14:00 to 17:00",
			"--set duration_minutes=45", "open_hours.2030-12-25=closed", "--unset booking_window_days",
			"--set tentative_as_busy=false", `<option value="false" selected>are free`,
		} {
			if !strings.Contains(p.body, want) {
				t.Errorf("the page lacks %q: %s", want, p.body)
			}
		}
		week := url.Values{}
		for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday"} {
			week.Set(day, "09:00-17:00")
		}
		b.post(acmeHours, week)
		if of, _ = w.settings(); of.Settings.OpenHours != nil || of.Settings.DurationMinutes != nil {
			t.Errorf("the default week is stored as %+v", of.Settings)
		}
		b.post(acmeHours, url.Values{})
		if p := b.get(acmeHours + "?preview=yes"); strings.Contains(p.body, " to 1") ||
			strings.Count(p.body, "no time") != 15 {
			t.Errorf("a tenant that is always closed offers: %s", p.body)
		}
	})
}

// A form with faults has each at its field, keeps what was typed, and stores nothing.
func TestOpeningHoursWithFaults(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	was, _ := w.settings()
	faulty := url.Values{
		"monday": {"nine to five"}, "tuesday": {"09:00-09:00"}, "friday": {"09:00-12:00"},
		"dates":            {"Christmas: closed\n2030-12-24: noon\n2030-12-31: closed\n2030-12-31: 09:00-10:00"},
		"duration_minutes": {"0"}, "slot_interval_minutes": {"often"}, "booking_window_days": {"9999"},
	}
	for _, path := range []string{acmeHours, acmeHours + "/preview"} {
		p := b.post(path, faulty)
		if p.status != http.StatusUnprocessableEntity {
			t.Fatalf("%s: %d", path, p.status)
		}
		for _, want := range []string{
			`id="monday-error">Monday must be closed, or openings`, `id="tuesday-error">Tuesday must not end`,
			`id="duration_minutes-error"`, `slot_interval_minutes-error`, "whole number", "must be from 0 to 730",
			"Christmas: closed", "has 2030-12-31 twice", `value="nine to five"`, `value="09:00-12:00"`, `value="often"`,
			"which must be closed, or openings",
		} {
			if !strings.Contains(strings.ReplaceAll(p.body, "&#34;", `"`), want) {
				t.Errorf("%s lacks %q: %s", path, want, p.body)
			}
		}
		if strings.Contains(p.body, "friday-error") {
			t.Errorf("%s: the field without a fault has one", path)
		}
	}
	if now, _ := w.settings(); !reflect.DeepEqual(now, was) {
		t.Errorf("stored: %+v", now)
	}
}

// A preview is what find-slots would answer with the rules in the form: it knows the calendar's busy times,
// and stores nothing.
func TestPreviewOfOpeningHours(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		made, err := w.g.Admin().CreateKey(t.Context(), apikey.Caller{}, admin.Write{}, admin.NewKey{Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		day := w.now().UTC().AddDate(0, 0, 3).Format(time.DateOnly)
		w.ask(made.Record.Secret, "/v1/calendar/book-meeting",
			`{"title": "Taken", "start_time": "`+day+`T10:00:00Z", "end_time": "`+day+`T11:00:00Z"}`)
		was, settings := w.settings()
		b := w.signedIn(signin.NewLink{})
		form := url.Values{"dates": {day + ": 09:00-12:00"}, "duration_minutes": {"60"}}
		for _, path := range []string{acmeHours, "/settings/tenants/acme/connections/acme/opening-hours"} {
			p := b.post(path+"/preview", form)
			if p.status != http.StatusOK || !strings.Contains(p.body, "<td>09:00, 11:00</td>") ||
				strings.Count(p.body, "no time") != 14 || !strings.Contains(p.body, `value="60"`) {
				t.Errorf("%s: %d %s", path, p.status, p.body)
			}
		}
		if now, nowSettings := w.settings(); !reflect.DeepEqual(now, was) ||
			!reflect.DeepEqual(nowSettings, settings) {
			t.Errorf("stored: %+v, %v", now, nowSettings)
		}
	})
}

// A connection's rules are in the place of the tenant's, and those that it does not have follow the tenant's.
func TestOpeningHoursOfAConnection(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	w.busy("acme")
	b := w.signedIn(signin.NewLink{})
	b.post(acmeHours, url.Values{"monday": {"10:00-12:00"}, "duration_minutes": {"20"}})
	const at = "/settings/tenants/acme/connections/acme/opening-hours"
	if p := b.get(at); !strings.Contains(p.body, `value="10:00-12:00"`) || strings.Contains(p.body, `value="20"`) {
		t.Errorf("the form: %s", p.body)
	}
	b.post(at, url.Values{"monday": {"10:00-12:00"}, "duration_minutes": {"40"}})
	_, settings := w.settings()
	if want := map[string]any{"duration_minutes": float64(40)}; !reflect.DeepEqual(settings["slots"], want) {
		t.Errorf("stored: %v", settings)
	}
	if p := b.get(at + "?preview=yes"); !strings.Contains(p.body, "Meetings of 40 minutes") ||
		!strings.Contains(p.body, "frontdesk connection change acme --tenant acme "+
			"--set &#39;slots={&#34;duration_minutes&#34;:40}&#39;") {
		t.Errorf("the page: %s", p.body)
	}
	// The form of the connection's other settings leaves them as they are.
	b.post("/settings/tenants/acme/connections/acme", url.Values{"settings.latency": {"1ms"}})
	if _, settings = w.settings(); settings["slots"] == nil || settings["latency"] == nil {
		t.Errorf("stored: %v", settings)
	}
	b.post(at, url.Values{"monday": {"10:00-12:00"}})
	if _, settings = w.settings(); settings["slots"] != nil {
		t.Errorf("stored: %v", settings)
	}
	if p := b.get("/settings/tenants/acme/connections/phone/opening-hours"); p.status != http.StatusNotFound {
		t.Errorf("the opening hours of a telephony connection: %d", p.status)
	}
}

// Where there is no calendar, the page says why there is no preview.
func TestNoPreviewWithoutACalendar(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	_, err := w.g.Admin().CreateTenant(t.Context(), apikey.Caller{}, admin.Write{}, admin.TenantSpec{Name: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	p := w.signedIn(signin.NewLink{}).get(acmeHours + "?preview=yes")
	if p.status != http.StatusOK || !strings.Contains(p.body, "There is no preview: ") {
		t.Errorf("%d %s", p.status, p.body)
	}
}
