package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// subject names places at the beginning of a reason: the first, and how many more there are.
func subject(at []pki.Location) string {
	if len(at) == 0 {
		return ""
	}
	if !slices.IsSortedFunc(at, pki.Compare) {
		at = slices.SortedFunc(slices.Values(at), pki.Compare)
	}
	first, places := at[0], 1
	for i, l := range at[1:] {
		if beforeIn(l, first) {
			first = l
		}
		if inspect.ObjectAt(l) != inspect.ObjectAt(at[i]) { // those of one object follow each other
			places++
		}
	}
	if first.Node != "" {
		return onNodes(at)
	}
	return place(first) + more(places-1, "place")
}

// beforeIn reports whether a place is named before another one: the platform's before tenants', who
// may copy its certificates; Secrets are where certificates are presented, and what is on nodes is
// a copy.
func beforeIn(a, b pki.Location) bool {
	rank := func(l pki.Location) int {
		tenants := 0
		if !(&inspect.Entry{Bundle: &inspect.Bundle{At: l}}).Reserved() {
			tenants = 2
		}
		switch l.Kind {
		case "Secret":
			return tenants
		case pki.KindFile:
			return 4
		case inspect.KindServer: // it presents what is stored somewhere
			return 5
		}
		return tenants + 1
	}
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra < rb
	}
	return pki.Compare(a, b) < 0
}

// place is NAMESPACE/NAME of a Secret or ConfigMap, KIND/NAME of another object, or NODE: FILE.
// Keys that certificates are mostly under are left out.
func place(at pki.Location) string {
	at.Field = ""
	if at.Node != "" {
		return strings.TrimSuffix(foreign.Name(at.Node)+": "+pathText(at.Path), ": ")
	}
	if at.Key == "tls.crt" || at.Key == "ca-bundle.crt" {
		at.Key = ""
	}
	name := at.String()
	for _, kind := range []string{"Secret/", "ConfigMap/"} {
		name = strings.TrimPrefix(name, kind)
	}
	return name
}

// pathText is the path of a file, fit to be printed.
func pathText(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimPrefix(pki.Location{Kind: pki.KindFile, Path: path}.String(), "file:")
}

// onNodes names files on nodes.
func onNodes(at []pki.Location) string {
	nodes, files := filesOf(at)
	return strings.TrimSuffix(nodeNames(nodes)+": "+files, ": ")
}

const bothKubeconfigs = "both kubeconfigs of the kubelet"

// filesOf are the nodes of files, and the files in words: both kubeconfigs of the kubelet, or
// the first and how many more. Without a path, what is meant is the node.
func filesOf(at []pki.Location) (nodes []string, files string) {
	paths := map[string]bool{}
	known := map[string]bool{}
	for _, l := range at {
		if l.Node == "" {
			continue
		}
		if !known[l.Node] {
			known[l.Node] = true
			nodes = append(nodes, l.Node)
		}
		if l.Path != "" {
			paths[l.Path] = true
		}
	}
	slices.Sort(nodes)
	own := catalog.KubeletKubeconfigs()
	if len(paths) == 2 && paths[own[0]] && paths[own[1]] && len(at) == 2*len(nodes) {
		return nodes, bothKubeconfigs
	}
	first := ""
	for path := range paths {
		if first == "" || path < first {
			first = path
		}
	}
	return nodes, pathText(first) + more(len(paths)-1, "file")
}

// nodeNames names two nodes at most.
func nodeNames(nodes []string) string {
	switch len(nodes) {
	case 0:
		return ""
	case 1:
		return foreign.Name(nodes[0])
	case 2:
		return foreign.Name(nodes[0]) + ", " + foreign.Name(nodes[1])
	}
	return foreign.Name(nodes[0]) + more(len(nodes)-1, "node")
}

// more counts what is not named.
func more(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return " (+" + count(n, what) + ")"
}

// count is how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// says is a reason: the places, and what one of them does, or both kubeconfigs do.
func says(at []pki.Location, one, both string) string {
	name := subject(at)
	if strings.HasSuffix(name, bothKubeconfigs) {
		return name + " " + both
	}
	return name + " " + one
}

// named puts the places in front of reasons, once all of them are known.
func named(findings []assess.Finding) []assess.Finding {
	for i := range findings {
		findings[i].Reason = subject(findings[i].At) + ": " + findings[i].Reason
	}
	return findings
}

// mostOfName is how much of a common name a reason has; evidence has all of it.
const mostOfName = 64

// short is the name of a certificate in a reason. OpenShift's signers have long ones.
func short(c *pki.Cert) string {
	if name := pki.CommonName(c.Subject); name != "" || len(c.Names.DNS) == 0 {
		return shortName(name)
	}
	return shortName(c.Names.DNS[0])
}

func shortName(cn string) string {
	cn = strings.TrimPrefix(cn, catalog.LoadBalancerSigner().Namespace+"_")
	if cn == "" {
		return "without a name"
	}
	if runes := []rune(cn); len(runes) > mostOfName {
		cn = string(runes[:mostOfName]) + "…"
	}
	return foreign.Name(cn)
}

// shortNames names the first of certificates in a reason.
func shortNames(certs []*pki.Cert) string {
	if n := len(certs) - 1; n > 0 {
		return fmt.Sprintf("%s and %d more", short(certs[0]), n)
	}
	return short(certs[0])
}

