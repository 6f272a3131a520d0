// Package adapter is what an adapter says of itself. An adapter is a value of [Adapter]: its name and kind,
// the settings and credentials a connection to it needs, how its requests are authorised, and a function that
// opens a driver. Nothing registers itself: adapters/all is one list, and a binary of one's own passes
// another.
//
//	func Adapter() adapter.Adapter {
//		return adapter.Calendar(adapter.Declaration{Name: "caldav", Title: "CalDAV", ...}, open)
//	}
//	func open(ctx context.Context, s settings, env adapter.Environment) (calendar.Driver, error) { ... }
//
// The settings struct declares each field once, by tags; that one declaration feeds strict decoding, the
// command line, the documents and, later, forms:
//
//	type settings struct {
//		URL      string `setting:"url" kind:"url" required:"true" help:"Server, principal or calendar address."`
//		Username string `credential:"username" required:"true" help:"..."`
//	}
package adapter

import (
	"context"
	"net/http"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/telephony"
)

// Kind is what a connection is for.
type Kind string

// The kinds. A connection has one; a tenant has one default connection of each.
const (
	KindCalendar  Kind = "calendar"
	KindCRM       Kind = "crm"
	KindTelephony Kind = "telephony"
)

// Kinds lists every kind, in the order documents name them.
func Kinds() []Kind { return []Kind{KindCalendar, KindCRM, KindTelephony} }

// Declaration is what an adapter says of itself as data.
type Declaration struct {
	Name  string // the configuration word: lower-case letters, digits and underscores
	Title string // for people, e.g. "Google Calendar"
	Help  string // one or two sentences for the operator: what it connects and what is needed
	Auth  Auth
	// AuthOf chooses among several ways by what a connection has been given, in the place of Auth; make it
	// with [AuthBy].
	AuthOf func(v Values) (Auth, error)
	// Operator declares what the operator configures of the provider; nil: nothing.
	Operator *OperatorKeys

	// Sandbox marks the built-in providers: they reach nothing outside, keep their data through
	// Environment.Storage, and are what a fd_test_ key may use.
	Sandbox bool
}

// Auth says how requests to the provider are authorised. It is data: core/vault does the work, so that a
// driver never holds a secret.
type Auth struct {
	Scheme Scheme
	// Username and Password (Basic), or Password alone (Bearer, Header), name credential fields of the
	// settings struct.
	Username, Password string
	UsernameSuffix     string // put behind the user name (Basic), e.g. "/token"
	FixedPassword      string // where the user name alone is the secret (Basic): what stands for a password
	HeaderName         string // for Header
	Prefix             string // put before the token (Header), e.g. "token "
	// BaseURL names the setting whose address the credentials belong to: they are sent to that host, and to
	// hosts of the same registrable domain over https, and to nothing else. Empty: the driver's own constant
	// addresses.
	BaseURL string
	OAuth   *OAuth // for OAuth2
}

// Scheme is a way to authorise a request.
type Scheme string

// The schemes.
const (
	None   Scheme = ""
	Basic  Scheme = "basic"  // RFC 7617
	Bearer Scheme = "bearer" // RFC 6750, a token that does not expire
	Header Scheme = "header" // a token in a header of the provider's own
	OAuth2 Scheme = "oauth"  // a token that expires and is renewed (RFC 6749); see OAuth
)

// Environment is what a driver is opened with.
type Environment struct {
	TenantID     string
	ConnectionID string
	Zone         string    // IANA name: the tenant's, never ""
	Addresses    Addresses // of the provider, as the operator's configuration has them
	// Instance answers where the account's API is, as its authorization server told (Grant.Instance); nil
	// without that.
	Instance func(ctx context.Context) (string, error)
	HTTP     *http.Client     // authorised, pooled, capped, and bound to the egress rules; see core/upstream
	Storage  Storage          // for Declaration.Sandbox, else nil
	Now      func() time.Time // the clock
}

// SetupChecker is a driver that can say whether the settings of its connection work at the provider.
// Verification and the doctor call it, so that a fault of the setup is found before the first caller meets
// it.
type SetupChecker interface {
	// CheckSetup asks the provider live and changes nothing there. It looks at everything that a later call
	// relies on and that a person has to set up: fields, applications, trunks, rights. The error names the
	// first setting that does not work and says what to do: fault.Unsupported with the reason
	// PROVIDER_MISCONFIGURED, or fault.Forbidden where a right is missing. nil means that every part was
	// found to work.
	CheckSetup(ctx context.Context) error
}

