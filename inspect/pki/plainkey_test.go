package pki

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeysAndTokensThatAreMapKeysDoNotBecomePlaces: whose sessions, users or keys a
// document lists by what is secret of them, that is found by its index.
func TestKeysAndTokensThatAreMapKeysDoNotBecomePlaces(t *testing.T) {
	w := newWorld(t)
	root, key := w.root.CertPEM, string(w.server.KeyPEM)
	token := "sha256~" + strings.Repeat("q7XvB2", 7) + "z"
	jwt := "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
	block := indent(root, "    ")
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"JSON", join(`{"ca":1,`, quoted(t, []byte(token)), `:{"ca.crt":`, quoted(t, root), `}}`), []string{`[key:1]["ca.crt"]: cert CN=root`}},
		{"JSON in a list in a map", join(`[{"a":[],`, quoted(t, []byte(jwt)), `:`, quoted(t, root), `}]`), []string{`[0][key:1]: cert CN=root`}},
		{"YAML", join("sessions:\n  a: b\n  ", token, ": |\n", block), []string{`sessions[key:1]: cert CN=root`}},
		{"YAML, with a complex key", join("? ", quoted(t, []byte(token)), "\n: |\n", indent(root, "  ")), []string{`[key:0]: cert CN=root`}},
		{"a document in a document", join(`{"data":{"x":`, quoted(t, join(token, ": |\n", block)), `}}`), []string{`data.x#[key:0]: cert CN=root`}},
		{"a list index beside it", join(token, ":\n- |\n", block), []string{`[key:0][0]: cert CN=root`}},
		{"a key that is called like an index", join("\"key:0\": |\n", block, "key: |\n", indent(w.other.CertPEM, " ")), []string{`[key:0]: cert CN=root`, `key: cert CN=other`}},
		{"two tokens in one map", join(token, ": |\n", block, jwt, ": |\n", indent(w.other.CertPEM, " ")), []string{`[key:0]: cert CN=root`, `[key:1]: cert CN=other`}},
		{"a private key", join(`{`, quoted(t, []byte(key)), `:`, quoted(t, root), `}`), []string{`[key:0]: cert CN=root`, "key ECDSA"}},
		{"a file, a host and a registry", join("ca-bundle.crt:\n  registry.example.com..5000:\n    '*.apps.example.com': |\n", indent(root, "      ")), []string{
			`["ca-bundle.crt"]["registry.example.com..5000"]["*.apps.example.com"]: cert CN=root`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := NewScanner().Scan(tt.in)
			if diff := cmp.Diff(tt.want, lines(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, f := range found {
				at := Location{Kind: "ConfigMap", Namespace: "ns", Name: "n", Key: "k", Field: f.Field}
				if got, err := ParseLocation(at.String()); err != nil || got != at {
					t.Errorf("%s is read as %s, %v", at, got, err)
				}
				text, err := json.Marshal(at)
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{token, jwt, strings.Split(key, "\n")[1]} {
					if strings.Contains(string(text), secret[:12]) {
						t.Errorf("%.12q is in %s", secret, text)
					}
				}
			}
		})
	}
}

// namesInUse are keys as configurations have them.
func namesInUse() []string {
	return strings.Fields(`tls.crt tls.key ca.crt ca-bundle.crt ca-bundle client-ca-file requestheader-client-ca-file service-ca.crt service-account.pub kubeconfig
lb-ext.kubeconfig node-kubeconfigs caBundle CABundle certificate-authority-data client-certificate-data clusters cluster-network-03-config.yml config.json config.yaml
insecureSkipTLSVerify x509 v1beta1 v1alpha1 i18n sha256 md5 base64 utf8 k8s.gcr.io quay.io registry.example.com..5000 10.0.0.1 *.apps.example.com
api-int.lab.example.com
SSL_CERT_FILE HTTPS_PROXY KAFKA_OPTS_TLS_CA 5ed36f99.0 7f3d5d1d.r0 tls-ca-bundle.pem image-registry.openshift-image-registry.svc..5000
alertmanager.yaml prometheus-k8s-0 etcd-serving-ip-10-0-130-59.ec2.internal.crt etcd-peer-master-0.key ip-10-0-130-59 us-east-1a web1 keystore.jks truststore.p12 user.p12 .dockerconfigjson
.dockercfg openshift-cluster-user-defined-network validatingwebhookconfigurations certificatesigningrequests spec.tls.destinationCACertificate oauthMetadata additionalTrustBundle
etcdCAConfigMapName clientCAFile IPv4CIDR vSphereCA kubelet-client-2026-11-22-10-00-00.pem schwarz-intern-pki oauth2-proxy.cfg krb5.conf id_rsa.pub ssh-ed25519-known-hosts h2c
release-v4.14.3 backup-20260101120000 s3 cert1.pem fullchain1.pem default-token-x7k2p my_app-config.v2.yaml ldap-ca 01-cluster-ca user-ca-bundle-1 bundle.pem ca2 root-ca-2023.crt
kubectl.kubernetes.io/last-applied-configuration auth.openshift.io/certificate-hostnames k8s.io/ca
apps.okd.example.com apps.ocp4-prd.kbc.bnpp.net *.apps.hv.dc1.xyzq.local gw.k8s.zrh.kkb.ch MQTT_TLS_CRT`)
}

