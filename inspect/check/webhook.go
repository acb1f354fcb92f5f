package check

import (
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// calledTrusted holds the CA bundles by which the API server calls Services
// against what these may show.
func calledTrusted(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.ServiceCalls() {
		switch {
		case c.Bundle == nil:
			finding := callFinding(c)
			finding.Reason = subject(finding.At) + " names no CA for Service " + c.Name
			finding.Impact = "now: " + callFailing(c.From)
			finding.Evidence = "it names no CA for the Service " + c.Name + ": the API server then trusts its system's CAs, none of which signs for a Service"
			out = append(out, finding)
		case c.Unjudged != "":
			finding := callFinding(c)
			finding.Reason = fmt.Sprintf("%s: trust in Service %s is unknown", subject(finding.At), c.Name)
			finding.Impact = "if it does not: " + callFailing(c.From)
			finding.Evidence = fmt.Sprintf("whether the CA bundle verifies what the Service %s presents is unknown: %s", c.Name, c.Unjudged)
			finding.Remediation = assess.Advise("look at what the Service presents, and verify it with the CA bundle: openssl s_client -connect HOST:PORT -showcerts -CAfile BUNDLE, from a pod; Secrets in its namespace with its name that are not its own can go")
			out = append(out, finding)
		case c.Problem != nil:
			out = append(out, callFails(c))
		}
	}
	return out
}

// callFailing says what fails where the API server refuses what a Service presents.
func callFailing(from pki.Location) string {
	switch from.Kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService", "CustomResourceDefinition":
		return distrust(from)
	}
	return "the API server's calls of it fail"
}

func callFinding(c inspect.ServiceCall) assess.Finding {
	return assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning, Remediation: assess.Advise("have whoever keeps the CA bundle put the CA there that signs the Service's certificate (cert-manager's cainjector, service-ca's annotation, the operator), or restart it")}, At: []pki.Location{c.From}}
}

// callFails is the finding about a call that its bundle verifies nothing for.
func callFails(c inspect.ServiceCall) assess.Finding {
	finding := callFinding(c)
	var certs []*pki.Cert
	for _, h := range c.Presented {
		finding.At = append(finding.At, h.At)
		finding.Certs = append(finding.Certs, h.Leaf().Fingerprint)
		if !slices.Contains(certs, h.Leaf()) {
			certs = append(certs, h.Leaf())
		}
	}
	finding.Reason = fmt.Sprintf("%s: CA bundle does not verify Service %s", subject([]pki.Location{c.From}), c.Name)
	finding.Evidence = fmt.Sprintf("the CA bundle does not verify what the Service %s has to present, %s: %v", c.Name, names(certs), c.Problem)
	if c.ByServiceCA {
		finding.Severity, finding.Impact = assess.Critical, "now: "+callFailing(c.From)
	} else {
		finding.Impact = "if the Service presents this certificate: " + callFailing(c.From)
		finding.Remediation = assess.Advise("check first what the Service's port presents (it may have a certificate of its own, in memory): if it is one of these, " + finding.Remediation.Text)
	}
	return finding
}
