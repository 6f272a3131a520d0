// Package kmstest has key management services for tests: AWS KMS, Google Cloud KMS and HashiCorp Vault, as
// far as they encrypt and decrypt. Each holds keys, checks what a request must have, and can be told to fail:
//
//	service := kmstest.AWS(t)
//	service.Fail(kmstest.Denied)
//	key, err := kms.Open(service.Key("one"), kms.Options{URL: service.URL})
//
// Starting one sets the variables by which its clients find their credentials.
package kmstest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Service is a running service.
type Service struct {
	URL string
	// Kind is the service's name, for the names of tests.
	Kind string
	// Secrets are texts that nothing may show.
	Secrets []string

	uri    func(name string) string
	refuse func(http.ResponseWriter, Fault)

	mu        sync.Mutex
	keys      map[string]cipher.AEAD
	fault     Fault
	encrypted int
	decrypted int
}

// Fault is how a service fails.
type Fault int

// The faults.
const (
	None         Fault = iota
	Denied             // the credentials may not use the key
	DeniedWrites       // they may decrypt, and not encrypt
	Unknown            // the service does not accept the credentials
	Disabled           // the key is disabled
	Hanging            // there is no answer
	Unavailable        // the service cannot answer
	noSuchKey
	wrongKey
	changed
)

// All starts a service of each kind.
func All(t *testing.T) []*Service {
	t.Helper()
	return []*Service{AWS(t), Google(t), Vault(t)}
}

// Key returns the URI of a key, which it creates.
func (s *Service) Key(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	uri := s.uri(name)
	if s.keys[uri] == nil {
		s.keys[uri] = newAEAD()
	}
	return uri
}

// Absent returns the URI of a key that the service does not have.
func (s *Service) Absent() string { return s.uri("absent") }

// Fail makes the service fail from now on. None ends it.
func (s *Service) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Calls returns how often the service encrypted and decrypted.
func (s *Service) Calls() (encrypted, decrypted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.encrypted, s.decrypted
}

func newAEAD() cipher.AEAD {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

func start(t *testing.T, s *Service, h http.HandlerFunc, serve func(http.Handler) *httptest.Server) {
	t.Helper()
	s.keys = map[string]cipher.AEAD{}
	server := serve(h)
	t.Cleanup(server.Close)
	s.URL = server.URL
}

// failed reports whether the present fault concerns the request, and then answers with it.
func (s *Service) failed(w http.ResponseWriter, r *http.Request, encrypts bool) bool {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	switch {
	case fault == None, fault == DeniedWrites && !encrypts:
		return false
	case fault == DeniedWrites:
		fault = Denied
	case fault == Hanging:
		<-r.Context().Done()
		return true
	}
	s.refuse(w, fault)
	return true
}

// encrypt returns the ciphertext, which is the key's URI, a line break and what only the key opens.
func (s *Service) encrypt(uri string, plaintext, associatedData []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.keys[uri]
	if key == nil {
		return nil, refused(noSuchKey)
	}
	s.encrypted++
	nonce := make([]byte, key.NonceSize())
	rand.Read(nonce)
	return key.Seal(append([]byte(uri+"\n"), nonce...), nonce, plaintext, associatedData), nil
}

func (s *Service) decrypt(uri string, ciphertext, associatedData []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.keys[uri]
	switch {
	case key == nil:
		return nil, refused(noSuchKey)
	case len(ciphertext) < len(uri)+1+key.NonceSize() || string(ciphertext[:len(uri)+1]) != uri+"\n":
		return nil, refused(wrongKey)
	}
	sealed := ciphertext[len(uri)+1:]
	plaintext, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], associatedData)
	if err != nil {
		return nil, refused(changed)
	}
	s.decrypted++
	return plaintext, nil
}

// refused is a fault as an error.
type refused Fault

func (refused) Error() string { return "refused" }

// answer writes a value, or refuses because of err.
func (s *Service) answer(w http.ResponseWriter, value any, err error) {
	if fault, ok := errors.AsType[refused](err); ok {
		s.refuse(w, Fault(fault))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// decode reads a body that has the fields of into and no others.
func decode(r *http.Request, into any) ([]byte, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	fields := json.NewDecoder(bytes.NewReader(raw))
	fields.DisallowUnknownFields()
	return raw, fields.Decode(into)
}
