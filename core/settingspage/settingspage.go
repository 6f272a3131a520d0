// Package settingspage serves the settings page: /settings, where the operator and the tenants'
// administrators see and change in a browser what the admin interface offers to programs.
//
//	pages, err := settingspage.New(settingspage.Options{Admin: service, Links: links, Sessions: sessions, ...})
//	for _, r := range pages.Routes() { ... }
//
// A page is a row of a route table and a function from a visit to a reply:
//
//	{http.MethodGet, "/settings/audit", "settings-audit", (*Pages).audit}
//
// Every page calls core/admin as the person who is signed in. So who may see and change what is decided
// there, as it is for keys of the admin interface, and the audit names the person. A route that is not GET
// needs the role admin.
//
// The package guarantees that the pages work without scripts and load nothing from elsewhere, that no GET
// changes anything, that a form changes nothing that was left as it was shown and creates one thing however often it
// is sent, that no other site's page can make a request for a person, that a page is served at the gateway's own host
// name or on loopback only, and that every response is kept out of caches and frames.
package settingspage

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"frontdesk/core/admin"
	"frontdesk/core/agenttools"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/page"
	"frontdesk/core/signin"
	"frontdesk/core/store"
)

//go:embed pages words
var files embed.FS

// Options configure [Pages]. All fields but OpenID are required.
type Options struct {
	PublicURL string // the gateway's
	Store     *store.Store
	Admin     *admin.Service
	Links     *signin.Links
	Sessions  *signin.Sessions
	OpenID    *signin.OpenID // nil: people sign in by links only
	Now       func() time.Time
	Brand     page.Brand // without a name, it is Frontdesk
	Trial     Trial
	// Tools returns what an agent of a tenant needs on a platform, with the tools that its API key allows. "": a key
	// that may do everything.
	Tools func(ctx context.Context, platform, tenantName, keyID string) (agenttools.Made, error)
}

// Pages serves the pages. It is safe for concurrent use. Create it with [New].
type Pages struct {
	opts           Options
	base           *url.URL // the gateway's public URL
	root           string   // the path of the settings page, as browsers see it
	set            *page.Set
	words          page.Languages[translation]
	foreign        *http.CrossOriginProtection
	throttle       *throttle // of links that do not work
	throttleOpenID *throttle
}

// Root is the path of the settings page below the gateway's public URL.
const Root = "/settings"

// TenantsURL returns the URL below which the pages about tenants and their connections are.
func TenantsURL(publicURL string) string {
	return strings.TrimRight(publicURL, "/") + Root + "/tenants"
}

// SignInURL returns the URL of the sign-in link with the given token.
func SignInURL(publicURL, token string) string {
	return strings.TrimRight(publicURL, "/") + Root + "/sign-in/" + token
}

// RedirectURI returns the redirect URI of the gateway's client at an OpenID provider.
func RedirectURI(publicURL string) string {
	return strings.TrimRight(publicURL, "/") + Root + "/oidc/callback"
}

