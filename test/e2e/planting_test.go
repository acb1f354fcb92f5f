package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// everyKind is what certrot reads, as kubectl get names it.
const everyKind = "secrets,configmaps,validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,customresourcedefinitions,certificatesigningrequests," + openShiftKinds

// consult asks the oracle about kinds of the whole cluster.
func (w *world) consult(t *testing.T, kinds string) *oracle {
	t.Helper()
	began := time.Now()
	o, err := readList(w.mustKubectl(t, "get", kinds, "-A", "-o", "json"))
	if err != nil {
		t.Fatal(err)
	}
	o.forget(w.planted)
	t.Logf("note: asked the oracle, in %s", time.Since(began).Round(time.Millisecond))
	return o
}

// forget leaves out what certrot does not read, and says so: releases of Helm.
func (o *oracle) forget(p *plan) {
	for place := range p.helm {
		delete(o.seen, place)
		o.objects["Secret"]--
	}
}

// quiet is how long two answers may differ because others use the lab, too: each
// new namespace brings another copy of kube-root-ca.crt.
const quiet = 2 * time.Minute

// agree asks a question until the answer is what the oracle says, or until it
// has stayed wrong: others use the lab, too. ask returns what is wrong.
func (w *world) agree(t *testing.T, ask func(*oracle) string) {
	t.Helper()
	wrong := ""
	for try, until := 0, time.Now().Add(quiet); try < 5 || time.Now().Before(until); try++ {
		if wrong = ask(w.oracle(t, try > 0)); wrong == "" {
			return
		}
	}
	t.Error(wrong)
}

// oracle is the latest one, or a fresh one.
func (w *world) oracle(t *testing.T, fresh bool) *oracle {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.latest == nil || fresh {
		w.latest = w.consult(t, everyKind)
	}
	return w.latest
}

// wrong says that something differs.
func wrong(what string, want, got any) string {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Sprintf("%s (-want +got):\n%.5000s", what, diff)
	}
	return ""
}

func TestTheWholeClusterAsTheOracleSeesIt(t *testing.T) {
	t.Parallel()
	w := enter(t)
	var inv inventory
	var r result
	var seen *oracle
	w.agree(t, func(o *oracle) string {
		seen = o
		inv, r = w.inventory(t)
		return wrong("places and their certificates", o.seen, inv.sightings(t)) + wrong("gaps", 0, len(inv.Gaps)) + wrong("exit code", 0, r.code)
	})
	t.Logf("note: read %d certificates in %d places in %s", len(inv.Certificates), len(seen.seen), r.took.Round(time.Millisecond))
	found := inv.sightings(t)

	t.Run("every certificate is found and none is invented", func(t *testing.T) {
		if problem := wrong("sha256", seen.seen.distinct(), found.distinct()); problem != "" {
			t.Error(problem)
		}
	})
	t.Run("the oracle sees what was planted, so it can be trusted", func(t *testing.T) {
		if problem := wrong("planted", w.planted.certs, seen.seen.in(w.planted.places()...)); problem != "" {
			t.Error(problem)
		}
	})
	t.Run("what is said of a certificate is what x509 says", func(t *testing.T) {
		compareFacts(t, seen, inv.Certificates)
	})
	t.Run("the earliest end comes first", func(t *testing.T) {
		if !slices.IsSortedFunc(inv.Certificates, func(a, b certificate) int { return a.NotAfter.Compare(b.NotAfter) }) {
			t.Error("the certificates do not come by their end, as docs/output.md says")
		}
	})
	t.Run("every namespace's kube-root-ca.crt is read", func(t *testing.T) {
		for _, ns := range []string{w.planted.rich(), w.planted.fine(), w.planted.bad(), "default"} {
			if len(found["ConfigMap/"+ns+"/kube-root-ca.crt[ca.crt]"]) == 0 {
				t.Errorf("not that of %s", ns)
			}
		}
	})
}

func compareFacts(t *testing.T, o *oracle, certs []certificate) {
	t.Helper()
	compared := 0
	for _, c := range certs {
		der, ok := o.ders[c.SHA256]
		if !ok {
			continue // of the user's kubeconfig, or it is reported already
		}
		want, err := factsOf(der)
		if err != nil {
			t.Fatal(err)
		}
		compared++
		if diff := cmp.Diff(want, c.facts, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("certificate at %s (-x509 +inspect):\n%s", c.Locations[0], diff)
		}
	}
	if compared < manyCertificates {
		t.Errorf("only %d certificates were compared", compared)
	}
}

