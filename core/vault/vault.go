// Package vault seals the credentials of connections, their tokens, what rows say about people, and the keys
// of the audit. A sealed value can be opened only for the purpose, tenant, connection or row that it was
// sealed for. These are the associated data of the AEAD (AES-256-GCM, by Tink), so a value copied to another
// row is rejected. The keys are a Tink key set in JSON, in a file or an environment variable:
//
//	v, err := vault.Open("", "./frontdesk-data") // ./frontdesk-data/keyset.json, made on first use
//	row := vault.Row{Purpose: vault.ConnectionRow, Columns: []string{tenantID, connectionID, settings}}
//	sealed, err := v.SealRow(row, credentials)
//	credentials, err := v.OpenRow(row, sealed)
//
// Sealing an empty value authenticates the columns: AES-GCM over associated data alone is the MAC that NIST
// SP 800-38D calls GMAC.
//
// A rotation has three steps: [Vault.Rotate] adds a new primary key, its caller seals every row again, and
// [Vault.Prune] drops the keys that no row needs. A running process picks up the new keys: it reads the key
// set again before it seals, if the file changed, and before it fails on a key that it does not know. Rows may still
// be sealed with the former key for ten milliseconds.
//
// The key set is in cleartext, or encrypted by a key of a key management service (see [Options]). That
// service is asked when the key set is opened or written, and when it changed; then [Vault.Follow] asks, so
// that no call waits. Only a call that needs a key which the changed key set has first waits, for [callWait]
// at most.
//
// No error of this package holds a credential or key material.
package vault

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"frontdesk/core/fault"
)

// ReasonUnreadable is the reason of the fault returned if stored credentials cannot be opened with the
// current key set, or the key set cannot be read.
const ReasonUnreadable = "CREDENTIALS_UNREADABLE"

// Vault seals and unseals. It is safe for concurrent use.
type Vault struct {
	source source
	form   form
	follow follower

	opened time.Time
	looked atomic.Int64 // how long after that SealRow last looked for a change

	mu   sync.RWMutex
	keys keys
}

// keys is a key set as read at one time.
type keys struct {
	handle  *keyset.Handle
	cipher  tink.AEAD
	held    []Key  // oldest first, as in the key set
	version string // the source's version when it was read
}

// Key is one key of the set, without its material.
type Key struct {
	ID      uint32
	Primary bool // new credentials are sealed with it
}

// Open reads the key set. A source of "" is keyset.json in dataDir, which Open creates with mode 0600 on
// first use. "file:PATH" and "env:VAR" must hold a key set.
func Open(source, dataDir string) (*Vault, error) {
	return OpenEncrypted(context.Background(), Options{Source: source, DataDir: dataDir})
}

// Options say where a key set is.
type Options struct {
	Source  string // as Open takes it
	DataDir string
	// KEK encrypts the key set; nil means that it is in cleartext. An encrypted key set in DataDir is
	// keyset.encrypted.json.
	KEK KEK
	Now func() time.Time // nil means time.Now
}

