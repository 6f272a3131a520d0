package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// unit is what a figure is counted in.
type unit string

const (
	microseconds unit = "µs"
	milliseconds unit = "ms"
	perSecond    unit = "/s"
	mebibytes    unit = "MiB"
	times        unit = "×"
)

// figure is one line of the report: what was measured in each round, and what it is compared with.
type figure struct {
	Scenario string
	What     string // the property, such as "p50"
	Subject  string // what was measured, such as "gateway"
	Unit     unit
	Values   []float64 // one of each round
	Base     string    // what it is compared with; "" for nothing
	Bases    []float64 // its values in the same rounds
	Note     string
}

// report collects the figures of a run.
type report struct {
	figures []figure
	tables  map[string]string // more text of a scenario
	plots   []plot
}

func (r *report) add(f figure) { r.figures = append(r.figures, f) }

// of returns the figures of a scenario.
func (r *report) of(scenario string) (all []figure) {
	for _, f := range r.figures {
		if f.Scenario == scenario {
			all = append(all, f)
		}
	}
	return all
}

// ratios returns the ratio in each round. Rounds are interleaved, so that what else the machine does is in
// both.
func (f figure) ratios() []float64 {
	var all []float64
	for i := range min(len(f.Values), len(f.Bases)) {
		if f.Bases[i] > 0 {
			all = append(all, f.Values[i]/f.Bases[i])
		}
	}
	return all
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if middle := len(sorted) / 2; len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[len(sorted)/2]
}

// number writes a value with three significant digits.
func number(v float64, u unit) string {
	if math.IsNaN(v) {
		return "–"
	}
	var text string
	switch a := math.Abs(v); {
	case a >= 100:
		text = grouped(int64(math.Round(v)))
	case a >= 10:
		text = fmt.Sprintf("%.1f", v)
	default:
		text = fmt.Sprintf("%.2f", v)
	}
	if u == perSecond || u == "" || u == times {
		return text + string(u)
	}
	return text + " " + string(u)
}

func grouped(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// columns returns a figure as a row of the table.
func (f figure) columns() []string {
	value := number(median(f.Values), f.Unit)
	base, ratio := "", ""
	if f.Base != "" {
		base = f.Base + ": " + number(median(f.Bases), f.Unit)
		ratio = ratioText(f.ratios())
	}
	return []string{f.What + ", " + f.Subject, value, base, ratio, f.Note}
}

// ratioText returns the median of ratios, with the least and the greatest.
func ratioText(ratios []float64) string {
	if len(ratios) == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.2f", median(ratios))
	if len(ratios) > 1 {
		text += fmt.Sprintf(" (%.2f to %.2f)", slices.Min(ratios), slices.Max(ratios))
	}
	return text
}

// print writes a scenario's figures for people who wait.
func (r *report) print(to io.Writer, s scenario) error {
	fmt.Fprintf(to, "\n%s: %s\n", s.name, s.about)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range r.of(s.name) {
		fmt.Fprintln(table, "  "+strings.Join(f.columns(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(to, r.tables[s.name])
	return err
}

// benchstat writes figures in the form of Go's benchmarks, one line for each round:
//
//	go run ./core/bench -benchstat >before.txt; …; go run ./core/bench -benchstat >after.txt
//	benchstat before.txt after.txt
func (r *report) benchstat(to io.Writer) error {
	fmt.Fprintf(to, "goos: %s\ngoarch: %s\npkg: frontdesk/core/bench\n", runtime.GOOS, runtime.GOARCH)
	name := strings.NewReplacer(" ", "_", ",", "", "/", "-")
	for _, f := range r.figures {
		for i, v := range f.Values {
			line := fmt.Sprintf("Benchmark%s/%s/%s 1 %g %s", name.Replace(f.Scenario), name.Replace(f.What),
				name.Replace(f.Subject), v, metric(f.Unit))
			if i < len(f.Bases) && f.Bases[i] > 0 {
				line += fmt.Sprintf(" %g x-%s", v/f.Bases[i], name.Replace(f.Base))
			}
			if _, err := fmt.Fprintln(to, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// metric returns the unit as benchstat knows it.
func metric(u unit) string {
	switch u {
	case perSecond:
		return "op/s"
	case times, "":
		return "n"
	default:
		return string(u) + "/op"
	}
}

// markdown returns a scenario's part of the document.
func (r *report) markdown(s scenario) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", s.about)
	if figures := r.of(s.name); len(figures) > 0 {
		text.WriteString("\n| what | median | against | ratio |\n|---|---|---|---|\n")
		for _, f := range figures {
			c := f.columns()
			if c[4] != "" {
				c[1] += " (" + c[4] + ")"
			}
			fmt.Fprintf(&text, "| %s |\n", strings.Join(c[:4], " | "))
		}
	}
	if more := r.tables[s.name]; more != "" {
		text.WriteString("\n" + more)
	}
	return text.String()
}

// write puts the scenarios that ran into the document, each between its marks. Others stay as they are.
func (r *report) write(path string, ran []scenario) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, s := range ran {
		marks := regexp.MustCompile(
			fmt.Sprintf(`(?s)(<!-- figures of %s -->\n).*?(<!-- end -->)`, regexp.QuoteMeta(s.name)))
		if !marks.Match(raw) {
			return fmt.Errorf("%s: there are no marks for the figures of %s", path, s.name)
		}
		raw = marks.ReplaceAllFunc(raw, func(old []byte) []byte {
			parts := marks.FindSubmatch(old)
			return []byte(string(parts[1]) + r.markdown(s) + string(parts[2]))
		})
	}
	return os.WriteFile(path, raw, 0o644)
}

// compare adds a figure for each subject but the baseline, and compares it with the baseline.
func (r *report) compare(
	scenario, what string, u unit, subjects []string, base string, samples map[string][]sample, of func(
		sample) float64,
) {
	values := func(name string) (all []float64) {
		for _, s := range samples[name] {
			all = append(all, of(s))
		}
		return all
	}
	for _, subject := range subjects {
		f := figure{Scenario: scenario, What: what, Subject: subject, Unit: u, Values: values(subject)}
		if subject != base {
			f.Base, f.Bases = base, values(base)
		}
		f.Note = refusals(samples[subject])
		r.add(f)
	}
}

// refusals says how many requests of all rounds were refused.
func refusals(samples []sample) string {
	all := map[string]int64{}
	for _, s := range samples {
		add(all, s.Refused)
	}
	if len(all) == 0 {
		return ""
	}
	return "refused:" + said(all)
}

func p50(s sample) float64        { return s.P50 }
func p99(s sample) float64        { return s.P99 }
func rate(s sample) float64       { return s.PerSecond }
func cpu(s sample) float64        { return s.CPU }
func inMilli(s sample) float64    { return s.P50 / 1000 }
func cpuInMilli(s sample) float64 { return s.CPU / 1000 }

// value returns the median of a figure; NaN if there is none.
func (r *report) value(scenario, what, subject string) float64 {
	for _, f := range r.figures {
		if f.Scenario == scenario && f.What == what && f.Subject == subject {
			return median(f.Values)
		}
	}
	return math.NaN()
}
