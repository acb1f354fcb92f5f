package e2e

import (
	"slices"
	"strings"
	"testing"
)

// clusterKinds are those that a user of a namespace may not list.
var clusterKinds = []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "apiservices", "customresourcedefinitions", "certificatesigningrequests",
	"routes", "controllerconfigs", "machineconfigs", "machineconfigpools", "proxies", "apiservers", "images", "oauths", "ingresses", "ingresscontrollers", "ingresses.networking.k8s.io"}

// saysVersions reports whether it is said that the version was not read, which
// only administrators may. It is no gap: everything that was asked for was read.
func (inv *inventory) saysVersions() bool {
	return slices.ContainsFunc(inv.Reads, func(r read) bool {
		return r.What == "clusterversions" && r.Skipped && strings.Contains(r.Note, "were not applied") && strings.Contains(r.Note, "ask for list on clusterversions")
	})
}

// What may not be read is a gap; what may be read is read, all of it.
func TestWithLittleAccess(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	for _, c := range []struct {
		name, user, namespace string
		args                  []string
		sees                  []string // prefixes of places
		gaps                  map[string]string
		code                  int
	}{
		{
			name: "who may list ConfigMaps only sees those of the whole cluster", user: "configmaps-only", namespace: "default", code: 3,
			sees: []string{"ConfigMap/"},
			gaps: map[string]string{"secrets": `only namespace "default" was read|forbidden in the whole cluster and in 1 of 1 namespaces`},
		},
		{
			name: "who may list Secrets and ConfigMaps in two namespaces sees those", user: "two-namespaces", namespace: "default", code: 3,
			sees: []string{"Secret/" + p.rich() + "/", "Secret/" + p.fine() + "/", "ConfigMap/" + p.rich() + "/", "ConfigMap/" + p.fine() + "/"},
			gaps: map[string]string{"secrets": "forbidden in the whole cluster and in ", "configmaps": "kubectl auth can-i list configmaps -n "},
		},
		{
			name: "who may not list namespaces sees the one of the context", user: "no-namespace-list", namespace: p.fine(), code: 3,
			sees: []string{"Secret/" + p.fine() + "/", "ConfigMap/" + p.fine() + "/"},
			gaps: map[string]string{"namespaces": `only namespace "` + p.fine() + `" was read; name others with -n`},
		},
		{
			name: "who may not list namespaces can name one, and nothing is unknown", user: "no-namespace-list", namespace: "default", code: 0,
			args: []string{"secrets,configmaps", "-n", p.fine()},
			sees: []string{"Secret/" + p.fine() + "/", "ConfigMap/" + p.fine() + "/"},
		},
		{
			name: "who may not list namespaces finds a name in the one of the context", user: "no-namespace-list", namespace: p.fine(), code: 3,
			args: []string{"secret/serving"},
			sees: []string{"Secret/" + p.fine() + "/serving["},
			gaps: map[string]string{"secrets": "named serving in all namespaces"},
		},
		{
			name: "who may read nothing sees nothing", user: "nobody", namespace: "default", code: 2,
			gaps: map[string]string{"secrets": "forbidden", "configmaps": "forbidden"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := w.of(t, c.user, c.namespace)
			var inv inventory
			w.agree(t, func(o *oracle) string {
				var r result
				inv, r = w.inventory(t, append(c.args, "--kubeconfig", config)...)
				return wrong("places", o.seen.in(c.sees...), inv.sightings(t)) + wrong("exit code", c.code, r.code) + wrong("in time", true, r.took < answerLimit)
			})
			if !inv.saysVersions() {
				t.Errorf("it is not said that the version is not known: %+v", inv.Reads)
			}
			said := map[string]string{}
			for _, g := range inv.Gaps {
				said[g.What] += g.Reason + " " + g.Remediation.Text + " "
				if g.Reason == "" || g.Remediation.Text == "" {
					t.Errorf("gap without reason or next step: %+v", g)
				}
			}
			for what, texts := range c.gaps {
				for want := range strings.SplitSeq(texts, "|") {
					if !strings.Contains(strings.Join([]string{said[what], said["namespaces"]}, " "), want) {
						t.Errorf("the gap of %s does not say %q: %s", what, want, said[what])
					}
				}
			}
			if len(c.args) > 0 {
				if len(inv.Gaps) != len(c.gaps) {
					t.Errorf("gaps are %+v, want %v", inv.Gaps, c.gaps)
				}
			} else {
				for _, kind := range clusterKinds {
					if !strings.Contains(said[kind], "forbidden") {
						t.Errorf("no gap for %s: %+v", kind, inv.Gaps)
					}
				}
			}
		})
	}
}

func TestImpersonationIsPassedOn(t *testing.T) {
	t.Parallel()
	w := enter(t)
	inv, r := w.inventory(t, "secrets", "--as", w.planted.userName("configmaps-only"))
	if r.code != 2 || len(inv.sightings(t)) > 0 {
		t.Errorf("ended with %d and saw %d places, want 2 and none", r.code, len(inv.sightings(t)))
	}
	inv, r = w.inventory(t, "configmaps", "--as", w.planted.userName("configmaps-only"))
	if r.code != 0 || len(inv.Gaps) > 0 || !inv.saysVersions() || len(inv.sightings(t)) == 0 {
		t.Errorf("ended with %d, gaps %+v, and saw %d places, want 0, none, and many", r.code, inv.Gaps, len(inv.sightings(t)))
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := enter(t)
	p := w.planted
	blind := []string{"--as", p.userName("configmaps-only")}
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"all is read and fine", []string{"secrets,configmaps", "-n", p.fine()}, 0},
		{"there are findings", []string{"secrets,configmaps", "-n", p.rich()}, 1},
		{"there are findings, and they don't count", []string{"secrets,configmaps", "-n", p.rich(), "--fail-on", "none"}, 0},
		{"there are findings, and something could not be read", append([]string{"secrets,configmaps", "-n", p.rich()}, blind...), 1},
		{"no finding counts, and something could not be read", append([]string{"secrets,configmaps", "-n", p.rich(), "--fail-on", "none"}, blind...), 3},
		{"that something could not be read is allowed", append([]string{"secrets,configmaps", "-n", p.rich(), "--fail-on", "none", "--allow-unknown"}, blind...), 0},
		{"a name does not exist", []string{"secret/nope", "-n", p.fine()}, 3},
		{"a flag does not exist", []string{"--nope"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if r := w.run(t, append([]string{"inspect"}, c.args...)...); r.code != c.want {
				t.Errorf("inspect %s ended with %d, want %d:\n%.3000s", strings.Join(c.args, " "), r.code, c.want, r.said())
			}
		})
	}
}
