package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
)

// Page is a page for people that another package serves. What its path and query hold may be secret: the log
// tells the operation's name in their place.
type Page struct {
	Method    string
	Path      string // "/connect/{token}"; Serve reads the token with Request.PathValue
	Operation string // its name in the log
	// Serve answers the request, whatever becomes of it. Its error is for the log; the caller sees it only
	// where nothing was answered.
	Serve func(http.ResponseWriter, *http.Request) error
}

// mount registers a page, with its method alone: what must not happen by HEAD does not happen.
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

// loggedPath returns what the log tells of a path that leads nowhere: of one that begins as that of a page,
// no more than that, since the rest may be a secret with something attached.
func (a *api) loggedPath(path string) string {
	for _, p := range a.pages {
		if begin, _, open := strings.Cut(p.Path, "{"); open && strings.HasPrefix(path, begin) {
			return begin + "…"
		}
	}
	return shorten(path, maxPathLogged)
}
