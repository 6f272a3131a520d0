package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// declared returns two providers, declared as adapters do it.
func declared() []Provider {
	client := []ProviderKey{
		{Name: "client_id", Kind: "line or none", Help: "Of the client."},
		{Name: "client_secret", Kind: "client secret", Help: "Its secret."},
	}
	return []Provider{
		{Name: "google", Help: "Google.", Keys: append(client[:2:2],
			ProviderKey{Name: "api_url", Kind: "base", Default: "https://g.example/", Help: "The API."},
			ProviderKey{Name: "issuer", Kind: "base or none", Help: "The issuer."})},
		{Name: "microsoft", Help: "Microsoft.", Keys: client},
	}
}

func TestNothingGivenIsTheDefaults(t *testing.T) {
	cfg, err := Load("", []string{"PATH=/bin", "HOME=/root"}, declared())
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Server: Server{
			Listen: "127.0.0.1:8080", PublicURL: "http://127.0.0.1:8080", OpsListen: "127.0.0.1:9090",
			TLS: TLS{ACME: ACME{
				Domains: []string{}, Directory: "https://acme-v02.api.letsencrypt.org/directory",
			}},
			Drain: 5 * time.Second,
		},
		DataDir: "./frontdesk-data",
		Store:   Store{URL: "sqlite:"},
		Secrets: Secrets{KMS: KMS{VaultToken: "env:VAULT_TOKEN"}},
		Providers: Providers{
			"google":    {"client_id": "", "client_secret": "", "api_url": "https://g.example/", "issuer": ""},
			"microsoft": {"client_id": "", "client_secret": ""},
		},
		SettingsPage: SettingsPage{Enabled: true, OIDC: OIDC{Roles: []string{}}},
		Pages:        Pages{ReturnURLs: []string{}},
		Egress:       Egress{Allow: []string{}},
		Limits:       Limits{RequestsPerMinutePerKey: 60000, RequestsPerMinutePerTenant: 120000, MaxInFlight: 1024},
		Resilience: Resilience{
			Deadline: 8 * time.Second, TryTimeout: 5 * time.Second, WriteGrace: 15 * time.Second, MaxTries: 3,
			RetryPercent: 10, Breaker: Breaker{Failures: 10, Connections: 3, OpenFor: 1500 * time.Millisecond},
			Bulkhead: Bulkhead{PerConnection: 8, PerConnectionQueue: 32, PerHost: 256, PerHostQueue: 256},
		},
		RequestLog: RequestLog{PerTenant: 10_000, Keep: 720 * time.Hour},
		Idempotency: Idempotency{
			Keep: 72 * time.Hour, DedupeWindow: 10 * time.Minute, TicketDedupeWindow: 10 * time.Minute,
		},
		Calendar: Calendar{LegacyConferencingTypes: []string{"nylas"}},
		Log:      Log{Level: "info", Format: "json"},

		Telemetry: Telemetry{OTLP: OTLP{SamplePercent: 100}},
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
	if got := Default(declared()); !reflect.DeepEqual(got, want) {
		t.Errorf("Default() = %+v", got)
	}
}

func TestFileThenVariables(t *testing.T) {
	path := write(t, "frontdesk.yaml", `
server:
  listen: ":80"
  public_url: "https://desk.example.com/"
egress:
  allow: [10.0.0.0/8, "fd00::/8"]
resilience:
  deadline: 5s
  breaker: {open_for: 1m30s}
idempotency:
  dedupe_window: 0
limits: # all as they are
providers:
  google: {api_url: "http://127.0.0.1:1/file", client_id: file}
  microsoft: # all as it is
`)
	cfg, err := Load(path, []string{
		"FRONTDESK_SERVER__LISTEN=0.0.0.0:8000",
		"FRONTDESK_CALENDAR__LEGACY_CONFERENCING_TYPES=nylas, cronofy",
		"FRONTDESK_RESILIENCE__BREAKER__FAILURES=20",
		"FRONTDESK_EGRESS__ALLOW=",
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL=http://127.0.0.1:1/variable",
	}, declared())
	if err != nil {
		t.Fatal(err)
	}
	want := Default(declared())
	want.Server.Listen, want.Server.PublicURL = "0.0.0.0:8000", "https://desk.example.com"
	want.Resilience.Deadline = 5 * time.Second
	want.Resilience.Breaker.OpenFor, want.Resilience.Breaker.Failures = 90*time.Second, 20
	want.Idempotency.DedupeWindow = 0
	want.Providers["google"]["api_url"] = "http://127.0.0.1:1/variable"
	want.Providers["google"]["client_id"] = "file"
	want.Calendar.LegacyConferencingTypes = []string{"nylas", "cronofy"}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
}

