package trust_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

const (
	ownFile  = "/var/lib/kubelet/kubeconfig"
	joinFile = "/etc/kubernetes/kubeconfig"
	apiInt   = "api-int.example.com:6443"
)

// starting is a node that was asked, and is well.
type starting struct {
	*world
	old, fresh, clients *pkitest.Authority
	c                   *inspect.RestartProbe
}

func newStarting() *starting {
	s := &starting{world: newWorld(catalog.Versions{Cluster: "4.15.0"})}
	s.old, s.fresh = pkitest.NewCA("lb-signer@1", from(-300), from(3000)), pkitest.NewCA("lb-signer@2", from(-9), from(3000))
	s.clients = pkitest.NewCA("kubelets", from(-300), from(3000))
	for _, path := range []string{ownFile, joinFile} {
		s.kubeconfig(path, "https://"+apiInt, s.old.CertPEM)
	}
	s.client(from(-1), from(29))
	s.serves(s.old)
	answered := func(q inspect.Question) inspect.ProbeAnswer {
		return inspect.ProbeAnswer{Question: q, Server: apiInt, Name: "api-int.example.com", Code: 200}
	}
	s.c = &inspect.RestartProbe{
		Kubeconfig: inspect.ProbedKubeconfig{Path: ownFile, Presents: inspect.CredentialCertificate, Certificate: inspect.KubeletClient, Answers: []inspect.ProbeAnswer{answered(inspect.AskNode), answered(inspect.AskLease)}},
		Bootstrap:  inspect.ProbedKubeconfig{Path: joinFile, Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{answered(inspect.AskAPI)}},
	}
	s.s.Nodes[0].RestartProbe = s.c
	return s
}

// client is the kubelet's client certificate, in place of the one before.
func (s *starting) client(begin, end time.Time) {
	at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: inspect.KubeletClient}
	for _, f := range s.sc.Scan(s.clients.Issue("system:node:n1", begin, end).CertPEM) {
		b := inspect.Bundle{At: at, Content: f.Content}
		for i := range s.s.Bundles {
			if s.s.Bundles[i].At == at {
				s.s.Bundles[i] = b
				return
			}
		}
		s.s.Bundles = append(s.s.Bundles, b)
	}
}

func (s *starting) serves(by *pkitest.Authority) {
	leaf := by.Issue("api-int.example.com", from(-2), from(28), pkitest.DNS("api-int.example.com"))
	chain := s.sc.Scan(leaf.CertPEM)[0].Content.Certs
	s.s.Served = []inspect.Served{{Node: "n1", Address: apiInt, Name: "api-int.example.com", Chain: chain}}
}

// replaced makes the fresh CA the one that signs next.
func (s *starting) replaced() {
	s.put(catalog.LoadBalancerSigner(), s.fresh.CertPEM)
}

// fails makes what is asked with a file end in one way.
func fails(f *inspect.ProbedKubeconfig, how inspect.Failure) {
	for i := range f.Answers {
		f.Answers[i].Code, f.Answers[i].Failure, f.Answers[i].Detail = 0, how, "detail of "+string(how)
	}
}

func told(f *inspect.ProbedKubeconfig, code int, reason string) {
	for i := range f.Answers {
		f.Answers[i].Code, f.Answers[i].Reason = code, reason
	}
}

func TestComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		with    func(*starting)
		verdict assess.Status
		answers string // in the order of the questions: y yes, - none, ? unknown, ! caution, n no
		why     string
	}{
		{"all is well", func(*starting) {}, assess.Pass, "yyyyyyyyy", ""},
		{"api-int was signed anew", func(s *starting) {
			s.serves(s.fresh)
			fails(&s.c.Kubeconfig, inspect.FailedTrust)
			fails(&s.c.Bootstrap, inspect.FailedTrust)
		}, assess.Fail, "yyny??y!?", "unknown authority"},
		{"another master shows what was signed anew", func(s *starting) {
			s.serves(s.fresh)
			other := s.s.Served[0]
			other.Node, other.Of, other.Address, other.Server = "", "m2", "10.0.0.2:6443", catalog.ListenerAPIServer
			s.serves(s.old)
			s.s.Served = append(s.s.Served, other)
		}, assess.Warn, "yy!yyyy!y", "it trusts the server that answered; " + ownFile + " does not verify the certificate that m2 presents: x509"},
		{"another node was shown what was signed anew", func(s *starting) {
			s.serves(s.fresh)
			other := s.s.Served[0]
			other.Node = "n2"
			s.serves(s.old)
			s.s.Served = append(s.s.Served, other)
		}, assess.Warn, "yy!yyyy!y", "does not verify the certificate that was presented to n2 there: x509"},
		{"another master shows the same", func(s *starting) {
			other := s.s.Served[0]
			other.Node, other.Of, other.Address, other.Server = "", "m2", "10.0.0.2:6443", catalog.ListenerAPIServer
			s.s.Served = append(s.s.Served, other)
		}, assess.Pass, "yyyyyyyyy", ""},
		{"another address presents what another CA signed", func(s *starting) {
			s.serves(s.fresh)
			other := s.s.Served[0]
			other.Address, other.Name, other.Server = "api.example.com:6443", "api.example.com", catalog.ListenerUserKubeconfig
			s.serves(s.old)
			s.s.Served = append(s.s.Served, other)
		}, assess.Pass, "yyyyyyyyy", ""},
		{"the CAs of its kubeconfigs were not read, and the API server answered", func(s *starting) { s.s.Nodes[0].Kubeconfigs = nil }, assess.Pass, "yyyyyyyyy", ""},
		{"the signer was replaced, and another node was presented what it signed", func(s *starting) {
			s.serves(s.fresh)
			other := s.s.Served[0]
			other.Node = "n2"
			s.serves(s.old)
			s.s.Served = append(s.s.Served, other)
			s.replaced()
		}, assess.Warn, "yy!yyyy!y", "does not verify the certificate that was presented to n2 there: x509"},
		{"the signer was replaced, api-int is still of the one before", func(s *starting) { s.replaced() }, assess.Warn, "yy!yyyy!y",
			"it comes back now; no longer after 2024-06-14 12:00 UTC, the earliest rotation of the API server's certificate: " + ownFile + ` lacks the CA "lb-signer@2"`},
		{"the signer was replaced, and the node was repaired", func(s *starting) {
			s.replaced()
			for i := range s.s.Bundles {
				if f := s.s.Bundles[i].At.Path; f == ownFile || f == joinFile {
					s.s.Bundles[i].Content = s.sc.Scan(pkitest.Bundle(s.old.CertPEM, s.fresh.CertPEM))[0].Content
				}
			}
		}, assess.Pass, "yyyyyyyyy", ""},
		{"the signer was replaced, and the API server is not well", func(s *starting) { s.replaced(); told(&s.c.Kubeconfig, 503, "ServiceUnavailable") }, assess.Warn, "yy!y??y!y", "whether it comes back now is unknown (the API server answers 503"},
		{"the signer was replaced, and the API server does not know the certificate", func(s *starting) { s.replaced(); told(&s.c.Kubeconfig, 401, "Unauthorized") }, assess.Fail, "yy!ynny!y", "401 Unauthorized"},
		{"the signer was replaced, and the node has to join anew", func(s *starting) {
			s.replaced()
			s.client(from(-31), from(-1))
		}, assess.Warn, "yy!nyyy!y", "nothing starts on it until then; and no longer after"},
		{"the handshake is judged as a kubelet judges, whatever the node's tool says", func(s *starting) { s.serves(s.fresh) }, assess.Fail, "yynyyyy!y", "unknown authority"},
		{"nothing but the node's tool saw what is shown", func(s *starting) {
			s.s.Served = nil
			fails(&s.c.Kubeconfig, inspect.FailedTrust)
		}, assess.Fail, "yyny??yyy", "detail of trust"},
		{"the name does not resolve", func(s *starting) {
			s.s.Served = nil
			fails(&s.c.Kubeconfig, inspect.FailedResolve)
		}, assess.Fail, "yn?y??yyy", "detail of resolve"},
		{"the API server does not answer", func(s *starting) { fails(&s.c.Kubeconfig, inspect.FailedTime) }, assess.Fail, "yyyynnyyy", "detail of timeout"},
		{"there is nobody who could ask", func(s *starting) { s.s.Served = nil; fails(&s.c.Kubeconfig, inspect.FailedTool) }, assess.Unknown, "y??y??yyy", "detail of tool"},
		{"the API server does not know the certificate", func(s *starting) { told(&s.c.Kubeconfig, 401, "Unauthorized") }, assess.Fail, "yyyynnyyy", "401 Unauthorized"},
		{"it is another node's certificate", func(s *starting) { told(&s.c.Kubeconfig, 403, "Forbidden") }, assess.Fail, "yyyynnyyy", "403 Forbidden"},
		{"there is no Node: the kubelet makes one", func(s *starting) { told(&s.c.Kubeconfig, 404, "NotFound") }, assess.Pass, "yyyyyyyyy", ""},
		{"the API server is not well", func(s *starting) { told(&s.c.Kubeconfig, 503, "ServiceUnavailable") }, assess.Unknown, "yyyy??yyy", "503"},
		{"the token has expired, and is not needed", func(s *starting) { told(&s.c.Bootstrap, 401, "Unauthorized") }, assess.Pass, "yyyyyyyy!", ""},
		{"the token may not read this, and is good", func(s *starting) { told(&s.c.Bootstrap, 403, "Forbidden") }, assess.Pass, "yyyyyyyyy", ""},
		{"the client certificate has ended", func(s *starting) { s.client(from(-31), from(-1)); told(&s.c.Kubeconfig, 401, "Unauthorized") }, assess.Warn, "yyynnnyyy", "it has to rejoin"},
		{"the client certificate and the token have ended", func(s *starting) {
			s.client(from(-31), from(-1))
			told(&s.c.Kubeconfig, 401, "Unauthorized")
			told(&s.c.Bootstrap, 401, "Unauthorized")
		}, assess.Fail, "yyynnnyyn", "does not know the token"},
		{"by the node's clock the client certificate has ended", func(s *starting) {
			ahead := noon.Add(40 * day)
			s.s.Nodes[0].Clock = inspect.Clock{Sent: noon, Before: ahead, After: ahead, Received: noon.Add(time.Second)}
		}, assess.Fail, "yynnyyyny", ""},
		{"kubeadm keeps no bootstrap file", func(s *starting) { s.c.Bootstrap = inspect.ProbedKubeconfig{Path: joinFile, Absent: true} }, assess.Pass, "yyyyyy---", ""},
		{"no bootstrap file, and the certificate has ended", func(s *starting) {
			s.c.Bootstrap = inspect.ProbedKubeconfig{Path: joinFile, Absent: true}
			s.client(from(-31), from(-1))
		}, assess.Fail, "yyynyy---", "no bootstrap kubeconfig"},
		{"its own file is gone: it is made anew, with the certificate that is there", func(s *starting) {
			s.c.Kubeconfig = inspect.ProbedKubeconfig{Path: ownFile, Absent: true}
			told(&s.c.Bootstrap, 401, "Unauthorized")
		}, assess.Warn, "n??n??yyn", "recreated from"},
		{"its own file is gone, and the certificate has ended", func(s *starting) {
			s.c.Kubeconfig = inspect.ProbedKubeconfig{Path: ownFile, Absent: true}
			s.client(from(-31), from(-1))
		}, assess.Warn, "n??n??yyy", "it has to rejoin"},
		{"the client certificate begins later: the bootstrap file is not looked at", func(s *starting) {
			s.client(from(1), from(29))
			told(&s.c.Kubeconfig, 401, "Unauthorized")
			told(&s.c.Bootstrap, 401, "Unauthorized")
		}, assess.Fail, "yyynnnyy!", "begins later"},
		{"it shows a token, and there is a file to join with", func(s *starting) {
			s.c.Kubeconfig.Presents, s.c.Kubeconfig.Certificate = inspect.CredentialToken, ""
			s.client(from(-31), from(-1))
		}, assess.Warn, "yyy-yyyyy", "it has to rejoin"},
		{"it shows a token, and that is all there is", func(s *starting) {
			s.c.Kubeconfig.Presents, s.c.Kubeconfig.Certificate = inspect.CredentialToken, ""
			s.c.Bootstrap = inspect.ProbedKubeconfig{Absent: true}
		}, assess.Pass, "yyy-yy---", ""},
		{"its own file is broken, and so is the other", func(s *starting) {
			s.c.Kubeconfig = inspect.ProbedKubeconfig{Path: ownFile, Refused: "it is no YAML"}
			s.c.Bootstrap = inspect.ProbedKubeconfig{Path: joinFile, Refused: "it is empty"}
		}, assess.Fail, "n??n??n??", "it is empty"},
		{"its own file could not be read", func(s *starting) {
			s.c.Kubeconfig = inspect.ProbedKubeconfig{Path: ownFile, Unread: "its shape is not understood"}
		}, assess.Unknown, "?????" + "?yyy", "not understood"},
		{"it was not asked", func(s *starting) { s.s.Nodes[0].RestartProbe = nil }, assess.Unknown, "?????????", "not tried"},
		{"it was not asked, and its files do not verify what is presented", func(s *starting) { s.s.Nodes[0].RestartProbe = nil; s.serves(s.fresh) }, assess.Fail, "??ny???!?", ownFile + ": x509"},
		{"it was not asked, and has to rejoin with what is not verified", func(s *starting) {
			s.s.Nodes[0].RestartProbe = nil
			s.serves(s.fresh)
			s.client(from(-31), from(-1))
		}, assess.Fail, "??nn???n?", "no valid client certificate, and /etc/kubernetes/kubeconfig"},
		{"it was not asked, and another node was presented what is not verified", func(s *starting) {
			s.s.Nodes[0].RestartProbe = nil
			s.serves(s.fresh)
			other := s.s.Served[0]
			other.Node = "n2"
			s.serves(s.old)
			s.s.Served = append(s.s.Served, other)
		}, assess.Unknown, "?????????", "not tried"},
		{"the node did not answer", func(s *starting) { *s.c = inspect.RestartProbe{Problem: "gave up"} }, assess.Unknown, "?????????", "gave up"},
		{"the node was not read", func(s *starting) { s.s.Nodes[0].Via = "" }, assess.Unknown, "?????????", "not read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStarting()
			c.with(s)
			r := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 0))
			got := ""
			for _, a := range r.Nodes[0].Answers {
				if a.NotNeeded {
					got += "-"
				} else {
					got += map[assess.Status]string{assess.Pass: "y", assess.Unknown: "?", assess.Warn: "!", assess.Fail: "n"}[a.Status]
				}
				if (a.Status != assess.Pass || a.NotNeeded) && a.Reason == "" {
					t.Errorf("%s: %s without a reason", a.ID, a.Status)
				}
			}
			v := r.Nodes[0].ComesBack
			if v.Status != c.verdict || got != c.answers || !strings.Contains(v.Reason, c.why) {
				t.Errorf("%s: %q; answers %s, want %s and %s\n%+v", v.Status, v.Reason, got, c.verdict, c.answers, r.Nodes[0].Answers)
			}
		})
	}
}

