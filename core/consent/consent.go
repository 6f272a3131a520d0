// Package consent serves the pages on which a customer connects an account: /connect/{token}, which a link
// leads to, and /oauth/callback/{provider}, which the provider sends the customer back to. If the OAuth
// client or the authorization server is a tenant's own, its callback has a unique path below
// /oauth/callback/{provider}.
//
//	GET  /connect/fdc_...          shows who asks for what; changes nothing, since messengers fetch links
//	POST /connect/fdc_...          redirects to the provider, with a cookie that binds the consent to this
//	                               browser
//	GET  /oauth/callback/google    shows the result
//
// The package guarantees that the pages work without scripts and show nothing that a stranger can control,
// that they contain no secret but the link's token for the way back, and that every response is kept out of
// caches, referrers and search engines. Package core/link decides whether a consent is valid.
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

// Links looks up links and runs consents. [*link.Directory] implements it.
type Links interface {
	Get(ctx context.Context, token string) (link.Link, error)
	BeginConsent(ctx context.Context, token, callbacks string) (link.Begun, error)
	FinishConsent(ctx context.Context, a link.Answer) (link.Consented, error)
}

// Pages serves the pages. Create it with [New].
type Pages struct {
	links   Links
	base    *url.URL // the gateway's public URL
	set     *page.Set
	brand   page.Brand
	words   page.Languages[words]
	foreign *http.CrossOriginProtection
}

// Paths of the pages, below the gateway's public URL.
const (
	connectPath  = "/connect/"
	callbackPath = "/oauth/callback/"
)

// URL returns the URL of the link with the given token, below the gateway's public URL.
func URL(publicURL, token string) string {
	return strings.TrimRight(publicURL, "/") + connectPath + token
}

// RedirectURI returns the redirect URI to register for an OAuth client. The callback is link.Link.Callback.
func RedirectURI(publicURL, callback string) string {
	return strings.TrimRight(publicURL, "/") + callbackPath + callback
}

