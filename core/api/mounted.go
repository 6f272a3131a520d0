package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
)

// Page is a page for people that another package serves. Its path and query may contain secrets, so the log
// shows the name of the operation instead.
type Page struct {
	Method    string
	Path      string // "/connect/{token}"; Serve reads the token with Request.PathValue
	Operation string // its name in the log
	// Serve responds to the request, even if it fails. Its error is logged; the caller sees the error only if
	// Serve wrote no response.
	Serve func(http.ResponseWriter, *http.Request) error
}

// mount registers a page for its method only: a page for GET does not serve HEAD.
func (a *api) mount(e *gin.Engine, p Page) {
	e.Handle(p.Method, ginPath(p.Path), func(c *gin.Context) {
		x := exchangeOf(c)
		x.operation = p.Operation
		for _, param := range c.Params {
			c.Request.SetPathValue(param.Key, param.Value)
		}
		f := fault.From(p.Serve(c.Writer, c.Request))
		switch {
		case f == nil:
		case c.Writer.Written():
			x.reason, x.err = f.Reason, f
		default:
			a.fail(c, f)
		}
	})
}

// loggedPath returns the loggable part of a path that matches no route. If the path begins like that of a
// page, the rest is left out, since it may contain a secret.
func (a *api) loggedPath(path string) string {
	for _, p := range a.pages {
		if begin, _, open := strings.Cut(p.Path, "{"); open && strings.HasPrefix(path, begin) {
			return begin + "…"
		}
	}
	return shorten(path, maxPathLogged)
}
