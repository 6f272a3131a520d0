package vault

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"frontdesk/core/fault"
)

// kek is a key-encryption key in memory. It counts its calls, and can fail or never answer.
type kek struct {
	tink.AEAD

	mu      sync.Mutex
	calls   int
	failure error
	hangs   bool
}

func newKEK(t *testing.T) *kek {
	t.Helper()
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	cipher, err := aead.New(handle)
	if err != nil {
		t.Fatal(err)
	}
	return &kek{AEAD: cipher}
}

func (*kek) String() string { return "kek://one" }

func (k *kek) becomes(failure error, hangs bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failure, k.hangs = failure, hangs
}

func (k *kek) called() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

func (k *kek) wait(ctx context.Context) error {
	k.mu.Lock()
	k.calls++
	failure, hangs := k.failure, k.hangs
	k.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return failure
}

func (k *kek) EncryptWithContext(ctx context.Context, plaintext, associatedData []byte) ([]byte, error) {
	if err := k.wait(ctx); err != nil {
		return nil, err
	}
	return k.Encrypt(plaintext, associatedData)
}

func (k *kek) DecryptWithContext(ctx context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	if err := k.wait(ctx); err != nil {
		return nil, err
	}
	return k.Decrypt(ciphertext, associatedData)
}

func openEncrypted(t *testing.T, source, dir string, k KEK) *Vault {
	t.Helper()
	v, err := OpenEncrypted(t.Context(), Options{Source: source, DataDir: dir, KEK: k})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantNotOpened(t *testing.T, o Options, says string) {
	t.Helper()
	_, err := OpenEncrypted(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
	if err != nil && strings.Contains(err.Error(), "AesGcmKey") {
		t.Errorf("the error quotes the key set: %v", err)
	}
}

// The gateway makes its first key set encrypted, and asks the service once each time it starts.
func TestNoCallWaitsForTheService(t *testing.T) {
	dir, k := t.TempDir(), newKEK(t)
	openEncrypted(t, "", dir, k)
	if k.called() != 2 { // written, and read
		t.Errorf("the service was called %d times", k.called())
	}
	v := openEncrypted(t, "", dir, k)
	k.becomes(errors.New("down"), false)
	for range 100 {
		unseals(t, v, "t", "c", seal(t, v, "t", "c"))
	}
	if k.called() != 3 {
		t.Errorf("the service was called %d times", k.called())
	}
}

// Two replicas serve while a command rotates. Neither fails to open a row, however late it notices.
func TestReplicasFollowARotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, k := t.TempDir(), newKEK(t)
		quick, late := openEncrypted(t, "", dir, k), openEncrypted(t, "", dir, k)
		command := openEncrypted(t, "", dir, k)
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { quick.Follow(ctx, slog.New(slog.DiscardHandler)) })
		added, err := command.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		row := seal(t, command, "t", "c")
		if id := KeyOf(seal(t, late, "t", "c")); id == added.ID {
			t.Error("the replica asked the service while it sealed")
		}
		unseals(t, late, "t", "c", row)
		if id := KeyOf(seal(t, late, "t", "c")); id != added.ID {
			t.Errorf("the replica seals with %d, not with the new %d", id, added.ID)
		}
		time.Sleep(2 * lookEvery) // of the bubble
		before := k.called()
		unseals(t, quick, "t", "c", row)
		if id := KeyOf(seal(t, quick, "t", "c")); id != added.ID || k.called() != before {
			t.Errorf("the replica that follows seals with %d after %d calls", id, k.called()-before)
		}
		stop()
		work.Wait()
	})
}

// If the service is down when the key set changes, the replica goes on with its keys. A call that needs the
// new key fails in bounded time, and those after it at once. When the service is back, all is well.
func TestARotationWhileTheServiceIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, k := t.TempDir(), newKEK(t)
		v, command := openEncrypted(t, "", dir, k), openEncrypted(t, "", dir, k)
		old := seal(t, v, "t", "c")
		if _, err := command.Rotate(); err != nil {
			t.Fatal(err)
		}
		row := seal(t, command, "t", "c")
		k.becomes(nil, true)
		for i, atMost := range []time.Duration{callWait, 0, 0} {
			from := time.Now()
			_, err := v.Unseal("t", "c", row)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Reason != ReasonUnreadable ||
				f.Code != fault.Unavailable {
				t.Fatalf("got %v", err)
			}
			if took := time.Since(from); took > atMost {
				t.Errorf("call %d took %s", i, took)
			}
		}
		unseals(t, v, "t", "c", old)
		unseals(t, v, "t", "c", seal(t, v, "t", "c"))
		k.becomes(nil, false)
		time.Sleep(failFor) // of the bubble
		unseals(t, v, "t", "c", row)
	})
}