// TestWhatAKubeconfigThatIsNotThereCannotAsk: why nothing is known of the Node and the Lease.
func TestWhatAKubeconfigThatIsNotThereCannotAsk(t *testing.T) {
	t.Parallel()
	s := newStarting()
	s.c.Kubeconfig = inspect.ProbedKubeconfig{Path: ownFile, Absent: true}
	r := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 0))
	for _, a := range r.Nodes[0].Answers {
		if own := a.ID == "own-node" || a.ID == "own-lease"; own && a.Reason != "it was not asked: the kubeconfig can't be used" {
			t.Errorf("%s: %s", a.ID, a.Reason)
		}
	}
}

// TestRestartStepsNameTheFilesThatWereRead, and no other file or node, whatever the files are called.
func TestRestartStepsNameTheFilesThatWereRead(t *testing.T) {
	t.Parallel()
	s := newStarting()
	told(&s.c.Kubeconfig, 401, "Unauthorized")
	s.s.Hints = inspect.FileHints("kubectl certrot", "--from NODE-1.certrot")
	r := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 0))
	want := "verify nodes --from NODE-1.certrot; if it is to have another one: kubectl certrot fix-api-int --nodes n1 --rebootstrap --approve-csrs --dry-run=client --from NODE-1.certrot"
	if a := r.Nodes[0].Answers[4]; a.ID != "own-node" || !strings.HasSuffix(a.Remediation.Text, want) {
		t.Errorf("%s: %q", a.ID, a.Remediation.Text)
	}
}

