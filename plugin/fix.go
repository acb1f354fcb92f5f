package plugin

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

type fixFlags struct {
	mendFlags
	caFile string
	caFrom string
	// given are the CAs that these two lead to; nil: neither was given.
	given []byte
	from  []string
}

func newFixAPIIntCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &fixFlags{mendFlags: mendFlags{app: app, config: config}}
	cmd := &cobra.Command{
		Use:   "fix-api-int --nodes NAME",
		Short: "Make kubelets trust the API server's new CA, and restart them",
		Long: strings.ReplaceAll(`Repairs nodes whose kubelet fails with "x509: certificate signed by unknown authority" after the CA of api-int was rotated, or will fail at its next reconnect.

On each node, one after another, it adds the CAs of the ConfigMap openshift-config-managed/kube-apiserver-server-ca to certificate-authority-data in /etc/kubernetes/kubeconfig and /var/lib/kubelet/kubeconfig, restarts the kubelet once, and waits until the node reports again. CAs that are there and have not ended are kept; nothing else in the files changes. Pods keep running.

The CA is checked before anything is written: it must verify what the API server really shows at api-int to that node. Each file is checked after it was written, and put back if it fails. What was there before is kept on the node, in /var/lib/certrot/RUN; {} undo RUN puts it back.

On a node that is lost to the API only ssh leads there, or --local on the node itself.

Exit codes: 0 done, or so already; 1 a dry run would change something; 2 usage or no access; 3 done, and whether the node reports again is not known; 4 a write failed, or was stopped or undone; 5 refused, or nobody said yes.`, "{}", app.Called),
		Example: templates.Examples(strings.ReplaceAll(`  # What would be done on a node, and why
  {} fix-api-int --nodes worker-1 --via ssh --dry-run=client

  # The same as a diff
  {} fix-api-int --nodes worker-1 --via ssh --dry-run=client -o diff

  # Do it
  {} fix-api-int --nodes worker-1 --via ssh --yes

  # On the node itself, without the API, with a CA copied from a master
  {} fix-api-int --local --ca-file kube-apiserver-server-ca.crt`, "{}", app.Called)),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	f.addFlags(cmd, "Nodes to repair, by name; one after another, in this order.")
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "PEM file with the CAs that kubelets are to trust, in place of the ConfigMap's; - for standard input.")
	cmd.Flags().StringVar(&f.caFrom, "api-ca-from", "", "Where your own kubeconfig fails, too. "+masterCAUsage+" The API server is trusted by them, and if it does not answer, they are what kubelets are to trust.")
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Make the plan from this snapshot, as a dry run; repeatable.")
	must(cmd.MarkFlagFilename("ca-file"))
	must(cmd.MarkFlagFilename("from"))
	return cmd
}

func (f *fixFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	if len(f.from) > 0 {
		return f.offline(ctx)
	}
	if err := f.give(ctx); err != nil {
		return err
	}
	w, err := f.workplace(ctx, nil)
	if err != nil {
		return err
	}
	err = f.mend(ctx, w)
	if closed := w.close(); closed != nil {
		_, _ = fmt.Fprintf(f.app.Streams.ErrOut, "warning: clean up: %v\n", closed)
	}
	return err
}

func (f *fixFlags) mend(ctx context.Context, w *workplace) error {
	fix := remediate.APIInt{Nodes: w.names(), API: w.conn != nil}
	if err := f.ca(ctx, w, &fix); err != nil {
		return err
	}
	a := &applying{mendFlags: f.mendFlags, workplace: w, command: "fix-api-int", run: remediate.NewRun(collect.Taken())}
	a.plan = func(ctx context.Context) (*remediate.Plan, error) {
		facts := w.facts(ctx, gather.Options{})
		if ctx.Err() != nil {
			return nil, nothingChanged(errors.New("interrupted"))
		}
		p, err := fix.Plan(a.run, facts, facts.Taken)
		if err == nil && w.noAPI != nil {
			p.Notes = append(p.Notes, "Without the API server: "+oneLine(w.noAPI.Error()))
		}
		return p, err
	}
	a.about = func(out io.Writer, p *remediate.Plan) { aboutCA(out, fix, p) }
	return a.do(ctx)
}

