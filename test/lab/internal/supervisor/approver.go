//go:build linux

package supervisor

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
)

// machineApprover stands in for OpenShift's cluster-machine-approver. The lab's
// list of nodes is to it what Machines are there. As there, a first client
// certificate is approved for a node that doesn't exist yet and for no other; so
// a node that has to join again waits for an administrator. Renewals of client
// certificates are not its business: the controller manager approves those.
type machineApprover struct {
	api   *kubeapi.Client
	nodes []node.Node

	mu      sync.Mutex
	pending map[string]waiting // by the request's name
}

type waiting struct {
	request signingRequest
	since   time.Time
}

const (
	requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	// A kubelet may ask for its serving certificate a moment before its node is
	// registered. What is refused for that long stays for an administrator.
	approverPatience = 30 * time.Second

	clientSigner  = "kubernetes.io/kube-apiserver-client-kubelet"
	servingSigner = "kubernetes.io/kubelet-serving"
	bootstrapper  = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	nodesGroup    = "system:nodes"
	nodeUser      = "system:node:"
)

type signingRequest struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		Request    []byte   `json:"request"`
		SignerName string   `json:"signerName"`
		Username   string   `json:"username"`
		Usages     []string `json:"usages"`
	} `json:"spec"`
	Status struct {
		Conditions []struct{} `json:"conditions"`
	} `json:"status"`
}

// run watches until ctx ends; an API server that is away for a while is nothing
// new to it.
func (a *machineApprover) run(ctx context.Context) {
	go a.retry(ctx)
	for ctx.Err() == nil {
		err := a.api.Watch(ctx, requestsPath, func(object json.RawMessage) {
			var r signingRequest
			if err := json.Unmarshal(object, &r); err != nil {
				log.Printf("machine approver: read a signing request: %v", err)
				return
			}
			a.consider(ctx, r, time.Now())
		})
		if ctx.Err() == nil {
			log.Printf("machine approver: %v: watching again", err)
		}
		pause(ctx, time.Second)
	}
}

func (a *machineApprover) retry(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, 500*time.Millisecond)
		a.mu.Lock()
		again := a.pending
		a.pending = map[string]waiting{}
		a.mu.Unlock()
		for _, w := range again {
			a.consider(ctx, w.request, w.since)
		}
	}
}

func (a *machineApprover) consider(ctx context.Context, r signingRequest, since time.Time) {
	if len(r.Status.Conditions) > 0 {
		return // decided
	}
	err := a.approve(ctx, r)
	switch {
	case err == nil:
		log.Printf("machine approver: approved %s of %s", r.Metadata.Name, r.Spec.Username)
	case time.Since(since) > approverPatience:
		log.Printf("machine approver: left to an administrator: %s of %s: %v", r.Metadata.Name, r.Spec.Username, err)
	default:
		a.mu.Lock()
		a.pending[r.Metadata.Name] = waiting{r, since}
		a.mu.Unlock()
	}
}

// approve approves a request, or says why not.
func (a *machineApprover) approve(ctx context.Context, r signingRequest) error {
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil {
		return errors.New("it holds no request")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	n, err := a.judge(r, request)
	if err != nil {
		return err
	}
	exists, err := a.exists(ctx, n)
	if err != nil {
		return err
	}
	if first := r.Spec.SignerName == clientSigner; first == exists {
		if exists {
			return fmt.Errorf("node %s already exists, cannot approve", n.Name)
		}
		return fmt.Errorf("node %s does not exist yet", n.Name)
	}
	return a.api.Patch(ctx, requestsPath+"/"+r.Metadata.Name+"/approval", map[string]any{
		"metadata": map[string]any{"resourceVersion": r.Metadata.ResourceVersion},
		"status": map[string]any{"conditions": []map[string]any{{
			"type": "Approved", "status": "True", "reason": "NodeCSRApprove",
			"message": "approved by the lab's stand-in for cluster-machine-approver",
		}}},
	})
}

// judge is the part of the decision that needs nothing but the request.
func (a *machineApprover) judge(r signingRequest, request *x509.CertificateRequest) (node.Node, error) {
	subject := request.Subject
	i := slices.IndexFunc(a.nodes, func(n node.Node) bool { return nodeUser+n.Name == subject.CommonName })
	if i < 0 || !slices.Equal(subject.Organization, []string{nodesGroup}) {
		return node.Node{}, fmt.Errorf("its subject %q is no node's of this lab", subject)
	}
	n := a.nodes[i]
	switch r.Spec.SignerName {
	case clientSigner:
		if r.Spec.Username != bootstrapper || !slices.Contains(r.Spec.Usages, "client auth") {
			return n, fmt.Errorf("%s asks for a client certificate with usages %v", r.Spec.Username, r.Spec.Usages)
		}
		if len(request.DNSNames)+len(request.IPAddresses)+len(request.URIs)+len(request.EmailAddresses) > 0 {
			return n, errors.New("a client certificate with names to serve")
		}
	case servingSigner:
		if r.Spec.Username != subject.CommonName || !slices.Contains(r.Spec.Usages, "server auth") {
			return n, fmt.Errorf("%s asks for the serving certificate of %s with usages %v", r.Spec.Username, n.Name, r.Spec.Usages)
		}
		others := slices.ContainsFunc(request.DNSNames, func(name string) bool { return name != n.Name }) ||
			slices.ContainsFunc(request.IPAddresses, func(ip net.IP) bool { return ip.String() != n.Address })
		if others || len(request.URIs)+len(request.EmailAddresses) > 0 {
			return n, fmt.Errorf("names %v and addresses %v are not %s and %s", request.DNSNames, request.IPAddresses, n.Name, n.Address)
		}
	default:
		return n, fmt.Errorf("signer %s is not for kubelets", r.Spec.SignerName)
	}
	return n, nil
}

func (a *machineApprover) exists(ctx context.Context, n node.Node) (bool, error) {
	_, err := a.api.Get(ctx, "/api/v1/nodes/"+n.Name)
	var status *kubeapi.StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
