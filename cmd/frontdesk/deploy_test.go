package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"frontdesk/config"
)

var byDigest = regexp.MustCompile(`^[a-z0-9./-]+:[0-9][a-z0-9.-]*@sha256:[0-9a-f]{64}$`)

// A tag can be moved to another image. A container without a memory limit can take its neighbours' memory.
func TestImagesAreNamedByDigestAndLimited(t *testing.T) {
	t.Parallel()
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(read(t, "../../deploy/Dockerfile"), -1)
	for _, image := range from {
		if image[1] != "scratch" && !byDigest.MatchString(image[1]) {
			t.Errorf("the Dockerfile begins from %s", image[1])
		}
	}
	if len(from) == 0 {
		t.Error("no image is found in the Dockerfile")
	}
	var compose struct {
		Services map[string]struct {
			Image string
			Build any
			Limit string `yaml:"mem_limit"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../deploy/compose.yaml")), &compose); err != nil ||
		len(compose.Services) != 2 {
		t.Fatalf("%v, %v", compose, err)
	}
	for name, service := range compose.Services {
		if service.Build == nil && !byDigest.MatchString(service.Image) {
			t.Errorf("the service %s runs %s", name, service.Image)
		}
		if service.Limit == "" {
			t.Errorf("the service %s has no limit of memory", name)
		}
	}
	unit := read(t, "../../deploy/frontdesk.service")
	if !strings.Contains(unit, "\nMemoryMax=") {
		t.Error("the unit has no limit of memory")
	}
	// The gateway lets its heap grow to nine tenths of the limit. Above MemoryHigh, the kernel stops it again and again
	// (Linux, "Control Group v2", memory.high).
	if strings.Contains(unit, "\nMemoryHigh=") {
		t.Error("the unit has a second limit, which the gateway does not keep to")
	}
}

// Every variable FRONTDESK_… that users are shown or that is set for them, in the documents, the clients and
// examples, the printed tools, the image, the compose file, the unit and the chart, can be set where a command
// runs. The chart's own configuration can be used.
func TestVariablesThatUsersAreShownCanBeSet(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`(env:)?FRONTDESK_[A-Z0-9_]+`)
	named := 0
	for _, file := range shownFiles(t) {
		for _, name := range variable.FindAllString(read(t, file), -1) {
			if strings.HasPrefix(name, "env:") || strings.HasSuffix(name, "_") { // a source of a secret; a prefix
				continue
			}
			if name == "FRONTDESK_PROVIDERS__DESK__API_URL" { // of the adapter that adapters/README.md writes
				continue
			}
			named++
			if _, err := config.Load("", []string{name + "=?"}, declared(t)); err != nil &&
				strings.Contains(err.Error(), "known") {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d variables are found", named)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "../../deploy/helm/frontdesk/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	own, err := yaml.Marshal(values["config"])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "frontdesk.yaml")
	if err := os.WriteFile(path, own, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(path, nil, declared(t)); err != nil {
		t.Error(err)
	}
}

// shownFiles returns the files that users read, run or copy from.
func shownFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{
		"*.md", ".github/*.md", "config/*", "cmd/frontdesk/*.go", "core/agenttools/*.go", "core/api/*.go",
		"core/settingspage/*.go", "adapters/*.md", "adapters/*/*/*.md", "adapters/*/*/fake/*.go",
	} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	err := filepath.WalkDir("../../deploy", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == "node_modules":
			return fs.SkipDir
		case entry.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
}

// The document that the unit names is one that the steps of an installation put in place.
func TestTheUnitNamesADocumentThatIsInstalled(t *testing.T) {
	t.Parallel()
	if !strings.Contains(read(t, "../../deploy/frontdesk.service"), "\nDocumentation=man:frontdesk(1)\n") ||
		!strings.Contains(read(t, "../../deploy/README.md"), "\ninstall -D -m 0644 frontdesk.1 /usr/local/share/man/man1/") {
		t.Error("the unit does not name the manual page, or the page is not installed")
	}
}

// A gateway does not start without its database or its key management service. One that is restarted each second is
// given up by systemd after five tries, unless the unit says otherwise (systemd.unit(5), StartLimitIntervalSec=).
// SIGHUP ends the gateway in order, since a closed terminal sends it. Whoever sends it to reload the configuration, as
// other servers do, must not be left without a gateway: systemd restarts after a clean exit only by "always"
// (systemd.service(5), table 2).
func TestTheUnitIsStartedAgainHoweverItEnds(t *testing.T) {
	t.Parallel()
	unit := read(t, "../../deploy/frontdesk.service")
	for _, line := range []string{"Restart=always", "StartLimitIntervalSec=0"} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
}

// A command in a shell has the unit's configuration, and not its variables.
func TestCommandsBesideTheUnitUseItsDirectory(t *testing.T) {
	t.Parallel()
	unit := regexp.MustCompile(`(?m)^Environment=FRONTDESK_DATA_DIR=(\S+)$`).FindStringSubmatch(
		read(t, "../../deploy/frontdesk.service"))
	if unit == nil {
		t.Fatal("the unit names no directory")
	}
	const says = "\n```yaml\ndata_dir: %s\n```\n"
	if !strings.Contains(read(t, "../../deploy/README.md"), fmt.Sprintf(says, unit[1])) {
		t.Errorf("deploy/README.md has no configuration with the directory %s", unit[1])
	}
}

// The licences are those of what is linked for any of the systems that releases are built for.
func TestReleasesAreForTheSystemsWhoseLicencesAreTold(t *testing.T) {
	t.Parallel()
	if want := "\ntargets=(" + strings.Join(targets, " ") + ")\n"; !strings.Contains(read(t, "../../deploy/release"), want) {
		t.Errorf("deploy/release lacks %s", want)
	}
}

// What the documents in a release's archives link to is in the archives.
func TestLinksInAReleaseLeadIntoIt(t *testing.T) {
	t.Parallel()
	list := exec.Command("bash", "-c", `eval "$(grep ^documents= deploy/release)"; git ls-files -- "${documents[@]}"`)
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skip("this is no checkout of the repository")
	}
	inside := map[string]bool{}
	for _, file := range strings.Fields(string(out)) {
		for ; file != "."; file = filepath.Dir(file) {
			inside[file] = true
		}
	}
	link, links := regexp.MustCompile(`\]\(([^)\s#:]+)[#)]|src="([^":]+)"`), 0
	for file := range inside {
		if filepath.Ext(file) != ".md" {
			continue
		}
		for _, l := range link.FindAllStringSubmatch(read(t, filepath.Join("../..", file)), -1) {
			links++
			if !inside[filepath.Join(filepath.Dir(file), l[1]+l[2])] {
				t.Errorf("%s links to %s, which is not in a release's archives", file, l[1]+l[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links are found", links)
	}
}

// The chart's values are described by its schema, which names every one of them.
func TestValuesOfTheChartAreDescribed(t *testing.T) {
	t.Parallel()
	const chart = "../../deploy/helm/frontdesk/"
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, chart+"values.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	schemas := jsonschema.NewCompiler()
	if err := schemas.AddResource("values.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := schemas.Compile("values.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		var values any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(document)
	}
	if err := valid(read(t, chart+"values.yaml")); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{
		"replica: 3", "replicas: 0", "store: {url: 'postgres://a'}", "image: {digest: latest}", "tls: {existingSecret: [a]}",
	} {
		if valid(wrong) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
