package archtest

import (
	"go/ast"
	"go/token"
)

// leaks checks that every package that starts goroutines has a test that they end (go.uber.org/goleak).
// Packages for tests are exempt: the tests that use them can check this.
func (c *checker) leaks() {
	looked := map[string]bool{}
	for _, f := range c.files {
		if f.test && verifiesLeaks(f) {
			looked[f.folder] = true
		}
	}
	for _, f := range c.files {
		wall, _ := c.wall(f.folder)
		if f.test || wall.ForTests || looked[f.folder] {
			continue
		}
		if at := startsGoroutine(f.tree); at.IsValid() {
			looked[f.folder] = true // report each folder once
			c.say(at,
				"%s starts a goroutine, and no goleak.VerifyTestMain of its tests looks whether it ends", f.folder)
		}
	}
}

// startsGoroutine returns where a file starts a goroutine: with a go statement, or with the method Go or
// TryGo of a sync.WaitGroup or errgroup.Group.
func startsGoroutine(tree *ast.File) (at token.Pos) {
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at = n.Pos()
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && (method.Sel.Name == "Go" || method.Sel.Name == "TryGo") {
				at = n.Pos()
			}
		}
		return !at.IsValid()
	})
	return at
}

func verifiesLeaks(f *file) (found bool) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := call.X.(*ast.Ident)
		found = found || ok && from.Name == "goleak" && call.Sel.Name == "VerifyTestMain"
		return !found
	})
	return found
}
