package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// printed runs a command in this process and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	w := system(nil)
	w.out, w.err, w.environ = &out, &said, nil
	if code := run(args, w); code != exitOK {
		t.Fatalf("%q: exit %d, %s", args, code, said.String())
	}
	return out.String()
}

func TestWordsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, want string }{
		{"ten", "tenant"},
		{"tenant ", "create list change export delete"},
		{"agent", "agent agent-tools"},
		{"key create --te", "--tenant --test"},
		{"key create --tenant acme --te", "--tenant --test"},
		{"key create --tenant ", ""}, // any value
		{"openapi --format ", "yaml json"},
		{"openapi --format j", "json"},
		{"completion ", "bash zsh fish"},
		{"compl", "completion"}, // not the hidden command
		{"nothing", ""},
	} {
		words := strings.Split(c.typed, " ")
		got := strings.Fields(printed(t, append([]string{"complete", "--"}, words...)...))
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%q is completed by %q, want %q", c.typed, got, c.want)
		}
	}
	if all := strings.Fields(printed(t, "complete", "--", "")); !slices.Contains(all, "serve") ||
		slices.Contains(all, "complete") {
		t.Errorf("nothing typed is completed by %q", all)
	}
}

// The shells can read their scripts, and bash completes with its own. The others may not be installed.
func TestShellsReadTheirCompletion(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(dir, "frontdesk")); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		path := filepath.Join(dir, shell)
		if err := os.WriteFile(path, []byte(printed(t, "completion", shell)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		if out, err := exec.Command(shell, "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	bash := exec.Command("bash", "-c", `source "$0"
		COMP_WORDS=(frontdesk tenant cr) COMP_CWORD=2; _frontdesk; echo "${COMPREPLY[@]}"
		COMP_WORDS=(frontdesk key "") COMP_CWORD=2; _frontdesk; echo "${COMPREPLY[@]}"`, filepath.Join(dir, "bash"))
	bash.Env = []string{asCommand + "=1", "PATH=" + dir + ":" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	out, err := bash.CombinedOutput()
	if want := "create\ncreate list roll revoke\n"; err != nil || string(out) != want {
		t.Errorf("bash completes %q (%v), want %q", out, err, want)
	}
}

// The manual page names every command and flag, and roff finds nothing to complain about.
func TestTheManualPageIsWhole(t *testing.T) {
	t.Parallel()
	page := printed(t, "man")
	for _, want := range []string{
		`.TH "FRONTDESK" "1"`, `.SS "tenant create <name> [flags]"`, `.SS "serve [flags]"`,
		`\fB\-\-tenant=NAME\fR`, `.SH "EXIT STATUS"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, `.SS "complete `) {
		t.Error("the page has the hidden command")
	}
	for line := range strings.Lines(page) {
		if known := regexp.MustCompile(`^(\.(TH|SH|SS|TP|PP)\b|[^.'])`); !known.MatchString(line) {
			t.Errorf("roff takes this for a request: %s", line)
		}
	}
	for _, check := range [][]string{{"groff", "-ww", "-man", "-Tascii", "-z"}, {"mandoc", "-Tlint", "-Werror"}} {
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not installed", check[0])
			continue
		}
		command := exec.Command(check[0], check[1:]...)
		command.Stdin = strings.NewReader(page)
		if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", check[0], err, out)
		}
	}
}

// The bill of materials is valid CycloneDX 1.6, names all that is linked, and knows every licence.
func TestTheBillOfMaterialsIsWhole(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.8"}
	for _, m := range regexp.MustCompile(`(?m)^(\S+) (v\S+) \(`).FindAllStringSubmatch(licenses, -1) {
		module := &debug.Module{Path: m[1], Version: m[2]}
		if !slices.ContainsFunc(info.Deps, func(other *debug.Module) bool { return *other == *module }) {
			info.Deps = append(info.Deps, module)
		}
	}
	if len(info.Deps) < 30 {
		t.Fatalf("licenses.txt has %d modules", len(info.Deps))
	}
	bom := sbom(info)
	if got := len(*bom.Components); got != len(info.Deps)+1 {
		t.Errorf("%d components for %d modules and Go", got, len(info.Deps))
	}
	for _, c := range *bom.Components {
		if c.Licenses == nil {
			t.Errorf("%s has no licence", c.Name)
		}
	}
	for module, want := range map[string]string{
		"Go": "BSD-3-Clause", "github.com/gin-gonic/gin": "MIT", "github.com/prometheus/client_golang": "Apache-2.0",
	} {
		if name := regexp.MustCompile(`(?m)^` + module + `( v\S+)? \(`).FindString(licenses); licenseOf(
			strings.TrimSuffix(name, " (")) != want {
			t.Errorf("%s is not under %s", module, want)
		}
	}
	var text bytes.Buffer
	if err := writeSBOM(&text, bom); err != nil {
		t.Fatal(err)
	}
	wantCycloneDX(t, text.Bytes())
	wantCycloneDX(t, []byte(printed(t, "version", "--sbom")))
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if own, of := printed(t, "version", "--sbom"), printed(t, "version", "--sbom", "--of", binary); own != of {
		t.Error("a binary says of itself something else than its file says")
	}
}

// wantCycloneDX checks a document against the schema that comes with the library.
func wantCycloneDX(t *testing.T, document []byte) {
	t.Helper()
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	schemas, base := jsonschema.NewCompiler(), "http://cyclonedx.org/schema/"
	for file, name := range map[string]string{
		"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json",
		"jsf-0.82.schemax.json": "jsf-0.82.schema.json",
	} {
		raw, err := os.Open(filepath.Join(strings.TrimSpace(string(found)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := jsonschema.UnmarshalJSON(raw)
		_ = raw.Close()
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas.AddResource(base+name, parsed); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := schemas.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(parsed); err != nil {
		t.Error(err)
	}
	var says struct{ SpecVersion string }
	if err := json.Unmarshal(document, &says); err != nil || says.SpecVersion != "1.6" {
		t.Errorf("version %q, %v", says.SpecVersion, err)
	}
}
