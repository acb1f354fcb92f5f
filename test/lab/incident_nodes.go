//go:build linux

package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

const (
	restartKubelet = "sudo systemctl reset-failed kubelet; sudo systemctl restart kubelet"
	kubeletConfig  = "/var/lib/kubelet/kubeconfig"
	// cutConnections ends all that a node has with the API server, as an API server that
	// restarts does. What ss says of it is no answer, so it is looked at.
	cutConnections = `sudo sh -ec 'open() { ss -Htn state established "( dst ` + pki.Address + ` and dport = :6443 )" | while read -r _ _ local _; do echo "$local"; done; }
before=$(open); test -n "$before" || exit 0
ss -K state established "( dst ` + pki.Address + ` and dport = :6443 )" >/dev/null 2>&1 || true
if open | grep -Fx -e "$before"; then echo "these connections can not be cut here" >&2; exit 1; fi'`

	lossLimit  = 90 * time.Second // the controller manager waits 12 s for a heartbeat
	sshLimit   = 30 * time.Second
	readyLimit = 90 * time.Second
	// patience is how long heal waits for a kubelet that nothing was known to be
	// wrong with before it restarts that too.
	patience = 15 * time.Second
)

// reconnect has kubelets lose their connections, and waits until that is seen.
func (t *trouble) reconnect(ctx context.Context, nodes []string) error {
	for _, n := range nodes {
		if !slices.Contains(t.state.Nodes, n) {
			t.state.Nodes = append(t.state.Nodes, n)
		}
	}
	if err := t.dir.WriteIncident(t.state); err != nil {
		return err
	}
	return each(nodes, func(n string) error {
		if err := t.loseConnection(ctx, n); err != nil {
			return fmt.Errorf("node %s: %w", n, err)
		}
		return nil
	})
}

