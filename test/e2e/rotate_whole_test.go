//go:build linux

package e2e

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

const (
	lbSigner  = "loadbalancer-serving-signer"
	lbBundle  = "loadbalancer-serving-ca"
	clientsCA = "/etc/kubernetes/kubelet-ca.crt"
	served    = "openshift-kube-apiserver"
)

// rotating is a user who rotates what library-go's controllers keep.
type rotating struct{ *fixing }

// TestRotate rotates the signer by which kubelets know the API server, and the one of
// api-int in a version that does not bring its CA to nodes, until what they sign is signed
// by the new ones. All the time each kubelet is asked through the API server, and api-int
// by each node: in the safe order none fails.
func TestRotate(t *testing.T) {
	labtest.Long(t)
	lab := labtest.TemporaryNodes(t, "master-0", "worker-0")
	s := &rotating{fixesIn(t, lab)}
	nodes := lab.Nodes()
	s.keys(t)
	s.refusals(t)
	s.pausedPool(t)

	ns := s.pods(t, nodes)
	end := s.ask(t, nodes, ns, false)
	kubelets, api := signerIn(t, lab, kubeletSigner), signerIn(t, lab, lbSigner)
	s.interrupted(t)
	s.keys(t)
	s.kubeletClient(t, nodes, kubelets)
	end()

	end = s.ask(t, nodes, ns, true)
	s.apiInt(t, nodes, api)
	end()

	s.prunes(t, api)
	// One that has lost the CA again is for fix-api-int.
	s.reset(t, nodes[1])
	ends(t, s.inLab(t, "pretrust", "--via", "ssh", "--yes"), 5, "not-too-late: ", "fix-api-int")
	s.lostNode(t, nodes[1])
}

// rotate runs it on this host.
func (s *rotating) rotate(t *testing.T, args ...string) result {
	t.Helper()
	return s.exec(t, s.here(t, append([]string{"rotate"}, args...)...))
}

// exec is what fixing's does, with each text on one line.
func (s *rotating) exec(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	return unwrapped(s.fixing.exec(t, c))
}

func (s *rotating) inLab(t *testing.T, args ...string) result {
	t.Helper()
	return unwrapped(s.fixing.inLab(t, args...))
}

// unwrapped undoes how text is broken into lines: the next ones of a text are indented.
func unwrapped(r result) result {
	r.stdout = regexp.MustCompile(`\n +`).ReplaceAllString(r.stdout, " ")
	return r
}

// reading adds how nodes are read from this host.
func (s *rotating) reading(args ...string) []string {
	return append(append(args, "--nodes", "all"), s.ssh...)
}

// keys learns which keys there are at this moment.
func (s *rotating) keys(t *testing.T) {
	t.Helper()
	for _, of := range [][2]string{{operatorNamespace, kubeletSigner}, {operatorNamespace, lbSigner}, {served, "kubelet-client"}, {served, "internal-loadbalancer-serving-certkey"}} {
		key, err := base64.StdEncoding.DecodeString(s.lab.KubectlOutput(t, "get", "secret", "-n", of[0], of[1], "-o", `jsonpath={.data.tls\.key}`))
		if err != nil {
			t.Fatal(err)
		}
		s.secret.key("the key of "+of[1], key)
	}
}

func (s *rotating) leaf(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	return certificatesOf(t, s.lab.KubectlOutput(t, "get", "secret", "-n", served, name, "-o", `jsonpath={.data.tls\.crt}`))[0]
}

func signedBy(t *testing.T, leaf, ca *x509.Certificate) {
	t.Helper()
	if err := leaf.CheckSignatureFrom(ca); err != nil {
		t.Fatalf("%s is signed by %s, and not by %s: %v", leaf.Subject, leaf.Issuer, ca.Subject, err)
	}
}

