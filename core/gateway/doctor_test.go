package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/certificate/certificatetest"
	"frontdesk/core/connection"
	"frontdesk/core/consent/consenttest"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/webhook"
)

// patient is a sound gateway with a tenant that has a calendar by password and an API key. Tests plant faults
// in it.
type patient struct {
	t       *testing.T
	cfg     config.Config
	g       *Gateway
	ahead   atomic.Int64 // of its clock
	handler atomic.Pointer[http.Handler]
	own     *http.Handler    // the gateway's
	front   *httptest.Server // what its public_url leads to
	desk    *tenanttest.Provider
	meet    *consenttest.Provider
	key     apikey.Key
}

// newPatient returns a gateway, with the data of one that is closed, if it is given.
func newPatient(t *testing.T, from *patient) *patient {
	t.Helper()
	p := &patient{t: t, cfg: config.Default(nil), desk: &tenanttest.Provider{}}
	p.front = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*p.handler.Load()).ServeHTTP(w, r)
	}))
	p.front.Start()
	t.Cleanup(func() { p.front.Close() })
	p.cfg.Server.PublicURL = p.front.URL
	p.cfg.DataDir = filepath.Join(t.TempDir(), "data")
	p.meet = consenttest.Start(t, "meet", func(o *oauthtest.Options) {
		o.Redirects = []string{RedirectURI(p.front.URL, "meet")}
	})
	o := p.meet.Operator()
	p.cfg.Providers = map[string]map[string]string{"meet": o.Addresses}
	p.cfg.Providers["meet"]["client_id"], p.cfg.Providers["meet"]["client_secret"] = o.ClientID,
		o.ClientSecret
	if err := os.MkdirAll(p.cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.desk.Says(calendar.Account{Email: "desk@acme.example"}, nil)
	if from == nil {
		storetest.CopyTables(t, filepath.Join(p.cfg.DataDir, "frontdesk.db"))
		p.open()
		tenanttest.Must(t, p.g.Migrate(t.Context()))
		_, err := p.g.Tenants().Create(t.Context(), "acme", tenant.Settings{})
		tenanttest.Must(t, err)
		p.connect(connection.Spec{Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
			Settings:    map[string]any{"url": "https://calendar.example.com/"},
			Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary}})
		_, p.key, err = p.g.APIKeys().Create(t.Context(), "acme", apikey.Spec{})
		tenanttest.Must(t, err)
		return p
	}
	p.key = from.key
	tenanttest.Must(t, os.CopyFS(p.cfg.DataDir, os.DirFS(from.cfg.DataDir)))
	for _, name := range []string{"keyset.json", "frontdesk.db"} { // CopyFS widens modes
		p.mode(name, 0o600)
	}
	p.open()
	return p
}

// consented adds the calendar by consent.
func (p *patient) consented() {
	p.t.Helper()
	p.connect(connection.Spec{Name: "meet", Kind: adapter.KindCalendar, Provider: "meet",
		Credentials: map[string]string{"refresh_token": p.meet.Grant(consenttest.ClientID,
			"desk@acme.example",
			consenttest.ScopeEvents, consenttest.ScopeList)}})
}

func (p *patient) connect(s connection.Spec) {
	p.t.Helper()
	_, err := p.g.Connections().Add(p.t.Context(), "acme", s)
	tenanttest.Must(p.t, err)
}

// tryOpen opens the gateway with its present configuration, and closes the one before.
func (p *patient) tryOpen() error {
	p.t.Helper()
	if p.g != nil {
		p.g.Close()
		p.g = nil
	}
	g, err := Open(p.t.Context(), p.cfg, Options{
		Adapters: []adapter.Adapter{p.desk.Calendar(tenanttest.Dav()), p.meet.Adapter()}, LogTo: io.Discard,
		Now: func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) },
	})
	if err != nil {
		return err
	}
	p.g = g
	p.t.Cleanup(g.Close)
	handler := g.Handler()
	p.own = &handler
	p.handler.Store(p.own)
	return nil
}

