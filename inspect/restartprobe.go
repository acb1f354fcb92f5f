package inspect

import "github.com/kubectl-certrot/kubectl-certrot/inspect/pki"

// RestartProbe is what a node's kubelet would meet if it started now: asked on the
// node itself, with the kubelet's own credentials, which do not leave it. nil on a
// Node: it was not asked.
type RestartProbe struct {
	// Problem is why nothing could be asked; else empty.
	Problem    string
	Kubeconfig ProbedKubeconfig // the kubelet's own kubeconfig
	// Bootstrap is what it makes that one from, when it has no valid client
	// certificate.
	Bootstrap ProbedKubeconfig
}

// ProbedKubeconfig is one kubeconfig of a kubelet.
type ProbedKubeconfig struct {
	Path   string
	Absent bool // there is no such file
	// Refused is why a kubelet can't load it; Unread why that is unknown. Else
	// both are empty.
	Refused, Unread string
	Presents        Credential
	// Certificate is the client certificate: the file on the node, or the field of
	// this file. Both empty: there is none.
	Certificate, Field string
	Answers            []ProbeAnswer
}

// Credential is how a client says who it is.
type Credential string

// The credentials that a kubeconfig may hold. CredentialNone is also what was not
// read.
const (
	CredentialNone        Credential = ""
	CredentialCertificate Credential = "client certificate"
	CredentialToken       Credential = "token"
	CredentialOther       Credential = "other" // a program, a password, a plugin
)

// Question is what is asked of a server.
type Question string

// The questions.
const (
	AskNode   Question = "node"   // GET of its own Node
	AskLease  Question = "lease"  // GET of its own Lease; refused to what it joins with, by the name of that user
	AskAPI    Question = "api"    // GET of /api, which every user may that the server knows
	AskClient Question = "client" // whether a server knows a client by its certificate
)

// ProbeAnswer is what came of one request from the node.
type ProbeAnswer struct {
	Question Question
	Server   string // host:port that was called
	Name     string // that its certificate had to be for
	Address  string // to which the host resolved; empty: not told
	// Code is the status of HTTP; 0: it did not come to that, and Failure says how
	// far it came.
	Code    int
	Reason  string // the server's own word, such as "Unauthorized"; empty: none
	User    string // the user as which a server knows the client that it refuses; empty: it does not say
	Failure Failure
	Detail  string // what was tried and what it said, for people; empty where Code says all
}

// Failure is how far a request came that has no answer; empty: it has one.
type Failure string

// The failures, in the order of a request.
const (
	FailedTool    Failure = "tool"    // nothing was tried
	FailedChanged Failure = "changed" // the file is not what it was when it was read
	FailedResolve Failure = "resolve" // the name of the server
	FailedConnect Failure = "connect"
	FailedTime    Failure = "timeout"
	FailedTrust   Failure = "trust" // the CA in the file does not verify what is presented
	FailedTLS     Failure = "tls"   // another end of the handshake
	FailedAnswer  Failure = "answer"
)

// Accepted is what a server answered to a request, made on this node, that showed a client
// certificate which lies here.
type Accepted struct {
	Row         string // ID of the catalog's Caller
	Of          string // the node on which the server listens
	Certificate string // the file on this node, as it was read; empty: there was none to present
	ProbeAnswer
}

// Access is how the one who runs certrot gets into the cluster: of the kubeconfig
// in use.
type Access struct {
	Context  string
	Presents Credential
	How      string // of what is no certificate, for people: "a token", "the program oc"
	CA       CAKind
	// Certificate and Trust are where the client certificate and the CA were found;
	// zero: they were not.
	Certificate, Trust pki.Location
	// Server, host:port, is what a handshake was made with for this Name, from where
	// certrot runs (a Served of catalog.ListenerUserKubeconfig); Problem is why there is none.
	Server, Name, Problem string
}

// CAKind is where a kubeconfig's CA comes from.
type CAKind string

// Where a CA is.
const (
	CASystem   CAKind = "system" // the machine's own trust store
	CAEmbedded CAKind = "embedded"
	CAFile     CAKind = "file"
	CAIgnored  CAKind = "ignored" // insecure-skip-tls-verify
)