// pausedPool is a pool that is said to be paused: there is no machine-config-operator.
func (s *rotating) pausedPool(t *testing.T) {
	t.Helper()
	pool := object{"apiVersion": machineAPI, "kind": "MachineConfigPool", "metadata": object{"name": "worker"}, "spec": object{"paused": true}}
	file := filepath.Join(t.TempDir(), "pool.json")
	if err := os.WriteFile(file, asJSON(pool), 0o600); err != nil {
		t.Fatal(err)
	}
	mustDo(t, s.lab, "create", "-f", file)
	ends(t, s.rotate(t, kubeletSigner, "--yes"), 5, "check pools-ready fails: worker is paused", "nothing was changed", "get machineconfigpools")
	mustDo(t, s.lab, "delete", "-f", file)
}

// stopped starts certrot, and sends it a signal as soon as something is so.
func (s *rotating) stopped(t *testing.T, signal syscall.Signal, when string, so func(said string) bool, args ...string) result {
	t.Helper()
	c := s.here(t, args...)
	p := &terminal{cmd: c} // for what it has said so far
	c.Stdout, c.Stderr = p, p
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	t.Cleanup(func() { _ = c.Process.Kill() })
	eventually(t, when, func() string {
		select {
		case <-ended:
			t.Fatalf("%s: it ended before:\n%s", when, p.text())
		default:
		}
		if so(p.text()) {
			return ""
		}
		return "it says " + p.text()
	})
	if err := c.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(runLimit):
		t.Fatalf("%s: it goes on after %s:\n%s", when, signal, p.text())
	}
	r := unwrapped(result{code: c.ProcessState.ExitCode(), stdout: p.text()})
	s.secret.leak(t, strings.Join(args, " "), r.said())
	t.Logf("note: %s: %s ended by %s with %d, saying:\n%s", when, strings.Join(args, " "), signal, r.code, lastLines(r.stdout, 6))
	return r
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// told reports whether the annotation of a Secret is gone: its owner is told, and has not
// answered.
func (s *rotating) told(t *testing.T, namespace, name string) func(string) bool {
	return func(string) bool {
		out := s.lab.KubectlOutput(t, "get", "secret", "-n", namespace, name, "-o", "jsonpath={.metadata.annotations}")
		return !strings.Contains(out, `"`+catalog.AnnotationNotAfter+`"`)
	}
}

// interrupted stops the rotation of both signers while their owner does not run, one by
// ^C and one by kill -9, and a signer is deleted meanwhile. What stands then is told, and
// nothing is done twice.
func (s *rotating) interrupted(t *testing.T) {
	t.Helper()
	kubelets, api := []string{"rotate", kubeletSigner, "--yes"}, []string{"rotate", lbSigner, "--yes", "--accept-risk=reaches-verifiers"}
	release := s.lab.Hold(t, "cert-rotation")
	r := s.stopped(t, syscall.SIGINT, "the owner is told", s.told(t, operatorNamespace, kubeletSigner), kubelets...)
	ends(t, r, 4, "rotate status "+kubeletSigner)
	ends(t, s.rotate(t, "status", kubeletSigner), 1, "○ signer", "get clusteroperator kube-apiserver")
	r = s.rotate(t, "status", kubeletSigner, "--details")
	ends(t, r, 1, "○ signer", "it is to be rotated, and was not yet", "next  check that kube-apiserver-operator runs:")
	ends(t, s.exec(t, s.here(t, kubelets...)), 5, "nothing was changed", "chain-settled", "rotate status "+kubeletSigner)

	r = s.stopped(t, syscall.SIGKILL, "the owner is told", s.told(t, operatorNamespace, lbSigner), api...)
	if r.code != -1 {
		t.Errorf("kill -9 ends it with %d", r.code)
	}
	ends(t, s.exec(t, s.here(t, "runs")), 0, "rotate")
	ends(t, s.exec(t, s.here(t, api...)), 5, "nothing was changed", "chain-settled", "rotate status "+lbSigner)

	const deleted = "kube-control-plane-signer"
	mustDo(t, s.lab, "delete", "secret", "-n", operatorNamespace, deleted)
	r = s.rotate(t, deleted, "--yes")
	ends(t, r, 5, "nothing was changed", deleted+"[tls.crt] is not there", "get clusteroperator kube-apiserver")
	if strings.Contains(r.said(), "was not read") {
		t.Errorf("what is known not to be there is said not to have been read:\n%s", r.said())
	}
	ends(t, s.rotate(t, "status", deleted), 1, "○ signer", "is not there")
	ends(t, s.rotate(t, "prune", deleted, "--nodes", "none", "--dry-run=client"), 5, deleted+"[tls.crt] is not there")

	release()
	eventually(t, "the signers are made anew", func() string {
		for _, name := range []string{kubeletSigner, lbSigner, deleted} {
			out, err := labDo(s.lab, "get", "secret", "-n", operatorNamespace, name, "-o", "jsonpath={.metadata.annotations}")
			if err != nil || !strings.Contains(out, `"`+catalog.AnnotationNotAfter+`"`) {
				return fmt.Sprintf("%s: %s %v", name, out, err)
			}
		}
		return ""
	})
}