func (p *patient) open() {
	p.t.Helper()
	tenanttest.Must(p.t, p.tryOpen())
}

func (p *patient) connection(name string) connection.Connection {
	p.t.Helper()
	all, err := p.g.Connections().List(p.t.Context(), "acme")
	tenanttest.Must(p.t, err)
	at := slices.IndexFunc(all, func(c connection.Connection) bool { return c.Name == name })
	return all[at]
}

func (p *patient) do(statement string) {
	p.t.Helper()
	db := storetest.Database(p.t, "sqlite:"+filepath.Join(p.cfg.DataDir, "frontdesk.db"))
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) mode(path string, mode os.FileMode) {
	chmod(p.t, filepath.Join(p.cfg.DataDir, path), mode)
}

func (p *patient) advance(by time.Duration) { p.ahead.Add(int64(by)) }

func (p *patient) volume(v volume) { p.g.volumeOf = func(string) (volume, error) { return v, nil } }

func (p *patient) answers(h http.HandlerFunc) {
	var handler http.Handler = h
	p.handler.Store(&handler)
}

func (p *patient) intent(state string) {
	p.t.Helper()
	c := p.connection("desk")
	long := time.Now().Add(-time.Hour)
	i := store.Intent{TenantID: c.TenantID, Operation: "book-meeting", Key: "k", ConnectionID: c.ID,
		EffectKey: "e",
		Plan:      json.RawMessage("{}"), Owner: "gone/1", LeaseUntil: long, CreatedAt: long, UpdatedAt: long}
	_, _, err := p.g.store.BeginIntent(p.t.Context(), i, time.Time{})
	tenanttest.Must(p.t, err)
	if state == store.IntentUnknown {
		tenanttest.Must(p.t, p.g.store.ReleaseIntent(p.t.Context(), i, state))
	}
}

func (p *patient) webhook() string {
	p.t.Helper()
	_, made, err := p.g.webhooks.Create(p.t.Context(), "", webhook.Spec{URL: "https://192.88.98.1/"})
	tenanttest.Must(p.t, err)
	return made.ID
}

// planted is a fault, and what the doctor must find.
type planted struct {
	fault string
	plant func(p *patient)
	check string
	level Level
	says  string
	does  string // the advice
}

// atOpening are faults with which no gateway opens.
var atOpening = []planted{
	{"data_dir is open to others", func(p *patient) { p.mode("", 0o777) }, CheckConfiguration, LevelError,
		"other users can write", "Correct this first"},
	{"the key set is gone", func(p *patient) {
		tenanttest.Must(p.t, os.Remove(filepath.Join(p.cfg.DataDir, "keyset.json")))
	}, CheckConfiguration, LevelError, "keyset.json is gone", "Correct this first"},
	{"the key set is open to others", func(p *patient) { p.mode("keyset.json", 0o644) }, CheckConfiguration,
		LevelError,
		"chmod 600", "Correct this first"},
	{"the database is open to others", func(p *patient) { p.mode("frontdesk.db", 0o666) }, CheckConfiguration,
		LevelError,
		"chmod 600", "Correct this first"},
	{"the key set's file is not there",
		func(p *patient) { p.cfg.Secrets.Keyset = "file:/nowhere/keyset.json" },
		CheckConfiguration, LevelError, "the key set cannot be read", "Correct this first"},
	{"the key set's variable is not set",
		func(p *patient) { p.cfg.Secrets.Keyset = "env:FRONTDESK_NO_SUCH_VARIABLE" },
		CheckConfiguration, LevelError, "FRONTDESK_NO_SUCH_VARIABLE", "Correct this first"},
	{"the key set is none", func(p *patient) {
		tenanttest.Must(p.t, os.WriteFile(filepath.Join(p.cfg.DataDir, "keyset.json"), []byte("{}"), 0o600))
	}, CheckConfiguration, LevelError, "not a Tink key set", "Correct this first"},
	{"the logo is not there", func(p *patient) { p.cfg.Pages.Logo = "/nowhere/logo.png" }, CheckConfiguration,
		LevelError, "pages.logo", "Correct this first"},
	{"the database's folder is not there", func(p *patient) { p.cfg.Store.URL = "sqlite:/nowhere/frontdesk.db" },
		CheckConfiguration, LevelError, "no such file or directory. Check the database file", "Correct this first"},
	{"the database is none", func(p *patient) {
		tenanttest.Must(p.t, os.WriteFile(filepath.Join(p.cfg.DataDir, "frontdesk.db"),
			[]byte(strings.Repeat("this is no database ", 100)), 0o600))
	}, CheckConfiguration, LevelError, "", "Correct this first"},
}

