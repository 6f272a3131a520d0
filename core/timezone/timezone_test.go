package timezone

import (
	"archive/zip"
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

// TestEveryNameOfTheDatabaseIsOfAZoneOfWindows reads the database that package time/tzdata is made from.
func TestEveryNameOfTheDatabaseIsOfAZoneOfWindows(t *testing.T) {
	// No Windows zone has the two offsets of Troll, and Factory is not a zone.
	without := []string{"Antarctica/Troll", "Factory"}
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	database, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time",
		"zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	var names []string
	for _, file := range database.File {
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
