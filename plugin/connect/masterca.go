package connect

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// MasterCAUsage is the help of --api-ca-from.
const MasterCAUsage = "Control plane node to read the CAs from: ssh://[USER@]HOST[:PORT]."

// masterCA prints the CAs that a master has for kube-apiserver: those of the emergency
// administrator's kubeconfig, which are kept current without a rollout, else those of
// the newest revision; of kubeadm's, the file of the cluster's CA. Nothing but the CA of a kubeconfig is read out of it.
const masterCA = `file=$1/lb-ext.kubeconfig
if [ -r "$file" ]; then
	awk '$1 == "certificate-authority-data:" { print $2; exit }' "$file"
	exit
fi
newest=
highest=-1
for bundle in $2; do
	revision=${bundle#*/kube-apiserver-pod-}
	revision=${revision%%/*}
	case $revision in *[!0-9]*|'') continue ;; esac
	if [ "$revision" -gt "$highest" ] && [ -r "$bundle" ]; then
		highest=$revision newest=$bundle
	fi
done
[ -n "$newest" ] || newest=$3
[ -r "$newest" ] || { echo "neither $file nor $2 nor $3 is there: is this a control plane node?" >&2; exit 1; }
cat "$newest"
`

// masterTime bounds the reading of a CA on a master.
const masterTime = time.Minute

// Master is the one that --api-ca-from names, and the way there.
type Master struct {
	From string // as it was typed
	host string
	user string // empty: what SSHFlags say
	port int    // 0: what SSHFlags say
	ssh  SSHFlags
}

// ToMaster checks --api-ca-from, which is of the form that MasterCAUsage says.
func (f *SSHFlags) ToMaster(ctx context.Context, from string) (Master, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "ssh" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return Master{}, fmt.Errorf("--api-ca-from %q is not of the form ssh://[USER@]HOST[:PORT]", from)
	}
	if err := f.check(ctx); err != nil {
		return Master{}, err
	}
	m := Master{From: from, host: u.Hostname(), user: u.User.Username(), ssh: *f}
	if u.User != nil {
		if _, secret := u.User.Password(); secret || m.user == "" {
			return Master{}, errors.New("--api-ca-from: passwords are not taken, nor a user without a name; use a key or the ssh-agent")
		}
	}
	if u.Port() != "" {
		if m.port, err = strconv.Atoi(u.Port()); err != nil || m.port < 1 || m.port > 65535 {
			return Master{}, fmt.Errorf("--api-ca-from %q: the port is none", from)
		}
	}
	return m, nil
}

// CAs reads the CAs on the master, by ssh, whose host key is checked.
func (m Master) CAs(ctx context.Context, app cli.App) ([]byte, error) {
	way := m.ssh.transport(&Prompter{App: app, Ended: ctx.Done()})
	way.User, way.Port = cmp.Or(m.user, way.User), m.port
	node, err := way.Dial(ctx, m.host)
	if err != nil {
		return nil, fmt.Errorf("--api-ca-from %s: %w", m.From, err)
	}
	reading, cancel := context.WithTimeoutCause(ctx, masterTime, fmt.Errorf("no answer within %s", masterTime))
	defer cancel()
	out, err := MasterCAs(reading, node)
	if err = errors.Join(err, node.Close()); err != nil {
		return nil, fmt.Errorf("--api-ca-from %s: %w", m.From, err)
	}
	return out, nil
}

// MasterCAs reads the CAs on a master.
func MasterCAs(ctx context.Context, node nodeexec.Node) ([]byte, error) {
	out, err := node.Run(ctx, strings.NewReader(masterCA), "sh", "-s", "--", catalog.NodeKubeconfigs, catalog.MasterServerCAs, catalog.KubeadmCA)
	if err != nil {
		return nil, err
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(out))); err == nil {
		return raw, nil
	}
	return out, nil
}

// Trusting makes clients of these flags trust CAs beside those of the kubeconfig, where
// that has its own (else see TrustingAlone): what the server presents is verified as ever.
// One that is to verify nothing verifies by these CAs. untrust takes it back.
func Trusting(config *cli.ConfigFlags, pem []byte) (untrust func()) {
	inner := config.Wrap
	config.Wrap = func(c *rest.Config) *rest.Config {
		if inner != nil {
			c = inner(c)
		}
		switch {
		case c.Insecure:
			c = rest.CopyConfig(c)
			c.Insecure, c.CAData, c.CAFile = false, pem, ""
			return c
		case rest.LoadTLSFiles(c) != nil || len(c.CAData) == 0:
			return c
		}
		c = rest.CopyConfig(c)
		c.CAData, c.CAFile = slices.Concat(c.CAData, []byte("\n"), pem), ""
		return c
	}
	return func() { config.Wrap = inner }
}

// TrustingAlone makes clients of these flags trust CAs, and no others, if the kubeconfig
// names none; false: it does, and nothing was changed.
func TrustingAlone(config *cli.ConfigFlags, pem []byte) bool {
	if now, err := config.ToRESTConfig(); err != nil || now.Insecure || now.CAFile != "" || len(now.CAData) > 0 {
		return false
	}
	inner := config.Wrap
	config.Wrap = func(c *rest.Config) *rest.Config {
		if inner != nil {
			c = inner(c)
		}
		c = rest.CopyConfig(c)
		c.CAData = pem
		return c
	}
	return true
}
