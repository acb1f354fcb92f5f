package main

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// row is a line of a table of docs/catalog.md.
type row struct {
	name   string // section, first cell and range
	line   int    // some rows have the same name
	source string
}

// rowsOf reads the tables that have a source.
func rowsOf(page string) []row {
	var out []row
	var section string
	var head []string
	at := 0
	for line := range strings.Lines(page) {
		at++
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if !strings.HasPrefix(line, "|") {
			head = nil
			continue
		}
		cells := cellsOf(line)
		source := slices.Index(head, "source")
		switch {
		case head == nil:
			head = cells
		case source >= 0 && len(cells) == len(head) && !strings.HasPrefix(line, "|---"):
			name := section + ": " + cells[0]
			if in := slices.Index(head, "holds for"); in > 0 {
				name += " (" + cells[in] + ")"
			}
			out = append(out, row{name: name, line: at, source: cells[source]})
		}
	}
	return out
}

// cellsOf are the cells of a table's line, empty ones among them; \\| is text.
func cellsOf(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", `\|`))
	}
	return cells
}

// repositoryName begins what a source says of a repository, of a Go package, or of a page.
var repositoryName = regexp.MustCompile(`\b(?:openshift|openshift-service-mesh|kubernetes|medik8s|okd-project|go\.etcd\.io|k8s\.io|net|crypto|(?:[a-z0-9]+\.)+(?:io|com|org))/[a-z0-9-]+\b`)

// paths are the files, folders and patterns that the row cites of a repository. Some rows name
// it without its owner.
func (r row) paths(repository string) []string {
	_, short, _ := strings.Cut(repository, "/")
	text := regexp.MustCompile(`(^|[^/a-z0-9-])`+regexp.QuoteMeta(short)+` `).ReplaceAllString(r.source, "${1}"+repository+" ")
	var out []string
	starts := repositoryName.FindAllStringIndex(text, -1)
	for i, at := range starts {
		if text[at[0]:at[1]] != repository {
			continue
		}
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		for _, word := range strings.FieldsFunc(text[at[1]:end], func(r rune) bool { return strings.ContainsRune(" ;()", r) }) {
			for _, p := range braces(strings.Trim(word, ",.:")) {
				if (strings.Contains(p, "/") || slices.Contains([]string{".go", ".yaml", ".sh", ".md", ".template"}, path.Ext(p))) && !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// braces writes {a,b} out.
func braces(word string) []string {
	from, to := strings.Index(word, "{"), strings.Index(word, "}")
	if from < 0 || to < from {
		return []string{word}
	}
	var out []string
	for choice := range strings.SplitSeq(word[from+1:to], ",") {
		out = append(out, braces(word[:from]+choice+word[to+1:])...)
	}
	return out
}

// cites reports whether a path of a source, which may begin below a folder or name one, is that of a file.
func cites(cited, file string) bool {
	want, have := strings.Split(cited, "/"), strings.Split(file, "/")
	for from := 0; from+len(want) <= len(have); from++ {
		same := true
		for i, w := range want {
			ok, err := path.Match(w, have[from+i])
			same = same && ok && err == nil
		}
		// A file anywhere; a folder from the top on, since "pkg/operator" is in vendor, too.
		if same && (from == 0 || from+len(want) == len(have) && !strings.HasPrefix(file, "vendor/")) {
			return true
		}
	}
	return false
}

func readReviews(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.tsv"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f) //nolint:gosec // the repository's own
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), nil
}

var (
	minorOf    = regexp.MustCompile(`\d+\.\d+`)
	reviewedIn = regexp.MustCompile(`((?:\d+\.\d+[/=]?)+) ([0-9a-f]{7,40})\b`)
)

// reviewedAt returns the commit of a repository that was read for a branch, of the last review that
// names one (exact), else its last one; empty: none was read. What is not there is another repository's, which
// has a copy of this one.
func reviewedAt(reviews, repository, branch string, there func(commit string) bool) (commit string, exactly bool) {
	minor := minorOf.FindString(branch)
	var exact, last string
	for line := range strings.Lines(reviews) {
		cells := strings.Split(line, "\t")
		if len(cells) < 2 || cells[0] != repository {
			continue
		}
		own, _, _ := strings.Cut(cells[1], ";") // another repository's
		for _, m := range reviewedIn.FindAllStringSubmatch(own, -1) {
			if !there(m[2]) {
				continue
			}
			last = m[2]
			if slices.Contains(minorOf.FindAllString(m[1], -1), minor) {
				exact = m[2]
			}
		}
	}
	return cmp.Or(exact, last), exact != ""
}
