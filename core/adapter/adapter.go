// Package adapter defines how an adapter is declared. An adapter is a value of type [Adapter]: its name and
// kind, the settings and credentials a connection to it needs, how its requests are authorised, and a
// function that opens a driver. Adapters do not register themselves: adapters/all lists those of the gateway,
// and a custom binary passes its own list.
//
//	func Adapter() adapter.Adapter {
//		return adapter.Calendar(adapter.Declaration{Name: "caldav", Title: "CalDAV", ...}, open)
//	}
//	func open(ctx context.Context, s settings, env adapter.Environment) (calendar.Driver, error) { ... }
//
// The settings struct declares each field once, by tags. The declaration serves strict decoding, the command
// line, the documentation and forms:
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

// The kinds of connections. A connection has one; a tenant has one default connection of each.
const (
	KindCalendar  Kind = "calendar"
	KindCRM       Kind = "crm"
	KindTelephony Kind = "telephony"
)

// Kinds returns every kind, in the order of the documentation.
func Kinds() []Kind { return []Kind{KindCalendar, KindCRM, KindTelephony} }

// Declaration describes an adapter as data.
type Declaration struct {
	Name  string // the name in configuration: lower-case letters, digits and underscores
	Title string // the display name, e.g. "Google Calendar"
	Help  string // one or two sentences for the operator: what it connects and what is needed
	Auth  Auth
	// AuthOf replaces Auth if the way to authorise depends on a connection's settings and credentials. Create
	// it with [AuthBy].
	AuthOf func(v Values) (Auth, error)
	// Operator declares what the operator configures for the provider; nil means nothing.
	Operator *OperatorKeys

	// Quotas are limits of the provider's for some requests of one account. Requests wait until they keep them,
	// so that no driver has to know how many replicas there are.
	Quotas []Quota

	// Sandbox marks the built-in providers: they reach nothing outside, keep their data through
	// Environment.Storage, and are what a fd_test_ key may use.
	Sandbox bool

	// Description is the whole description of a provider that is described rather than coded, for people; ""
	// if it is coded.
	Description string
}

// Quota is how many requests of one kind a provider takes from one account within a second.
type Quota struct {
	Name      string // of the kind, e.g. "searches"
	PerSecond int
	Counts    func(r *http.Request) bool // reports whether a request is of the kind
}

// Auth describes how requests to the provider are authorised. It is only data: core/connection authorises the
// requests, so that a driver never holds a secret.
type Auth struct {
	Scheme Scheme
	// Username and Password (Basic), or Password alone (Bearer, Header), name credential fields of the
	// settings struct.
	Username, Password string
	UsernameSuffix     string // appended to the user name (Basic), e.g. "/token"
	FixedPassword      string // the password to send if the user name alone is the secret (Basic)
	HeaderName         string // for Header
	Prefix             string // prepended to the token (Header, OAuth2), e.g. "token "; for OAuth2, "" means "Bearer "
	// SecondHeader carries the credential that Second names, beside the scheme's own header: some providers want
	// the key of an application besides that of a user. It is left out if the credential is absent.
	Second, SecondHeader string
	// BaseURL names the setting that holds the address the credentials belong to. They are sent only to its
	// origin and, over https, to hosts of the same registrable domain. It is empty if the driver's addresses
	// are constants.
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
	Header Scheme = "header" // a token in a provider-specific header
	OAuth2 Scheme = "oauth"  // a token that expires and is renewed (RFC 6749); see OAuth
)

// Environment holds what a driver is opened with.
type Environment struct {
	ConnectionID string
	Zone         string    // the IANA name of the tenant's time zone, never ""
	Addresses    Addresses // the provider's, from the operator's configuration
	// Instance returns the address of the account's API, as the authorization server reported it
	// (Grant.Instance). It is nil unless the scheme is OAuth2.
	Instance func(ctx context.Context) (string, error)
	HTTP     *http.Client     // authorised, pooled, capped, and bound to the egress rules; see core/upstream
	Storage  Storage          // for Declaration.Sandbox, else nil
	Now      func() time.Time // the clock
}

// SetupChecker is a driver that can check whether the settings of its connection work at the provider.
// Verification and the doctor call it, so that a setup error is found before it fails a call.
type SetupChecker interface {
	// CheckSetup queries the provider and changes nothing there. It checks everything that later calls rely
	// on and that a person has to set up: fields, applications, trunks, rights. The error names the first
	// setting that does not work and how to correct it: fault.Unsupported with the reason
	// PROVIDER_MISCONFIGURED, or fault.Forbidden if a right is missing. nil means that every part works.
	CheckSetup(ctx context.Context) error
}