// bundled fails the test unless a bundle holds these CAs and no other.
func (s *rotating) bundled(t *testing.T, name string, cas ...*x509.Certificate) {
	t.Helper()
	all := certificatesOf(t, s.lab.KubectlOutput(t, "get", "configmap", "-n", operatorNamespace, name, "-o", `jsonpath={.data.ca-bundle\.crt}`))
	if len(all) != len(cas) || !slices.ContainsFunc(all, cas[0].Equal) || !slices.ContainsFunc(all, cas[len(cas)-1].Equal) {
		t.Fatalf("%s holds %d CAs, want %d", name, len(all), len(cas))
	}
}

// machineConfigDaemon stands in for what machine-config-daemon writes from 4.13 on: the
// CAs of a kubelet's clients, from the ConfigMap that the ControllerConfig is made of.
func (s *rotating) machineConfigDaemon(t *testing.T, node string) {
	t.Helper()
	text := s.lab.KubectlOutput(t, "get", "configmap", "-n", "openshift-config-managed", "kube-apiserver-client-ca", "-o", `jsonpath={.data.ca-bundle\.crt}`)
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	mustDo(t, s.lab, "ssh", node, "sudo sh -ec "+nodeexec.Quote(`echo `+encoded+` | base64 -d >`+clientsCA+`.new; mv `+clientsCA+`.new `+clientsCA))
}

