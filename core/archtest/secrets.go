package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// secretName matches the names of variables and fields that hold a secret, or a value that stands for one.
var secretName = regexp.MustCompile(
	`(?i)(secret|token|passw(or)?d|verifier|browser|hash|mac|checksum|sum|refresh|access|apikey|credential)$`)

// Comparisons returns where the Go files of a folder, except tests, compare a value named like a secret in a
// way whose time reveals how much of it was right: ==, !=, switch, bytes.Equal, bytes.Compare, slices.Equal,
// slices.Compare, strings.Compare, strings.EqualFold, reflect.DeepEqual. A comparison with a literal or nil
// does not count.
func Comparisons(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, 0)
		if err != nil {
			return nil, err
		}
		report := func(n ast.Node) {
			text := source[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset]
			found = append(found, fmt.Sprintf("%s: %s", filepath.Base(path), text))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && compares(n.X, n.Y) {
					report(n)
				}
			case *ast.CallExpr:
				if tellsByTime(n) && compares(n.Args[0], n.Args[1]) {
					report(n)
				}
			case *ast.SwitchStmt:
				for _, clause := range n.Body.List {
					for _, value := range clause.(*ast.CaseClause).List {
						if n.Tag != nil && compares(n.Tag, value) {
							report(value)
						}
					}
				}
			}
			return true
		})
	}
	return found, nil
}

// compares reports whether one of two expressions is named like a secret and neither is fixed.
func compares(a, b ast.Expr) bool {
	return (isSecret(a) || isSecret(b)) && !fixed(a) && !fixed(b)
}

func isSecret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return secretName.MatchString(e.Name)
	case *ast.SelectorExpr:
		return secretName.MatchString(e.Sel.Name)
	case *ast.IndexExpr:
		key, named := e.Index.(*ast.BasicLit)
		return isSecret(e.X) || named && secretName.MatchString(strings.Trim(key.Value, `"`))
	case *ast.SliceExpr:
		return isSecret(e.X)
	case *ast.CallExpr: // hashOf(x), []byte(token)
		if isSecret(e.Fun) {
			return true
		}
		for _, arg := range e.Args {
			if isSecret(arg) {
				name, _ := e.Fun.(*ast.Ident)
				return name == nil || name.Name != "len"
			}
		}
	}
	return false
}

// fixed reports whether an expression is fixed in the code: a literal, also a converted one, nil, a length,
// true or false.
func fixed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.CompositeLit:
		return true
	case *ast.Ident:
		return e.Name == "nil" || e.Name == "true" || e.Name == "false"
	case *ast.CallExpr:
		name, plain := e.Fun.(*ast.Ident)
		return plain && name.Name == "len" || len(e.Args) == 1 && fixed(e.Args[0])
	}
	return false
}

func tellsByTime(call *ast.CallExpr) bool {
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 2 {
		return false
	}
	from, ok := of.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch from.Name + "." + of.Sel.Name {
	case "bytes.Equal", "bytes.Compare", "slices.Equal", "slices.Compare", "strings.Compare",
		"strings.EqualFold", "reflect.DeepEqual":
		return true
	}
	return false
}
