package settingspage_test

import (
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// Somebody types hours, looks at what they lead to, and saves them.
func TestSomebodySetsOpeningHours(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	p := person{w, browsertest.Start(t)}
	p.b.Look(1280, 900, "light")
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat"}))
	p.press("Sign in")
	p.b.Open(w.url + acmeHours)
	p.fill("Monday", "9 to 5")
	p.press("Preview without saving")
	if got := p.text(".wrong"); !strings.HasPrefix(got, "Monday must be closed, or openings such as") {
		t.Errorf("the fault is %q", got)
	}
	p.fill("Monday", "09:00-12:00, 14:00-15:00")
	p.fill("Length of a meeting", "20")
	p.press("Preview without saving")
	if got := p.text("table"); !strings.Contains(got, "09:00 to 11:40, 14:00 to 14:40") {
		t.Errorf("the preview is %q", got)
	}
	p.b.Screenshot("settings-hours-preview")
	if of, _ := w.settings(); of.Settings.OpenHours != nil {
		t.Errorf("a preview stores %v", of.Settings.OpenHours)
	}
	p.press("Save")
	if got := p.text("main"); !strings.Contains(got, "were saved") || !strings.Contains(got, "09:00 to 11:40") {
		t.Errorf("saved: %q", got)
	}
	if of, _ := w.settings(); of.Settings.OpenHours["monday"] != "09:00-12:00, 14:00-15:00" {
		t.Errorf("stored: %v", of.Settings.OpenHours)
	}
}