// kubeletClient follows the new signer of the API server's client certificate until that
// is signed by it: refused, waited for and interrupted before every kubelet has its CA.
func (s *rotating) kubeletClient(t *testing.T, nodes []string, old *x509.Certificate) {
	t.Helper()
	const leaf = "kubelet-client"
	young := signerIn(t, s.lab, kubeletSigner)
	if young.Equal(old) || !young.NotBefore.After(old.NotBefore) {
		t.Fatalf("%s is still %s", kubeletSigner, old.Subject)
	}
	for _, at := range [][2]string{{operatorNamespace, "kube-apiserver-to-kubelet-client-ca"}, {served, "client-ca"}, {"openshift-config-managed", "kube-apiserver-client-ca"}} {
		eventually(t, at[1]+" has both", func() string {
			for _, ca := range []*x509.Certificate{old, young} {
				if !holds(t, s.lab, at[0], at[1], ca) {
					return "it lacks " + ca.Subject.String()
				}
			}
			return ""
		})
	}
	ends(t, s.rotate(t, "status", kubeletSigner, "-o", "json"), 1, `"kind": "RotationStatus"`)
	line := s.reading("rotate", kubeletSigner, "--leaf", "--yes", "--wait", "10m")
	status := func() result { t.Helper(); return s.rotate(t, s.reading("status", kubeletSigner, "--details")...) }

	// No kubelet has it, then one, then all.
	ends(t, s.rotate(t, s.reading(leaf, "--yes")...), 5, "signer-trusted", "nothing was changed")
	ends(t, status(), 1, "○ trust", "2 of 2 clients do not trust it", "it is brought by machine-config-daemon", "is rotated "+s.leaf(t, leaf).NotBefore.UTC().AddDate(0, 0, 15).Format("2006-01-02 15:04:05 MST"))
	r := s.stopped(t, syscall.SIGINT, "it waits for kubelets", func(said string) bool { return strings.Contains(said, "waiting, before "+leaf) }, line...)
	ends(t, r, 3, "interrupted while following it", "signer-trusted", nodes[0], nodes[1])
	s.machineConfigDaemon(t, nodes[0])
	ends(t, status(), 1, "1 of 2", "kubelet, for client certificates on "+nodes[1])
	r = s.stopped(t, syscall.SIGKILL, "it waits for a kubelet", func(said string) bool { return strings.Contains(said, "waiting, before "+leaf) }, line...)
	if strings.Contains(r.said(), "for client certificates on "+nodes[0]) {
		t.Errorf("%s has the new CA:\n%s", nodes[0], r.said())
	}
	signedBy(t, s.leaf(t, leaf), old)
	s.machineConfigDaemon(t, nodes[1])

	// Its owner does not answer, and the run does not wait for it; then the same line goes on.
	release := s.lab.Hold(t, "cert-rotation")
	time.Sleep(time.Until(young.NotBefore.Add(2 * time.Minute))) // before that another owner may make one more
	r = s.stopped(t, syscall.SIGINT, "the owner is told of the leaf", s.told(t, served, leaf), line...)
	ends(t, r, 4, "rotate status")
	signedBy(t, s.leaf(t, leaf), old)
	release()
	r = s.exec(t, s.here(t, line...))
	ends(t, r, 0, "✓ signer", "✓ bundle", "✓ aggregates", "✓ trust", "✓ leaf", fmt.Sprintf("✓ served      accepted in all %d requests", len(nodes)), "✓ edges")
	signedBy(t, s.leaf(t, leaf), young)
	if now := signerIn(t, s.lab, kubeletSigner); !now.Equal(young) {
		t.Errorf("a second signer was made: %s, after %s", now.Subject, young.Subject)
	}
	s.bundled(t, "kube-apiserver-to-kubelet-client-ca", old, young)
	ends(t, s.rotate(t, s.reading(kubeletSigner, "--leaf", "--yes")...), 0, "No changes: already up to date")
}

