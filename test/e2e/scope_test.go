package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inScope is a scope as it is typed, and the places that are in it.
type inScope struct {
	name string
	args []string
	want []string // prefixes of places
	not  []string // prefixes among those that are out of it
}

func scopes(p *plan) []inScope {
	rich, fine := p.rich()+"/", p.fine()+"/"
	mine := label + "=" + p.id
	return []inScope{
		{"all namespaces", []string{"-A"}, []string{""}, nil},
		{"what is in one namespace", []string{"-n", p.fine()}, []string{"Secret/" + fine, "ConfigMap/" + fine}, nil},
		{"a kind of OpenShift's in a namespace", []string{"routes", "-n", p.rich()}, []string{"Route/" + rich}, nil},
		{"a kind of OpenShift's by its short name", []string{"mc", p.id}, []string{"MachineConfig/" + p.id}, nil},
		{"a kind", []string{"secrets"}, []string{"Secret/"}, nil},
		{"a kind in a namespace", []string{"secrets", "-n", p.rich()}, []string{"Secret/" + rich}, nil},
		{"two kinds", []string{"secrets,configmaps", "-n", p.fine()}, []string{"Secret/" + fine, "ConfigMap/" + fine}, nil},
		{"a short name", []string{"cm", "-n", p.fine()}, []string{"ConfigMap/" + fine}, nil},
		{"a singular with its group", []string{"customresourcedefinition.apiextensions.k8s.io"}, []string{"CustomResourceDefinition/"}, nil},
		{"both kinds of webhooks", []string{"webhooks"}, []string{"ValidatingWebhookConfiguration/", "MutatingWebhookConfiguration/"}, nil},
		{"KIND/NAME", []string{"secret/serving", "-n", p.fine()}, []string{"Secret/" + fine + "serving["}, nil},
		{"KIND NAME in all namespaces", []string{"secrets", "serving"}, []string{"Secret/" + fine + "serving[", "Secret/" + rich + "serving["}, nil},
		{"several names", []string{"secret/serving", "secret/der", "-n", p.rich()}, []string{"Secret/" + rich + "serving[", "Secret/" + rich + "der["}, nil},
		{"a name that is in no namespace", []string{"crd", "things." + p.group()}, []string{"CustomResourceDefinition/things." + p.group()}, nil},
		{"a name that must be escaped", []string{"csr", p.oddRequest()}, []string{"CertificateSigningRequest/" + p.oddRequest()}, nil},
		{"a label", []string{"-l", mine}, []string{
			"Secret/" + rich, "Secret/" + fine, "Secret/" + p.bad(), "Secret/openshift-kube-apiserver/" + p.id, "ConfigMap/" + rich, "ConfigMap/" + fine, "ConfigMap/" + p.bad(),
			"ValidatingWebhookConfiguration/" + p.id, "MutatingWebhookConfiguration/" + p.id, "CustomResourceDefinition/things." + p.group(), "CertificateSigningRequest/" + p.id,
			"Route/" + rich, "MachineConfig/" + p.id, "ControllerConfig/" + p.id, "ConfigMap/openshift-config/" + p.id, "Secret/openshift-config/" + p.id, "Secret/openshift-ingress/" + p.id,
		}, []string{"ConfigMap/" + rich + "kube-root", "ConfigMap/" + fine + "kube-root", "ConfigMap/" + p.bad() + "/kube-root"}},
		{"a label that nothing has", []string{"-l", mine + "," + label + "!=" + p.id}, nil, nil},
		{"-A wins over -n", []string{"-A", "-n", p.fine()}, []string{""}, nil},
		{"a version and a group", []string{"secrets.v1.,customresourcedefinitions.v1.apiextensions.k8s.io"}, []string{"Secret/", "CustomResourceDefinition/"}, nil},
		{"names of two kinds", []string{"secret/serving", "cm/ca", "-n", p.fine()}, []string{"Secret/" + fine + "serving[", "ConfigMap/" + fine + "ca["}, nil},
		{"a field", []string{"--field-selector", "metadata.namespace=" + p.fine()}, []string{"Secret/" + fine, "ConfigMap/" + fine}, nil},
		{"a field and a name", []string{"secret/serving", "--field-selector", "metadata.namespace!=" + p.rich()}, []string{"Secret/" + fine + "serving["}, nil},
		{"a field that nothing has", []string{"--field-selector", "metadata.name=no-such-object"}, nil, nil},
		{"a label and a kind", []string{"configmaps", "-l", mine, "-n", p.fine()}, []string{"ConfigMap/" + fine + "ca["}, nil},
	}
}

func (s inScope) of(all sightings) sightings {
	chosen := all.in(s.want...)
	for place := range chosen {
		if slices.ContainsFunc(s.not, func(p string) bool { return strings.HasPrefix(place, p) }) {
			delete(chosen, place)
		}
	}
	return chosen
}

