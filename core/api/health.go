package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// readyLimit is how long a readiness check may take; probes give up sooner or later themselves.
const readyLimit = 2 * time.Second

// healthz says that the process answers. Nothing else decides over it: restarting a gateway does not mend its
// store.
func (a *api) healthz(c *gin.Context) {
	c.Data(http.StatusOK, "application/json", []byte(`{"status":"ok"}`))
}

// readyz says whether requests should come here.
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
