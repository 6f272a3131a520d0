package settingspage_test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

var update = flag.Bool("update", false, "take the pictures in the README again")

// The README has pictures of the overview and of the story of a request, which are small enough for it. They
// are taken again by
//
//	go test ./core/settingspage -run Pictures -update
func TestPicturesInTheREADME(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", ".github")
	if *update {
		takePictures(t, folder)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"overview.png", "request.png"} {
		picture, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil || len(picture) > 150_000 {
			t.Errorf("%s has %d bytes: %v", name, len(picture), err)
		}
		if !strings.Contains(string(readme), `src=".github/`+name+`"`) {
			t.Errorf("the README does not show %s", name)
		}
	}
}

func takePictures(t *testing.T, folder string) {
	t.Helper()
	w := start(t, sqlite(t))
	for _, name := range []string{"acme-dental", "harbour-hotel", "northern-lights-spa"} {
		w.tenant(name)
	}
	key := func(tenant string) string {
		made, err := w.g.Admin().CreateKey(t.Context(), apikey.Caller{}, admin.Write{}, admin.NewKey{Tenant: tenant})
		if err != nil {
			t.Fatal(err)
		}
		return made.Record.Secret
	}
	w.ask(key("acme-dental"), "/v1/calendar/book-meeting", `{"title": "Check-up (sandbox:reply_lost)",
		"start_time": "2026-12-01T10:00:00Z", "end_time": "2026-12-01T10:30:00Z"}`, "Idempotency-Key", "call-7f3c")
	broken := admin.ConnectionChange{ConnectionName: admin.ConnectionName{Tenant: "harbour-hotel",
		Name: "harbour-hotel"}}
	broken.Settings = map[string]any{"fault": "revoked"}
	if _, err := w.g.Admin().ChangeConnection(t.Context(), apikey.Caller{}, broken); err != nil {
		t.Fatal(err)
	}
	if _, err := w.g.Admin().VerifyConnection(t.Context(), apikey.Caller{}, broken.ConnectionName); err != nil {
		t.Fatal(err)
	}
	w.g.Close() // which writes the log of requests
	w.open()

	p := person{w, browsertest.StartDrawing(t)}
	p.b.Look(1120, 700, "light")
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat@example.com"}))
	p.press("Sign in")
	take := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), p.b.Picture(false), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	take("overview.png")
	p.b.Open(w.url + "/settings/tenants/acme-dental/requests")
	p.b.Loading(func() { p.b.Eval(`document.querySelector('tbody a').click()`, nil) })
	take("request.png")
}
