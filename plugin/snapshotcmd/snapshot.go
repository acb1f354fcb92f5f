package snapshotcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// snapshotFlags is what was typed.
type snapshotFlags struct {
	config       *cli.ConfigFlags
	app          cli.App
	nodes        connect.NodeFlags
	output       string
	from         []string
	restartSafe  bool
	allowUnknown bool
}

// snapshotOptions is what a run needs.
type snapshotOptions struct {
	app          cli.App
	reading      connect.Reading
	output       string // a file; "-": standard output
	allowUnknown bool
}

// NewCommand is the command snapshot.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &snapshotFlags{config: config, app: app}
	cmd := &cobra.Command{
		Use:        "snapshot -o FILE",
		SuggestFor: []string{"save", "dump", "export", "gather"},
		Short:      "Save what inspect reads in one file, without keys and tokens",
		Long: `Reads what inspect reads and saves the facts in one compressed file that every reading command takes with --from. What is asked of a whole cluster before something is changed is read too, as of that time: fix-api-int --from FILE --dry-run=client and rotate NAME --from FILE --dry-run=client check it without the cluster.

The file holds certificates, where they are, and the metadata that judging them needs: never a private key or a token. Its format is described in docs/snapshot.md.`,
		Example: templates.Examples(strings.ReplaceAll(`  # Save a cluster's facts, and look at them elsewhere
  {} snapshot -o cluster.certrot
  {} inspect --from cluster.certrot

  # Put several files into one
  {} snapshot --from secrets.yaml --from configmaps.yaml -o both.certrot`, "{}", app.ProgramName)),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(cmd.Context())
			if err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f.addFlags(cmd)
	return cmd
}

func (f *snapshotFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "File to write; - for standard output. An earlier snapshot is replaced, and no file of another kind.")
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Read this file or must-gather instead of a cluster, - for standard input; repeatable.")
	cmd.Flags().BoolVar(&f.restartSafe, "restart-safe", false, "Ask on each node too what its kubelet would be told if it started now, as verify restart-safe does.")
	f.nodes.AddFlags(cmd, f.config)
	cmd.Flags().BoolVar(&f.allowUnknown, "allow-unknown", false, "Exit with 0 although something could not be read.")
}

func (f *snapshotFlags) toOptions(ctx context.Context) (*snapshotOptions, error) {
	if f.output == "" {
		return nil, cli.WithHint(errors.New("-o FILE is required"), "%s", f.app.Hints().Next("{} snapshot -o cluster.certrot")+connect.Reading{From: f.from}.Hints().From())
	}
	path, err := target(f.output)
	if err == nil {
		_, err = replaced(path)
	}
	if err != nil { // before all is read for nothing
		return nil, err
	}
	nodes, err := f.nodes.ToChoice(ctx, f.app, collect.Scope{})
	if err != nil {
		return nil, err
	}
	if err := f.nodes.CheckFrom(f.from); err != nil {
		return nil, err
	}
	if f.restartSafe && len(f.from) > 0 {
		return nil, connect.LiveOnly("--restart-safe")
	}
	nodes.Options.Texts, nodes.Served = true, true // so that a plan can be made from the file
	nodes.RestartProbe = f.restartSafe
	return &snapshotOptions{
		app: f.app, output: f.output, allowUnknown: f.allowUnknown,
		reading: connect.Reading{App: f.app, Config: f.config, From: f.from, Nodes: nodes, Status: true}, // so that its checks can be made from the file
	}, nil
}

func (o *snapshotOptions) run(ctx context.Context) error {
	s, err := o.reading.Read(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: nothing was written")
	}
	if err := o.write(ctx, s); err != nil {
		return err
	}
	ui.PrintUnauthenticated(o.app.Streams.ErrOut, s.Cluster.Unauthenticated)
	gaps := append(slices.Clone(s.Gaps), s.Status.Unread()...)
	for _, g := range gaps {
		_, _ = fmt.Fprintf(o.app.Streams.ErrOut, "unknown: %s: %s\n", ui.Clean(ui.OneLine(g.What+" "+g.Where)), ui.Clean(ui.OneLine(g.Reason)))
	}
	if len(gaps) > 0 && !o.allowUnknown {
		return cli.Incomplete(errors.New("the snapshot was written, but it is not complete (see above)"))
	}
	return nil
}

// write replaces the output by a complete snapshot: a reader sees the previous file or
// the new one. A device or a pipe is written to and stays what it is: replaced by a file,
// /dev/null is lost to the whole machine.
func (o *snapshotOptions) write(ctx context.Context, s inspect.Snapshot) error {
	if o.output == "-" {
		return collect.WriteSnapshot(o.answer(func() (io.Writer, error) { return ui.Raw(o.app.Streams.Out), nil }), s) // it is compressed
	}
	if at, err := os.Stat(o.output); err == nil && !at.Mode().IsRegular() {
		return o.writeInto(ctx, s)
	}
	path, err := target(o.output)
	if err != nil {
		return err
	}
	before, err := replaced(path)
	if err != nil {
		return err
	}
	var temp *os.File
	err = collect.WriteSnapshot(o.answer(func() (_ io.Writer, err error) {
		temp, err = os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
		return temp, err
	}), s)
	if temp == nil {
		return fmt.Errorf("write %s: %w", o.output, err)
	}
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", o.output, err), os.Remove(temp.Name()))
	}
	o.tell(path, s, before)
	return nil
}

// answer is what a snapshot is written to, opened when all of it is known: until then the command may end, and
// leaves nothing that is not whole.
func (o *snapshotOptions) answer(open func() (io.Writer, error)) io.Writer {
	return &firstWrite{open: func() (io.Writer, error) {
		if err := ui.BeginAnswer(o.app.Streams.Out); err != nil {
			return nil, err
		}
		return open()
	}}
}

// firstWrite opens what it writes to when there is something to write.
type firstWrite struct {
	open func() (io.Writer, error)
	to   io.Writer
}

func (f *firstWrite) Write(p []byte) (int, error) {
	if f.to == nil {
		to, err := f.open()
		if err != nil {
			return 0, err
		}
		f.to = to
	}
	return f.to.Write(p)
}

// target is the file that is replaced: of a link, what it leads to. A link that leads
// nowhere is left as it is: whose it is, and what it is for, is unknown.
func target(output string) (string, error) {
	at, err := os.Lstat(output)
	if output == "-" || err != nil || at.Mode()&os.ModeSymlink == 0 {
		return output, nil
	}
	path, err := filepath.EvalSymlinks(output)
	if err != nil {
		return "", cli.WithHint(fmt.Errorf("write %s: it is a link whose target can't be followed: %w", output, err), "name the file that the link should lead to, or remove the link")
	}
	return path, nil
}

// writeInto writes to what is there and is no regular file; a folder can't be opened so.
// A pipe may have no reader: the end of ctx ends the wait for one.
func (o *snapshotOptions) writeInto(ctx context.Context, s inspect.Snapshot) error {
	done := make(chan error, 1)
	go func() {
		file, err := os.OpenFile(o.output, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(collect.WriteSnapshot(o.answer(func() (io.Writer, error) { return file, nil }), s), file.Close())
		}
		done <- err
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("interrupted while writing %s: not all was written", o.output)
	case err := <-done:
		if err != nil {
			return fmt.Errorf("write %s: %w", o.output, err)
		}
		return nil
	}
}
