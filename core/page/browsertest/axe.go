package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Auditor finds barriers in pages: whatever axe-core's rules see, those of WCAG 2.2 and the best practices.
// Create it with [NewAuditor].
type Auditor struct{ script string }

// NewAuditor returns an Auditor. Without the npm package axe-core, the test is skipped; see [Package].
func NewAuditor(t testing.TB) Auditor {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(Package(t, "axe-core"), "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return Auditor{string(script)}
}

// Barriers returns what is wrong with the page that the browser shows: the rule, how serious its breach is,
// and the elements. With names of rules, it tries only those. The script comes over the DevTools Protocol, so
// that the page's Content-Security-Policy stays as it is.
func (a Auditor) Barriers(b *Browser, rules ...string) []string {
	b.t.Helper()
	only := ""
	if len(rules) > 0 {
		only = fmt.Sprintf(", runOnly: {type: 'rule', values: ['%s']}", strings.Join(rules, "', '"))
	}
	var found []string
	var there bool
	if b.Eval(`typeof axe === 'object'`, &there); !there {
		// The pages that come after this one have it, too: the browser then reads and compiles it once.
		b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": a.script, "runImmediately": true}, nil)
	}
	b.Eval(`axe.run(document, {preload: false, resultTypes: ['violations']`+only+`}).then(done => done.violations.map(v =>
		v.id + ' (' + v.impact + '): ' + v.help + ': ' + v.nodes.map(n => n.html + ' ' + n.any.concat(n.all, n.none).map(c => c.message)).join('\n\t')))`,
		&found)
	return found
}

// Check fails the test for each barrier of the page that the browser shows, in a wide window and light, and
// in a narrow one and dark, where colours, sizes and neighbours differ. In each, it calls what else there is to check.
func (a Auditor) Check(b *Browser, name string, also ...func(look string)) {
	b.t.Helper()
	for _, look := range []struct {
		name          string
		width, height int
		scheme        string
		rules         []string
	}{
		{"wide-light", 1280, 900, "light", nil},
		{"narrow-dark", 320, 740, "dark", []string{"color-contrast", "link-in-text-block", "target-size"}},
	} {
		b.Look(look.width, look.height, look.scheme)
		for _, barrier := range a.Barriers(b, look.rules...) {
			b.t.Errorf("%s, %s: %s", name, look.name, barrier)
		}
		for _, check := range also {
			check(look.name)
		}
	}
}
