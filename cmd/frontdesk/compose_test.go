package main

import (
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"frontdesk/config"
)

// composed is what the compose file says of a service.
type composed struct {
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Entrypoint  any
	Command     any
	StopGrace   string               `yaml:"stop_grace_period"`
	DependsOn   map[string]condition `yaml:"depends_on"`
	HealthCheck struct{ Test []string }
}

type condition struct{ Condition string }

// composeFile returns deploy/compose.yaml as compose reads it with these variables, and what its variables need.
func composeFile(t *testing.T, given map[string]string) (services map[string]composed, volumes, missing []string) {
	t.Helper()
	// Docker, "Interpolation": ${NAME:-default} and ${NAME:?message} are all that the file uses.
	variable := regexp.MustCompile(`\$\{([A-Z_]+):([-?])([^}]*)\}`)
	text := variable.ReplaceAllStringFunc(read(t, "../../deploy/compose.yaml"), func(found string) string {
		parts := variable.FindStringSubmatch(found)
		switch value := given[parts[1]]; {
		case value != "":
			return value
		case parts[2] == "-":
			return parts[3]
		}
		missing = append(missing, parts[1])
		return ""
	})
	var file struct {
		Services map[string]composed
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	slices.Sort(missing)
	return file.Services, slices.Sorted(maps.Keys(file.Volumes)), slices.Compact(missing)
}

// imageEnvironment returns the variables that the image sets.
func imageEnvironment(t *testing.T) map[string]string {
	t.Helper()
	block := regexp.MustCompile(`(?m)^ENV ((?:.*\\\n)*.*)$`).FindStringSubmatch(read(t, "../../deploy/Dockerfile"))
	if block == nil {
		t.Fatal("the image sets no variables")
	}
	set := map[string]string{}
	for _, pair := range strings.Fields(strings.ReplaceAll(block[1], "\\\n", " ")) {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	return set
}

// The gateway in the compose file starts with the variables that it and the image set: each is a key, the database is
// the one beside it, what is published is what it listens at, and all that it writes is in a volume.
func TestTheComposeFileIsThatOfAGateway(t *testing.T) {
	t.Parallel()
	_, _, missing := composeFile(t, nil)
	if !slices.Equal(missing, []string{"POSTGRES_PASSWORD"}) {
		t.Errorf("without variables, compose asks for %q", missing)
	}
	// One that is given to a single command is missing in the next.
	for _, name := range missing {
		if !strings.Contains(read(t, "../../deploy/compose.yaml"), "\n#   export "+name+"=") {
			t.Errorf("the commands in the compose file do not export %s", name)
		}
	}
	const secret = "hunter2/+@?:%" // as a generator makes it: much of this would end the password in an address
	services, volumes, _ := composeFile(t, map[string]string{"POSTGRES_PASSWORD": secret})
	gateway, database := services["frontdesk"], services["postgres"]

	set := imageEnvironment(t)
	maps.Copy(set, gateway.Environment)
	var environ []string
	for name, value := range set {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load("", environ, declared(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load("", append(environ, "FRONTDESK_STORE__URI=sqlite:"), declared(t)); err == nil {
		t.Error("a variable that is no key is taken")
	}

	at, err := url.Parse(cfg.Store.URL)
	if err != nil {
		t.Fatal(err)
	}
	password := gateway.Environment["PGPASSWORD"] // PostgreSQL's manual, "Environment Variables"
	is := map[string]string{
		"POSTGRES_USER": at.User.Username(), "POSTGRES_PASSWORD": password, "POSTGRES_DB": strings.Trim(at.Path, "/"),
	}
	if at.Scheme != "postgres" || at.Hostname() != "postgres" || !maps.Equal(is, database.Environment) {
		t.Errorf("the store is %s, and the database has %q", at.Redacted(), database.Environment)
	}
	if !maps.Equal(gateway.DependsOn, map[string]condition{"postgres": {"service_healthy"}}) {
		t.Errorf("the gateway begins after %v", gateway.DependsOn)
	}
	if test := database.HealthCheck.Test; len(test) != 2 || test[1] != "pg_isready -U "+is["POSTGRES_USER"] {
		t.Errorf("the database is asked by %q", test)
	}

	var published []string
	for _, listen := range []string{cfg.Server.Listen, cfg.Server.OpsListen} {
		host, port, err := net.SplitHostPort(listen)
		if err != nil || host != "0.0.0.0" {
			t.Errorf("in its container, the gateway listens at %s", listen)
		}
		published = append(published, "127.0.0.1:"+port+":"+port)
	}
	if !slices.Equal(gateway.Ports, published) {
		t.Errorf("the ports %q are published, want %q", gateway.Ports, published)
	}
	if want := "http://" + strings.TrimSuffix(published[0], ":8080"); cfg.Server.PublicURL != want {
		t.Errorf("by default, the public address is %s, want %s", cfg.Server.PublicURL, want)
	}

	var mounted []string
	for _, s := range []composed{gateway, database} {
		for _, mount := range s.Volumes {
			name, _, _ := strings.Cut(mount, ":")
			mounted = append(mounted, name)
		}
	}
	if !slices.Equal(gateway.Volumes, []string{"frontdesk-data:" + cfg.DataDir}) || !slices.Equal(mounted, volumes) {
		t.Errorf("the gateway has %q for %s; %q are mounted, and %q declared",
			gateway.Volumes, cfg.DataDir, mounted, volumes)
	}
	if file := read(t, "../../deploy/Dockerfile"); !strings.Contains(file, "\nVOLUME "+cfg.DataDir+"\n") {
		t.Errorf("the image has no volume at %s", cfg.DataDir)
	}
}

// Whoever stops the gateway waits until it has ended by itself, with a drain that suits slower load balancers as well,
// and each file says up to which one. In Kubernetes the operator says for how long.
func TestTheGatewayIsGivenTheTimeToStop(t *testing.T) {
	t.Parallel()
	const drain = 18 * time.Second
	cfg := config.Default(declared(t))
	longest := drain + cfg.Resilience.Deadline + 4*time.Second // as server.drain says
	services, _, _ := composeFile(t, nil)
	said := func(file, line string) string {
		found := regexp.MustCompile(line).FindStringSubmatch(read(t, "../../deploy/"+file))
		if found == nil {
			t.Fatalf("%s has no line %s", file, line)
		}
		return found[1]
	}
	const values = "helm/frontdesk/values.yaml"
	for file, text := range map[string]string{
		"compose.yaml":      services["frontdesk"].StopGrace,
		"frontdesk.service": said("frontdesk.service", `(?m)^TimeoutStopSec=(.*)$`),
		values:              said(values, `(?m)^terminationGracePeriodSeconds: (.*)$`) + "s",
	} {
		if grace, err := time.ParseDuration(text); err != nil || grace < longest {
			t.Errorf("%s gives the gateway %q to stop in, and it needs %s (%v)", file, text, longest, err)
		}
		if up := said(file, `server\.drain is above(?:\n#)? (\d+) seconds`); up+"s" != drain.String() {
			t.Errorf("%s is said to do up to a drain of %s seconds", file, up)
		}
	}
	const value = "{{ .Values.terminationGracePeriodSeconds }}"
	if got := said("helm/frontdesk/templates/deployment.yaml", `terminationGracePeriodSeconds: (.*)`); got != value {
		t.Errorf("the chart gives the gateway %q to stop in, whatever server.drain is", got)
	}
}

// The gateway answers nothing before its tables are up to date, which may take it five minutes (core/store, Migrate).
// An upgrade that is killed before would begin that step anew, for ever.
func TestTheGatewayIsGivenTheTimeToStart(t *testing.T) {
	t.Parallel()
	const longest = 5*time.Minute + 10*time.Second
	for file, waits := range map[string]string{
		"Dockerfile": `--start-period=(\d+)s`,
		"helm/frontdesk/templates/deployment.yaml": `startupProbe:\n.*\n +periodSeconds: 1\n +failureThreshold: (\d+)`,
	} {
		found := regexp.MustCompile(waits).FindStringSubmatch(read(t, "../../deploy/"+file))
		if found == nil {
			t.Fatalf("%s has no %s", file, waits)
		}
		given, err := time.ParseDuration(found[1] + "s")
		if err != nil || given < longest {
			t.Errorf("%s gives the gateway %s to start in, and it may need %s (%v)", file, given, longest, err)
		}
	}
}

// What the image runs, and what the compose file says to run in it, are commands.
func TestCommandsOfTheImageAreThere(t *testing.T) {
	t.Parallel()
	file := read(t, "../../deploy/Dockerfile")
	begins := regexp.MustCompile(`(?m)^CMD \["(.*)"\]$`).FindStringSubmatch(file)
	if begins == nil || !strings.Contains(file, "\nENTRYPOINT [\"/frontdesk\"]\n") {
		t.Fatal("the image does not begin with a command of frontdesk")
	}
	asked := regexp.MustCompile(`(?m)^HEALTHCHECK .*CMD \["/frontdesk", "(.*)"\]$`).FindStringSubmatch(file)
	if asked == nil {
		t.Fatal("the image does not say how it is asked whether it is healthy")
	}
	run := regexp.MustCompile(`(?m)^# .* run --rm frontdesk (.*)$`)
	all := [][]string{strings.Split(begins[1], `", "`), strings.Split(asked[1], `", "`)}
	for _, found := range run.FindAllStringSubmatch(read(t, "../../deploy/compose.yaml"), -1) {
		all = append(all, strings.Fields(found[1]))
	}
	services, _, _ := composeFile(t, nil)
	if s := services["frontdesk"]; s.Command != nil || s.Entrypoint != nil || s.HealthCheck.Test != nil {
		t.Error("the gateway's service has a command of its own, which is to be tried here")
	}
	if len(all) != 3 {
		t.Errorf("the commands are %q", all)
	}
	for _, words := range all {
		if _, err := parserOf(t).Parse(words); err != nil {
			t.Errorf("frontdesk %s: %v", strings.Join(words, " "), err)
		}
	}
}
