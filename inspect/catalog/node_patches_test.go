package catalog

import (
	"strings"
	"testing"
)

// TestTheAdministratorsCAsOfEarly414: machine-config-daemon wrote them itself, and no MachineConfig had them.
func TestTheAdministratorsCAsOfEarly414(t *testing.T) {
	t.Parallel()
	const path = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
	for _, c := range []struct{ version, writes, carries, effect string }{
		{"4.13.9", "part of a rendered MachineConfig", "machine-config-controller", string(NodeReboot)},
		{"4.14.0", "from the ControllerConfig", noComponent, ""},
		{"4.14.6", "from the ControllerConfig", noComponent, ""},
		{"4.14.8", "part of a rendered MachineConfig", "machine-config-controller", string(NodeCRIO)},
		{"4.22.1", "part of a rendered MachineConfig", "machine-config-controller", string(NodeCRIO)},
	} {
		v := Versions{Cluster: c.version}
		if p, ok := Lookup(File, "", path, "", v); !ok || !strings.Contains(p.Doc, c.writes) {
			t.Errorf("%s: the file: %q", c.version, p.Doc)
		}
		if p, ok := Lookup(MachineConfig, "", "00-worker", carried(path).Key, v); !ok || p.Writer != c.carries {
			t.Errorf("%s: the MachineConfig's file is written by %q", c.version, p.Writer)
		}
		if row, _ := configFileEffectOf(path, v); string(row.Effect) != c.effect {
			t.Errorf("%s: its change does %q", c.version, row.Effect)
		}
	}
}

// TestTheRegistryOnMastersServesTLSAfter4210: 4.21.0 rendered the service alone.
func TestTheRegistryOnMastersServesTLSAfter4210(t *testing.T) {
	t.Parallel()
	const ca, cert = "/etc/pki/ca-trust/source/anchors/iri-root-ca.crt", "/etc/iri-registry/certs/tls.crt"
	for version, want := range map[string]Tristate{"4.21.0": No, "4.21.1": Unknown, "4.21.3": Yes, "4.22.0": Yes} {
		v := Versions{Cluster: version}
		for _, at := range []Ref{secret(mcoTarget, "internal-release-image-tls"), carried(ca), carried(cert), file(ca), file(cert)} {
			if p := indexed().byRef[at]; len(p) != 1 || p[0].In.Holds(v) != want {
				t.Errorf("%s: %s: %v", version, at, p)
			}
		}
		for _, path := range []string{ca, cert} {
			if _, known := configFileEffectOf(path, v); known != want {
				t.Errorf("%s: %s: %s", version, path, known)
			}
		}
	}
}

// TestTheSignerOfTheRegistrysCertificateByThePatch: with the merge that issues it again.
func TestTheSignerOfTheRegistrysCertificateByThePatch(t *testing.T) {
	t.Parallel()
	rows := machineConfigRotations()
	if doc := rows[len(rows)-1].Doc; !strings.Contains(doc, "from 4.22.10 on") {
		t.Error(doc)
	}
}
