//go:build linux

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// TestPretrust brings the new CA to all nodes before anything is signed by it. Then the
// certificate is signed and every kubelet connects anew, and nobody notices: asked all
// the time by each node with its kubelet's CA, and by the API server of each kubelet.
func TestPretrust(t *testing.T) {
	f := fixes(t)
	nodes := f.lab.Nodes()
	pretrust := []string{"pretrust", "--via", "ssh"}
	ends(t, f.inLab(t, append(pretrust, "--dry-run=client")...), 0, "Nothing to do")

	f.lab.Incident(t, "signer")
	ends(t, f.inLab(t, append(pretrust, "--dry-run=client")...), 1, "Ahead of its first certificate: ", "What api-int shows is signed anew from ")
	ends(t, f.inLab(t, append(pretrust, "--yes")...), 0, "restart pod openshift-machine-config-operator/machine-config-daemon-", "done, and checked")
	ends(t, f.inLab(t, append(pretrust, "--yes")...), 0, "so already on "+strings.Join(nodes, ", "))

	stop := f.probe(t, nodes)
	f.lab.Incident(t, "leaf")
	f.lab.Incident(t, "reconnect")
	for _, n := range nodes {
		f.lab.WaitReady(t, n)
	}
	stop()
	f.verifies(t, "holds", 0, nodes...)
	ends(t, f.inLab(t, append(pretrust, "--yes")...), 0, "so already on "+strings.Join(nodes, ", "))

	// One that has lost it again is for fix-api-int.
	f.reset(t, nodes[2])
	ends(t, f.inLab(t, append(pretrust, "--yes")...), 5, "not-too-late: ", "fix-api-int")
}

// probe asks api-int from each node, with the CA in its kubelet's kubeconfig, and each
// kubelet through the API server, until it is told to stop; then nothing may have failed.
// A kubelet that is being restarted has nobody who listens: that alone does not count.
func (f *fixing) probe(t *testing.T, nodes []string) (stop func()) {
	t.Helper()
	const end = "/run/certrot-e2e-end"
	ask := `rm -f ` + end + `; n=0 bad=0
while [ ! -e ` + end + ` ]; do
	sed -n 's/^ *certificate-authority-data: *//p' ` + ownConfig + ` | base64 -d >/run/certrot-e2e-ca
	curl -sS --max-time 5 --cacert /run/certrot-e2e-ca -o /dev/null https://api-int.lab.test:6443/readyz || bad=$((bad + 1))
	n=$((n + 1)); sleep 0.3
done
rm -f ` + end + ` /run/certrot-e2e-ca; echo "$n asked, $bad failed"`
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	said := make(chan string, len(nodes))
	for _, n := range nodes {
		go func() {
			out, err := f.lab.SSHCommand(ctx, n, "sudo sh -c "+nodeexec.Quote(ask)).CombinedOutput()
			said <- fmt.Sprintf("%s: %s%v", n, out, err)
		}()
	}
	kubelets := make(chan string, 1)
	go func() {
		asked := 0
		var bad []string
		for ctx.Err() == nil {
			for _, n := range nodes {
				asked++
				if out, err := labDo(f.lab, "get", "--raw", "/api/v1/nodes/"+n+"/proxy/healthz"); err != nil && !strings.Contains(out+err.Error(), "connection refused") {
					bad = append(bad, fmt.Sprintf("%s: %s%v", n, out, err))
				}
			}
			time.Sleep(200 * time.Millisecond)
		}
		kubelets <- fmt.Sprintf("%d asked, %d failed %s", asked, len(bad), strings.Join(bad, "\n"))
	}()
	answered := regexp.MustCompile(`\b[1-9][0-9]* asked, 0 failed`)
	return func() {
		t.Helper()
		for _, n := range nodes {
			mustDo(t, f.lab, "ssh", n, "sudo touch "+end)
		}
		for range nodes {
			if s := <-said; !answered.MatchString(s) {
				t.Errorf("api-int from %s", s)
			}
		}
		cancel()
		if s := <-kubelets; !answered.MatchString(s) {
			t.Errorf("kubelets: %s", s)
		}
	}
}
