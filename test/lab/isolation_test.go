//go:build linux

package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

func TestHostSeesNothingOfTheLabsNetwork(t *testing.T) {
	lab := labtest.Require(t)
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Name == supervisor.Bridge {
			t.Errorf("the host has the lab's bridge %s", i.Name)
		}
		addresses, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if strings.HasPrefix(a.String(), "10.99.0.") {
				t.Errorf("the host has the lab's address %s on %s", a, i.Name)
			}
		}
	}
	routes, err := exec.Command("ip", "route", "show", "table", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(routes), "10.99.0.") {
		t.Errorf("the host has a route to the lab:\n%s", routes)
	}
	// A gateway may accept every connection: what counts is who answers.
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(lab.KubectlOutput(t, "-n", "openshift-config-managed", "get", "configmap", "kube-apiserver-server-ca", "-o", `jsonpath={.data.ca-bundle\.crt}`)))
	dialer := &net.Dialer{Timeout: time.Second, Deadline: time.Now().Add(3 * time.Second)}
	if c, err := tls.DialWithDialer(dialer, "tcp", pki.Address+":6443", &tls.Config{ServerName: pki.InternalHost, RootCAs: roots}); err == nil {
		c.Close()
		t.Errorf("the host reaches the lab's API server at its inner address %s", pki.Address)
	}
}

func TestNothingLeavesTheLab(t *testing.T) {
	lab := labtest.Require(t)
	for _, family := range []string{"-4", "-6"} {
		if got := strings.TrimSpace(lab.Run(t, "ip", family, "route", "show", "default")); got != "" {
			t.Errorf("the lab has a default route: %s", got)
		}
	}
	// 192.0.2.0/24 is assigned to no machine: even a gap in the wall would reach none.
	out, err := lab.Command(t.Context(), "kubectl", "--server=https://192.0.2.1", "get", "--raw", "/").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "network is unreachable") {
		t.Errorf("dialing out of the lab: %v: %s, want network is unreachable", err, out)
	}
	if out, err := lab.Command(t.Context(), "getent", "hosts", "example.com").Output(); err == nil {
		t.Errorf("a name of the outside world resolves in the lab: %s", out)
	}
}

func TestNamesResolveToTheLab(t *testing.T) {
	lab := labtest.Require(t)
	for _, name := range []string{pki.ExternalHost, pki.InternalHost} {
		if got := lab.Run(t, "getent", "hosts", name); !strings.HasPrefix(got, pki.Address) {
			t.Errorf("%s is %q in the lab, want %s", name, got, pki.Address)
		}
	}
}

// What `ip netns add` makes in the lab, as nodes will, is the lab's alone.
func TestNamedNetworkNamespacesStayInside(t *testing.T) {
	lab := labtest.Require(t)
	const name = "labprobe"
	lab.Run(t, "ip", "netns", "add", name)
	defer lab.Run(t, "ip", "netns", "delete", name)
	if _, err := os.Stat("/run/netns/" + name); err == nil {
		t.Errorf("/run/netns/%s is there on the host", name)
	}
	if got := lab.Run(t, "ip", "netns", "list"); !strings.Contains(got, name) {
		t.Errorf("%s is not there inside: %q", name, got)
	}
}

// A node reaches the lab and nothing else, and is reached from nowhere else.
func TestNodesAreIsolated(t *testing.T) {
	lab := labtest.RequireNodes(t)
	nodes, err := node.Parse(strings.Join(lab.Nodes(), " "))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		// A gateway may accept every connection: what counts is who answers.
		c, err := net.DialTimeout("tcp", n.Address+":22", time.Second)
		if err != nil {
			continue
		}
		banner := make([]byte, 4)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := io.ReadFull(c, banner); err == nil && string(banner) == "SSH-" {
			t.Errorf("the host reaches node %s at %s", n.Name, n.Address)
		}
		c.Close()
	}
	routes, err := exec.Command("ip", "-4", "-o", "address", "show", "scope", "global").Output()
	if err != nil {
		t.Fatal(err)
	}
	targets := []string{"192.0.2.1"} // an address that no machine has
	for line := range strings.Lines(string(routes)) {
		if f := strings.Fields(line); len(f) > 3 {
			address, _, _ := strings.Cut(f[3], "/")
			targets = append(targets, address) // the host's own
		}
	}
	for _, target := range targets {
		out, err := lab.SSHCommand(t.Context(), nodes[0].Name, "sudo /bin/busybox ping -c 1 -W 1 "+target).CombinedOutput()
		if err == nil {
			t.Errorf("node %s reaches %s:\n%s", nodes[0].Name, target, out)
		}
	}
	if out, err := lab.SSHCommand(t.Context(), nodes[0].Name, "sudo /bin/busybox ping -c 1 -W 1 "+pki.Address).CombinedOutput(); err != nil {
		t.Errorf("node %s does not reach the control plane: %v\n%s", nodes[0].Name, err, out)
	}
}
