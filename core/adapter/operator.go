package adapter

import (
	"fmt"
	"regexp"
	"slices"
)

// Operator is what the operator's configuration says of a provider: the values of its [OperatorKeys].
type Operator struct {
	ClientID, ClientSecret string // the operator's own OAuth client; "" when there is none
	Addresses              Addresses
}

// Addresses say where a provider is, by the words of its configuration: "api_url", "token_url", "authority".
// Those that the operator does not set are the provider's public ones.
type Addresses map[string]string

// OperatorKeys declares the keys that the operator's configuration has for a provider, in the section
// providers.NAME. Adapters of one name share a section: each declares the same keys, or none.
type OperatorKeys struct {
	Help string // names the provider, and says how an OAuth client is registered there
	// ClientIDHelp and ClientSecretHelp explain the keys client_id and client_secret, of the operator's own
	// OAuth client; "" where there is none. The secret may be env:VAR or file:PATH.
	ClientIDHelp, ClientSecretHelp string
	Addresses                      []Address
}

// Address declares a key that holds an address: of the API, or of the authorization server.
type Address struct {
	Name     string // the key, which [Addresses] has its value by
	Default  string // the provider's public address
	Optional bool   // it may be empty
	Help     string
}

// word is a name in the configuration. Two underscores would part the levels of a variable.
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
