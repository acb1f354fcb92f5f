package gather

import (
	"io/fs"
	"net/netip"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Result is what a node answered.
type Result struct {
	Node  Node
	Files []File // by path, each once; links and directories too
	// Asked are the paths and patterns that were asked for.
	Asked []string
	// Missing are the paths and patterns asked for at which there is nothing.
	Missing []string
	// Aliases are the paths asked for that lead through a linked directory, and
	// where they really are.
	Aliases map[string]string
	Logs    []Log // those that give away a token or a key
	// ServerLogs are those of TLS servers, with the clients that refused them.
	ServerLogs []ServerLog
	// Texts says that facts are to carry the redacted text of kubeconfigs.
	Texts bool
	// Gaps are what could not be read, without the node's name.
	Gaps []inspect.Gap
	// Stopped: not all files that were to be looked at were, or are listed.
	Stopped bool
}

// Node is what the node says of itself.
type Node struct {
	Hostname string
	Kernel   string
	UID      int   // the user by whose rights the program ran
	Clock    Clock // the node's
	Units    []Unit
	Flags    []Flag // of the kubelet's command line; the first, ".", is the program
	// Began is when the kubelet's process was started, counted back from now by how long the
	// system is up; zero: not told.
	Began time.Time
	// Processes are those asked for that run, in no order.
	Processes []Process
	// AllProcesses says that each process of the node was read: one asked for and not
	// among Processes did not run.
	AllProcesses bool
}

// Process runs on the node, in a pod of the platform or, with Host, in none. Without Pod and
// Host, whose it is was not read.
type Process struct {
	Command                string
	Started                time.Time // whole seconds
	Namespace, Pod, PodUID string
	Host                   bool
}

// Clock is the node's clock when the program started and ended.
type Clock struct{ Before, After time.Time }

// Unit is the state of a systemd service.
type Unit struct {
	Name        string // such as "kubelet.service"
	Loaded      bool   // there is such a service
	Active      string // such as "active", "failed"
	Sub         string // such as "running", "auto-restart"
	MainPID     int
	Notifies    bool      // it says itself when it is active
	Since       time.Time // of the active state
	Started     time.Time // its main process; zero: never, or unknown
	Restarts    int
	NeedsReload bool // the unit's file changed since systemd read it
}

// Flag is one argument of a command line.
type Flag struct {
	Name      string // without dashes; "?" for an argument that is no flag
	Value     string
	Disclosed bool // the value is one of those that leave the node; otherwise it is empty
}

// Log is a container's log in which tokens or keys of kubeconfigs stand.
type Log struct {
	Path         string
	Mode         fs.FileMode
	Tokens, Keys int       // lines that hold one
	First, Last  time.Time // when the first and the last of them were written; zero: the log does not say
}

// ServerLog is the end of a TLS server's log: which clients it says that they did not
// accept the server's certificate.
type ServerLog struct {
	Path     string
	From, To time.Time // of what was read; zero: the log does not say
	Refused  []Refused
	LeftOut  bool // there were more clients: those that refused last are in Refused
}

// Refused is a client and the reason that it gave.
type Refused struct {
	Client      netip.Addr
	Reason      string // TLS's name of the alert, such as "bad certificate"
	Count       int
	First, Last time.Time // zero: the log does not say
}

// Kind says what a file is and what was done with it.
type Kind byte

// The kinds.
const (
	KindRead       Kind = 'R' // a regular file, read
	KindHashed     Kind = 'H' // a regular file, hashed only: of a trust store
	KindTooLarge   Kind = 'G' // a regular file above Limits.Size, not opened
	KindTooMuch    Kind = 'T' // a regular file after Limits.Total was used up, not opened
	KindUnreadable Kind = 'U' // a regular file without permission to read it
	KindLink       Kind = 'L'
	KindDirectory  Kind = 'D'
	KindClosed     Kind = 'X' // a directory without permission to list it
	KindPipe       Kind = 'P'
	KindSocket     Kind = 'S'
	KindDevice     Kind = 'C'
	KindOther      Kind = 'O'
)

// File is one name on a node.
type File struct {
	Path    string // from the node's own root
	Kind    Kind
	Meta    Meta
	SHA256  pki.Fingerprint // of a file read or hashed, as it is on the node
	Target  Target          // of a link
	Content *Content        // of a file that was read; shared between files with the same bytes
}

// Meta is what stat says.
type Meta struct {
	Mode    fs.FileMode
	Owner   Owner
	Label   string // SELinux; empty: none, or unknown
	Size    int64
	ModTime time.Time
	Changed time.Time // of the inode: content, owner, mode
	Inode   Inode
}

// Owner is whose a file is. Names are empty where the node was seen from a
// container.
type Owner struct {
	UID, GID    int
	User, Group string
}

// Inode identifies a file on a node: a rename or a replacement changes it.
type Inode struct{ Device, Number uint64 }

// Target is where a link leads.
type Target struct {
	Text string // as it is written
	Path string // at the end of all links, from the node's root; empty: nothing is there
}

// Content is what a file holds, as far as it left the node.
type Content struct {
	// Found are the certificates, requests and keys (by what is known of them
	// without their bytes).
	Found []pki.Found
	// Text is a kubeconfig or a kubelet configuration with all secrets
	// overwritten, of the length of the file: offsets hold. Else it is nil.
	Text []byte
	Keys []Key
	// Notes say what did not leave the node, and why.
	Notes []Note
}

// Key is a private key that is in a file, and stayed there.
type Key struct {
	Type      string // as its PEM block says
	Offset    int64  // of the block in the file
	Length    int64  // of the block
	Encrypted bool
	// Public is the sha256 of the public half's SubjectPublicKeyInfo; zero:
	// unknown, since the node has no openssl, the key is encrypted, or it is not
	// the first of its file.
	Public pki.Fingerprint
}

// Note says that something in a file did not leave the node.
type Note struct {
	Code string // "shape", "omitted", "unreadable", "binary", "cut"
	Text string
}
