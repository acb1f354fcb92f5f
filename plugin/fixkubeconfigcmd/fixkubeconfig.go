package fixkubeconfigcmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// ownFlags is what was typed.
type ownFlags struct {
	app    cli.App
	config *cli.ConfigFlags
	ssh    connect.SSHFlags
	caFile string
	caFrom string
	dryRun string
	yes    bool
}

// ownOptions is what a run needs.
type ownOptions struct {
	app    cli.App
	config *cli.ConfigFlags
	caFile string          // empty: not given
	master *connect.Master // nil: not given
	dryRun bool
	yes    bool
}

// NewCommand is the command fix-kubeconfig.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &ownFlags{app: app, config: config}
	cmd := &cobra.Command{
		Use:   "fix-kubeconfig",
		Short: "Make your own kubeconfig trust the API server's new CA",
		Long: strings.ReplaceAll(`Where the CA of the load balancer was rotated, the administrator's kubeconfig fails, too: "x509: certificate signed by unknown authority".

It adds the CAs that the cluster publishes to certificate-authority-data of the current context's cluster, in the file in which that cluster is. CAs that are there and have not expired are kept; nothing else in the file changes. The CA must verify the certificate that the API server presents: where that can't be checked, nothing is written. The file as it was is kept beside it.

Where the API answers already, the CA is that of the ConfigMap openshift-config-managed/kube-apiserver-server-ca. Where it does not, it comes from a control plane node by ssh, whose host key is checked, or from a file.

Exit codes: 0 done, or already up to date; 1 a dry run would change something; 2 usage or no access; 4 the write failed; 5 refused, or not confirmed.`, "{}", app.ProgramName),
		Example: templates.Examples(strings.ReplaceAll(`  # The CA from a control plane node
  {} fix-kubeconfig --api-ca-from ssh://core@master-0.example.com

  # The CA from a file
  {} fix-kubeconfig --ca-file kube-apiserver-server-ca.crt --dry-run=client`, "{}", app.ProgramName)),
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

func (f *ownFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.caFile, "ca-file", "", "PEM file with the CAs; - for standard input.")
	flags.StringVar(&f.caFrom, "api-ca-from", "", connect.MasterCAUsage)
	apply.AddDryRunFlag(cmd, &f.dryRun, `"client", or no value, prints the change and does nothing; exit code 1 if there is one.`, apply.DryRunClient)
	flags.BoolVarP(&f.yes, "yes", "y", false, "Apply the change without asking.")
	f.ssh.AddFlags(cmd)
	ui.Must(cmd.MarkFlagFilename("ca-file"))
}

func (f *ownFlags) toOptions(ctx context.Context) (*ownOptions, error) {
	if err := apply.CheckDryRun(f.dryRun, apply.DryRunClient); err != nil {
		return nil, err
	}
	switch {
	case f.caFile != "" && f.caFrom != "":
		return nil, errors.New("--ca-file and --api-ca-from are two sources of the CA: give one")
	case f.caFrom == "" && f.ssh.Given():
		return nil, errors.New("flags for ssh go with --api-ca-from ssh://HOST")
	case f.config.ClusterInfo.Server != "" || f.config.ClusterInfo.CertificateAuthority != "" || f.config.ClusterInfo.InsecureSkipTLSVerify || f.config.Context.Cluster != "" || f.config.ClusterInfo.TLSServerName != "":
		return nil, errors.New("--server, --cluster, --certificate-authority, --tls-server-name and --insecure-skip-tls-verify are not in the file that this command changes: leave them out")
	}
	o := &ownOptions{app: f.app, config: f.config, caFile: f.caFile, dryRun: f.dryRun == apply.DryRunClient, yes: f.yes}
	if f.caFrom != "" {
		master, err := f.ssh.ToMaster(ctx, f.caFrom)
		if err != nil {
			return nil, err
		}
		o.master = &master
	}
	return o, nil
}