func TestFaultsOfTheFile(t *testing.T) {
	for _, rule := range []struct{ name, yaml, want string }{
		{"unknown key with its neighbour", "server: {lisen: ':80'}",
			"server.lisen is not a known key; did you mean server.listen?"},
		{"unknown section", "servre: {listen: ':80'}", "servre is not a known key; did you mean server?"},
		{"key on the wrong level", "listen: ':80'", "listen is not a known key; did you mean server.listen?"},
		{"key with its section in one", "server.listen: ':80'",
			"server.listen is not a known key; write listen below server, on a line of its own."},
		{"key in other letters", "Data_Dir: x", "Data_Dir is not a known key; did you mean data_dir?"},
		{"unknown key with no neighbour", "resilience: {breaker: {xyz: 1}}",
			"resilience.breaker.xyz is not a known key."},
		{"unknown provider", "providers: {gogle: {api_url: x}}",
			"providers.gogle is not a known key; did you mean providers.google?"},
		{"unknown provider with no neighbour", "providers: {initech: {client_id: x}}",
			"providers.initech is not a known key."},
		{"unknown key of a provider", "providers: {google: {api_ulr: x}}",
			"providers.google.api_ulr is not a known key; did you mean providers.google.api_url?"},
		{"text for a provider", "providers: {google: x}",
			"providers.google must be a mapping of keys to values."},
		{"list for a provider's key", "providers: {google: {client_id: [x]}}",
			"providers.google.client_id must be text, not a list."},
		{"number for a provider's key", "providers: {google: {client_id: 5}}",
			"providers.google.client_id must be text; put it in quotes."},
		{"provider's address without a scheme", "providers: {google: {api_url: x}}",
			"providers.google.api_url must be an http or https URL without a query, " +
				"such as https://frontdesk.example.com."},
		{"client secret of two lines", "providers: {microsoft: {client_secret: \"a\\nb\"}}",
			"providers.microsoft.client_secret must be one line without control characters; check how it was copied."},
		{"client secret that is not where it should be",
			"providers: {google: {client_secret: env:NO_SUCH_VARIABLE}}",
			"providers.google.client_secret names the variable NO_SUCH_VARIABLE, which is not set."},
		{"a reference where no secret is", "providers: {google: {client_id: env:GOOGLE_CLIENT_ID}}",
			"providers.google.client_id " + noReference},
		{"a file for a directory", "data_dir: file:/run/secrets/directory", "data_dir " + noReference},
		{"a reference for the client of an OpenID provider", "settings_page: {oidc: {client_id: env:OIDC_CLIENT}}",
			"settings_page.oidc.client_id " + noReference},
		{"address of the store with a line break, as Kubernetes has from a file", "store: {url: \"sqlite:a.db\\n\"}",
			"store.url must be one line without control characters; check how it was copied."},
		{"text for a number", "limits: {max_in_flight: many}",
			"limits.max_in_flight must be a whole number, at least 1, without quotes."},
		{"quoted number", "limits: {max_in_flight: '10'}",
			"limits.max_in_flight must be a whole number, at least 1, without quotes."},
		{"number that versions of YAML read differently", "log: {level: info}\nlimits: {max_in_flight: 0100}",
			"has a number in line 2 that begins with 0: some versions of YAML read it as octal. Leave the 0 out, " +
				"or put it in quotes if it is text."},
		{"fraction", "limits: {max_in_flight: 1.5}", "limits.max_in_flight must be a whole number, at least 1."},
		{"number beneath its bound", "limits: {max_in_flight: 0}",
			"limits.max_in_flight must be a whole number, at least 1."},
		{"number above its bound", "resilience: {max_tries: 11}",
			"resilience.max_tries must be a whole number from 1 to 10."},
		{"number beyond int64", "limits: {max_in_flight: 99999999999999999999}",
			"limits.max_in_flight must be a whole number, at least 1, without quotes."},
		{"duration without a unit", "resilience: {deadline: 8}",
			"resilience.deadline must be a duration such as 500ms, 8s or 72h from 100ms to 2m."},
		{"duration above its bound", "resilience: {deadline: 3h}",
			"resilience.deadline must be a duration such as 500ms, 8s or 72h from 100ms to 2m."},
		{"negative duration", "idempotency: {dedupe_window: -1s}",
			"idempotency.dedupe_window must be a duration such as 500ms, 8s or 72h from 0 to 24h."},
		{"not one of the choices", "log: {level: loud}", "log.level must be one of debug, info, warn, error."},
		{"boolean for a text", "log: {level: true}",
			"log.level must be one of debug, info, warn, error; put it in quotes if it is meant as text."},
		{"number for a text", "data_dir: 5", "data_dir must be text; put it in quotes."},
		{"list for a text", "data_dir: [a]", "data_dir must be text, not a list."},
		{"text for a section", "server: localhost", "server must be a mapping of keys to values."},
		{"text for a list", "egress: {allow: 10.0.0.0/8}", "egress.allow must be a list."},
		{"unusable item of a list", "egress: {allow: [10.0.0.0/8, 10.0.0.1]}",
			"egress.allow[1] must be a network such as 10.0.0.0/8, or 10.1.2.3/32 for one address."},
		{"empty item of a list", "egress: {allow: [~]}", "egress.allow[0] has no value."},
		{"address without a port", "server: {listen: localhost}",
			"server.listen must be a host and a port, such as 127.0.0.1:8080 or :8080."},
		{"port out of range", "server: {listen: ':65536'}",
			"server.listen must be a host and a port, such as 127.0.0.1:8080 or :8080."},
		{"public address with a query", "server: {public_url: 'https://a.example/?x=1'}",
			"server.public_url must be an http or https URL without a query, such as https://frontdesk.example.com."},
		{"two things on one address", "server: {ops_listen: '127.0.0.1:8080'}",
			"server.ops_listen must differ from server.listen."},
		{"certificate without a key", "server: {tls: {certificate: a.pem}}",
			"server.tls.key is required with server.tls.certificate."},
		{"key without a certificate", "server: {tls: {key: a.key}}",
			"server.tls.certificate is required with server.tls.key."},
		{"two sources of certificates", "server: {tls: {certificate: a, key: b, acme: {domains: [a.example]}}}",
			"server.tls.acme.domains cannot be used together with server.tls.certificate."},
		{"a wildcard, which ACME gives for no challenge at the gateway", "server: {tls: {acme: {domains: ['*.a.example']}}}",
			"server.tls.acme.domains[0] must be a host name such as frontdesk.example.com, in small letters and " +
				"without wildcards."},
		{"an address for a domain", "server: {tls: {acme: {domains: [127.0.0.1]}}}",
			"server.tls.acme.domains[0] must be a host name such as frontdesk.example.com, in small letters and " +
				"without wildcards."},
		{"a domain twice", "server: {tls: {acme: {domains: [a.example, a.example]}}}",
			"server.tls.acme.domains[1] is there already."},
		{"a plain ACME server", "server: {tls: {acme: {directory: 'http://ca.example/d'}}}",
			"server.tls.acme.directory must be an https URL."},
		{"no address for warnings", "server: {tls: {acme: {email: 'pat'}}}",
			"server.tls.acme.email must be an e-mail address."},
		{"unknown store", "store: {url: 'mysql://x'}",
			"store.url must be sqlite:, sqlite:PATH, or postgres://...; or env:VAR or file:PATH, " +
				"which hold such an address."},
		{"a key set that is no key's name", "secrets: {keyset: 'gcp-kms://x'}",
			"secrets.keyset must be file:PATH, env:VAR, empty, or the name of a key such as " +
				"aws-kms://arn:aws:kms:eu-west-1:111122223333:key/ID."},
		{"a key's name with a password", "secrets: {kms: {key: 'hcvault://user:canary@vault.example/transit/keys/k'}}",
			"secrets.kms.key must be the name of a key: aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID, " +
				"gcp-kms://projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME, or " +
				"hcvault://HOST:PORT/transit/keys/NAME."},
		{"two keys", "secrets: {keyset: '" + awsKey + "', kms: {key: '" + awsKey + "'}}",
			"secrets.kms.key is not needed, since secrets.keyset names a key."},
		{"a token itself", "secrets: {kms: {vault_token: hvs.canary}}",
			"secrets.kms.vault_token must say where the secret is, as env:VAR or file:PATH; do not write the secret " +
				"itself here."},
		{"empty directory", "data_dir: ' '", "data_dir must not be empty."},
		{"not a mapping", "- a", "must be a mapping of keys to values."},
		{"two documents", "data_dir: a\n---\ndata_dir: b", "must be one YAML document."},
	} {
		t.Run(rule.name, func(t *testing.T) {
			path := write(t, "frontdesk.yaml", rule.yaml)
			_, err := Load(path, nil, declared())
			want := path + " cannot be used:\n  " + rule.want
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// Editors of Windows begin a file with a byte order mark.
func TestAFileMayBeginWithAByteOrderMark(t *testing.T) {
	cfg, err := Load(write(t, "frontdesk.yaml", "\ufeffserver:\r\n  listen: ':80'\r\n"), nil, declared())
	if err != nil || cfg.Server.Listen != ":80" {
		t.Errorf("got %q, %v", cfg.Server.Listen, err)
	}
}

func TestTextThatIsNotYAMLIsNotQuoted(t *testing.T) {
	for _, text := range []string{
		"store: {url: 'postgres://u:canary@h/d'", "store:\n  url: \"canary\n: [", "a: 1\na: canary",
	} {
		_, err := Load(write(t, "frontdesk.yaml", text), nil, declared())
		var faults *Error
		if !errors.As(err, &faults) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	_, err := Load(write(t, "frontdesk.yaml", "log: {level: loud, colour: red}\nserver: {listen: here}"),
		[]string{"FRONTDESK_LIMITS__MAX_IN_FLIGHT=0"}, declared())
	var faults *Error
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	want := []Fault{
		{Key: "limits.max_in_flight", Variable: "FRONTDESK_LIMITS__MAX_IN_FLIGHT",
			Message: "must be a whole number, at least 1."},
		{Key: "log.colour", Message: "is not a known key."},
		{Key: "log.level", Message: "must be one of debug, info, warn, error."},
		{Key: "server.listen", Message: "must be a host and a port, such as 127.0.0.1:8080 or :8080."},
	}
	if !reflect.DeepEqual(faults.Faults, want) {
		t.Errorf("got  %+v\nwant %+v", faults.Faults, want)
	}
	if !strings.Contains(err.Error(),
		"\n  limits.max_in_flight (FRONTDESK_LIMITS__MAX_IN_FLIGHT) must be a whole number, at least 1.\n") {
		t.Errorf("got %v", err)
	}
}

func TestVariablesThatAreNoKeys(t *testing.T) {
	for _, rule := range []struct{ name, variable, want string }{
		{"misspelt", "FRONTDESK_SERVER__LISEN=x", "did you mean FRONTDESK_SERVER__LISTEN?"},
		{"one underscore too few", "FRONTDESK_SERVER_LISTEN=x", "did you mean FRONTDESK_SERVER__LISTEN?"},
		{"one underscore too many", "FRONTDESK_DATA__DIR=x", "did you mean FRONTDESK_DATA_DIR?"},
		{"a section", "FRONTDESK_SERVER=x", "Names of your own variables must not begin with FRONTDESK_."},
		{"something else", "FRONTDESK_GREETING=x", "Names of your own variables must not begin with FRONTDESK_."},
		{"a provider's, misspelt", "FRONTDESK_PROVIDERS__GOOGLE__API_ULR=x",
			"did you mean FRONTDESK_PROVIDERS__GOOGLE__API_URL?"},
		{"of a provider that none declares", "FRONTDESK_PROVIDERS__ACME__CLIENT=x",
			"Names of your own variables must not begin with FRONTDESK_."},
		{"of the tests", "FRONTDESK_REQUIRE_ALL=1", ""},
		{"of the clients", "FRONTDESK_API_KEY=fd_live_x", ""},
		{"Kubernetes: host", "FRONTDESK_SERVICE_HOST=10.0.0.1", ""},
		{"Kubernetes: named port", "FRONTDESK_SERVICE_PORT_HTTP=80", ""},
		{"Kubernetes: another service", "FRONTDESK_OPS_SERVICE_PORT=80", ""},
		{"Kubernetes: link", "FRONTDESK_PORT=tcp://10.0.0.1:80", ""},
		{"Kubernetes: link of a port", "FRONTDESK_PORT_8080_TCP_ADDR=10.0.0.1", ""},
		{"of someone else", "FRONTDESKTOP=1", ""},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, err := Load("", []string{rule.variable}, declared())
			if rule.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			name, _, _ := strings.Cut(rule.variable, "=")
			if err == nil || !strings.HasSuffix(err.Error(), rule.want) ||
				!strings.Contains(err.Error(), "\n  "+name+" is not a known key") {
				t.Errorf("got %v, want ... %s", err, rule.want)
			}
		})
	}
}

func TestStoreAddressMayBeElsewhere(t *testing.T) {
	const address = "postgres://frontdesk:canary@db/frontdesk"
	cfg, err := Load("", []string{
		"FRONTDESK_STORE__URL=env:FRONTDESK_DATABASE", "FRONTDESK_DATABASE=" + address,
	}, nil)
	if err != nil || cfg.Store.URL != address {
		t.Errorf("from a variable: %q, %v", cfg.Store.URL, err)
	}
	cfg, err = Load("", []string{"FRONTDESK_STORE__URL=file:" + write(t, "url", address+"\n")}, declared())
	if err != nil || cfg.Store.URL != address {
		t.Errorf("from a file: %q, %v", cfg.Store.URL, err)
	}
	_, err = Load("", []string{"FRONTDESK_STORE__URL=env:DATABASE", "DATABASE=mysql:canary"}, declared())
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("an unusable address: %v", err)
	}
	_, err = Load("", []string{"FRONTDESK_STORE__URL=env:DATABASE"}, declared())
	if err == nil || !strings.Contains(err.Error(), "store.url names the variable DATABASE, which is not set.") {
		t.Errorf("an absent variable: %v", err)
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestEveryKeyIsExplainedAndUsable(t *testing.T) {
	cfg := defaults(declared())
	seen := map[string]bool{}
	for _, k := range cfg.keys(declared()) {
		if seen[variableOf(k.path)] {
			t.Errorf("%s has the variable of another key", k.path)
		}
		seen[variableOf(k.path)] = true
		if k.help == "" {
			t.Errorf("%s has no help", k.path)
		}
		if problem := k.setText("\x00?"); problem == "" {
			t.Errorf("%s takes anything", k.path)
		}
	}
}

// FuzzLoad checks that every file and variable lead to a configuration or an explanation, and that a
// configuration that is read keeps the bounds.
func FuzzLoad(f *testing.F) {
	f.Add("server: {listen: ':80'}", "FRONTDESK_LOG__LEVEL=debug")
	f.Add("a: &a [*a]", "FRONTDESK_=")
	f.Add("providers: {google: {client_secret: 'env:X'}, microsoft: []}",
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL=x")
	f.Add("? [x]: y", "FRONTDESK_EGRESS__ALLOW=,,")
	f.Add("limits:\n  max_in_flight: 0x10\n", "=")
	f.Add("<<: {a: b}\n!!binary x: 2001-01-01", "FRONTDESK_LIMITS__MAX_IN_FLIGHT=9e9")
	f.Fuzz(func(t *testing.T, text, variable string) {
		d := decoder{environ: variables([]string{variable}), declared: declared()}
		cfg := defaults(declared())
		d.file([]byte(text), &cfg)
		d.variables(&cfg)
		cfg.settle(&d)
		if len(d.faults) > 0 {
			if (&Error{Faults: d.sortFaults()}).Error() == "" {
				t.Error("a fault without words")
			}
			return
		}
		if cfg.Resilience.MaxTries < 1 || cfg.Resilience.Deadline < 100*time.Millisecond || cfg.DataDir == "" ||
			address(cfg.Server.Listen) != "" {
			t.Errorf("unusable: %+v", cfg)
		}
	})
}

func TestClientSecretMayBeElsewhere(t *testing.T) {
	file := write(t, "frontdesk.yaml", "providers: {microsoft: {client_secret: env:FRONTDESK_CLIENT_SECRET}}")
	cfg, err := Load(file, []string{
		"FRONTDESK_CLIENT_SECRET=canary",
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=file:" + write(t, "secret", "other canary\n"),
	}, declared())
	secrets := []string{cfg.Providers["microsoft"]["client_secret"], cfg.Providers["google"]["client_secret"]}
	if err != nil || !slices.Equal(secrets, []string{"canary", "other canary"}) {
		t.Errorf("got %+v, %v", cfg.Providers, err)
	}
	for _, path := range []string{"providers.google.client_secret", "settings_page.oidc.client_secret"} {
		for name, text := range map[string]string{"two lines": "canary\n\n", "UTF-16": "\xff\xfec\x00"} {
			_, err := Load("", []string{variableOf(path) + "=file:" + write(t, "secret", text)}, declared())
			if err == nil || !strings.Contains(err.Error(), path+" must be one line") || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s of %s: %v", path, name, err)
			}
		}
	}
}

func TestADefaultThatIsNotOfItsKindIsADefect(t *testing.T) {
	defer func() {
		said, _ := recover().(string)
		if !strings.HasPrefix(said, "config: the default of providers.acme.api_url must be an http") {
			t.Errorf("got %q", said)
		}
	}()
	Default([]Provider{{Name: "acme", Keys: []ProviderKey{{Name: "api_url", Kind: "base"}}}})
}

const noReference = "must be the value itself: env:VAR and file:PATH are read for secrets only. A variable sets " +
	"this key where its name is FRONTDESK_ and the key's path; see config/README.md."

const awsKey = "aws-kms://arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"

// The name of a key in the place of a key set says both: where it is, and what encrypts it.
func TestKeysOfServices(t *testing.T) {
	for _, key := range []string{
		awsKey, "aws-kms://arn:aws-us-gov:kms:us-gov-west-1:111122223333:alias/frontdesk",
		"gcp-kms://projects/acme/locations/europe-west1/keyRings/frontdesk/cryptoKeys/keyset",
		"hcvault://vault.example.com:8200/transit/keys/frontdesk", "hcvault://[::1]:8200/team/transit/keys/frontdesk",
	} {
		for _, text := range []string{"{keyset: '" + key + "'}", "{kms: {key: '" + key + "'}}"} {
			cfg, err := Load(write(t, "frontdesk.yaml", "secrets: "+text), nil, declared())
			if err != nil {
				t.Error(err)
				continue
			}
			want := Secrets{KMS: KMS{Key: key, VaultToken: "env:VAULT_TOKEN"}}
			if cfg.Secrets != want {
				t.Errorf("%s: got %+v", text, cfg.Secrets)
			}
		}
	}
	cfg, err := Load(write(t, "frontdesk.yaml", "secrets: {keyset: 'file:/k.json', kms: {key: '"+awsKey+"'}}"),
		[]string{"FRONTDESK_SECRETS__KMS__VAULT_TOKEN=env:FRONTDESK_TOKEN", "FRONTDESK_TOKEN=x"}, declared())
	if want := (Secrets{
		Keyset: "file:/k.json", KMS: KMS{Key: awsKey, VaultToken: "env:FRONTDESK_TOKEN"},
	}); err != nil || cfg.Secrets != want {
		t.Errorf("got %+v, %v", cfg.Secrets, err)
	}
}