func TestNewNodesAndWorst(t *testing.T) {
	t.Parallel()
	s := newStarting()
	report := func() report.RestartReport {
		return report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 0))
	}
	if r := report(); r.NewNode.Status != assess.Unknown || r.Worst() != assess.Unknown {
		t.Errorf("nothing was read for new nodes: %+v, worst %s", r.NewNode, r.Worst())
	}
	s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-machine-config-operator", Name: "node-bootstrapper-token", Key: "ca.crt"}, s.old.CertPEM)
	if r := report(); r.NewNode.Status != assess.Unknown || !strings.Contains(r.NewNode.Reason, "new-node-api-int: the certificate presented was not read: Secret/") || r.Worst() != assess.Unknown {
		t.Errorf("what new nodes are shown was not read: %+v, worst %s", r.NewNode, r.Worst())
	}
	shown := s.old.Issue("api-int.example.com", from(-2), from(28), pkitest.DNS("api-int.example.com"))
	trusted := s.s.Bundles[len(s.s.Bundles)-1]
	s.s.Bundles = s.s.Bundles[:len(s.s.Bundles)-1]
	s.put(catalog.InternalLoadBalancerServing(), shown.CertPEM)
	s.s.Bundles = append(s.s.Bundles, trusted)
	s.s.Reads = []inspect.Read{{What: "secrets"}, {What: "configmaps"}}
	if r := report(); r.NewNode.Status != assess.Pass || r.Worst() != assess.Pass {
		t.Errorf("%+v, worst %s", r.NewNode, r.Worst())
	}
	s.s.Hints = inspect.FileHints("certrot", "--from a.certrot")
	s.s.Nodes[0].Role = catalog.RoleMaster
	if r := report(); r.NewNode.Status != assess.Pass {
		t.Errorf("a file with what nodes were answered: %+v", r.NewNode)
	}
	for name, change := range map[string]func(c *inspect.RestartProbe){
		"what nodes join with was not read": func(c *inspect.RestartProbe) { c.Bootstrap = inspect.ProbedKubeconfig{Unread: "no permission"} },
		"a server did not answer to it": func(c *inspect.RestartProbe) {
			c.Bootstrap.Answers = []inspect.ProbeAnswer{{Question: inspect.AskAPI, Failure: inspect.FailedConnect}}
		},
		"nothing could be asked on the node": func(c *inspect.RestartProbe) { c.Problem = "no curl" },
		"the server does not know its token": func(c *inspect.RestartProbe) { told(&c.Bootstrap, 401, "Unauthorized") },
		"the file has no token":              func(c *inspect.RestartProbe) { c.Bootstrap.Presents = inspect.CredentialNone },
		"a worker alone says so":             func(*inspect.RestartProbe) { s.s.Nodes[0].Role = catalog.RoleWorker },
		"what it is, is unknown":             func(*inspect.RestartProbe) { s.s.Nodes[0].Role = "" },
	} {
		was := *s.c
		was.Bootstrap.Answers = slices.Clone(was.Bootstrap.Answers)
		change(s.c)
		if r := report(); r.NewNode.Status != assess.Unknown || !strings.Contains(r.NewNode.Reason, "whether its bootstrap token is accepted") {
			t.Errorf("%s: %+v", name, r.NewNode)
		}
		*s.c, s.s.Nodes[0].Role = was, catalog.RoleMaster
	}
	if told(&s.c.Bootstrap, 403, "Forbidden"); report().NewNode.Status != assess.Pass {
		t.Error("a token that is known, and may not read this")
	}
	for i := range s.s.Nodes {
		s.s.Nodes[i].RestartProbe = nil
	}
	if r := report(); r.NewNode.Status != assess.Unknown || !strings.Contains(r.NewNode.Reason, "(new-node-api-int); whether its bootstrap token is accepted") || !strings.Contains(r.NewNode.Remediation.Text, "--restart-safe") {
		t.Errorf("a file proves a no, and no yes: %+v", r.NewNode)
	}
	s.s.Bundles[len(s.s.Bundles)-1].Content = s.sc.Scan(s.fresh.CertPEM)[0].Content
	if r := report(); r.NewNode.Status != assess.Fail || !strings.Contains(r.NewNode.Reason, "new-node-api-int") || r.Worst() != assess.Fail {
		t.Errorf("%+v, worst %s", r.NewNode, r.Worst())
	}
	s.s.Nodes = nil
	if r := report(); r.Worst() != assess.Unknown {
		t.Errorf("without nodes: %s", r.Worst())
	}
}

