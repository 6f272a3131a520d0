package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"frontdesk/core/apikey"
	"frontdesk/core/fair"
	"frontdesk/core/requestlog"
	"frontdesk/core/telemetry"
)

// Services are the use cases behind the operations.
type Services struct {
	Calendar Calendar
	Tickets  Tickets
	Contacts Contacts
	Numbers  Numbers
	Admin    Admin
}

// Keys authenticates requests. [*apikey.Callers] implements it.
type Keys interface {
	Authenticate(ctx context.Context, key string) (apikey.Caller, error)
}

// Metrics records every request.
type Metrics interface {
	RequestRunning(surface string) (done func())
	Request(surface, operation string, status int, reason string, took time.Duration)
	Watch(w telemetry.Watched)
}

// Requests keeps what requests did, for people. [*requestlog.Log] implements it.
type Requests interface {
	Add(e requestlog.Entry)
}

// Options configure the handler of [New].
type Options struct {
	PublicURL string // where callers reach the gateway, without a trailing slash; the base of problem types
	// The page where connections are made, for errors that a person must resolve; "": none.
	SettingsURL string
	Version     string // the gateway's version, for the OpenAPI document

	Services  Services
	Pages     []Page // pages of other packages
	Protocols []Protocol
	Keys      Keys
	Log       *slog.Logger
	Metrics   Metrics                     // may be nil
	Tracer    trace.Tracer                // of the requests of authenticated callers; nil: none are traced
	Requests  Requests                    // may be nil
	Ready     func(context.Context) error // fails while requests cannot be served; nil: always ready

	Deadline    time.Duration // time limit of a request; 0: 8 s
	MaxInFlight int           // limit of concurrent requests; 0: 1024

	// StoreWaited returns how many calls have waited for a connection of the store, and for how long in
	// total; nil: not known.
	StoreWaited func() (calls int64, together time.Duration)

	Budgets           Budgets // by which the replicas share these limits; nil: this process has them for itself
	PerMinuteOfKey    int     // requests of one API key in a minute; 0: no limit
	PerMinuteOfTenant int     // requests of all keys of one tenant in a minute; 0: no limit

	LegacyConferencing []string  // deprecated values of conferencing_type that mean "provider"
	LegacySunset       time.Time // when they will be removed; zero: no date is set

	Now   func() time.Time // nil: time.Now
	NewID func() string    // request ids; nil: random ones that sort by time
}

const (
	defaultDeadline    = 8 * time.Second
	defaultMaxInFlight = 1024
	maxBodiesAtOnce    = 512 // each of at most 128 KiB, or several in one; those of one tenant use at most 32 MiB
	maxWaiting         = 512
)

// api holds what the handlers share. Its only changing state is counters and the callers' remaining quotas.
type api struct {
	publicURL    string
	settingsURL  string
	settingsPath string
	keys         Keys
	log          *slog.Logger
	metrics      Metrics
	tracer       trace.Tracer
	requests     Requests
	ready        func(context.Context) error
	deadline     time.Duration
	legacy       []string
	deprecation  http.Header
	now          func() time.Time
	newID        func() string
	catalogue    catalogue
	voices       map[string]voice // by language; English has none
	pages        []Page
	protocols    []Protocol
	gate         *gate
	refusals     tally
	bodies       *fair.Shares // bodies that are being read
	waiting      *fair.Shares // writes that wait for the result of an equal one
	rates        *rateLimits
}

// New builds the handler for all paths: the interface, its description, and the health checks. Paths are
// matched exactly and never redirected. So do not serve the handler behind an http.ServeMux, which redirects
// to cleaned paths.
func New(o Options) (http.Handler, error) {
	if o.Keys == nil || o.Services.Calendar == nil || o.Services.Tickets == nil || o.Services.Numbers == nil ||
		o.Services.Contacts == nil || o.Services.Admin == nil {
		return nil, errors.New("api: Keys and all Services are needed")
	}
	a, err := newAPI(o)
	if err != nil {
		return nil, err
	}
	pages, err := newPages(a, o)
	if err != nil {
		return nil, err
	}
	return a.engine(append(operations(o.Services), adminOperations(o.Services.Admin)...), pages), nil
}

