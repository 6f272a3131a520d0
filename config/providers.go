package config

import (
	"iter"
	"maps"
	"reflect"
	"slices"
)

// Providers holds the values of the providers' keys, by the names of the provider and the key.
type Providers map[string]map[string]string

// Provider declares the keys of one provider, which are beneath providers.NAME.
type Provider struct {
	Name string
	Help string // of the section, for the example file
	Keys []ProviderKey
}

// ProviderKey declares a key of a provider, as the tags of [Config] declare the others. A key of the kind
// "client secret" holds one line: the secret, or env:VAR or file:PATH to read the secret from.
type ProviderKey struct{ Name, Default, Kind, Help string }

// clientSecret is the kind of a key that holds a secret, or env:VAR or file:PATH to read the secret from.
const clientSecret = "client secret"

// section is the key that holds the sections of all providers.
const section = "providers"

func providerPath(provider, name string) string { return join(join(section, provider), name) }

// providerPaths returns the path of each provider's section, followed by the paths of its keys.
func providerPaths(declared []Provider) []string {
	var paths []string
	for _, p := range declared {
		paths = append(paths, join(section, p.Name))
		for _, k := range p.Keys {
			paths = append(paths, providerPath(p.Name, k.Name))
		}
	}
	return paths
}

func (v Providers) keys(declared []Provider) []key {
	var keys []key
	for _, p := range declared {
		for _, k := range p.Keys {
			keys = append(keys, key{
				path: providerPath(p.Name, k.Name), help: k.Help, fallback: k.Default,
				setText: func(given string) string {
					v[p.Name][k.Name] = given
					return checkForm(k.Kind, given)
				},
			})
		}
	}
	return keys
}

// providers reads the sections of all providers.
func (d *decoder) providers(path string, node any, into Providers) {
	sections := map[string]func(node any){}
	for _, p := range d.declared {
		sections[p.Name] = func(node any) { d.provider(join(path, p.Name), node, p.Keys, into[p.Name]) }
	}
	d.children(path, node, sections)
}

// provider reads the section of one provider.
func (d *decoder) provider(path string, node any, declared []ProviderKey, into map[string]string) {
	keys := map[string]func(node any){}
	for _, k := range declared {
		keys[k.Name] = func(node any) {
			value := reflect.New(reflect.TypeFor[string]()).Elem()
			d.value(join(path, k.Name), node, value, form{kind: k.Kind})
			into[k.Name] = value.String()
		}
	}
	d.children(path, node, keys)
}

// children calls the function in read for each value of a mapping. A null value counts as not given.
func (d *decoder) children(path string, node any, read map[string]func(node any)) {
	given, ok := node.(map[string]any)
	if !ok {
		d.wrong(path, "must be a mapping of keys to values.")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case read[name] == nil:
			d.unknown(join(path, name))
		case given[name] != nil:
			read[name](given[name])
		}
	}
}

// clientSecrets yields the provider and the name of each key of the kind "client secret".
func clientSecrets(declared []Provider) iter.Seq2[string, string] {
	return func(yield func(provider, name string) bool) {
		for _, p := range declared {
			for _, k := range p.Keys {
				if k.Kind == clientSecret && !yield(p.Name, k.Name) {
					return
				}
			}
		}
	}
}

// resolveClientSecrets replaces references to secrets with the secrets themselves.
func (d *decoder) resolveClientSecrets(in Providers) {
	for provider, name := range clientSecrets(d.declared) {
		source := SecretSource(in[provider][name])
		if !source.isReference() {
			continue
		}
		in[provider][name] = d.clientSecret(providerPath(provider, name), source)
	}
}

// clientSecret returns the secret that a key refers to. It is one line there as well: otherwise a provider refuses it,
// and does not say why.
func (d *decoder) clientSecret(path string, source SecretSource) string {
	secret, err := source.resolve(d.environ, nil)
	if err != nil {
		d.wrong(path, "%s.", err)
	} else if problem := checkForm(clientSecret, secret); problem != "" {
		d.wrong(path, "%s", problem)
	}
	return secret
}