// ownConfig is a cluster in the user's kubeconfig.
type ownConfig struct {
	context string
	named   string // the file, as the kubeconfig's list names it
	path    string // the same, links followed
	text    []byte
	roots   []*pki.Cert // its trust anchors
	rest    *rest.Config
	name    string // the server name that its certificate must be for
}

func (o *ownOptions) run(ctx context.Context) error {
	own, err := o.locate(ctx)
	if err != nil {
		return err
	}
	served, err := own.served(ctx)
	if err != nil {
		return cli.WithHint(fmt.Errorf("read the certificate that %s presents: %w", own.rest.Host, err), "is the API server up, and the server in the kubeconfig right? kubectl config view --minify")
	}
	fix, err := o.ca(ctx, own, served)
	if err != nil {
		return err
	}
	now := collect.Now()
	change, err := fix.UserKubeconfig(own.text, served, own.name, now)
	if err != nil {
		return apply.Refused(o.unedited(own, err))
	}
	o.show(own, fix, change, served, now)
	switch {
	case change.Text == nil:
		return nil
	case o.dryRun:
		return cli.Findings(nil)
	}
	if !o.yes {
		if err := apply.Consent(ctx, o.app, nil); err != nil {
			return err
		}
	}
	backup := own.path + ".certrot-" + now.Format("20060102T150405Z")
	written, err := apiint.ReplaceUserKubeconfig(apiint.UserKubeconfigFile{Path: own.path, LockedAs: own.named, Backup: backup}, own.text, change.Text)
	switch {
	case written && err != nil:
		cli.Warn(o.app.Streams, "after "+ui.Clean(own.path)+" was written: ", err)
	case errors.Is(err, remediate.ErrChanged):
		return cli.Stopped(cli.WithHint(cli.NothingChanged(fmt.Errorf("%s: %w", own.path, err)), "run the same command again"))
	case err != nil:
		return cli.Stopped(cli.NothingChanged(fmt.Errorf("write %s: %w", own.path, err)))
	}
	return o.proven(ctx, own, backup)
}

// locate finds the file in which the cluster of the context is.
func (o *ownOptions) locate(ctx context.Context) (*ownConfig, error) {
	loader := o.config.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, connect.Unquoted(err)
	}
	own := &ownConfig{context: raw.CurrentContext}
	if o.config.CurrentContext != "" {
		own.context = o.config.CurrentContext
	}
	at := raw.Contexts[own.context]
	if len(raw.Contexts) == 0 && own.context == "" {
		return nil, cli.WithHint(connect.ErrNoKubeconfig, "name one with --kubeconfig or KUBECONFIG")
	}
	if at == nil {
		return nil, cli.WithHint(fmt.Errorf("kubeconfig: there is no context %q", own.context), "name the file with --kubeconfig or KUBECONFIG; kubectl config get-contexts")
	}
	cluster := raw.Clusters[at.Cluster]
	if cluster == nil {
		return nil, cli.WithHint(fmt.Errorf("kubeconfig: context %q names cluster %q, which is not there", own.context, at.Cluster), "kubectl config view")
	}
	own.named = cluster.LocationOfOrigin
	if own.path, err = filepath.EvalSymlinks(own.named); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if own.text, err = collect.ReadNamed(ctx, own.path, nil, connect.MaxCAFile); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	here, err := kubeconfig.Find(own.text)
	if err != nil {
		return nil, apply.Refused(o.unedited(own, err))
	}
	for _, found := range pki.NewScanner().Scan(here.PEM) {
		loaded, _ := found.Content.LoadedBy(pki.ReaderGo)
		own.roots = append(own.roots, loaded...)
	}
	if here.Cluster != at.Cluster || raw.CurrentContext != own.context {
		return nil, apply.Refused(&remediate.Refusal{Name: "current-context", Reason: fmt.Sprintf("%s: its current context leads to cluster %q, and the cluster to change is %q", own.path, here.Cluster, at.Cluster),
			Next: foreign.Command("", "kubectl config use-context %s, in that file, and again without --context", own.context)})
	}
	if own.rest, err = o.config.ToRESTConfig(); err != nil {
		return nil, connect.Unquoted(err)
	}
	own.rest = connect.WithoutUserinfo(own.rest) // only a handshake is made with it
	_, own.name, err = inspect.KubeconfigCluster{Server: cluster.Server, ServerName: cluster.TLSServerName}.Dialled()
	return own, err
}

