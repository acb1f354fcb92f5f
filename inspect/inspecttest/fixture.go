package inspecttest

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Whole says of a fixture that all Secrets and ConfigMaps were read.
func (f *Fixture) Whole() *Fixture {
	f.Snapshot.Reads = append(f.Snapshot.Reads, inspect.Read{What: "secrets", Objects: 1}, inspect.Read{What: "configmaps", Objects: 1})
	return f
}

// Unmarked takes the subject key identifiers away: crypto/x509 makes no CA without.
func (f *Fixture) Unmarked() *Fixture {
	for _, b := range f.Snapshot.Bundles {
		for _, c := range b.Content.Certs {
			c.SubjectKey = ""
		}
	}
	return f
}

// Names says that a field names this Secret.
func (f *Fixture) Names(kind pki.Kind, field, namespace, name string) *Fixture {
	f.Snapshot.References = append(f.Snapshot.References, inspect.Reference{
		From: pki.Location{Kind: kind, Namespace: namespace, Name: "names-it", Field: field}, To: pki.Location{Kind: "Secret", Namespace: namespace, Name: name, Key: "tls.crt"}, Target: inspect.TargetThere,
	})
	return f
}

// Calls says that an object has the API server call a Service: its CA bundle, none
// where there is no authority.
func (f *Fixture) Calls(kind pki.Kind, service string, ca *pkitest.Authority) *Fixture {
	const field = "webhooks[0].clientConfig.caBundle"
	namespace, name, _ := strings.Cut(service, "/")
	if ca != nil {
		f.Object(inspect.Object{Kind: kind, Name: "hook"}, map[string][]byte{field: ca.CertPEM})
	}
	f.Snapshot.References = append(f.Snapshot.References, inspect.Reference{
		From: pki.Location{Kind: kind, Name: "hook", Field: field}, To: pki.Location{Kind: "Service", Namespace: namespace, Name: name},
	})
	return f
}

// Annotated puts an annotation on the last object.
func (f *Fixture) Annotated(annotation string) *Fixture {
	f.Snapshot.Bundles[len(f.Snapshot.Bundles)-1].Object.Annotations = map[string]string{annotation: "true"}
	return f
}

// Process is one of the platform's, in the pod of its DaemonSet.
func Process(command string, started time.Time) inspect.Process {
	namespace, daemonSet := catalog.DaemonSetOf(command)
	return inspect.Process{Command: command, Started: started, Namespace: namespace, Pod: daemonSet + "-x7k2p", PodUID: "uid-" + daemonSet}
}

// TenantsProcess is one of the same name in a tenant's pod, whose name is no other than the
// platform's.
func TenantsProcess(command string, started time.Time) inspect.Process {
	p := Process(command, started)
	p.Namespace, p.PodUID = "tenant", "uid-tenant"
	return p
}

// OnNode adds a file of worker-0, read by ssh.
func (f *Fixture) OnNode(file string, mode fs.FileMode, blocks ...[]byte) *Fixture {
	n := f.node()
	secret := false
	for _, found := range f.Scanner.Scan(pkitest.Bundle(blocks...)) {
		at := pki.Location{Kind: pki.KindFile, Node: n.Name, Path: file, Field: found.Field}
		f.Snapshot.Bundles = append(f.Snapshot.Bundles, inspect.Bundle{At: at, Content: found.Content})
		secret = secret || len(found.Content.Keys) > 0
	}
	n.Files = append(n.Files, inspect.NodeFile{Path: file, Mode: mode, Secret: secret})
	return f
}

// Embedded adds a kubeconfig with these CAs.
func (f *Fixture) Embedded(file string, change func(*inspect.Kubeconfig), cas ...[]byte) *Fixture {
	const field = "clusters[0].cluster.certificate-authority-data"
	n := f.node()
	k := inspect.Kubeconfig{Path: file, Users: 1, Current: "default", Clusters: []inspect.KubeconfigCluster{{Name: "default", Server: "https://api-int.example.com:6443", CAData: true, Field: field}}}
	if change != nil {
		change(&k)
	}
	n.Kubeconfigs = append(n.Kubeconfigs, k)
	n.Files = append(n.Files, inspect.NodeFile{Path: file, Mode: 0o600, Secret: true})
	for _, found := range f.Scanner.Scan(pkitest.Bundle(cas...)) {
		at := pki.Location{Kind: pki.KindFile, Node: n.Name, Path: file, Field: field}
		f.Snapshot.Bundles = append(f.Snapshot.Bundles, inspect.Bundle{At: at, Content: found.Content})
	}
	return f
}

