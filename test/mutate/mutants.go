package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	target target
	file   string // from the module's folder, with slashes
	line   int
	id     string // file, function and change; stable as long as the function is
	number int    // of its site in the file
}

// site is a place that can be changed.
type site struct {
	fn     string // the function
	pos    token.Pos
	change string // as people read it
	apply  func()
}

// mutantsOf are all mutants of a target.
func mutantsOf(root string, t target) (out []mutant, err error) {
	entries, err := os.ReadDir(filepath.Join(root, t.dir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") || !matches(t.files, e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, t.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		of, err := mutantsOfFile(t, path.Join(t.dir, e.Name()), data)
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	return out, nil
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

func mutantsOfFile(t target, name string, data []byte) (out []mutant, err error) {
	files := token.NewFileSet()
	sites, _, err := parse(files, name, data)
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for i, s := range sites {
		id := fmt.Sprintf("%s %s: %s", name, s.fn, s.change)
		seen[id]++
		if n := seen[id]; n > 1 {
			id = fmt.Sprintf("%s #%d", id, n)
		}
		out = append(out, mutant{target: t, file: name, line: files.Position(s.pos).Line, id: id, number: i})
	}
	return out, nil
}

// changed is the file with the change.
func (m mutant) changed(data []byte) ([]byte, error) {
	files := token.NewFileSet()
	sites, file, err := parse(files, m.file, data)
	if err != nil {
		return nil, err
	}
	if m.number >= len(sites) {
		return nil, fmt.Errorf("%s: the file has changed meanwhile", m.id)
	}
	sites[m.number].apply()
	var out bytes.Buffer
	err = printer.Fprint(&out, files, file)
	return out.Bytes(), err
}

// parse finds the sites of a file.
func parse(files *token.FileSet, name string, data []byte) (out []site, file *ast.File, err error) {
	file, err = parser.ParseFile(files, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		for _, s := range sitesOf(fn) {
			s.fn = funcName(fn)
			out = append(out, s)
		}
	}
	return out, file, nil
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	return text(fn.Recv.List[0].Type) + "." + fn.Name.Name
}

// text is an expression or statement on one line, cut where it is long.
func text(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		return fmt.Sprintf("%T", n)
	}
	s := strings.Join(strings.Fields(b.String()), " ")
	if len(s) > 90 {
		s = s[:90] + "…"
	}
	return s
}

// sitesOf are the places of a function that can be changed, in its order.
func sitesOf(fn *ast.FuncDecl) (out []site) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			out = append(out, operator(n)...)
		case *ast.IfStmt:
			out = append(out, always(n)...)
		case *ast.ReturnStmt:
			out = append(out, returned(n)...)
		case *ast.BlockStmt:
			out = append(out, left(&n.List)...)
		case *ast.CaseClause:
			out = append(out, left(&n.Body)...)
		case *ast.BasicLit:
			out = append(out, number(n)...)
		}
		return true
	})
	return out
}

// operator turns a comparison around, or one of && and || into the other.
func operator(n *ast.BinaryExpr) (out []site) {
	others := map[token.Token][]token.Token{
		token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
		token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
		token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
		token.LAND: {token.LOR}, token.LOR: {token.LAND},
	}
	for _, to := range others[n.Op] {
		from := n.Op
		out = append(out, site{pos: n.OpPos, change: fmt.Sprintf("%s: %s is %s", text(n), from, to), apply: func() {
			n.Op = to
		}})
	}
	return out
}

// always takes a condition away: what follows is always done, or never.
func always(n *ast.IfStmt) (out []site) {
	cond := n.Cond
	for _, to := range []string{"true", "false"} {
		op := token.LOR
		if to == "false" {
			op = token.LAND
		}
		out = append(out, site{pos: n.If, change: fmt.Sprintf("if %s: always %s", text(cond), to), apply: func() {
			// cond || true, so that its variables are still used
			n.Cond = &ast.BinaryExpr{X: &ast.ParenExpr{X: cond}, Op: op, Y: ast.NewIdent(to)}
		}})
	}
	return out
}

// returned gives back the other truth, or no error.
func returned(n *ast.ReturnStmt) (out []site) {
	for i, r := range n.Results {
		id, ok := r.(*ast.Ident)
		if !ok {
			continue
		}
		to := map[string]string{"true": "false", "false": "true", "err": "nil"}[id.Name]
		if to == "" {
			continue
		}
		out = append(out, site{pos: n.Return, change: fmt.Sprintf("%s: result %d is %s", text(n), i+1, to), apply: func() {
			n.Results[i] = ast.NewIdent(to)
		}})
	}
	return out
}

// left leaves out a statement: an assignment to what exists, a call, a continue or break, or
// a return without results.
func left(list *[]ast.Stmt) (out []site) {
	for i, s := range *list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt:
		case *ast.BranchStmt:
			if s.Tok == token.FALLTHROUGH || s.Tok == token.GOTO {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue
			}
		default:
			continue
		}
		out = append(out, site{pos: s.Pos(), change: fmt.Sprintf("without %s", text(s)), apply: func() {
			(*list)[i] = &ast.EmptyStmt{Semicolon: s.Pos()}
		}})
	}
	return out
}

// number is one more.
func number(n *ast.BasicLit) (out []site) {
	if n.Kind != token.INT {
		return nil
	}
	from := n.Value
	to := "(" + from + " + 1)"
	return []site{{pos: n.Pos(), change: fmt.Sprintf("%s is %s", from, to), apply: func() {
		n.Value = to
	}}}
}