// OpenEncrypted is Open for a key set that may be encrypted.
func OpenEncrypted(ctx context.Context, o Options) (*Vault, error) {
	from, err := parseSource(o.Source, o.DataDir, o.KEK != nil)
	if err != nil {
		return nil, err
	}
	v := &Vault{
		source: from, form: form{o.KEK}, follow: follower{now: o.Now, reading: make(chan struct{}, 1)}, opened: time.Now(),
	}
	if v.follow.now == nil {
		v.follow.now = time.Now
	}
	if err := from.create(func() ([]byte, error) { return v.form.fresh(ctx) }); err != nil {
		return nil, err
	}
	if err := v.read(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// purpose keeps a value sealed for one use from being opened for another.
type purpose string

const (
	forCredentials purpose = "credentials"
	forTokens      purpose = "tokens"
	forAudit       purpose = "audit"
)

// Seal encrypts a connection's credentials with the primary key. If there are no credentials, it returns nil.
func (v *Vault) Seal(tenantID, connectionID string, credentials map[string]string) ([]byte, error) {
	if len(credentials) == 0 {
		return nil, nil
	}
	plain, err := json.Marshal(credentials)
	if err != nil {
		return nil, fault.From(err)
	}
	defer clear(plain)
	return v.seal(forCredentials, tenantID, connectionID, plain)
}

// SealTokens is Seal for a connection's tokens, in any format.
func (v *Vault) SealTokens(tenantID, connectionID string, tokens []byte) ([]byte, error) {
	return v.seal(forTokens, tenantID, connectionID, tokens)
}

// SealAuditKey is Seal for a key of the audit, which belongs to no tenant.
func (v *Vault) SealAuditKey(id string, key []byte) ([]byte, error) {
	return v.seal(forAudit, "", id, key)
}

// UnsealAuditKey opens a key that SealAuditKey sealed for the same id; see Unseal.
func (v *Vault) UnsealAuditKey(id string, sealed []byte) ([]byte, error) {
	return v.open(forAudit, "", id, sealed)
}

func (v *Vault) seal(p purpose, tenantID, connectionID string, plain []byte) ([]byte, error) {
	if err := v.refresh(); err != nil {
		return nil, err
	}
	return v.encrypt(plain, p.binding(tenantID, connectionID))
}

func (v *Vault) encrypt(plain, binding []byte) ([]byte, error) {
	sealed, err := v.current().cipher.Encrypt(plain, binding)
	if err != nil {
		return nil, fault.From(fmt.Errorf("vault: sealing failed: %w", err))
	}
	return sealed, nil
}

// Unseal opens credentials that Seal sealed for the same tenant and connection. If the key is not known,
// Unseal reads the key set again, since another process may have rotated it.
func (v *Vault) Unseal(tenantID, connectionID string, sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plain, err := v.open(forCredentials, tenantID, connectionID, sealed)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	var credentials map[string]string
	if json.Unmarshal(plain, &credentials) != nil { // the decoder's text may quote what it read
		return nil, unreadable().Because(fmt.Errorf("vault: sealed with key %d, but not by this program",
			KeyOf(sealed)))
	}
	return credentials, nil
}

// UnsealTokens opens tokens that SealTokens sealed for the same tenant and connection; see Unseal.
func (v *Vault) UnsealTokens(tenantID, connectionID string, sealed []byte) ([]byte, error) {
	return v.open(forTokens, tenantID, connectionID, sealed)
}

func (v *Vault) open(p purpose, tenantID, connectionID string, sealed []byte) ([]byte, error) {
	return v.decrypt(sealed, p.binding(tenantID, connectionID))
}

func (v *Vault) decrypt(sealed, binding []byte) ([]byte, error) {
	id := KeyOf(sealed)
	if !v.current().has(id) {
		if err := v.CatchUp(); err != nil {
			return nil, err
		}
		if !v.current().has(id) {
			return nil, unreadable().Because(fmt.Errorf("vault: sealed with key %d, which is not in %s", id, v.source))
		}
	}
	plain, err := v.current().cipher.Decrypt(sealed, binding)
	if err != nil {
		return nil, unreadable().Because(fmt.Errorf(
			"vault: key %d does not open it: it was changed, or sealed for another purpose, tenant or connection", id))
	}
	return plain, nil
}

// keyedForm is the first byte of a ciphertext of Tink that names its key (Tink wire format, "Tink output prefix").
const keyedForm = 1

// KeyOf returns the id of the key that sealed a value, or 0 if the value has none. Tink prefixes a ciphertext
// with [keyedForm] and the key's id. A value from [Vault.SealRow] has one more byte before that.
func KeyOf(sealed []byte) uint32 {
	if IsRow(sealed) {
		sealed = sealed[1:]
	}
	if len(sealed) < 5 || sealed[0] != keyedForm {
		return 0
	}
	return binary.BigEndian.Uint32(sealed[1:5])
}

// Status lists the keys, oldest first.
func (v *Vault) Status() []Key {
	return slices.Clone(v.current().held)
}

// Primary returns the id of the key that new credentials are sealed with, after reading the key set again if
// it changed.
func (v *Vault) Primary() (uint32, error) {
	if err := v.refresh(); err != nil {
		return 0, err
	}
	return v.current().primary(), nil
}

// Interrupted returns the path of what a rotation left that is running or was interrupted, or "".
func (v *Vault) Interrupted() string {
	next := v.source.next()
	if _, err := os.Stat(next); next == "" || err != nil {
		return ""
	}
	return next
}

// Rotate adds a new primary key and writes the key set. Everything sealed before stays readable.
func (v *Vault) Rotate() (Key, error) {
	primary := Key{Primary: true}
	err := v.rewrite(func(m *keyset.Manager, k keys) (err error) {
		if primary.ID, err = k.next(m); err != nil {
			return err
		}
		return m.SetPrimary(primary.ID)
	})
	return primary, err
}

// Prepare adds the key that the next [Vault.Rotate] makes the primary one, and returns its id. Nothing is sealed
// with it until then, so processes with copies of the key set can have it before they meet what it seals.
func (v *Vault) Prepare() (id uint32, err error) {
	err = v.rewrite(func(m *keyset.Manager, k keys) (err error) {
		id, err = k.next(m)
		return err
	})
	return id, err
}

// next returns the key that comes after the primary one, and adds it if it is not prepared.
func (k keys) next(m *keyset.Manager) (uint32, error) {
	if newest := k.held[len(k.held)-1]; !newest.Primary {
		return newest.ID, nil
	}
	return m.Add(aead.AES256GCMKeyTemplate())
}

// Prune drops the keys for which inUse returns false, and returns their ids. The primary key and the one
// before it always stay: a running server that has not noticed the rotation yet may still seal with the
// latter. So does one that is prepared.
func (v *Vault) Prune(inUse func(id uint32) bool) ([]uint32, error) {
	var dropped []uint32
	err := v.rewrite(func(m *keyset.Manager, k keys) error {
		former := slices.IndexFunc(k.held, func(key Key) bool { return key.Primary }) - 1
		for i, key := range k.held {
			if i >= former || inUse(key.ID) {
				continue
			}
			if err := m.Delete(key.ID); err != nil {
				return err
			}
			dropped = append(dropped, key.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return dropped, nil
}

// rewrite changes the stored key set, one process at a time. Nothing cancels it halfway.
func (v *Vault) rewrite(change func(*keyset.Manager, keys) error) error {
	ctx := context.Background()
	err := v.source.replace(func(raw []byte) ([]byte, error) {
		before, err := v.form.parse(ctx, raw)
		if err != nil {
			return nil, err
		}
		m := keyset.NewManagerFromHandle(before.handle)
		if err := change(m, before); err != nil {
			return nil, err
		}
		after, err := m.Handle()
		if err != nil {
			return nil, err
		}
		return v.form.render(ctx, after)
	})
	if err != nil {
		return err
	}
	return v.read(ctx)
}

// refresh reads the key set again if its source changed, unless that takes a call of another service: then
// Follow does.
func (v *Vault) refresh() error {
	if v.form.isEncrypted() {
		return nil
	}
	version, err := v.source.version()
	if err != nil {
		return unreachable(err)
	}
	if version == v.current().version {
		return nil
	}
	if err := v.read(context.Background()); err != nil {
		return unreachable(err)
	}
	return nil
}

// read reads the key set from its source.
func (v *Vault) read(ctx context.Context) error {
	// The version is read before the content: a change in between causes one more read and is not missed.
	version, err := v.source.version()
	if err != nil {
		return err
	}
	raw, err := v.source.load()
	if err != nil {
		return err
	}
	k, err := v.form.parse(ctx, raw)
	if err != nil {
		return fmt.Errorf("the key set in %s cannot be used: %w", v.source, err)
	}
	k.version = version
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keys = k
	return nil
}

func (v *Vault) current() keys {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.keys
}

func keysOf(handle *keyset.Handle) []Key {
	info := handle.KeysetInfo()
	list := make([]Key, 0, len(info.GetKeyInfo()))
	for _, key := range info.GetKeyInfo() {
		list = append(list, Key{ID: key.GetKeyId(), Primary: key.GetKeyId() == info.GetPrimaryKeyId()})
	}
	return list
}

func (k keys) primary() uint32 {
	for _, key := range k.held {
		if key.Primary {
			return key.ID
		}
	}
	return 0
}

func (k keys) has(id uint32) bool {
	return slices.ContainsFunc(k.held, func(key Key) bool { return key.ID == id })
}

// binding returns the associated data: the purpose and both ids, with the length of the first so that no two
// pairs have the same data.
func (p purpose) binding(tenantID, connectionID string) []byte {
	return fmt.Appendf(nil, "frontdesk %s 1\n%d\n%s\n%s", p, len(tenantID), tenantID, connectionID)
}

func unreadable() *fault.Error {
	return fault.Unacted(fault.New(fault.Unavailable, ReasonUnreadable,
		"The stored credentials of this connection cannot be opened. "+
			"The gateway's operator must restore its key set, or enter the credentials again."))
}

func unreachable(err error) *fault.Error {
	return fault.Unacted(fault.New(fault.Unavailable, ReasonUnreadable,
		"The gateway's key set cannot be read at the moment.").Because(away{err}))
}

// away is the error of a key set that cannot be read.
type away struct{ error }

func (a away) Unwrap() error { return a.error }

// IsAway reports whether an error says that the key set could not be read. Then nothing is known of what was to be
// opened: it may be as the gateway sealed it.
func IsAway(err error) bool {
	_, is := errors.AsType[away](err)
	return is
}