// Link adds a symbolic link to the node.
func (f *Fixture) Link(path, target string) *Fixture {
	n := f.node()
	n.Files = append(n.Files, inspect.NodeFile{Path: path, Mode: fs.ModeSymlink | 0o777, Link: "x.pem", Target: target})
	return f
}

// Shown makes this chain what api-int presents to worker-0.
func (f *Fixture) Shown(chain ...pkitest.Pair) *Fixture {
	s := inspect.Served{Node: f.node().Name, Address: "api-int.example.com:6443", Name: "api-int.example.com"}
	for _, p := range chain {
		s.Chain = append(s.Chain, f.Scanner.Scan(p.CertPEM)[0].Content.Certs...)
	}
	f.Snapshot.Served = append(f.Snapshot.Served, s)
	return f
}

// Changed sets when a file of worker-0 was changed, and when its kubelet started.
func (f *Fixture) Changed(file string, when, started time.Time) *Fixture {
	n := f.node()
	n.Kubelet.Started = started
	for i := range n.Files {
		if n.Files[i].Path == file {
			n.Files[i].Modified = when
		}
	}
	return f
}

func (f *Fixture) node() *inspect.Node {
	if len(f.Snapshot.Nodes) == 0 {
		f.Snapshot.Nodes = []inspect.Node{{Name: "worker-0", Via: "ssh", Kubelet: inspect.Kubelet{Active: "active", Sub: "running"}}}
	}
	return &f.Snapshot.Nodes[0]
}

// With changes the node.
func (f *Fixture) With(change func(*inspect.Node)) *Fixture {
	change(f.node())
	return f
}

// Clock makes the node's clock differ, as told by an answer that took a second.
func (f *Fixture) Clock(off time.Duration) *Fixture {
	f.node().Clock = inspect.Clock{Sent: Noon, Before: Noon.Add(off), After: Noon.Add(off + time.Second), Received: Noon.Add(time.Second)}
	return f
}

// Logged adds a log with this many tokens and keys; no node: in a must-gather.
func (f *Fixture) Logged(node string, tokens, keys int, last time.Time) *Fixture {
	at := pki.Location{Kind: pki.KindFile, Node: node, Path: "/var/log/pods/openshift-machine-config-operator_machine-config-daemon-x/machine-config-daemon/0.log"}
	f.Snapshot.Exposed = append(f.Snapshot.Exposed, inspect.Exposed{At: at, Mode: 0o640, Tokens: tokens, Keys: keys, First: last, Last: last})
	return f
}

// BootstrapToken adds the Secret of the token with which nodes join.
func (f *Fixture) BootstrapToken(created time.Time, ca []byte) *Fixture {
	return f.Object(inspect.Object{Kind: "Secret", Namespace: "openshift-machine-config-operator", Name: "node-bootstrapper-token", Type: "kubernetes.io/service-account-token", Created: created},
		map[string][]byte{"ca.crt": ca})
}

// APIClock sets how far the API server's clock is ahead.
func (f *Fixture) APIClock(off time.Duration) *Fixture {
	f.Snapshot.Cluster.Clock = inspect.Clock{Sent: Noon, Before: Noon.Add(off), After: Noon.Add(off), Received: Noon.Add(time.Second)}
	return f
}

// Refers adds what one field names.
func (f *Fixture) Refers(from, to pki.Location, target inspect.Target) *Fixture {
	f.Snapshot.References = append(f.Snapshot.References, inspect.Reference{From: from, To: to, Target: target})
	return f
}

// Reports adds what a controller says of a certificate of the API server's bundle.
func (f *Fixture) Reports(at pki.Location, p pkitest.Pair) *Fixture {
	r := inspect.Reported{At: at, Bundle: "KubeAPIServerServingCAData", Subject: p.Cert.Subject.String(), NotAfter: p.Cert.NotAfter}
	if at.Kind == inspect.KindControllerConfig {
		r.Signer, r.NotBefore = p.Cert.Issuer.String(), p.Cert.NotBefore
	}
	f.Snapshot.Reported = append(f.Snapshot.Reported, r)
	return f
}

// ControllerConfig adds the ControllerConfig of OpenShift.
func (f *Fixture) ControllerConfig(values map[string][]byte) *Fixture {
	return f.Object(inspect.Object{Kind: inspect.KindControllerConfig, Name: "machine-config-controller"}, values)
}

// Unfinished is a report of 4.14, which knew no times.
func (f *Fixture) Unfinished() *Fixture {
	for i := range f.Snapshot.Reported {
		r := &f.Snapshot.Reported[i]
		*r = inspect.Reported{At: r.At, Bundle: r.Bundle, Subject: r.Subject, Signer: r.Signer}
	}
	return f
}

