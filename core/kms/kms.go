// Package kms encrypts and decrypts with a key of a key management service: AWS KMS, Google Cloud KMS, or
// HashiCorp Vault's transit engine. It is how a key set is kept encrypted:
//
//	key, err := kms.Open("gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k", kms.Options{})
//	handle, err := keyset.ReadWithContext(ctx, reader, key, nil)
//
// The calls are made by Tink's integrations, so "tinkey" reads what this package wrote. Every call opens its
// own client, ends within [Timeout], and leaves no connection behind: a key set is read when a process starts
// and when it was changed. So credentials that were renewed meanwhile are used.
//
// Credentials are those of the machine, found as each provider's own tools find them. An [Error] says what is
// wrong and what to do. It holds no credential, no key and no text of the service, which might.
package kms

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tink-crypto/tink-go/v2/tink"
)

// Timeout is how long one call may take, with finding the credentials.
const Timeout = 10 * time.Second

// Options say how a service is reached.
type Options struct {
	// URL is the service's address, in the place of its public one: a private endpoint of AWS or Google
	// Cloud.
	URL string
	// VaultToken returns the token for HashiCorp Vault. It is asked for each call, since tokens end. If it is
	// nil, the variable VAULT_TOKEN holds the token.
	VaultToken func() (string, error)
}

// Key is a key of a service. It is safe for concurrent use.
type Key struct {
	uri string
	service
}

var _ tink.AEADWithContext = (*Key)(nil)

// service is what the package knows of one kind of service.
type service struct {
	open    func(context.Context) (tink.AEADWithContext, error)
	problem func(error) (problem, string) // with what the service calls it
	rights  string                        // who must allow what
}

// Open returns the key of that URI, which has the form of Tink. It calls nobody.
func Open(uri string, o Options) (*Key, error) {
	scheme, name, _ := strings.Cut(uri, "://")
	switch {
	case name == "":
	case scheme == "aws-kms":
		return &Key{uri: uri, service: ofAWS(name, o)}, nil
	case scheme == "gcp-kms":
		return &Key{uri: uri, service: ofGoogle(uri, o)}, nil
	case scheme == "hcvault":
		return &Key{uri: uri, service: ofVault(name, o)}, nil
	}
	return nil, errors.New("a key of a key management service must be aws-kms://, gcp-kms:// or hcvault:// " +
		"and the key's name")
}

// String returns the key's URI.
func (k *Key) String() string { return k.uri }

// EncryptWithContext encrypts a text, which AWS limits to 4096 bytes.
func (k *Key) EncryptWithContext(ctx context.Context, plaintext, associatedData []byte) ([]byte, error) {
	return k.call(ctx, func(ctx context.Context, key tink.AEADWithContext) ([]byte, error) {
		return key.EncryptWithContext(ctx, plaintext, associatedData)
	})
}

// DecryptWithContext decrypts what EncryptWithContext returned.
func (k *Key) DecryptWithContext(ctx context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	return k.call(ctx, func(ctx context.Context, key tink.AEADWithContext) ([]byte, error) {
		return key.DecryptWithContext(ctx, ciphertext, associatedData)
	})
}

func (k *Key) call(
	ctx context.Context, do func(context.Context, tink.AEADWithContext) ([]byte, error),
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	key, err := k.open(ctx)
	if err != nil {
		return nil, k.explain(ctx, err)
	}
	result, err := do(ctx, key)
	if err != nil {
		return nil, k.explain(ctx, err)
	}
	return result, nil
}

// bound makes an AEAD of one that takes no context: whoever made it has bound it to the context of the call.
type bound struct{ tink.AEAD }

func (b bound) EncryptWithContext(_ context.Context, plaintext, associatedData []byte) ([]byte, error) {
	return b.Encrypt(plaintext, associatedData)
}

func (b bound) DecryptWithContext(_ context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	return b.Decrypt(ciphertext, associatedData)
}

// within sends each request in the context of the call, for clients that take none.
type within struct {
	ctx  context.Context
	next http.RoundTripper
}

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.next.RoundTrip(r.WithContext(w.ctx))
}

// transport returns a transport that leaves no connection behind.
func transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: Timeout,
		DisableKeepAlives: true,
	}
}