// each does something for all nodes at once.
func each(nodes []string, do func(node string) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// loseConnection restarts a node's kubelet. It becomes NotReady, unless it was
// repaired.
func (t *trouble) loseConnection(ctx context.Context, node string) error {
	ca, err := t.certificate("rotated", pki.LoadBalancerSigner)
	if err != nil {
		return err
	}
	kubeconfig, err := t.ssh(ctx, node, "sudo cat "+kubeletConfig)
	if err != nil {
		return err
	}
	if t.lab.Multus != "" {
		if _, err := t.ssh(ctx, node, cutConnections); err != nil {
			return fmt.Errorf("cut the connections of multus: %w", err)
		}
	}
	restarted := time.Now()
	if _, err := t.ssh(ctx, node, restartKubelet); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lossLimit)
	defer cancel()
	repaired := trusts(kubeconfig, ca)
	var last condition
	for {
		if repaired {
			ready, err := t.beats(ctx, node, restarted)
			if ready {
				t.w.say("reconnect: %s stays Ready: its kubeconfig has the new CA", node)
				return nil
			}
			if err != nil {
				last.Message = err.Error()
			}
		} else if c, err := t.ready(ctx, node); err == nil && c.Status != "True" {
			if why := t.refusal(ctx, node, restarted); why != "" {
				t.w.say("reconnect: %s is NotReady (Ready=%s, %s); its kubelet says %q", node, c.Status, c.Message, why)
				return nil
			}
			last = c
		} else if err == nil {
			last = c
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for what its kubelet's restart leads to: %w: so far its condition is Ready=%s, %s: look at `%s ssh %s sudo journalctl -u kubelet`", ctx.Err(), last.Status, last.Message, t.dir.RunScript(), node)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// trusts says whether a kubeconfig has a CA in it.
func trusts(kubeconfig string, ca *x509.Certificate) bool {
	data := regexp.MustCompile(`certificate-authority-data: *(\S+)`).FindStringSubmatch(kubeconfig)
	if data == nil {
		return false
	}
	rest, err := base64.StdEncoding.DecodeString(data[1])
	if err != nil {
		return false
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return false
		}
		if slices.Equal(block.Bytes, ca.Raw) {
			return true
		}
	}
}

// refusal is why a kubelet does not trust the API server, in its own words of after
// since; empty if it says nothing of the kind.
func (t *trouble) refusal(ctx context.Context, node string, since time.Time) string {
	said, err := t.ssh(ctx, node, fmt.Sprintf("sudo journalctl -u kubelet --since=@%d -o cat | grep -o -m1 'x509: certificate signed by unknown authority' || true", since.Unix()))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(said)
}

// ssh runs a line of shell on a node and returns what it prints.
func (t *trouble) ssh(ctx context.Context, node, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, sshLimit)
	defer cancel()
	var stderr strings.Builder
	c := exec.CommandContext(ctx, t.dir.RunScript(), "ssh", node, line)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("run `%s` by ssh: %w: %s", line, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// ready is a node's condition of that name.
func (t *trouble) ready(ctx context.Context, node string) (condition, error) {
	text, err := t.api.Get(ctx, "/api/v1/nodes/"+node)
	if err != nil {
		return condition{}, err
	}
	var n struct {
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return condition{}, fmt.Errorf("read node %s: %w", node, err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c, nil
		}
	}
	return condition{}, fmt.Errorf("node %s has no condition Ready", node)
}

// beats says whether, and else why not, a node is Ready by a heartbeat of after since: Ready alone
// may be what was so before its kubelet lost the API server.
func (t *trouble) beats(ctx context.Context, node string, since time.Time) (bool, error) {
	c, err := t.ready(ctx, node)
	if err != nil {
		return false, err
	}
	if c.Status != "True" {
		return false, fmt.Errorf("its condition is Ready=%s, %s", c.Status, c.Message)
	}
	text, err := t.api.Get(ctx, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+node)
	if err != nil {
		return false, err
	}
	var lease struct {
		Spec struct {
			RenewTime time.Time `json:"renewTime"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(text, &lease); err != nil {
		return false, fmt.Errorf("read the lease of node %s: %w", node, err)
	}
	if !lease.Spec.RenewTime.After(since) {
		return false, fmt.Errorf("no heartbeat since %s", lease.Spec.RenewTime.Local().Format(time.TimeOnly))
	}
	return true, nil
}

// disconnected are the nodes whose kubelets are known to have had to connect again.
func (t *trouble) disconnected(ctx context.Context) []string {
	var nodes []string
	for _, n := range strings.Fields(t.lab.Nodes) {
		if c, err := t.ready(ctx, n); err != nil || c.Status != "True" || slices.Contains(t.state.Nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// awaitReady waits until a node is Ready and knows its pods. A kubelet that distrusted
// the API server soon says by itself that it is Ready, but asks for its pods half a
// minute later: one that is disconnected is restarted at once.
func (t *trouble) awaitReady(ctx context.Context, node string, disconnected bool, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if disconnected {
		// If that can't be done, the machine is about to boot: then it needs none.
		_, _ = t.ssh(ctx, node, restartKubelet)
	}
	impatient := time.NewTicker(patience)
	defer impatient.Stop()
	for {
		ready, err := t.beats(ctx, node, since)
		if ready {
			err = t.knowsItsPods(ctx, node)
		}
		if err == nil {
			t.w.say("heal: %s is Ready", node)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for node %s to be Ready: %w: look at `%s ssh %s sudo journalctl -u kubelet`", node, err, t.dir.RunScript(), node)
		case <-impatient.C:
			t.w.say("heal: %s is not well yet: %v: restarting its kubelet", node, err)
			_, _ = t.ssh(ctx, node, restartKubelet)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// knowsItsPods asks the kubelet, which asks the API server whether it may answer.
func (t *trouble) knowsItsPods(ctx context.Context, node string) error {
	text, err := t.api.Get(ctx, "/api/v1/nodes/"+node+"/proxy/pods")
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), `"machine-config-daemon"`) {
		return errors.New("its kubelet has not yet asked for its pods")
	}
	return nil
}
