package kmstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const googleToken = "ya29.kmstest-access-token"

// Google starts a Google Cloud KMS ("Method: projects.locations.keyRings.cryptoKeys.encrypt" and
// "...decrypt", Cloud KMS REST reference), and the token endpoint of its service account (RFC 7523). It
// checks the signature with which a token is asked for, and the checksums of what it gets.
func Google(t *testing.T) *Service {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	s := &Service{Kind: "google", Secrets: []string{googleToken, private}, refuse: refuseGoogle}
	s.uri = func(name string) string {
		return "gcp-kms://projects/acme/locations/europe-west1/keyRings/frontdesk/cryptoKeys/" + name
	}
	start(t, s, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			giveToken(w, r, &key.PublicKey)
			return
		}
		s.serveGoogle(w, r)
	}, httptest.NewServer)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "frontdesk@acme.iam.gserviceaccount.com", "client_id": "1",
		"private_key": private, "private_key_id": "1", "token_uri": s.URL + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(path, account, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	return s
}

func giveToken(w http.ResponseWriter, r *http.Request, key *rsa.PublicKey) {
	head, signature, _ := cutLast(r.FormValue("assertion"), ".")
	hash := sha256.Sum256([]byte(head))
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || rsa.VerifyPKCS1v15(key, crypto.SHA256, hash[:], given) != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"access_token": googleToken, "token_type": "Bearer", "expires_in": 3600,
	})
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// bytes64 is a field of bytes, which may be in either alphabet of base64 ("JSON mapping", Protocol Buffers).
type bytes64 []byte

func (b *bytes64) UnmarshalText(text []byte) error {
	plain, err := base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(string(text)))
	*b = plain
	return err
}

func checksum(data []byte) string {
	return strconv.FormatUint(uint64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))), 10)
}

func (s *Service) serveGoogle(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Plaintext                         bytes64 `json:"plaintext"`
		PlaintextCrc32c                   string  `json:"plaintextCrc32c"`
		Ciphertext                        bytes64 `json:"ciphertext"`
		CiphertextCrc32c                  string  `json:"ciphertextCrc32c"`
		AdditionalAuthenticatedData       bytes64 `json:"additionalAuthenticatedData"`
		AdditionalAuthenticatedDataCrc32c string  `json:"additionalAuthenticatedDataCrc32c"`
	}
	_, err := decode(r, &in)
	name, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), ":")
	associated, encrypts := in.AdditionalAuthenticatedData, verb == "encrypt"
	switch {
	case r.Header.Get("Authorization") != "Bearer "+googleToken:
		refuseGoogle(w, Unknown)
	case err != nil, r.Method != http.MethodPost, checksum(associated) != in.AdditionalAuthenticatedDataCrc32c:
		sayGoogle(w, http.StatusBadRequest, "INVALID_ARGUMENT")
	case s.failed(w, r, encrypts):
	case encrypts && checksum(in.Plaintext) == in.PlaintextCrc32c:
		sealed, err := s.encrypt("gcp-kms://"+name, in.Plaintext, associated)
		s.answer(w, map[string]any{
			"name": name + "/cryptoKeyVersions/1", "ciphertext": sealed, "ciphertextCrc32c": checksum(sealed),
			"verifiedPlaintextCrc32c": true, "verifiedAdditionalAuthenticatedDataCrc32c": true,
			"protectionLevel": "SOFTWARE",
		}, err)
	case verb == "decrypt" && checksum(in.Ciphertext) == in.CiphertextCrc32c:
		plain, err := s.decrypt("gcp-kms://"+name, in.Ciphertext, associated)
		s.answer(w, map[string]any{
			"plaintext": plain, "plaintextCrc32c": checksum(plain), "usedPrimary": true,
			"protectionLevel": "SOFTWARE",
		}, err)
	default:
		sayGoogle(w, http.StatusBadRequest, "INVALID_ARGUMENT")
	}
}

func refuseGoogle(w http.ResponseWriter, f Fault) {
	switch f {
	case Denied:
		sayGoogle(w, http.StatusForbidden, "PERMISSION_DENIED")
	case Unknown:
		sayGoogle(w, http.StatusUnauthorized, "UNAUTHENTICATED")
	case noSuchKey:
		sayGoogle(w, http.StatusNotFound, "NOT_FOUND")
	case Disabled:
		sayGoogle(w, http.StatusBadRequest, "FAILED_PRECONDITION")
	case Unavailable:
		sayGoogle(w, http.StatusServiceUnavailable, "UNAVAILABLE")
	default:
		sayGoogle(w, http.StatusBadRequest, "INVALID_ARGUMENT")
	}
}

func sayGoogle(w http.ResponseWriter, status int, name string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "status": name, "message": "No, because of " + googleToken,
	}})
}