// Many calls need the new key at once: one asks the service.
func TestCallsShareOneReading(t *testing.T) {
	dir, k := t.TempDir(), newKEK(t)
	v, command := openEncrypted(t, "", dir, k), openEncrypted(t, "", dir, k)
	if _, err := command.Rotate(); err != nil {
		t.Fatal(err)
	}
	row, before := seal(t, command, "t", "c"), k.called()
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() { unseals(t, v, "t", "c", row) })
	}
	calls.Wait()
	if asked := k.called() - before; asked != 1 {
		t.Errorf("the service was called %d times", asked)
	}
}

func TestFollowLogsAFailureOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, k := t.TempDir(), newKEK(t)
		v, command := openEncrypted(t, "", dir, k), openEncrypted(t, "", dir, k)
		if _, err := command.Rotate(); err != nil {
			t.Fatal(err)
		}
		k.becomes(errors.New("no right"), false)
		before := k.called()
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { v.Follow(ctx, slog.New(slog.NewTextHandler(&log, nil))) })
		time.Sleep(time.Minute) // of the bubble
		stop()
		work.Wait()
		if n := strings.Count(log.String(), "no right"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		if asked, most := k.called()-before, int(time.Minute/failFor); asked < most/2 || asked > most {
			t.Errorf("the service was called %d times", asked)
		}
	})
}

func TestAKeySetInTheOtherFormIsRefused(t *testing.T) {
	dir, k := t.TempDir(), newKEK(t)
	v := open(t, "", dir)
	clear, encrypted := filepath.Join(dir, fileName), filepath.Join(dir, "elsewhere.json")
	if err := v.Copy(t.Context(), encrypted, k); err != nil {
		t.Fatal(err)
	}
	wantNotOpened(t, Options{Source: "file:" + clear, KEK: k}, "keyset copy --kms kek://one FILE")
	wantNotOpened(t, Options{Source: "file:" + encrypted}, "it is encrypted; name the key")
	wantNotOpened(t, Options{DataDir: dir, KEK: k}, "frontdesk keyset copy")
	if _, err := os.Stat(filepath.Join(dir, encryptedName)); err == nil {
		t.Error("a new key set was made beside the one in cleartext")
	}
	if err := os.Remove(clear); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(encrypted, filepath.Join(dir, encryptedName)); err != nil {
		t.Fatal(err)
	}
	wantNotOpened(t, Options{DataDir: dir}, "frontdesk keyset copy")
}

func TestAKeySetThatWasChangedIsRefused(t *testing.T) {
	dir, k := t.TempDir(), newKEK(t)
	openEncrypted(t, "", dir, k)
	path := filepath.Join(dir, encryptedName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []struct {
		name, text, says string
	}{
		{"tampered", strings.Replace(string(raw), `"encryptedKeyset":"A`, `"encryptedKeyset":"B`, 1), "decrypt"},
		{"empty", "{}", "it is not an encrypted Tink key set in JSON"},
		{"no JSON", "x", "it is not an encrypted Tink key set in JSON"},
	} {
		t.Run(rule.name, func(t *testing.T) {
			if rule.text == string(raw) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(path, []byte(rule.text), 0o600); err != nil {
				t.Fatal(err)
			}
			wantNotOpened(t, Options{DataDir: dir, KEK: k}, rule.says)
		})
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	wantNotOpened(t, Options{DataDir: dir, KEK: newKEK(t)}, "decrypt")
	openEncrypted(t, "", dir, k)
}

func TestACopyIsProvedAndOverwritesNothing(t *testing.T) {
	dir, k := t.TempDir(), newKEK(t)
	v := open(t, "", dir)
	path := filepath.Join(dir, "copy.json")
	err := v.Copy(t.Context(), filepath.Join(dir, fileName), k)
	if err == nil || !strings.Contains(err.Error(), "is there") {
		t.Errorf("got %v", err)
	}
	k.becomes(errors.New("no right"), false)
	if err := v.Copy(t.Context(), path, k); err == nil || !strings.Contains(err.Error(), "no right") {
		t.Errorf("got %v", err)
	}
	k.becomes(nil, false)
	err = v.Copy(t.Context(), path, corrupting{k})
	if err == nil || !strings.Contains(err.Error(), "could not be read, so it was not written") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a copy was written")
	}
}

// corrupting encrypts to what cannot be decrypted.
type corrupting struct{ *kek }

func (c corrupting) EncryptWithContext(context.Context, []byte, []byte) ([]byte, error) {
	text := make([]byte, 64)
	_, err := io.ReadFull(rand.Reader, text)
	return text, err
}

// What Tink's command line writes is read: the same bytes without associated data.
func TestTheFormIsThatOfTink(t *testing.T) {
	k := newKEK(t)
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := handle.Write(keyset.NewJSONWriter(&text), k.AEAD); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tinkey.json")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	v := openEncrypted(t, "file:"+path, "", k)
	if want := keysOf(handle); !slices.Equal(v.Status(), want) {
		t.Errorf("the keys are %v, want %v", v.Status(), want)
	}
}
