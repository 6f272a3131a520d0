package gateway

import (
	"context"
	"net/http"
	"strings"

	"frontdesk/core/agenttools"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/settingspage"
	"frontdesk/core/signin"
	"frontdesk/core/tenant"
)

func (g *Gateway) signInOptions() signin.Options {
	return signin.Options{Store: g.store, Audit: g.audit, Now: g.now, Log: g.log}
}

// openSignIn opens the ways to sign in at the settings page.
func (g *Gateway) openSignIn() {
	g.signInLinks = signin.NewLinks(g.signInOptions())
	if at := g.config.SettingsPage.OIDC; g.config.SettingsPage.Enabled && at.Issuer != "" {
		g.openID = signin.NewOpenID(signin.OpenIDOptions{
			Options: g.signInOptions(), Sealer: g.vault, Issuer: at.Issuer, ClientID: at.ClientID, ClientSecret: at.ClientSecret,
			Grants: at.Roles, RedirectURI: settingspage.RedirectURI(g.config.Server.PublicURL),
		})
	}
}

// settingsPages returns the pages of the settings page, with their operation names in the log, or none if the
// configuration turns it off.
func (g *Gateway) settingsPages() ([]api.Page, error) {
	if !g.config.SettingsPage.Enabled {
		return nil, nil
	}
	p, err := settingspage.New(settingspage.Options{
		PublicURL: g.config.Server.PublicURL, Store: g.store, Admin: g.admin, Links: g.signInLinks,
		Sessions: signin.NewSessions(g.signInOptions(), g.config.SettingsPage.OIDC.Roles...), OpenID: g.openID, Now: g.now,
		Brand: g.brand,
		Trial: g.trial(),
		Tools: func(ctx context.Context, platform, tenantName, keyID string) (agenttools.Made, error) {
			if keyID != "" {
				return g.AgentToolsOf(ctx, platform, keyID)
			}
			of, err := tenant.ByName(ctx, g.store, tenantName)
			if err != nil {
				return agenttools.Made{}, err
			}
			return g.agentToolsFor(ctx, platform, of, apikey.Spec{Scopes: apikey.Scopes()})
		},
	})
	if err != nil {
		return nil, err
	}
	var pages []api.Page
	for _, r := range p.Routes() {
		pages = append(pages, api.Page(r))
	}
	return pages, nil
}

// trial returns what the settings page tries operations with.
func (g *Gateway) trial() settingspage.Trial {
	t := settingspage.Trial{
		Send: g.send,
		Curl: func(a settingspage.Attempt) string {
			return api.CurlOf(g.config.Server.PublicURL, a.Method, a.Path, a.IdempotencyKey, a.Body)
		},
	}
	for _, o := range api.Operations() {
		t.Operations = append(t.Operations, settingspage.Operation(o))
	}
	return t
}

// send makes a request of the interface as a caller, within this process.
func (g *Gateway) send(
	ctx context.Context, as apikey.Caller, a settingspage.Attempt,
) (settingspage.Outcome, error) {
	ctx = api.As(context.WithoutCancel(ctx), as, as.KeyID) // what was begun is ended; the interface has its own deadline
	r, err := http.NewRequestWithContext(ctx, a.Method, a.Path, strings.NewReader(a.Body))
	if err != nil {
		return settingspage.Outcome{}, fault.From(err)
	}
	if a.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.IdempotencyKey != "" {
		r.Header.Set("Idempotency-Key", a.IdempotencyKey)
	}
	answer := api.NewRecorder()
	g.handler.ServeHTTP(answer, r)
	return settingspage.Outcome{Status: answer.Status, Header: answer.Header(), Body: answer.Body.Bytes()}, nil
}

// SettingsURL returns the address of the settings page, or "" if there is none.
func (g *Gateway) SettingsURL() string {
	if !g.config.SettingsPage.Enabled {
		return ""
	}
	return g.config.Server.PublicURL + settingspage.Root
}

// CreateSignInLink makes a link with which somebody signs in at the settings page, and returns its URL.
func (g *Gateway) CreateSignInLink(ctx context.Context, n signin.NewLink) (string, signin.Link, error) {
	if !g.config.SettingsPage.Enabled {
		return "", signin.Link{}, fault.New(fault.Unsupported, "SETTINGS_PAGE_OFF",
			"The settings page is turned off. To use it, set settings_page.enabled to true in the configuration.")
	}
	token, made, err := g.signInLinks.Create(ctx, n)
	return settingspage.SignInURL(g.config.Server.PublicURL, token), made, err
}
