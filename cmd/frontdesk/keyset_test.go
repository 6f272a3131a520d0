package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/kms/kmstest"
)

// servedBy returns the variables by which a process finds the service, which has set them in this one.
func servedBy(s *kmstest.Service) []string {
	var found []string
	for _, variable := range os.Environ() {
		for _, prefix := range []string{"AWS_", "GOOGLE_", "VAULT_"} {
			if strings.HasPrefix(variable, prefix) {
				found = append(found, variable)
			}
		}
	}
	if s.URL != "" {
		found = append(found, "FRONTDESK_SECRETS__KMS__URL="+s.URL)
	}
	return found
}

// A gateway with its key set in a file moves to a key management service and back. One gateway or the other
// serves all the time, on one database, as replicas do; whichever does opens what the other has sealed.
func TestTheKeySetMovesToAServiceWithoutAPause(t *testing.T) {
	s := kmstest.AWS(t)
	clear := newDeployment(t, "", append(longDeadlines(), servedBy(s)...)...)
	first, c := demo(t, clear)
	body, key := bookingAt(1)
	booked := c.post(200, "calendar/book-meeting", body, key)
	dir := filepath.Dir(clear.databaseFile())

	clear.must("keyset", "copy", "--kms", s.Key("one"), filepath.Join(dir, "keyset.encrypted.json"))
	clear.wantFailure("is there, and is not overwritten", "keyset", "copy", "--cleartext",
		filepath.Join(dir, "keyset.json"))
	encrypted := *clear
	encrypted.environ = append(slices.Clone(clear.environ), "FRONTDESK_SECRETS__KEYSET="+s.Key("one"))
	second := encrypted.serve() // while the first serves
	first.stop()
	repeat := second.as(c.key)
	if again := repeat.post(200, "calendar/book-meeting", body, key); string(again.body) != string(booked.body) {
		t.Errorf("the booking is answered anew: %s", again.body)
	}
	if out := encrypted.must("doctor"); !strings.Contains(out, "holds the keys in cleartext") ||
		!strings.Contains(out, "it is encrypted with "+s.Key("one")) {
		t.Errorf("the doctor says:\n%s", out)
	}
	if err := os.Remove(filepath.Join(dir, "keyset.json")); err != nil {
		t.Fatal(err)
	}
	encrypted.must("keyset", "rotate") // while it serves
	body, key = bookingAt(2)
	repeat.post(200, "calendar/book-meeting", body, key)
	copied := filepath.Join(t.TempDir(), "frontdesk.backup")
	encrypted.must("backup", copied)
	encrypted.wantFailure("is in use", "restore", copied) // only once the copy was proven with the key

	s.Fail(kmstest.DeniedWrites)
	if out := encrypted.must("doctor"); !strings.Contains(out, "cannot be encrypted anew") ||
		!strings.Contains(out, "kms:Encrypt") {
		t.Errorf("the doctor says:\n%s", out)
	}
	s.Fail(kmstest.Denied)
	out, _, code := encrypted.do("", "doctor")
	if code != exitFailed || !strings.Contains(out, "may not use the key") || !strings.Contains(out, "kms:Decrypt") {
		t.Errorf("the doctor: exit %d\n%s", code, out)
	}
	encrypted.wantFailure("may not use the key", "serve")
	nowhere := encrypted
	nowhere.environ = append(slices.Clone(encrypted.environ), "FRONTDESK_SECRETS__KMS__URL=http://127.0.0.1:1")
	if out, _, code := nowhere.do("", "doctor"); code != exitFailed || !strings.Contains(out, "cannot be reached") {
		t.Errorf("the doctor: exit %d\n%s", code, out)
	}
	body, key = bookingAt(3)
	repeat.post(200, "calendar/book-meeting", body, key) // the gateway that serves needs the service no more
	s.Fail(kmstest.None)

	encrypted.must("keyset", "copy", "--cleartext", filepath.Join(dir, "keyset.json"))
	if err := os.Rename(filepath.Join(dir, "keyset.encrypted.json"), filepath.Join(t.TempDir(), "old")); err != nil {
		t.Fatal(err)
	}
	third := clear.serve()
	second.stop()
	c = third.as(c.key)
	if again := c.post(200, "calendar/book-meeting", body, key); again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the booking is answered anew: %s", again.body)
	}
	clear.wantSound()
	for _, secret := range s.Secrets {
		for _, r := range []*running{first, second, third} {
			if strings.Contains(r.log(), secret) {
				t.Error("a log holds a secret")
			}
		}
	}
}
