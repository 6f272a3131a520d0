package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"frontdesk/core/apikey"
)

// Extend has a server offer more, as fixtures for tests.
func (o *Options) Extend(by func(*mcp.ServerOptions) func(*mcp.Server)) { o.extend = by }

// ServeByLibrary answers a request without the fast path.
func (s *Server) ServeByLibrary(w http.ResponseWriter, r *http.Request, caller apikey.Caller) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx := context.WithValue(r.Context(), callerKey{}, caller)
	serveByLibrary(s.json, &refusals{ResponseWriter: w, body: body}, r.WithContext(ctx))
}
