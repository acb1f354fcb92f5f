// Package identity gives the lab the looks of an OpenShift cluster: its
// namespaces, its CustomResourceDefinitions, the version and infrastructure it
// claims, and its signers, certificates and CA bundles under the names, with the
// annotations, that OpenShift's operators give them.
//
// The certificates are those that the control plane really uses. The version is
// a claim: no operator of OpenShift runs here.
package identity
