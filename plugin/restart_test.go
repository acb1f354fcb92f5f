//go:build unix

package plugin_test

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// mkasked writes the demonstration's snapshot as if kubelets' credentials had been
// tried on its nodes: worker-1 as it is there, worker-2 as if it had been
// repaired, and as many further nodes as worker-2 as are named.
func mkasked(ts *testscript.TestScript, _ bool, args []string) {
	sc := pki.NewScanner()
	s, err := collect.File{Path: ts.Getenv("DEMO"), Scanner: sc}.Read()
	ts.Check(err)
	const apiInt = "api-int.okd.example.com"
	now := s.Taken
	clients := pkitest.NewCA("kube-csr-signer", now.AddDate(0, 0, -20), now.AddDate(0, 0, 40))
	asked := func(node *inspect.Node, code int, reason string, failure inspect.Failure, detail string) {
		answer := func(q inspect.Question, code int) inspect.ProbeAnswer {
			a := inspect.ProbeAnswer{Question: q, Server: apiInt + ":6443", Name: apiInt, Address: "192.0.2.5", Code: code, Failure: failure, Detail: detail}
			if code >= 400 {
				a.Reason = reason
			}
			return a
		}
		own := 200
		if failure != "" {
			own = 0
		}
		node.RestartProbe = &inspect.RestartProbe{
			Kubeconfig: inspect.ProbedKubeconfig{Path: catalog.KubeletKubeconfigs()[1], Presents: inspect.CredentialCertificate, Certificate: inspect.KubeletClient,
				Answers: []inspect.ProbeAnswer{answer(inspect.AskNode, own), answer(inspect.AskLease, own)}},
			Bootstrap: inspect.ProbedKubeconfig{Path: catalog.KubeletKubeconfigs()[0], Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{answer(inspect.AskAPI, code)}},
		}
		pair := clients.Issue("system:node:"+node.Name, now.AddDate(0, 0, -10), now.AddDate(0, 0, 20))
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node.Name, Path: inspect.KubeletClient}, Content: sc.Scan(pair.CertPEM)[0].Content})
	}
	var served []inspect.Served
	for i := range s.Nodes {
		switch n := &s.Nodes[i]; n.Name {
		case "worker-1":
			asked(n, 0, "", inspect.FailedTrust, "the CA in the file does not verify the certificate that "+apiInt+":6443 presents for the name "+apiInt+"; nothing was sent")
		case "worker-2":
			asked(n, 401, "Unauthorized", "", "")
		}
	}
	for _, v := range s.Served {
		if v.Node != "worker-2" { // what was presented to it is unknown: the answers alone tell
			served = append(served, v)
		}
	}
	s.Served = served
	for _, n := range args[1:] {
		node := inspect.Node{Name: n, Via: "ssh", Ready: "True"}
		asked(&node, 200, "", "", "")
		s.Nodes = append(s.Nodes, node)
	}
	s.Access = &inspect.Access{Context: "admin", Presents: inspect.CredentialToken, How: "a token", CA: inspect.CAEmbedded}
	s.Sort()
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(collect.WriteSnapshot(f, s))
	ts.Check(f.Close())
}

// mkversion writes the demonstration's snapshot as if another version ran: mkversion
// VERSION FILE.
func mkversion(ts *testscript.TestScript, _ bool, args []string) {
	s, err := collect.File{Path: ts.Getenv("DEMO"), Scanner: pki.NewScanner()}.Read()
	ts.Check(err)
	s.Cluster.Versions.Cluster = args[0]
	for name := range s.Cluster.Versions.Operators {
		s.Cluster.Versions.Operators[name] = args[0]
	}
	file, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(collect.WriteSnapshot(file, s))
	ts.Check(file.Close())
}
