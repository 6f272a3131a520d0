package vault

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/fault"
)

const canary = "canary-7f3a"

func credentials() map[string]string {
	return map[string]string{"username": "desk@acme.example", "password": canary}
}

func open(t *testing.T, source, dir string) *Vault {
	t.Helper()
	v, err := Open(source, dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func seal(t *testing.T, v *Vault, tenant, connection string) []byte {
	t.Helper()
	sealed, err := v.Seal(tenant, connection, credentials())
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func unseals(t *testing.T, v *Vault, tenant, connection string, sealed []byte) {
	t.Helper()
	got, err := v.Unseal(tenant, connection, sealed)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, credentials()) {
		t.Errorf("unsealed %v", got)
	}
}

func TestSealedIsOpenedByItsOwnTenantAndConnectionOnly(t *testing.T) {
	v := open(t, "", t.TempDir())
	sealed := seal(t, v, "t1", "c1")
	unseals(t, v, "t1", "c1", sealed)
	if bytes.Contains(sealed, []byte(canary)) {
		t.Error("the credentials can be read in what was sealed")
	}
	if again := seal(t, v, "t1", "c1"); bytes.Equal(again, sealed) {
		t.Error("sealing twice gives the same, so that equal credentials can be told")
	}
	changed := slices.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for _, rule := range []struct {
		name, tenant, connection string
		sealed                   []byte
	}{
		{"another tenant", "t2", "c1", sealed},
		{"another connection", "t1", "c2", sealed},
		{"both swapped", "c1", "t1", sealed},
		{"the border between the ids moved", "t", "1c1", sealed},
		{"a line break in an id", "t1\n" + "c1", "", sealed},
		{"changed", "t1", "c1", changed},
		{"shortened", "t1", "c1", sealed[:len(sealed)-1]},
		{"a key that is not known", "t1", "c1", append([]byte{1, 0, 0, 0, 9}, sealed[5:]...)},
		{"no ciphertext", "t1", "c1", []byte(canary)},
	} {
		t.Run(rule.name, func(t *testing.T) {
			got, err := v.Unseal(rule.tenant, rule.connection, rule.sealed)
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.Unavailable || f.Reason != ReasonUnreadable || !f.Unsent ||
				got != nil {
				t.Errorf("got %v, %v", got, err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}

func TestNoCredentialsAreSealedAsNothing(t *testing.T) {
	v := open(t, "", t.TempDir())
	sealed, err := v.Seal("t", "c", nil)
	if err != nil || sealed != nil {
		t.Errorf("Seal = %v, %v", sealed, err)
	}
	got, err := v.Unseal("t", "c", nil)
	if err != nil || got != nil {
		t.Errorf("Unseal = %v, %v", got, err)
	}
}

func TestKeySetIsMadeOnceAndForItsOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	sealed := seal(t, open(t, "", dir), "t", "c")
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o", info.Mode().Perm())
	}
	unseals(t, open(t, "", dir), "t", "c", sealed)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
}

func TestProcessesThatStartAtOnceShareOneKeySet(t *testing.T) {
	dir := t.TempDir()
	var opened [8]*Vault
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range opened {
		done.Go(func() {
			start.Wait()
			v, err := Open("", dir)
			if err != nil {
				t.Error(err)
			}
			opened[i] = v
		})
	}
	start.Done()
	done.Wait()
	for _, v := range opened {
		if v == nil || v.Status()[0].ID != opened[0].Status()[0].ID {
			t.Fatal("two processes have different keys")
		}
	}
}

func TestKeySetThatOthersCanReadIsRefused(t *testing.T) {
	for _, rule := range []struct {
		mode    fs.FileMode
		ours    bool // in the data directory, rather than given as file:PATH
		refused bool
	}{
		{0o600, true, false}, {0o400, true, false}, {0o640, true, true}, {0o604, true, true}, {0o620, true, true},
		{0o600, false, false}, {0o440, false, false}, {0o640, false, false}, {0o644, false, true},
		{0o660, false, true}, {0o602, false, true},
	} {
		t.Run(fmt.Sprintf("%04o %t", rule.mode, rule.ours), func(t *testing.T) {
			dir := t.TempDir()
			open(t, "", dir)
			path := filepath.Join(dir, fileName)
			if err := os.Chmod(path, rule.mode); err != nil {
				t.Fatal(err)
			}
			source := "file:" + path
			if rule.ours {
				source = ""
			}
			_, err := Open(source, dir)
			if refused := err != nil; refused != rule.refused {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "chmod 600 "+path) {
				t.Errorf("the error does not say what to do: %v", err)
			}
		})
	}
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	sealed := seal(t, open(t, "", dir), "t", "c")
	raw, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_KEYSET", string(raw))
	t.Setenv("TEST_NO_KEYSET", `{"primaryKeyId":1,"key":[{"keyData":{"value":"`+
		base64.StdEncoding.EncodeToString([]byte(canary))+canary+`"}}]}`)
	unseals(t, open(t, "env:TEST_KEYSET", t.TempDir()), "t", "c", sealed)
	unseals(t, open(t, "file:"+filepath.Join(dir, fileName), t.TempDir()), "t", "c", sealed)
	for _, rule := range []struct{ source, want string }{
		{"env:TEST_UNSET", "the variable TEST_UNSET, which should hold the key set, is not set"},
		{"env:TEST_NO_KEYSET", "the key set in the variable TEST_NO_KEYSET cannot be used: it is not a Tink key " +
			"set in cleartext JSON"},
		{"file:" + dir + "/none", "the key set cannot be read: stat " + dir + "/none: no such file or directory"},
		{canary, "a key set must be file:PATH or env:VAR; without either, it is a file in the data directory"},
	} {
		_, err := Open(rule.source, dir)
		if err == nil || err.Error() != rule.want {
			t.Errorf("%s: got %v, want %s", rule.source, err, rule.want)
		}
	}
}

func TestRotationKeepsWhatWasSealedReadable(t *testing.T) {
	v := open(t, "", t.TempDir())
	before := seal(t, v, "t", "c")
	added, err := v.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	after := seal(t, v, "t", "c")
	if KeyOf(before) == added.ID || KeyOf(after) != added.ID {
		t.Errorf("sealed with %d, then %d; the new key is %d", KeyOf(before), KeyOf(after), added.ID)
	}
	unseals(t, v, "t", "c", before)
	unseals(t, v, "t", "c", after)
	want := []Key{{ID: KeyOf(before)}, {ID: added.ID, Primary: true}}
	if got := v.Status(); !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

func TestRunningProcessNoticesARotation(t *testing.T) {
	dir := t.TempDir()
	server, command := open(t, "", dir), open(t, "", dir)
	added, err := command.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	unseals(t, server, "t", "c", seal(t, command, "t", "c"))
	if again := open(t, "", dir); len(again.Status()) != 2 {
		t.Errorf("keys %v", again.Status())
	}
	if id := KeyOf(seal(t, server, "t", "c")); id != added.ID {
		t.Errorf("the server seals with %d, not with the new %d", id, added.ID)
	}
	if primary, err := server.Primary(); err != nil || primary != added.ID {
		t.Errorf("primary %d, %v", primary, err)
	}
}

func TestRowsAreSealedWithANewKeySoon(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		server, command := open(t, "", dir), open(t, "", dir)
		time.Sleep(lookForRows)
		sealedWith := func() uint32 {
			sealed, err := server.SealRow(Row{Purpose: KeyRow}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return KeyOf(sealed)
		}
		first := sealedWith()
		added, err := command.Rotate()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookForRows)
		if then := sealedWith(); first == added.ID || then != added.ID {
			t.Errorf("sealed with %d, and after a rotation to %d with %d", first, added.ID, then)
		}
	})
}

func TestPruneKeepsWhatIsNeeded(t *testing.T) {
	v := open(t, "", t.TempDir())
	first := v.Status()[0].ID
	used := seal(t, v, "t", "c")
	second, err := v.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	third, err := v.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	fourth, err := v.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	dropped, err := v.Prune(func(id uint32) bool { return id == first })
	if err != nil || !slices.Equal(dropped, []uint32{second.ID}) {
		t.Errorf("dropped %v, %v; want the second key only", dropped, err)
	}
	unseals(t, v, "t", "c", used)
	want := []Key{{ID: first}, {ID: third.ID}, {ID: fourth.ID, Primary: true}}
	if got := v.Status(); !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	dropped, err = v.Prune(func(uint32) bool { return false })
	if err != nil || !slices.Equal(dropped, []uint32{first}) {
		t.Errorf("dropped %v, %v; want the first key only", dropped, err)
	}
	if _, err := v.Unseal("t", "c", used); !errors.Is(err, fault.Unavailable) {
		t.Errorf("a dropped key still opens: %v", err)
	}
}

func TestAPreparedKeySealsAfterTheNextRotation(t *testing.T) {
	v := open(t, "", t.TempDir())
	first := v.Status()[0].ID
	prepared, err := v.Prepare()
	if err != nil || prepared == first {
		t.Fatalf("prepared %d, %v", prepared, err)
	}
	if again, err := v.Prepare(); err != nil || again != prepared {
		t.Errorf("prepared %d again, %v; want %d", again, err, prepared)
	}
	if id := KeyOf(seal(t, v, "t", "c")); id != first {
		t.Errorf("%d seals, not the primary key %d", id, first)
	}
	if dropped, err := v.Prune(func(uint32) bool { return false }); err != nil || len(dropped) > 0 {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	if rotated, err := v.Rotate(); err != nil || rotated != (Key{ID: prepared, Primary: true}) {
		t.Errorf("rotated to %v, %v; want the prepared key %d", rotated, err, prepared)
	}
	if added, err := v.Rotate(); err != nil || added.ID == prepared || len(v.Status()) != 3 {
		t.Errorf("rotated to %v, %v; the keys are %v", added, err, v.Status())
	}
}

func TestRotationsAtOnceLoseNoKey(t *testing.T) {
	dir := t.TempDir()
	open(t, "", dir)
	var mu sync.Mutex
	var added []uint32
	var done sync.WaitGroup
	for range 8 {
		v := open(t, "", dir)
		done.Go(func() {
			key, err := v.Rotate()
			if err != nil {
				if !strings.Contains(err.Error(), "another rotation is running") {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			added = append(added, key.ID)
		})
	}
	done.Wait()
	var there []uint32
	for _, key := range open(t, "", dir).Status() {
		there = append(there, key.ID)
	}
	for _, id := range added {
		if !slices.Contains(there, id) {
			t.Errorf("the key %d of a rotation that succeeded is lost", id)
		}
	}
	if len(added) == 0 || len(there) != len(added)+1 {
		t.Errorf("%d rotations succeeded, and there are %d keys", len(added), len(there))
	}
}

func TestInterruptedRotationIsTold(t *testing.T) {
	dir := t.TempDir()
	v := open(t, "", dir)
	next := filepath.Join(dir, fileName+".next")
	if err := os.WriteFile(next, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Rotate(); err == nil || !strings.Contains(err.Error(), "remove "+next) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(next); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Rotate(); err != nil {
		t.Error(err)
	}
}

func TestRotationFollowsALinkAndKeepsTheMode(t *testing.T) {
	dir := t.TempDir()
	open(t, "", dir)
	real, link := filepath.Join(dir, fileName), filepath.Join(dir, "link.json")
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	v := open(t, "file:"+link, dir)
	if _, err := v.Rotate(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if info, err = os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if len(v.Status()) != 2 {
		t.Errorf("keys %v", v.Status())
	}
}

func TestKeySetInAVariableIsNotRotated(t *testing.T) {
	dir := t.TempDir()
	open(t, "", dir)
	raw, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_KEYSET", string(raw))
	v := open(t, "env:TEST_KEYSET", "")
	if _, err := v.Rotate(); err == nil ||
		!strings.Contains(err.Error(), "the variable TEST_KEYSET, which the gateway cannot change") {
		t.Errorf("Rotate: %v", err)
	}
	if _, err := v.Prune(func(uint32) bool { return false }); err == nil {
		t.Error("Prune succeeded")
	}
}

func TestKeySetThatVanishedIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	v := open(t, "", dir)
	sealed := seal(t, v, "t", "c")
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Seal("t", "c", credentials()); !errors.Is(err, fault.Unavailable) {
		t.Errorf("Seal: %v", err)
	}
	unseals(t, v, "t", "c", sealed) // the keys in memory still open what they sealed
}

// FuzzUnseal checks that only sealed values open, and that nothing panics.
func FuzzUnseal(f *testing.F) {
	v, err := Open("", f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := v.Seal("t", "c", credentials())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte{1})
	f.Add([]byte{1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := v.Unseal("t", "c", raw)
		if err == nil && len(raw) > 0 && !bytes.Equal(raw, sealed) {
			t.Errorf("opened %x as %v", raw, got)
		}
	})
}

func TestTokensAndCredentialsAreNotMixedUp(t *testing.T) {
	v := open(t, "", t.TempDir())
	tokens, err := v.SealTokens("acme", "c1", []byte(`{"password":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := v.UnsealTokens("acme", "c1", tokens); err != nil || string(plain) != `{"password":"x"}` {
		t.Errorf("tokens come back as %q, %v", plain, err)
	}
	if _, err := v.Unseal("acme", "c1", tokens); !errors.Is(err, fault.Unavailable) {
		t.Errorf("tokens open as credentials: %v", err)
	}
	if _, err := v.UnsealTokens("acme", "c1", seal(t, v, "acme", "c1")); !errors.Is(err, fault.Unavailable) {
		t.Errorf("credentials open as tokens: %v", err)
	}
	for _, other := range [][2]string{{"acme", "c2"}, {"beta", "c1"}, {"acm", "ec1"}} {
		if _, err := v.UnsealTokens(other[0], other[1], tokens); !errors.Is(err, fault.Unavailable) {
			t.Errorf("tokens open for %v: %v", other, err)
		}
	}
	if _, err := v.UnsealTokens("acme", "c1", nil); !errors.Is(err, fault.Unavailable) {
		t.Errorf("nothing opens: %v", err)
	}
}

// Values that are stored already must stay readable.
func TestTheBindingOfCredentialsStays(t *testing.T) {
	if got := string(forCredentials.binding("acme", "c1")); got != "frontdesk credentials 1\n4\nacme\nc1" {
		t.Errorf("the binding is %q", got)
	}
}

func TestKeysOfTheAuditAreTheirOwn(t *testing.T) {
	v := open(t, "", t.TempDir())
	sealed, err := v.SealAuditKey("k1", []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := v.UnsealAuditKey("k1", sealed); err != nil || string(plain) != "key" {
		t.Errorf("got %q, %v", plain, err)
	}
	if _, err := v.UnsealAuditKey("k2", sealed); !errors.Is(err, fault.Unavailable) {
		t.Errorf("under another id: %v", err)
	}
	if _, err := v.UnsealTokens("", "k1", sealed); !errors.Is(err, fault.Unavailable) {
		t.Errorf("as tokens: %v", err)
	}
	tokens, err := v.SealTokens("", "k1", []byte("tokens"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.UnsealAuditKey("k1", tokens); !errors.Is(err, fault.Unavailable) {
		t.Errorf("tokens as a key: %v", err)
	}
}