// Storage is a small document store that belongs to one connection. Keys are paths of printable characters
// ("event/primary/abc"), values are JSON.
type Storage interface {
	// View runs read on a consistent snapshot.
	View(ctx context.Context, read func(tx StorageTx) error) error
	// Update runs change so that its reads and writes are atomic, serialised with every other Update of this
	// connection on any replica, and durable when Update returns nil. If change returns an error, its writes
	// are undone. change may run twice.
	Update(ctx context.Context, change func(tx StorageTx) error) error
}

// StorageTx is a transaction of View or Update. In a View, Put and Delete fail.
type StorageTx interface {
	// Get returns the value, or nil when there is none.
	Get(key string) ([]byte, error)
	Put(key string, value []byte) error
	Delete(key string) error
	// Scan calls each for every document whose key starts with prefix and sorts after the key after ("" for
	// all), in byte order of the keys, until each returns false.
	Scan(prefix, after string, each func(key string, value []byte) bool) error
}

// Adapter is a declared adapter. Create one with [Calendar], [CRM] or [Telephony].
type Adapter struct {
	Declaration
	Kind   Kind
	Fields []Field // settings and credentials, in the struct's order

	openCalendar  func(ctx context.Context, v Values, env Environment) (calendar.Driver, error)
	openCRM       func(ctx context.Context, v Values, env Environment) (crm.Driver, error)
	openTelephony func(ctx context.Context, v Values, env Environment) (telephony.Driver, error)
	check         func(v Values) error
}

// Calendar declares a calendar adapter with settings S, a struct as the package comment shows. Its
// connections also have the setting "slots", of which drivers know nothing; see [SlotDefaults]. It panics if
// S is not declared properly, which is a programming error that tests find.
func Calendar[S any](
	d Declaration, open func(context.Context, S, Environment) (calendar.Driver, error),
) Adapter {
	decode := decoder[S]()
	return Adapter{Declaration: d, Kind: KindCalendar, Fields: append(fieldsOf[S](), fieldSlots()),
		check: calendarChecker(decode),
		openCalendar: func(ctx context.Context, v Values, env Environment) (calendar.Driver, error) {
			return opened(ctx, v.ofAdapter(), env, decode, open)
		}}
}

// CRM declares a CRM adapter; see [Calendar].
func CRM[S any](d Declaration, open func(context.Context, S, Environment) (crm.Driver, error)) Adapter {
	decode := decoder[S]()
	return Adapter{Declaration: d, Kind: KindCRM, Fields: fieldsOf[S](), check: checker(decode),
		openCRM: func(ctx context.Context, v Values, env Environment) (crm.Driver, error) {
			return opened(ctx, v, env, decode, open)
		}}
}

func opened[S, D any](
	ctx context.Context, v Values, env Environment, decode func(Values) (S, error),
	open func(context.Context, S, Environment) (D, error),
) (D, error) {
	s, err := decode(v)
	if err != nil {
		var none D
		return none, err
	}
	return open(ctx, s, env)
}

func checker[S any](decode func(Values) (S, error)) func(Values) error {
	return func(v Values) error {
		_, err := decode(v)
		return err
	}
}

// MayConsent reports whether customers may be able to connect to the provider by consent. For an adapter with
// AuthOf, that depends on the connection.
func (a Adapter) MayConsent() bool { return a.AuthOf != nil || a.Auth.Scheme == OAuth2 }

// With returns the adapter with Auth set to the one that fits the settings and credentials of a connection.
func (a Adapter) With(v Values) (Adapter, error) {
	if a.AuthOf == nil {
		return a, nil
	}
	auth, err := a.AuthOf(v)
	a.Auth, a.AuthOf = auth, nil
	return a, err
}

// AuthBy converts a function of the settings struct S into a Declaration.AuthOf. The function must rely only
// on which credentials are present, not on their values.
func AuthBy[S any](choose func(s S) (Auth, error)) func(Values) (Auth, error) {
	decode := decoder[S]()
	return func(v Values) (Auth, error) {
		s, err := decode(v.ofAdapter())
		if err != nil {
			return Auth{}, err
		}
		return choose(s)
	}
}

// Check reports every unusable, unknown or missing setting and credential as fault.Invalid, with paths such
// as "settings.url" and "credentials.password".
func (a Adapter) Check(v Values) error { return a.check(v) }

// OpenCalendar opens a driver. It must not call the provider: discovery, for example, happens on the first
// call. It panics on an adapter of another kind.
func (a Adapter) OpenCalendar(ctx context.Context, v Values, env Environment) (calendar.Driver, error) {
	return a.openCalendar(ctx, v, env)
}

// OpenCRM is like OpenCalendar, for CRM adapters.
func (a Adapter) OpenCRM(ctx context.Context, v Values, env Environment) (crm.Driver, error) {
	return a.openCRM(ctx, v, env)
}

// OpenTelephony is like OpenCalendar, for telephony adapters.
func (a Adapter) OpenTelephony(ctx context.Context, v Values, env Environment) (telephony.Driver, error) {
	return a.openTelephony(ctx, v, env)
}
