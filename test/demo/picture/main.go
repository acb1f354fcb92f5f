// Command picture draws what `oc certrot inspect` prints for the demo data on a terminal of 80
// columns, with its colours, for the README: docs/inspect-light.svg and docs/inspect-dark.svg.
//
// A picture has no script and loads no font: each text stands in its column, and is as wide as
// its columns, whichever monospaced font the browser has. A test verifies that the committed
// pictures are what this program writes.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: picture SNAPSHOT FOLDER")
		os.Exit(2)
	}
	for name, value := range terminal() {
		if err := os.Setenv(name, value); err != nil {
			fail(err)
		}
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

const (
	columns = 80
	command = "oc certrot inspect --from demo.certrot"
)

// terminal is the environment in which oc calls the plugin.
func terminal() map[string]string {
	return map[string]string{"COLUMNS": fmt.Sprint(columns), "LINES": "24", "_": "/usr/bin/oc"}
}

// run writes the pictures of a snapshot into a folder.
func run(snapshot, folder string) error {
	screen, err := inspect(snapshot)
	if err != nil {
		return err
	}
	lines, err := parse(screen)
	if err != nil {
		return err
	}
	for _, t := range themes() {
		if err := os.WriteFile(filepath.Join(folder, t.file()), t.draw(lines), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// inspect is what the command prints on a terminal. The snapshot's path is in what is printed, so
// that it is read where it has the name that the README has.
func inspect(snapshot string) (screen string, err error) {
	data, err := os.ReadFile(snapshot)
	if err != nil {
		return "", err
	}
	from, err := os.Getwd()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return "", err
	}
	defer func() {
		if back := os.Chdir(from); err == nil {
			err = back
		}
		if gone := os.RemoveAll(dir); err == nil {
			err = gone
		}
	}()
	if err := os.Chdir(dir); err != nil {
		return "", err
	}
	words := strings.Fields(command)
	if err := os.WriteFile(words[len(words)-1], data, 0o600); err != nil {
		return "", err
	}
	var out, errOut bytes.Buffer
	args := append(append([]string{"kubectl-certrot"}, words[2:]...), "--color=always")
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	made := func() time.Time { return time.Date(2024, 2, 10, 6, 45, 0, 0, time.UTC) } // the file is not old
	if code := plugin.MainAt(context.Background(), made, "demo", args, streams); code != 1 || errOut.Len() > 0 {
		return "", fmt.Errorf("%s: exit code %d, want 1 for findings: %s", command, code, &errOut)
	}
	return out.String(), nil
}
