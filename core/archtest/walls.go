// Package archtest holds the rules of imports: which folder may import which. Its test parses every Go file
// of the module. It fails when an import breaks a rule, when a folder has no row in the table, and when a
// row's folder is gone. It also checks that no package keeps global state, and that a package that starts
// goroutines tests that they end. To add a package, add its row to [Walls]. To let a package import another,
// say why in a review of this file.
//
// golangci-lint's depguard is not enough: its rules cannot say "the folder itself", so each adapter would
// need its own rule. gochecknoglobals refuses the tables that packages hold.
package archtest

// Wall says what a folder, or every folder that a pattern matches, may import from the module. In a pattern,
// "*" matches one name and a final "**" any number of names; "./**" is the folder itself with all beneath. A
// folder belongs to the first row that matches it.
type Wall struct {
	Folder string
	May    []string // what it may import
	Tests  []string // what its tests may import besides
	// ForTests marks a folder for tests. Only tests and folders of this kind may import it, and of the
	// folders only these may import package testing.
	ForTests bool
	Why      string
}

// Walls returns the table of walls.
func Walls() []Wall {
	return []Wall{
		{
			Folder: "deploy/clients/frontdesk", May: []string{},
			Why: "Whoever uses the client has nothing else of this module.",
		},
		{
			Folder: "deploy/examples/backend", May: []string{"deploy/clients/frontdesk"},
			Tests: []string{"deploy/gatewaytest"},
			Why:   "An example shows what others can do.",
		},
		{
			Folder: "deploy/gatewaytest",
			May:    []string{"adapters/*/sandbox", "config", "core/adapter", "core/gateway"},
			Tests:  []string{"core/page/browsertest"}, ForTests: true,
			Why: "Clients are tested with a gateway.",
		},
		{
			Folder: "cmd/frontdesk", May: []string{
				"adapters/all", "config", "core/gateway", "core/adapter", "core/fault",
				"core/admin", "core/agenttools", "core/apikey", "core/apply", "core/connection", "core/heap", "core/kms",
				"core/link", "core/sealing", "core/signin", "core/tenant", "core/vault", "core/webhook",
			},
			Tests: []string{
				"core/crm", "core/record", "core/adapter/adaptertest", "core/oauth/oauthtest",
				"core/audit", "core/kms/kmstest", "core/page/browsertest", "core/store", "core/store/storetest",
				"adapters/calendar/caldav/servertest",
				"adapters/*/*/fake", "adapters/crm/rest/servertest",
			},
			Why: "Wiring and command line. What the operator administers is said in the words of its packages, " +
				"of adapter and fault.",
		},
		{
			Folder: "config", May: []string{"core/spelling"},
			Why: "Configuration is handed to the gateway, and imports none of it.",
		},

		{Folder: "adapters/all", May: []string{"core/adapter", "adapters/*/*"}, Why: "The one list of adapters."},
		{
			Folder: "adapters/fake", May: []string{"adapters/*/*/fake", "core/adapter/adaptertest"}, ForTests: true,
			Why: "Runs a fake on its own.",
		},
		{
			Folder: "adapters/calendar/caldav/servertest", May: []string{"core/adapter/adaptertest"}, ForTests: true,
			Why: "Starts real servers.",
		},
		{
			Folder: "adapters/crm/rest/servertest", May: []string{"core/adapter/adaptertest"}, ForTests: true,
			Why: "Starts a real server.",
		},
		{
			Folder: "adapters/*/*/fake",
			May: []string{
				"adapters/*/*/fake/**", "core/adapter/adaptertest", "core/oauth/oauthtest", "core/timezone",
			},
			ForTests: true,
			Why:      "A pretended provider is written from the provider's documents, not from the adapter's code.",
		},
		{
			Folder: "adapters/*/sandbox",
			May: []string{
				"core/adapter/scenario", "core/adapter", "core/calendar", "core/crm", "core/telephony", "core/fault",
				"core/phonenumber", "core/timezone",
			},
			Tests: conformance(), Why: "A sandbox reaches nothing outside: it is handed its storage.",
		},
		{
			Folder: "adapters/crm/rest",
			May: []string{
				"./**", "core/adapter", "core/crm", "core/fault", "core/phonenumber", "core/timezone", "core/upstream",
			},
			Tests: append(conformance(), "config"), Why: "An adapter whose examples are files as apply reads them.",
		},
		{
			Folder: "adapters/*/*",
			May: []string{
				"./**", "core/adapter", "core/calendar", "core/crm", "core/telephony", "core/fault", "core/parallel",
				"core/phonenumber", "core/timezone", "core/upstream", "core/jsonread",
			},
			Tests: conformance(),
			Why: "An adapter sees what it implements and the client it calls with: no other adapter, store, " +
				"configuration or guard.",
		},
		{
			Folder: "adapters/*/*/*", May: []string{"../**", "core/jsonread"},
			Why: "A part of an adapter, such as a format of its provider, knows the adapter alone.",
		},

		{Folder: "core/fault", Why: "The one vocabulary of failure."},
		{
			Folder: "core/fault/faulttest", May: []string{"core/fault"}, ForTests: true,
			Why: "Faults at the moment that a test means, and what they name.",
		},
		{Folder: "core/spelling", Why: "Mistyped names."},
		{Folder: "core/pause", Why: "A wait that its context ends."},
		{Folder: "core/durable", Why: "Names of files that survive a power loss, and owners that survive a command of root's."},
		{Folder: "core/speech", May: []string{"core/language"}, Why: "Words for dates and times."},
		{
			Folder: "core/agenttools", May: []string{"core/hostname"},
			Tests: []string{"core/api", "core/page/browsertest"},
			Why:   "The operations as tools of voice platforms: texts, and nobody to ask.",
		},
		{Folder: "core/slots", Why: "When a meeting can take place: rules, and nobody to ask."},
		{
			Folder: "core/budget", May: []string{"core/parallel"}, Tests: []string{"core/store/storetest", "core/store"},
			Why: "Limits of all replicas together: what they limit is not known here.",
		},
		{
			Folder: "core/parallel", May: []string{"core/pause", "core/telemetry"},
			Why: "Functions side by side: what they do is not known here.",
		},
		{Folder: "core/fair", Why: "Turns and shares of tenants: nothing else is known of them."},
		{Folder: "core/timezone", Why: "The names of time zones, and what their clocks show."},
		{Folder: "core/jsonread", Why: "JSON of a known shape."},
		{Folder: "core/heap", Why: "When garbage is collected."},
		{Folder: "core/hostname", Why: "The gateway's own host name."},
		{Folder: "core/language", Why: "In which language people are spoken to."},
		{Folder: "core/phonenumber", Why: "Telephone numbers as people type them."},
		{Folder: "core/record", Why: "The interface's records."},
		{Folder: "core/page", May: []string{"core/language"}, Why: "The look of all pages knows none of them."},
		{Folder: "core/page/browsertest", ForTests: true, Why: "A real browser for tests of pages."},
		{
			Folder: "core/telemetry",
			Why:    "Logs, spans and request identity import nothing, so that every package may use them.",
		},
		{
			Folder: "core/metrics", May: []string{"core/telemetry"},
			Why: "What is done with metrics is no matter of those who record them.",
		},
		{
			Folder: "core/tracing", May: []string{}, Tests: []string{"core/metrics", "core/telemetry"},
			Why: "Where spans go is no matter of those who record them.",
		},

		{Folder: "core/calendar", May: []string{"core/fault"}, Why: "A contract."},
		{Folder: "core/crm", May: []string{"core/fault", "core/phonenumber"}, Why: "A contract."},
		{Folder: "core/telephony", May: []string{"core/fault"}, Why: "A contract."},
		proof("core/calendar/calendartest", "core/calendar"),
		{
			Folder: "core/crm/crmtest",
			May:    []string{"core/crm", "core/fault", "core/phonenumber", "core/adapter/conformance"},
			Tests:  []string{"core/adapter/adaptertest"}, ForTests: true, Why: "A contract's proof.",
		},
		proof("core/telephony/telephonytest", "core/telephony"),

		{
			Folder: "core/adapter",
			May: []string{"core/calendar", "core/crm", "core/telephony", "core/fault", "core/slots",
				"core/spelling"},
			Why: "What an adapter says of itself.",
		},
		{
			Folder: "core/adapter/scenario", May: []string{"core/adapter", "core/fault", "core/pause"},
			Tests: []string{"core/adapter/adaptertest"}, Why: "How sandboxes fail on request.",
		},
		{
			Folder: "core/adapter/adaptertest", May: []string{"core/adapter", "core/fault", "core/upstream"},
			ForTests: true,
			Why: "What tests of adapters share: the provider's side, and the client that the gateway " +
				"hands a driver.",
		},
		{
			Folder: "core/adapter/conformance", May: []string{"core/fault"}, ForTests: true,
			Why: "What the contracts' proofs share.",
		},
		{
			Folder: "core/adapter/described", ForTests: true,
			Why: "Holds requests against descriptions, whosever they are.",
		},

		{
			Folder: "core/upstream", May: []string{"core/fault", "core/telemetry"},
			Tests: []string{"core/certificate/certificatetest", "core/fault/faulttest"},
			Why:   "The HTTP client below all adapters.",
		},
		{
			Folder: "core/guard", May: []string{"core/fault", "core/pause", "core/telemetry"}, Tests: []string{"core/metrics"},
			Why: "One guard around every call, whatever the contract.",
		},
		{
			Folder: "core/vault", May: []string{"core/durable", "core/fault", "core/pause"},
			Why: "Seals bytes, whosever they are.",
		},
		{
			Folder: "core/kms", May: []string{}, Tests: []string{"core/kms/kmstest", "core/vault"},
			Why: "Asks key management services.",
		},
		{Folder: "core/kms/kmstest", ForTests: true, Why: "Key management services for tests."},
		{
			Folder: "core/oauth",
			May: []string{
				"core/adapter", "core/fault", "core/parallel", "core/pause", "core/store", "core/telemetry",
				"core/upstream", "core/vault",
			},
			Tests: []string{"core/oauth/oauthtest", "core/store/storetest"},
			Why:   "Access tokens of all connections: asked for, sealed, kept and renewed.",
		},
		{
			Folder: "core/oauth/oauthtest", ForTests: true,
			Why: "A pretended authorization server is written from the RFCs.",
		},
		{
			Folder: "core/store", May: []string{"core/adapter", "core/durable", "core/fair", "core/fault", "core/pause"},
			Tests: []string{"core/store/storetest", "core/vault"}, Why: "Rows, and the sandboxes' storage.",
		},
		{
			Folder: "core/audit",
			May: []string{
				"core/durable", "core/fault", "core/pause", "core/secret", "core/spelling", "core/store",
				"core/telemetry", "core/vault",
			},
			Tests: []string{"core/store/storetest"}, Why: "What was changed, by whom, and the proof of it.",
		},
		{
			Folder: "core/requestlog", May: []string{"core/pause", "core/secret", "core/store", "core/telemetry"},
			Tests: []string{"core/store/storetest"}, Why: "What requests did, for people; it decides nothing.",
		},
		{
			Folder: "core/store/storetest", May: []string{"core/store"}, ForTests: true,
			Why: "Stores for tests of other packages.",
		},
		{
			Folder: "core/normalize",
			May: []string{
				"core/calendar", "core/crm", "core/telephony", "core/fault", "core/record", "core/spelling", "core/timezone",
			},
			Why: "From contracts to records, pure.",
		},
		{Folder: "core/secret", Why: "Ids and secrets."},
		{
			Folder: "core/certificate", May: []string{"core/parallel", "core/pause"},
			Tests: []string{"core/certificate/certificatetest"},
			Why:   "The gateway's own certificate, whatever it serves.",
		},
		{Folder: "core/certificate/certificatetest", ForTests: true, Why: "Certificates for tests."},
		{
			Folder: "core/singleflight", May: []string{"core/fault", "core/telemetry"},
			Why: "One fetch for many calls, whatever is fetched.",
		},
		{
			Folder: "core/sealing", May: []string{"core/fault", "core/store", "core/vault"},
			Tests: []string{"core/**"},
			Why:   "Which rows are as the gateway wrote them. What they mean is known above.",
		},
		{
			Folder: "core/tenant",
			May:    []string{"core/audit", "core/fault", "core/secret", "core/slots", "core/spelling", "core/store"},
			Tests:  []string{"core/**"}, Why: "The tenants know nothing of what they have.",
		},
		{
			Folder: "core/tenant/tenanttest", May: []string{"core/**"}, ForTests: true,
			Why: "Tenants with all that they have, for tests.",
		},
		{
			Folder: "core/connection",
			May: []string{
				"core/adapter", "core/audit", "core/budget", "core/calendar", "core/crm", "core/telephony", "core/fault",
				"core/oauth",
				"core/sealing", "core/secret", "core/singleflight", "core/store", "core/telemetry", "core/tenant",
				"core/upstream", "core/vault",
			},
			Tests: []string{"core/**"}, Why: "A tenant's account at a provider, and its driver, opened.",
		},
		{
			Folder: "core/apikey",
			May: []string{
				"core/adapter", "core/audit", "core/connection", "core/fault", "core/parallel", "core/pause",
				"core/sealing", "core/secret", "core/singleflight", "core/store", "core/tenant", "core/vault",
			},
			Tests: []string{"core/**"}, Why: "Who makes a request, and what the key reaches.",
		},
		{
			Folder: "core/link",
			May: []string{
				"core/adapter", "core/audit", "core/connection", "core/fault", "core/oauth", "core/sealing",
				"core/secret", "core/store", "core/tenant", "core/vault",
			},
			Tests: []string{"core/**"}, Why: "How customers connect accounts. The pages are above.",
		},
		{
			Folder: "core/webhook",
			May: []string{
				"core/audit", "core/fault", "core/parallel", "core/sealing", "core/secret", "core/store",
				"core/telemetry", "core/tenant", "core/upstream", "core/vault",
			},
			Tests: []string{"core/**"}, Why: "Events out. What happens is known to the store and the guard.",
		},
		{
			Folder: "core/apply",
			May: []string{
				"core/adapter", "core/apikey", "core/audit", "core/connection", "core/fault", "core/sealing",
				"core/store", "core/tenant",
			},
			Tests: []string{"core/**"}, Why: "A file of tenants with connections and voice agents.",
		},
		{
			Folder: "core/journal",
			May:    []string{"core/audit", "core/fault", "core/parallel", "core/pause", "core/store", "core/telemetry"},
			Tests:  []string{"core/store/storetest", "core/vault"},
			Why:    "Mutating calls, whatever they change: no contract and no record.",
		},
		{
			Folder: "core/service",
			May: []string{
				"core/adapter", "core/audit", "core/calendar", "core/crm", "core/telephony", "core/fair", "core/fault",
				"core/guard", "core/journal", "core/language", "core/normalize", "core/parallel", "core/pause",
				"core/phonenumber", "core/record", "core/singleflight", "core/slots", "core/speech", "core/spelling",
				"core/store", "core/apikey", "core/connection", "core/tenant",
			},
			Tests: []string{"core/**"},
			Why:   "The use cases. Beside normalize, nobody else sees both contracts and records.",
		},
		{
			Folder: "core/admin",
			May: []string{
				"core/adapter", "core/apikey", "core/audit", "core/connection", "core/fault", "core/link",
				"core/record", "core/requestlog", "core/service", "core/spelling", "core/store", "core/telemetry",
				"core/tenant", "core/vault", "core/webhook",
			},
			Tests: []string{"core/**"}, Why: "What the operator and tenants' administrators do.",
		},
		{
			Folder: "core/api",
			May: []string{
				"core/adapter", "core/admin", "core/apikey", "core/audit", "core/budget", "core/calendar",
				"core/connection", "core/fair", "core/fault", "core/language", "core/link", "core/normalize", "core/page", "core/phonenumber", "core/record",
				"core/requestlog", "core/service", "core/slots", "core/spelling", "core/telemetry", "core/tenant",
				"core/webhook",
			},
			Tests: []string{"core/**"}, Why: "Nobody else knows HTTP's errors.",
		},
		{
			Folder: "core/consent", May: []string{"core/fault", "core/link", "core/page"}, Tests: []string{"core/**"},
			Why: "Where customers connect accounts: pages over use cases.",
		},
		{
			Folder: "core/signin",
			May: []string{
				"core/apikey", "core/audit", "core/fault", "core/secret", "core/store", "core/tenant", "core/vault",
			},
			Tests: []string{"core/**"}, Why: "Who may open the settings page, and for how long.",
		},
		{
			Folder: "core/mcp",
			May: []string{
				"core/api", "core/apikey", "core/fault", "core/hostname", "core/telemetry", "core/toolcall",
			},
			Tests: []string{"core/**"},
			Why:   "The operations as tools: it knows what callers know, and nothing behind the interface.",
		},
		{
			Folder: "core/toolcall",
			May: []string{
				"core/api", "core/fault", "core/jsonread", "core/language", "core/parallel", "core/phonenumber",
				"core/speech", "core/store",
			},
			Tests: []string{"core/**"}, Why: "A model's call of a tool is a caller's call of an operation.",
		},
		{
			Folder: "core/agents",
			May: []string{
				"core/api", "core/apikey", "core/audit", "core/fault", "core/jsonread", "core/parallel",
				"core/phonenumber", "core/toolcall",
			},
			Tests: []string{"core/**"}, Why: "The shapes in which voice platforms call tools.",
		},
		{
			Folder: "core/settingspage",
			May: []string{
				"core/adapter", "core/admin", "core/agenttools", "core/apikey", "core/connection", "core/fault",
				"core/hostname", "core/language", "core/link", "core/page", "core/signin", "core/slots",
				"core/store", "core/tenant", "core/timezone", "core/webhook",
			},
			Tests: []string{"core/**", "adapters/all", "config"},
			Why:   "The admin interface for people: pages over its use cases.",
		},
		{
			Folder: "core/consent/consenttest",
			May: []string{
				"core/adapter", "core/calendar", "core/crm", "core/fault", "core/oauth/oauthtest",
			}, ForTests: true,
			Why: "A provider at which tests give consent.",
		},
		{Folder: "core/gateway", May: []string{"core/**", "config"}, Why: "Assembly."},
		{
			Folder: "core/bench", May: []string{"core/**", "config", "adapters/all", "adapters/*/*/fake"}, ForTests: true,
			Why: "Measures the gateway from outside, beside baselines, at fakes.",
		},
		{Folder: "core/archtest", Why: "The walls."},
	}
}

