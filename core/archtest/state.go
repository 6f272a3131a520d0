package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// state checks that packages have no state: no init function, and no package variable that is changed. It
// skips tests.
func (c *checker) state() {
	var folders []string
	code := map[string][]*ast.File{}
	for _, f := range c.files {
		if f.test {
			continue
		}
		if code[f.folder] == nil {
			folders = append(folders, f.folder)
		}
		code[f.folder] = append(code[f.folder], f.tree)
	}
	for _, folder := range folders {
		meant := meanings(c.positions, folder, code[folder])
		for _, tree := range code[folder] {
			c.declarations(tree)
			c.changes(tree, meant)
		}
	}
}

// declarations reports init functions and variables of types that are meant to be changed.
func (c *checker) declarations(tree *ast.File) {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				c.say(d.Pos(), "an init function acts before anybody asked")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && changeable(v.Type) {
					c.say(v.Pos(), "the variable %s is state of the whole program", v.Names[0].Name)
				}
			}
		}
	}
}

// changeable reports whether a type is meant to be changed: a lock, an atomic value, a channel.
func changeable(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.ChanType:
		return true
	case *ast.StarExpr:
		return changeable(t.X)
	case *ast.IndexExpr:
		return changeable(t.X) // atomic.Pointer[T]
	case *ast.SelectorExpr:
		from, ok := t.X.(*ast.Ident)
		return ok && (from.Name == "sync" || from.Name == "atomic")
	}
	return false
}

// changes reports assignments to a package variable or to a part of one, and uses of its address.
func (c *checker) changes(tree *ast.File, meant map[*ast.Ident]types.Object) {
	check := func(target ast.Expr, how string) {
		name := root(target)
		if name == nil {
			return
		}
		if v, ok := meant[name].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			c.say(name.Pos(), "the variable %s is state of the whole program: it is %s here", name.Name, how)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, target := range n.Lhs {
				check(target, "assigned to")
			}
		case *ast.IncDecStmt:
			check(n.X, "counted")
		case *ast.RangeStmt:
			check(n.Key, "assigned to")
			check(n.Value, "assigned to")
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				check(n.X, "handed out")
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear"}, fun.Name) &&
				len(n.Args) > 0 {
				check(n.Args[0], "emptied")
			}
		}
		return true
	})
}

// root returns the variable that an expression is a part of, or nil.
func root(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.IndexExpr:
		return root(e.X)
	case *ast.StarExpr:
		return root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	}
	return nil
}

// meanings returns what each name in a package's code refers to. It does not resolve imports, which are not
// needed for the package's own names.
func meanings(positions *token.FileSet, folder string, code []*ast.File) map[*ast.Ident]types.Object {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = config.Check(folder, positions, code, &info) // it reports an error for every import
	return info.Uses
}

// noImports is an importer that refuses every import.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not read")
}
