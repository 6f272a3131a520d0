package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// If somebody outside presents or guesses a secret, the response time does not reveal how much of it was
// right.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	// The gateway compares these provider tokens with its own copies. Nobody outside chooses either.
	own := []string{
		"client.go: answer.Refresh == refresh", "renewal.go: e.access != refused",
		"renewal.go: r.entry.access != refused",
		"tokensource.go: e.access == refused", "stored.go: stored.Access != refused",
	}
	for _, folder := range []string{
		"api", "apikey", "apply", "connection", "consent", "link", "oauth", "sealing", "secret", "tenant",
		"upstream", "vault",
	} {
		found, err := Comparisons(filepath.Join(top, "core", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range found {
			if folder == "oauth" && slices.Contains(own, at) {
				continue
			}
			t.Errorf("core/%s/%s: use crypto/subtle", folder, at)
		}
	}
}

func TestComparisonsAreFound(t *testing.T) {
	for code, want := range map[string]bool{
		"given == secret":                         true,
		"r.Token != given":                        true,
		"bytes.Equal(hashOf(given), row.Browser)": true,
		"strings.EqualFold(a.Password, given)":    true,
		"string(row.Hash) == given":               true,
		`values["client_secret"] == given`:        true,
		"checksum(given) == given[:6]":            true,
		`secret == ""`:                            false,
		"secret == nil":                           false,
		"len(token) == 43":                        false,
		"subtle.ConstantTimeCompare(a, secret)":   false,
		"given == name":                           false,
	} {
		folder := t.TempDir()
		source := "package p\n\nvar _ = " + code + "\n"
		if err := os.WriteFile(filepath.Join(folder, "a.go"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Comparisons(folder)
		if err != nil || (len(found) == 1) != want {
			t.Errorf("%s: %v %s", code, err, strings.Join(found, ", "))
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.go"),
		[]byte("package p\n\nfunc f() { switch token { case given: case \"\": } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := Comparisons(folder); err != nil || len(found) != 1 {
		t.Errorf("a switch: %v %q", err, found)
	}
}
