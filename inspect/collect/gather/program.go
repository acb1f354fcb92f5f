package gather

import (
	_ "embed" // the program is three awk files and a shell script
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

//go:embed gather.sh
var shellText string

//go:embed gather.awk
var gatherText string

//go:embed redact.awk
var redactText string

//go:embed node.awk
var nodeText string

// Limits bound what a node does and sends.
type Limits struct {
	Files  int           // files, links and directories looked at
	Size   int64         // bytes of one file
	Total  int64         // bytes read of all files together
	Output int64         // bytes sent
	Time   time.Duration // after which it stops by itself; whole seconds
	Depth  int           // of directories
}

// Options say what to read. The zero Options read everything in defaultPaths, within
// defaultLimits.
type Options struct {
	// Paths are files, directories or patterns, in addition to those of the
	// catalog. In a pattern, *, ? and [] stand for characters of a name.
	Paths []string
	// Only leaves out what the catalog names, and logs.
	Only bool
	// TrustStores sends the system's trust stores too. They are large, the same
	// everywhere, and otherwise only hashed.
	TrustStores bool
	// Texts keeps the redacted text of kubeconfigs in the facts: who wants to edit
	// one needs it.
	Texts bool
	// Limits that are zero are those of defaultLimits.
	Limits Limits
}

// defaultLimits fit a master with many revisions of static pods.
func defaultLimits() Limits {
	return Limits{Files: 10000, Size: 4 << 20, Total: 256 << 20, Output: 3 << 20, Time: time.Minute, Depth: 12}
}

// maxOutput is the most that parseOutput takes.
const maxOutput = 64 << 20

// defaultPaths returns what is read of every node: the files that the catalog knows,
// and the directories in which OpenShift's own registry of certificates looks
// for them (openshift/origin test/extended/operators/manifests/pod.yaml).
func defaultPaths() []string {
	paths := []string{
		"/etc/kubernetes", "/var/lib/kubelet/pki", "/var/lib/kubelet/config.yaml", "/etc/cni", "/etc/docker/certs.d",
		"/etc/containers/certs.d", "/etc/pki/ca-trust/source/anchors", "/var/lib/ovn-ic/etc", "/var/lib/openvswitch/pki", "/etc/pki/tls",
	}
	// kubeadm's are below /etc/kubernetes; these are k3s' and RKE2's
	// (docs.k3s.io/cli/certificate, docs.rke2.io/security/certificates). Beside an
	// agent's certificates lie the images of containerd: no directory to walk.
	paths = append(paths, "/etc/rancher")
	for _, dir := range []string{"/var/lib/rancher/k3s", "/var/lib/rancher/rke2"} {
		paths = append(paths, dir+"/server/tls", dir+"/server/cred", dir+"/agent/*.crt", dir+"/agent/*.key", dir+"/agent/*.kubeconfig")
	}
	below := func(p string) bool {
		return slices.ContainsFunc(paths, func(dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") })
	}
	for _, row := range catalog.Places() {
		if row.Kind == catalog.File && !below(row.Name) {
			paths = append(paths, row.Name)
		}
	}
	return paths
}

// logs are where the machine-config-daemon's own container writes. Those of 4.16 and 4.17,
// and of 4.18 to 4.21 up to December 2025 or January 2026, print the node's kubeconfig when
// they write it (openshift/machine-config-operator pkg/daemon/certificate_writer.go,
// from 4d447c5c8; not from 081cb346f on release-4.18, 0a4d5e3bd on 4.19, 585850e0c on 4.20,
// 7681165af on 4.21).
func logs() []string {
	return []string{"/var/log/pods/openshift-machine-config-operator_machine-config-daemon-*/machine-config-daemon/*"}
}

// trustStores are the places of the system's own trusted CAs.
func trustStores() []string {
	return []string{"/etc/pki/ca-trust/extracted", "/etc/ssl/certs", "/etc/pki/tls", "/usr/share/pki/ca-trust-source", "/usr/share/ca-certificates"}
}

// buildProgram returns the program for a node whose root the runner sees at root, as
// text for the standard input of a shell, and the shell with its arguments. The
// text is the same for every node and all options.
func buildProgram(root string, o Options) (stdin string, argv []string, err error) {
	if root == "" || !path.IsAbs(root) || strings.Trim(root, "/._-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
		return "", nil, fmt.Errorf("root %q is not the plain absolute path of a directory", root)
	}
	l := o.limits()
	if l.Output > maxOutput {
		return "", nil, fmt.Errorf("output limit %d is above %d bytes", l.Output, maxOutput)
	}
	argv = []string{"sh", "-s", "--", path.Clean(root), strconv.Itoa(l.Files), number(l.Size), number(l.Total), number(l.Output),
		strconv.Itoa(int(max(l.Time, time.Second) / time.Second)), strconv.Itoa(l.Depth)}
	for _, dir := range trustStores() {
		asked := func(p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
		if !o.TrustStores && !slices.ContainsFunc(o.Paths, asked) {
			argv = append(argv, "h"+dir)
		}
	}
	if !o.Only {
		for _, p := range logs() {
			argv = append(argv, "l"+p)
		}
		for _, l := range catalog.ServerLogs() {
			argv = append(argv, "t"+l.Path())
		}
		for _, p := range catalog.StartupReaders() {
			if p.Command != "kubelet" { // systemd tells of it
				argv = append(argv, strings.TrimSpace("p"+p.Command+" "+p.Argument))
			}
		}
		for _, d := range catalog.Deliveries() {
			if asked := "p" + d.Command + " " + d.Argument; d.Command != "" && !slices.Contains(argv, asked) {
				argv = append(argv, asked)
			}
		}
	}
	for _, p := range o.paths() {
		if !path.IsAbs(p) || strings.ContainsRune(p, 0) {
			return "", nil, fmt.Errorf("path %q: a path on a node starts with /", p)
		}
		if p = path.Clean(p); p == "/" {
			return "", nil, fmt.Errorf("path /: name a directory below it")
		}
		argv = append(argv, "r"+p)
	}
	return "AWK='" + gatherText + redactText + nodeText + "'\n" + shellText, argv, nil
}

// paths are all those asked for.
func (o Options) paths() []string {
	if o.Only {
		return o.Paths
	}
	return slices.Concat(defaultPaths(), o.Paths)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// limits are those asked for, the rest filled in.
func (o Options) limits() Limits {
	d := defaultLimits()
	set := func(to *int64, n int64) {
		if n > 0 {
			*to = n
		}
	}
	l := o.Limits
	set(&d.Size, l.Size)
	set(&d.Total, l.Total)
	set(&d.Output, l.Output)
	if l.Files > 0 {
		d.Files = l.Files
	}
	if l.Time > 0 {
		d.Time = l.Time
	}
	if l.Depth > 0 {
		d.Depth = l.Depth
	}
	return d
}
