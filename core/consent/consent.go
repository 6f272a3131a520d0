// Package consent serves the pages on which a customer connects an account: /connect/{token}, which a link
// leads to, and /oauth/callback/{provider}, which the provider sends the customer back to. Where the OAuth
// client or the authorization server is a tenant's own, its callback is an address beneath that, which
// nothing else has.
//
//	GET  /connect/fdc_...          who asks, and for what; nothing happens yet, since messengers look into
//	                               links
//	POST /connect/fdc_...          on to the provider, with a cookie that binds the consent to this browser
//	GET  /oauth/callback/google    what came of it
//
// What it promises: pages work without script, and show nothing that a stranger could make them show; none
// holds a secret but the link's own token, which leads back to it; every answer is kept out of caches,
// referrers and search engines. What is right and wrong about a consent is decided in core/link.
package consent

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/page"
)

//go:embed pages
var files embed.FS

// Links is what the pages lead to; *link.Directory is one.
type Links interface {
	Get(ctx context.Context, token string) (link.Link, error)
	BeginConsent(ctx context.Context, token, callbacks string) (link.Begun, error)
	FinishConsent(ctx context.Context, a link.Answer) (link.Consented, error)
}

// Pages are the pages. Make them with [New].
type Pages struct {
	links   Links
	base    *url.URL // where the gateway is reached
	set     *page.Set
	foreign *http.CrossOriginProtection
}

// The paths, beneath the address that the gateway is reached at.
const (
	connectPath  = "/connect/"
	callbackPath = "/oauth/callback/"
)

// URL returns the link of a token, at the address that the gateway is reached at.
func URL(publicURL, token string) string {
	return strings.TrimRight(publicURL, "/") + connectPath + token
}

// RedirectURI returns what an OAuth client has to be registered with, of what link.Link.Callback tells.
func RedirectURI(publicURL, callback string) string {
	return strings.TrimRight(publicURL, "/") + callbackPath + callback
}

// New makes the pages of a gateway that is reached at publicURL.
func New(publicURL string, links Links) (*Pages, error) {
	base, err := url.Parse(strings.TrimRight(publicURL, "/"))
	if err != nil || base.Scheme == "" || base.Host == "" {
		return nil, errors.New("consent: publicURL must be an absolute URL")
	}
	set, err := page.Parse(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	p := &Pages{links: links, base: base, set: set, foreign: http.NewCrossOriginProtection()}
	// A proxy in front may have another Host than browsers see.
	if err := p.foreign.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, err
	}
	return p, nil
}

// Ask answers GET and HEAD of a link: what it is for.
func (p *Pages) Ask(w http.ResponseWriter, r *http.Request) error {
	l, err := p.links.Get(r.Context(), r.PathValue("token"))
	if err != nil {
		return p.writeFailure(w, link.Consented{}, err)
	}
	forms := []string{"'self'"}
	if l.SignIn != "" {
		forms = append(forms, l.SignIn)
	}
	if strings.HasPrefix(l.SignIn, "https:") {
		// Chromium holds the redirects after a form to this as well, and sign-in services redirect among
		// hosts of their own at once, such as from login.microsoftonline.com to login.live.com
		// (w3c/webappsec-csp issue 8).
		forms = append(forms, "https:")
	}
	return p.write(w, http.StatusOK, "ask.html", struct {
		Title, SignIn, Until string
		Link                 link.Link
	}{"Connect " + l.Title, hostOf(l.SignIn), l.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC"), l},
		forms...)
}

// Begin answers POST of a link: on to the provider. Another site's page cannot make a browser do it.
func (p *Pages) Begin(w http.ResponseWriter, r *http.Request) error {
	if err := p.foreign.Check(r); err != nil {
		return p.writeFailure(w, link.Consented{},
			fault.New(fault.Forbidden, reasonForeign, "The request comes from another site's page.").Because(err))
	}
	begun, err := p.links.BeginConsent(r.Context(), r.PathValue("token"), RedirectURI(p.base.String(), ""))
	if err != nil {
		return p.writeFailure(w, link.Consented{}, err)
	}
	http.SetCookie(w, p.cookie(begun.Name, begun.Browser, begun.Life))
	p.headers(w)
	w.Header().Set("Location", begun.URL)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// Finish answers the callback: what came of a consent.
func (p *Pages) Finish(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p.writeFailure(w, link.Consented{},
			// Its text may quote a code.
			fault.New(fault.Forbidden, link.ReasonConsentMalformed, "The answer cannot be read."))
	}
	// The provider is asked several things, which may take longer than any operation.
	// Where it cannot be set, there is none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(finishTimeout))
	name := link.ConsentName(query.Get("state"))
	answer := link.Answer{Callback: r.PathValue("provider"), Query: query}
	if own := r.PathValue("own"); own != "" {
		answer.Callback += "/" + own
	}
	if shown := r.CookiesNamed(p.cookie(name, "", 0).Name); len(shown) == 1 {
		answer.Browser = shown[0].Value
		http.SetCookie(w, p.cookie(name, "", -time.Second)) // it is over, whatever comes of it
	}
	done, err := p.links.FinishConsent(r.Context(), answer)
	if err != nil {
		return p.writeFailure(w, done, err)
	}
	return p.write(w, http.StatusOK, "connected.html", struct {
		Title string
		Done  link.Consented
	}{done.Link.Title + " is connected", done})
}

// finishTimeout is beyond all that core/link gives a provider and the store.
const finishTimeout = 45 * time.Second

// cookie returns what binds a consent to a browser; a negative life removes it. Lax, since it is another site
// that sends the browser back. With https its name keeps other hosts of the domain from setting it (RFC
// 6265bis section 4.1.3.2).
func (p *Pages) cookie(name, value string, life time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: "frontdesk-consent-" + name, Value: value, Path: p.base.Path + strings.TrimRight(callbackPath, "/"),
		MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if p.base.Scheme == "https" {
		c.Name, c.Path, c.Secure = "__Host-"+c.Name, "/", true
	}
	return c
}

// writeFailure answers a failure, and returns it for the log.
func (p *Pages) writeFailure(w http.ResponseWriter, done link.Consented, err error) error {
	f := fault.From(err)
	says := wordsOf(f, cmp.Or(done.Link.Title, "The provider"))
	view := struct {
		words
		Title     string
		Missing   []string
		Accounts  *accounts
		Back      string
		RequestID string
	}{words: says, Title: says.Heading, Missing: done.Missing, RequestID: w.Header().Get("X-Request-Id")}
	if f.Reason == link.ReasonOtherAccount {
		view.Accounts = &accounts{Known: done.Link.Email, Given: cmp.Or(done.Email, done.Name, "not named")}
	}
	if done.Token != "" && says.again {
		view.Back = URL(p.base.String(), done.Token)
	}
	if failed := p.write(w, says.status, "failure.html", view); failed != nil {
		return failed
	}
	return err
}

type accounts struct{ Known, Given string }

// write answers a page.
func (p *Pages) write(w http.ResponseWriter, status int, name string, view any, forms ...string) error {
	html, err := p.set.Render(name, view)
	if err != nil {
		return fault.From(err)
	}
	p.headers(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.set.Policy(forms...))
	w.WriteHeader(status)
	_, _ = w.Write(html) // whoever asked may have left
	return nil
}

func (p *Pages) headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address of the page is a secret
	h.Set("X-Robots-Tag", "noindex")
	h.Set("X-Content-Type-Options", "nosniff")
}

func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}
