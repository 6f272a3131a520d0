package gateway

import (
	"net/http"

	"frontdesk/core/api"
	"frontdesk/core/consent"
)

// consentPages returns the pages on which customers connect accounts, with the names that the log has for
// them. The provider's answer counts once and is no use to HEAD.
func (g *Gateway) consentPages() ([]api.Page, error) {
	p, err := consent.New(g.config.Server.PublicURL, g.links)
	if err != nil {
		return nil, err
	}
	return []api.Page{
		{Method: http.MethodGet, Path: "/connect/{token}", Operation: "connect-page", Serve: p.Ask},
		{Method: http.MethodHead, Path: "/connect/{token}", Operation: "connect-page", Serve: p.Ask},
		{Method: http.MethodPost, Path: "/connect/{token}", Operation: "connect-begin", Serve: p.Begin},
		{Method: http.MethodGet, Path: "/oauth/callback/{provider}", Operation: "connect-finish", Serve: p.Finish},
		{Method: http.MethodGet, Path: "/oauth/callback/{provider}/{own}", Operation: "connect-finish",
			Serve: p.Finish},
	}, nil
}

// ConnectURL returns the link of a token, for gateways that are reached at publicURL.
func ConnectURL(publicURL, token string) string { return consent.URL(publicURL, token) }

// RedirectURI returns what a provider's OAuth client has to be registered with.
func RedirectURI(publicURL, callback string) string { return consent.RedirectURI(publicURL, callback) }
