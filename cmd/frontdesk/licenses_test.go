package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated files")

// isLicense matches the names of files whose text must accompany a binary.
var isLicense = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents|third[-_]?party)`)

// The file holds the licence texts of everything that is linked into the binary, and nothing else:
//
//	go test ./cmd/frontdesk -run Licenses -update
func TestLicensesAreThoseOfWhatIsLinked(t *testing.T) {
	t.Parallel()
	want := licensesOf(t, linked(t))
	if *update {
		if err := os.WriteFile("licenses.txt", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, []byte(licenses)) {
		t.Error("licenses.txt is not that of the modules in use: run go test ./cmd/frontdesk -run Licenses -update")
	}
}

// source is a linked module, or Go itself.
type source struct {
	name, root string
	packages   []string // directories
}

// targets are the systems that releases are built for; deploy/release names them as well.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func linked(t *testing.T) []source {
	t.Helper()
	by := map[string]*source{}
	for _, target := range targets {
		system, processor, _ := strings.Cut(target, "/")
		list := exec.Command("go", "list", "-deps", "-tags", "nomsgpack", "-f",
			"{{.Dir}}\t{{if .Standard}}Go\t{{.Root}}{{else if not .Module.Main}}{{.Module.Path}} "+
				"{{.Module.Version}}\t{{.Module.Dir}}{{end}}", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOFLAGS=")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			parts := strings.Split(strings.TrimSpace(line), "\t")
			if len(parts) < 3 { // our own
				continue
			}
			if by[parts[1]] == nil {
				by[parts[1]] = &source{name: parts[1], root: parts[2]}
			}
			if !slices.Contains(by[parts[1]].packages, parts[0]) {
				by[parts[1]].packages = append(by[parts[1]].packages, parts[0])
			}
		}
	}
	var all []source
	for _, s := range by {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return all
}

// licensesOf writes each text once, under the names of all modules that it covers.
func licensesOf(t *testing.T, sources []source) []byte {
	t.Helper()
	under := map[string][]string{}
	var texts []string
	for _, s := range sources {
		files := s.licenseFiles(t)
		if len(files) == 0 {
			t.Errorf("%s has no licence", s.name)
		}
		for _, file := range files {
			raw, err := os.ReadFile(filepath.Join(s.root, file))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(raw), "\r\n", "\n"))
			if under[text] == nil {
				texts = append(texts, text)
			}
			under[text] = append(under[text], fmt.Sprintf("%s (%s)", s.name, file))
		}
	}
	var out bytes.Buffer
	out.WriteString(
		"Frontdesk comes under the Apache License, Version 2.0. Its binary contains the following software.\n")
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(under[text], "\n"), text)
	}
	return out.Bytes()
}

// licenseFiles returns the licence files of the module and of the folders above its linked packages.
func (s source) licenseFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	seen := map[string]bool{}
	for _, dir := range append([]string{s.root}, s.packages...) {
		for ; len(dir) >= len(s.root) && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.IsDir() || !isLicense.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
					continue
				}
				file, err := filepath.Rel(s.root, filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return files
}
