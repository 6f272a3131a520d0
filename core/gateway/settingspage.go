package gateway

import (
	"context"

	"frontdesk/core/api"
	"frontdesk/core/fault"
	"frontdesk/core/settingspage"
	"frontdesk/core/signin"
)

// settingsPages returns the pages of the settings page, with their operation names in the log, or none if the
// configuration turns it off.
func (g *Gateway) settingsPages() ([]api.Page, error) {
	o := signin.Options{Store: g.store, Audit: g.audit, Now: g.now, Log: g.log}
	g.signInLinks = signin.NewLinks(o)
	if !g.config.SettingsPage.Enabled {
		return nil, nil
	}
	if at := g.config.SettingsPage.OIDC; at.Issuer != "" {
		g.openID = signin.NewOpenID(signin.OpenIDOptions{
			Options: o, Sealer: g.vault, Issuer: at.Issuer, ClientID: at.ClientID, ClientSecret: at.ClientSecret,
			Grants: at.Roles, RedirectURI: settingspage.RedirectURI(g.config.Server.PublicURL),
		})
	}
	p, err := settingspage.New(settingspage.Options{
		PublicURL: g.config.Server.PublicURL, Store: g.store, Admin: g.admin, Links: g.signInLinks,
		Sessions: signin.NewSessions(o, g.config.SettingsPage.OIDC.Roles...), OpenID: g.openID, Now: g.now,
		Brand: g.config.Pages.Name,
		Curl: func(operation string) string { return api.Curl(g.config.Server.PublicURL, operation) },
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
