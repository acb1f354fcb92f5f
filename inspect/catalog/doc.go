// Package catalog is what certrot knows about OpenShift, OKD and Kubernetes, as
// data. Every row says where it was read and how sure that is (Evidence), and for
// which versions of which component it holds (Range). The types of rows:
//
//	Place                 place that holds certificates, and what for                row.go
//	Lifetime              how long they live there, and when they are renewed        row.go
//	Aggregate             what one bundle must contain of others                     row.go
//	Rotation              signer, its bundle, and what it signs                      rotation.go
//	Trigger               how it is rotated before its time                          trigger.go
//	SignerType            what an operator does with a Secret of another type        signer_type.go
//	keyChoice             who makes keys by the object PKI                           key_choice.go
//	shorterLives          setting with which certificates live shorter               shorter_lives.go
//	labTest               what the lab proved of a rotation                          rotation_flow.go
//	Delivery              whether a version brings certificates to a place           delivery.go
//	NodeCopy              file on nodes that is the copy of an object                node_copies.go
//	configFileEffect      what a changed file does to its node                       node_effect.go
//	staticPodInput        how static pods get certificates                           static_pod.go
//	Edge                  who verifies what another presents                         edge.go, edge_*.go
//	Server                address that is asked by a handshake                       server.go
//	Caller                client certificate with which a request is made            caller.go
//	ServerLog             log in which a server says who refused it                  server_log.go
//	TokenLog              whether machine-config-daemon prints a token into its log  token_log.go
//	StartupReader         who reads trust anchors only when it starts                loaded_at_start.go
//	NodeDaemonSet         DaemonSet whose pods trust the API server, on each node    node_daemonsets.go
//	Connection            who verifies only when it connects again                   connection.go
//	Goaway                how often kube-apiserver has clients connect again         connection.go
//	KubeletSetup          how kubelets verify the API server                         kubelet_setup.go
//	Distribution          Kubernetes whose kubelets others set up                    kubelet_setup.go
//	KubeletRequester      who may ask for a kubelet's certificate                    csr.go
//	requestApprover       who approves such requests unattended                      csr.go
//	kubeletUsage          key usages that a kubelet asks for                         csr.go
//	guestMachine          platforms whose Machines repeat what the guest reports     csr.go
//	Topology              whether a kubelet may be restarted                         topology.go
//	ControlPlaneResource  what moves nodes or static pods, and how that is paused    control_plane.go
//	Cause                 problem that people read, and the findings that it groups  cause.go
//	SignerName            who gives the load balancer's signer a name                incident.go
//	InitialVersion        clusters that lost that signer early                       incident.go
//
// It owns this knowledge alone: a version is compared nowhere but in version.go, with a
// row's Range. The package does no IO, reads no clock, parses no certificate, and judges nothing.
//
// docs/catalog.md lists the rows for people; it and the goldens under testdata
// are made from them by UPDATE=1 go test ./inspect/catalog.
package catalog