// configured are faults of the configuration of a gateway that opens all the same.
var configured = []planted{
	{"public_url is plain http", func(p *patient) { p.cfg.Server.PublicURL = "http://front.example.com" },
		CheckPublicURL, LevelError, "http://front.example.com", "Put a proxy with TLS in front"},
	{"nobody listens at public_url", func(p *patient) { p.front.Close() }, CheckPublicURL, LevelWarning,
		"nobody listens", "frontdesk serve"},
	{"public_url does not answer", func(p *patient) {
		p.answers(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}, CheckPublicURL, LevelError, "does not answer", "the proxy leads to it"},
	{"public_url leads to another server", func(p *patient) {
		p.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"ok"}`)) })
	}, CheckPublicURL, LevelError, "is not this gateway", "server.listen"},
	{"public_url leads to another gateway", func(p *patient) {
		p.answers(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(proofHeader, "AgEAAAAAAAA") })
	}, CheckPublicURL, LevelError, "another key set", "secrets.keyset"},
	{"a cache answers at public_url", func(p *patient) {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Header.Set(nonceHeader, strings.Repeat("A", nonceLength))
		first := httptest.NewRecorder()
		p.g.Handler().ServeHTTP(first, r)
		if !p.g.proves(strings.Repeat("A", nonceLength), first.Header().Get(proofHeader)) {
			p.t.Fatal("the gateway proves nothing")
		}
		p.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(proofHeader, first.Header().Get(proofHeader))
		})
	}, CheckPublicURL, LevelError, "another key set", "the proxy"},
	{"the certificate is nobody's", func(p *patient) { p.cfg.Server.PublicURL = encrypted(p).URL },
		CheckPublicURL,
		LevelError, "certificate is not accepted", "whole chain"},
	{"the certificate ends", func(p *patient) {
		s := encrypted(p)
		p.cfg.Server.PublicURL = s.URL
		p.open()
		p.g.outside = s.Client()
		p.advance(time.Until(s.Certificate().NotAfter) - time.Hour)
	}, CheckPublicURL, LevelWarning, "its certificate ends", "Renew the certificate"},
	{"the certificate's file is missing", func(p *patient) {
		p.cfg.Server.TLS.Certificate = filepath.Join(p.cfg.DataDir, "missing.pem")
		p.cfg.Server.TLS.Key = filepath.Join(p.cfg.DataDir, "missing.key")
	}, CheckCertificate, LevelError, "missing", "Correct the files of server.tls"},
	{"metrics are open to everyone", func(p *patient) { p.cfg.Server.OpsListen = "0.0.0.0:9090" },
		CheckListeners,
		LevelWarning, "every interface", "server.ops_listen"},
	{"egress opens everything", func(p *patient) { p.cfg.Egress.Allow = []string{"0.0.0.0/0"} }, CheckEgress,
		LevelError,
		"every address", "Remove it"},
	{"egress opens the cloud's metadata",
		func(p *patient) { p.cfg.Egress.Allow = []string{"169.254.169.254/32"} },
		CheckEgress, LevelError, "credentials", "Remove it"},
	{"egress opens loopback", func(p *patient) { p.cfg.Egress.Allow = []string{"127.0.0.1/32"} }, CheckEgress,
		LevelWarning, "own services", "development only"},
	{"egress opens a large network", func(p *patient) { p.cfg.Egress.Allow = []string{"10.0.0.0/8"} },
		CheckEgress,
		LevelWarning, "is large", "smaller networks"},
	{"the OpenID provider is away", func(p *patient) {
		p.cfg.SettingsPage.OIDC = config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "x", ClientSecret: "x"}
	}, CheckSignIn, LevelError, "issuer", "frontdesk admin link"},
	{"the OAuth client has no secret", func(p *patient) { p.cfg.Providers["meet"]["client_secret"] = "" },
		CheckOAuthClient, LevelError, "client_secret is empty", "Set both"},
	{"the OAuth client's secret is wrong",
		func(p *patient) { p.cfg.Providers["meet"]["client_secret"] = "old" },
		CheckOAuthClient, LevelError, "invalid_client", "providers.meet.client_id"},
	{"the redirect URI is not registered", func(p *patient) {
		p.cfg.Server.PublicURL = strings.Replace(p.front.URL, "127.0.0.1", "localhost", 1)
	}, CheckOAuthClient, LevelError, "refuses the redirect URI http://localhost",
		"Register exactly this URI"},
	{"the sign-in service is away",
		func(p *patient) { p.cfg.Providers["meet"]["token_url"] = "http://127.0.0.1:1/token" },
		CheckOAuthClient, LevelError, "cannot be reached", "providers.meet"},
	{"another key set beside the database", func(p *patient) {
		tenanttest.Must(p.t, os.Remove(filepath.Join(p.cfg.DataDir, "keyset.json")))
		tenanttest.Must(p.t, os.Remove(filepath.Join(p.cfg.DataDir, sealedFile)))
	}, CheckKeySet, LevelError, "not in the key set", "Restore the key set"},
	{"the tables are those of an older version", func(p *patient) {
		p.g.Close() // which writes the head of the audit
		p.cfg.Store.URL = "sqlite:" + filepath.Join(p.t.TempDir(), "new.db")
		tenanttest.Must(p.t, os.RemoveAll(filepath.Join(p.cfg.DataDir, headFile)))
	}, CheckStore, LevelError, "migrations are not applied", "frontdesk migrate"},
}

// inside are faults of what an open gateway has.
var inside = []planted{
	{"the clock is wrong", func(p *patient) { p.advance(time.Hour) }, CheckClock, LevelError, "differs by 1h",
		"time service"},
	{"the clock is years behind", func(p *patient) { p.advance(-10 * 365 * 24 * time.Hour) }, CheckClock,
		LevelError,
		"", "years behind"},
	{"data_dir is gone", func(p *patient) { p.g.config.DataDir = "/nowhere" }, CheckClock, LevelError,
		"not writable",
		"write permission"},
	{"the database is on NFS", func(p *patient) { p.volume(volume{freeBytes: 1 << 40, network: "NFS"}) },
		CheckVolume,
		LevelError, "NFS", "PostgreSQL"},
	{"the disk is full", func(p *patient) { p.volume(volume{freeBytes: 1 << 20, allBytes: 1 << 40}) },
		CheckVolume,
		LevelError, "1 MiB", "Make room now"},
	{"the disk is nearly full", func(p *patient) {
		p.volume(volume{freeBytes: 100 << 20,
			allBytes: 1 << 40})
	},
		CheckVolume, LevelWarning, "100 MiB", "request_log"},
	{"no more files fit", func(p *patient) {
		p.volume(volume{freeBytes: 1 << 40, files: 1 << 20,
			freeFiles: 5})
	},
		CheckVolume, LevelError, "only 5 files", "enlarge"},
	{"the tables are those of a later version", func(p *patient) {
		p.do("INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000000, TRUE)")
	}, CheckStore, LevelError, "later version", ""},
	{"a rotation was interrupted", func(p *patient) {
		tenanttest.Must(p.t, os.WriteFile(filepath.Join(p.cfg.DataDir, "keyset.json.next"), nil, 0o600))
	}, CheckKeySet, LevelWarning, "interrupted", "remove the file"},
	{"a rotation was killed after it added its key", func(p *patient) {
		_, err := p.g.vault.Rotate()
		tenanttest.Must(p.t, err)
	}, CheckKeySet, LevelWarning, "sealed with a former key", "before it keyset rotate --prepare"},
	{"somebody redirected a connection", func(p *patient) {
		p.do(`UPDATE connections SET settings = '{"url":"https://evil.example/"}' WHERE name = 'desk'`)
	}, CheckRows, LevelError, "was changed", "who can write the database"},
	{"a call was cut off", func(p *patient) { p.intent(store.IntentRunning) }, CheckCalls, LevelError,
		"1 calls were cut off", "frontdesk serve"},
	{"an outcome is unknown", func(p *patient) { p.intent(store.IntentUnknown) }, CheckCalls, LevelWarning,
		"1 calls is unknown", "frontdesk request list"},
	{"the calls cannot be read", func(p *patient) { p.do("ALTER TABLE intents RENAME TO elsewhere") }, CheckCalls,
		LevelError, "Cause: SQL logic error: no such table: intents", "the database's own log"},
	{"the webhooks cannot be read", func(p *patient) { p.do("ALTER TABLE webhooks RENAME TO elsewhere") },
		CheckWebhooks, LevelError, "Cause: SQL logic error: no such table: webhooks", "the database's own log"},
	{"the API keys cannot be read", func(p *patient) { p.do("ALTER TABLE api_keys RENAME COLUMN label TO elsewhere") },
		CheckTenant, LevelError, "Cause: SQL logic error: no such column", "the database's own log"},
	{"a webhook's receiver is gone", func(p *patient) {
		tenanttest.Must(p.t, p.g.store.DisableWebhook(p.t.Context(), p.webhook(), time.Now()))
	}, CheckWebhooks, LevelWarning, "410", "frontdesk webhook remove"},
	{"an event waits", func(p *patient) {
		p.webhook()
		tenanttest.Must(p.t, p.g.Connections().MarkReconnect(p.t.Context(), p.connection("desk"), "refused"))
		p.advance(2 * time.Hour)
	}, CheckWebhooks, LevelWarning, "waits for 2h", "frontdesk webhook deliveries"},
	{"a circuit breaker is open", func(p *patient) {
		tenanttest.Must(p.t, p.g.store.SetBreakers(p.t.Context(), "other", []store.Breaker{{
			Replica: "other", Level: "connection", Subject: p.connection("desk").ID, Provider: "dav", State: "open",
			Since: time.Now(),
		}}, time.Now()))
	}, CheckBreakers, LevelWarning, "is open at the replica other", "tried again by itself"},
	{"a tenant has nothing", func(p *patient) {
		_, err := p.g.Tenants().Create(p.t.Context(), "empty", tenant.Settings{})
		tenanttest.Must(p.t, err)
	}, CheckTenant, LevelError, "no connection", "frontdesk connection add --tenant empty"},
	{"the default is gone", func(p *patient) {
		p.do("UPDATE connections SET is_default = 0")
	}, CheckTenant, LevelWarning, "no default calendar", "--default"},
	{"nobody can call", func(p *patient) {
		tenanttest.Must(p.t, p.g.APIKeys().Revoke(p.t.Context(),
			p.key.ID))
	},
		CheckTenant, LevelWarning, "no API key", "frontdesk key create --tenant acme"},
	{"a key that ends is still used", func(p *patient) {
		_, _, err := p.g.APIKeys().Roll(p.t.Context(), p.key.ID, time.Hour)
		tenanttest.Must(p.t, err)
		tenanttest.Must(p.t, p.g.store.TouchKeys(p.t.Context(), map[string]time.Time{p.key.ID: time.Now()}))
	}, CheckTenant, LevelWarning, "is still used", "taken its place"},
	{"the provider refuses the password", func(p *patient) {
		p.desk.Says(calendar.Account{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
			"The server refuses the password."))
	}, CheckConnection, LevelError, "refuses the password", "Enter the credentials again"},
	{"a scope is missing", func(p *patient) {
		p.desk.Says(calendar.Account{}, fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
			"Not allowed."))
	}, CheckConnection, LevelError, "Not allowed", "Grant the account the missing permissions"},
	{"the provider is away", func(p *patient) {
		p.desk.Says(calendar.Account{}, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Down."))
	}, CheckConnection, LevelError, "Down", "the provider is up"},
	{"the address is in a closed network", func(p *patient) {
		p.desk.Says(calendar.Account{}, fault.New(fault.Forbidden, fault.ReasonEgressRefused, "Private."))
	}, CheckConnection, LevelError, "Private", "egress.allow"},
	{"a setting does not fit the account", func(p *patient) {
		p.desk.Says(calendar.Account{}, fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"No field."))
	}, CheckConnection, LevelError, "No field", "Correct the connection's settings"},
	{"the customer withdrew the consent", func(p *patient) { p.consented(); p.meet.Revoke() },
		CheckConnection, LevelError, "",
		"frontdesk connect-link --tenant acme --provider meet --name meet"},
	{"the authorization ends", func(p *patient) {
		p.consented()
		var restore func()
		restore = p.meet.Answer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			restore()
			answer := httptest.NewRecorder()
			p.meet.Server.ServeHTTP(answer, r)
			body := strings.Replace(answer.Body.String(), "{", `{"refresh_token_expires_in":86400,`, 1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}))
		_, err := p.g.tokens.Token(p.t.Context(), p.connection("meet").TenantID, p.connection("meet").ID)
		tenanttest.Must(p.t, err)
	}, CheckConnection, LevelWarning, "until its authorization ends", "seven days"},
}

// encrypted returns a server with TLS that leads to the patient.
func encrypted(p *patient) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*p.handler.Load()).ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake that the doctor refuses
	s.StartTLS()
	p.t.Cleanup(s.Close)
	return s
}

// The doctor finds each planted fault, names it, and says what to do. In a sound gateway it finds nothing.
func TestTheDoctorFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	sound := newPatient(t, nil)
	sound.g.Close()
	again := newPatient(t, sound)
	again.consented()
	for _, f := range again.examine() {
		if f.Level != LevelOK {
			t.Errorf("a sound gateway: %+v", f)
		}
	}
	covered := map[string]bool{
		CheckAudit: true, CheckNumbers: true, CheckAgent: true, // planted in cmd/frontdesk
	}
	count := 0
	plant := func(all []planted, examine func(p *patient, c planted) []Finding) {
		for _, c := range all {
			count++
			covered[c.check] = true
			t.Run(c.fault, func(t *testing.T) { c.wantIn(t, examine(newPatient(t, sound), c)) })
		}
	}
	plant(atOpening, func(p *patient, c planted) []Finding {
		c.plant(p)
		err := p.tryOpen()
		if err == nil {
			p.t.Fatal("it opens")
		}
		return Unusable(err)
	})
	plant(configured, func(p *patient, c planted) []Finding {
		c.plant(p)
		if c.says == "its certificate ends" { // it has opened its gateway
			return p.examine()
		}
		if was := p.handler.Load(); was != p.own {
			p.open()
			p.handler.Store(was)
		} else {
			p.open()
		}
		return p.examine()
	})
	plant(inside, func(p *patient, c planted) []Finding {
		c.plant(p)
		return p.examine()
	})
	for _, check := range Checks() {
		if !covered[check] {
			t.Errorf("no fault is planted for the check %q", check)
		}
	}
	if count < 45 {
		t.Errorf("%d faults are planted", count)
	}
}

// Some authorities issue certificates for six days: three days before its end, none is late.
func TestAShortCertificateIsNotReportedBeforeItIsDue(t *testing.T) {
	t.Parallel()
	p := newPatient(t, nil)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*p.handler.Load()).ServeHTTP(w, r)
	}))
	now := time.Now()
	pair := certificatetest.Lasting(t, now.AddDate(0, 0, -3), now.AddDate(0, 0, 3), "localhost")
	own, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	s.StartTLS()
	t.Cleanup(s.Close)
	p.cfg.Server.PublicURL = s.URL
	p.open()
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	p.g.outside = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"},
	}}
	for _, days := range []int{0, 2} {
		p.advance(time.Duration(days) * 24 * time.Hour)
		for _, f := range p.examine() {
			if due := strings.Contains(f.Says, "its certificate ends"); f.Check == CheckPublicURL && due != (days > 0) {
				t.Errorf("after %d days: %+v", days, f)
			}
		}
	}
}

// The doctor may ask a server that goes on when the gateway ends, such as another gateway at the default address.
func TestNoConnectionOfTheDoctorOutlivesItsGateway(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 10)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- struct{}{}
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	p := newPatient(t, nil)
	p.cfg.Server.PublicURL = s.URL
	p.open()
	p.examine()
	p.g.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the connection is still open")
	}
}

func (p *patient) examine() []Finding {
	p.t.Helper()
	found, err := p.g.Examine(p.t.Context(), "", false)
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

func (c planted) wantIn(t *testing.T, found []Finding) {
	t.Helper()
	for _, f := range found {
		if (f.Level == LevelOK) != (f.OK && f.Advice == "") || (f.Level == LevelError) == f.OK ||
			f.Subject == "" ||
			f.Level != LevelOK && f.Advice == "" || !slices.Contains(Checks(), f.Check) ||
			strings.Contains(f.Says+f.Advice, tenanttest.Canary) {
			t.Errorf("%+v", f)
		}
	}
	if !slices.ContainsFunc(found, func(f Finding) bool {
		return f.Check == c.check && f.Level == c.level && strings.Contains(f.Says+f.Subject, c.says) &&
			strings.Contains(f.Advice, c.does)
	}) {
		t.Errorf("no finding of %s is %s with %q and %q: %+v", c.check, c.level, c.says, c.does, found)
	}
}

// Every fault of the configuration is a finding of its own.
func TestTheDoctorFindsFaultsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", []string{
		"FRONTDESK_SERVER__LISSTEN=x", "FRONTDESK_RESILIENCE__DEADLINE=eight",
		"FRONTDESK_LIMITS__MAX_IN_FLIGHT=-1",
		"FRONTDESK_SERVER__PUBLIC_URL=https://front.example.com/?a=b", "FRONTDESK_EGRESS__ALLOW=10.0.0.0/99",
	}, nil)
	found := Unusable(err)
	for _, want := range []string{
		"FRONTDESK_SERVER__LISSTEN", "resilience.deadline", "limits.max_in_flight", "server.public_url",
		"egress.allow",
	} {
		at := slices.IndexFunc(found, func(f Finding) bool {
			return strings.HasPrefix(f.Subject, want) && f.Check == CheckConfiguration &&
				f.Level == LevelError &&
				strings.Contains(f.Advice, "the variable FRONTDESK_")
		})
		if at < 0 {
			t.Errorf("nothing is found about %s: %+v", want, found)
		}
	}
}

// The default of data_dir is a relative path, and that of the database lies in it.
func TestOneVolumeIsToldOnce(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	tenanttest.Must(t, err)
	cfg := readyConfig(t, "")
	cfg.DataDir, err = filepath.Rel(here, cfg.DataDir)
	tenanttest.Must(t, err)
	g := opened(t, cfg)
	defer g.Close()
	if told := g.examineVolume(); len(told) != 1 {
		t.Errorf("got %+v", told)
	}
}
