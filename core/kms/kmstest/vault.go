package kmstest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const vaultToken = "hvs.kmstest-token"

// Vault starts a HashiCorp Vault with the transit engine at transit/ ("Transit secrets engine (API)"). It has
// TLS, by a certificate that VAULT_CACERT names.
func Vault(t *testing.T) *Service {
	t.Helper()
	for _, name := range []string{"VAULT_ADDR", "VAULT_AGENT_ADDR", "VAULT_NAMESPACE"} {
		t.Setenv(name, "")
	}
	t.Setenv("VAULT_TOKEN", vaultToken)
	s := &Service{Kind: "vault", Secrets: []string{vaultToken}, refuse: refuseVault}
	var server *httptest.Server
	start(t, s, s.serveVault, func(h http.Handler) *httptest.Server {
		server = httptest.NewTLSServer(h)
		return server
	})
	host := strings.TrimPrefix(s.URL, "https://")
	s.URL = "" // the key's name has it
	s.uri = func(name string) string { return "hcvault://" + host + "/transit/keys/" + name }
	path := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(path, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VAULT_CACERT", path)
	return s
}

func (s *Service) serveVault(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Plaintext      []byte `json:"plaintext"`
		Ciphertext     string `json:"ciphertext"`
		AssociatedData []byte `json:"associated_data"`
	}
	_, err := decode(r, &in)
	operation, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/transit/"), "/")
	uri, encrypts := "hcvault://"+r.Host+"/transit/keys/"+name, operation == "encrypt"
	switch {
	case r.Header.Get("X-Vault-Token") == "":
		sayVault(w, http.StatusBadRequest, "missing client token")
	case r.Header.Get("X-Vault-Token") != vaultToken:
		refuseVault(w, Unknown)
	case err != nil, r.Method != http.MethodPut && r.Method != http.MethodPost,
		r.Header.Get("X-Vault-Request") != "true":
		sayVault(w, http.StatusBadRequest, "failed to parse JSON input")
	case s.failed(w, r, encrypts):
	case encrypts:
		sealed, err := s.encrypt(uri, in.Plaintext, in.AssociatedData)
		s.answer(w, map[string]any{"request_id": "1", "data": map[string]any{
			"ciphertext": "vault:v1:" + base64.StdEncoding.EncodeToString(sealed), "key_version": 1,
		}}, err)
	case operation == "decrypt":
		sealed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, "vault:v1:"))
		if err != nil || !strings.HasPrefix(in.Ciphertext, "vault:v1:") {
			sayVault(w, http.StatusBadRequest, "invalid ciphertext: no prefix")
			return
		}
		plain, err := s.decrypt(uri, sealed, in.AssociatedData)
		s.answer(w, map[string]any{"request_id": "1", "data": map[string]any{"plaintext": plain}}, err)
	default:
		sayVault(w, http.StatusNotFound, "no handler for route")
	}
}

func refuseVault(w http.ResponseWriter, f Fault) {
	switch f {
	case Denied:
		sayVault(w, http.StatusForbidden, "1 error occurred:\n\t* permission denied\n\n")
	case Unknown:
		sayVault(w, http.StatusForbidden, "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n")
	case noSuchKey:
		sayVault(w, http.StatusBadRequest, "encryption key not found")
	case Disabled:
		sayVault(w, http.StatusForbidden, "1 error occurred:\n\t* permission denied\n\n") // Vault has no such state
	case Unavailable:
		sayVault(w, http.StatusServiceUnavailable, "Vault is sealed")
	default:
		sayVault(w, http.StatusBadRequest, "cipher: message authentication failed")
	}
}

func sayVault(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{words, vaultToken}})
}
