package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// KEK is a key-encryption key (NIST SP 800-57): that of a key management service. Its errors say what to do,
// and hold no secret.
type KEK interface {
	tink.AEADWithContext
	String() string
}

// form is how a key set is written: in Tink's cleartext JSON, or in its JSON of an encrypted key set. Both
// are those of Tink's command line, tinkey.
type form struct{ kek KEK }

func (f form) isEncrypted() bool { return f.kek != nil }

// parse reads a key set. Its errors leave out the parser's text, which may quote keys. A key set in the other
// form is refused: otherwise nobody would notice that keys lie in cleartext where they should not.
func (f form) parse(ctx context.Context, raw []byte) (keys, error) {
	handle, err := f.read(ctx, raw)
	if err != nil {
		return keys{}, err
	}
	cipher, err := aead.New(handle)
	if err != nil {
		return keys{}, errors.New("its keys are not for authenticated encryption (AEAD)")
	}
	return keys{handle: handle, cipher: cipher, held: keysOf(handle)}, nil
}

func (f form) read(ctx context.Context, raw []byte) (*keyset.Handle, error) {
	clear, notClear := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(raw)))
	encrypted, notEncrypted := keyset.NewJSONReader(bytes.NewReader(raw)).ReadEncrypted()
	switch isEncrypted := notEncrypted == nil && len(encrypted.GetEncryptedKeyset()) > 0; {
	case !f.isEncrypted() && notClear == nil:
		return clear, nil
	case !f.isEncrypted() && isEncrypted:
		return nil, errors.New("it is encrypted; name the key that encrypts it by secrets.kms.key")
	case !f.isEncrypted():
		return nil, errors.New("it is not a Tink key set in cleartext JSON")
	case notClear == nil:
		return nil, fmt.Errorf("it is in cleartext, and should be encrypted with %s; without that key in the "+
			"configuration, run: frontdesk keyset copy --kms %[1]s FILE", f.kek)
	case !isEncrypted:
		return nil, errors.New("it is not an encrypted Tink key set in JSON")
	}
	kek := &witness{KEK: f.kek}
	handle, err := keyset.ReadWithContext(ctx, keyset.NewJSONReader(bytes.NewReader(raw)), kek, nil)
	switch {
	case kek.failed != nil:
		return nil, kek.failed
	case err != nil:
		return nil, fmt.Errorf("what %s decrypted is not a Tink key set", f.kek)
	}
	return handle, nil
}

// render writes a key set.
func (f form) render(ctx context.Context, handle *keyset.Handle) ([]byte, error) {
	var out bytes.Buffer
	if !f.isEncrypted() {
		if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&out)); err != nil {
			return nil, fmt.Errorf("vault: the key set cannot be written: %w", err)
		}
		return out.Bytes(), nil
	}
	kek := &witness{KEK: f.kek}
	if err := handle.WriteWithContext(ctx, keyset.NewJSONWriter(&out), kek, nil); err != nil {
		return nil, fmt.Errorf("the key set cannot be encrypted: %w", cmp.Or(kek.failed, err))
	}
	return out.Bytes(), nil
}

// fresh returns a new key set of one AES-256-GCM key.
func (f form) fresh(ctx context.Context) ([]byte, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("vault: no key set can be made: %w", err)
	}
	return f.render(ctx, handle)
}

// witness keeps the error of its key, of which Tink passes on only the text.
type witness struct {
	KEK
	failed error
}

func (w *witness) EncryptWithContext(ctx context.Context, plaintext, associatedData []byte) ([]byte, error) {
	result, err := w.KEK.EncryptWithContext(ctx, plaintext, associatedData)
	w.failed = err
	return result, err
}

func (w *witness) DecryptWithContext(ctx context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	result, err := w.KEK.DecryptWithContext(ctx, ciphertext, associatedData)
	w.failed = err
	return result, err
}

// Copy writes the key set to a new file, encrypted by kek, or in cleartext if kek is nil. It first proves
// that the copy can be read.
func (v *Vault) Copy(ctx context.Context, path string, kek KEK) error {
	now, to := v.current(), form{kek}
	raw, err := to.render(ctx, now.handle)
	if err != nil {
		return err
	}
	switch again, err := to.parse(ctx, raw); {
	case err != nil:
		return fmt.Errorf("the copy could not be read, so it was not written: %w", err)
	case !slices.Equal(again.held, now.held):
		return errors.New("the copy has other keys, so it was not written")
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there, and is not overwritten", path)
	}
	if err != nil {
		return fmt.Errorf("the key set cannot be written: %w", err)
	}
	// Whoever may read the key set may read its copy. One in a variable has no owner: the copy stays whose it is.
	if err := writeDurably(file, cmp.Or(v.source.path, path), raw); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// Encryption returns the name of the key that encrypts the key set, or "", and why it cannot encrypt.
// Decrypting works, since the key set was read.
func (v *Vault) Encryption(ctx context.Context) (kek string, err error) {
	if !v.form.isEncrypted() {
		return "", nil
	}
	_, err = v.form.kek.EncryptWithContext(ctx, []byte("frontdesk doctor"), nil)
	return v.form.kek.String(), err
}

// Cleartext returns the path of a key set in cleartext that lies beside an encrypted one in the data
// directory, or "".
func (v *Vault) Cleartext() string {
	if !v.form.isEncrypted() || v.source.former == "" {
		return ""
	}
	if _, err := os.Stat(v.source.former); err != nil {
		return ""
	}
	return v.source.former
}
