package audit

import (
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/fault"
)

func TestTheActionsAreThoseOfTheCode(t *testing.T) {
	declared := regexp.MustCompile(
		`(?:\baction[A-Z]\w*\s*=|\bop[A-Z]\w*\s*=|PurchaseOperation\s*=|Action:|recordKey\([^"]*,)\s*"([a-z]+(?:-[a-z]+)+)"`)
	var found []string
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile("../" + path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if found = slices.Compact(found); !reflect.DeepEqual(found, actions) {
		t.Errorf("the code has  %v\nactions lists %v", found, actions)
	}
}

func TestAnActionThatNoRowCanHaveIsRefused(t *testing.T) {
	for _, known := range []string{"", "book-meeting", "create-key"} {
		if err := CheckAction("action", known); err != nil {
			t.Errorf("%q: %v", known, err)
		}
	}
	f := fault.From(CheckAction("action", "book-meetings"))
	if f.Code != fault.Invalid || f.Fields[0].Hint != "book-meeting" ||
		!strings.Contains(f.Fields[0].Message, ", create-key, ") {
		t.Errorf("got %v", f)
	}
}