// A scope means the same for the cluster and for a file of its objects.
func TestScopes(t *testing.T) {
	t.Parallel()
	w := enter(t)
	list := w.mustKubectl(t, "get", everyKind, "-A", "-o", "json")
	file := filepath.Join(t.TempDir(), "objects.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	saved, err := readList(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scopes(w.planted) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w.agree(t, func(o *oracle) string {
				inv, r := w.inventory(t, s.args...)
				return wrong("places", s.of(o.seen), inv.sightings(t)) + wrong("exit code", 0, r.code)
			})
			inv, r := w.inventory(t, append(s.args, "--from", file)...)
			if diff := cmp.Diff(s.of(saved.seen), inv.sightings(t)); diff != "" {
				t.Errorf("inspect --from FILE %s (-want +got):\n%s", strings.Join(s.args, " "), diff)
			}
			if r.code != 0 {
				t.Errorf("inspect --from FILE %s ended with %d, want 0: %+v", strings.Join(s.args, " "), r.code, inv.Gaps)
			}
		})
	}
}

func TestANameThatDoesNotExistIsAGap(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, c := range []struct {
		name string
		args []string
		gap  gap
		sees int
	}{
		{"in all namespaces", []string{"secret/no-such"}, gap{"secrets", "", `no object named "no-such" in any namespace`, struct{ Text string }{"kubectl get secrets -A | grep no-such"}}, 0},
		{"in one namespace", []string{"cm", "no-such", "-n", w.planted.fine()}, gap{"configmaps", w.planted.fine(), `no object named "no-such" in namespace ` + w.planted.fine(), struct{ Text string }{"kubectl get configmaps -A | grep no-such"}}, 0},
		{"beside one that does", []string{"secrets", "serving", "no-such", "-n", w.planted.fine()}, gap{"secrets", w.planted.fine(), `no object named "no-such" in namespace ` + w.planted.fine(), struct{ Text string }{"kubectl get secrets -A | grep no-such"}}, 1},
		{"of a kind without namespaces", []string{"csr/no-such"}, gap{"certificatesigningrequests", "", `no object named "no-such"`, struct{ Text string }{"kubectl get certificatesigningrequests"}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inv, r := w.inventory(t, c.args...)
			if r.code != 3 || len(inv.sightings(t)) != c.sees {
				t.Errorf("ended with %d and saw %v, want 3 and %d places", r.code, inv.sightings(t), c.sees)
			}
			if diff := cmp.Diff([]gap{c.gap}, inv.Gaps); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsageErrorsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := enter(t)
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"a kind that is not read", []string{"inspect", "pods"}, `"pods" is not a kind that certrot reads`},
		{"a kind of another group", []string{"inspect", "secrets.example.com"}, `"secrets.example.com" is not a kind`},
		{"a field that is none", []string{"inspect", "--field-selector", "data.x=y"}, `--field-selector "data.x=y": field "data.x" is none of metadata.name, metadata.namespace, and of secrets type`},
		{"a field of another kind", []string{"inspect", "secrets,configmaps", "--field-selector", "type=Opaque"}, `--field-selector "type=Opaque": field type is one of secrets only`},
		{"KIND/NAME without a name", []string{"inspect", "secret/"}, `argument "secret/" is no KIND/NAME`},
		{"KIND/NAME and then a name", []string{"inspect", "secret/a", "b"}, `argument "b" is no KIND/NAME`},
		{"an empty argument", []string{"inspect", ""}, `"" is not a kind`},
		{"a selector that is none", []string{"inspect", "-l", "a in"}, `-l "a in"`},
		{"an unknown form", []string{"inspect", "-o", "xml"}, `invalid --output value "xml": must be one of wide, json,`},
		{"a broken template", []string{"inspect", "-o", "go-template={{"}, "-o go-template={{"},
		{"a time that is none", []string{"inspect", "--now", "tomorrow"}, `--now "tomorrow" is no time such as`},
		{"a duration that is none", []string{"inspect", "--expiring-within", "soon"}, `parse --expiring-within "soon": not a duration; give whole days, weeks or years, or hours, such as 30d`},
		{"a severity that is none", []string{"inspect", "--fail-on", "bad"}, `invalid --fail-on value "bad": must be one of info, warning, critical, none`},
		{"a file that does not exist", []string{"inspect", "--from", "/no/such"}, "--from: open /no/such: no such file"},
		{"a flag that does not exist", []string{"inspect", "--frm", "x"}, "unknown flag: --frm"},
		{"a snapshot without a file", []string{"snapshot"}, "-o FILE is required"},
		{"a snapshot where none can be written", []string{"snapshot", "-o", "/no/such/snapshot"}, "write /no/such/snapshot"},
		{"a command that does not exist", []string{"inspct"}, `unknown command "inspct"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := w.run(t, c.args...)
			if r.code != 2 || r.stdout != "" || !strings.HasPrefix(r.stderr, "error: ") || !strings.Contains(r.stderr, c.says) {
				t.Errorf("ended with %d, want 2; does not say %q; stdout %q; stderr:\n%s", r.code, c.says, r.stdout, r.stderr)
			}
			if strings.Count(r.stderr, "\n") > 7 { // the kinds that are read take five
				t.Errorf("says too much:\n%s", r.stderr)
			}
		})
	}
}
