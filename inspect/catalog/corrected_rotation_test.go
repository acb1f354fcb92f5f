package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWhichOfTwoIssuersCounts: from 4.18 on the second one's write is refused. It is waited for in all
// versions: that harms nothing.
func TestWhichOfTwoIssuersCounts(t *testing.T) {
	t.Parallel()
	asked := 0
	for version, stays := range map[string]string{"4.12.1": "which one stays is known after 2 minutes", "4.17.9": "which one stays is known after 2 minutes", "4.18.1": "the first one stays", "4.22.1": "the first one stays"} {
		v := Versions{Cluster: version}
		for _, r := range Rotations() {
			for _, of := range append([]Ref{r.Signer}, r.Targets...) {
				trigger, known := TriggerOf(of, v)
				if known != Yes || trigger.SettleTime == 0 || r.In.Holds(v) != Yes || of == CSRSigner() {
					continue
				}
				if asked++; trigger.SecondIssuer == "" || !slices.ContainsFunc(r.Flow(of, v), func(s FlowStep) bool { return s.Stage == FlowNow && strings.Contains(s.Action, stays) }) {
					t.Errorf("%s in %s: no step says %q", of, version, stays)
				}
			}
		}
	}
	if asked < 40 {
		t.Errorf("only %d were asked about", asked)
	}
}

// TestTheOperatorAloneIssues: in 4.19.0 to 4.19.17 the cert-regeneration-controller waits forever before its
// first look, so nothing of kube-apiserver's has a second issuer there.
func TestTheOperatorAloneIssues(t *testing.T) {
	t.Parallel()
	signer := secret(kasOperator, "aggregator-client-signer")
	for version, second := range map[string]string{"4.18.9": kasSecondIssuer, "4.19.0": "", "4.19.17": "", "4.19.18": kasSecondIssuer, "4.19.0-okd-scos.7": kasSecondIssuer, "4.20.0": kasSecondIssuer} {
		trigger, known := TriggerOf(signer, Versions{Cluster: version})
		if known != Yes || trigger.SecondIssuer != second || (trigger.SettleTime > 0) != (second != "") {
			t.Errorf("%s: %s, %q, %s", version, known, trigger.SecondIssuer, trigger.SettleTime)
		}
		if said := trigger.competition("its operator", Versions{Cluster: version}); (said != "") != (second != "") {
			t.Errorf("%s: %q", version, said)
		}
	}
	if trigger, _ := TriggerOf(secret(kcmOperator, "csr-signer-signer"), Versions{Cluster: "4.19.9"}); trigger.SecondIssuer != recoveryController {
		t.Errorf("csr-signer-signer: %q", trigger.SecondIssuer)
	}
	for _, p := range Places() {
		if strings.Contains(p.SecondWriter, kasSecondIssuer) && !strings.Contains(p.SecondWriter, fmt.Sprintf("not in 4.19.0 to 4.19.%d", regenerates().Lacks)) {
			t.Errorf("%s: %s", rowName(p), p.SecondWriter)
		}
	}
}

// TestWhatElseASignerSigns: by request, and once at the installation.
func TestWhatElseASignerSigns(t *testing.T) {
	t.Parallel()
	others := map[Ref]Ref{}
	for _, r := range Rotations() {
		for _, at := range r.Others {
			if len(indexed().byRef[at]) == 0 || slices.Contains(r.Targets, at) {
				t.Errorf("%s signs %s: it is no row's own name, or a target", r.Signer, at)
			}
			others[at] = r.Signer
		}
	}
	for at, want := range map[Ref]Ref{
		secret(userConfig, "etcd-client"):                                    secret(userConfig, "etcd-signer"),
		secret(userConfig, "etcd-metric-client"):                             secret(userConfig, "etcd-metric-signer"),
		secret("openshift-oauth-apiserver", "openshift-authenticator-certs"): CSRSigner(),
		secret(monitoringTarget, "metrics-client-certs"):                     CSRSigner(),
		file("/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-*.pem"):  CSRSigner(),
	} {
		if others[at] != want {
			t.Errorf("%s is signed by %s, want %s", at, others[at], want)
		}
	}
	// Who asked for one by request is renewed by who asked: such a lifetime names csr-signer.
	for _, p := range Places() {
		if p.Kind == Secret && p.Key == "tls.crt" && p.Role != Signer && slices.ContainsFunc(p.Lifetimes, func(l Lifetime) bool { return strings.Contains(l.Doc, "csr-signer") }) && others[p.Ref] != CSRSigner() {
			t.Errorf("%s is asked for, and not among what csr-signer signs", rowName(p))
		}
	}
}

// TestWhereASignersCertificateIs is said where that is not always so.
func TestWhereASignersCertificateIs(t *testing.T) {
	t.Parallel()
	for _, r := range Rotations() {
		for name, says := range map[string]string{
			"router-ca":                "while IngressController default has no certificate of its own",
			"machine-config-server-ca": "otherwise the installer's CA (ConfigMap kube-system/root-ca) signed",
			"signer-ca":                "network.openshift.io/signer",
		} {
			if r.Signer.Name == name && !strings.Contains(r.Doc, says) {
				t.Errorf("%s in %s: %q", name, r.In, r.Doc)
			}
		}
	}
}

// TestKubeadmsPeriodsAreDefaults: what Doc says stands in titles of verify, and is short.
func TestKubeadmsPeriodsAreDefaults(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, p := range kubeadmPlaces() {
		for _, l := range p.Lifetimes {
			if asked++; !strings.Contains(l.Detail, "alidityPeriod, from 1.31 on") || len(l.Doc) > 60 || (p.Role == Signer) == strings.Contains(l.Detail, "an external CA") {
				t.Errorf("%s: %q; %q", rowName(p), l.Doc, l.Detail)
			}
		}
	}
	if asked < 14 {
		t.Errorf("only %d have a lifetime", asked)
	}
}

// TestCertManagersCA is of the chain that was returned, and not of the issuer.
func TestCertManagersCA(t *testing.T) {
	t.Parallel()
	p, ok := LookupObject(Object{Kind: Secret, Namespace: "team", Name: "web", Annotations: map[string]string{AnnotationCertManager: "web"}}, "ca.crt", Versions{})
	if !ok || p.Role != CABundle || !strings.Contains(p.Doc, "the topmost CA of the chain") {
		t.Errorf("%v, %s: %q", ok, p.Role, p.Doc)
	}
}

// TestIPsecCertificatesAreMadeWhereMissing: up to 4.13.22 the script's test of their age always fails.
func TestIPsecCertificatesAreMadeWhereMissing(t *testing.T) {
	t.Parallel()
	for _, r := range networkRotations() {
		if r.Signer == secret(ovnTarget, "signer-ca") && (!strings.Contains(r.Doc, "where it is missing, and from 4.13.24 on with less than 6 months left") || r.Mark != Derived) {
			t.Errorf("%s: %s", r.Mark, r.Doc)
		}
	}
}
