package settingspage

import (
	"html/template"
	"net/http"

	"frontdesk/core/fault"
	"frontdesk/core/signin"
)

// signInRoutes are the pages for people who are not signed in. Who signs out may be signed out already.
var signInRoutes = []route{
	{http.MethodGet, Root + "/sign-in", "settings-sign-in", (*Pages).askToSignIn},
	{http.MethodGet, Root + "/sign-in/{token}", "settings-sign-in", (*Pages).showLink},
	{http.MethodPost, Root + "/sign-in/{token}", "settings-sign-in", (*Pages).useLink},
	{http.MethodPost, Root + "/oidc", "settings-oidc-begin", (*Pages).beginOpenID},
	{http.MethodGet, Root + "/oidc/callback", "settings-oidc-finish", (*Pages).finishOpenID},
	{http.MethodGet, Root + "/signed-in", "settings-signed-in", (*Pages).signedIn},
	{http.MethodPost, Root + "/sign-out", "settings-sign-out", (*Pages).signOut},
}

// sessionRoutes are the pages for everybody who is signed in.
var sessionRoutes = []route{
	{http.MethodGet, Root + "/session", "settings-session", (*Pages).session},
	{http.MethodPost, Root + "/sign-out-everywhere", "settings-sign-out-everywhere", (*Pages).signOutEverywhere},
}

// paramEnded tells the sign-in page that somebody sent a form after the session had ended.
const paramEnded = "ended"

// askToSignIn shows how to sign in.
func (p *Pages) askToSignIn(v *visit) (reply, error) {
	if v.person != (signin.Person{}) {
		return see("/")
	}
	if err := p.requireHTTPS(v); err != nil {
		return reply{}, err
	}
	says := p.wordsFor(v)
	answer, view := reply{page: "sign-in.html"}, struct {
		layout
		OpenID string // the host of the OpenID provider; "": none
		Ended  bool   // the session ended before a form was sent
	}{layout: p.layout(v, says.Text("sign_in"), says.Text("for_whom")), Ended: v.r.URL.Query().Has(paramEnded)}
	if p.opts.OpenID != nil {
		view.OpenID = p.opts.OpenID.Host()
		// Chromium applies the policy to the redirects after a form as well (w3c/webappsec-csp issue 8), and
		// sign-in services redirect among hosts of their own.
		answer.forms = []string{"https:", p.opts.OpenID.Origin()}
	}
	answer.view = view
	return answer, nil
}

// requireHTTPS refuses requests whose browser would not keep a session.
func (p *Pages) requireHTTPS(v *visit) error {
	if p.isSecure(v.r.Host) {
		return nil
	}
	return fault.New(fault.Forbidden, reasonHTTPS, "Use https: over plain http, browsers keep a session on "+
		"loopback only. Put a proxy with TLS in front of the gateway, and set server.public_url to its https "+
		"address.")
}

// showLink shows what a link is for. The link stays good, since messengers open links for previews.
func (p *Pages) showLink(v *visit) (reply, error) {
	found, err := p.link(v)
	if err != nil {
		return reply{}, err
	}
	says := p.wordsFor(v)
	as := "as_" + string(found.Role)
	if found.Tenant != "" {
		as += "_of"
	}
	return reply{page: "link.html", view: struct {
		layout
		Link signin.Link
		As   template.HTML
		Once string
	}{p.layout(v, says.Text("sign_in_to", "name", p.opts.Brand.Name), ""), found,
		says.Strong(as, "person", found.Name, "tenant", found.Tenant),
		says.Text("once", "until", says.Moment(found.ExpiresAt))}}, nil
}

func (p *Pages) link(v *visit) (signin.Link, error) {
	if err := p.requireHTTPS(v); err != nil {
		return signin.Link{}, err
	}
	found, err := p.opts.Links.Get(v.ctx, v.path("token"))
	if err != nil && fault.From(err).Reason == signin.ReasonLinkUnusable && !p.throttle.allow(v.r.RemoteAddr) {
		return found, tooManyTries()
	}
	return found, err
}

