// Command catalogreview gives who reviews inspect/catalog a list of work:
//
//	go run ./test/catalogreview -repo openshift/NAME -git DIR -branch BRANCH   files that rows cite and that changed since their review, their rows, and the diff
//	go run ./test/catalogreview -repo openshift/NAME -git DIR -branch BRANCH -after DAY   merges into BRANCH after that day that changed files which rows cite
//	go run ./test/catalogreview -sample 70 -seed 1                            that many rows at random, each of the same chance
//
// It reads the rows as docs/catalog.md has them, and which commits were read from the files in
// inspect/catalog/testdata/reviews: the commit of BRANCH (or of -since), else the last one of the repository.
// DIR is a clone; nothing is fetched.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.repository, "repo", "", "repository as rows name it, such as openshift/cluster-etcd-operator")
	flag.StringVar(&o.git, "git", "", "folder of its clone, with or without a work tree")
	flag.StringVar(&o.branch, "branch", "", "branch to review, such as release-4.23")
	flag.StringVar(&o.since, "since", "", "minor whose commit was read last, such as 4.22, where that is not the branch's own")
	flag.StringVar(&o.after, "after", "", "list merges after this day instead, such as 2025-06-17, of X.Y.0")
	flag.IntVar(&o.sample, "sample", 0, "draw so many rows instead")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the draw")
	flag.Parse()
	if err := run(os.Stdout, ".", o); err != nil {
		fmt.Fprintln(os.Stderr, "catalogreview:", err)
		os.Exit(1)
	}
}

type options struct {
	repository, git, branch, since, after string
	sample                                int
	seed                                  uint64
}

func run(w io.Writer, root string, o options) error {
	page, err := os.ReadFile(filepath.Join(root, "docs", "catalog.md"))
	if err != nil {
		return err
	}
	rows := rowsOf(string(page))
	if o.sample > 0 {
		for i, r := range draw(rows, o.sample, o.seed) {
			fmt.Fprintf(w, "%d\tdocs/catalog.md:%d\t%s\t%s\n", i+1, r.line, r.name, r.source)
		}
		return nil
	}
	if o.repository == "" || o.git == "" || o.branch == "" {
		return errors.New("usage: make catalog-review REPO=openshift/NAME GIT=DIR BRANCH=release-X.Y, with AFTER=DAY its merges; or SAMPLE=70 SEED=N")
	}
	if o.after != "" {
		if _, err := time.Parse(time.DateOnly, o.after); err != nil {
			return fmt.Errorf("AFTER=%s is no day such as 2025-06-17", o.after)
		}
		return merges(w, o, rows)
	}
	reviews, err := readReviews(filepath.Join(root, "inspect", "catalog", "testdata", "reviews"))
	if err != nil {
		return err
	}
	return worklist(w, o, rows, reviews)
}

// run runs git in the clone.
func (o options) run(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", o.git}, args...)...).Output() //nolint:gosec // who runs it names the folder
	return string(out), err
}

// tip is the last commit of the branch, there or at its origin.
func (o options) tip() (string, error) {
	for _, ref := range []string{o.branch, "origin/" + o.branch} {
		if out, err := o.run("rev-parse", "--verify", "--quiet", ref+"^{commit}"); err == nil {
			return strings.TrimSpace(out), nil
		}
	}
	return "", fmt.Errorf("%s: no branch %s", o.git, o.branch)
}

// draw takes n of the rows, in their order.
func draw(rows []row, n int, seed uint64) []row {
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(rows)) //nolint:gosec // a draw to be repeated
	order = order[:min(n, len(order))]
	slices.Sort(order)
	var out []row
	for _, i := range order {
		out = append(out, rows[i])
	}
	return out
}

// worklist writes which cited files changed, which rows cite them, and how.
func worklist(w io.Writer, o options, rows []row, reviews string) error {
	tip, err := o.tip()
	if err != nil {
		return err
	}
	verified, exactly := reviewedAt(reviews, o.repository, cmp.Or(o.since, o.branch), func(commit string) bool {
		_, err := o.run("cat-file", "-e", commit+"^{commit}")
		return err == nil
	})
	if verified == "" {
		return fmt.Errorf("no review names a commit of %s that is in %s", o.repository, o.git)
	}
	if !exactly && o.since != "" {
		return fmt.Errorf("no review names a commit of %s for %s; the last one that was read is %s", o.repository, o.since, verified)
	}
	before, err := o.run("ls-tree", "-r", "--name-only", verified)
	if err != nil {
		return fmt.Errorf("%s: no commit %s", o.git, verified)
	}
	after, err := o.run("ls-tree", "-r", "--name-only", tip)
	if err != nil {
		return err
	}
	changes, err := o.run("diff", "--no-renames", "--name-status", verified, tip)
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for line := range strings.Lines(changes) {
		status, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		changed[name] = status
	}
	all := slices.Compact(slices.Sorted(slices.Values(append(strings.Fields(before), strings.Fields(after)...))))

	by := map[string][]string{} // rows of a changed file
	var gone []string
	cite := 0
	for _, r := range rows {
		paths := r.paths(o.repository)
		if len(paths) == 0 {
			continue
		}
		cite++
		for _, p := range paths {
			found := false
			for _, name := range all {
				if !cites(p, name) {
					continue
				}
				found = true
				if changed[name] != "" && !slices.Contains(by[name], r.name) {
					by[name] = append(by[name], r.name)
				}
			}
			if !found {
				gone = append(gone, r.name+": "+p)
			}
		}
	}
	if !exactly {
		fmt.Fprintf(w, "No review names a commit of %s for %s: compared with the last one that was read.\n", o.repository, o.branch)
	}
	fmt.Fprintf(w, "%s: %s, read last, to %s (%.9s): %d of %d changed files are cited; %d rows cite the repository\n", o.repository, verified, o.branch, tip, len(by), len(changed), cite)
	files := make([]string, 0, len(by))
	for name := range by {
		files = append(files, name)
	}
	slices.SortFunc(files, cmp.Compare)
	for _, name := range files {
		fmt.Fprintf(w, "\n%s %s\n", changed[name], name)
		for _, r := range by[name] {
			fmt.Fprintf(w, "    %s\n", r)
		}
	}
	if len(gone) > 0 {
		fmt.Fprint(w, "\nin neither tree:\n")
		for _, l := range gone {
			fmt.Fprintf(w, "    %s\n", l)
		}
	}
	if len(files) == 0 {
		return nil
	}
	diff, err := o.run(append([]string{"diff", "--no-renames", verified, tip, "--"}, files...)...)
	fmt.Fprint(w, "\n", diff)
	return err
}
