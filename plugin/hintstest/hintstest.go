// Package hintstest finds the commands that the program prints and that its
// documentation names, and holds each against a tree of commands. It has no part in
// what ships.
package hintstest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Unknown stands for what a text gets only when it is printed.
const Unknown = "UNKNOWN"

// Command is a command in a text: its words after the program's name.
type Command struct {
	Where   string
	Program string // "certrot", "kubectl" or "oc"
	Words   []string
}

func (c Command) String() string {
	return c.Where + ": " + c.Program + " " + strings.Join(c.Words, " ")
}

// text is a string that is printed, or a piece of documentation.
type text struct {
	where, s string
	// commands says that it has nothing but commands: each word after a program's name is one.
	commands bool
}

// Commands are all those that the module at root prints or documents.
func Commands(root string) ([]Command, error) {
	var texts []text
	for _, folder := range []string{"plugin", "remediate", "inspect", "nodeexec", "docs", "testdata", "README.md"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if d != nil && strings.HasSuffix(d.Name(), "test") { // helpers of tests
					return fs.SkipDir
				}
				return err
			}
			found, err := textsOf(path)
			texts = append(texts, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var out []Command
	for _, t := range texts {
		out = append(out, commandsOf(t)...)
	}
	return out, nil
}

func textsOf(path string) ([]text, error) {
	switch {
	case strings.HasSuffix(path, "_test.go"), filepath.Base(path) == "plainkey.go": // that one lists pairs of letters
		return nil, nil
	case filepath.Ext(path) == ".go":
		return goTexts(path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(path) {
	case ".md":
		return markdownTexts(path, string(raw)), nil
	case ".txtar", ".txt", ".golden":
		return goldenTexts(path, string(raw)), nil
	}
	return nil, nil
}

// goTexts are a file's string constants, those that are added to each other as one.
func goTexts(path string) ([]text, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	verbs := regexp.MustCompile(`%(\[[0-9]+\])?[-+#0-9.]*[a-zA-Z]`)
	var out []text
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if verb, resource, ok := right(e); ok { // inspect.Hints make this of it, and a test there holds them to it
			where := set.Position(e.Pos()).String()
			out = append(out, text{where: where, s: "kubectl auth can-i " + verb + " " + verbs.ReplaceAllString(resource, Unknown) + " -n " + Unknown})
		}
		s, literal := constant(e)
		if !literal {
			return true
		}
		s = verbs.ReplaceAllString(s, Unknown)
		out = append(out, text{where: set.Position(e.Pos()).String(), s: s})
		return false
	})
	return out, nil
}

// right is what inspect.MayList, MayGet or a literal inspect.Permission asks for.
func right(e ast.Expr) (verb, resource string, ok bool) {
	switch e := e.(type) {
	case *ast.CallExpr:
		called, _ := e.Fun.(*ast.SelectorExpr)
		if called == nil || len(e.Args) != 2 || called.Sel.Name != "MayList" && called.Sel.Name != "MayGet" {
			return "", "", false
		}
		resource, _ = constant(e.Args[0])
		return strings.ToLower(strings.TrimPrefix(called.Sel.Name, "May")), resource, true
	case *ast.CompositeLit:
		named, _ := e.Type.(*ast.SelectorExpr)
		if named == nil || named.Sel.Name != "Permission" {
			return "", "", false
		}
		for _, element := range e.Elts {
			field, _ := element.(*ast.KeyValueExpr)
			if field == nil {
				continue
			}
			value, _ := constant(field.Value)
			switch name, _ := field.Key.(*ast.Ident); name.Name {
			case "Verb":
				verb = value
			case "Resource":
				resource = value
			}
		}
		return verb, resource, true
	}
	return "", "", false
}

// constant is the text of an expression, with Unknown for what is no literal in it.
func constant(e ast.Expr) (s string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return Unknown, false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return Unknown, false
		}
		left, leftLiteral := constant(e.X)
		right, rightLiteral := constant(e.Y)
		return left + right, leftLiteral || rightLiteral
	case *ast.SelectorExpr:
		if e.Sel.Name == "ProgramName" {
			return "{}", false
		}
	}
	return Unknown, false
}

// markdownTexts are the code of a document: its blocks, line by line, and what is between
// backquotes.
func markdownTexts(path, s string) []text {
	inline := regexp.MustCompile("`([^`]+)`")
	starts := regexp.MustCompile(`^\s*(\$ )?(sudo )?(kubectl|oc|certrot) `)
	var out []text
	block := false
	for i, line := range strings.Split(strings.ReplaceAll(s, "\\\n", " "), "\n") {
		where := path + ":" + strconv.Itoa(i+1)
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			block = !block
			continue
		}
		if block {
			if starts.MatchString(line) {
				code, _, _ := strings.Cut(line, " #")
				out = append(out, text{where, code, true})
			}
			continue
		}
		for _, m := range inline.FindAllStringSubmatch(line, -1) {
			if starts.MatchString(m[1]) {
				out = append(out, text{where, m[1], true})
			}
		}
	}
	return out
}

// goldenTexts are the lines of what tests expect that say what to do.
func goldenTexts(path, s string) []text {
	hint := regexp.MustCompile(`next:? |^undo|\$ (oc|kubectl) certrot|(oc|kubectl) certrot [a-z]`)
	var out []text
	for i, line := range strings.Split(s, "\n") {
		if hint.MatchString(line) && !regexp.MustCompile(`^(! )?(stdout|stderr|grep|exec) `).MatchString(line) {
			out = append(out, text{where: path + ":" + strconv.Itoa(i+1), s: line})
		}
	}
	return out
}

