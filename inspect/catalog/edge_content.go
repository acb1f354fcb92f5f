package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// Edges whose trust anchors configuration carries: bundles that are made of others, files that
// are copies, and CA bundles beside the names of Services.

// bundleEdges say that what is made of others holds all of it.
func bundleEdges() []Edge {
	const impact = "its readers refuse what the CA that it lacks has signed"
	return []Edge{
		{
			ID: "bundle-parts", Part: PartBundles, Verifier: "who trusts a bundle that is made of others", Statement: "bundles hold all that they are made of",
			Verify: VerifyAggregate, Reload: ReloadOnChange, Reader: pki.ReaderUnknown, Impact: impact, Remediation: "do not edit the bundle: find out why its owner does not update it",
			Evidence: Evidence{Verified, "the rows about what a bundle must contain"},
		},
		{
			ID: "file-copies", Part: PartBundles, Verifier: "who trusts a file on a node", Statement: "files on nodes hold all of the objects of which they are copies",
			Verify: VerifyNodeCopies, Reload: ReloadOnChange, Reader: pki.ReaderUnknown, Impact: impact, Remediation: "do not edit the file: find out why who brings it there does not update it",
			Evidence: Evidence{Verified, "the rows about files on nodes that are copies of objects"},
		},
	}
}

// serviceCallEdges are of kube-apiserver to Services, with a CA bundle beside each name.
func serviceCallEdges() []Edge {
	src := Evidence{Verified, "kubernetes/apiserver pkg/util/webhook/client.go (a client for each CA bundle) @ release-1.35 9633d5870; kubernetes/kube-aggregator pkg/apiserver/handler_proxy.go (updateAPIService) @ release-1.35 7b0e2390"}
	edge := func(id, kind, what, impact string) Edge {
		return Edge{
			ID: id, Part: PartControlPlane, Verifier: "kube-apiserver", Statement: "kube-apiserver trusts the " + what + " that it calls",
			Trust: Ref{Kind: kind, Name: "*"}, Presented: Ref{Kind: Secret, Key: "tls.crt"}, Verify: VerifyServiceCertificate, Reload: ReloadEachTime, Reader: pki.ReaderGo,
			Remediation: "have the owner of the CA bundle put the CA there that signs the Service's certificate",
			Impact:      impact, Evidence: src,
		}
	}
	return []Edge{
		edge("apiserver-validating-webhooks", "ValidatingWebhookConfiguration", "validating webhooks", "writes that the webhook has to see, where its failurePolicy is Fail"),
		edge("apiserver-mutating-webhooks", "MutatingWebhookConfiguration", "mutating webhooks", "writes that the webhook has to see, where its failurePolicy is Fail"),
		edge("apiserver-aggregated-apis", "APIService", "API servers", "that API"),
		edge("apiserver-conversion-webhooks", "CustomResourceDefinition", "conversion webhooks", "reading and writing of that kind in its other versions"),
	}
}
