package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"frontdesk/config"
)

const (
	probeEvery  = 5 * time.Second // while writes succeed
	probeSooner = time.Second     // while they fail
)

var errDraining = errors.New("the gateway is shutting down")

// ready returns an error if the gateway is shutting down, its last probe failed, its key set opens nothing of what is
// stored or the store does not respond.
func (g *Gateway) ready(ctx context.Context) error {
	if g.draining.Load() {
		return errDraining
	}
	for _, last := range []*atomic.Pointer[error]{&g.unwritable, &g.unopenable} {
		if failed := last.Load(); failed != nil {
			return *failed
		}
	}
	return g.store.Ping(ctx)
}

// probeStore checks regularly whether the store accepts writes and the key set opens what is stored, independently of
// requests, until ctx ends.
func (g *Gateway) probeStore(ctx context.Context) {
	for {
		wait := probeEvery
		if !g.probe(ctx) {
			wait = probeSooner
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// probe writes once and looks at one row, and reports whether both succeeded.
func (g *Gateway) probe(ctx context.Context) bool {
	if !g.probed(ctx, &g.unwritable, g.store.Probe(ctx), "the store accepts no writes",
		"the store accepts writes again") {
		return false
	}
	return g.probed(ctx, &g.unopenable, g.opensRows(ctx), "the key set is not seen to open what is stored",
		"the key set opens what is stored again")
}

// probed keeps the result of a probe, logs when it changes, and reports whether it is a success.
func (g *Gateway) probed(ctx context.Context, last *atomic.Pointer[error], err error, trouble, over string) bool {
	if err == nil {
		if last.Swap(nil) != nil {
			g.log.InfoContext(ctx, over)
		}
		return true
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return false // the gateway is stopping; the store may be fine
	}
	if last.Swap(&err) == nil {
		g.log.ErrorContext(ctx, trouble+"; the gateway is not ready", "error", err)
	}
	return false
}

// opensRows returns an error if every call would be refused because the key set, as this process last could read it,
// opens nothing of what is stored: another replica has rotated it, and this one cannot follow. Calls then belong
// at the other replicas. A key set that cannot be read while its keys suffice refuses no call.
func (g *Gateway) opensRows(ctx context.Context) error {
	unread := g.vault.CatchUp()
	if err := g.checkKeys(ctx); err != nil {
		return errors.Join(err, unread)
	}
	return nil
}

// askReadyWait is longer than readiness may take to find out (core/api), and shorter than those wait who ask by
// a command.
const askReadyWait = 3 * time.Second

// AskReady returns an error if no gateway with this configuration answers on this machine that it is ready.
func AskReady(ctx context.Context, cfg config.Server) error {
	key, scheme, listen := "server.ops_listen", "http", cfg.OpsListen
	transport := &http.Transport{DisableKeepAlives: true} // and no proxy: the gateway is on this machine
	if listen == "" {
		key, listen = "server.listen", cfg.Listen
		if cfg.TLS.On() {
			scheme = "https"
			// The question is whether the gateway answers. Whether callers trust its certificate is the doctor's.
			transport.TLSClientConfig = &tls.Config{ServerName: publicHost(cfg), InsecureSkipVerify: true}
		}
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%s is no address: %w", key, err)
	}
	if port == "0" {
		return fmt.Errorf("%s names no port, so the gateway cannot be asked", key)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1" // such a listener takes both protocols, and an image may not know "localhost"
	}
	address := scheme + "://" + net.JoinHostPort(host, port) + "/readyz"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Timeout: askReadyWait, Transport: transport}).Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which is told already
		}
		return fmt.Errorf("no gateway answers at %s: %w", address, err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusServiceUnavailable:
		return fmt.Errorf("the gateway at %s is not ready: it is shutting down, its store takes no writes, or "+
			"its key set opens nothing of what is stored; its log says which", address)
	}
	return fmt.Errorf("what answers at %s, with status %d, is no gateway", address, res.StatusCode)
}

// publicHost returns the host that callers name, by which ACME chooses the certificate.
func publicHost(cfg config.Server) string {
	public, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return ""
	}
	return public.Hostname()
}
