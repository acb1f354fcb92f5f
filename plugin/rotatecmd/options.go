package rotatecmd

import (
	"io"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// rotateOptions is what a run needs, of rotate and of its subcommands.
type rotateOptions struct {
	app     cli.App
	reading connect.Reading
	names   []string
	list    bool
	how     bool   // only how it goes is explained
	sources bool   // with where that is known from
	version string // of that; empty: the cluster's own
	dryRun  string // apply.DryRunNone, apply.DryRunClient or apply.DryRunServer
	yes     bool
	output  string
	// listed prints --list in a form that each list has; nil: output is another one.
	listed    func(io.Writer, any) error
	noHeaders bool // of --list
	risks     []string
	wait      time.Duration
	leaf      bool   // what the signer signs is rotated, too
	line      string // how it was called, without NAMEs
	reads     string // its flags about the cluster and nodes; see apply.ReadingFlags
	again     string // the same without what makes it a dry run, or says how it is printed
	details   bool   // everything is printed, not one screen
	board     *ui.Board
}

func (o *rotateOptions) checkNames() error {
	run := o.runner(nil)
	for _, name := range o.names {
		if err := run.CheckName(name); err != nil {
			return exitError(suggested(err, name, o.reading.Hints().From()))
		}
	}
	return nil
}

// runner rotates as the options say. conn is nil where nothing is changed.
func (o *rotateOptions) runner(conn *connect.Connection) *rotate.Runner {
	r := &rotate.Runner{
		Observer: humanObserver{o}, Hints: o.app.Hints(), Risks: o.risks, Leaves: o.leaf,
		Try: o.dryRun != apply.DryRunClient, Wait: o.wait, Resume: o.line, Reads: o.reads,
	}
	if conn != nil {
		r.Cluster = cluster{o, conn}
	}
	return r
}

// allowed refuses to write on the word of an API server that is not authenticated.
func (o *rotateOptions) allowed() error {
	if len(o.reading.From) > 0 { // nothing is written, or emitted that writes
		return nil
	}
	return connect.Writing(o.risks, false).Allows(o.reading.Config)
}
