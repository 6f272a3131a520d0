package archtest

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sampleWalls is a small table for planted violations.
func sampleWalls() []Wall {
	return []Wall{
		{Folder: "cmd/desk", May: []string{"adapters/all", "core/**"}},
		{Folder: "adapters/all", May: []string{"adapters/*"}},
		{Folder: "adapters/*", May: []string{"./**", "core/fault"}, Tests: []string{"core/proof"}},
		{Folder: "adapters/*/*", May: []string{"../**"}},
		{Folder: "core/fault"},
		{Folder: "core/store", May: []string{"core/fault"}},
		{Folder: "core/proof", May: []string{"core/fault"}, ForTests: true},
	}
}

func reservations() []Reserved {
	return []Reserved{
		{Package: "database/sql", For: []string{"core/store/**"}, Why: "Queries are the store's."},
		{Package: "example.com/driver/", For: []string{"core/store"}, Why: "Drivers are the store's."},
	}
}

// whole returns a module that keeps every wall, with one file in every folder.
func whole() fstest.MapFS {
	return fstest.MapFS{
		"go.mod":              {Data: []byte("module desk")},
		"cmd/desk/main.go":    source("main", "desk/adapters/all", "desk/core/store"),
		"adapters/all/all.go": source("all", "desk/adapters/one", "desk/adapters/two"),
		"adapters/one/one.go": source("one", "desk/core/fault", "desk/adapters/one/wire"),
		"adapters/one/one_test.go": source("one_test", "desk/adapters/one", "desk/core/proof", "testing",
			"database/sql"),
		"adapters/one/wire/wire.go": source("wire", "strings"),
		"adapters/two/two.go":       source("two", "desk/core/fault"),
		"core/fault/fault.go":       source("fault", "errors"),
		"core/store/store.go":       source("store", "database/sql", "example.com/driver/v5", "desk/core/fault"),
		"core/proof/proof.go":       source("proof", "testing", "desk/core/fault"),
	}
}

func source(name string, imports ...string) *fstest.MapFile {
	text := "package " + name + "\n"
	for _, i := range imports {
		text += "import _ \"" + i + "\"\n"
	}
	return &fstest.MapFile{Data: []byte(text)}
}

func TestAWholeHouseHasNothingBroken(t *testing.T) {
	wantBroken(t, whole())
}

