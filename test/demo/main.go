// Command demo writes the synthetic snapshot that `make demo` inspects: an OKD
// 4.15 cluster in the middle of the api-int incident (okd-project/okd#1881).
//
// Everything in it is made up at fixed times: names and events follow the public
// report, certificates are minted by pkitest. The same program gives the same
// bytes; a test verifies that the committed file is what it writes.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demo FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(path string) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// write reads the incident's objects as inspect reads any file of objects, adds
// what only a cluster tells, and packs the result.
func write(out *bytes.Buffer) error {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": cluster()})
	if err != nil {
		return err
	}
	s, err := collect.File{Path: "-", Stdin: bytes.NewReader(list), Scanner: pki.NewScanner()}.Read()
	if err != nil {
		return err
	}
	if len(s.Gaps) > 0 {
		return fmt.Errorf("the demo has gaps: %v", s.Gaps)
	}
	s.Taken = taken
	s.Cluster = inspect.Cluster{
		Server:  "https://api.okd.example.com:6443",
		Context: "admin",
		Versions: catalog.Versions{
			Cluster: okd, Kubernetes: "v1.28.2-3598+6e2789bbd58938-dirty",
			Operators: map[string]string{
				"authentication": okd, "etcd": okd, "ingress": okd, "kube-apiserver": okd, "kube-controller-manager": okd,
				"kube-scheduler": okd, "machine-config": okd, "network": okd, "service-ca": okd,
			},
		},
		Topology: "HighlyAvailable", Platform: "VSphere", OwnAddresses: catalog.No, Internal: "https://api-int.okd.example.com:6443", Created: born,
		Synthetic: "made by test/demo for demonstration; no such cluster exists",
	}
	s.Reads = countKinds()
	if err := addNodes(&s); err != nil {
		return err
	}
	s.Sort()
	return collect.WriteSnapshot(out, s)
}

func countKinds() []inspect.Read {
	n := map[string]int{}
	for _, o := range cluster() {
		n[o["kind"].(string)]++
	}
	var reads []inspect.Read
	for _, r := range collect.Resources() {
		reads = append(reads, inspect.Read{What: r.Plural, Objects: n[string(r.Kind)]})
	}
	return reads
}

// at is a time of the incident.
func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err) // a mistake in a literal below
	}
	return t
}
