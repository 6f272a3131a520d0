package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An adapter outside this repository is a folder and a line: its binary is this folder with another list. Its
// OAuth client and its addresses come from the configuration, as for the adapters here.
func TestAnAdapterOutsideTheRepositoryIsConfigured(t *testing.T) {
	t.Parallel()
	binary := buildOutside(t)
	calls := make(chan string, 8)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			calls <- "token for " + r.PostFormValue("client_id") + " " + r.PostFormValue("client_secret")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"access_token": "of-desk", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		calls <- r.URL.Path + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Desk-Addresses")
		io.WriteString(w, `{"email": "pat@desk.example"}`)
	}))
	defer provider.Close()

	file := filepath.Join(t.TempDir(), "frontdesk.yaml")
	write(t, file, fmt.Sprintf("providers: {desk: {client_id: the-client, token_url: %s/token, realm: ''}}",
		provider.URL))
	d := newDeployment(t, "", "FRONTDESK_PROVIDERS__DESK__API_URL="+provider.URL+"/api/",
		"FRONTDESK_PROVIDERS__DESK__CLIENT_SECRET=env:DESK_SECRET", "DESK_SECRET=the-secret")
	serveOutput := func(wantCode int, variable string, args ...string) string {
		t.Helper()
		c := exec.Command(binary, append([]string{"--config", file}, args...)...)
		c.Env = slices.Concat(d.environ, []string{variable})
		out, err := c.CombinedOutput()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != wantCode {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}

	serveOutput(exitOK, "", "tenant", "create", "acme")
	serveOutput(exitOK, "", "connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "desk")
	verified := serveOutput(exitOK, "", "connection", "verify", "--tenant", "acme", "desk")
	if !strings.Contains(verified, "ok pat@desk.example") {
		t.Errorf("verify tells %s", verified)
	}
	for _, want := range []string{
		"token for the-client the-secret",
		fmt.Sprintf("/api/me Bearer of-desk map[api_url:%[1]s/api/ realm: token_url:%[1]s/token]",
			provider.URL),
	} {
		if got := <-calls; got != want {
			t.Errorf("the provider was asked %s, want %s", got, want)
		}
	}

	for variable, want := range map[string]string{
		"FRONTDESK_PROVIDERS__DESK__TOKEN_ULR=x": "FRONTDESK_PROVIDERS__DESK__TOKEN_ULR is not a known " +
			"key; did you mean FRONTDESK_PROVIDERS__DESK__TOKEN_URL?",
		"FRONTDESK_PROVIDERS__DESK__API_URL=desk": "providers.desk.api_url " +
			"(FRONTDESK_PROVIDERS__DESK__API_URL) must be an http or https",
	} {
		if got := serveOutput(exitFailed, variable, "openapi"); !strings.Contains(got, want) {
			t.Errorf("%s is answered with %s", variable, got)
		}
	}
	shown := serveOutput(exitOK, "", "example")
	if !strings.Contains(shown, deskExample) || !strings.Contains(shown, "\n  google:\n") {
		t.Errorf("the example is\n%s", shown)
	}

	// The gateway without that adapter knows none of its keys.
	write(t, file, "providers: {desk: {client_id: x}}")
	_, errs, code := d.do("", "--config", file, "openapi")
	if code != exitFailed || !strings.Contains(errs, "\n  providers.desk is not a known key.") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

const deskExample = `
  # Desk Calendar. The OAuth client is an app of Desk.
  desk:
    # Id of the app.
    client_id: ""
    # Secret of the app; env:VAR or file:PATH reads it from there.
    client_secret: ""
    # Endpoint that issues tokens.
    token_url: "https://desk.example/token"
    # Root of the API.
    api_url: "https://api.desk.example/"
    # Whose accounts.
    realm: "https://desk.example/all"
`

// buildOutside builds a module of this folder and testdata/outside, which needs this module. Its other
// dependencies are in the module cache, since this module needs them too.
func buildOutside(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/outside")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "completion"), os.DirFS("completion")); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(sources, "licenses.txt", "../../go.sum") {
		if name != "main.go" && !strings.HasSuffix(name, "_test.go") {
			write(t, filepath.Join(dir, filepath.Base(name)), read(t, name))
		}
	}
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	needs := strings.TrimPrefix(read(t, "../../go.mod"), "module frontdesk\n")
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module outside.example/gateway\n\n"+
		"require frontdesk v0.0.0\n\nreplace frontdesk => %q\n%s", top, needs))
	// Nothing is fetched, so that it is built as a release is: of what that leaves out, the modules may not be there.
	build := exec.Command("go", "build", "-tags", "nomsgpack", "-mod=mod", "-o", "gateway", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "gateway")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
