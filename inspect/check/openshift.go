package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// referenceResolves looks for what the cluster's configuration names. Several
// fields that name one object are one finding.
func referenceResolves(f *inspect.Facts) []assess.Finding {
	holds := map[pki.Location]bool{} // of what is referred to, which is little
	for _, r := range f.Snapshot.References {
		holds[r.To] = false
	}
	for i := range f.Entries {
		if at := f.Entries[i].At; len(holds) > 0 && len(f.Entries[i].Content.Certs) > 0 {
			at.Field = ""
			for _, at := range []pki.Location{at, inspect.ObjectAt(at)} {
				if _, asked := holds[at]; asked {
					holds[at] = true
				}
			}
		}
	}
	var out []assess.Finding
	known := map[pki.Location]int{}
	for _, r := range f.Snapshot.References {
		if r.To.Kind != "Secret" && r.To.Kind != "ConfigMap" || holds[r.To] || r.Target == inspect.TargetUnknown {
			continue
		}
		if n, ok := known[r.To]; ok {
			out[n].At = append(out[n].At, r.From)
			continue
		}
		known[r.To] = len(out)
		resource := strings.ToLower(string(r.To.Kind))
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Warning,
				Reason:      "missing " + place(r.To), // after the places that name it
				Evidence:    fmt.Sprintf("names %s, which is not there", r.To),
				Remediation: assess.Command("", "kubectl -n %s get %s", r.To.Namespace, resource).Saying(fmt.Sprintf("create %s %s in namespace %s, or correct the name", resource, foreign.Name(r.To.Name), foreign.Name(r.To.Namespace))),
			},
			At: []pki.Location{r.From},
		}
		if r.Target == inspect.TargetThere {
			finding.Reason = place(r.To) + ": no certificate"
			finding.Evidence = fmt.Sprintf("names %s, which holds no certificate", r.To)
			finding.Remediation = advise("put the certificates there", r.To)
		}
		if r.From.Kind == inspect.KindIngress && r.From.Namespace != "" {
			finding.Impact = "now: the Ingress' controller presents its default certificate"
		} else if r.To.Kind == "Secret" {
			finding.Severity = assess.Critical
			finding.Impact = "now: a server goes on without it, or does not start"
		} else {
			finding.Impact = "now: no CA is trusted through it"
		}
		out = append(out, finding)
	}
	for i := range out {
		out[i].Reason = subject(out[i].At) + " names " + out[i].Reason
	}
	return out
}

// reportsAgree compares what machine-config-operator reports with the data of the
// ControllerConfig, bundle by bundle.
func reportsAgree(f *inspect.Facts) []assess.Finding {
	data := deliveredBundles(f)
	if data == nil {
		return nil
	}
	reports := map[pki.Location]map[string][]inspect.Reported{} // by object and bundle
	var order []pki.Location
	for _, r := range f.Snapshot.Reported {
		at := inspect.ObjectAt(r.At)
		if reports[at] == nil {
			order = append(order, at)
			reports[at] = map[string][]inspect.Reported{}
		}
		reports[at][r.Bundle] = append(reports[at][r.Bundle], r)
	}
	var out []assess.Finding
	for _, at := range order {
		if at.Kind == inspect.KindControllerConfig { // it reports all that it holds; pools only the API server's CAs
			for bundle := range data {
				reports[at][bundle] = slices.Clip(reports[at][bundle])
			}
		}
		for _, bundle := range slices.Sorted(maps.Keys(reports[at])) {
			if finding, ok := disagreement(f, at, bundle, reports[at][bundle], data[bundle]); ok {
				out = append(out, finding)
			}
		}
	}
	return out
}

// deliveredBundles are the bundles of the ControllerConfig, by the names under
// which they are reported; nil where none was read.
func deliveredBundles(f *inspect.Facts) map[string][]*inspect.Entry {
	var out map[string][]*inspect.Entry
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Kind != inspect.KindControllerConfig {
			continue
		}
		if out == nil {
			out = map[string][]*inspect.Entry{}
		}
		bundle := strings.TrimPrefix(h.At.Field, "spec.")
		if list, file, ok := strings.Cut(bundle, "["); ok && strings.HasPrefix(list, "imageRegistryBundle") {
			bundle = strings.TrimSuffix(file, "]")
		} else if bundle != "" {
			bundle = strings.ToUpper(bundle[:1]) + bundle[1:]
		}
		out[bundle] = append(out[bundle], h)
	}
	return out
}

