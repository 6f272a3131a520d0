package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/gateway"
	"frontdesk/core/tenant"
)

// deployment is a gateway's data, with tenants that are connected to the upstream.
type deployment struct {
	binary   string
	environ  []string
	provider *provider
	keys     []string // one for each tenant
}

// plan says what a deployment has.
type plan struct {
	tenants  int
	provider string // google or microsoft
	settings tenant.Settings
	environ  []string // more variables of the gateway
}

// environment returns the variables of a gateway on a data directory.
func environment(dir string, p *provider, more ...string) []string {
	return append(append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "FRONTDESK_DATA_DIR=" + dir,
		"FRONTDESK_SERVER__LISTEN=127.0.0.1:0", "FRONTDESK_SERVER__OPS_LISTEN=127.0.0.1:0",
		"FRONTDESK_SERVER__DRAIN=0s", "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=0",
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=0",
	}, p.environ()...), more...)
}

// deploy makes the tenants with their connections and keys. The gateway of this process does so, and is
// closed before another one is measured.
func deploy(ctx context.Context, binary, dir string, p *provider, what plan) (*deployment, error) {
	d := &deployment{binary: binary, provider: p, environ: environment(dir, p, what.environ...)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var tokens []string
	if err := p.ask(ctx, fmt.Sprintf("/grant?n=%d&provider=%s", what.tenants, what.provider),
		&tokens); err != nil {
		return nil, err
	}
	return d, d.manage(ctx, func(ctx context.Context, g *gateway.Gateway) error {
		for i, token := range tokens {
			name := tenantName(i)
			if _, err := g.Tenants().Create(ctx, name, what.settings); err != nil {
				return err
			}
			if _, err := g.Connections().Add(ctx, name, connection.Spec{
				Name: "calendar", Kind: adapter.KindCalendar, Provider: what.provider,
				Credentials: map[string]string{"refresh_token": token},
			}); err != nil {
				return err
			}
			key, err := newKey(ctx, g, name)
			if err != nil {
				return err
			}
			d.keys = append(d.keys, key)
		}
		return nil
	})
}

func tenantName(i int) string { return fmt.Sprintf("t%06d", i) }

func newKey(ctx context.Context, g *gateway.Gateway, tenantName string) (string, error) {
	made, err := g.Admin().CreateKey(ctx, apikey.Caller{}, admin.Write{}, admin.NewKey{Tenant: tenantName})
	return made.Record.Secret, err
}

// manage opens the gateway's data in this process.
func (d *deployment) manage(ctx context.Context, do func(context.Context, *gateway.Gateway) error) error {
	adapters := all.Adapters()
	declared, err := gateway.Providers(adapters)
	if err != nil {
		return err
	}
	cfg, err := config.Load("", d.environ, declared)
	if err != nil {
		return err
	}
	cfg.Log.Level = "error"
	g, err := gateway.Open(ctx, cfg, gateway.Options{Adapters: adapters, LogTo: os.Stderr})
	if err != nil {
		return err
	}
	defer g.Close()
	ctx = gateway.AsOperator(ctx, "bench")
	if err := g.Migrate(ctx); err != nil {
		return err
	}
	return do(ctx, g)
}

// serve starts the gateway.
func (d *deployment) serve(ctx context.Context, more ...string) (*process, error) {
	return start(ctx, "gateway", append(d.environ[:len(d.environ):len(d.environ)], more...), gatewayReady,
		d.binary, "serve")
}

// command runs a command of the gateway to its end.
func (d *deployment) command(ctx context.Context, args ...string) error {
	c := exec.CommandContext(ctx, d.binary, args...)
	var said bytes.Buffer
	c.Env, c.Stdout, c.Stderr = d.environ, io.Discard, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("frontdesk %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	return nil
}

// calls returns a target of an operation of a gateway. body returns the body of a request by its number; keys
// are used in turn.
func (d *deployment) calls(name string, g *process, path string, body func(i int64) string) target {
	return callsOf(name, g, path, d.keys, body)
}

func callsOf(name string, g *process, path string, keys []string, body func(i int64) string) target {
	address := g.at["api"]
	return target{name: name, pid: g.pid(),
		open: dial(address, http.StatusOK, func(buffer []byte, i int64) []byte {
			return post(buffer, address, path, keys[i%int64(len(keys))], body(i))
		})}
}

func always(body string) func(int64) string { return func(int64) string { return body } }

// ask makes one request and returns the body of its response, which must succeed.
func ask(ctx context.Context, g *process, path, key, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.at["api"]+path,
		strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, raw)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// reason returns the reason of a refusal (google.rpc.ErrorInfo).
func reason(body []byte) string {
	var status struct {
		Details []struct {
			Reason string `json:"reason"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &status) == nil {
		for _, d := range status.Details {
			if d.Reason != "" {
				return d.Reason
			}
		}
	}
	return "without a reason"
}

// build builds the gateway as it is released.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "frontdesk")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "nomsgpack", "-ldflags", "-s -w", "-o",
		path,
		"frontdesk/cmd/frontdesk")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, said)
	}
	return path, nil
}