func newAPI(o Options) (*api, error) {
	base, err := url.Parse(o.PublicURL)
	if err != nil || base.Scheme == "" || base.Host == "" {
		return nil, errors.New("api: PublicURL must be an absolute URL")
	}
	settingsPath := ""
	if settings, err := url.Parse(o.SettingsURL); err == nil {
		settingsPath = settings.EscapedPath() // no host: the browser may know it as localhost
	}
	voices, err := voices()
	if err != nil {
		return nil, err
	}
	a := &api{
		voices:       voices,
		publicURL:    strings.TrimRight(o.PublicURL, "/"),
		settingsURL:  o.SettingsURL,
		settingsPath: settingsPath,
		keys:         o.Keys,
		log:          o.Log,
		metrics:      o.Metrics,
		tracer:       o.Tracer,
		requests:     o.Requests,
		ready:        o.Ready,
		deadline:     o.Deadline,
		legacy:       o.LegacyConferencing,
		now:          o.Now,
		newID:        o.NewID,
		catalogue:    newCatalogue(),
		pages:        o.Pages,
		protocols:    o.Protocols,
		bodies:       fair.NewShares(maxBodiesAtOnce),
		waiting:      fair.NewShares(maxWaiting),
		rates:        newRateLimits(o.PerMinuteOfKey, o.PerMinuteOfTenant).sharedBy(o.Budgets),
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.newID == nil {
		a.newID = func() string { return newRequestID(a.now()) }
	}
	if a.deadline <= 0 {
		a.deadline = defaultDeadline
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	most := o.MaxInFlight
	if most <= 0 {
		most = defaultMaxInFlight
	}
	a.gate = newGate(most, queues(o.StoreWaited))
	if a.metrics != nil {
		a.metrics.Watch(telemetry.Watched{Gate: a.gate.load, Queues: map[string]func() int{
			"body": a.bodies.Load, "equal": a.waiting.Load,
		}})
	}
	a.deprecation = deprecationHeaders(a.publicURL, o.LegacySunset)
	return a, nil
}

// engine registers all middleware and routes on one Gin engine.
func (a *api) engine(ops []operation, pages *pages) *gin.Engine {
	gin.SetMode(gin.ReleaseMode) // the other modes write to standard output, which belongs to the commands
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	e.ForwardedByClientIP = false
	e.Use(a.identify, a.observe, a.recover, secure, endAfterChunks, a.refuseNoName)
	e.NoRoute(a.noSuchPath)
	e.NoMethod(a.wrongMethod)
	for _, op := range ops {
		handle(e, op.Method, ginPath(op.Path), a.serve(op))
	}
	for path, page := range pages.fixed {
		handle(e, http.MethodGet, path, page)
	}
	handle(e, http.MethodGet, "/problems/:slug", pages.problem)
	for _, p := range a.pages {
		a.mount(e, p)
	}
	for _, p := range a.protocols {
		a.mountProtocol(e, p)
	}
	if a.settingsURL != "" {
		handle(e, http.MethodGet, "/", a.home)
	}
	handle(e, http.MethodGet, "/healthz", a.healthz)
	handle(e, http.MethodGet, "/readyz", a.readyz)
	return e
}

// handle registers a route. A route for GET also serves HEAD (RFC 9110 section 9.3.2).
func handle(e *gin.Engine, method, path string, h gin.HandlerFunc) {
	e.Handle(method, path, h)
	if method == http.MethodGet {
		e.HEAD(path, h)
	}
}

// ginPath converts an OpenAPI path into Gin's form: {id} becomes :id.
func ginPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}
