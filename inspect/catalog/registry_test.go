package catalog

import (
	"fmt"
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
	// Whom the registry calls what. It names who made the certificate, on each
	// copy of it; rows name who answers for the copy.
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
		"service-ca":               {serviceCAOwner, kcmOwner},
	}
	// A key with which tokens are signed, and no certificate.
	none := []string{"/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/bound-service-account-signing-key/service-account.key"}

	for _, a := range registryArtifacts(t) {
		if slices.Contains(none, a.object.Name) {
			continue
		}
		found := false
		for _, v := range goldenVersions() {
			p, ok := LookupObject(a.object, "", v)
			if !ok {
				continue
			}
			found = true
			if !slices.Contains(fits[a.owner], p.Owner) {
				t.Errorf("%s in %s: %s is no %s; its row is %s", a.name, v.Cluster, p.Owner, a.owner, rowName(p))
			}
		}
		// The registry is of the newest version: there it has to have a row.
		if _, ok := LookupObject(a.object, "", Versions{Cluster: "4.22.1"}); !ok {
			t.Errorf("%s of %s: no row in 4.22, in another version: %v", a.name, a.owner, found)
		}
	}
}

type artifact struct {
	name, owner string
	object      Object
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
	owner, left := "", 0
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
		kind, path, _ := strings.Cut(line, " ")
		o := Object{Kind: kinds[kind], Name: path}
		switch o.Kind {
		case "":
			t.Fatalf("line %d: %q", n+1, line)
		case Secret:
			// Service-ca's secrets are known by the annotation that all of them carry.
			if owner == "service-ca" {
				o.Annotations = map[string]string{AnnotationServiceName: "a-service"}
			}
			fallthrough
		case ConfigMap:
			o.Namespace, o.Name, _ = strings.Cut(path, "/")
		}
		all = append(all, artifact{name: fmt.Sprintf("%s %s", kind, path), owner: owner, object: o})
		left--
	}
	if left != 0 {
		t.Errorf("%d artifacts of %s are missing", left, owner)
	}
	if len(all) != 275 {
		t.Errorf("%d artifacts, the registry has 275", len(all))
	}
	return all
}