// apiInt follows the new signer of api-int in a version that does not bring it to nodes.
func (s *rotating) apiInt(t *testing.T, nodes []string, old *x509.Certificate) {
	t.Helper()
	const internal, external = "internal-loadbalancer-serving-certkey", "external-loadbalancer-serving-certkey"
	young := signerIn(t, s.lab, lbSigner)
	if young.Equal(old) {
		t.Fatalf("%s is still %s", lbSigner, old.Subject)
	}
	line := []string{"rotate", lbSigner, "--leaf", "--yes", "--nodes", "all", "--via", "ssh", "--wait"}
	status := []string{"rotate", "status", lbSigner, "--nodes", "all", "--via", "ssh"}

	// Before the union.
	ends(t, s.inLab(t, "rotate", internal, "--yes", "--nodes", "all", "--via", "ssh"), 5, "signer-trusted", "nothing was changed")
	ends(t, s.inLab(t, append(line, "1s")...), 1, "is not rotated yet", "signer-trusted", "kubelet on "+nodes[0])
	ends(t, s.inLab(t, status...), 1, "✓ aggregates", "○ trust", "pretrust")
	ends(t, s.inLab(t, "rotate", "prune", lbSigner, "--via", "ssh", "--dry-run=server", "--details"), 0, "stays: ", "presents a certificate of it", "Nothing to do")
	signedBy(t, s.leaf(t, internal), old)

	pretrust := []string{"pretrust", "--via", "ssh"}
	ends(t, s.inLab(t, append(pretrust, "--dry-run=client", "--details")...), 1, "No certificate is signed yet by ", "api-int's certificate is rotated from ")
	ends(t, s.inLab(t, append(pretrust, "--yes")...), 0, "restart pod openshift-machine-config-operator/machine-config-daemon-", "done, and checked")
	ends(t, s.inLab(t, append(pretrust, "--yes")...), 0, "already up to date on "+strings.Join(nodes, ", "))
	for _, n := range nodes {
		held, err := labDo(s.lab, "ssh", n, "sudo sed -n 's/^ *certificate-authority-data: *//p' "+ownConfig)
		if err != nil || !slices.ContainsFunc(certificatesOf(t, strings.TrimSpace(held)), young.Equal) {
			t.Errorf("%s lacks %s: %v", n, young.Subject, err)
		}
	}
	ends(t, s.inLab(t, status...), 1, "✓ trust", "○ leaf")

	// What the cluster verifies goes first. The user who rotates is not shut out, and others who
	// reach the API from outside only by name.
	ends(t, s.inLab(t, append(line, "90s")...), 1, "own-kubeconfig", "outside-verifiers", "fix-kubeconfig")
	signedBy(t, s.leaf(t, internal), young)
	signedBy(t, s.leaf(t, external), old)
	ends(t, s.inLab(t, "fix-kubeconfig", "--yes"), 0)
	r := s.inLab(t, append(line, "1m")...)
	for end := time.Now().Add(waitLimit); r.code == 1 && time.Now().Before(end); { // a busy API server loads its certificates late
		r = s.inLab(t, append(line, "1m")...)
	}
	ends(t, r, 3, "outside-verifiers")
	signedBy(t, s.leaf(t, external), old)
	ends(t, s.inLab(t, append(line, "5m", "--accept-risk=outside-verifiers")...), 0, "✓ trust", "✓ leaf", "✓ served", "✓ edges")
	for _, name := range []string{internal, external} {
		signedBy(t, s.leaf(t, name), young)
	}
	s.bundled(t, lbBundle, old, young)

	// Who has to reconnect does.
	for _, n := range nodes {
		mustDo(t, s.lab, "ssh", n, "sudo systemctl restart kubelet")
	}
	for _, n := range nodes {
		s.lab.WaitReady(t, n)
	}
	// fix-kubeconfig ends its handshake when it has seen the chain, which the API server's
	// log tells of as a refusal, for a while.
	r = s.inLab(t, "verify", "api-int", "--nodes", "all", "--via", "ssh", "-o", "json")
	if r.code != 0 && r.code != 3 {
		t.Fatal(r.said())
	}
	for _, c := range claimsIn(t, r) {
		if c.Status != "pass" && c.ID != "apiserver-refused" {
			t.Errorf("%s on %q: %s (%s)", c.ID, c.Node, c.Status, c.Reason)
		}
	}
	ends(t, s.inLab(t, status...), 0, "✓ edges")
	ends(t, s.inLab(t, append(pretrust, "--yes")...), 0, "already up to date on "+strings.Join(nodes, ", "))
}

// prunes removes the old CA of api-int, and puts it back by the line that is printed.
func (s *rotating) prunes(t *testing.T, old *x509.Certificate) {
	t.Helper()
	prune := []string{"rotate", "prune", lbSigner, "--via", "ssh", "--details"}
	young := signerIn(t, s.lab, lbSigner)
	ends(t, s.inLab(t, append(prune, "--dry-run=server")...), 0, "--accept-risk=just-signed", "Nothing to do")
	s.bundled(t, lbBundle, old, young)
	r := s.inLab(t, append(prune, "--accept-risk=just-signed", "--yes")...)
	ends(t, r, 0, "removed: no certificate that was read needs it", "done, and checked", "To undo it:")
	s.bundled(t, lbBundle, young)
	back := regexp.MustCompile(`kubectl (-n \S+ patch .* --patch-file \S+)`).FindStringSubmatch(r.said())
	if back == nil {
		t.Fatalf("no line puts it back:\n%s", r.said())
	}
	mustDo(t, s.lab, strings.Fields(back[1])...)
	s.bundled(t, lbBundle, old, young)
}

// lostNode has a node whose kubelet does not run: nothing is rotated, and status names it.
func (s *rotating) lostNode(t *testing.T, node string) {
	t.Helper()
	mustDo(t, s.lab, "ssh", node, "sudo systemctl stop kubelet")
	s.lab.WaitNotReady(t, node)
	ends(t, s.rotate(t, "aggregator-client-signer", "--yes"), 5, "check nodes-ready fails: not Ready: "+node, "nothing was changed")
}
