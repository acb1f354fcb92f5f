package catalog

// Cause is a row: one thing that is wrong, and the checks and trust edges by which it is seen.
// Causes only group what is printed for people. Exit codes and documents come from the findings.
type Cause struct {
	ID    string // lower-kebab, unique, never changes
	Title string // what is wrong; the names of nodes, else of objects follow it
	// OfNodes: objects are not what is wrong, so that their names do not follow the title.
	OfNodes bool
	// When chooses findings of what fails now, or of what will; empty: both.
	When Phase
	// Symptoms are the findings that are of this cause.
	Symptoms []Symptom
	// Impact and Remediation are those of the cause; empty: those of its worst finding. "{}"
	// stands for the program. They hold, and so does the Title, where the worst finding advises
	// one of Commands: another one has another reason.
	Impact, Remediation string
	Commands            []string
	// Here is Remediation for one node, which "%s" stands for; empty: Remediation it is.
	Here string
	// Because says how it came about, where that is seen: the CA of api-int was replaced so long ago ("%s"), and a
	// version ("%s") does not deliver it. Empty: the row does not know.
	Because string
	// Onset is said in place of Because where it is known since when ("%s") api-int presents a certificate of that CA. Empty: it
	// presents none of it.
	Onset string
	// First is the ID of a cause that is repaired before this one, where it is there too.
	First string
	Evidence
}

// CauseAPIInt is the ID of the cause by which kubelets fail once they reconnect, and CauseClientCertificate
// of the cause by which they cannot authenticate; CauseRequests is the cause of requests that are not answered.
const (
	CauseAPIInt            = "api-int-ca-not-delivered"
	CauseClientCertificate = "kubelet-client-certificate-missing"
	CauseRequests          = "requests-pending"
)

// Phase is whether something fails.
type Phase string

// The phases.
const (
	Now   Phase = "now"
	Later Phase = "later" // after something that is going to happen
)

// Symptom chooses findings of a cause. What it says in several fields has to hold together.
type Symptom struct {
	ID string // of a check or a trust edge
	// Files are paths on nodes: the finding is about these alone. None: about anything.
	Files []string
	// Object is one of the places that the finding is about. None: about anything.
	Object Ref
	// Proves: with such a finding the cause is there. Others belong to it only beside one
	// that proves it.
	Proves bool
	// SameNodes: the finding is about nodes alone of which a finding that proves the cause is,
	// too: it may have another cause elsewhere. A check is a symptom of several causes where all but
	// the last of them say so.
	SameNodes bool
	// MissingCA: of a trust edge, whose verifier lacks a CA. Findings that lack different CAs
	// are problems of their own.
	MissingCA bool
	// Expired: of a trust edge, where what is presented has expired. No other symptom is there then.
	Expired bool
}

// Causes returns every row.
func Causes() []Cause {
	kubeletFiles := []string{"/etc/kubernetes/kubeconfig", "/var/lib/kubelet/kubeconfig"}
	apiInt := []Symptom{
		{ID: "api-ca-delivered"}, // the API does not say what kubelets have
		{ID: "node-file-current", Files: kubeletFiles, Proves: true},
		{ID: "api-trusted", Files: kubeletFiles, SameNodes: true},
		{ID: "kubelet-api-int", MissingCA: true, Proves: true},
		{ID: "kubelet-bootstrap-api-int", MissingCA: true, Proves: true},
		{ID: "multus-api-int", MissingCA: true, SameNodes: true},
		{ID: "ovnkube-node-api-int", MissingCA: true, SameNodes: true},
		{ID: "machine-config-daemon-node-writer-api-int", MissingCA: true, SameNodes: true},
		{ID: "balancers-api-int", MissingCA: true, SameNodes: true},
		{ID: "balancers-watch-api-int", MissingCA: true, SameNodes: true},
	}
	expired := []Symptom{{ID: "certificate-expired", Object: InternalLoadBalancerServing(), Proves: true}}
	for _, e := range Edges() {
		if e.Presented == InternalLoadBalancerServing() {
			expired = append(expired, Symptom{ID: e.ID, Expired: true, Proves: true})
		}
	}
	commands := []string{"fix-api-int", "pretrust"}
	const notDelivered = "api-int's CA replaced %s ago; %s does not deliver it"
	incident := Evidence{Verified, "okd-project/okd#1881; the edges and places that it names"}
	return []Cause{
		{
			ID: "api-int-certificate-expired", When: Now,
			Title: "all clients refuse api-int's expired certificate", OfNodes: true,
			Symptoms:    expired,
			Impact:      "each client that reconnects or restarts gets x509 errors; other CAs on nodes do not help",
			Remediation: "oc get clusteroperator kube-apiserver -o yaml",
			Evidence:    Evidence{Verified, "crypto/x509 Certificate.Verify"},
		},
		{
			ID:    CauseClientCertificate,
			Title: "kubelets have no client certificate", OfNodes: true,
			Symptoms: []Symptom{
				{ID: "kubelet-current", Files: []string{"/var/lib/kubelet/pki/kubelet-client-current.pem"}, Proves: true},
				{ID: "node-file-current", Files: kubeletFiles, SameNodes: true},
				{ID: "api-trusted", Files: kubeletFiles, SameNodes: true},
			},
			Impact:   "a kubelet without one cannot authenticate: no heartbeat once it restarts",
			Evidence: Evidence{Verified, "kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go v1.35.4"},
		},
		{
			ID: CauseAPIInt, When: Now,
			Title: "kubelets do not trust api-int", OfNodes: true,
			Symptoms: apiInt,
			Impact:   "a kubelet that reconnects or restarts gets x509 errors, and its node becomes NotReady: restart no kubelet or node before the repair",
			Because:  notDelivered, Onset: "api-int changed its CA %s ago; %s does not deliver it",
			Remediation: "{} fix-api-int --dry-run=client", Here: "{} fix-api-int --nodes %s --dry-run=client", Commands: commands,
			First:    "api-int-certificate-expired",
			Evidence: incident,
		},
		{
			ID: "api-int-ca-not-delivered-yet", When: Later,
			Title: "kubelets lack the CA that api-int will present", OfNodes: true,
			Symptoms:    apiInt,
			Impact:      "once it signs api-int's certificate: a node is NotReady as soon as it reconnects",
			Because:     notDelivered,
			Remediation: "{} pretrust --dry-run=client", Commands: commands,
			Evidence: incident,
		},
		{
			ID:       CauseRequests,
			Title:    "CSRs without a certificate",
			Symptoms: []Symptom{{ID: "csr-answered", Proves: true}},
			Evidence: Evidence{Verified, "the check csr-answered"},
		},
		{
			ID:       "rotation-stalled",
			Title:    "certificates are overdue for rotation",
			Symptoms: []Symptom{{ID: "rotation-overdue", Proves: true}},
			Evidence: Evidence{Verified, "the check rotation-overdue"},
		},
		{
			ID:       "nothing-renews",
			Title:    "certificates expire soon, no automatic renewal known",
			Symptoms: []Symptom{{ID: "certificate-expiring", Proves: true}},
			Evidence: Evidence{Verified, "the check certificate-expiring"},
		},
	}
}
