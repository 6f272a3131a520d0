package settingspage_test

import (
	"regexp"
	"strings"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// A tenant's administrator buys a number, names and assigns it, releases it, and thinks better of it.
func TestANumberIsBoughtAndRestoredInTheBrowser(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	phone := admin.NewConnection{Tenant: "acme"}
	phone.Name, phone.Kind, phone.Provider = "phone", "telephony", "sandbox"
	phone.Settings = map[string]any{"release_delay": "24h"}
	if _, err := w.g.Admin().CreateConnection(t.Context(), apikey.Caller{}, admin.Write{}, phone); err != nil {
		t.Fatal(err)
	}
	held := func() admin.PhoneNumber {
		t.Helper()
		all, err := w.g.Admin().ListNumbers(t.Context(), apikey.Caller{}, "acme")
		if err != nil || len(all.PhoneNumbers) != 1 {
			t.Fatalf("held are %+v, %v", all, err)
		}
		return all.PhoneNumbers[0]
	}
	p := person{w, browsertest.Start(t)}
	p.b.Look(1280, 900, "light")
	notice := func(want string) {
		t.Helper()
		if got := p.text(".notice"); !strings.Contains(got, want) {
			t.Errorf("the notice is %q, want %q", got, want)
		}
	}
	wrong := func(want string) {
		t.Helper()
		if got := p.text(".wrong"); !strings.Contains(got, want) {
			t.Errorf("the fault is %q, want %q", got, want)
		}
	}
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat", Tenant: "acme", Role: apikey.RoleAdmin}))
	p.press("Sign in")
	p.b.Open(w.url + "/settings/tenants/acme/phone-numbers")
	p.wants("Phone numbers of acme")
	p.fill("Area code", "five")
	p.press("Buy the number")
	wrong("must be three digits")
	p.fill("Area code", "512")
	p.fill("Name", "Front office")
	p.press("Buy the number")
	bought := held()
	if !regexp.MustCompile(`^\+1512\d{7}$`).MatchString(bought.E164) || bought.Name != "Front office" {
		t.Errorf("bought is %+v", bought)
	}
	p.wants("Number " + bought.E164)
	notice(bought.E164 + " was bought.")
	p.b.Screenshot("settings-number-bought")

	p.fill("Name", "Night line")
	p.fill("Answered by", "7")
	p.press("Save")
	notice("The number was changed.")
	if n := held(); n.Name != "Night line" || n.Inbound == nil || *n.Inbound != 7 ||
		!strings.Contains(p.text("dl"), "cloud employee 7") {
		t.Errorf("changed is %+v: %s", n, p.text("dl"))
	}

	p.press("Release this number…")
	p.wants("Release " + bought.E164 + "?")
	p.fill("The number, to confirm", "release")
	p.press("Release the number")
	wrong("must be the number")
	if held().ReleaseAt != nil {
		t.Error("the number was released without being typed")
	}
	p.fill("The number, to confirm", bought.E164)
	p.press("Release the number")
	notice(bought.E164 + " was released.")
	if held().ReleaseAt == nil || !strings.Contains(p.text("table"), "goes back on") {
		t.Errorf("after the release the numbers are %s", p.text("table"))
	}

	p.press("Restore…")
	p.wants("Restore " + bought.E164 + "?")
	p.fill("The number, to confirm", "restore")
	p.press("Restore the number")
	wrong("must be the number")
	if held().ReleaseAt == nil {
		t.Error("the number was restored without being typed")
	}
	p.b.Screenshot("settings-number-restore")
	p.fill("The number, to confirm", bought.E164)
	p.press("Restore the number")
	p.wants("Number " + bought.E164)
	notice(bought.E164 + " is in use again.")
	if n := held(); n.ReleaseAt != nil || n.ID != bought.ID || n.Name != "Night line" {
		t.Errorf("restored is %+v", n)
	}
	for _, complaint := range p.b.Complaints(w.url) {
		// The browser logs the status of a form with faults, and of its request for an icon.
		if !strings.Contains(complaint, "is answered with 422") && !strings.Contains(complaint, "favicon.ico") &&
			!strings.Contains(complaint, "status of 422") {
			t.Error(complaint)
		}
	}
}