// factsOf is what crypto/x509 says.
func factsOf(der []byte) (facts, error) {
	x, err := x509.ParseCertificate(der)
	if err != nil {
		return facts{}, err
	}
	f := facts{
		SHA256: shaOf(der), Subject: x.Subject.String(), Issuer: x.Issuer.String(), Serial: fmt.Sprintf("%x", x.SerialNumber),
		NotBefore: x.NotBefore, NotAfter: x.NotAfter, IsCA: x.IsCA, DNSNames: x.DNSNames,
		SelfSigned: bytes.Equal(x.RawIssuer, x.RawSubject) && x.CheckSignature(x.SignatureAlgorithm, x.RawTBSCertificate, x.Signature) == nil,
		PublicKey:  algorithm(x), SignatureAlgorithm: x.SignatureAlgorithm.String(),
		SubjectKeyID: hex.EncodeToString(x.SubjectKeyId), AuthorityKeyID: hex.EncodeToString(x.AuthorityKeyId),
	}
	for _, ip := range x.IPAddresses {
		f.IPAddresses = append(f.IPAddresses, ip.String())
	}
	f.OtherNames = append(f.OtherNames, x.EmailAddresses...)
	for _, u := range x.URIs {
		f.OtherNames = append(f.OtherNames, u.String())
	}
	words := map[x509.ExtKeyUsage]string{
		x509.ExtKeyUsageAny: "any", x509.ExtKeyUsageServerAuth: "server auth", x509.ExtKeyUsageClientAuth: "client auth",
		x509.ExtKeyUsageCodeSigning: "code signing", x509.ExtKeyUsageEmailProtection: "email protection",
		x509.ExtKeyUsageTimeStamping: "time stamping", x509.ExtKeyUsageOCSPSigning: "OCSP signing",
	}
	for _, usage := range x.ExtKeyUsage {
		f.Usages = append(f.Usages, words[usage])
	}
	for _, oid := range x.UnknownExtKeyUsage {
		f.Usages = append(f.Usages, oid.String())
	}
	if x.SignatureAlgorithm == x509.UnknownSignatureAlgorithm {
		f.SignatureAlgorithm = "1.2.840.10045.4.3.127" // the one that is planted
	}
	return f, nil
}

func algorithm(x *x509.Certificate) string {
	switch k := x.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", k.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "1.2.840.10045.2.127" // the one that is planted
}

func TestReadsCountObjectsAsKubectlDoes(t *testing.T) {
	t.Parallel()
	w := enter(t)
	w.agree(t, func(o *oracle) string {
		got := map[string]int{}
		inv, _ := w.inventory(t)
		for _, r := range inv.Reads {
			if r.What != "kubeconfig" {
				got[r.What] = r.Objects
			}
		}
		want := map[string]int{}
		for kind := range strings.SplitSeq(everyKind, ",") {
			plural, _, _ := strings.Cut(kind, ".")
			want[plural] = 0
		}
		want["ingresses.networking.k8s.io"] = 0 // none is planted, and OpenShift has ingresses of its own
		for kind, n := range o.objects {
			want[pluralOf(kind)] = n
		}
		return wrong("objects", want, got)
	})
}

// pluralOf is the API's name of a kind that certrot reads.
func pluralOf(kind string) string {
	return strings.NewReplacer("proxys", "proxies", "ingresss", "ingresses").Replace(strings.ToLower(kind) + "s")
}

func TestRequestsAreListedInTheirConditions(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	inv, _ := w.inventory(t, "csr", "-l", label+"="+p.id)
	got := map[string]string{}
	for _, r := range inv.Requests {
		got[r.Name] = r.Condition
		if !strings.Contains(r.Subject, "O="+p.id) || !slices.Equal(r.DNSNames, []string{"r.example"}) || r.Requester == "" || !strings.Contains(r.Signer, "/") {
			t.Errorf("request %s: %+v", r.Name, r)
		}
	}
	want := map[string]string{
		p.id + "-pending": "Pending", p.id + "-denied": "Denied", p.id + "-failed": "Failed", p.id + "-approved": "Approved",
		p.id + "-chain": "Issued", p.oddRequest(): "Issued",
	}
	for _, name := range p.userNames() {
		want[name] = "Issued"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

// Not parallel: while the APIService is there, no other test's discovery works.
func TestAnUnavailableAPIServiceIsSaidAndItsBundleIsRead(t *testing.T) {
	w := enter(t)
	p := w.planted
	service := p.apiService()
	name := "v1." + p.group() + ".aggregated"
	place := "APIService/" + name + "#spec.caBundle"
	want := p.certs[place]
	delete(p.certs, place) // for the others it is never there
	t.Cleanup(func() {
		if _, err := w.kubectl(nil, "delete", "apiservice", name, "--ignore-not-found"); err != nil {
			t.Error(err)
		}
	})
	if _, err := w.kubectl(asJSON(service), "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	w.mustKubectl(t, "wait", "apiservice", name, "--for=condition=Available=false", "--timeout=20s")
	for _, scope := range [][]string{nil, {"apiservices"}, {"apiservices", name}, {"apiservice/" + name}} {
		inv, r := w.inventory(t, scope...)
		if got := inv.sightings(t)[place]; !slices.Equal(got, want) {
			t.Errorf("inspect %v found %v at %s, want %v", scope, got, place, want)
		}
		said := slices.ContainsFunc(inv.Reads, func(r read) bool {
			return r.What == "API "+name && r.Skipped && strings.Contains(r.Note, "ServiceNotFound")
		})
		if !said || r.code == 3 || len(inv.Gaps) > 0 {
			t.Errorf("inspect %v ended with %d, reads %+v, gaps %+v; want the API that does not answer among what was skipped, and no gap", scope, r.code, inv.Reads, inv.Gaps)
		}
	}
}
