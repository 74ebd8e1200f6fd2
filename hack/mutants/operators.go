package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is one change to a file.
type mutant struct {
	folder, file string
	line         int
	from, to     int    // the bytes of the file that it replaces
	with         string // by this
	what         string // in words
}

func (m mutant) String() string {
	return fmt.Sprintf("%s/%s:%d: %s", m.folder, m.file, m.line, m.what)
}

// inFolder returns the mutants of the files of a folder that are built here; files may be nil for
// all of them.
func inFolder(folder string, files []string) (all []mutant, err error) {
	if files == nil {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			files = append(files, filepath.Base(path))
		}
	}
	for _, file := range files {
		ours, err := build.Default.MatchFile(folder, file)
		if err != nil {
			return nil, err
		}
		if !ours || strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		found, err := inFile(folder, file, source)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// inFile returns the mutants of a file, in the order of its lines.
func inFile(folder, file string, source []byte) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, parser.ParseComments)
	if err != nil || ast.IsGenerated(tree) {
		return nil, err
	}
	g := generator{set: set, source: source, ignored: map[int]bool{}}
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if why, ok := strings.CutPrefix(c.Text, "//mutants:ignore"); ok {
				if strings.TrimSpace(why) == "" {
					return nil, fmt.Errorf("%s/%s: //mutants:ignore must say why", folder, set.Position(c.Pos()))
				}
				g.ignored[set.Position(c.Pos()).Line] = true
			}
		}
	}
	ast.Inspect(tree, g.visit)
	for i := range g.found {
		g.found[i].folder, g.found[i].file = folder, file
	}
	slices.SortStableFunc(g.found, func(a, b mutant) int { return a.from - b.from })
	return g.found, nil
}

type generator struct {
	set     *token.FileSet
	source  []byte
	ignored map[int]bool // lines
	found   []mutant
}

// text matches calls and functions whose result only people read.
var text = regexp.MustCompile(`(?i)\b(log|slog|klog|logger|metrics|recorder|panic)\b|` +
	`\b(fmt|errors)\.|\b(String|Error|GoString)$`)

// other is what takes the place of an operator, a result or a function.
var other = map[string]string{
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+",
	"true": "false", "false": "true",
	"min": "max", "max": "min",
}

// visit applies the operators to a node, and says whether to look into it.
func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR || n.Tok == token.CONST
	case *ast.FuncDecl:
		return !text.MatchString(n.Name.Name)
	case *ast.DeferStmt, *ast.GoStmt:
		return false
	case *ast.CallExpr:
		name := g.code(n.Fun)
		if with := other[name]; with != "" {
			g.replace(n.Fun, with, "instead of")
		}
		return name != "make" && !text.MatchString(name) // how much room is made changes nothing
	case *ast.BinaryExpr:
		g.binary(n)
	case *ast.IfStmt:
		if _, ok := n.Cond.(*ast.BinaryExpr); !ok {
			g.replace(n.Cond, "!("+g.code(n.Cond)+")", "instead of")
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if with := other[g.code(result)]; with != "" {
				g.replace(result, with, "instead of")
			}
		}
	case *ast.IncDecStmt:
		g.replace(n, "", "without")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && g.code(n.Lhs[0]) != "_" {
			g.replace(n, "", "without")
		}
	case *ast.ExprStmt:
		name, _, _ := strings.Cut(g.code(n), "(")
		lock := strings.HasSuffix(name, "Lock") || strings.HasSuffix(name, "Unlock")
		if !lock && !text.MatchString(name) {
			g.replace(n, "", "without")
		}
	}
	return true
}

func (g *generator) binary(n *ast.BinaryExpr) {
	x, y := g.code(n.X), g.code(n.Y)
	switch with := other[n.Op.String()]; {
	case n.Op == token.LAND, n.Op == token.LOR:
		g.replace(n, x, "instead of")
		// In a || b || c, the mutants of a || b drop a and b.
		if left, ok := n.X.(*ast.BinaryExpr); !ok || left.Op != n.Op {
			g.replace(n, y, "instead of")
		}
	case x == "err" && y == "nil", // every test notices that
		n.Op == token.ADD && strings.ContainsAny(x+y, "\"`"): // strings
	case with != "":
		g.replace(n, x+" "+with+" "+y, "instead of")
	}
}

// code returns the source of a node.
func (g *generator) code(n ast.Node) string {
	base := g.set.File(n.Pos()).Base()
	return string(g.source[int(n.Pos())-base : int(n.End())-base])
}

// replace adds a mutant that has something in place of a node.
func (g *generator) replace(n ast.Node, with, how string) {
	base, line := g.set.File(n.Pos()).Base(), g.set.Position(n.Pos()).Line
	if !g.ignored[line] {
		g.found = append(g.found, mutant{
			line: line,
			from: int(n.Pos()) - base,
			to:   int(n.End()) - base,
			with: with,
			what: strings.Join(strings.Fields(with+" "+how+" "+g.code(n)), " "),
		})
	}
}

// apply returns a file with the mutant in it.
func (m mutant) apply(source []byte) []byte {
	return bytes.Join([][]byte{source[:m.from], []byte(m.with), source[m.to:]}, nil)
}
