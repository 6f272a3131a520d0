package archtest

import (
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Check returns every way in which a module breaks the tables.
func Check(source fs.FS, modulePath string, walls []Wall, reserved []Reserved) ([]string, error) {
	m, err := parse(source, modulePath)
	if err != nil {
		return nil, err
	}
	c := checker{module: m, walls: walls, reserved: reserved, built: map[int]bool{}}
	c.rows()
	for _, f := range m.files {
		c.imports(f)
		c.names(f)
	}
	c.state()
	c.leaks()
	return c.broken, nil
}

type checker struct {
	module
	walls    []Wall
	reserved []Reserved
	built    map[int]bool // the indexes of rows that match a folder
	broken   []string
}

func (c *checker) say(at token.Pos, format string, args ...any) {
	p := c.positions.Position(at)
	c.broken = append(c.broken, fmt.Sprintf("%s:%d: ", p.Filename, p.Line)+fmt.Sprintf(format, args...))
}

// wall returns the row of a folder: the first that matches it.
func (c *checker) wall(folder string) (Wall, bool) {
	i := slices.IndexFunc(c.walls, func(w Wall) bool { return matches(w.Folder, folder) })
	if i < 0 {
		return Wall{}, false
	}
	c.built[i] = true
	return c.walls[i], true
}

// rows checks that every folder has a row and that every row has a folder.
func (c *checker) rows() {
	seen := map[string]bool{}
	for _, f := range c.files {
		if seen[f.folder] {
			continue
		}
		seen[f.folder] = true
		if _, there := c.wall(f.folder); !there {
			c.broken = append(c.broken, fmt.Sprintf("%s: the folder has no row in the table of walls", f.folder))
		}
	}
	for i, w := range c.walls {
		if !c.built[i] {
			c.broken = append(c.broken,
				fmt.Sprintf("%s: the row of the table of walls stands for no folder", w.Folder))
		}
	}
}

func (c *checker) imports(f *file) {
	wall, there := c.wall(f.folder)
	if !there {
		return // rows has reported it
	}
	for _, i := range f.imports(c.path) {
		switch {
		case i.ours == "":
			c.outside(f, wall, i)
		case !may(wall, f, i.ours):
			c.say(i.at, "%s may not import %s", f.folder, i.ours)
		case !f.test && !wall.ForTests && c.forTests(i.ours):
			c.say(i.at, "%s is for tests, and this is none", i.ours)
		}
	}
}

// may reports whether the row of a file's folder lets it import another folder. An external test may import
// its own folder.
func may(wall Wall, f *file, folder string) bool {
	if f.test && (folder == f.folder || allowed(wall.Tests, f.folder, folder)) {
		return true
	}
	return allowed(wall.May, f.folder, folder)
}

func (c *checker) forTests(folder string) bool {
	wall, _ := c.wall(folder)
	return wall.ForTests
}

// allowed reports whether one of the patterns matches the folder to. Patterns that begin with "." are
// relative to the folder from.
func allowed(patterns []string, from, to string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.HasPrefix(p, ".") {
			p = path.Join(from, p)
		}
		return matches(p, to)
	})
}

// outside reports imports of packages reserved for other folders, and of package testing. Tests may import
// any.
func (c *checker) outside(f *file, wall Wall, i imported) {
	if f.test || wall.ForTests {
		return
	}
	if i.path == "testing" || strings.HasPrefix(i.path, "testing/") {
		c.say(i.at, "%s is for tests, and this is none", i.path)
	}
	for _, r := range c.reserved {
		covers := i.path == r.Package || strings.HasSuffix(r.Package, "/") && strings.HasPrefix(i.path, r.Package)
		if covers && !allowed(r.For, f.folder, f.folder) {
			c.say(i.at, "%s may not import %s: %s", f.folder, i.path, r.Why)
		}
	}
}

// saysNothing lists names that do not say what a package is for.
var saysNothing = []string{
	"base", "common", "helper", "helpers", "lib", "misc", "pkg", "shared", "tools", "types", "util", "utils",
}

// names checks that a package has its folder's name, and that no part of the folder's path says nothing.
func (c *checker) names(f *file) {
	for part := range strings.SplitSeq(f.folder, "/") {
		if slices.Contains(saysNothing, part) {
			c.say(f.tree.Pos(), "the folder's name %s says nothing", part)
		}
	}
	declared := f.tree.Name.Name
	if f.test {
		declared = strings.TrimSuffix(declared, "_test")
	}
	if base := path.Base(f.folder); declared != base && declared != "main" {
		c.say(f.tree.Name.Pos(), "the package is called %s, its folder %s", declared, base)
	}
}
