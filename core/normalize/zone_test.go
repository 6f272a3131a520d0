package normalize

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLoadZoneTakesIANANames(t *testing.T) {
	for _, name := range []string{
		"America/New_York", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "UTC", "EST5EDT", "US/Pacific",
		"Europe/Kyiv", "GMT+0",
	} {
		z, err := LoadZone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if z.String() != name {
			t.Errorf("%s is called %s", name, z)
		}
	}
}

func TestLoadZoneRefuses(t *testing.T) {
	const (
		must     = "must be an IANA time zone name"
		anywhere = must + ", such as America/New_York or Europe/Berlin"
		offset   = must + ", such as America/New_York, not an offset: an offset does not say when clocks change"
	)
	meant := func(names string) string { return must + "; did you mean " + names + "?" }
	for rule, c := range map[string]struct{ given, says string }{
		"nothing":                       {"", anywhere},
		"the machine's own zone":        {"Local", anywhere},
		"the zone nobody set":           {"Factory", anywhere},
		"zones that count leap seconds": {"right/America/New_York", meant("America/New_York")},
		"files beside the zones":        {"posixrules", anywhere},
		"paths":                         {"../../etc/passwd", anywhere},
		"absolute paths":                {"/etc/localtime", anywhere},
		"two names":                     {"America/New_York\nEurope/Berlin", meant("Europe/Berlin")},
		"an offset":                     {"-05:00", offset},
		"an offset from UTC":            {"UTC+5", offset},
		"an offset from GMT":            {"gmt -05:30", offset},
		"other letter case":             {"america/new_york", meant("America/New_York")},
		"a space for the underscore":    {"America/New York", meant("America/New_York")},
		"a space behind":                {"America/New_York ", meant("America/New_York")},
		"a city alone":                  {"New York", meant("America/New_York")},
		"a city of two names": {"Indianapolis",
			meant("America/Indiana/Indianapolis or America/Indianapolis")},
		"a region that is none":     {"USA/Chicago", meant("America/Chicago")},
		"a letter left out":         {"Europe/Berln", meant("Europe/Berlin")},
		"letters swapped":           {"Ameriac/Chicago", meant("America/Chicago")},
		"a misspelled city":         {"America/Los_Angelos", meant("America/Los_Angeles")},
		"a city that is no zone":    {"America/Boston", anywhere},
		"an abbreviation":           {"PST", meant("America/Los_Angeles")},
		"an abbreviation of summer": {"EDT", meant("America/New_York")},
		"a spoken name":             {"Eastern Time", meant("America/New_York")},
		"an ambiguous spoken name":  {"mountain time", meant("America/Denver or America/Phoenix")},
		"a Windows name":            {"Eastern Standard Time", meant("America/New_York")},
		"a Windows name of Europe":  {"W. Europe Standard Time", meant("Europe/Berlin or Europe/Paris")},
		"a great length":            {strings.Repeat("a", 1<<16), anywhere},
		"what is not UTF-8":         {"\xff\xfe", anywhere},
	} {
		t.Run(rule, func(t *testing.T) {
			z, err := LoadZone(c.given)
			if err == nil {
				t.Fatalf("%.40q is taken as %s", c.given, z)
			}
			if err.Error() != c.says {
				t.Errorf("%.40q is refused with\n%s\nwant\n%s", c.given, err, c.says)
			}
		})
	}
}

// TestZonesAreThoseOfTheGoRelease holds the list against the time-zone data that Go compiles in. A newer Go
// may bring zones that the list lacks: they are told, and -update adds them.
func TestZonesAreThoseOfTheGoRelease(t *testing.T) {
	for name := range strings.Lines(zoneNames) {
		zone(t, strings.TrimSpace(name))
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	var names []string
	for _, f := range data.File {
		if !f.FileInfo().IsDir() && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	if *update {
		if err := os.WriteFile("zones.txt", []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range names {
		if !knownZones()[name] {
			t.Logf("%s is new; run: go test ./core/normalize -run TestZones -update", name)
		}
	}
	if missing := len(strings.Fields(zoneNames)) - len(names); missing > 0 {
		t.Errorf("%d names of the list are not in the time-zone data", missing)
	}
}

// TestAZoneIsReadOnce holds for every call after the first: it allocates nothing, and the zone is the same.
func TestAZoneIsReadOnce(t *testing.T) {
	first := zone(t, "Europe/Berlin")
	allocations := testing.AllocsPerRun(10, func() {
		if again, err := LoadZone("Europe/Berlin"); again != first || err != nil {
			t.Errorf("got %v, %v", again, err)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
