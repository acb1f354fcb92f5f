package csr

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// otherRequester says who asked for what was approved in a node's name, and what to do
// where that was not its kubelet. Lines follow each other by line breaks; the first one begins with
// one, too.
func (r *Request) otherRequester(hints inspect.Hints, node string) string {
	who := "asked by " + pki.Foreign(r.Spec.Username) + ", in " + foreign.Texts(r.Spec.Groups)
	for _, key := range slices.Sorted(maps.Keys(r.Spec.Extra)) {
		who += fmt.Sprintf(", %s %s", pki.Foreign(key), foreign.Texts(r.Spec.Extra[key]))
	}
	return strings.Join([]string{
		"",
		"  " + who + ", at " + r.CreationTimestamp.UTC().Format(time.RFC3339),
		"  for the key with sha256 " + r.key().String(),
		"  what it got, and until when: " + foreign.Command(inspect.RequestNames, "kubectl get csr %s -o jsonpath='{.status.certificate}' | base64 -d | openssl x509 -noout -subject -enddate -fingerprint -sha256", r.Name),
		"  from which address: the audit logs of all kube-apiservers have who created certificatesigningrequests at that time (sourceIPs); it is to be " + node + "'s",
		"  If it was another client: Kubernetes revokes no certificate, and with that one the client is system:node:" + node + " until it expires. It may read what pods on that Node use, their Secrets, too, and write the Node.",
		hints.Next("  Replace the bootstrap token first, by which they would ask again ({} explain token-in-logs); then let no pod run under that name: ") +
			foreign.Command(inspect.NodeNames, "kubectl drain %[1]s, kubectl delete node %[1]s", node) + ", and a machine with another name in its place; then replace the Secrets that were used there. Until the certificate expires, check whether a Node of that name comes again",
	}, "\n")
}

// notArrived says why it may be that no certificate came to a node, whose request was
// approved.
func notArrived(ctx context.Context, env *remediate.Env, node string, r *Request) string {
	text := fmt.Sprintf(". Request %s was approved in its name: if its kubelet runs, and can ask the API server, then another client may have asked, and may have a certificate for system:node:%s%s", foreign.Name(r.Name), node, r.otherRequester(env.Hints, node))
	others, err := PendingOf(ctx, env.Kube, RequestedNode{Name: node, Hints: env.Hints})
	if err != nil {
		return text + "\n  Other requests of its kubelet were not read: " + err.Error()
	}
	for _, o := range inOrder(others) {
		switch {
		case o.pkcs10 == nil || o.serving() || o.Name == r.Name:
		case o.key() == r.key():
			// A client that reads a request can send a copy of it: which one is the original is unknown.
			text += fmt.Sprintf("\n  Request %s is pending, for the same key: one of the two may be a copy. Do not approve it by hand", foreign.Name(o.Name))
		default:
			text += fmt.Sprintf("\n  Request %s is pending, for the key with sha256 %s: that may be the kubelet's", foreign.Name(o.Name), o.key())
		}
	}
	return text
}