// byHand has an administrator's kubeconfig be presented a certificate that only a user renews.
func (s *starting) byHand(file string) {
	leaf := s.old.Issue("apps", from(-700), from(20), pkitest.DNS("api.example.com")).CertPEM
	s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-ingress", Name: "router-certs-default", Key: "tls.crt"}, leaf)
	s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-ingress-operator", Name: "router-ca", Key: "tls.crt"}, s.old.CertPEM)
	s.s.Served[len(s.s.Served)-1].Chain = s.sc.Scan(leaf)[0].Content.Certs
}

func TestAccess(t *testing.T) {
	t.Parallel()
	const file = "/home/me/.kube/config"
	for _, c := range []struct {
		name string
		with func(*starting)
		want assess.Status
		why  string
	}{
		{"a certificate and both CAs", func(*starting) {}, assess.Pass, "until"},
		{"a token", func(s *starting) { s.s.Access.Presents, s.s.Access.How = inspect.CredentialToken, "a token" }, assess.Fail, "a token"},
		{"a program", func(s *starting) { s.s.Access.Presents, s.s.Access.How = inspect.CredentialOther, "the program oc" }, assess.Fail, "the program oc"},
		{"the certificate was not read", func(s *starting) { s.s.Access.Certificate.Field = "other" }, assess.Unknown, "not read"},
		{"the machine's own trust store", func(s *starting) { s.s.Access.CA = inspect.CASystem }, assess.Unknown, "no CA of its own"},
		{"nobody is verified", func(s *starting) { s.s.Access.CA = inspect.CAIgnored }, assess.Warn, "insecure"},
		{"no handshake was made", func(s *starting) { s.s.Access.Problem = "through a proxy" }, assess.Unknown, "proxy"},
		{"the CA does not verify what is shown", func(s *starting) { s.s.Bundles[len(s.s.Bundles)-1].Content = s.sc.Scan(s.clients.CertPEM)[0].Content }, assess.Fail, "does not verify"},
		{"the signer was replaced", func(s *starting) { s.s.Bundles[len(s.s.Bundles)-1].Content = s.sc.Scan(s.old.CertPEM)[0].Content }, assess.Warn, `and not the next one, which "lb-signer@2" signs`},
		{"what is shown ends, and nobody renews it", func(s *starting) { s.byHand(file) }, assess.Warn, "presents now; the certificate presented expires and is not renewed automatically"},
		{"no kubeconfig was read", func(s *starting) { s.s.Access = nil }, assess.Unknown, "not read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStarting()
			user, ca := pki.Location{Kind: pki.KindFile, Path: file, Field: "user"}, pki.Location{Kind: pki.KindFile, Path: file, Field: "ca"}
			leaf := s.old.Issue("api.example.com", from(-2), from(28), pkitest.DNS("api.example.com"))
			s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver", Name: "external-loadbalancer-serving-certkey", Key: "tls.crt"}, leaf.CertPEM)
			s.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver-operator", Name: "loadbalancer-serving-signer", Key: "tls.crt"}, s.fresh.CertPEM)
			s.s.Bundles = append(s.s.Bundles,
				inspect.Bundle{At: user, Content: s.sc.Scan(s.clients.Issue("system:admin", from(-1), from(3000)).CertPEM)[0].Content},
				inspect.Bundle{At: ca, Content: s.sc.Scan(pkitest.Bundle(s.old.CertPEM, s.fresh.CertPEM))[0].Content})
			s.s.Served = append(s.s.Served, inspect.Served{Address: "api.example.com:6443", Name: "api.example.com", Server: catalog.ListenerUserKubeconfig, Chain: s.sc.Scan(leaf.CertPEM)[0].Content.Certs})
			s.s.Access = &inspect.Access{Presents: inspect.CredentialCertificate, CA: inspect.CAEmbedded, Certificate: user, Trust: ca, Server: "api.example.com:6443", Name: "api.example.com"}
			c.with(s)
			if got := report.NewRestartReport(context.Background(), inspect.NewFacts(s.s, noon, 25*day)).Access; got.Status != c.want || !strings.Contains(got.Reason, c.why) {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}
