package rotate

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// hold puts a value that was read into an object.
func (f *rotated) hold(kind, name, key string, c *pki.Content) {
	at := pki.Location{Kind: pki.Kind(kind), Namespace: "team", Name: name, Key: key}
	f.Bundles = append(f.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: c})
}

func bad(index int, kind, reason string) *pki.Content {
	return &pki.Content{Bad: []pki.BadBlock{{Index: index, Type: kind, Reason: reason}}}
}

// TestOldTrustWhereValuesWereNotRead: a certificate in what was found and not read, or of a server
// that did not answer, may need a CA.
func TestOldTrustWhereValuesWereNotRead(t *testing.T) {
	t.Parallel()
	jks := append([]byte{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 9}, make([]byte, 200)...)
	for name, c := range map[string]struct {
		change func(*rotated)
		risk   string
		says   string
	}{
		"a locked keystore": {func(f *rotated) {
			f.hold(catalog.Secret, "kafka", "keystore.p12", &pki.Content{Locked: []pki.Locked{{Format: "PKCS#12", Reason: "no password opens it"}}})
		}, TenantsRead, "1 keystore locked Secret/team/kafka[keystore.p12]: PKCS#12: no password opens it"},
		"a damaged keystore": {func(f *rotated) { f.hold(catalog.Secret, "b", "store", f.Sc.Scan(jks)[0].Content) }, TenantsRead, "not all of Secret/team/b[store] was read: JKS: "},
		"a value that is too long": {func(f *rotated) { f.hold(catalog.ConfigMap, "b", "ca.crt", bad(-1, "value", "the limit was reached")) },
			TenantsRead, "not all of ConfigMap/team/b[ca.crt] was read: the limit was reached"},
		"a block that can't be read": {func(f *rotated) {
			f.hold(catalog.Secret, "b", "tls.crt", bad(0, "CERTIFICATE", "its key is too large"))
		},
			TenantsRead, "not all of Secret/team/b[tls.crt] was read: CERTIFICATE: its key is too large"},
		"a server that is silent": {func(f *rotated) {
			f.Snapshot.Served = append(f.Snapshot.Served, inspect.Served{Node: "master-0", Of: "master-0", Server: "kubelet", Address: "10.0.0.1:10250", Problem: "timeout"})
		}, AllRead, "10.0.0.1:10250: TLS handshake: timeout"},
	} {
		f := newRotated()
		c.change(&f)
		_, err := f.judge()
		var r *remediate.Refusal
		if !errors.As(err, &r) || r.Name != c.risk || !strings.Contains(r.Reason, c.says) || !strings.Contains(r.Next, "look at what they hold") {
			t.Errorf("%s: %v", name, err)
		}
		if cas, err := f.judge(c.risk); err != nil || cas[1].Keep != "" {
			t.Errorf("%s, accepted: %+v, %v", name, cas, err)
		}
	}
}

// TestOldTrustInOrdinaryClusters: what can't need a CA refuses nothing.
func TestOldTrustInOrdinaryClusters(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rotated){
		"a list of whom to trust is cut off": func(f *rotated) { f.hold(catalog.ConfigMap, "a", "ca-bundle.crt", bad(0, "CERTIFICATE", pki.CutOff)) },
		"a manual speaks of certificates":    func(f *rotated) { f.hold(catalog.ConfigMap, "a", "README", bad(0, "CERTIFICATE", pki.CutOff)) },
		"a key that can't be read":           func(f *rotated) { f.hold(catalog.Secret, "a", "tls.key", bad(0, "PRIVATE KEY", "unknown algorithm")) },
		"a server that has nothing to present yet": func(f *rotated) {
			f.Cluster.Internal = "https://api-int.example:6443"
			name, _ := inspect.ServerName(catalog.NameInternal, f.Cluster)
			f.Snapshot.Served = append(f.Snapshot.Served, inspect.Served{Node: "master-0", Of: "master-0", Server: "machine-config-server", Address: "10.0.0.1:22623", Name: name, Problem: "connection refused"})
		},
	} {
		f := newRotated()
		change(&f)
		if cas, err := f.judge(); err != nil || cas[1].Keep != "" {
			t.Errorf("%s: %+v, %v", name, cas, err)
		}
	}
}

// TestWhatTenantsWriteIsAnotherRisk: one that is accepted for a tenant's damaged value leaves what
// else was not read refused.
func TestWhatTenantsWriteIsAnotherRisk(t *testing.T) {
	t.Parallel()
	unread := map[string]func(*rotated){
		TenantsRead: func(f *rotated) {
			f.hold(catalog.Secret, "mine", "tls.crt", bad(0, "CERTIFICATE", "cut off"))
			f.hold(catalog.Secret, "mine", "store", &pki.Content{Locked: []pki.Locked{{Format: "PKCS#12", Reason: "no password opens it"}}})
		},
		AllRead: func(f *rotated) { f.Nodes[0].Via = "" },
		AllRead + " of a platform's value": func(f *rotated) {
			f.hold(catalog.Secret, "mine", "tls.crt", bad(0, "CERTIFICATE", "cut off"))
			f.Bundles[len(f.Bundles)-1].At.Namespace = "openshift-mine"
		},
		AllRead + " of a platform's keystore": func(f *rotated) {
			f.hold(catalog.Secret, "mine", "store", &pki.Content{Locked: []pki.Locked{{Format: "PKCS#12", Reason: "no password opens it"}}})
			f.Bundles[len(f.Bundles)-1].At.Namespace = "openshift-mine"
		},
	}
	for name, change := range unread {
		risk, other := TenantsRead, AllRead
		if name != TenantsRead {
			risk, other = other, risk
		}
		f := newRotated()
		change(&f)
		var r *remediate.Refusal
		if _, err := f.judge(other); !errors.As(err, &r) || r.Name != risk || !r.Risk {
			t.Errorf("%s, with %s accepted: %v", name, other, err)
		}
		if _, err := f.judge(risk); err != nil {
			t.Errorf("%s, accepted: %v", name, err)
		}
	}
	f := newRotated()
	unread[TenantsRead](&f)
	unread[AllRead](&f)
	for _, risk := range []string{AllRead, TenantsRead} {
		if _, err := f.judge(risk); err == nil {
			t.Errorf("%s alone goes past both", risk)
		}
	}
}