// mayAsk returns the function that refuses questions to the OpenID provider when they are too many.
func (p *Pages) mayAsk(v *visit) func() error {
	return func() error {
		if !p.throttleOpenID.allow(v.r.RemoteAddr) {
			return tooManyTries()
		}
		return nil
	}
}

func tooManyTries() error {
	return fault.New(fault.RateLimited, reasonThrottle,
		"There were too many attempts to sign in. Wait a few seconds, then try again.")
}

// useLink signs the person in for whom a link was made.
func (p *Pages) useLink(v *visit) (reply, error) {
	if v.person.HasUsed(v.path("token")) { // by the first of two clicks
		return see("/signed-in")
	}
	found, err := p.link(v)
	if err != nil {
		return reply{}, err
	}
	if err := p.opts.Sessions.Begin(v.ctx, found.Person, func() error {
		_, err := p.opts.Links.Use(v.ctx, v.path("token"))
		return err
	}); err != nil {
		return reply{}, err
	}
	return see("/signed-in")
}

// signedIn leads on if the browser has kept the session, and otherwise says why it has not.
func (p *Pages) signedIn(v *visit) (reply, error) {
	if v.person != (signin.Person{}) {
		return see("/")
	}
	return reply{}, fault.New(fault.Forbidden, reasonHTTPS, "The browser did not keep the session. It keeps "+
		"one only over https, or on loopback, and only if it allows cookies. Use https, then sign in with a new link.")
}

// session shows who is signed in.
func (p *Pages) session(v *visit) (reply, error) {
	return reply{page: "session.html", view: struct{ layout }{p.layout(v, "Your session", "")}}, nil
}

func (p *Pages) signOut(v *visit) (reply, error) {
	if err := p.opts.Sessions.End(v.ctx); err != nil {
		return reply{}, err
	}
	return see("/sign-in")
}

func (p *Pages) signOutEverywhere(v *visit) (reply, error) {
	if err := p.opts.Sessions.EndAll(v.ctx, v.caller.Tenant.Name); err != nil {
		return reply{}, err
	}
	return see("/sign-in")
}

// beginOpenID leads to the OpenID provider.
func (p *Pages) beginOpenID(v *visit) (reply, error) {
	if err := p.requireHTTPS(v); err != nil {
		return reply{}, err
	}
	if p.opts.OpenID == nil {
		return reply{}, noOpenID()
	}
	to, cookie, err := p.opts.OpenID.Begin(v.ctx, p.mayAsk(v))
	return reply{to: to, cookie: cookie}, err
}

// finishOpenID signs a person in who comes back from the OpenID provider.
func (p *Pages) finishOpenID(v *visit) (reply, error) {
	if p.opts.OpenID == nil {
		return reply{}, noOpenID()
	}
	if v.r.Method != http.MethodGet { // the answer can be used only once
		return reply{}, fault.New(fault.NotFound, fault.ReasonNotFound, "There is nothing to see here.")
	}
	if err := p.requireHTTPS(v); err != nil {
		return reply{}, err
	}
	person, err := p.opts.OpenID.Finish(v.r, p.mayAsk(v))
	if v.person != (signin.Person{}) && err != nil && fault.From(err).Reason == signin.ReasonNotBegun {
		return see("/signed-in") // somebody who clicks twice was signed in by the first click
	}
	if err != nil {
		return reply{}, err
	}
	answer, err := see("/signed-in")
	if begun := p.opts.Sessions.Begin(v.ctx, person, nil); begun != nil {
		return reply{}, begun
	}
	answer.cookie = p.opts.OpenID.Forget()
	return answer, err
}

func noOpenID() error {
	return fault.New(fault.NotFound, fault.ReasonNotFound,
		"This gateway has no OpenID provider (settings_page.oidc). Sign in with a link.")
}
