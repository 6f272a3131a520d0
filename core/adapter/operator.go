package adapter

import (
	"fmt"
	"regexp"
	"slices"
)

// Operator holds the operator's configuration of a provider: the values of its [OperatorKeys].
type Operator struct {
	ClientID, ClientSecret string // the operator's own OAuth client; "" when there is none
	Addresses              Addresses
}

// Addresses are a provider's addresses by configuration key: "api_url", "token_url", "authority". Those that
// the operator does not set are the provider's public ones.
type Addresses map[string]string

// OperatorKeys declares the configuration keys for a provider, in the section providers.NAME. Adapters with
// the same name share a section: each declares the same keys, or none.
type OperatorKeys struct {
	Help string // names the provider, and says how an OAuth client is registered there
	// ClientIDHelp and ClientSecretHelp describe the keys client_id and client_secret of the operator's own
	// OAuth client; "" if there is none. The secret may be env:VAR or file:PATH.
	ClientIDHelp, ClientSecretHelp string
	Addresses                      []Address
}

// Address declares a key that holds an address: of the API, or of the authorization server.
type Address struct {
	Name     string // the key, in the configuration and in [Addresses]
	Default  string // the provider's public address
	Optional bool   // it may be empty
	Help     string
}

// word matches a name in the configuration. Names have no double underscore, which separates the levels in an
// environment variable.
var word = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// check reports a declaration that cannot be used, which is a defect of the adapter.
func (k *OperatorKeys) check(provider string) error {
	if !word.MatchString(provider) || k.Help == "" || (k.ClientIDHelp == "") != (k.ClientSecretHelp == "") {
		return fmt.Errorf("adapter: the operator keys of %q lack a usable name or a help text", provider)
	}
	names := []string{FieldClientID, FieldClientSecret}
	for _, a := range k.Addresses {
		if !word.MatchString(a.Name) || a.Help == "" {
			return fmt.Errorf("adapter: the address %q of %q lacks a usable name or help", a.Name, provider)
		}
		if slices.Contains(names, a.Name) {
			return fmt.Errorf("adapter: the operator keys of %q have %q twice", provider, a.Name)
		}
		names = append(names, a.Name)
	}
	return nil
}