// said is what a report says of a certificate: its common name, which all reports write alike, and its times,
// to the second, where they are said (in 4.14 none is). It is not what decides about trust.
type said struct {
	name        string
	from, until time.Time
}

func saidOf(subject string, from, until time.Time) said {
	return said{pki.CommonName(subject), from.UTC(), until.UTC()}
}

// saidAbout are the reports that are about a certificate: they may leave out its times.
func saidAbout(c *pki.Cert) [4]said {
	var never time.Time
	return [4]said{
		saidOf(c.Subject, c.NotBefore, c.NotAfter), saidOf(c.Subject, never, c.NotAfter),
		saidOf(c.Subject, c.NotBefore, never), saidOf(c.Subject, never, never),
	}
}

// disagreement says what one object reports of a bundle that is not so. Of data
// that can't be read to its end nothing is said: the controller stops at another
// place than we do, and pem-readable names it.
func disagreement(f *inspect.Facts, at pki.Location, bundle string, reports []inspect.Reported, data []*inspect.Entry) (assess.Finding, bool) {
	var unsaid []*pki.Cert
	places := []pki.Location{}
	listed, stored, missed := map[said]bool{}, map[said]bool{}, map[*pki.Cert]bool{}
	for _, r := range reports {
		listed[saidOf(r.Subject, r.NotBefore, r.NotAfter)] = true
	}
	for _, h := range data {
		if len(h.Content.Bad)+len(h.Content.Keys) > 0 {
			return assess.Finding{}, false
		}
		for _, c := range h.Content.Certs {
			about := false
			for _, s := range saidAbout(c) {
				about, stored[s] = about || listed[s], true
			}
			if !about && !missed[c] {
				missed[c] = true
				unsaid = append(unsaid, c)
			}
		}
		places = append(places, h.At)
	}
	var gone []string
	for _, r := range reports {
		if !stored[saidOf(r.Subject, r.NotBefore, r.NotAfter)] {
			gone = append(gone, foreign.QuotedName(pki.CommonName(r.Subject)))
			places = append(places, r.At)
		}
	}
	if len(unsaid)+len(gone) == 0 {
		return assess.Finding{}, false
	}
	finding := assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning, Remediation: assess.FixedCommand("kubectl -n openshift-machine-config-operator get pods").Saying("the machine-config-controller is behind or does not run: look at its pods, then: kubectl get clusteroperators machine-config")}, At: append(places, at)}
	var told []string
	if len(unsaid) > 0 {
		told = append(told, "does not list "+names(unsaid)+", which it holds")
		fresh := func(c *pki.Cert) bool { return f.Now.Sub(c.NotBefore) <= time.Hour }
		if !slices.ContainsFunc(unsaid, func(c *pki.Cert) bool { return !fresh(c) }) {
			finding.Severity = assess.Info
		}
	} else if at.Kind == inspect.KindPool {
		finding.Severity = assess.Info
	}
	if len(gone) > 0 {
		told = append(told, "lists "+strings.Join(gone, ", ")+", which it does not hold")
	}
	if finding.Severity == assess.Warning {
		finding.Impact = "nodes may not get new CAs either"
	}
	what := "status does not list CA "
	if len(unsaid) > 0 {
		what += shortNames(unsaid)
	} else {
		what = "status lists a certificate that is gone"
	}
	finding.Reason = place(at) + ": " + what
	finding.Evidence = fmt.Sprintf("what %s reports of the ControllerConfig's bundle %s %s", at, bundle, strings.Join(told, ", and "))
	for _, c := range unsaid {
		finding.Certs = append(finding.Certs, c.Fingerprint)
	}
	return finding, true
}
