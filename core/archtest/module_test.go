package archtest

import (
	"os"
	"testing"
)

// top is the path from here to the root of the module.
const top = "../.."

func TestTheHouseKeepsItsWalls(t *testing.T) {
	broken, err := Check(os.DirFS(top), "frontdesk", Walls(), Reservations())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

func TestEveryRowSaysWhy(t *testing.T) {
	for _, w := range Walls() {
		if w.Why == "" {
			t.Errorf("the row of %s does not say why", w.Folder)
		}
	}
	for _, r := range Reservations() {
		if r.Why == "" {
			t.Errorf("the reservation of %s does not say why", r.Package)
		}
	}
}
