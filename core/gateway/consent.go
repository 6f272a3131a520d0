package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"frontdesk/config"
	"frontdesk/core/api"
	"frontdesk/core/consent"
	"frontdesk/core/page"
)

// brandOf returns whose pages customers see.
func brandOf(cfg config.Config) (page.Brand, error) {
	root := ""
	if base, err := url.Parse(cfg.Server.PublicURL); err == nil {
		root = strings.TrimRight(base.Path, "/")
	}
	b, err := page.NewBrand(cfg.Pages.Name, cfg.Pages.Support, cfg.Pages.Logo, root)
	if err != nil {
		return b, fmt.Errorf("pages.logo: %w", err)
	}
	return b, nil
}

// consentPages returns the pages on which customers connect accounts, with their operation names in the log.
// The callback does not serve HEAD, because a provider's response can be used only once.
func (g *Gateway) consentPages() ([]api.Page, error) {
	p, err := consent.New(g.config.Server.PublicURL, g.links, g.brand)
	if err != nil {
		return nil, err
	}
	return []api.Page{
		{Method: http.MethodGet, Path: page.BrandPath + "{file}", Operation: "logo", Serve: p.Logo},
		{Method: http.MethodGet, Path: "/connect/{token}", Operation: "connect-page", Serve: p.Ask},
		{Method: http.MethodHead, Path: "/connect/{token}", Operation: "connect-page", Serve: p.Ask},
		{Method: http.MethodPost, Path: "/connect/{token}", Operation: "connect-begin", Serve: p.Begin},
		{Method: http.MethodGet, Path: "/oauth/callback/{provider}", Operation: "connect-finish", Serve: p.Finish},
		{Method: http.MethodGet, Path: "/oauth/callback/{provider}/{own}", Operation: "connect-finish",
			Serve: p.Finish},
	}, nil
}

// ConnectURL returns the URL of a link from its token, for gateways that are reached at publicURL.
func ConnectURL(publicURL, token string) string { return consent.URL(publicURL, token) }

// RedirectURI returns the redirect URI to register with a provider's OAuth client.
func RedirectURI(publicURL, callback string) string { return consent.RedirectURI(publicURL, callback) }