// whole names a certificate in evidence, and who issued it.
func whole(c *pki.Cert) string {
	if c.SelfSigned {
		return inspect.CertName(c) + ", self-signed,"
	}
	return inspect.CertName(c) + ", issued by " + foreign.QuotedName(pki.CommonName(c.Issuer)) + ","
}

// when says how far from now a time is, and which it is.
func when(now, t time.Time) string {
	if t.IsZero() {
		return ago(now, t)
	}
	return ago(now, t) + " (" + day(t) + ")"
}

const usageClient = "client auth"

// refused says what fails where a certificate is refused.
func refused(c *pki.Cert) string {
	client := len(c.Usages) == 0 || slices.Contains(c.Usages, usageClient) || slices.Contains(c.Usages, usageAny)
	switch {
	case c.IsCA:
		return "every certificate that it signed is refused"
	case mayServe(c) && !client:
		return "clients refuse the server that presents it"
	case client && !mayServe(c):
		return "servers refuse the client that presents it"
	}
	return "TLS handshakes with it fail"
}

// distrust says what fails where CA bundles verify nothing, by the best place of them.
func distrust(at pki.Location, bundles ...*inspect.Entry) string {
	switch at.Kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		switch failurePolicyOf(bundles) {
		case inspect.PolicyFail:
			return "writes it matches are rejected (failurePolicy: Fail)"
		case inspect.PolicyIgnore:
			return "writes it matches are accepted without it (failurePolicy: Ignore)"
		}
		return "writes it matches are rejected unless failurePolicy is Ignore"
	case "APIService":
		return "the API server does not reach this API"
	case "CustomResourceDefinition":
		return "the API server cannot have these resources converted"
	}
	return "every TLS connection verified with it fails, as its readers trust no CA"
}

// failurePolicyOf is PolicyFail where it is that of one of them, and PolicyIgnore where it is that of all; else zero:
// it is unknown.
func failurePolicyOf(bundles []*inspect.Entry) (all inspect.FailurePolicy) {
	for i, h := range bundles {
		switch {
		case h == nil:
			all = 0
		case h.FailurePolicy == inspect.PolicyFail:
			return inspect.PolicyFail
		case i == 0 || h.FailurePolicy == 0:
			all = h.FailurePolicy
		}
	}
	return all
}

// advise is a next step for people, and the command that looks at the object, if it is one.
// It prints no private key: of a Secret, describe prints no data.
func advise(text string, at pki.Location) assess.Remediation {
	verb, kind := "get", strings.ToLower(string(at.Kind))
	switch at.Kind {
	case pki.KindFile, inspect.KindServer:
		return assess.Advise(text)
	case "Secret", "ConfigMap", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService":
		verb = "describe"
	}
	if at.Namespace == "" {
		return assess.Command("", "kubectl %s %s %s", verb, kind, at.Name).Saying(text)
	}
	if verb == "get" {
		return assess.Command("", "kubectl -n %s get %s %s", at.Namespace, kind, at.Name).Saying(text)
	}
	return assess.Command("", "kubectl -n %s describe %s %s", at.Namespace, kind, at.Name).Saying(text)
}

// renewCA is the next step where a CA bundle needs the CA that replaced an expired one. For a webhook
// it says whose CA that is: its server's, which service-ca or cert-manager puts there where an
// annotation asks for it.
func renewCA(f *inspect.Facts, h *inspect.Entry) assess.Remediation {
	at := h.At
	if at.Kind != "ValidatingWebhookConfiguration" && at.Kind != "MutatingWebhookConfiguration" {
		return advise("find the bundle's source, and the CA that replaced this one", at)
	}
	r := assess.Command("", "kubectl get "+strings.ToLower(string(at.Kind))+" %s -o yaml", at.Name)
	if h.Object != nil && catalog.ServiceCAInjects(string(at.Kind), h.Object.Annotations) {
		return r.Followed("look whether service-ca is well, which writes caBundle", "oc get clusteroperator service-ca")
	}
	for _, name := range []string{catalog.AnnotationInjectCAFrom, catalog.AnnotationInjectCAFromSecret} {
		if h.Annotation(name) != "" {
			return r.Followed("look whether cert-manager's cainjector runs, which writes caBundle", "kubectl get pods -A -l app.kubernetes.io/component=cainjector")
		}
	}
	server := "clientConfig's server"
	for _, ref := range f.Snapshot.References {
		if service := ref.To; ref.From == at && foreign.Fit(service.Namespace, service.Name) {
			server = "Service " + service.Namespace + "/" + service.Name
		}
	}
	r.Then = "put the CA of " + server + " there, unless an operator does"
	r.Text += "; then " + r.Then
	return r
}

// before is a next step whose text has its command in it, and goes on with what is to be done
// after that: what writes never stands before what looks.
func before(look assess.Remediation, then string) assess.Remediation {
	if look.Command != "" {
		look.Text += ": " + look.Command
	}
	look.Text += then
	return look
}

// askOwner is a next step for people, and the command that prints an operator's own account of
// its trouble. Owners that are no cluster operators have none.
func askOwner(text, owner string) assess.Remediation {
	op, ok := strings.CutSuffix(owner, "-operator")
	if !ok || strings.Contains(op, " ") {
		return assess.Advise(text)
	}
	return assess.Command("oc get clusteroperators", "oc get clusteroperator %s -o yaml", strings.TrimPrefix(op, "cluster-")).Saying(text)
}