// conformance returns the folders that tests of adapters may import.
func conformance() []string {
	return []string{
		"core/adapter/adaptertest", "core/adapter/conformance", "core/adapter/described", "core/adapter/scenario",
		"core/calendar/calendartest", "core/crm/crmtest", "core/telephony/telephonytest", "core/oauth/oauthtest",
		"core/fault/faulttest",
	}
}

// proof returns the row of a contract's test suite.
func proof(folder, contract string) Wall {
	return Wall{
		Folder: folder, May: []string{contract, "core/fault", "core/adapter/conformance"},
		Tests: []string{"core/adapter/adaptertest"}, ForTests: true, Why: "A contract's proof.",
	}
}

// Reserved is a package from outside the module that only some folders may import. Tests may import any.
type Reserved struct {
	Package string // an import path, or a prefix that ends in "/"
	For     []string
	Why     string
}

// Reservations returns the table of reserved packages.
func Reservations() []Reserved {
	return []Reserved{
		{
			Package: "net/http", Why: "Use cases, contracts and records know no HTTP.",
			For: []string{
				"adapters/**", "cmd/frontdesk", "core/adapter/**", "core/agents", "core/api", "core/certificate",
				"core/connection", "core/consent", "core/gateway", "core/kms/**", "core/mcp", "core/metrics", "core/oauth/**",
				"core/settingspage", "core/signin", "core/telemetry", "core/toolcall", "core/upstream", "core/webhook", "deploy/**",
			},
		},
		{
			Package: "github.com/modelcontextprotocol/", For: []string{"core/mcp"},
			Why: "One package speaks the Model Context Protocol.",
		},
		{
			Package: "github.com/coreos/go-oidc/", For: []string{"core/signin"},
			Why: "Who may open the settings page is decided in one place.",
		},
		{
			Package: "github.com/alexedwards/scs/", For: []string{"core/signin"}, Why: "Sessions are kept in one place.",
		},
		{Package: "github.com/gin-gonic/", For: []string{"core/api", "core/gateway"}, Why: "Routes are the API's."},
		{
			Package: "github.com/danielgtaylor/huma/", For: []string{"core/api"}, Why: "The description is the API's.",
		},
		{
			Package: "google.golang.org/api/", For: []string{"adapters/calendar/google", "core/kms"},
			Why: "Google's API is its adapter's, and its key management that of the key set.",
		},
		{
			Package: "google.golang.org/", For: []string{"core/api", "core/kms", "adapters/calendar/google"},
			Why: "google.rpc.Status is one surface's way to say an error.",
		},
		{Package: "database/sql", For: []string{"core/store/**"}, Why: "Queries are the store's."},
		{
			Package: "github.com/jackc/pgx/", For: []string{"core/store/**"},
			Why: "Only the store knows which database it is.",
		},
		{
			Package: "modernc.org/sqlite", For: []string{"core/store/**"},
			Why: "Only the store knows which database it is.",
		},
		{Package: "github.com/pressly/goose/", For: []string{"core/store/**"}, Why: "Migrations are the store's."},
		{Package: "github.com/sony/gobreaker/", For: []string{"core/guard"}, Why: "One guard."},
		{
			Package: "github.com/cenkalti/backoff/", For: []string{"core/guard", "core/upstream"},
			Why: "Drivers never retry.",
		},
		{
			Package: "golang.org/x/sync/errgroup", For: []string{"core/apply", "core/journal", "core/parallel"},
			Why: "Beside a request, core/parallel passes a panic on, which would end the process.",
		},
		{Package: "golang.org/x/crypto/", For: []string{"core/certificate"}, Why: "One ACME client."},
		{Package: "golang.org/x/oauth2", For: []string{"core/oauth", "core/signin"},
			Why: "Who asks for tokens keeps them."},
		{Package: "golang.org/x/oauth2/", For: []string{"core/oauth"}, Why: "Who asks for tokens keeps them."},
		{Package: "github.com/tink-crypto/", For: []string{"core/kms", "core/vault"}, Why: "Keys are the vault's."},
		{Package: "github.com/aws/", For: []string{"core/kms"}, Why: "Key management services are asked in one place."},
		{
			Package: "github.com/hashicorp/vault/", For: []string{"core/kms"},
			Why: "Key management services are asked in one place.",
		},
		{
			Package: "github.com/prometheus/", For: []string{"core/metrics"}, Why: "One list of metrics.",
		},
		{
			Package: "go.opentelemetry.io/otel/sdk/", For: []string{"core/tracing"},
			Why: "Where spans go is decided in one place.",
		},
		{
			Package: "go.opentelemetry.io/otel/exporters/", For: []string{"core/tracing"},
			Why: "Where spans go is decided in one place.",
		},
		{
			Package: "go.opentelemetry.io/otel/attribute", For: []string{"core/telemetry"},
			Why: "What a span tells is read in one place.",
		},
		{
			Package: "github.com/hashicorp/golang-lru/",
			For:     []string{"adapters/calendar/caldav", "core/connection", "core/store"},
			Why:     "Few things are kept by their last use: series, drivers, statements.",
		},
		{
			Package: "github.com/alecthomas/kong", For: []string{"cmd/frontdesk"},
			Why: "The command line is the command's.",
		},
		{
			Package: "github.com/goccy/go-yaml", For: []string{"adapters/crm/rest", "config", "core/api"},
			Why: "Files are read strictly, where their form is declared.",
		},
		{
			Package: "github.com/itchyny/gojq", For: []string{"adapters/crm/rest"},
			Why: "Settings that describe an API are one adapter's.",
		},
		{Package: "os/exec", Why: "Nothing starts a program but tests."},
		{Package: "unsafe", Why: "Nothing needs it."},
		{Package: "math/rand", Why: "math/rand/v2 is there."},
		{Package: "io/ioutil", Why: "io and os are there."},
	}
}
