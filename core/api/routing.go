package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"frontdesk/core/fault"
)

// maxMethodEchoed keeps an invented method from filling the answer.
const maxMethodEchoed = 16

// refuseEncodedSlash keeps %2F from acting as a separator. Gin routes by the decoded path; an encoded slash
// is data (RFC 3986 section 2.2), no parameter of the interface can hold one, and a proxy in front would have
// read the path differently.
func (a *api) refuseEncodedSlash(c *gin.Context) {
	if strings.Contains(strings.ToLower(c.Request.URL.EscapedPath()), "%2f") {
		a.noSuchPath(c)
		return
	}
	c.Next()
}

// endAfterChunks closes the connection of a request that came in chunks once it is answered. One that names a
// length beside them may be another request to a proxy in front, and its rest a second one to us: the
// connection of such a request must be closed (RFC 9112 section 6.1), and net/http, which takes the length
// away, does not tell which they were. Usual callers send lengths.
func endAfterChunks(c *gin.Context) {
	if len(c.Request.TransferEncoding) > 0 {
		c.Header("Connection", "close")
	}
	c.Next()
}

func (a *api) noSuchPath(c *gin.Context) {
	a.fail(c, fault.New(fault.NotFound, reasonPathNotFound, "There is no operation at this path."))
}

// wrongMethod responds with the methods there are; Gin has set Allow. OPTIONS asks for just that. There is no
// CORS: a browser has no business with an API key.
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