// New returns the pages.
func New(o Options) (*Pages, error) {
	base, err := url.Parse(strings.TrimRight(o.PublicURL, "/"))
	if err != nil || base.Scheme == "" || base.Host == "" {
		return nil, errors.New("settingspage: PublicURL must be an absolute URL")
	}
	set, err := page.Parse(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all, err := readWords()
	if err != nil {
		return nil, err
	}
	o.Brand.Name = cmp.Or(o.Brand.Name, "Frontdesk")
	p := &Pages{
		opts: o, base: base, root: base.Path + Root, set: set, words: all, foreign: http.NewCrossOriginProtection(),
		throttle: newThrottle(o.Now), throttleOpenID: newThrottle(o.Now),
	}
	// A proxy in front may send another Host than browsers see.
	return p, p.foreign.AddTrustedOrigin(base.Scheme + "://" + base.Host)
}

// Route is a route of the settings page. Its path is as in OpenAPI: "/settings/sign-in/{token}".
type Route struct {
	Method, Path string
	Operation    string // its name in the log
	Serve        func(http.ResponseWriter, *http.Request) error
}

// route is a page, or what a form of a page does.
type route struct {
	method, path, operation string
	serve                   func(*Pages, *visit) (reply, error)
}

// Routes returns all routes. A page for GET also serves HEAD. What a form leads to has an address of its own, at which
// a refused form is shown again: who opens that address by itself comes to the page above it.
func (p *Pages) Routes() []Route {
	var all []Route
	add := func(table []route, enter func(*visit) error) {
		for _, r := range table {
			methods := []string{r.method}
			if r.method == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
			for _, method := range methods {
				all = append(all, Route{method, r.path, r.operation, p.handler(r, enter)})
			}
		}
	}
	add(signInRoutes, nil)
	add(sessionRoutes, p.enter)
	for _, table := range [][]route{overviewRoutes, tenantRoutes, connectionRoutes, hoursRoutes, keyRoutes,
		numberRoutes, webhookRoutes(), requestRoutes, auditRoutes, adminKeyRoutes, tryRoutes, agentRoutes,
		voiceAgentRoutes} {
		add(table, p.enterByRole)
	}
	isPage := map[string]bool{}
	for _, r := range all {
		isPage[r.Path] = isPage[r.Path] || r.Method == http.MethodGet
	}
	for path, is := range isPage {
		if !is {
			add([]route{{http.MethodGet, path, operationAbove, func(_ *Pages, v *visit) (reply, error) {
				above, depth := v.r.URL.EscapedPath(), path
				for !isPage[depth] {
					above, depth = above[:strings.LastIndex(above, "/")], depth[:strings.LastIndex(depth, "/")]
				}
				return see(strings.TrimPrefix(above, Root) + "/")
			}}}, p.enterByRole)
		}
	}
	return all
}

// operationAbove leads from the address of a form to the page above it.
const operationAbove = "settings-above"

// visit is one request of a browser.
type visit struct {
	r      *http.Request
	ctx    context.Context // with the session, and the person for the audit
	person signin.Person   // the zero Person if nobody is signed in
	caller apikey.Caller
	tenant string // name of the tenant that the page is about; "": none
}

// path returns a parameter of the path.
func (v *visit) path(name string) string { return v.r.PathValue(name) }

// form returns a value of the form, without surrounding space.
func (v *visit) form(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// mayChange reports whether the person may change anything.
func (v *visit) mayChange() bool { return v.caller.Require(apikey.ScopeAdminWrite) == nil }

// reply is the response to a visit: a page, or the address of one.
type reply struct {
	status int // 0: 200
	page   string
	view   any
	to     string // path below the root, or an address elsewhere; "": show the page
	cookie *http.Cookie
	forms  []string // where a form may lead besides the page's own origin
}

// see replies with the address of another page, after a change: a path below the root.
func see(path string) (reply, error) { return reply{to: path}, nil }

// done leads to a page after a change, and tells there what was done. It returns the error of a change that failed.
func (p *Pages) done(v *visit, err error, told, path string) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	p.notify(v, good(told))
	return see(path)
}

// tenantPath returns the path, below the root, of a page about a tenant.
func tenantPath(name string, parts ...string) string {
	return "/tenants/" + strings.Join(append([]string{url.PathEscape(name)}, parts...), "/")
}

// pick returns the first element for which is holds, or the error missing.
func pick[T any](all []T, is func(T) bool, missing error) (found T, err error) {
	if at := slices.IndexFunc(all, is); at >= 0 {
		return all[at], nil
	}
	return found, missing
}

// errSignedOut makes the browser go to the sign-in page.
var errSignedOut = errors.New("nobody is signed in")

const (
	maxFormBytes = 256 << 10        // a form brings what it showed as well; see [visit.over]
	answerWithin = 45 * time.Second // longer than the verification of a connection takes
)

// handler returns the handler of a route. It saves the session before it responds.
func (p *Pages) handler(rt route, enter func(*visit) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		v := &visit{r: r, ctx: r.Context(), tenant: r.PathValue("tenant")}
		answer, err := p.answer(w, v, rt, enter)
		if errors.Is(err, errSignedOut) {
			answer, err = reply{to: "/sign-in"}, nil
			if r.Method == http.MethodPost {
				answer.to += "?" + paramEnded + "=yes"
			}
		}
		if err != nil {
			answer = p.failure(v, w.Header().Get("X-Request-Id"), err)
		}
		if failed := p.write(w, v, answer); failed != nil {
			return failed
		}
		return err
	}
}

