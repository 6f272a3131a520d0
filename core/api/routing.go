package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
)

// maxMethodEchoed bounds how much of an invented method is repeated in the error.
const maxMethodEchoed = 16

// refuseNoName refuses paths with a part that no parameter of the interface can be. It keeps %2F from acting as a
// separator: Gin routes by the decoded path; an encoded slash is data (RFC 3986 section 2.2), and a proxy in front
// would have read the path differently. And nothing is looked up by bytes that are no text: see [isText].
func (a *api) refuseNoName(c *gin.Context) {
	u := c.Request.URL
	if strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") || !isText(u.Path) {
		a.noSuchPath(c)
		return
	}
	c.Next()
}

// endAfterChunks closes the connection after the response to a chunked request. A chunked request that also
// has a Content-Length may be parsed differently by a proxy in front, with its rest as a second request. Its
// connection must be closed (RFC 9112 section 6.1), but net/http removes the length, so such requests cannot
// be told apart. Usual callers send lengths.
func endAfterChunks(c *gin.Context) {
	if len(c.Request.TransferEncoding) > 0 {
		c.Header("Connection", "close")
	}
	c.Next()
}

func (a *api) noSuchPath(c *gin.Context) {
	a.fail(c, fault.New(fault.NotFound, reasonPathNotFound, "There is no operation at this path."))
}

// wrongMethod responds with the allowed methods: to OPTIONS with 204, to other methods with an error. Gin has
// set Allow. There is no CORS support, since browsers should not hold API keys.
func (a *api) wrongMethod(c *gin.Context) {
	allowed := c.Writer.Header().Get("Allow")
	if c.Request.Method == http.MethodOptions {
		c.Header("Allow", allowed+", "+http.MethodOptions)
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return
	}
	a.fail(c, &fault.Error{
		Code: fault.Unsupported, Reason: reasonWrongMethod,
		Detail: fmt.Sprintf("This path takes %s, not %s.", allowed,
			shorten(c.Request.Method, maxMethodEchoed)),
	})
}

// home leads a person's browser to the settings page. Programs get what they get at any path without an
// operation.
func (a *api) home(c *gin.Context) {
	if !strings.Contains(c.GetHeader("Accept"), "text/html") {
		a.noSuchPath(c)
		return
	}
	exchangeOf(c).operation = "home"
	c.Header("Vary", "Accept")
	c.Header("Location", a.settingsPath)
	c.Status(http.StatusSeeOther)
	c.Writer.WriteHeaderNow()
}
