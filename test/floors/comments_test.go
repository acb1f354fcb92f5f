package floors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	fileName  = regexp.MustCompile(`(^|[\s("'])(\w+\.go)\b`)
	qualified = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	elsewhere = regexp.MustCompile(`\w/\w`) // a path: in another project
)

// TestCommentsPointAtWhatIsThere: a file, or a name of another package, that a comment sends its
// reader to. Comments that quote a path are about other projects.
func TestCommentsPointAtWhatIsThere(t *testing.T) {
	t.Parallel()
	root, fset := filepath.Join("..", ".."), token.NewFileSet()
	files, declared := map[string]bool{}, map[string]map[string]bool{}
	var comments []*ast.CommentGroup
	for _, dir := range wordFolders {
		walk(t, filepath.Join(root, dir), ".go", func(file string) {
			f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			comments, files[path.Base(filepath.ToSlash(file))] = append(comments, f.Comments...), true
			if declared[f.Name.Name] == nil {
				declared[f.Name.Name] = map[string]bool{}
			}
			wordsOf(f, func(_ token.Pos, name string, _ bool) { declared[f.Name.Name][name] = true })
		})
	}
	found := 0
	for _, c := range comments {
		text := c.Text()
		if elsewhere.MatchString(text) {
			continue
		}
		for _, m := range fileName.FindAllStringSubmatch(text, -1) {
			if found++; !files[m[2]] {
				t.Errorf("%s: there is no %s", fset.Position(c.Pos()), m[2])
			}
		}
		for _, m := range qualified.FindAllStringSubmatch(text, -1) {
			if names := declared[m[1]]; names == nil {
				continue
			} else if found++; !names[m[2]] {
				t.Errorf("%s: there is no %s", fset.Position(c.Pos()), m[0])
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d names were checked", found)
	}
}
