package kms_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"frontdesk/core/kms"
	"frontdesk/core/kms/kmstest"
	"frontdesk/core/vault"
)

var credentials = map[string]string{"password": "correct horse"}

func openKey(t *testing.T, s *kmstest.Service) *kms.Key {
	t.Helper()
	key, err := kms.Open(s.Key("one"), kms.Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// openKeySet opens the key set of a directory, in cleartext if key is nil.
func openKeySet(t *testing.T, dir string, key vault.KEK) *vault.Vault {
	t.Helper()
	v, err := vault.OpenEncrypted(t.Context(), vault.Options{DataDir: dir, KEK: key})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func seal(t *testing.T, v *vault.Vault) []byte {
	t.Helper()
	sealed, err := v.Seal("t", "c", credentials)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func unseals(t *testing.T, v *vault.Vault, sealed []byte) {
	t.Helper()
	if got, err := v.Unseal("t", "c", sealed); err != nil || !maps.Equal(got, credentials) {
		t.Errorf("unsealed %v, %v", got, err)
	}
}

// A key set moves from cleartext to a key management service and back, while what was sealed stays readable.
func TestAKeySetMovesToAServiceAndBack(t *testing.T) {
	for _, s := range kmstest.All(t) {
		t.Run(s.Kind, func(t *testing.T) {
			key, dir := openKey(t, s), t.TempDir()
			clear, encrypted := filepath.Join(dir, "keyset.json"), filepath.Join(dir, "keyset.encrypted.json")
			before := openKeySet(t, dir, nil)
			first := seal(t, before)
			if err := before.Copy(t.Context(), encrypted, key); err != nil {
				t.Fatal(err)
			}
			wantNoKeyOf(t, clear, encrypted)
			v := openKeySet(t, dir, key)
			unseals(t, v, first)
			if v.Cleartext() != clear {
				t.Errorf("the key set in cleartext is %q", v.Cleartext())
			}
			if err := os.Remove(clear); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Rotate(); err != nil {
				t.Fatal(err)
			}
			second := seal(t, openKeySet(t, dir, key))
			if err := v.Copy(t.Context(), clear, nil); err != nil {
				t.Fatal(err)
			}
			wantNoKeyOf(t, clear, encrypted)
			if err := os.Remove(encrypted); err != nil {
				t.Fatal(err)
			}
			after := openKeySet(t, dir, nil)
			unseals(t, after, first)
			unseals(t, after, second)
		})
	}
}

// wantNoKeyOf fails the test if the encrypted file holds a key of the one in cleartext, or others may read it.
func wantNoKeyOf(t *testing.T, clear, encrypted string) {
	t.Helper()
	text, err := os.ReadFile(clear)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(encrypted)
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`"value": *"([^"]{40,})"`).FindAllSubmatch(text, -1)
	if len(keys) == 0 {
		t.Errorf("%s holds no key", clear)
	}
	for _, key := range keys {
		if bytes.Contains(raw, key[1]) {
			t.Errorf("%s holds a key in cleartext", encrypted)
		}
	}
	if info, err := os.Stat(encrypted); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of %s: %v, %v", encrypted, info.Mode(), err)
	}
}

// A rotation that cannot be encrypted leaves the key set as it was.
func TestARotationThatCannotBeWritten(t *testing.T) {
	for _, s := range kmstest.All(t) {
		t.Run(s.Kind, func(t *testing.T) {
			key, dir := openKey(t, s), t.TempDir()
			v := openKeySet(t, dir, key)
			if name, err := v.Encryption(t.Context()); name != s.Key("one") || err != nil {
				t.Errorf("encrypted with %s, %v", name, err)
			}
			before := seal(t, v)
			s.Fail(kmstest.DeniedWrites)
			if _, err := v.Encryption(t.Context()); err == nil {
				t.Error("the service seems to encrypt")
			}
			if _, err := v.Rotate(); err == nil || !strings.Contains(err.Error(), "may not use the key") {
				t.Errorf("got %v", err)
			}
			if v.Interrupted() != "" || len(v.Status()) != 1 {
				t.Errorf("%s is left, and the keys are %v", v.Interrupted(), v.Status())
			}
			unseals(t, openKeySet(t, dir, key), before)
			s.Fail(kmstest.None)
			if _, err := v.Rotate(); err != nil {
				t.Error(err)
			}
		})
	}
}