// New returns the pages of the gateway with the given public URL, with the operator's brand.
func New(publicURL string, links Links, brand page.Brand) (*Pages, error) {
	base, err := url.Parse(strings.TrimRight(publicURL, "/"))
	if err != nil || base.Scheme == "" || base.Host == "" {
		return nil, errors.New("consent: publicURL must be an absolute URL")
	}
	set, err := page.Parse(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all, err := readWords()
	if err != nil {
		return nil, err
	}
	p := &Pages{
		links: links, base: base, set: set, brand: brand, words: all, foreign: http.NewCrossOriginProtection(),
	}
	// A proxy in front may send another Host than browsers see.
	if err := p.foreign.AddTrustedOrigin(base.Scheme + "://" + base.Host); err != nil {
		return nil, err
	}
	return p, nil
}

// frame is what every page has.
type frame struct {
	words
	Title string
	Brand page.Brand
}

// wordsFor returns the words in the language that a browser asks for.
func (p *Pages) wordsFor(r *http.Request) words {
	return p.words.For(r.Header.Values("Accept-Language"))
}

func (p *Pages) frame(says words, title string) frame { return frame{says, title, p.brand} }

// Ask serves GET and HEAD requests for a link: the page that shows what the link is for.
func (p *Pages) Ask(w http.ResponseWriter, r *http.Request) error {
	says := p.wordsFor(r)
	l, err := p.links.Get(r.Context(), r.PathValue("token"))
	if err != nil {
		return p.writeFailure(w, says, link.Consented{}, err)
	}
	forms := []string{"'self'"}
	if l.SignIn != "" {
		forms = append(forms, l.SignIn)
	}
	if strings.HasPrefix(l.SignIn, "https:") {
		// Chromium applies form-action to the redirects after a form as well, and sign-in services redirect
		// among their own hosts, for example from login.microsoftonline.com to login.live.com
		// (w3c/webappsec-csp issue 8).
		forms = append(forms, "https:")
	}
	if origin := l.ReturnOrigin(); origin != "" {
		forms = append(forms, origin) // the last of the redirects
	}
	return p.write(w, says, http.StatusOK, "ask.html", struct {
		frame
		SignIn, Valid string
		Link          link.Link
	}{p.frame(says, says.Text("connect", "title", l.Title)), hostOf(l.SignIn), says.Moment(l.ExpiresAt), l},
		forms...)
}

// Begin serves POST requests for a link: it redirects to the provider. It rejects cross-site requests.
func (p *Pages) Begin(w http.ResponseWriter, r *http.Request) error {
	if err := p.foreign.Check(r); err != nil {
		return p.writeFailure(w, p.wordsFor(r), link.Consented{},
			fault.New(fault.Forbidden, reasonForeign, "The request comes from another site's page.").Because(err))
	}
	begun, err := p.links.BeginConsent(r.Context(), r.PathValue("token"), RedirectURI(p.base.String(), ""))
	if err != nil {
		return p.writeFailure(w, p.wordsFor(r), link.Consented{}, err)
	}
	http.SetCookie(w, p.cookie(begun.Name, begun.Browser, begun.Life))
	p.headers(w)
	w.Header().Set("Location", begun.URL)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// Finish serves the callback: the page that shows the result of a consent.
func (p *Pages) Finish(w http.ResponseWriter, r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p.writeFailure(w, p.wordsFor(r), link.Consented{},
			// The text of err is left out, since it may quote a code.
			fault.New(fault.Forbidden, link.ReasonConsentMalformed, "The answer cannot be read."))
	}
	// The several requests to the provider may take longer than any operation. If a ResponseWriter does not
	// support deadlines, it has none.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(finishTimeout))
	name := link.ConsentName(query.Get("state"))
	answer := link.Answer{Callback: r.PathValue("provider"), Query: query}
	if own := r.PathValue("own"); own != "" {
		answer.Callback += "/" + own
	}
	if shown := r.CookiesNamed(p.cookie(name, "", 0).Name); len(shown) == 1 {
		answer.Browser = shown[0].Value
		http.SetCookie(w, p.cookie(name, "", -time.Second)) // the consent ends even if it fails
	}
	says := p.wordsFor(r)
	done, err := p.links.FinishConsent(r.Context(), answer)
	if err != nil {
		return p.writeFailure(w, says, done, err)
	}
	if to := done.Link.ReturnTo(link.OutcomeConnected, ""); to != "" {
		p.headers(w)
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	return p.write(w, says, http.StatusOK, "connected.html", struct {
		frame
		Done link.Consented
	}{p.frame(says, says.Text("connected", "title", done.Link.Title)), done})
}

// finishTimeout is longer than the time limits of core/link for the provider and the store together.
const finishTimeout = 45 * time.Second

// cookie returns the cookie that binds a consent to a browser; a negative life removes it. It is Lax, since
// another site sends the browser back. With https, its name prefix keeps other hosts of the domain from
// setting it (RFC 6265bis section 4.1.3.2).
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

// writeFailure responds with the page for a failure, and returns the failure for the log.
func (p *Pages) writeFailure(w http.ResponseWriter, says words, done link.Consented, err error) error {
	f := fault.From(err)
	means := says.failureOf(f, done.Link.Title)
	view := struct {
		frame
		failure
		Missing   []string
		Accounts  *accounts
		Back      string
		Return    string
		RequestID string
	}{
		frame: p.frame(says, means.Heading), failure: means, Missing: done.Missing,
		RequestID: w.Header().Get("X-Request-Id"),
		Return:    done.Link.ReturnTo(link.OutcomeFailed, f.Reason),
	}
	if f.Reason == link.ReasonOtherAccount {
		view.Accounts = &accounts{Known: done.Link.Email, Given: cmp.Or(done.Email, done.Name, says.Text("unnamed"))}
	}
	if done.Token != "" && means.again {
		view.Back = URL(p.base.String(), done.Token)
	}
	if failed := p.write(w, says, means.status, "failure.html", view); failed != nil {
		return failed
	}
	return err
}

type accounts struct{ Known, Given string }

// write responds with a page.
func (p *Pages) write(
	w http.ResponseWriter, says words, status int, name string, view any, forms ...string,
) error {
	html, err := p.set.Render(name, view)
	if err != nil {
		return fault.From(err)
	}
	p.headers(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", says.Lang)
	w.Header().Set("Vary", "Accept-Language")
	w.Header().Set("Content-Security-Policy", p.brand.Policy(p.set.Policy(forms...)))
	w.WriteHeader(status)
	_, _ = w.Write(html) // the client may have disconnected
	return nil
}

// Logo serves GET requests for the operator's logo at its URL.
func (p *Pages) Logo(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox") // for an SVG image
	image, mediaType := p.brand.Logo()
	if image == nil || !strings.HasSuffix(p.brand.LogoURL, page.BrandPath+r.PathValue("file")) {
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable") // the URL changes with the image
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(image) // the client may have disconnected
	return nil
}

func (p *Pages) headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the page's URL is a secret
	h.Set("X-Robots-Tag", "noindex")
	h.Set("X-Content-Type-Options", "nosniff")
}

func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}