// unedited adds to a refusal how the file can be changed by hand.
func (o *ownOptions) unedited(own *ownConfig, err error) error {
	var r *kubeconfig.Refusal
	if !errors.As(err, &r) {
		return err
	}
	return &remediate.Refusal{Name: string(r.Reason), Reason: own.path + ": " + r.Error(),
		Next: "with the CAs in a file, kubectl makes it: kubectl config set-cluster NAME --certificate-authority=FILE --embed-certs"}
}

// errSeen ends a handshake as soon as the chain is known.
var errSeen = errors.New("the chain was seen")

var errTLSProxy = errors.New("https://")

// served returns the chain that the server presents, by the way that the kubeconfig
// goes, a proxy included. Nothing is sent to the server but the handshake.
func (c *ownConfig) served(ctx context.Context) ([]*pki.Cert, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var chain []*pki.Cert
	proxy := c.rest.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.rest.Host, nil)
	if err != nil {
		return nil, err
	}
	// With TLS to the proxy, too, there would be two chains, and which is whose is not told.
	if by, err := proxy(request); err != nil || by != nil && by.Scheme == "https" {
		return nil, fmt.Errorf("the way there leads through a proxy that speaks TLS itself, or is unknown (%w): the certificate that the server presents can't be read", errTLSProxy) // another error quotes its address, with a password
	}
	t := &http.Transport{Proxy: proxy, TLSClientConfig: &tls.Config{
		ServerName:         c.name,
		InsecureSkipVerify: true, //nolint:gosec // the chain is what is asked for; the handshake ends with it
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			for _, der := range raw {
				cert, err := pki.ParseCert(der)
				if err != nil {
					return fmt.Errorf("certificate %d of the chain: %w", len(chain)+1, err)
				}
				chain = append(chain, cert)
			}
			return errSeen
		},
	}}
	defer t.CloseIdleConnections()
	answer, err := t.RoundTrip(request)
	if err == nil {
		_ = answer.Body.Close()
		return nil, errors.New("it does not speak TLS")
	}
	if !errors.Is(err, errSeen) {
		return nil, foreign.Error(err)
	}
	return chain, nil
}

// ca gets the CAs.
func (o *ownOptions) ca(ctx context.Context, own *ownConfig, served []*pki.Cert) (apiint.Repair, error) {
	fix := apiint.Repair{}
	switch {
	case o.caFile != "":
		var err error
		fix.CASource = "--ca-file " + o.caFile
		if fix.CA, err = collect.ReadNamed(ctx, o.caFile, o.app.Streams.In, connect.MaxCAFile); err != nil {
			err = fmt.Errorf("--ca-file: %w", err)
		}
		return fix, err
	case o.master != nil:
		var err error
		fix.CASource = "of " + o.master.From
		fix.CA, err = o.master.CAs(ctx, o.app)
		return fix, err
	}
	// Before anything is sent there, and any program asked for a credential.
	if err := pki.Verify(served, own.roots, own.name, collect.Now()); err != nil {
		var presented strings.Builder
		for i, c := range served {
			fmt.Fprintf(&presented, "\n  presented %d: %s, issued by %s, sha256 %s, until %s", i+1, pki.Foreign(c.Subject), pki.Foreign(c.Issuer), c.Fingerprint, c.NotAfter.UTC().Format(time.DateOnly))
		}
		return fix, cli.WithHint(fmt.Errorf("the CA in context %q does not verify the certificate that %s presents (%w), so the CA must come from another source%s", own.context, own.rest.Host, err, presented.String()),
			"read it from a control plane node, over a host key that you know: --api-ca-from ssh://core@NODE; or --ca-file FILE")
	}
	conn, err := connect.Connect(ctx, o.app, o.config, pki.NewScanner(), connect.ToWrite)
	if err != nil {
		return fix, err
	}
	// --accept-risk=unreviewed-version is not asked for: the row has no version bounds, and its
	// CA is written only if it verifies what the server presents. No node is touched.
	row := conn.Setup(ctx)
	fix.CASource, fix.Published = row.CA.String(), row.HasOperators
	fix.CA, err = conn.Cluster.Value(ctx, row.CA)
	if err != nil {
		return fix, cli.WithHint(err, "give the CA with --ca-file FILE or --api-ca-from ssh://core@NODE (a control plane node)")
	}
	return fix, nil
}

