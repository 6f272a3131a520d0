package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// readyLimit is the time limit of a readiness check; probes have their own.
const readyLimit = 2 * time.Second

// healthz responds with 200 as long as the process runs. It checks nothing else: restarting a gateway does
// not repair its store.
func (a *api) healthz(c *gin.Context) {
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`))
}

// readyz reports whether the process is ready for requests.
func (a *api) readyz(c *gin.Context) {
	if a.ready == nil {
		a.healthz(c)
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyLimit)
	defer cancel()
	if err := a.ready(ctx); err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "the gateway is not ready", slog.Any("error", err))
		c.Data(http.StatusServiceUnavailable, "application/json", []byte(`{"status":"unavailable"}`))
		return
	}
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`))
}