// give reads the CAs that flags name. The administrator's own kubeconfig may lack them as
// kubelets' do: the API server is trusted by them, too.
func (f *fixFlags) give(ctx context.Context) (err error) {
	switch {
	case f.caFile != "" && f.caFrom != "":
		return errors.New("--ca-file and --api-ca-from are two sources of the CA: give one")
	case f.caFrom != "":
		f.given, err = fromMaster(ctx, f.app, f.nodes.ssh, f.caFrom)
	case f.caFile == "-":
		f.given, err = io.ReadAll(io.LimitReader(f.app.Streams.In, maxCAFile+1))
	case f.caFile != "":
		f.given, err = readBounded(f.caFile)
	}
	if err == nil && len(f.given) > maxCAFile {
		err = fmt.Errorf("it is larger than %d bytes", maxCAFile)
	}
	if err != nil && f.caFile != "" {
		err = fmt.Errorf("--ca-file: %w", err)
	}
	if err == nil && f.given != nil && f.config != nil {
		trusting(f.config, f.given)
	}
	return err
}

// ca finds out what kubelets are to trust.
func (f *fixFlags) ca(ctx context.Context, w *workplace, fix *remediate.APIInt) error {
	if f.caFile != "" {
		fix.From, fix.CA = "--ca-file "+f.caFile, f.given
		return nil
	}
	if w.conn == nil && f.caFrom != "" {
		fix.From, fix.CA = "--api-ca-from "+f.caFrom, f.given
		return nil
	}
	if w.conn == nil && w.choice.local {
		// This machine may be a master, which has them.
		err := w.onto(ctx, w.names()[0], func(ctx context.Context, n nodeexec.Node) (err error) {
			fix.CA, err = masterCAs(ctx, n)
			return err
		})
		if err == nil {
			fix.From = "this master's " + catalog.NodeKubeconfigs + ", or of its kube-apiserver's newest revision"
			return nil
		}
	}
	if w.conn == nil {
		return withHint(fmt.Errorf("the CA for kubelets is in %s, and no API server can be asked: %w", catalog.APIServerCA(), w.noAPI),
			"read it from a master with --api-ca-from ssh://core@MASTER, or give it with --ca-file FILE: on a master it is in /etc/kubernetes/static-pod-resources/kube-apiserver-pod-*/configmaps/kube-apiserver-server-ca/ca-bundle.crt; it is checked against what the API server shows")
	}
	var err error
	fix.From, fix.Published = catalog.APIServerCA().String(), true
	if fix.CA, err = w.conn.cluster.Value(ctx, catalog.APIServerCA()); err != nil {
		return withHint(err, "give the CA with --ca-file FILE; kubectl auth can-i get configmaps -n %s", catalog.APIServerCA().Namespace)
	}
	return nil
}

// maxCAFile bounds a file of CAs, in bytes: more than a ConfigMap can hold.
const maxCAFile = 1 << 20

func readBounded(path string) (text []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	return io.ReadAll(io.LimitReader(file, maxCAFile+1))
}

// offline shows the plan for facts from a file.
func (f *fixFlags) offline(ctx context.Context) error {
	if f.dryRun == dryRunNone {
		return errors.New("--from makes a plan and changes nothing: say --dry-run=client")
	}
	if f.nodes.local || f.nodes.via != viaAuto || f.nodes.ssh.given() || f.nodes.allowPods {
		return errFromAndNodes
	}
	if err := f.checkNames(); err != nil {
		return err
	}
	if len(f.nodes.nodes) == 0 {
		return withHint(errors.New("no node is named"), "--nodes NAME: those in the file are shown by inspect nodes --from FILE")
	}
	if err := checkFrom(f.from); err != nil {
		return err
	}
	s, err := reading{app: f.app, config: f.config}.files(ctx, f.from)
	if err != nil {
		return err
	}
	fix := remediate.APIInt{Nodes: f.nodes.nodes, API: true, From: catalog.APIServerCA().String() + " in the file"}
	if f.caFrom != "" {
		return errFromAndNodes
	}
	if f.caFile != "" {
		if err := errors.Join(f.give(ctx), f.ca(ctx, &workplace{}, &fix)); err != nil {
			return err
		}
	} else {
		fix.CA = published(s)
	}
	a := &applying{mendFlags: f.mendFlags, command: "fix-api-int", run: remediate.NewRun(s.Taken)}
	a.plan = func(context.Context) (*remediate.Plan, error) { return fix.Plan(a.run, s, s.Taken) }
	a.about = func(out io.Writer, p *remediate.Plan) { aboutCA(out, fix, p) }
	return a.do(ctx)
}

// published is the ConfigMap's value as far as a file of facts has it: the
// certificates, without what may stand between them.
func published(s inspect.Snapshot) []byte {
	ref := catalog.APIServerCA()
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	var out []byte
	for _, b := range s.Bundles {
		if b.At != at {
			continue
		}
		for _, c := range b.Content.Certs {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
		}
	}
	return out
}
