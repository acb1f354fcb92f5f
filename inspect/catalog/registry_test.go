package catalog

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRegistryOfTLSArtifacts holds the catalog against the names in OpenShift's
// own registry: each has a row, and one whose owner fits. The file says where
// the names were read.
func TestRegistryOfTLSArtifacts(t *testing.T) {
	// What the registry calls which owner. It names what made the certificate, on each
	// copy of it; rows name what answers for the copy.
	fits := map[string][]string{
		"Bare Metal Hardware Provisioning / cluster-baremetal-operator": {"cluster-baremetal-operator"},
		"Cloud Compute / Cloud Controller Manager":                      {"cloud-controller-manager-operator"},
		"End User":                              {"user"},
		"Etcd":                                  {etcdOwner},
		"Image Registry":                        {"image-registry-operator", mcoOwner},
		"Machine Config Operator":               {mcoOwner},
		"Monitoring":                            {monitoringOwner, networkOwner},
		"Networking / cluster-network-operator": {networkOwner},
		"Networking / router":                   {ingressOwner, consoleOwner},
		"Node / Kubelet":                        {"kubelet"},
		"Operator Framework / operator-lifecycle-manager": {"operator-lifecycle-manager"},
		"RHCOS":                    {"RHCOS"},
		"apiserver-auth":           {authOwner, consoleOwner},
		"cluster-network-operator": {networkOwner},
		"etcd":                     {etcdOwner, kasOwner, authOwner, openShiftAPIOwner},
		"kube-apiserver":           {kasOwner, kcmOwner, schedulerOwner, openShiftKCMOwner, mcoOwner, "kube-apiserver", "installer"},
		"kube-controller-manager":  {kcmOwner, kasOwner},
		"kube-scheduler":           {schedulerOwner},
		"openshift-apiserver":      {openShiftAPIOwner},
		"service-ca":               {serviceCAOwner, kcmOwner, ingressOwner},
	}
	// A key with which tokens are signed, and no certificate.
	none := []string{"/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/bound-service-account-signing-key/service-account.key"}

	for _, a := range registryArtifacts(t) {
		if slices.Contains(none, a.object.Name) {
			continue
		}
		found := false
		for _, v := range goldenVersions() {
			p, ok := LookupObject(a.object, a.key, v)
			if !ok {
				continue
			}
			found = true
			if a.owner != "" && !slices.Contains(fits[a.owner], p.Owner) {
				t.Errorf("%s in %s: %s is no %s; its row is %s", a.name, v.Cluster, p.Owner, a.owner, rowName(p))
			}
		}
		if _, ok := LookupObject(a.object, a.key, Versions{Cluster: a.in}); !ok {
			t.Errorf("%s of %s: no row in %s, in another version: %v", a.name, a.owner, a.in, found)
		}
	}
}

type artifact struct {
	name, owner string // no owner: it is known by another place's
	object      Object
	key         string
	in          string // the version of which it is
}

// registryArtifacts reads the file, and counts.
func registryArtifacts(t *testing.T) []artifact {
	t.Helper()
	text, err := os.ReadFile("testdata/registry.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []artifact
	kinds := map[string]string{"secret": Secret, "configmap": ConfigMap, "file": File}
	owner, left, counted := "", 0, 0
	for n, line := range strings.Split(string(text), "\n") {
		if name, count, ok := strings.Cut(strings.TrimPrefix(line, "## "), ": "); ok && strings.HasPrefix(line, "## ") {
			if left != 0 {
				t.Errorf("line %d: %d artifacts of %s are missing before it", n+1, left, owner)
			}
			owner = name
			if left, err = strconv.Atoi(count); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, again := strings.CutPrefix(line, "also ")
		line, once := strings.CutPrefix(line, "once ")
		kind, path, _ := strings.Cut(line, " ")
		o, key := Object{Kind: kinds[kind], Name: path}, ""
		switch o.Kind {
		case "":
			t.Fatalf("line %d: %q", n+1, line)
		case Secret:
			// Service-ca's secrets are known by the annotation that all of them carry.
			if owner == "service-ca" && !once {
				o.Annotations = map[string]string{AnnotationServiceName: "a-service"}
				key = "tls.crt"
			}
			fallthrough
		case ConfigMap:
			o.Namespace, o.Name, _ = strings.Cut(path, "/")
		}
		if again || once {
			a := artifact{name: line, object: o, in: "4.22.1"}
			if once {
				a.in = "4.16.1"
			}
			all = append(all, a)
			continue
		}
		all = append(all, artifact{name: line, owner: owner, object: o, key: key, in: "4.22.1"})
		left--
		counted++
	}
	if left != 0 {
		t.Errorf("%d artifacts of %s are missing", left, owner)
	}
	if counted != 275 {
		t.Errorf("%d artifacts, the registry has 275", counted)
	}
	return all
}
