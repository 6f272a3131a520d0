package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"time"

	"frontdesk/config"
	"frontdesk/core/parallel"
	"frontdesk/core/telemetry"
)

// Addresses holds the URLs at which a gateway listens.
type Addresses struct {
	API string // http://host:port, or https://host:port with server.tls
	Ops string // health and metrics; "" if there is no separate listener
}

const shutdownWait = 4 * time.Second // added to the deadline of a request

// Serve handles requests until ctx ends, and then shuts down without losing an accepted request. For the time
// of server.drain, /readyz responds with 503 and other requests are still served, each with a response that
// closes its connection, so that a load balancer can send requests elsewhere. After that, idle connections
// are closed and running requests finish. Background work stops when ctx ends and finishes what it has begun.
// Serve calls listening with the addresses once nobody else can have them, and answers no request before it has
// returned without an error; listening may be nil.
func (g *Gateway) Serve(ctx context.Context, listening func(Addresses) error) error {
	if err := g.prepare(ctx); err != nil {
		return err
	}
	certificates, err := g.certificates()
	if err != nil {
		return err
	}
	public, err := listen(ctx, "server.listen", g.config.Server.Listen)
	if err != nil {
		return err
	}
	defer public.Close()
	servers := []listeningServer{{g.server(g.closing(g.handler)), public}}
	at := Addresses{API: "http://" + public.Addr().String()}
	if certificates != nil {
		servers[0].server.TLSConfig = certificates.TLSConfig()
		at.API = "https://" + public.Addr().String()
	}
	if g.config.Server.OpsListen != "" {
		ops, err := listen(ctx, "server.ops_listen", g.config.Server.OpsListen)
		if err != nil {
			return err
		}
		defer ops.Close()
		servers = append(servers, listeningServer{g.server(g.ops()), ops})
		at.Ops = "http://" + ops.Addr().String()
	}
	if listening != nil {
		if err := listening(at); err != nil {
			return err
		}
	}

	var work sync.WaitGroup
	defer work.Wait()
	background, stop := context.WithCancel(telemetry.WithTracer(ctx, g.traces.Tracer()))
	defer stop()
	for _, run := range g.backgroundWork() {
		work.Go(func() { parallel.Lasting(background, g.log, run) })
	}
	if certificates != nil {
		work.Go(func() { parallel.Lasting(background, g.log, certificates.Run) })
	}
	failed := make(chan error, len(servers))
	for _, s := range servers {
		work.Go(func() {
			if err := s.serve(); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	g.log.InfoContext(ctx, "the gateway is ready", "api", at.API, "ops", at.Ops, "version", Version())
	err = g.untilDrained(ctx, failed)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.config.Resilience.Deadline+shutdownWait)
	defer cancel()
	for _, s := range servers {
		if shut := s.server.Shutdown(end); shut != nil && err == nil {
			err = fmt.Errorf("requests were still running at shutdown: %w", shut)
		}
	}
	return err
}

// prepare brings the store up to date, and refuses to serve with what would refuse every call.
func (g *Gateway) prepare(ctx context.Context) error {
	if err := g.Migrate(ctx); err != nil {
		return err
	}
	if err := g.checkKeys(ctx); err != nil {
		return err
	}
	if err := g.audit.Ready(ctx); err != nil {
		return err
	}
	if _, err := g.store.Digest(ctx, ""); err != nil { // load the key now, so that no call waits for it
		return err
	}
	ahead, err := g.services.SyncClock(ctx)
	if err == nil && ahead.Abs() > mostSkew {
		g.log.WarnContext(ctx, "the clock of this machine differs from the database's; run a time service on both",
			"ahead", ahead.Round(time.Millisecond).String())
	}
	return err
}

// backgroundWork returns what runs beside requests, each until its context ends.
func (g *Gateway) backgroundWork() []func(context.Context) {
	return []func(context.Context){
		g.services.Run, g.tokens.Run, g.audit.Run, g.archiveAudit, g.requests.Run, g.sender.Run, g.health.Run,
		g.forget, g.showBreakers, g.probeStore, g.takeCensus, g.tellOfRows, g.pool.KeepWarm,
		func(ctx context.Context) { g.vault.Follow(ctx, g.log) },
	}
}

// untilDrained waits until a server has failed, and returns its error, or until ctx and then the time of server.drain
// have passed.
func (g *Gateway) untilDrained(ctx context.Context, failed <-chan error) error {
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	g.draining.Store(true)
	g.log.Info("the gateway is shutting down", "drain", g.config.Server.Drain.String())
	select {
	case err := <-failed:
		return err
	case <-time.After(g.config.Server.Drain):
		return nil
	}
}

// listeningServer is a server with its listener.
type listeningServer struct {
	server   *http.Server
	listener net.Listener
}

// serve accepts connections until the server is shut down.
func (s listeningServer) serve() error {
	if s.server.TLSConfig != nil {
		return s.server.ServeTLS(s.listener, "", "")
	}
	return s.server.Serve(s.listener)
}

// closing makes responses tell callers not to reuse the connection while the gateway is shutting down (RFC
// 9112 section 9.6; on HTTP/2, net/http sends GOAWAY). If the gateway only closed an idle connection, a
// request could be on its way, and the caller would not know whether it was accepted.
func (g *Gateway) closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

func listen(ctx context.Context, key, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", key, address, err)
	}
	return l, nil
}

// server returns a server that limits what a slow or hostile client can hold: headers must arrive within 5 s,
// a whole request within 15 s. The API sets shorter limits for the bodies of its operations. A connection without a
// request stays longer than any balancer keeps it, as "you must configure your backend software so that its HTTP
// keepalive (TCP idle) timeout value is greater than 600 seconds" (Google Cloud, Application Load Balancers, "Timeouts
// and retries"; Oracle's keep one for 300, "Connection Timeout Settings").
func (g *Gateway) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      g.config.Resilience.Deadline + 10*time.Second,
		IdleTimeout:       11 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          log.New(serverLog{g.log}, "", 0),
	}
}

// serverLog logs what an http.Server reports. Strangers who connect and begin no TLS are common in the Internet,
// and net/http has no other way to tell them apart from what the operator has to know.
type serverLog struct{ to *slog.Logger }

func (l serverLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, "the HTTP server reports", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}

// LogQueue returns a queue of the log's lines to w, for the process that serves.
func LogQueue(w io.Writer, cfg config.Config) (*telemetry.Queue, error) {
	return telemetry.NewQueue(w, logOptions(cfg))
}

func logOptions(cfg config.Config) telemetry.LogOptions {
	return telemetry.LogOptions{Format: cfg.Log.Format, Level: cfg.Log.Level}
}

// TakeStandardLog sends what libraries write to Go's standard logger to the gateway's log, redacted and at debug level:
// net/http quotes there what a provider's server sends unasked. It is for the process that serves.
func (g *Gateway) TakeStandardLog() {
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(g.log)
}

// ops returns the handler of metrics, health and profiles, for an address that is not for callers. The command
// line of the process, which pprof can serve as well, is left out.
func (g *Gateway) ops() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.metrics.Handler())
	mux.Handle("GET /healthz", g.handler)
	mux.Handle("GET /readyz", g.handler)
	if g.config.Server.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}
