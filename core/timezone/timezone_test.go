package timezone

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func TestEveryNameOfWindowsIsAZoneOfTheDatabase(t *testing.T) {
	if len(tables().iana) != 139 { // as many as CLDR 48.2 lists
		t.Errorf("%d names", len(tables().iana))
	}
	for windows, iana := range tables().iana {
		if _, err := time.LoadLocation(iana); err != nil {
			t.Errorf("%s: %v", windows, err)
		}
		if back, _ := ToWindows(iana); back != windows {
			t.Errorf("%s is %s, which is %s", windows, iana, back)
		}
	}
}

func TestNamesOldAndNewMeanOneZone(t *testing.T) {
	for iana, want := range map[string]string{
		"Asia/Kolkata": "India Standard Time", "Asia/Calcutta": "India Standard Time",
		"Europe/Kyiv": "FLE Standard Time", "Europe/Kiev": "FLE Standard Time",
		"America/Nuuk": "Greenland Standard Time", "America/Godthab": "Greenland Standard Time",
		"America/Indiana/Indianapolis": "US Eastern Standard Time", "US/Eastern": "Eastern Standard Time",
		"America/St_Johns": "Newfoundland Standard Time", "Asia/Kathmandu": "Nepal Standard Time",
		"Europe/Oslo": "W. Europe Standard Time", "UTC": "UTC", "Etc/UTC": "UTC",
		"Etc/GMT+12": "Dateline Standard Time", "": "", "Local": "", "India Standard Time": "",
		"Antarctica/Troll": "",
	} {
		if got, ok := ToWindows(iana); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", iana, got, want)
		}
	}
}

func TestTheNameToWriteIsTheOneInUse(t *testing.T) {
	for windows, want := range map[string]string{
		"India Standard Time": "Asia/Kolkata", "FLE Standard Time": "Europe/Kyiv",
		"Eastern Standard Time": "America/New_York", "W. Europe Standard Time": "Europe/Berlin",
		"Greenland Standard Time": "America/Nuuk", "": "", "Europe/Berlin": "", "tzone://Microsoft/Custom": "",
		"Customized Time Zone": "",
	} {
		if got, ok := FromWindows(windows); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", windows, got, want)
		}
	}
}

func TestEveryNameOfTheDatabaseIsOfAZoneOfWindows(t *testing.T) {
	// No Windows zone has the two offsets of Troll, and Factory is not a zone.
	without := []string{"Antarctica/Troll", "Factory"}
	var names []string
	for _, file := range goDatabase(t).File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		names = append(names, file.Name)
		if _, ok := ToWindows(file.Name); ok == slices.Contains(without, file.Name) {
			t.Errorf("%s: mapped %t", file.Name, ok)
		}
	}
	if len(names) < 590 {
		t.Errorf("the database has only %d names", len(names))
	}
}

// In 2026, more clocks stopped to be set than Go's release knows of.
func TestClocksAreThoseOfTheLatestRules(t *testing.T) {
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"America/Vancouver": "05:00", "America/Edmonton": "06:00", "America/Yellowknife": "06:00",
		"America/Winnipeg": "07:00", "America/Havana": "08:00", "Africa/Casablanca": "12:00",
		"America/Los_Angeles": "04:00", "America/Denver": "05:00", "America/Regina": "06:00",
		"America/Toronto": "07:00",
	} {
		zone, err := Load(name)
		if err != nil || zone.String() != name {
			t.Fatal(name, zone, err)
		}
		if got := noon.In(zone).Format("15:04"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// What Go knows as well is to be taken out of the file. Who tests with a later Go need not do that.
func TestOnlyChangedZonesAreKeptBesideGos(t *testing.T) {
	if len(changedZones()) == 0 {
		t.Fatal("there is none")
	}
	made, err := os.ReadFile(filepath.Join(goRoot(t), "lib", "time", "update.bash"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(made), "\nDATA=2025c\n") {
		t.Skip("Go brings another release than 2025c: make the file anew, of the zones that it does not know")
	}
	old := goDatabase(t)
	for name, data := range changedZones() {
		later, err := time.LoadLocationFromTZData(name, data)
		if err != nil {
			t.Fatal(name, err)
		}
		raw, err := fs.ReadFile(old, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a new zone
		}
		if err != nil {
			t.Fatal(err)
		}
		before, err := time.LoadLocationFromTZData(name, raw)
		if err != nil {
			t.Fatal(name, err)
		}
		differs := false
		for at := released; at.Year() < released.Year()+3 && !differs; at = at.Add(time.Hour) {
			_, one := at.In(before).Zone()
			_, other := at.In(later).Zone()
			differs = one != other
		}
		if !differs {
			t.Errorf("%s is as Go knows it", name)
		}
	}
}

var released = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// goDatabase opens the database that package time/tzdata is made from.
func goDatabase(t *testing.T) *zip.ReadCloser {
	database, err := zip.OpenReader(filepath.Join(goRoot(t), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	return database
}

func goRoot(t *testing.T) string {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(root))
}

// TestAZoneIsReadOnce holds for every call after the first: it allocates nothing, and the zone is the same.
func TestAZoneIsReadOnce(t *testing.T) {
	first, err := Load("Europe/Berlin")
	if err != nil || first.String() != "Europe/Berlin" {
		t.Fatal(first, err)
	}
	allocations := testing.AllocsPerRun(10, func() {
		if again, err := Load("Europe/Berlin"); again != first || err != nil {
			t.Errorf("got %v, %v", again, err)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
	for range 2 {
		if zone, err := Load("Mars/Olympus"); err == nil {
			t.Errorf("found %v", zone)
		}
	}
}

// A file can be reached by any number of names, and whoever writes events could send them all.
func TestNoOtherNameOfAZoneIsKept(t *testing.T) {
	for _, name := range []string{"Europe/./Berlin", "Europe//Berlin", "posix/Europe/Berlin"} {
		first, err := Load(name)
		want, refused := time.LoadLocation(name)
		if (err == nil) != (refused == nil) || err == nil && first.String() != want.String() {
			t.Errorf("%q: %v, %v; want %v, %v", name, first, err, want, refused)
		}
		if again, _ := Load(name); err == nil && again == first {
			t.Errorf("%q is kept", name)
		}
	}
}