// Storage is a small document store that belongs to one connection. Keys are paths of printable characters
// ("event/primary/abc"), values are JSON.
type Storage interface {
	// View runs read with a consistent picture.
	View(ctx context.Context, read func(tx StorageTx) error) error
	// Update runs change so that its reads and writes happen as one, serialised with every other Update of
	// this connection on any replica, and durable when Update returns nil. An error of change undoes it. It
	// may run twice.
	Update(ctx context.Context, change func(tx StorageTx) error) error
}

// StorageTx is what View and Update work with. A View's Put and Delete fail.
type StorageTx interface {
	// Get returns the value, or nil when there is none.
	Get(key string) ([]byte, error)
	Put(key string, value []byte) error
	Delete(key string) error
	// Scan calls each, in byte order of the key, for every document whose key starts with prefix and is after
	// the key after ("" for all), until each answers false.
	Scan(prefix, after string, each func(key string, value []byte) bool) error
}

// Adapter is a declared adapter. Make one with [Calendar], [CRM] or [Telephony].
type Adapter struct {
	Declaration
	Kind   Kind
	Fields []Field // settings and credentials, in the struct's order

	openCalendar  func(ctx context.Context, v Values, env Environment) (calendar.Driver, error)
	openCRM       func(ctx context.Context, v Values, env Environment) (crm.Driver, error)
	openTelephony func(ctx context.Context, v Values, env Environment) (telephony.Driver, error)
	check         func(v Values) error
}

// Calendar declares a calendar adapter with settings S, a struct as the package comment shows.
// It panics when S is not declared properly: that is a defect a test finds, never an input.
func Calendar[S any](
	d Declaration, open func(context.Context, S, Environment) (calendar.Driver, error),
) Adapter {
	return Adapter{Declaration: d, Kind: KindCalendar, Fields: fieldsOf[S](), check: checker[S](),
		openCalendar: func(ctx context.Context, v Values, env Environment) (calendar.Driver, error) {
			return opened(ctx, v, env, open)
		}}
}

// CRM declares a CRM adapter; see [Calendar].
func CRM[S any](d Declaration, open func(context.Context, S, Environment) (crm.Driver, error)) Adapter {
	return Adapter{Declaration: d, Kind: KindCRM, Fields: fieldsOf[S](), check: checker[S](),
		openCRM: func(ctx context.Context, v Values, env Environment) (crm.Driver, error) {
			return opened(ctx, v, env, open)
		}}
}

func opened[S, D any](
	ctx context.Context, v Values, env Environment, open func(context.Context, S, Environment) (D, error),
) (D, error) {
	s, err := decode[S](v)
	if err != nil {
		var none D
		return none, err
	}
	return open(ctx, s, env)
}

func checker[S any]() func(Values) error {
	return func(v Values) error {
		_, err := decode[S](v)
		return err
	}
}

// MayConsent reports whether customers can connect to the provider by consent, as far as the declaration
// tells.
func (a Adapter) MayConsent() bool { return a.AuthOf != nil || a.Auth.Scheme == OAuth2 }

// With returns the adapter with only the way to authorise that fits a connection's settings and credentials.
func (a Adapter) With(v Values) (Adapter, error) {
	if a.AuthOf == nil {
		return a, nil
	}
	auth, err := a.AuthOf(v)
	a.Auth, a.AuthOf = auth, nil
	return a, err
}

// AuthBy makes a Declaration.AuthOf of a function of the settings struct S. Of credentials it sees only which
// there are.
func AuthBy[S any](choose func(s S) (Auth, error)) func(Values) (Auth, error) {
	return func(v Values) (Auth, error) {
		s, err := decode[S](v)
		if err != nil {
			return Auth{}, err
		}
		return choose(s)
	}
}

// Check reports every unusable, unknown or missing setting and credential as fault.Invalid, with paths such
// as "settings.url" and "credentials.password".
func (a Adapter) Check(v Values) error { return a.check(v) }

// OpenCalendar opens a driver. It must not call the provider: discovery and the like happen on the first
// call. It panics on an adapter of another kind.
func (a Adapter) OpenCalendar(ctx context.Context, v Values, env Environment) (calendar.Driver, error) {
	return a.openCalendar(ctx, v, env)
}

// OpenCRM is OpenCalendar for CRM adapters.
func (a Adapter) OpenCRM(ctx context.Context, v Values, env Environment) (crm.Driver, error) {
	return a.openCRM(ctx, v, env)
}

// OpenTelephony is OpenCalendar for telephony adapters.
func (a Adapter) OpenTelephony(ctx context.Context, v Values, env Environment) (telephony.Driver, error) {
	return a.openTelephony(ctx, v, env)
}
