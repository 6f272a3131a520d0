package gateway

import (
	"net/http"

	"frontdesk/core/api"
	"frontdesk/core/consent"
)

// consentPages returns the pages on which customers connect accounts, with their operation names in the log.
// The callback does not serve HEAD, because a provider's response can be used only once.
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

// ConnectURL returns the URL of a link from its token, for gateways that are reached at publicURL.
func ConnectURL(publicURL, token string) string { return consent.URL(publicURL, token) }

// RedirectURI returns the redirect URI to register with a provider's OAuth client.
func RedirectURI(publicURL, callback string) string { return consent.RedirectURI(publicURL, callback) }
