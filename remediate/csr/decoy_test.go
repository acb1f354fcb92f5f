package csr

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestARequestBesideAnotherIsNotOffered: signers read the first PEM block, and openssl another one.
// Who is sent to look at it sees names that are not asked for.
func TestARequestBesideAnotherIsNotOffered(t *testing.T) {
	t.Parallel()
	decoy := remediatetest.ServingAsking(t).Made(t).Spec.Request
	for name, text := range map[string]func(asked []byte) []byte{
		"a block that only openssl reads": func(asked []byte) []byte {
			return append(bytes.Replace(decoy, []byte("\n-----END"), []byte("\n-\n-----END"), 1), asked...)
		},
		"a text before": func(asked []byte) []byte { return append([]byte("DNS:worker-0\n"), asked...) },
		"behind it":     func(asked []byte) []byte { return append(asked, decoy...) },
		"a header": func(asked []byte) []byte {
			return bytes.Replace(asked, []byte("REQUEST-----\n"), []byte("REQUEST-----\nDNS: worker-0\n\n"), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &remediatetest.RequestsAPI{Signs: true}
			a, node := remediatetest.ServingAsking(t), remediatetest.WorkerZero()
			a.Asks.DNSNames = append(a.Asks.DNSNames, "registry.corp.example")
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "registry.corp.example"})
			made := a.Made(t)
			made.Spec.Request = text(made.Spec.Request)
			api.Add(made)
			api.Before = func(string, string) *apierrors.StatusError { api.Nodes["worker-0"] = node; return nil }
			approved, told, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, nil)
			if len(approved) > 0 || err == nil || !strings.Contains(err.Error(), "something beside the certificate request") || strings.Contains(err.Error()+told, "certificate approve") {
				t.Errorf("approved %q: %v\n%s", approved, err, told)
			}
		})
	}
}

// TestAnOddRequestThatWasAnsweredCounts: a key that was approved to join was, whatever stands beside
// its request.
func TestAnOddRequestThatWasAnsweredCounts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(asked []byte) []byte{
		"alone":         func(asked []byte) []byte { return asked },
		"a text before": func(asked []byte) []byte { return append([]byte("x\n"), asked...) },
		"two":           func(asked []byte) []byte { return append(bytes.Clone(asked), asked...) },
	} {
		a := remediatetest.ClientAsking(t)
		a.CSR.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{{Type: certificatesapi.CertificateApproved, Status: corev1.ConditionTrue}}
		made := a.Made(t)
		made.Spec.Request = text(made.Spec.Request)
		n := RequestedNode{Name: "worker-0", object: remediatetest.WorkerZero(), kubeletState: &kubeletState{}, Versions: catalog.Versions{Cluster: "4.15.0"}}
		if _, ok := n.asked(made); !ok {
			t.Errorf("%s: it does not count", name)
		}
	}
}

// TestWhatATerminalObeysIsNotOffered: who is sent to look at a request has it printed by another tool.
func TestWhatATerminalObeysIsNotOffered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a *remediatetest.Asking)
		why    string
	}{
		"an attribute": {func(a *remediatetest.Asking) {
			a.Asks.Attributes = []pkix.AttributeTypeAndValueSET{{ //nolint:staticcheck // any attribute is written by it
				Type:  asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 2},
				Value: [][]pkix.AttributeTypeAndValue{{{Type: asn1.ObjectIdentifier{1, 2, 3}, Value: "\x1b[2J DNS:worker-0"}}},
			}}
		}, "attribute 1.2.840.113549.1.9.2"},
		"an escape in a name": {func(a *remediatetest.Asking) {
			a.Asks.DNSNames = append(a.Asks.DNSNames, "\x1b[8mregistry.corp.example")
		}, "which is no DNS name"},
		"a blank in a name": {func(a *remediatetest.Asking) { a.Asks.DNSNames = append(a.Asks.DNSNames, "a, DNS:worker-0") }, "which is no DNS name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &remediatetest.RequestsAPI{Signs: true}
			a, node := remediatetest.ServingAsking(t), remediatetest.WorkerZero()
			a.Asks.DNSNames = append(a.Asks.DNSNames, "registry.corp.example")
			c.change(a)
			for _, host := range a.Asks.DNSNames {
				node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: host})
			}
			api.Add(a.Made(t))
			api.Before = func(string, string) *apierrors.StatusError { api.Nodes["worker-0"] = node; return nil }
			approved, told, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, nil)
			if len(approved) > 0 || err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error()+told, "certificate approve") {
				t.Errorf("approved %q: %v\n%s", approved, err, told)
			}
		})
	}
}

// TestANameThatTerminalsPrintAsItIsIsLeftToAPerson: up to the last character that is printed, a
// person can judge it.
func TestANameThatTerminalsPrintAsItIsIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	for host, manual := range map[string]bool{"worker~0": true, "worker\x7f0": false, "!worker-0": true, " worker-0": false} {
		a, node := remediatetest.ServingAsking(t), remediatetest.WorkerZero()
		a.Asks.DNSNames = []string{host}
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: host})
		r := RequestedNode{Name: "worker-0", object: node, Versions: catalog.Versions{Cluster: "4.15.0"}, origins: knownWorkerZero()}.judge(a.Made(t))
		if r == nil || r.mismatch == "" || r.manual != manual {
			t.Errorf("%q: %+v", host, r)
		}
	}
}
