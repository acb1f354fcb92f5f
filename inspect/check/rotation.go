package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// annotations compares what library-go decides from with the certificate.
func annotations(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for i := range f.Entries {
		h := &f.Entries[i]
		leaf := h.Leaf()
		if leaf == nil || h.At.Key != "tls.crt" || h.Superseded || !managed(h) {
			continue
		}
		if problems := disagreements(h, leaf); len(problems) > 0 {
			texts, regenerated := make([]string, len(problems)), false
			for i, p := range problems {
				texts[i], regenerated = p.text, regenerated || p.regenerated
			}
			impact := "its owner rotates it too late, or at once"
			if regenerated {
				impact = "at its owner's next sync: the certificate is regenerated"
			}
			reason := place(h.At) + ": annotation " + problems[0].what
			if len(problems) > 1 {
				reason += fmt.Sprintf(", %d more", len(problems)-1)
			}
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity:    assess.Warning,
					Reason:      reason,
					Impact:      impact,
					Evidence:    fmt.Sprintf("%s: %s", inspect.CertName(leaf), strings.Join(texts, "; ")),
					Remediation: annotationsOf(h.At).Saying("compare the annotations with the certificate, then look at what its owner did"),
				},
				At: []pki.Location{h.At}, Certs: []pki.Fingerprint{leaf.Fingerprint}, Due: leaf.NotAfter,
			})
		}
	}
	return out
}

// managed reports whether library-go's rotation keeps the object.
func managed(h *inspect.Entry) bool {
	for _, a := range []string{catalog.AnnotationNotBefore, catalog.AnnotationNotAfter, catalog.AnnotationIssuer} {
		if h.Annotation(a) != "" {
			return true
		}
	}
	return false
}

// annotationProblem is what is wrong with an annotation.
type annotationProblem struct {
	what        string // in short, after its name
	text        string
	regenerated bool // library-go regenerates the certificate
}

func disagreements(h *inspect.Entry, leaf *pki.Cert) []annotationProblem {
	var out []annotationProblem
	for _, d := range []struct {
		key, short string
		want       time.Time
	}{
		{catalog.AnnotationNotBefore, "certificate-not-before", leaf.NotBefore},
		{catalog.AnnotationNotAfter, "certificate-not-after", leaf.NotAfter},
	} {
		value, ok := h.Object.Annotations[d.key]
		switch at, err := time.Parse(time.RFC3339, value); {
		case !ok:
			out = append(out, annotationProblem{d.short + " is missing", "annotation " + d.short + " is missing", true})
		case err != nil:
			out = append(out, annotationProblem{d.short + " is no time", fmt.Sprintf("annotation %s %s is no time", d.short, foreign.QuotedName(fmt.Sprintf("%.40s", value))), true})
		case !at.Equal(d.want):
			out = append(out, annotationProblem{d.short + " is wrong", fmt.Sprintf("annotation %s says %s, the certificate %s", d.short, day(at), day(d.want)), false})
		}
	}
	if issuer, ok := h.Object.Annotations[catalog.AnnotationIssuer]; ok && issuer != pki.CommonName(leaf.Issuer) {
		out = append(out, annotationProblem{"certificate-issuer is wrong", fmt.Sprintf("annotation certificate-issuer says %s, the certificate %s", foreign.QuotedName(fmt.Sprintf("%.80s", issuer)), foreign.QuotedName(pki.CommonName(leaf.Issuer))), false})
	}
	return out
}

// annotationsOf is the command that prints an object's annotations.
func annotationsOf(at pki.Location) assess.Remediation {
	const format = "%s/%s -o jsonpath='{.metadata.annotations}'"
	kind := strings.ToLower(string(at.Kind))
	if at.Namespace == "" {
		return assess.Command("", "oc get "+format, kind, at.Name)
	}
	return assess.Command("", "oc get -n %s "+format, at.Namespace, kind, at.Name)
}

// longAgo is when a cluster that still works must have been fixed: certificates
// and connections of kubelets do not live that long.
const longAgo = 60 * 24 * time.Hour

// apiCADelivered reports okd#1881 as far as the API's own objects
// do: the load balancer's signer was replaced, and this version does not bring
// its CA to the kubelets.
func apiCADelivered(f *inspect.Facts) []assess.Finding {
	replaced := f.UndeliveredCA()
	if replaced == nil {
		return nil
	}
	signer, ca, rotated := replaced.Signer, replaced.CA, replaced.Replaced
	const loses = "a kubelet without it loses its heartbeat at its next reconnect or restart"
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity: assess.Warning,
			Reason:   "kubelets are not given CA " + short(ca),
			Impact:   "once api-int's certificate is signed by it (up to 15 days after it was made): " + loses,
			Evidence: fmt.Sprintf("the CA of api and api-int was replaced %s by %s, and %s does not bring it into the kubelets' kubeconfigs", ago(f.Now, rotated), inspect.CertName(ca), version(f.Snapshot.Cluster.Versions)),
			Remediation: assess.FixedCommand(f.Hints().Next("{} pretrust --dry-run=client")).
				Saying("preview how its CA gets into both kubeconfigs of each kubelet, while every way onto nodes still works"),
		},
		At: []pki.Location{signer.At}, Certs: []pki.Fingerprint{ca.Fingerprint}, Due: rotated,
	}
	leaf := f.At(catalog.InternalLoadBalancerServing())
	if leaf == nil && f.Now.Sub(rotated) > inspect.FirstLeaf {
		finding.Impact = "if api-int's certificate is signed by it: " + loses
		finding.Evidence += "; the certificate that api-int presents was not read"
		finding.Remediation = assess.Advise("read " + catalog.InternalLoadBalancerServing().String() + " too, and compare the kubelets' kubeconfigs with ConfigMap " + publishedCA())
		return []assess.Finding{finding}
	}
	if leaf != nil && leaf.Leaf() != nil && signedBy(leaf.Leaf(), ca) {
		switch {
		case leaf.Leaf().NotBefore.Sub(rotated) < inspect.FirstLeaf:
			finding.Severity = assess.Critical
		case f.Now.Sub(rotated) > longAgo:
			finding.Severity = assess.Info
		}
		finding.At = append(finding.At, leaf.At)
		finding.Certs = append(finding.Certs, leaf.Leaf().Fingerprint)
		finding.Impact = loses
		finding.Evidence += fmt.Sprintf("; api-int presents a certificate signed by it since %s: a kubelet that reconnects or restarts without it fails with x509: certificate signed by unknown authority", day(leaf.Leaf().NotBefore))
		finding.Remediation = assess.FixedCommand(f.Hints().Next("{} fix-api-int --dry-run=client")).
			Saying("preview the repair of both kubeconfigs on each node. Do not restart kubelets or nodes before it")
	}
	return []assess.Finding{finding}
}

// publishedCA is the ConfigMap with the CAs of the API server.
func publishedCA() string {
	ca := catalog.APIServerCA()
	return ca.Namespace + "/" + ca.Name
}

func version(v catalog.Versions) string {
	if v.Cluster != "" {
		return v.Cluster
	}
	return "this version"
}

// signedBy verifies the signature of one certificate with the key of another.
func signedBy(leaf, ca *pki.Cert) bool {
	l, errL := leaf.X509()
	c, errC := ca.X509()
	return errL == nil && errC == nil && l.CheckSignatureFrom(c) == nil
}
