package kms

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go-gcpkms/v2/integration/gcpkms"
	"github.com/tink-crypto/tink-go/v2/tink"
	"google.golang.org/api/cloudkms/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	google "google.golang.org/api/transport/http"
)

// ofGoogle returns Google Cloud KMS for the key of that URI. Its credentials are the Application Default
// Credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names, or the machine's service account.
func ofGoogle(uri string, o Options) service {
	return service{
		open: func(ctx context.Context) (tink.AEADWithContext, error) {
			scope := option.WithScopes(cloudkms.CloudkmsScope)
			authorized, err := google.NewTransport(ctx, transport(), scope)
			if err != nil {
				return nil, err
			}
			options := []option.ClientOption{
				option.WithHTTPClient(&http.Client{Transport: within{ctx, authorized}}),
			}
			if o.URL != "" {
				options = append(options, option.WithEndpoint(o.URL))
			}
			client, err := gcpkms.NewClient(ctx, uri, gcpkms.WithTransport(gcpkms.TransportREST),
				gcpkms.WithGoogleAPIClientOptions(options...))
			if err != nil {
				return nil, err
			}
			key, err := client.GetAEAD(uri)
			return bound{key}, err
		},
		problem: problemOfGoogle,
		rights: "Give this machine Application Default Credentials (GOOGLE_APPLICATION_CREDENTIALS, or a service " +
			"account), and grant them the role Cloud KMS CryptoKey Encrypter/Decrypter on the key.",
	}
}

// problemOfGoogle reads the errors of encrypt and decrypt ("Method:
// projects.locations.keyRings.cryptoKeys.decrypt", Cloud KMS REST reference; google.rpc.Code says which
// statuses the codes have).
func problemOfGoogle(err error) (problem, string) {
	said, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		if what, detail, ok := connecting(err); ok {
			return what, detail
		}
		return noCredentials, ""
	}
	var body struct {
		Error struct {
			Status string `json:"status"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(said.Body), &body) // a proxy in between answers otherwise
	code := "status " + strings.TrimSpace(strconv.Itoa(said.Code)+" "+body.Error.Status)
	switch {
	case said.Code == http.StatusUnauthorized:
		return noCredentials, code
	case said.Code == http.StatusForbidden:
		return denied, code
	case said.Code == http.StatusNotFound:
		return noKey, code
	case body.Error.Status == "FAILED_PRECONDITION":
		return disabled, code
	case said.Code == http.StatusBadRequest:
		return foreign, code // "Decryption failed: the ciphertext is invalid."
	case unanswered(said.Code):
		return unavailable, code
	}
	return unknown, code
}
