package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const observe = "../../deploy/observe/"

// ofPrometheus are metrics of client_golang and of Prometheus that the dashboard and the alerts use.
var ofPrometheus = []string{"go_goroutines", "process_cpu_seconds_total", "process_open_fds",
	"process_resident_memory_bytes"}

// knownMetrics returns the gateway's metrics with their labels.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	line := regexp.MustCompile(`(?m)^(frontdesk_\w+) (\w+) \{([^}]*)\}`)
	for _, m := range line.FindAllStringSubmatch(read(t, "../../core/metrics/testdata/metrics.golden"), -1) {
		labels := append(strings.Split(m[3], ","), "instance")
		known[m[1]] = labels
		if m[2] == "histogram" {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				known[m[1]+part] = append(labels, "le")
			}
		}
	}
	if len(known) < 30 {
		t.Fatalf("only %d metrics are known", len(known))
	}
	return known
}

var (
	metricName   = regexp.MustCompile(`\b(?:frontdesk|go|process)_[a-z_]+`)
	selectors    = regexp.MustCompile(`\b((?:frontdesk|go|process)_[a-z_]+)\{([^}]*)\}`)
	labelOfMatch = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping     = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// checkQuery returns what is wrong with the names in a query.
func checkQuery(query string, known map[string][]string) (wrong []string) {
	var used []string
	for _, name := range metricName.FindAllString(query, -1) {
		if _, has := known[name]; !has && !slices.Contains(ofPrometheus, name) {
			wrong = append(wrong, name+" is no metric")
		}
		used = append(used, known[name]...)
	}
	for _, m := range selectors.FindAllStringSubmatch(query, -1) {
		for _, label := range labelOfMatch.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(append(known[m[1]], "instance"), label[1]) {
				wrong = append(wrong, m[1]+" has no label "+label[1])
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		for _, label := range strings.Split(m[1], ",") {
			if !slices.Contains(used, strings.TrimSpace(label)) {
				wrong = append(wrong, "no metric of it has the label "+label)
			}
		}
	}
	return wrong
}

func TestCheckQueryFindsWrongNames(t *testing.T) {
	t.Parallel()
	known := knownMetrics(t)
	for query, want := range map[string]string{
		`sum by (reason) (rate(frontdesk_requests_total{status="5xx"}[5m]))`: "",
		`frontdesk_request_total`:                           "frontdesk_request_total is no metric",
		`frontdesk_requests_total{provider=~"x"}`:           "frontdesk_requests_total has no label provider",
		`sum by (tenant) (frontdesk_requests_total)`:        "no metric of it has the label tenant",
		`sum by (le) (frontdesk_requests_total)`:            "no metric of it has the label le",
		`frontdesk_request_duration_seconds_bucket{le="1"}`: "",
	} {
		if got := strings.Join(checkQuery(query, known), "; "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

type dashboardPanel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ Expr string }
}

// Each query of the dashboard is about metrics and labels that exist, and each metric is shown.
func TestTheDashboardShowsTheMetrics(t *testing.T) {
	t.Parallel()
	var dashboard struct {
		SchemaVersion int
		UID           string
		Panels        []dashboardPanel
		Templating    struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, observe+"dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	if dashboard.SchemaVersion < 39 || dashboard.UID == "" {
		t.Errorf("schema %d, uid %q", dashboard.SchemaVersion, dashboard.UID)
	}
	known, ids, shown := knownMetrics(t), map[int]bool{}, ""
	var queries []string
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d (%s) has another's id, no title or no place", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %s has no query", p.Title)
		}
		for _, q := range p.Targets {
			for _, wrong := range checkQuery(q.Expr, known) {
				t.Errorf("panel %s: %s in %s", p.Title, wrong, q.Expr)
			}
			shown += q.Expr + "\n"
			queries = append(queries, q.Expr)
		}
	}
	for name := range known {
		histogram, _ := strings.CutSuffix(name, "_bucket")
		if _, part := known[histogram+"_bucket"]; part && name != histogram+"_bucket" ||
			strings.HasSuffix(name, "_seconds_sum") || strings.HasSuffix(name, "_seconds_count") {
			continue // by its buckets
		}
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(shown) {
			t.Errorf("no panel shows %s", name)
		}
	}
	promtool(t, "check", "rules", rulesOf(t, queries))
}

// rulesOf returns a file of rules with queries, in which promtool finds faults of syntax.
func rulesOf(t *testing.T, queries []string) (path string) {
	t.Helper()
	type rule struct {
		Record string            `json:"record"`
		Expr   string            `json:"expr"`
		Labels map[string]string `json:"labels"`
	}
	var rules []rule
	for i, q := range queries {
		q = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(q)
		rules = append(rules, rule{Record: "q", Expr: q, Labels: map[string]string{"number": fmt.Sprint(i)}})
	}
	raw, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "g", "rules": rules}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// promtool runs Prometheus's own checker (Debian's package prometheus).
func promtool(t *testing.T, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("FRONTDESK_REQUIRE_ALL") != "" {
			t.Fatal("promtool is missing, and FRONTDESK_REQUIRE_ALL is set")
		}
		t.Skip("promtool is not installed (Debian's package prometheus)")
	}
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

type alertRule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alertRule
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, observe+"alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 20 {
		t.Fatalf("%+v", file)
	}
	return file.Groups[0].Rules
}

// seenTo says what the tests of an alert show.
type seenTo struct{ fires, quiet bool }

func alertTests(t *testing.T) map[string]seenTo {
	t.Helper()
	var file struct {
		Tests []struct {
			Rules []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, observe+"alerts_test.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]seenTo{}
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			seen := all[r.Alert]
			seen.fires, seen.quiet = seen.fires || len(r.Expected) > 0, seen.quiet || len(r.Expected) == 0
			all[r.Alert] = seen
		}
	}
	return all
}

// Each alert is about metrics and labels that exist, says how urgent it is, and leads to a paragraph of the
// runbook; each is seen to fire, and to stay quiet. The runbook has no paragraph without an alert.
func TestEachAlertHasItsRunbookAndTests(t *testing.T) {
	t.Parallel()
	known, runbook, tests := knownMetrics(t), read(t, observe+"README.md"), alertTests(t)
	_, runbook, _ = strings.Cut(runbook, "## Runbook\n")
	var names []string
	for _, a := range alertRules(t) {
		names = append(names, a.Alert)
		for _, wrong := range checkQuery(a.Expr, known) {
			t.Errorf("%s: %s", a.Alert, wrong)
		}
		if severity := a.Labels["severity"]; severity != "page" && severity != "ticket" || a.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or summary", a.Alert)
		}
		if want := "deploy/observe/README.md#" + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s leads to %s, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
		_, paragraph, found := strings.Cut(runbook, "\n### "+a.Alert+"\n")
		paragraph, _, _ = strings.Cut(paragraph, "\n### ")
		if !found || len(strings.Fields(paragraph)) < 15 {
			t.Errorf("the runbook does not say what to do about %s", a.Alert)
		}
		if seen := tests[a.Alert]; !seen.fires || !seen.quiet {
			t.Errorf("%s is not seen to fire and to stay quiet: %+v", a.Alert, seen)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (.*)$`).FindAllStringSubmatch(runbook, -1) {
		if !slices.Contains(names, heading[1]) {
			t.Errorf("the runbook has a paragraph on %s, which is no alert", heading[1])
		}
	}
}

func TestAlertsFireAndStayQuiet(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", observe+"alerts.yaml")
	promtool(t, "test", "rules", observe+"alerts_test.yaml")
}
