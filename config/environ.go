package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"frontdesk/core/spelling"
)

// prefix is what the variables of the configuration begin with.
const prefix = "FRONTDESK_"

// variableOf returns the variable of a key: FRONTDESK_SERVER__LISTEN for server.listen.
func variableOf(path string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}

// variables parses NAME=VALUE pairs. If a name occurs twice, the last pair counts, as with os/exec.
func variables(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			m[name] = value
		}
	}
	return m
}

// variables sets the keys that the environment gives. A variable with our prefix that is neither a key nor
// known to serve another purpose is a fault.
func (d *decoder) variables(cfg *Config) {
	known := map[string]key{}
	for _, k := range cfg.keys(d.declared) {
		known[variableOf(k.path)] = k
	}
	names := slices.Sorted(maps.Keys(known))
	defer func() { d.variable = "" }()
	for _, name := range slices.Sorted(maps.Keys(d.environ)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		d.variable = name
		if k, ok := known[name]; ok {
			if problem := k.setText(d.environ[name]); problem != "" {
				d.wrong(k.path, "%s", problem)
			}
			continue
		}
		if isForOthers(name) || d.refersTo(cfg, name) {
			continue
		}
		if meant := variableMeantBy(name, names); meant != "" {
			d.wrong("", "is not a known key; did you mean %s?", meant)
			continue
		}
		d.wrong("", "is not a known key. Names of your own variables must not begin with %s.", prefix)
	}
}

// variableMeantBy returns the known variable that name was most likely meant to be, or "" if none is near. It
// ignores underscores, since they are easily miscounted.
func variableMeantBy(name string, known []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s, prefix), "_", ""))
	}
	short := make([]string, 0, len(known))
	for _, k := range known {
		short = append(short, plain(k))
	}
	if i := slices.Index(short, spelling.Nearest(plain(name), short)); i >= 0 {
		return known[i]
	}
	return ""
}

// isForOthers reports whether a variable with our prefix is not a key but is set for another purpose: for a
// client of the API, whose key our documents and examples read from FRONTDESK_API_KEY, for our tests, or by
// Kubernetes. For a Service named frontdesk or frontdesk-*, Kubernetes sets variables such as
// FRONTDESK_SERVICE_HOST and FRONTDESK_PORT_8080_TCP_ADDR in every container ("Environment variables" in
// "Service", kubernetes.io).
func isForOthers(name string) bool {
	return name == "FRONTDESK_API_KEY" || name == "FRONTDESK_REQUIRE_ALL" ||
		strings.HasPrefix(name, "FRONTDESK_TEST_") || serviceLink.MatchString(name)
}

var serviceLink = regexp.MustCompile(
	`^FRONTDESK(_[A-Z0-9]+)*_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9]+)*|` +
		`PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// refersTo reports whether the configuration reads a secret from the variable.
func (d *decoder) refersTo(cfg *Config, name string) bool {
	written := map[string]string{
		"secrets.keyset": cfg.Secrets.Keyset, "secrets.kms.vault_token": cfg.Secrets.KMS.VaultToken,
		"settings_page.oidc.client_secret": cfg.SettingsPage.OIDC.ClientSecret, "store.url": cfg.Store.URL,
	}
	for provider, name := range clientSecrets(d.declared) {
		written[providerPath(provider, name)] = cfg.Providers[provider][name]
	}
	for path, source := range written {
		if source == "env:"+name || d.environ[variableOf(path)] == "env:"+name {
			return true
		}
	}
	return false
}
