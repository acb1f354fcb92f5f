package catalog

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// bundleEdges say that what is made of others holds all of it.
func bundleEdges() []Edge {
	const impact = "its readers refuse what the CA that it lacks has signed"
	return []Edge{
		{
			ID: "bundle-parts", Part: PartBundles, Verifier: "who trusts a bundle that is made of others", Statement: "bundles hold all that they are made of",
			Verify: VerifyAggregate, Reload: ReloadByProgram, Reader: pki.ReaderUnknown, Impact: impact, Remediation: "do not edit the bundle: find out why its owner does not update it",
			Evidence: Evidence{Verified, "the rows about what a bundle must contain"},
		},
		{
			ID: "file-copies", Part: PartBundles, Verifier: "who trusts a file on a node", Statement: "files on nodes hold all of the objects of which they are copies",
			Verify: VerifyNodeCopies, Reload: ReloadByProgram, Reader: pki.ReaderUnknown, Impact: impact, Remediation: "do not edit the file: find out why who brings it there does not update it",
			Evidence: Evidence{Verified, "the rows about files on nodes that are copies of objects"},
		},
	}
}
