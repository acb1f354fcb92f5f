// Command changed says what a change touches, for `make check`:
//
//	go run ./test/changed lint      the packages that changed files are in
//	go run ./test/changed test      those, and the packages that import them
//	go run ./test/changed targets   the long targets of the Makefile that test them beside `make test` (targets.go)
//
// What changed: the work tree against -base, new files among it. Without -base, the work
// tree against HEAD, or, where both are the same, HEAD against its parent. `targets` asks
// what a day of commits changed: it may run in a fresh clone, after several commits. Where git
// can't say (no git, a shallow clone), everything has changed.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func main() {
	base := flag.String("base", os.Getenv("CERTROT_BASE"), "a commit to compare with")
	flag.Parse()
	if err := run(os.Stdout, flag.Arg(0), *base); err != nil {
		fmt.Fprintln(os.Stderr, "changed:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, what, base string) error {
	switch what {
	case "targets":
		if base == "" {
			base = aDayAgo()
		}
		for _, t := range targetsOf(since(base)) {
			fmt.Fprintln(w, t)
		}
		return nil
	case "lint", "test":
		if base == "" {
			base = lastCommit()
		}
		all, err := list()
		if err != nil {
			return err
		}
		changed := all.holding(since(base))
		if what == "test" {
			changed = all.importing(changed)
		}
		for _, p := range changed {
			fmt.Fprintln(w, p)
		}
		return nil
	}
	return errors.New("usage: changed [-base COMMIT] lint|test|targets")
}

// files are paths of files below the checkout's folder. all: git could not say which.
type files struct {
	paths []string
	all   bool
}

func since(base string) files {
	if base == "" {
		return files{all: true}
	}
	tracked, err := git("diff", "--name-only", "-z", base, "--")
	if err != nil {
		return files{all: true}
	}
	untracked, err := git("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return files{all: true}
	}
	return files{paths: strings.FieldsFunc(tracked+untracked, func(r rune) bool { return r == 0 })}
}

func lastCommit() string {
	status, err := git("status", "--porcelain")
	switch {
	case err != nil:
		return ""
	case status != "":
		return "HEAD"
	}
	parent, _ := git("rev-parse", "--verify", "--quiet", "HEAD^") // the first commit has none
	return strings.TrimSpace(parent)
}

// aDayAgo is the last commit that is a day older than HEAD; "" where there is none.
func aDayAgo() string {
	at, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return ""
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
	if err != nil {
		return ""
	}
	before := time.Unix(seconds, 0).Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	commit, _ := git("rev-list", "-1", "--first-parent", "--before="+before, "HEAD")
	return strings.TrimSpace(commit)
}

func git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.String(), nil
}
