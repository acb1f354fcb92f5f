package remediatetest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Where a kubelet keeps its client certificates: the folder, and two of them.
const (
	pkiFolder = "/var/lib/kubelet/pki"
	firstCert = pkiFolder + "/kubelet-client-2026-01-01-00-00-00.pem"
	NextCert  = pkiFolder + "/kubelet-client-2026-02-02-00-00-00.pem"
)

// Joining is a world of one node, with an API at which its kubelet can join.
type Joining struct {
	*World
	*Machine
	api *RequestsAPI
	key *ecdsa.PrivateKey // of the kubelet that was started last
	// token is what the API server answers to the bootstrap file, 401 or 200.
	Token int
	// accepted: whose certificate ends in this file is known to the API server.
	accepted map[string]bool
	told     *strings.Builder
}

// NewJoining is a world in which the kubelet of worker-0 can join.
func NewJoining(t *testing.T) *Joining {
	t.Helper()
	w := NewWorld(t)
	j := &Joining{World: w, Machine: w.Machines["worker-0"], api: &RequestsAPI{}, Token: 200, accepted: map[string]bool{firstCert: true, NextCert: true}, told: &strings.Builder{}}
	j.Certificate(t, firstCert, time.Now().Add(24*time.Hour), j.NewKey(t))
	w.Comeback = j.answers
	return j
}

// NewKey is a key of the kubelet.
func (j *Joining) NewKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Certificate gives the kubelet a client certificate of this key, as it writes it.
func (j *Joining) Certificate(t *testing.T, path string, until time.Time, key *ecdsa.PrivateKey) {
	t.Helper()
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "system:node:worker-0", Organization: []string{"system:nodes"}}, NotBefore: until.Add(-48 * time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	j.Write(t, path, pkitest.Bundle(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	if err := firstOf(os.RemoveAll(j.At(inspect.KubeletClient)), os.Symlink(path, j.At(inspect.KubeletClient))); err != nil {
		t.Fatal(err)
	}
}

// Lost is a node whose kubelet waits for a certificate: the one it has expired, and its
// bootstrap file is right.
func (j *Joining) Lost(t *testing.T) {
	t.Helper()
	j.Certificate(t, firstCert, time.Now().Add(-time.Hour), j.NewKey(t))
	j.Write(t, BootstrapFile, j.After(BootstrapFile))
	j.aged(t, BootstrapFile)
}

// aged makes a file older than any start of the kubelet.
func (j *Joining) aged(t *testing.T, path string) {
	t.Helper()
	at := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(j.At(path), at, at); err != nil {
		t.Fatal(err)
	}
}

// link is where the kubelet's certificate is; empty: nowhere.
func (j *Joining) link() string {
	to, _ := os.Readlink(j.At(inspect.KubeletClient))
	return to
}

// answers are the answers of the API server, with the CAs that files have now.
func (j *Joining) answers(n *inspect.Node) {
	file := func(path string, code int) inspect.ProbedKubeconfig {
		a := inspect.ProbeAnswer{Code: code, Reason: map[int]string{401: "Unauthorized"}[code]}
		text, err := os.ReadFile(j.At(path))
		if err != nil {
			return inspect.ProbedKubeconfig{Path: path, Absent: true}
		}
		if !bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString(pkitest.Bundle(j.ConfigMap, j.Old.CertPEM)))) {
			a.Code, a.Failure, a.Detail = 0, inspect.FailedTrust, "nothing was sent"
		}
		return inspect.ProbedKubeconfig{Path: path, Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{a}}
	}
	code := 200
	if !j.accepted[j.link()] {
		code = 401
	}
	n.RestartProbe = &inspect.RestartProbe{Kubeconfig: file(KubeletFile, code), Bootstrap: file(BootstrapFile, j.Token)}
	n.RestartProbe.Kubeconfig.Presents, n.RestartProbe.Kubeconfig.Certificate = inspect.CredentialCertificate, inspect.KubeletClient
	yes := true
	n.Kubelet.RotateCertificates = &yes
}

// env is the environment of a run; the kubelet asks when it was restarted without a certificate, and
// takes what is approved.
func (j *Joining) env(t *testing.T, run string, f *faults) *remediate.Env {
	t.Helper()
	env := j.World.env(t, run, f, pkiFolder, host.DefaultFolder+"/"+run)
	j.api.Nodes = map[string]*corev1.Node{"worker-0": WorkerZero()}
	restarts := j.restarts(t)
	j.api.Before = func(string, string) *apierrors.StatusError {
		if len(j.link()) == 0 && j.restarts(t) > restarts {
			restarts = j.restarts(t)
			j.key = j.NewKey(t)
			a := ClientAsking(t)
			a.Key, a.CSR.Name, a.CSR.CreationTimestamp = j.key, fmt.Sprintf("csr-%d", restarts), metav1.NewTime(j.Started(t))
			j.api.Add(a.Made(t))
		}
		for _, name := range j.api.Log {
			if name == fmt.Sprintf("csr-%d", restarts) && j.link() == "" {
				j.Certificate(t, NextCert, time.Now().Add(48*time.Hour), j.key)
			}
		}
		return nil
	}
	j.api.Signs = true
	env.Kube, env.Tell = j.api.Client(t), func(node, text string) { fmt.Fprintf(j.told, "%s: %s\n", node, text) }
	env.Signer, env.APIClock = validSigner, exactClock
	reports := env.Heartbeat
	env.Heartbeat = func(ctx context.Context, name string) (collect.Heartbeat, error) {
		if j.link() == "" { // it waits for its certificate
			return collect.Heartbeat{Ready: "Unknown"}, nil
		}
		return reports(ctx, name)
	}
	return env
}
