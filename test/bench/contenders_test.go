package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// contender is a program that reads the certificates of a cluster.
type contender struct {
	name  string
	reads string // what of the cluster
	argv  []string
	env   []string
	// found matches what tells one certificate from another, in its output or in
	// that of tell, its other form.
	found *regexp.Regexp
	tell  []string
	// serves is the address of a program that goes on: it is done when it says
	// there that it is ready.
	serves  string
	code    int    // what it may end with beside 0
	missing string // why it is not here
	// stopwatch is the program that runs it.
	stopwatch string
}

func (c contender) distinct(out []byte) int {
	seen := map[string]bool{}
	for _, m := range c.found.FindAll(out, -1) {
		seen[string(m)] = true
	}
	return len(seen)
}

// everything is what the bare list and inspect read.
const everything = "every key of every Secret and ConfigMap"

// contenders are those that are compared: first the bare list, then inspect, in its
// two forms, then others.
func contenders(b *testing.B, lab *labtest.Lab) []contender {
	b.Helper()
	dir := b.TempDir()
	bin := func(name string) string { return filepath.Join(dir, name) }
	build(b, bin("kubectl-certrot"), "../..", "./cmd/kubectl-certrot")
	build(b, bin("bare"), "../..", "./test/bench/bare")
	build(b, bin("stopwatch"), "../..", "./test/bench/stopwatch")
	build(b, bin("certgraph"), "peers/certgraph", ".")
	env := []string{"HOME=" + dir, "PATH=" + filepath.Dir(lab.Kubectl) + ":" + os.Getenv("PATH")}
	sha256 := regexp.MustCompile(`(?m)^[0-9a-f]{64}$`)
	columns := []string{bin("kubectl-certrot"), "inspect", "-o", "custom-columns=SHA256:.sha256"}
	all := []contender{
		{name: "bare list", reads: everything + "; parses, and keeps nothing", argv: []string{bin("bare")}, found: sha256, tell: []string{bin("bare"), "-print"}},
		{
			name: "certrot inspect", reads: everything + ", webhooks, API services, CRDs, requests; judges",
			argv: []string{bin("kubectl-certrot"), "inspect"}, code: 1, found: sha256, tell: columns,
		},
		{name: "certrot inspect -o json", reads: "the same", argv: []string{bin("kubectl-certrot"), "inspect", "-o", "json"}, code: 1, found: sha256, tell: columns},
		{
			name: "library-go certgraph", reads: "tls.crt of Secrets, some keys of ConfigMaps",
			argv: []string{bin("certgraph")}, found: regexp.MustCompile(`(?i)"serialNumber": ?"?[0-9a-f]+`),
		},
		script(),
	}
	for _, p := range peers(dir) {
		p.argv[0] = p.find(p.argv[0])
		all = append(all, p.contender)
	}
	if only := os.Getenv("BENCH_BESIDE"); only != "" {
		beside := regexp.MustCompile(only)
		all = append(all[:3], slices.DeleteFunc(all[3:], func(c contender) bool { return !beside.MatchString(c.name) })...)
	}
	for i := range all {
		all[i].env, all[i].stopwatch = append(all[i].env, env...), bin("stopwatch")
	}
	return all
}

// script is what people do who have no program for it.
func script() contender {
	c := contender{
		name: "kubectl, jq, openssl", reads: everything + ", PEM only",
		argv: []string{"sh", "kubectl-openssl.sh"}, found: regexp.MustCompile(`Serial Number:\s*\S+`),
	}
	for _, tool := range []string{"jq", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			c.missing = tool + " is not installed"
		}
	}
	return c
}

// peer is another project's program, at one version.
type peer struct {
	contender
	pkg string // pkg@version, as go install takes it
}

func peers(dir string) []*peer {
	const listen = "127.0.0.1:19793"
	config := filepath.Join(dir, "x509-certificate-exporter.yaml")
	_ = os.WriteFile(config, []byte(strings.ReplaceAll(exporterConfig, "LISTEN", listen)), 0o600)
	return []*peer{
		{
			pkg: "github.com/enix/x509-certificate-exporter/v4/cmd/x509-certificate-exporter@v4.2.0",
			contender: contender{
				name: "x509-certificate-exporter, until ready", reads: "keys that end in .crt or .pem of Secrets of two types, and of ConfigMaps",
				argv: []string{"x509-certificate-exporter", "--config", config}, serves: listen,
				found: regexp.MustCompile(`serial_number="[^"]+"`),
			},
		},
		{
			pkg: "github.com/lmolas/kubectl-view-cert/cmd/kubectl-view-cert@v0.0.4",
			contender: contender{
				name: "kubectl-view-cert", reads: "Secrets of type kubernetes.io/tls",
				argv: []string{"kubectl-view-cert", "-A", "-S"}, found: regexp.MustCompile(`"SerialNumber": ?"[^"]+"`),
			},
		},
	}
}

// exporterConfig lets the exporter read as much as it can be told to.
const exporterConfig = `server: {listen: "LISTEN"}
sources:
- kind: kubernetes
  name: cluster
  rateLimit: {qps: 1000, burst: 1000}
  listPageSize: 500
  secrets:
    types:
    - {type: kubernetes.io/tls, keyPatterns: ['\.crt$'], format: pem}
    - {type: Opaque, keyPatterns: ['\.(crt|pem)$'], format: pem}
  configMaps:
    keyPatterns: ['\.(crt|pem)$']
    format: pem
`

// find returns the program: from $CERTROT_BENCH_PEERS, where those are that were
// built by hand, else installed into a folder of the cache.
func (p *peer) find(name string) string {
	if dir := os.Getenv("CERTROT_BENCH_PEERS"); dir != "" {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			p.missing = "not in $CERTROT_BENCH_PEERS"
		}
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		p.missing = err.Error()
		return name
	}
	_, version, _ := strings.Cut(p.pkg, "@")
	path := filepath.Join(cache, "certrot-bench", version, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "install", "-trimpath", p.pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOBIN="+filepath.Dir(path))
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		p.missing = fmt.Sprintf("go install: %s", lines[len(lines)-1])
	}
	return path
}
