package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
)

// The inspector of the Model Context Protocol's makers, by both versions of the protocol, finds no fault and no
// warning in the tools, and every tool can be called with it.
func TestTheInspectorFindsNothing(t *testing.T) {
	t.Parallel()
	_, c := demo(t, newDeployment(t, ""))
	inspector := startInspector(t)
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			inspect := func(args ...string) (out string) {
				t.Helper()
				return inspector(t, append([]string{
					c.base + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + c.key,
					"--protocol-era", era, "--format", "json",
				}, args...)...)
			}
			var listed struct {
				Result struct {
					Tools []struct{ Name string }
				}
				Warnings, Errors, Diagnostics []any
			}
			list := inspect("--method", "tools/list", "--strict")
			if err := json.Unmarshal([]byte(list), &listed); err != nil || len(listed.Result.Tools) < 10 ||
				len(listed.Warnings)+len(listed.Errors)+len(listed.Diagnostics) > 0 {
				t.Errorf("%v: %s", err, list)
			}
			left := map[string]bool{}
			for _, tool := range listed.Result.Tools {
				left[tool.Name] = true
			}
			call := func(name, arguments string) answer {
				t.Helper()
				delete(left, name)
				var called struct {
					Result struct {
						Content []struct{ Text string }
					}
				}
				raw := inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", arguments)
				if err := json.Unmarshal([]byte(raw), &called); err != nil || len(called.Result.Content) != 1 {
					t.Fatalf("%s: %v: %s", name, err, raw)
				}
				_, body, _ := strings.Cut(called.Result.Content[0].Text, "\n")
				return answer{body: []byte(body)}
			}
			call("get_current_time", `{}`)
			if era == "legacy" { // what a tool does does not depend on it
				return
			}
			slots := call("find_slots", `{"start": "2027-03-01", "end": "2027-03-06", "limit": 2}`)
			held := call("hold_slot", jsonOf(t, map[string]any{"slot_id": slots.text("slots", 0, "slot_id")}))
			booked := call("book_slot", jsonOf(t, map[string]any{
				"hold_id": held.text("hold_id"), "title": "Consultation", "attendee_emails": []string{"pat@example.com"},
			}))
			reference := booked.text("meeting_reference")
			found := call("find_meetings", `{"email": "pat@example.com", "start": "2027-03-01", "end": "2027-03-06"}`)
			if found.text("meetings", 0, "meeting_reference") != reference {
				t.Errorf("found %s", found.body)
			}
			call("move_meeting", jsonOf(t, map[string]any{
				"meeting_reference": reference, "slot_id": slots.text("slots", 1, "slot_id"),
			}))
			call("cancel_meeting", jsonOf(t, map[string]any{"meeting_reference": reference}))
			ticket := call("create_ticket", `{"subject": "Broken handle"}`)
			call("get_ticket", jsonOf(t, map[string]any{"ticket_number": ticket.text("ticket", "ticket_number")}))
			call("look_up_caller", `{"email": "pat@example.com"}`)
			if len(left) > 0 {
				t.Errorf("not called: %v", left)
			}
		})
	}
}

// startInspector starts the inspector's command line, and returns a function that runs it with arguments.
func startInspector(t *testing.T) (inspect func(t *testing.T, args ...string) (out string)) {
	t.Helper()
	script, err := filepath.Abs("testdata/inspect.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := browsertest.Node(t, "@modelcontextprotocol/inspector", "clients/cli/build/index.js")
	cmd.Args = slices.Insert(cmd.Args, 1, script)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	said := bufio.NewReader(out)
	return func(t *testing.T, args ...string) string {
		t.Helper()
		if _, err := io.WriteString(in, jsonOf(t, args)+"\n"); err != nil {
			t.Fatal(err)
		}
		text, err := said.ReadString(0)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		return strings.TrimSuffix(text, "\x00")
	}
}

// conformance has the scenarios of the protocol's conformance suite that need no tools made for the suite, by the
// version of the protocol.
var conformance = map[string][]string{
	"2026-07-28": {
		"tools-list", "resources-list", "prompts-list", "caching", "http-header-validation",
		"dns-rebinding-protection", "sep-2164-resource-not-found", "server-sse-multiple-streams",
		"input-required-result-validate-input", "input-required-result-unsupported-methods",
	},
	"2025-11-25": {"server-initialize", "ping", "tools-list"},
}

func TestTheConformanceSuitePasses(t *testing.T) {
	t.Parallel()
	_, c := demo(t, newDeployment(t, ""))
	gateway, err := url.Parse(c.base)
	if err != nil {
		t.Fatal(err)
	}
	// The suite cannot send a key. The proxy's connections are not among those that other tests use and close.
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(gateway)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+c.key)
	}, Transport: own})
	t.Cleanup(proxy.Close)
	for version, scenarios := range conformance {
		// All at once: to start the suite costs more than to run it. It fails, since some scenarios need such tools.
		results := t.TempDir()
		said, _ := browsertest.Node(t, "@modelcontextprotocol/conformance", "dist/index.js", "server", "--url",
			proxy.URL+"/mcp", "--suite", "all", "--spec-version", version, "--output-dir", results).CombinedOutput()
		for _, scenario := range scenarios {
			if regexp.MustCompile(`(?m) ` + scenario + `: [1-9]\d* passed, 0 failed$`).Match(said) {
				continue
			}
			checks, _ := filepath.Glob(filepath.Join(results, "*"+scenario+"*", "checks.json"))
			for i, file := range checks {
				raw, _ := os.ReadFile(file)
				checks[i] = string(raw)
			}
			t.Errorf("version %s, %s: %s\n%s", version, scenario, checks, said)
		}
	}
}
