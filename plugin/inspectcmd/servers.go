package inspectcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// serverOptions is what a run needs that asks servers.
type serverOptions struct {
	inspectOptions
	servers []inspect.Address
	limit   time.Duration // for connecting to a server and its handshake
	print   ui.ServedPrinter
}

// namesServers reports whether arguments are of the form HOST:PORT, or meant to be. No KIND has a colon; names of
// cluster-wide objects may have one, and one that could be HOST:PORT, too, is typed KIND/NAME.
func namesServers(args []string) bool {
	return slices.ContainsFunc(args, isServer) && (isServer(args[0]) || slices.ContainsFunc(args[1:], func(arg string) bool {
		_, err := inspect.ParseAddress(arg)
		return err == nil
	}))
}

func isServer(arg string) bool {
	head, _, _ := strings.Cut(arg, "/")
	return strings.Contains(head, ":")
}

// toServers reads HOST:PORT arguments, each once.
func (f *inspectFlags) toServers(args []string) ([]inspect.Address, error) {
	var out []inspect.Address
	for _, a := range args {
		if !isServer(a) {
			return nil, cli.WithHint(fmt.Errorf("argument %q is no HOST:PORT: servers go with no KIND and no NAME", a), "inspect the servers first, and then the objects: two commands; an object with such a name is typed KIND/NAME")
		}
		to, err := inspect.ParseAddress(a)
		if err != nil {
			hint := "a server is named as api-int.example.com:6443, 192.0.2.5:6443 or [fd00::1]:6443"
			if address, _, err := (inspect.KubeconfigCluster{Server: a}).Dialled(); err == nil {
				hint = f.app.Hints().Next("{} inspect %s", address)
			}
			return nil, cli.WithHint(fmt.Errorf("server %q: %w", a, err), "%s", hint)
		}
		if !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	return out, nil
}

func (f *inspectFlags) toServerOptions(ctx context.Context, args []string, allNamespacesTyped bool) (*serverOptions, error) {
	o := &serverOptions{limit: collect.PresentTime}
	var err error
	if o.servers, err = f.toServers(args); err != nil {
		return nil, err
	}
	if len(f.from) > 0 {
		return nil, cli.WithHint(errors.New("--from reads a file, and a server is asked over the network: HOST:PORT goes with no --from"),
			"%s", f.app.Hints().Next("{} inspect HOST:PORT asks the server and reads the cluster; of the file: {} verify --from FILE"))
	}
	others := f.certs
	others.expiringWithin = ""
	if others.chooses() || others.sortBy != "" {
		return nil, errors.New("HOST:PORT prints the whole chain of each server: --expired, --ca-only, --subject, --issuer, --owner, --sha256 and --sort-by choose certificates of the cluster")
	}
	base, err := f.toJudging(ctx, nil, allNamespacesTyped)
	if err != nil {
		return nil, err
	}
	o.inspectOptions = *base
	if o.print, err = f.output.ToServedPrinter(ctx, f.app.ProgramName); err != nil {
		return nil, err
	}
	if o.minSeverity, err = f.judge.least(o.print.MinSeverity); err != nil {
		return nil, err
	}
	if limit, err := cli.ParseDuration(f.config.Timeout); err == nil && limit > 0 {
		o.limit = limit
	}
	return o, nil
}

// run asks the servers, and then, where any of them presented a chain, the cluster who trusts it.
func (o *serverOptions) run(ctx context.Context) error {
	handshakes := collect.Present(ctx, o.servers, o.limit)
	var snapshot inspect.Snapshot
	var unread *inspect.Gap
	if slices.ContainsFunc(handshakes, func(h inspect.Handshake) bool { return len(h.Chain) > 0 }) {
		var err error
		if snapshot, err = o.reading.Read(ctx); err != nil {
			unread = &inspect.Gap{What: inspect.GapOfCluster, Reason: err.Error()}
			var h *cli.HintError
			if errors.As(err, &h) {
				unread.Next = strings.TrimSuffix(h.Hint, ", or read a file with --from") // with which no server goes
			}
			snapshot = inspect.Snapshot{Gaps: []inspect.Gap{*unread}}
		}
	}
	if snapshot.Taken.IsZero() {
		snapshot.Taken = collect.Now()
	}
	snapshot.Advise(o.app.Hints())
	snapshot.AddHandshakes(handshakes)
	now := o.now
	if now.IsZero() {
		now = snapshot.Taken
	}
	facts := inspect.NewFacts(snapshot, now, o.within)
	if o.asked {
		facts = facts.ForWindow()
	}
	chains := report.NewServedChains(ctx, facts, handshakes, unread)
	if !o.print.Problems {
		o.warn(handshakes)
	}
	if err := o.print.Print(o.app.Streams.Out, &chains, o.minSeverity); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if ctx.Err() != nil {
		return cli.Interrupted()
	}
	return o.verdict(&chains)
}

// warn says what a form without problems leaves out.
func (o *serverOptions) warn(handshakes []inspect.Handshake) {
	for _, h := range handshakes {
		if h.Problem != "" {
			cli.Warn(o.app.Streams, h.HostPort+": ", errors.New(h.Problem))
		}
	}
}

// verdict is the exit code, as of inspect's other arguments.
func (o *serverOptions) verdict(d *report.ServedChains) error {
	if !d.Read() {
		return cli.WithHint(fmt.Errorf("%s: no certificate chain was read", strings.Join(addressesOf(d), ", ")), "see why, above")
	}
	status := assess.Pass
	if worst, found := d.Worst(); found && o.failOn != nil && worst >= *o.failOn {
		status = assess.Fail
	}
	return cli.Judged(status, d.Unread(), o.allowUnknown)
}

func addressesOf(d *report.ServedChains) (out []string) {
	for i := range d.Servers {
		out = append(out, d.Servers[i].Address)
	}
	return out
}
