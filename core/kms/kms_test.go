package kms

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/kms/kmstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, s *kmstest.Service, uri string) *Key {
	t.Helper()
	key, err := Open(uri, Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestEachServiceEncryptsAndDecrypts(t *testing.T) {
	for _, s := range kmstest.All(t) {
		t.Run(s.Kind, func(t *testing.T) {
			key := open(t, s, s.Key("one"))
			sealed, err := key.EncryptWithContext(t.Context(), []byte("the keys"), []byte("of whom"))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := key.DecryptWithContext(t.Context(), sealed, []byte("of whom"))
			if err != nil || string(plain) != "the keys" {
				t.Errorf("got %q, %v", plain, err)
			}
			if strings.Contains(string(sealed), "the keys") {
				t.Error("it is not encrypted")
			}
			if encrypted, decrypted := s.Calls(); encrypted != 1 || decrypted != 1 {
				t.Errorf("the service was called %d and %d times", encrypted, decrypted)
			}
			if key.String() != s.Key("one") {
				t.Errorf("the key is called %s", key)
			}
		})
	}
}

// Whatever fails, the error says what it was and what to do, and no secret.
func TestErrorsSayWhatToDo(t *testing.T) {
	const says, advises = 0, 1
	for _, s := range kmstest.All(t) {
		key := open(t, s, s.Key("one"))
		sealed, err := key.EncryptWithContext(t.Context(), []byte("the keys"), nil)
		if err != nil {
			t.Fatal(err)
		}
		changed := append([]byte{}, sealed...)
		changed[len(changed)-1] ^= 1
		if s.Kind == "vault" { // whose ciphertext is text
			changed = append(sealed[:len(sealed)-5:len(sealed)-5], "AAAA="...)
		}
		for _, rule := range []struct {
			name   string
			fault  kmstest.Fault
			uri    string
			sealed []byte
			want   [2]string
		}{
			{"denied", kmstest.Denied, s.Key("one"), sealed, [2]string{"may not use the key", "ecrypt"}},
			{"credentials", kmstest.Unknown, s.Key("one"), sealed, [2]string{"no credentials that", "Give "}},
			{"disabled", kmstest.Disabled, s.Key("one"), sealed, [2]string{"is disabled", "Enable it"}},
			{"unavailable", kmstest.Unavailable, s.Key("one"), sealed, [2]string{"cannot answer now", "Try again"}},
			{"no such key", kmstest.None, s.Absent(), sealed, [2]string{"knows no such key", "secrets.kms.key"}},
			{"another key", kmstest.None, s.Key("two"), sealed, [2]string{"not encrypted with this key", "restore"}},
			{"tampered", kmstest.None, s.Key("one"), changed, [2]string{"or it was changed", "restore"}},
		} {
			if s.Kind == "vault" && rule.fault == kmstest.Disabled {
				continue // its keys have no such state
			}
			t.Run(s.Kind+" "+rule.name, func(t *testing.T) {
				s.Fail(rule.fault)
				defer s.Fail(kmstest.None)
				_, err := open(t, s, rule.uri).DecryptWithContext(t.Context(), rule.sealed, nil)
				wantError(t, s, err, rule.uri, rule.want[says], rule.want[advises])
			})
		}
		t.Run(s.Kind+" may decrypt only", func(t *testing.T) {
			s.Fail(kmstest.DeniedWrites)
			defer s.Fail(kmstest.None)
			if _, err := key.DecryptWithContext(t.Context(), sealed, nil); err != nil {
				t.Error(err)
			}
			_, err := key.EncryptWithContext(t.Context(), []byte("x"), nil)
			wantError(t, s, err, s.Key("one"), "may not use the key", "ncrypt")
		})
		t.Run(s.Kind+" hangs", func(t *testing.T) {
			s.Fail(kmstest.Hanging)
			defer s.Fail(kmstest.None)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := key.DecryptWithContext(ctx, sealed, nil)
			wantError(t, s, err, s.Key("one"), "did not answer in time", "a proxy")
		})
	}
}

func wantError(t *testing.T, s *kmstest.Service, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
	for _, secret := range s.Secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a secret is in: %v", err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	for _, s := range kmstest.All(t) {
		t.Run(s.Kind, func(t *testing.T) {
			o, uri := Options{URL: "http://127.0.0.1:1"}, s.Key("one")
			key, err := Open(uri, o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = key.EncryptWithContext(t.Context(), []byte("x"), nil)
			wantError(t, s, err, uri, "cannot be reached", "127.0.0.1:1", "secrets.kms.url")
		})
	}
}

func TestNoCredentialsAtAll(t *testing.T) {
	for _, s := range kmstest.All(t) {
		t.Run(s.Kind, func(t *testing.T) {
			for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "VAULT_TOKEN"} {
				t.Setenv(name, "")
			}
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none")
			_, err := open(t, s, s.Key("one")).EncryptWithContext(t.Context(), []byte("x"), nil)
			wantError(t, s, err, "there are no credentials", "Give ")
		})
	}
}

// A token of Vault ends, and an agent writes another one.
func TestTheTokenOfVaultIsReadForEachCall(t *testing.T) {
	s := kmstest.Vault(t)
	token := "old"
	key, err := Open(s.Key("one"), Options{VaultToken: func() (string, error) { return token, nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = key.EncryptWithContext(t.Context(), []byte("x"), nil)
	wantError(t, s, err, "there are no credentials", "secrets.kms.vault_token")
	token = s.Secrets[0]
	if _, err := key.EncryptWithContext(t.Context(), []byte("x"), nil); err != nil {
		t.Error(err)
	}
}

func TestOtherNamesAreRefused(t *testing.T) {
	for _, uri := range []string{"", "aws-kms://", "azure-kv://vault/keys/k", "file:keyset.json"} {
		if key, err := Open(uri, Options{}); err == nil {
			t.Errorf("%q is %s", uri, key)
		}
	}
}