func (p *Pages) answer(w http.ResponseWriter, v *visit, rt route, enter func(*visit) error) (reply, error) {
	if err := p.checkHost(v.r.Host); err != nil {
		return reply{}, err
	}
	if err := p.foreign.Check(v.r); err != nil {
		return reply{}, fault.New(fault.Forbidden, fault.ReasonForeignRequest,
			"The request comes from another site's page. Open the settings page itself and try again.").Because(err)
	}
	ctx, person, err := p.opts.Sessions.Load(v.r)
	if err != nil {
		return reply{}, err
	}
	v.ctx, v.person = ctx, person
	if enter != nil {
		if err := enter(v); err != nil {
			return reply{}, errors.Join(err, p.opts.Sessions.Save(v.ctx, w))
		}
	}
	given := v.r.URL.Query()
	if v.r.Method == http.MethodPost {
		// A verification asks the provider. A ResponseWriter without deadlines does not block.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerWithin))
	}
	if v.r.Method == http.MethodPost && enter != nil { // the forms of strangers have nothing but a button
		v.r.Body = http.MaxBytesReader(w, v.r.Body, maxFormBytes)
		if err := v.r.ParseForm(); err != nil {
			return reply{}, unreadable().Because(err)
		}
		given = v.r.Form
	}
	if enter != nil && !isText(given) { // an OpenID provider's answer is read as it is
		return reply{}, unreadable()
	}
	answer, err := rt.serve(p, v)
	if saved := p.opts.Sessions.Save(v.ctx, w); err == nil && saved != nil {
		return reply{}, saved
	}
	return answer, err
}

func unreadable() *fault.Error {
	return fault.New(fault.Invalid, fault.ReasonInvalidRequest,
		"The form cannot be read. Open the page again and fill it in anew.")
}

// isText reports whether all values are texts that every store can look for and keep: PostgreSQL takes no NUL, and no
// bytes that are not UTF-8 (its manual, "Character Types"; "Character Set Support"). Browsers send none.
func isText(given url.Values) bool {
	for _, values := range given {
		for _, value := range values {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				return false
			}
		}
	}
	return true
}

// enter lets in who is signed in.
func (p *Pages) enter(v *visit) error {
	if v.person == (signin.Person{}) {
		return errSignedOut
	}
	ctx, caller, err := signin.Caller(v.ctx, p.opts.Store, v.person)
	if errors.Is(err, fault.NotFound) { // the tenant was deleted
		return errors.Join(errSignedOut, p.opts.Sessions.End(v.ctx))
	}
	v.ctx, v.caller = ctx, caller
	return err
}

// enterByRole lets in who is signed in and may do what the method says.
func (p *Pages) enterByRole(v *visit) error {
	if err := p.enter(v); err != nil {
		return err
	}
	scope := apikey.ScopeAdminWrite
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
		scope = apikey.ScopeAdminRead
	}
	if v.caller.Require(scope) != nil {
		return fault.New(fault.Forbidden, reasonViewer,
			"You are signed in as a viewer, who sees everything but changes nothing. Sign in as an administrator.")
	}
	return nil
}

// write responds with a page or a redirect.
func (p *Pages) write(w http.ResponseWriter, v *visit, answer reply) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("X-Content-Type-Options", "nosniff")
	if answer.cookie != nil {
		http.SetCookie(w, answer.cookie)
	}
	if answer.to != "" {
		if strings.HasPrefix(answer.to, "/") {
			answer.to = p.root + strings.TrimSuffix(answer.to, "/")
		}
		h.Set("Location", answer.to)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	html, err := p.set.Render(answer.page, answer.view)
	if err != nil {
		return fault.From(err)
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", p.wordsFor(v).Lang)
	h.Set("Vary", "Accept-Language, Cookie")
	h.Set("Content-Security-Policy",
		p.opts.Brand.Policy(p.set.Policy(append([]string{"'self'"}, answer.forms...)...)))
	w.WriteHeader(cmp.Or(answer.status, http.StatusOK))
	if v.r.Method != http.MethodHead {
		_, _ = w.Write(html) // the client may have disconnected
	}
	return nil
}
