package main

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
)

// nodeBaseline is Google's own library for Node.js behind Express: how such a gateway is mostly written.
const nodeBaseline = "node"

//go:embed node.cjs
var nodeScript []byte

// hasNode reports whether Node.js and the two packages are there. They are not installed for a benchmark.
func (b *bench) hasNode() bool {
	if _, err := exec.LookPath("node"); err != nil {
		b.say("Node.js is not on the PATH: its baseline is left out")
		return false
	}
	for _, name := range []string{"@googleapis/calendar", "express"} {
		if _, err := os.Stat(filepath.Join(b.modules, name)); b.modules == "" || err != nil {
			b.say("-node-modules names no folder with @googleapis/calendar and express: " +
				"the baseline in Node.js is left out")
			return false
		}
	}
	return true
}

func startNode(ctx context.Context, dir, modules, base, request, token string) (*process, error) {
	script := filepath.Join(dir, "node.cjs")
	if err := os.WriteFile(script, nodeScript, 0o600); err != nil {
		return nil, err
	}
	modules, err := filepath.Abs(modules)
	if err != nil {
		return nil, err
	}
	environ := append(os.Environ(), "NODE_EXTRA_CA_CERTS="+filepath.Join(dir, authorityFile),
		"NODE_ENV=production",
		"BENCH_MODULES="+modules, "BENCH_PROVIDER="+base, "BENCH_REQUEST="+request, "BENCH_TOKEN="+token)
	return start(ctx, nodeBaseline, environ, partReady, "node", script)
}