func TestAPlantedViolationIsFound(t *testing.T) {
	for _, c := range []struct {
		rule string
		file string
		text *fstest.MapFile
		want []string
	}{
		{
			"core imports no adapter", "core/store/x.go", source("store", "desk/adapters/one"),
			[]string{"core/store/x.go:2: core/store may not import adapters/one"},
		},
		{
			"not even in a test", "core/store/x_test.go", source("store_test", "desk/core/store", "desk/adapters/one"),
			[]string{"core/store/x_test.go:3: core/store may not import adapters/one"},
		},
		{
			"nor in a file that is built elsewhere", "core/store/x_windows.go",
			&fstest.MapFile{Data: []byte("//go:build windows\n\npackage store\n\nimport _ \"desk/adapters/one\"\n")},
			[]string{"core/store/x_windows.go:5: core/store may not import adapters/one"},
		},
		{
			"adapters do not import each other", "adapters/one/x.go", source("one", "desk/adapters/two"),
			[]string{"adapters/one/x.go:2: adapters/one may not import adapters/two"},
		},
		{
			"nor each other's parts", "adapters/two/x.go", source("two", "desk/adapters/one/wire"),
			[]string{"adapters/two/x.go:2: adapters/two may not import adapters/one/wire"},
		},
		{
			"an adapter sees no store", "adapters/one/x.go", source("one", "desk/core/store"),
			[]string{"adapters/one/x.go:2: adapters/one may not import core/store"},
		},
		{
			"a contract's proof is for tests", "adapters/one/x.go", source("one", "desk/core/proof"),
			[]string{"adapters/one/x.go:2: adapters/one may not import core/proof"},
		},
		{
			"even for who may import all of core", "cmd/desk/x.go", source("main", "desk/core/proof"),
			[]string{"cmd/desk/x.go:2: core/proof is for tests, and this is none"},
		},
		{
			"and so is package testing", "core/fault/x.go", source("fault", "testing/fstest"),
			[]string{"core/fault/x.go:2: testing/fstest is for tests, and this is none"},
		},
		{
			"what only tests may see, code may not", "adapters/two/x.go", source("two", "desk/core/proof"),
			[]string{"adapters/two/x.go:2: adapters/two may not import core/proof"},
		},
		{
			"a reserved package", "adapters/one/x.go", source("one", "database/sql"),
			[]string{"adapters/one/x.go:2: adapters/one may not import database/sql: Queries are the store's."},
		},
		{
			"a family of reserved packages", "core/fault/x.go", source("fault", "example.com/driver/v6/pool"),
			[]string{"core/fault/x.go:2: core/fault may not import example.com/driver/v6/pool: " +
				"Drivers are the store's."},
		},
		{
			"a folder without row", "core/attic/attic.go", source("attic"),
			[]string{"core/attic: the folder has no row in the table of walls"},
		},
		{
			"a folder of tests without row", "core/attic/attic_test.go", source("attic"),
			[]string{"core/attic: the folder has no row in the table of walls"},
		},
		{
			"the module's root has no row", "main.go", source("main"),
			[]string{".: the folder has no row in the table of walls"},
		},
		{
			"a name that says nothing", "adapters/utils/utils.go", source("utils"),
			[]string{"adapters/utils/utils.go:1: the folder's name utils says nothing"},
		},
		{
			"another name than the folder's", "core/store/x.go", source("storage"),
			[]string{"core/store/x.go:1: the package is called storage, its folder store"},
		},
		{
			"init acts before anybody asked", "core/store/x.go", code("store", "func init() {}"),
			[]string{"core/store/x.go:2: an init function acts before anybody asked"},
		},
		{
			"a lock is state", "core/store/x.go", code("store", "var mu sync.Mutex"),
			[]string{"core/store/x.go:2: the variable mu is state of the whole program"},
		},
		{
			"an atomic value is state", "core/store/x.go", code("store", "var seen atomic.Pointer[int]"),
			[]string{"core/store/x.go:2: the variable seen is state of the whole program"},
		},
		{
			"a variable that is assigned to", "core/store/x.go",
			code("store", "var last int", "func set(n int) { last = n }"),
			[]string{"core/store/x.go:3: the variable last is state of the whole program: it is assigned to here"},
		},
		{
			"a part of one", "core/store/x.go",
			code("store", "var known = map[string]*struct{ n []int }{}", "func set() { (*known[`a`]).n[0]++ }"),
			[]string{"core/store/x.go:3: the variable known is state of the whole program: it is counted here"},
		},
		{
			"one that is emptied", "core/store/x.go",
			code("store", "var known = map[string]int{}", "func drop() { delete(known, `a`) }"),
			[]string{"core/store/x.go:3: the variable known is state of the whole program: it is emptied here"},
		},
		{
			"one that is handed out", "core/store/x.go", code("store", "var n int", "func out() *int { return &n }"),
			[]string{"core/store/x.go:3: the variable n is state of the whole program: it is handed out here"},
		},
		{
			"a goroutine that nobody looks after", "core/store/x.go",
			code("store", "func f() { go f() }", "func g() { go f() }"),
			[]string{"core/store/x.go:2: core/store starts a goroutine, and no goleak.VerifyTestMain of its tests " +
				"looks whether it ends"},
		},
		{
			"one that a group starts", "core/store/x.go",
			code("store", "func f() { var all sync.WaitGroup; all.Go(f) }"),
			[]string{"core/store/x.go:2: core/store starts a goroutine, and no goleak.VerifyTestMain of its tests " +
				"looks whether it ends"},
		},
		{
			"one that a loop sets", "core/store/x.go",
			code("store", "var n int", "func loop() { for n = range 3 {} }"),
			[]string{"core/store/x.go:3: the variable n is state of the whole program: it is assigned to here"},
		},
	} {
		planted := whole()
		planted[c.file] = c.text
		t.Run(c.rule, func(t *testing.T) { wantBroken(t, planted, c.want...) })
	}
}

func code(name string, lines ...string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("package " + name + "\n" + strings.Join(lines, "\n") + "\n")}
}

