package kms

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	vault "github.com/hashicorp/vault/api"
	"github.com/tink-crypto/tink-go-hcvault/v2/integration/hcvault"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// ofVault returns the transit engine of HashiCorp Vault for the key HOST/MOUNT/keys/NAME. The variables of
// Vault's own client apply, such as VAULT_CACERT and VAULT_NAMESPACE, but those of the address.
func ofVault(name string, o Options) service {
	host, path, _ := strings.Cut(name, "/")
	return service{
		open: func(ctx context.Context) (tink.AEADWithContext, error) {
			cfg := vault.DefaultConfig()
			if cfg.Error != nil {
				return nil, cfg.Error
			}
			cfg.Address, cfg.AgentAddress = cmp.Or(o.URL, "https://"+host), ""
			cfg.MaxRetries, cfg.Timeout = 0, Timeout
			client, err := vault.NewClient(cfg)
			if err != nil {
				return nil, err
			}
			token, err := tokenOf(o)
			if err != nil {
				return nil, err
			}
			client.SetToken(token)
			if transport, ok := cfg.HttpClient.Transport.(*http.Transport); ok {
				transport.DisableKeepAlives = true
			}
			cfg.HttpClient.Transport = within{ctx, cfg.HttpClient.Transport}
			key, err := hcvault.NewAEAD("/"+path, client.Logical())
			return bound{key}, err
		},
		problem: problemOfVault,
		rights: "Give the gateway a token (secrets.kms.vault_token) with a policy that allows \"update\" on the " +
			"paths MOUNT/decrypt/NAME and, to write key sets, MOUNT/encrypt/NAME.",
	}
}

// tokenError is why there is no token. It names its source.
type tokenError struct{ error }

func tokenOf(o Options) (string, error) {
	if o.VaultToken == nil {
		return os.Getenv(vault.EnvVaultToken), nil
	}
	token, err := o.VaultToken()
	if err != nil {
		return "", tokenError{err}
	}
	return token, nil
}

// problemOfVault reads the errors of encrypt and decrypt ("HTTP status codes", Vault HTTP API). Vault has no
// codes for what a status of 400 means, so its words are read.
func problemOfVault(err error) (problem, string) {
	if none, ok := errors.AsType[tokenError](err); ok {
		return noCredentials, none.Error()
	}
	said, ok := errors.AsType[*vault.ResponseError](err)
	if !ok {
		if what, detail, ok := connecting(err); ok {
			return what, detail
		}
		return unknown, ""
	}
	says := func(words string) bool {
		return slices.ContainsFunc(said.Errors, func(line string) bool { return strings.Contains(line, words) })
	}
	code := "status " + strconv.Itoa(said.StatusCode)
	switch {
	case says("missing client token"), says("invalid token"):
		return noCredentials, code
	case said.StatusCode == http.StatusForbidden:
		return denied, code
	case said.StatusCode == http.StatusNotFound, says("encryption key not found"):
		return noKey, code
	case said.StatusCode == http.StatusBadRequest:
		return foreign, code
	case said.StatusCode == http.StatusServiceUnavailable && says("sealed"):
		return unavailable, "it is sealed"
	case unanswered(said.StatusCode):
		return unavailable, code
	}
	return unknown, code
}
