package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// merges writes which merges into a branch after a day changed files that rows cite, or vendored copies of
// such: what a later patch version brought, and the first ones lack.
// git takes a bare day as that day at the present time of the clock.
func merges(w io.Writer, o options, rows []row) error {
	tip, err := o.tip()
	if err != nil {
		return err
	}
	log, err := o.run("log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--name-only", "--since="+o.after+"T00:00:00Z", "--format=%x00%h %cs %s", tip)
	if err != nil {
		return fmt.Errorf("%s: git log %s: %w", o.git, o.branch, err)
	}
	count := 0
	for merge := range strings.SplitSeq(strings.TrimPrefix(log, "\x00"), "\x00") {
		title, files, _ := strings.Cut(merge, "\n")
		var cited strings.Builder
		for file := range strings.Lines(files) {
			file = strings.TrimSpace(file)
			if names := citing(rows, o.repository, file); len(names) > 0 {
				fmt.Fprintf(&cited, "    %s\n        %s\n", file, strings.Join(names, "\n        "))
			}
		}
		if cited.Len() > 0 {
			count++
			fmt.Fprintf(w, "%s\n%s", title, cited.String())
		}
	}
	fmt.Fprintf(w, "%s: %d merges into %s after %s changed what rows cite\n", o.repository, count, o.branch, o.after)
	return nil
}

// citing are the rows that cite a file of a repository, or the file of another repository of which it is the
// vendored copy.
func citing(rows []row, repository, file string) []string {
	if copied, ok := strings.CutPrefix(file, "vendor/github.com/"); ok {
		owner, rest, _ := strings.Cut(copied, "/")
		name, path, _ := strings.Cut(rest, "/")
		repository, file = owner+"/"+name, path
	}
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.name) && slices.ContainsFunc(r.paths(repository), func(p string) bool { return cites(p, file) }) {
			names = append(names, r.name)
		}
	}
	return names
}