func TestAVariableOfAnotherFileIsFound(t *testing.T) {
	planted := whole()
	planted["core/store/a.go"] = code("store", "func set(n int) { last = n }")
	planted["core/store/b.go"] = code("store", "var last int")
	wantBroken(t, planted,
		"core/store/a.go:2: the variable last is state of the whole program: it is assigned to here")
}

func TestWhatIsNoViolation(t *testing.T) {
	for rule, plant := range map[string]func(fstest.MapFS){
		"a goroutine whose end is looked for": func(m fstest.MapFS) {
			m["core/store/x.go"] = code("store", "func f() { go f() }")
			m["core/store/x_test.go"] = code("store_test", "func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }")
		},
		"a goroutine of a test, or of code for tests": func(m fstest.MapFS) {
			m["core/store/x_test.go"] = code("store_test", "func f() { go f() }")
			m["core/proof/x.go"] = code("proof", "func f() { go f() }")
		},
		"a test's own state": func(m fstest.MapFS) {
			m["core/store/x_test.go"] = code("store", "var n int", "func init() { n = 1 }")
		},
		"a method called init": func(m fstest.MapFS) {
			m["core/store/x.go"] = code("store", "type t int", "func (t) init() {}")
		},
		"a variable nobody sets": func(m fstest.MapFS) {
			m["core/store/x.go"] = code("store", "var words = []string{`a`}")
		},
		"a nearer variable of the same name": func(m fstest.MapFS) {
			m["core/store/x.go"] = code("store", "var n int", "func f(n int) { n = 2; if n := 3; n > 2 { n++ } }")
		},
		"a field of the same name": func(m fstest.MapFS) {
			m["core/store/x.go"] = code("store", "var n int", "type t struct{ n int }",
				"func (x *t) f() { x.n = 2; x.n++ }")
		},
		"the blank variable": func(m fstest.MapFS) {
			m["core/store/x.go"] = code("store", "var _ error = nil", "func f() { _ = 1 }")
		},
		"what the go command leaves out": func(m fstest.MapFS) {
			for _, folder := range []string{"core/store/testdata", "vendor/x", ".ci", "_attic", "node_modules/x"} {
				m[folder+"/x.go"] = source("util", "desk/adapters/one")
			}
		},
		"another module": func(m fstest.MapFS) {
			m["adapters/own/go.mod"] = &fstest.MapFile{Data: []byte("module own")}
			m["adapters/own/util/util.go"] = source("util", "desk/core/store")
		},
		"a module of a longer name": func(m fstest.MapFS) {
			m["core/fault/x.go"] = source("fault", "desktop/core/store")
		},
	} {
		planted := whole()
		plant(planted)
		t.Run(rule, func(t *testing.T) { wantBroken(t, planted) })
	}
}

func TestARowThatLostItsFolderIsFound(t *testing.T) {
	left := whole()
	delete(left, "core/store/store.go")
	left["cmd/desk/main.go"] = source("main", "desk/adapters/all")
	wantBroken(t, left, "core/store: the row of the table of walls stands for no folder")
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	planted := whole()
	planted["core/store/x.go"] = &fstest.MapFile{Data: []byte("package store\nfunc {")}
	if _, err := Check(planted, "desk", sampleWalls(), reservations()); err == nil ||
		!strings.Contains(err.Error(), "core/store/x.go:2") {
		t.Errorf("got %v, want the place", err)
	}
}

func wantBroken(t *testing.T, module fstest.MapFS, want ...string) {
	t.Helper()
	got, err := Check(module, "desk", sampleWalls(), reservations())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("broken are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, folder string
		want            bool
	}{
		{"core/store", "core/store", true},
		{"core/store", "core/store/storetest", false},
		{"core/store", "core", false},
		{"core/*", "core/store", true},
		{"core/*", "core/store/storetest", false},
		{"adapters/*/sandbox", "adapters/crm/sandbox", true},
		{"adapters/*/sandbox", "adapters/crm/rest", false},
		{"core/**", "core", true},
		{"core/**", "core/store/storetest", true},
		{"core/**", "config", false},
		{"**", ".", true},
	} {
		if got := matches(c.pattern, c.folder); got != c.want {
			t.Errorf("matches(%q, %q) is %t", c.pattern, c.folder, got)
		}
	}
}