// Namespaces of OpenShift.
const (
	OperatorNS = "openshift-kube-apiserver-operator"
	TargetNS   = "openshift-kube-apiserver"
	ManagedNS  = "openshift-config-managed"
)

// DaysFromNoon is a time before or after Noon.
func DaysFromNoon(days int) time.Time { return Noon.Add(time.Duration(days) * Day) }

// Noon is the time of every fixture.
var Noon = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

// Day is 24 hours.
const Day = 24 * time.Hour

// Fixture is a snapshot in the making.
type Fixture struct {
	Scanner  *pki.Scanner
	Snapshot inspect.Snapshot
}

// NewFixture is a cluster of a version, without objects.
func NewFixture(version string) *Fixture {
	f := &Fixture{Scanner: pki.NewScanner()}
	f.Snapshot.Taken = Noon
	f.Snapshot.Cluster.Created = Noon.AddDate(-4, 0, 0)
	if version == "" {
		f.Snapshot.Cluster.Versions = catalog.Versions{Kubernetes: "v1.35.4", NotOpenShift: true}
	} else {
		f.Snapshot.Cluster.Versions = catalog.Versions{Cluster: version}
	}
	return f
}

// Object adds an object with these values.
func (f *Fixture) Object(o inspect.Object, values map[string][]byte) *Fixture {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		for _, found := range f.Scanner.Scan(values[key]) {
			at := pki.Location{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Key: key, Field: found.Field}
			if o.Kind != "Secret" && o.Kind != "ConfigMap" {
				at.Key, at.Field = "", key
			}
			f.Snapshot.Bundles = append(f.Snapshot.Bundles, inspect.Bundle{At: at, Object: &o, Content: found.Content})
		}
	}
	return f
}

// Hollow adds an object that holds nothing where certificates belong.
func (f *Fixture) Hollow(o inspect.Object, key string) *Fixture {
	at := pki.Location{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Key: key}
	f.Snapshot.Bundles = append(f.Snapshot.Bundles, inspect.Bundle{At: at, Object: &o, Content: &pki.Content{}})
	return f
}

// Secret adds a TLS Secret.
func (f *Fixture) Secret(namespace, name string, annotations map[string]string, p pkitest.Pair) *Fixture {
	return f.Object(inspect.Object{Kind: "Secret", Namespace: namespace, Name: name, Type: "kubernetes.io/tls", Annotations: annotations},
		map[string][]byte{"tls.crt": p.CertPEM, "tls.key": p.KeyPEM})
}

// ConfigMap adds a ConfigMap with one key.
func (f *Fixture) ConfigMap(namespace, name, key string, blocks ...[]byte) *Fixture {
	return f.Object(inspect.Object{Kind: "ConfigMap", Namespace: namespace, Name: name}, map[string][]byte{key: pkitest.Bundle(blocks...)})
}

// EndlessList adds a revocation list that does not say until when it holds.
func (f *Fixture) EndlessList(namespace string) *Fixture {
	o := inspect.Object{Kind: "ConfigMap", Namespace: namespace, Name: "crl"}
	f.Snapshot.Bundles = append(f.Snapshot.Bundles, inspect.Bundle{
		At: pki.Location{Kind: o.Kind, Namespace: namespace, Name: o.Name, Key: "crl.pem"}, Object: &o,
		Content: &pki.Content{CRLs: []*pki.CRL{{Issuer: "CN=test CA", ThisUpdate: Noon.AddDate(-1, 0, 0)}}},
	})
	return f
}

// Request adds a CertificateSigningRequest.
func (f *Fixture) Request(name string, condition inspect.Condition, age time.Duration) *Fixture {
	f.Snapshot.Requests = append(f.Snapshot.Requests, inspect.SigningRequest{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: name}, Signer: "kubernetes.io/kubelet-serving",
		Requester: "system:node:worker-1", Condition: condition, Since: Noon.Add(-age),
	})
	return f
}

// Rotation are the annotations that library-go writes for p.
func Rotation(p pkitest.Pair) map[string]string {
	return map[string]string{
		catalog.AnnotationNotBefore: p.Cert.NotBefore.Format(time.RFC3339),
		catalog.AnnotationNotAfter:  p.Cert.NotAfter.Format(time.RFC3339),
		catalog.AnnotationIssuer:    p.Cert.Issuer.CommonName,
	}
}

// With is a copy of m with one value more.
func With(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	m[key] = value
	return m
}

// Without is a copy of m without a key.
func Without(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