// commandsOf are the commands of a text. A command goes on to the end of its sentence, or
// of what is between quotes: what is prose in there has no flags.
func commandsOf(t text) []Command {
	program := regexp.MustCompile("(^|[\\s(`:\"'/]|\\|)((?:kubectl|oc) certrot|certrot|\\{\\}|kubectl|oc) +")
	s := t.s
	var out []Command
	for {
		m := program.FindStringSubmatchIndex(s)
		if m == nil {
			return out
		}
		name := s[m[4]:m[5]]
		s = s[m[1]:]
		if name == "{}" || strings.HasSuffix(name, "certrot") {
			name = "certrot"
		}
		words := commandWords(s)
		if len(words) > 0 && !strings.Contains(words[0], "/") && (t.commands || !isProse(words[0])) && !standsFor(words[0]) {
			out = append(out, Command{t.where, name, words})
		}
	}
}

// commandWords are the words up to where a command ends.
func commandWords(s string) []string {
	s, _, _ = strings.Cut(s, "\n")
	var out []string
	quote := ""
	for word := range strings.FieldsSeq(s) {
		if quote != "" {
			if strings.HasSuffix(word, quote) {
				quote = ""
			}
			continue
		}
		switch word {
		case "|", "&&", ";", "and", "or", "which", "that", ">", "\\":
			return out
		}
		if i := strings.IndexAny(word, "'\""); i >= 0 && strings.Count(word, word[i:i+1]) == 1 {
			quote = word[i : i+1]
			out = append(out, word[:i]+Unknown)
			continue
		}
		bare := strings.TrimRight(word, ".,:;)`”")
		if strings.HasSuffix(word, "...") {
			bare = word
		}
		if bare == "" {
			return out
		}
		out = append(out, bare)
		if bare != word {
			return out
		}
	}
	return out
}

// isProse knows the words by which a sentence about a program goes on.
func isProse(word string) bool {
	return slices.Contains([]string{
		"a", "again", "alone", "and", "are", "as", "asks", "by", "can", "cannot", "can't", "changes", "decides", "does", "ends", "finds", "from", "gets", "has",
		"in", "is", "knows", "leaves", "makes", "may", "must", "needs", "never", "of", "on", "or", "prints", "puts", "reads", "refuses", "removes", "runs", "says", "starts", "takes", "tells",
		"that", "the", "to", "triggers", "types", "use", "uses", "wait", "was", "where", "which", "will", "with", "works", "write", "writes",
	}, strings.TrimRight(word, ".,:;)"))
}

// Check holds a command against a tree of commands: its subcommand is there, and each of
// its flags is, takes its value, and is not hidden.
func Check(root *cobra.Command, c Command) error {
	at, args := root, []string{}
	for i := 0; i < len(c.Words); i++ {
		word := c.Words[i]
		if !strings.HasPrefix(word, "-") || word == "-" || word == "--" {
			if sub := child(at, word); sub != nil && len(args) == 0 {
				at = sub
				continue
			}
			args = append(args, word)
			continue
		}
		took, err := checkFlag(at, word, c.Words[i+1:])
		if err != nil {
			return err
		}
		i += took
	}
	if at == root && len(c.Words) > 0 && (len(args) > 0 || !strings.HasPrefix(c.Words[0], "-")) {
		return fmt.Errorf("there is no command %q", c.Words[0])
	}
	if !at.IsAvailableCommand() && at != root {
		return fmt.Errorf("%s is hidden or deprecated", at.CommandPath())
	}
	if at.Name() == "can-i" && !slices.Contains(c.Words, "--list") && (len(args) < 2 || strings.Contains(args[0]+args[1], ",")) {
		return fmt.Errorf("%s needs one verb and one resource", at.CommandPath())
	}
	return nil
}

func child(of *cobra.Command, word string) *cobra.Command {
	for _, sub := range of.Commands() {
		if sub.Name() == word || sub.HasAlias(word) {
			return sub
		}
	}
	return nil
}

// checkFlag returns how many of the words after a flag are its value.
func checkFlag(of *cobra.Command, word string, rest []string) (int, error) {
	name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
	of.InitDefaultHelpFlag()
	of.InheritedFlags() // joins what the parents give
	var flag *pflag.Flag
	if strings.HasPrefix(word, "--") {
		flag = of.Flags().Lookup(name)
	} else {
		flag = of.Flags().ShorthandLookup(name[:1])
		if flag != nil && len(name) > 1 {
			value, hasValue = name[1:], true
		}
	}
	switch {
	case flag == nil:
		return 0, fmt.Errorf("%s has no flag %s", of.CommandPath(), word)
	case flag.Hidden || flag.Deprecated != "":
		return 0, fmt.Errorf("%s: the flag %s is hidden or deprecated", of.CommandPath(), word)
	}
	took := 0
	if !hasValue {
		if flag.NoOptDefVal != "" {
			return 0, nil
		}
		if len(rest) == 0 { // the line ends here
			return 0, nil
		}
		value, took = rest[0], 1
	}
	if standsFor(value) {
		return took, nil
	}
	if err := flag.Value.Set(value); err != nil {
		return 0, fmt.Errorf("%s %s %s: %w", of.CommandPath(), word, value, err)
	}
	return took, nil
}

// standsFor reports whether a word is a placeholder: in capitals, or known later.
func standsFor(value string) bool {
	return strings.Contains(value, Unknown) || strings.HasPrefix(value, "<") || strings.HasPrefix(value, "─") || value == strings.ToUpper(value) && strings.ToLower(value) != value || strings.Contains(value, "…")
}
