package csr

import (
	"errors"
	"fmt"

	certificatesapi "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Pending requests about one node stay in memory, and a kubelet may create as many as it likes, of more than a
// megabyte. Each weighs one, and one for each kibibyte of its request, of which a kubelet's has less; one that is too
// long to be read weighs more, as it takes long to list. A kubelet that is started every ten seconds makes some
// 9,000 a day, after which they are deleted.
const (
	bytesOfWeight = 1 << 10
	weightOfLong  = 1_000
	// maxOfNode is what those of its own kubelet may weigh, and what those may of who joins in its name: each
	// machine has what it takes to do that, and must not keep the node's own from their answer.
	maxOfNode = 10_000
	// maxOfOthers is what those may weigh that are never approved, of users that are neither the node nor may join
	// as one: what is beyond it is counted, as it must not keep the node's own from their answer.
	maxOfOthers = 1_000
)

// tooManyError says that the requests in a node's name are more than are looked at.
type tooManyError struct{ node string }

func (e *tooManyError) Error() string {
	return fmt.Sprintf("the pending requests in the name of node %s are too many, or too large: none of them is approved. Look who makes them (kubectl get csr), and delete them", foreign.Name(e.node))
}

// isTooMany reports whether a node's requests are not looked at, as they are too many.
func isTooMany(err error) bool {
	var many *tooManyError
	return errors.As(err, &many)
}

// requestsOfNode are the pending requests about one node, with a bound.
type requestsOfNode struct {
	kept                  []*Request
	weight, joins, others int
	beyond                int  // requests of others than the node that were not kept
	tooManyJoin           bool // some that ask to join are among them
}

// add keeps a request, as long as those of its user's kind do not weigh too much.
func (q *requestsOfNode) add(r *Request, node string, length int) error {
	weight := 1 + length/bytesOfWeight
	switch long := length > pki.MaxRequest; {
	case long && r.outsider:
		weight = 1 // nothing of it is kept
	case long:
		weight = weightOfLong
	}
	switch own := r.Spec.Username == (RequestedNode{Name: node}).user(); {
	case r.outsider:
		if q.others += weight; q.others > maxOfOthers {
			q.beyond++
			return nil
		}
	case own:
		if q.weight += weight; q.weight > maxOfNode {
			return &tooManyError{node}
		}
	default:
		if q.joins += weight; q.joins > maxOfNode {
			q.beyond++
			q.tooManyJoin = true
			return nil
		}
	}
	q.kept = append(q.kept, r)
	return nil
}

// all are those that are kept; the last one of another user knows how many more there are. Where some that ask
// to join were not kept, none that does is approved: the kubelet's own may be among them.
func (q *requestsOfNode) all(node string) []*Request {
	n := RequestedNode{Name: node}
	for i := len(q.kept) - 1; i >= 0; i-- {
		r := q.kept[i]
		if q.beyond > 0 && r.Spec.Username != n.user() {
			r.beyond, q.beyond = q.beyond, 0
		}
		if q.tooManyJoin && r.joins(n) {
			r.mismatch = "the pending requests to join in the name of this node are too many, or too large: none of them is approved. Look who makes them (kubectl get csr), and delete them"
		}
	}
	return q.kept
}

// neededOf copies what is asked of a request after it was judged: a request is one of a page, which would
// stay in memory with it.
func neededOf(csr *certificatesapi.CertificateSigningRequest) *certificatesapi.CertificateSigningRequest {
	return &certificatesapi.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: csr.Name, UID: csr.UID, ResourceVersion: csr.ResourceVersion, CreationTimestamp: csr.CreationTimestamp},
		Spec: certificatesapi.CertificateSigningRequestSpec{
			SignerName: csr.Spec.SignerName, Username: csr.Spec.Username, Groups: csr.Spec.Groups, Extra: csr.Spec.Extra, Usages: csr.Spec.Usages,
		},
	}
}