// show prints what changes in the file's trust anchors. Its text is not printed: tokens
// and keys are in it.
func (o *ownOptions) show(own *ownConfig, fix apiint.Repair, c *apiint.UserKubeconfigChange, served []*pki.Cert, now time.Time) {
	w := &strings.Builder{}
	ui.Printf(w, "File     %s  (context %s, cluster %s)\n", own.path, own.context, c.Cluster)
	ui.Printf(w, "Server   %s\n", c.Server)
	ui.Wrap(w, "Served   ", fmt.Sprintf("%s, issued by %s, until %s, sha256 %s", pki.Foreign(served[0].Subject), pki.Foreign(served[0].Issuer), served[0].NotAfter.UTC().Format(time.DateOnly), served[0].Fingerprint.Short()))
	ui.Printf(w, "CA       %s; it verifies the served certificate\n", fix.CASource)
	if c.Text == nil {
		ui.Printf(w, "\nNo changes: the file trusts all of these CAs already.\n")
	} else {
		has := func(list []*pki.Cert, x *pki.Cert) bool {
			return slices.ContainsFunc(list, func(c *pki.Cert) bool { return c.Fingerprint == x.Fingerprint })
		}
		ui.Printf(w, "\ncertificate-authority-data\n")
		for _, x := range c.Old {
			if !has(c.New, x) {
				ui.Printf(w, "  - %s%s\n", apply.Described(x), apply.ValidityText(x, now))
			}
		}
		for _, x := range c.New {
			sign := "+"
			if has(c.Old, x) {
				sign = " "
			}
			ui.Printf(w, "  %s %s\n", sign, apply.Described(x))
		}
	}
	_, _ = io.WriteString(o.app.Streams.Out, ui.CleanLines(w.String()))
}

// proven asks the API server with the file as it is now. That it is trusted is what
// counts; what the user may do there is another matter.
func (o *ownOptions) proven(ctx context.Context, own *ownConfig, backup string) error {
	// The same flags, and the file as it is now: the ones before keep what they have read.
	fresh, was := &cli.ConfigFlags{KubeConfig: o.config.KubeConfig}, o.config
	fresh.CurrentContext, fresh.Context.AuthInfo, fresh.Timeout = was.CurrentContext, was.Context.AuthInfo, was.Timeout
	fresh.AuthInfo = was.AuthInfo
	said := func(what string) {
		ui.Printf(o.app.Streams.Out, "\n%s: %s\nBefore   %s\n", ui.Clean(own.path), what, ui.Clean(backup))
	}
	_, err := connect.Connect(ctx, o.app, fresh, pki.NewScanner(), connect.ToRead)
	switch {
	case err == nil:
		said("written, and the API server answers")
		return nil
	case apierrors.IsUnauthorized(err):
		said("written, and the API server is trusted; it does not take your credentials")
		return cli.WithHint(err, "log in again; tokens can't be checked while the authentication operator is down: a kubeconfig with a client certificate works")
	}
	said("written; the API server was not reached with it")
	return cli.Stopped(cli.WithHint(err, "to put it back: cp -p %s %s", backup, own.path))
}
