package floors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCommandsTakeNamesThroughOneFunction: code that names an object writes no command. A name
// is put into a printed command by foreign.Command, or by inspect.Hints, which call it.
func TestCommandsTakeNamesThroughOneFunction(t *testing.T) {
	t.Parallel()
	files, seen := token.NewFileSet(), 0
	for _, dir := range []string{"foreign", "inspect", "nodeexec", "plugin", "remediate"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "catalog" {
				return fs.SkipDir // its tables have no names of a cluster's
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || isTestHelper(filepath.ToSlash(filepath.Dir(path))) {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			s := &commandScan{files: files}
			s.in(file)
			seen += s.commands
			for _, found := range s.found {
				t.Error(strings.TrimPrefix(found, "../../"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands with names were found: the scan does not see them any more", seen)
	}
}

// TestScanSeesCommands holds the scan to what it is to find.
func TestScanSeesCommands(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		`fmt.Sprintf("kubectl describe csr %s", name)`:                    true,
		`fmt.Errorf("it fails: %w; kubectl get node %s -o wide", err, n)`: true,
		`"kubectl describe csr " + name`:                                  true,
		`"kubectl describe csr " + strings.Join(names, " ")`:              true,
		`f.ProgramName + " rotate status " + name`:                        true,
		`fmt.Sprintf("%s rotate status %s", f.ProgramName, name)`:         true,
		`"on the node: ls -l " + path`:                                    true,
		`"on the node: curl -kv https://" + server + "/readyz"`:           true,
		`advise("on the node: getent hosts " + host(server) + "; look")`:  true,
		`withHint(err, "oc -n %s get pods", ns)`:                          true,
		`fmt.Sprintf("%s is to do it: oc get clusteroperators", owner)`:   false,
		`fmt.Errorf("kubectl get nodes: %w", err)`:                        false,
		`foreign.Command("", "kubectl describe csr %s", name)`:            false,
		`h.Next("{} verify --nodes %s", name)`:                            false,
		`"look: " + foreign.Command("", "kubectl get node %s", name)`:     false,
		`"kubectl get nodes; " + foreign.Command("", "oc get %s", name)`:  false,
		`f.ProgramName + " rotate --list"`:                                false,
		`withHint(err, "%s rotate --list", f.ProgramName)`:                false,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		s := &commandScan{files: token.NewFileSet()}
		s.in(expr)
		if got := len(s.found) > 0; got != bad {
			t.Errorf("%s: %q", text, s.found)
		}
	}
}

type commandScan struct {
	files    *token.FileSet
	found    []string
	commands int // commands with names that are written as they are to be
}

// hole stands for what a piece of code puts into a text.
const hole = "\x00"

func (s *commandScan) in(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return s.call(n)
		case *ast.BinaryExpr:
			if n.Op == token.ADD {
				s.judge(n, flat(n))
				for _, piece := range operands(n) {
					if _, literal := piece.(*ast.BasicLit); !literal {
						s.in(piece)
					}
				}
				return false
			}
		}
		return true
	})
}

// call judges the format of a call, each of whose verbs is a placeholder.
func (s *commandScan) call(c *ast.CallExpr) bool {
	if safe(c) {
		s.commands++
		for _, a := range c.Args {
			if _, sum := a.(*ast.BinaryExpr); !sum {
				s.in(a)
			}
		}
		return false
	}
	for i, a := range c.Args {
		if text := flat(a); i+1 < len(c.Args) && strings.Contains(text, "%") {
			s.judge(c, filled(text, c.Args[i+1:]))
			break
		}
	}
	return true
}

// safe reports whether a call checks the names that it puts into a command.
func safe(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Command", "Next", "UnreadNodes", "UnreadRestart", "Unread"}, f.Sel.Name)
}

var (
	verb    = regexp.MustCompile(`%(\[(\d+)\])?[sqv]`)
	command = regexp.MustCompile(`(^|[ (:;'])(kubectl|oc|\{\}|lsattr|findmnt|chattr|journalctl|curl -[a-z]+|getent hosts|systemctl (status|show|restart)|ls|rm|openssl (x509|req|s_client)|crictl|[a-z-]+ --nodes) ([^;:.]|[:.][^ ])*` + hole)
)

// filled is a format with placeholders for its verbs; the name of the program is none.
func filled(format string, args []ast.Expr) string {
	next := 0
	return verb.ReplaceAllStringFunc(format, func(v string) string {
		at := next
		if m := verb.FindStringSubmatch(v); m[2] != "" {
			at, _ = strconv.Atoi(m[2])
			at--
		}
		next = at + 1
		if at < len(args) {
			return piece(args[at])
		}
		return hole
	})
}

// piece is what an operand adds to a text.
func piece(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.SelectorExpr:
		if e.Sel.Name == "ProgramName" {
			return "{}"
		}
	case *ast.CallExpr:
		if safe(e) {
			return ""
		}
	}
	return hole
}

// flat is a sum of texts with its placeholders.
func flat(e ast.Expr) string {
	var b strings.Builder
	for _, o := range operands(e) {
		b.WriteString(piece(o))
	}
	return b.String()
}

func operands(e ast.Expr) []ast.Expr {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD {
		return append(operands(b.X), operands(b.Y)...)
	}
	return []ast.Expr{e}
}

func (s *commandScan) judge(at ast.Node, text string) {
	if m := command.FindString(text); m != "" {
		s.found = append(s.found, fmt.Sprintf("%s: %q has a name that was not checked; write the command with foreign.Command", s.files.Position(at.Pos()), strings.ReplaceAll(m, hole, "NAME")))
	}
}
