package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openShiftKinds are OpenShift's own kinds, as kubectl get names them.
const openShiftKinds = "routes,controllerconfigs,machineconfigs,machineconfigpools,proxies,apiservers,images,oauths,ingresses.config.openshift.io,ingresscontrollers"

func TestEachOfOpenShiftsKindsAlone(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	config := []string{"ConfigMap/openshift-config/" + p.id + "["}
	named := []string{"Secret/openshift-config/" + p.id + "["}
	ingress := []string{"Secret/openshift-ingress/" + p.id + "["}
	for kind, follows := range map[string][]string{
		"routes": nil, "controllerconfigs": nil, "machineconfigs": nil, "machineconfigpools": nil,
		"proxies": config, "apiservers": slices.Concat(config, named), "images": config, "oauths": config, "ingresses.config.openshift.io": named, "ingresscontrollers": slices.Concat(config, ingress),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w.agree(t, func(o *oracle) string {
				inv, r := w.inventory(t, kind)
				want := sightings{}
				for place, shas := range o.seen {
					own, _, _ := strings.Cut(place, "/")
					if strings.HasPrefix(kind+".", pluralOf(own)+".") {
						want[place] = shas
					}
				}
				if len(follows) > 0 {
					maps.Copy(want, o.seen.in(follows...))
				}
				return wrong("places", want, inv.sightings(t)) + wrong("gaps", 0, len(inv.Gaps)) + wrong("exit code", 0, r.code)
			})
		})
	}
}

func TestWhatTheConfigurationNamesAndReports(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	var inv struct {
		References []struct{ From, To, Target string }
		Reported   []struct{ Location, Bundle, Subject string }
		Findings   []finding
	}
	r := w.run(t, "inspect", openShiftKinds, "-o", "json", "--fail-on", "none")
	if err := json.Unmarshal([]byte(r.stdout), &inv); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, ref := range inv.References {
		if strings.Contains(ref.From, p.id) {
			got[ref.From] = ref.To + " " + ref.Target
		}
	}
	bundle := "ConfigMap/openshift-config/" + p.id
	want := map[string]string{
		"Proxy/" + p.id + "#spec.trustedCA.name":                                                 bundle + "[ca-bundle.crt] there",
		"APIServer/" + p.id + "#spec.clientCA.name":                                              bundle + "[ca-bundle.crt] there",
		"Image/" + p.id + "#spec.additionalTrustedCA.name":                                       bundle + " there",
		"OAuth/" + p.id + "#spec.identityProviders[0].ldap.ca.name":                              bundle + "[ca.crt] there",
		"Ingress/" + p.id + "#spec.componentRoutes[0].servingCertKeyPairSecret.name":             "Secret/openshift-config/" + p.id + "[tls.crt] there",
		"APIServer/" + p.id + "#spec.servingCerts.namedCertificates[0].servingCertificate.name":  "Secret/openshift-config/" + p.id + "[tls.crt] there",
		"IngressController/openshift-ingress-operator/" + p.id + "#spec.defaultCertificate.name": "Secret/openshift-ingress/" + p.id + "[tls.crt] there",
		"IngressController/openshift-ingress-operator/" + p.id + "#spec.clientTLS.clientCA.name": bundle + "[ca-bundle.crt] there",
		"MachineConfigPool/" + p.id + "#spec.configuration.name":                                 "MachineConfig/" + p.id + " ",
		"MachineConfigPool/" + p.id + "#status.configuration.name":                               "MachineConfig/" + p.id + " ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	reported := 0
	for _, s := range inv.Reported {
		if strings.Contains(s.Location, p.id) && s.Bundle == "KubeAPIServerServingCAData" && strings.Contains(s.Subject, "delivered CA") {
			reported++
		}
	}
	if reported != 2 {
		t.Errorf("%d reports, want that of the ControllerConfig and that of the pool: %+v", reported, inv.Reported)
	}
	var about []string
	for _, f := range inv.Findings {
		if f.ID == "mco-reports-agree" || f.ID == "reference-resolves" || f.ID == "key-in-place" || f.ID == "key-matches" {
			about = append(about, f.Severity+" "+f.ID+" "+strings.Join(f.Locations, " "))
		}
	}
	// The reports are true, and all that is named is there.
	if diff := cmp.Diff([]string{"critical key-in-place MachineConfig/" + p.id + "#spec.config.storage.files[/etc/kubernetes/kubeconfig]#users[0].user.client-key-data"}, about); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
