package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// module is the parsed source of a module.
type module struct {
	path      string // what its import paths begin with
	files     []*file
	positions *token.FileSet
}

// file is one Go file.
type file struct {
	folder string // in the module, "." at its root
	name   string // with the folder
	test   bool
	tree   *ast.File
}

// parse reads every Go file of the module, whatever its build constraints. Folders that the go command
// ignores ("testdata", "vendor", those that begin with a dot or an underscore, other modules) are left out,
// as is "node_modules".
func parse(source fs.FS, modulePath string) (module, error) {
	m := module{path: modulePath, positions: token.NewFileSet()}
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && leftOut(source, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(m.positions, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		m.files = append(m.files, &file{
			folder: path.Dir(name), name: name, test: strings.HasSuffix(name, "_test.go"), tree: tree,
		})
		return nil
	})
	return m, err
}

func leftOut(source fs.FS, folder string) bool {
	base := path.Base(folder)
	if base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(source, path.Join(folder, "go.mod"))
	return err == nil
}

// imported is one import of a file.
type imported struct {
	path string // as written
	ours string // the folder in the module, "" if it is not of the module
	at   token.Pos
}

func (f *file) imports(modulePath string) []imported {
	var all []imported
	for _, spec := range f.tree.Imports {
		written, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser accepts it, but the compiler does not
		}
		i := imported{path: written, at: spec.Pos()}
		if rest, ours := strings.CutPrefix(written, modulePath+"/"); ours {
			i.ours = rest
		}
		all = append(all, i)
	}
	return all
}

// matches reports whether the pattern matches the folder.
func matches(pattern, folder string) bool {
	wanted, names := strings.Split(pattern, "/"), strings.Split(folder, "/")
	for i, want := range wanted {
		if want == "**" && i == len(wanted)-1 {
			return true
		}
		if i == len(names) || want != "*" && want != names[i] {
			return false
		}
	}
	return len(names) == len(wanted)
}
