package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// printPlanDiff prints what changes in files, as a unified diff, or as the program
// in KUBECTL_EXTERNAL_DIFF prints it. Keys and tokens are runs of x on both sides.
func printPlanDiff(out, errOut io.Writer, a *Execution, p *remediate.Plan) error {
	notes := &strings.Builder{}
	a.PrintBasis(notes, p)
	printNotes(notes, p)
	printUnknown(notes, p)
	if _, err := io.WriteString(errOut, ui.CleanLines(notes.String())); err != nil {
		return err
	}
	var changes []fileDiff
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			switch {
			case s.Change == nil:
			case s.Change.File == nil:
				ui.Printf(errOut, "%s: then %s\n", ui.Clean(cmp.Or(n.Name, TheCluster)), s.Change.Summary)
			default:
				changes = append(changes, fileDiff{n.Name, s.Change.File})
			}
		}
	}
	if program := os.Getenv("KUBECTL_EXTERNAL_DIFF"); program != "" && len(changes) > 0 {
		return externalDiff(out, errOut, program, changes)
	}
	if p.Empty() {
		ui.Printf(errOut, "%s\n", ui.Clean(noChanges(p)))
	}
	for _, c := range changes {
		name := c.node + ":" + c.Path
		text := diff.Diff(name, readable(c.Before, c.Old), name, readable(c.After, c.New))
		if _, err := io.WriteString(out, ui.CleanLines(string(text))); err != nil {
			return err
		}
	}
	return nil
}

type fileDiff struct {
	node string
	*remediate.FileChange
}

// readable is a kubeconfig with the CA's thousands of characters cut short, and
// below it a comment for each certificate in it.
func readable(text []byte, certs []*pki.Cert) []byte {
	ca, err := kubeconfig.Find(text)
	if err != nil {
		return text
	}
	lineStart := bytes.LastIndexByte(text[:ca.Offset], '\n') + 1
	indent := strings.Repeat(" ", len(text[lineStart:ca.Offset])-len(bytes.TrimLeft(text[lineStart:ca.Offset], " ")))
	end := ca.Offset + ca.Length
	rest := text[end:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[i:]
	} else {
		rest = nil
	}
	var b bytes.Buffer
	b.Write(text[:ca.Offset])
	fmt.Fprintf(&b, "%.16s… # %d bytes, %s:", text[ca.Offset:end], ca.Length, ui.Count(len(certs), "certificate"))
	for _, c := range certs {
		fmt.Fprintf(&b, "\n%s#   %s", indent, Described(c))
	}
	b.Write(rest)
	return b.Bytes()
}

// externalDiff calls the program as kubectl diff does: with two folders. Exit
// code 1 says that there are differences.
func externalDiff(out, errOut io.Writer, program string, changes []fileDiff) (err error) {
	if err := ui.BeginAnswer(out); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "certrot-diff-")
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	live, planned := filepath.Join(dir, "LIVE"), filepath.Join(dir, "PLANNED")
	for folder, text := range map[string]func(fileDiff) []byte{live: func(c fileDiff) []byte { return c.Before }, planned: func(c fileDiff) []byte { return c.After }} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		for _, c := range changes {
			name := strings.ReplaceAll(c.node+c.Path, "/", ".")
			if err := os.WriteFile(filepath.Join(folder, name), []byte(ui.CleanLines(string(text(c)))), 0o600); err != nil {
				return fmt.Errorf("diff: %w", err)
			}
		}
	}
	argv := append(strings.Fields(program), live, planned)
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) //nolint:gosec // the user's own choice of program, as with kubectl diff
	cmd.Stdout, cmd.Stderr = ui.Raw(out), ui.Raw(errOut)                   // it may set colours; what it reads is clean
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	if err != nil {
		return cli.WithHint(fmt.Errorf("KUBECTL_EXTERNAL_DIFF=%q: %w", program, err), "unset it to have the diff made here")
	}
	return nil
}

// CertsIn are the certificates in PEM text.
func CertsIn(text []byte) []*pki.Cert {
	var out []*pki.Cert
	for _, found := range pki.NewScanner().Scan(text) {
		out = append(out, found.Content.Certs...)
	}
	return out
}
