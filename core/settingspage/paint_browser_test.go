package settingspage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// BenchmarkFirstPaint measures how long after the request a person sees something (first contentful paint,
// the median), on loopback: of the overview of 51 tenants, of the page with the most bytes beside it, and of
// a page with a single word.
//
//	go test ./core/settingspage -run '^$' -bench FirstPaint -benchtime 30x
func BenchmarkFirstPaint(b *testing.B) {
	w := start(b, sqlite(b))
	key := w.tenant("acme")
	for i := range 50 {
		spec := admin.TenantSpec{Name: fmt.Sprintf("customer-%d", i)}
		if _, err := w.g.Admin().CreateTenant(b.Context(), apikey.Caller{}, admin.Write{}, spec); err != nil {
			b.Fatal(err)
		}
	}
	request := w.busy("acme")
	word := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><title>Frontdesk</title>Frontdesk"))
	}))
	b.Cleanup(word.Close)
	longest, most, operator := "", 0, w.signedIn(signin.NewLink{})
	for _, path := range w.pages(true, "acme", "acme", key, request) {
		if n := len(operator.get(path).body); n > most && path != "/settings" {
			longest, most = path, n
		}
	}
	p := person{w, browsertest.StartDrawing(b)}
	p.b.Open(w.url + w.link(signin.NewLink{}))
	p.press("Sign in")
	pages := map[string]string{"overview": w.url + "/settings", "longest": w.url + longest, "word": word.URL}
	took := map[string][]float64{}
	for b.Loop() {
		for name, url := range pages {
			p.b.Open(url)
			var at float64
			p.b.Eval(`new Promise(done => new PerformanceObserver(all => all.getEntriesByName('first-contentful-paint').forEach(e => done(e.startTime)))
				.observe({type: 'paint', buffered: true}))`, &at)
			took[name] = append(took[name], at)
		}
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return took[name][len(took[name])/2]
	}
	b.Logf("the longest page is %s, with %d bytes", longest, most)
	b.ReportMetric(median("overview"), "overview-ms")
	b.ReportMetric(median("longest"), "longest-ms")
	b.ReportMetric(median("overview")/median("word"), "overview/word")
	b.ReportMetric(median("longest")/median("word"), "longest/word")
}
