package catalog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStaticPodInputsAgreeWithEdges: what is part of a revision is read by a rollout, and
// nothing else is.
func TestStaticPodInputsAgreeWithEdges(t *testing.T) {
	t.Parallel()
	asked := 0
	ask := func(v Versions, id string, of Ref, reads ReloadPolicy) {
		row, known := staticPodInputOf(of, v)
		if known != Yes {
			return
		}
		asked++
		// The kubeconfigs beside them are read by people.
		if reads != ReloadEachTime && row.Rollout != (reads == ReloadByRollout) {
			t.Errorf("%s: %s is read %s; part of a revision: %t", id, of, reads, row.Rollout)
		}
	}
	for _, v := range goldenVersions() {
		for _, e := range Edges() {
			if e.In.Holds(v) == Yes && (strings.HasPrefix(e.Verifier, "kube-") || strings.Contains(e.Verifier, "cert-syncer")) {
				ask(v, e.ID, e.Trust, e.Reload)
			}
		}
		for _, s := range Servers() {
			for _, show := range s.Certs {
				if s.In.Holds(v) == Yes {
					ask(v, s.ID, show.From, show.Reload)
				}
			}
		}
	}
	if asked < 100 {
		t.Errorf("only %d were compared", asked)
	}
	for _, row := range staticPodInputs() {
		if !slices.Contains(revisionedNamespaces(), row.namespace()) {
			t.Errorf("%s has no revisions", row.namespace())
		}
		for _, other := range staticPodInputs() {
			both := func(name string) bool {
				return row.Rollout && !other.Rollout && row.namespace() == other.namespace() && (slices.Contains(other.Secrets, name) || slices.Contains(other.ConfigMaps, name))
			}
			if slices.ContainsFunc(slices.Concat(row.Secrets, row.ConfigMaps), both) {
				t.Errorf("something of %s is in both ways there", row.namespace())
			}
		}
	}
}

// TestEveryFileOfAMachineConfigHasAnEffect: of what machine-config-operator itself puts
// there, in every version that does.
func TestEveryFileOfAMachineConfigHasAnEffect(t *testing.T) {
	t.Parallel()
	for title, v := range goldenVersions() {
		for _, p := range machineConfigFilePlaces() {
			path := strings.TrimSuffix(strings.TrimPrefix(p.Key, "spec.config.storage.files["), "]")
			if p.In.Holds(v) != Yes || p.Owner != mcoOwner || p.Writer == noComponent {
				continue
			}
			if row, known := configFileEffectOf(path, v); known != Yes || row.Effect == "" {
				t.Errorf("%s: what a change of %s does to nodes: %s", title, path, known)
			}
		}
		for _, d := range Deliveries() {
			if d.In.Holds(v) != Yes || !d.Pools {
				continue
			}
			if row, _ := configFileEffectOf(d.To.Name, v); row.Effect != NodeNone || d.Node != NodeReload {
				t.Errorf("%s: %s asks for %q, and its delivery says %q", title, d.To, row.Effect, d.Node)
			}
		}
	}
}

// TestWhatARotationDoesToNodes: by the version, and by the CA's name.
func TestWhatARotationDoesToNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signer, version string
		node            NodeEffect
		says            string
	}{
		{"kube-apiserver-to-kubelet-signer", "4.12.1", NodeReload, "neither drain nor reboot"},
		{"kube-apiserver-to-kubelet-signer", "4.13.1", NodeReload, "The new MachineConfig asks for neither drain nor reboot"},
		{"kube-apiserver-to-kubelet-signer", "4.14.1", NodeReload, "the kubelet reloads it"},
		{"loadbalancer-serving-signer", "4.15.1", "", ""},
		{"loadbalancer-serving-signer", "4.16.1", NodeKubelet, "loadbalancer-serving-signer@TIME) is not on"},
		{"service-network-serving-signer", "4.22.1", NodeKubelet, "on every node at once"},
		{"localhost-recovery-serving-signer", "4.16.1", NodeNone, "localhost-recovery-serving-signer@TIME) is on"},
		{"aggregator-client-signer", "4.16.1", "", ""},
	} {
		v := Versions{Cluster: c.version}
		all := kubeAPIServerRotations()
		r := all[slices.IndexFunc(all, func(r Rotation) bool { return r.Signer.Name == c.signer })]
		var got FlowStep
		for _, s := range r.Flow(r.Signer, v) {
			if s.Node != "" {
				got = s
			}
		}
		if got.Node != c.node || !strings.Contains(got.Action, c.says) {
			t.Errorf("%s in %s: %q: %s; want %q: %s", c.signer, c.version, got.Node, got.Action, c.node, c.says)
		}
	}
}

// TestStepsSayWhoReadsAndWhatIsUndelivered, and why: what prints them asks no text.
func TestStepsSayWhoReadsAndWhatIsUndelivered(t *testing.T) {
	t.Parallel()
	undelivered := 0
	for title, v := range goldenVersions() {
		for _, r := range Rotations() {
			for _, s := range r.Flow(r.Signer, v) {
				if (s.Reads != "") != (s.Stage == FlowTrust) || (s.Undelivered != "") != (s.Actor == noComponent) {
					t.Errorf("%s: %s: %s %s: read %q, undelivered %q", title, r.Signer, s.Actor, s.Action, s.Reads, s.Undelivered)
				}
				if s.Undelivered != "" {
					undelivered++
				}
			}
		}
	}
	if undelivered == 0 {
		t.Error("no version leaves a place out")
	}
}

// TestSightsAreOfTestsThatThereAre: a row names a test, and that test names the place.
func TestSightsAreOfTestsThatThereAre(t *testing.T) {
	t.Parallel()
	files, consts := parsed(t, "../../test")
	for _, s := range labTests() {
		path, name, _ := strings.Cut(s.Test, " ")
		file := files[path]
		if file == nil {
			t.Errorf("%s: there is no such file", s.Test)
			continue
		}
		i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && f.Recv == nil && f.Name.Name == name
		})
		if i < 0 {
			t.Errorf("%s: there is no such test", s.Test)
			continue
		}
		var texts []string
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				texts = append(texts, n.Value)
			case *ast.Ident:
				texts = append(texts, consts[n.Name]...)
			}
			return true
		})
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, s.Object.Name) }) {
			t.Errorf("%s: %s is not spoken of there", s.Test, s.Object)
		}
		used := func(step FlowStep) bool {
			at := step.Object
			at.Key = ""
			return at == s.Object && step.LabTest == s.Test
		}
		if !slices.ContainsFunc(kubeAPIServerRotations(), func(r Rotation) bool {
			return slices.ContainsFunc(r.Flow(r.Signer, Versions{Cluster: "4.16.1"}), used)
		}) {
			t.Errorf("%s: no step of a rotation is at %s", s.Test, s.Object)
		}
	}
}

// parsed are the Go files below a folder, by their path in the repository, and the values
// of their string constants.
func parsed(t *testing.T, folder string) (files map[string]*ast.File, consts map[string][]string) {
	t.Helper()
	files, consts = map[string]*ast.File{}, map[string][]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		files[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = f
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, name := range spec.Names {
					if i >= len(spec.Values) {
						break
					}
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						if value, err := strconv.Unquote(lit.Value); err == nil {
							consts[name.Name] = append(consts[name.Name], value)
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, consts
}
