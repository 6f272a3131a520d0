package kmstest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	awsRegion  = "eu-west-1"
	awsID      = "AKIAIOSFODNN7EXAMPLE"
	awsSecret  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" // of the documentation
	awsMaximum = 4096                                       // bytes to encrypt at once
)

// AWS starts an AWS KMS ("Encrypt", "Decrypt" and "Making requests", AWS KMS API Reference; "AWS JSON 1.1
// protocol", Smithy). It checks the signature of each request.
func AWS(t *testing.T) *Service {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", awsID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", awsSecret)
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	s := &Service{Kind: "aws", Secrets: []string{awsSecret}, refuse: refuseAWS}
	s.uri = func(name string) string {
		return "aws-kms://arn:aws:kms:" + awsRegion + ":111122223333:key/" + name
	}
	start(t, s, s.serveAWS, httptest.NewServer)
	return s
}

func (s *Service) serveAWS(w http.ResponseWriter, r *http.Request) {
	var in struct {
		KeyID               string            `json:"KeyId"`
		Plaintext           []byte            `json:"Plaintext"`
		CiphertextBlob      []byte            `json:"CiphertextBlob"`
		EncryptionAlgorithm string            `json:"EncryptionAlgorithm"`
		EncryptionContext   map[string]string `json:"EncryptionContext"`
	}
	raw, err := decode(r, &in)
	target := r.Header.Get("X-Amz-Target")
	encrypts := target == "TrentService.Encrypt"
	switch {
	case err != nil || r.Method != http.MethodPost || r.URL.Path != "/" ||
		r.Header.Get("Content-Type") != "application/x-amz-json-1.1":
		sayAWS(w, "SerializationException")
	case !isSigned(r, raw):
		sayAWS(w, "IncompleteSignatureException")
	case s.failed(w, r, encrypts):
	case encrypts && len(in.Plaintext) > awsMaximum:
		sayAWS(w, "ValidationException")
	case encrypts:
		sealed, err := s.encrypt("aws-kms://"+in.KeyID, in.Plaintext, contextOf(in.EncryptionContext))
		s.answer(w, map[string]any{"KeyId": in.KeyID, "CiphertextBlob": sealed,
			"EncryptionAlgorithm": "SYMMETRIC_DEFAULT"}, err)
	case target == "TrentService.Decrypt":
		plain, err := s.decrypt("aws-kms://"+in.KeyID, in.CiphertextBlob, contextOf(in.EncryptionContext))
		s.answer(w, map[string]any{"KeyId": in.KeyID, "Plaintext": plain,
			"EncryptionAlgorithm": "SYMMETRIC_DEFAULT"}, err)
	default:
		sayAWS(w, "UnknownOperationException")
	}
}

// isSigned signs the request again, with the headers that it says were signed, and compares.
func isSigned(r *http.Request, body []byte) bool {
	given := r.Header.Get("Authorization")
	_, list, _ := strings.Cut(given, "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 5*time.Minute {
		return false
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.Path,
		bytes.NewReader(body))
	if err != nil {
		return false
	}
	for name := range r.Header {
		if slices.Contains(strings.Split(list, ";"), strings.ToLower(name)) {
			again.Header.Set(name, r.Header.Get(name))
		}
	}
	hash := sha256.Sum256(body)
	as := aws.Credentials{AccessKeyID: awsID, SecretAccessKey: awsSecret}
	err = v4.NewSigner().SignHTTP(r.Context(), as, again, hex.EncodeToString(hash[:]), "kms", awsRegion, at)
	return err == nil && again.Header.Get("Authorization") == given
}

// contextOf returns an encryption context in one form.
func contextOf(pairs map[string]string) []byte {
	text, err := json.Marshal(pairs)
	if err != nil || len(pairs) == 0 {
		return nil
	}
	return text
}

func refuseAWS(w http.ResponseWriter, f Fault) {
	sayAWS(w, map[Fault]string{
		Denied: "AccessDeniedException", Unknown: "UnrecognizedClientException", Disabled: "DisabledException",
		Unavailable: "KMSInternalException", noSuchKey: "NotFoundException", wrongKey: "IncorrectKeyException",
		changed: "InvalidCiphertextException",
	}[f])
}

func sayAWS(w http.ResponseWriter, code string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	status := http.StatusBadRequest
	if code == "KMSInternalException" {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": "No, because of " + awsSecret})
}