func TestPlainKeyKeepsNames(t *testing.T) {
	for _, name := range append(namesInUse(), "") {
		if !PlainKey(name) {
			t.Errorf("%q would be an index", name)
		}
	}
}

func TestPlainKeyRefusesWhatIsGenerated(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	from := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	raw := func(n int) []byte { return []byte(from(allBytes(), n)) }
	const lower, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	base62 := lower + strings.ToUpper(lower) + digits
	id := func() string { return hex.EncodeToString(raw(16)) }
	kinds := []struct {
		name string
		make func() string
		rate int // in ten thousand that may pass
	}{
		{"OAuth tokens", func() string { return "sha256~" + from(base62+"-_", 43) }, 0},
		{"OAuth tokens without their prefix", func() string { return from(base62+"-_", 43) }, 0},
		{"JWTs", func() string { return "eyJ" + from(base62+"-_", 40) + "." + from(base62+"-_", 40) }, 0},
		{"personal access tokens", func() string { return "ghp_" + from(base62, 36) }, 0},
		{"access keys", func() string { return "AKIA" + from(strings.ToUpper(lower)+digits[2:8], 16) }, 100},
		{"secret access keys", func() string { return from(base62+"/+", 40) }, 0},
		{"UUIDs", func() string {
			s := id()
			return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
		}, 0},
		{"UUIDs without dashes", id, 0},
		{"sha256 sums", func() string { return hex.EncodeToString(raw(32)) }, 0},
		{"base64", func() string { return base64.StdEncoding.EncodeToString(raw(24)) }, 5},
		{"base64 for URLs", func() string { return base64.RawURLEncoding.EncodeToString(raw(24)) }, 5},
		{"bootstrap tokens", func() string { return from(lower+digits, 6) + "." + from(lower+digits, 16) }, 100},
		{"passwords with signs", func() string { return from(base62, 4) + from("!$%&=+?#~,;", 1) + from(base62, 3) }, 0},
		{"passwords of 16", func() string { return from(base62, 16) }, 150},
		{"letters only", func() string { return from(lower, 20) }, 100},
	}
	for _, k := range kinds {
		passed := []string{}
		for range 10000 {
			if s := k.make(); PlainKey(s) {
				passed = append(passed, s)
			}
		}
		if len(passed) > k.rate {
			t.Errorf("%s: %d of 10000 are taken for names, such as %q", k.name, len(passed), passed[0])
		}
		t.Logf("%s: %d of 10000", k.name, len(passed))
	}
	for _, s := range []string{"-----BEGIN EC PRIVATE KEY-----\nMHcC", "admin:secret@registry.example.com", "key:3", "Tr0ub4dor&3", "passwört", "a\nb", fmt.Sprint(strings.Repeat("1", 16)), "github_pat_11ABCDE0Y0abcdefgh_Xyz0123456789"} {
		if PlainKey(s) {
			t.Errorf("%q is taken for a name", s)
		}
	}
}

func allBytes() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// TestAUserAndAPasswordAsAMapKeyAreNoPlace: what does not read like a name of Kubernetes
// is an index, also where it is a harmless one.
func TestAUserAndAPasswordAsAMapKeyAreNoPlace(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{
		"user:password", "admin:hunter2", "system:Tr0ub4dor", "admin/hunter2", "admin@secret", "admin secret", "admin\tsecret", "john.doe/hunter2", "openshift.io:hunter2/x",
		"admin:hunter2.openshift.io/x", "notopenshift.io/hunter2", "a/b/c", "*hunter2", "/etc/ssl/ca.pem", "https://admin:hunter2@example.com", "docker.io:443", "fd00::1", "system:node:worker-3", "Company Root CA 2",
	} {
		doc, err := json.Marshal(map[string]any{"sessions": map[string]string{key: string(w.root.CertPEM)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := lines(NewScanner().Scan(doc)); len(got) != 1 || got[0] != "sessions[key:0]: cert CN=root" {
			t.Errorf("%q: %q", key, got)
		}
	}
}

// FuzzPlainKey: what a key becomes in a place can be read back, and is not longer
// than a line of a terminal where it is no name.
func FuzzPlainKey(f *testing.F) {
	for _, name := range append(namesInUse(), "key:0", "eyJ", "a@b:c", "-----BEGIN") {
		f.Add(name)
	}
	root := newWorld(f).root.CertPEM
	f.Fuzz(func(t *testing.T, key string) {
		doc, err := json.Marshal(map[string]string{key: string(root)})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range NewScanner().Scan(doc) {
			if !PlainKey(strings.ToValidUTF8(key, "\ufffd")) && found.Field != "["+KeyIndex(0)+"]" && found.Field != "" {
				t.Errorf("the key %q is in the place %q", key, found.Field)
			}
			at := Location{Kind: "ConfigMap", Name: "n", Key: "k", Field: found.Field}
			if got, err := ParseLocation(at.String()); err != nil || got != at {
				t.Errorf("%s is read as %s, %v", at, got, err)
			}
		}
	})
}
