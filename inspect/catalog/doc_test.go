package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocIsCurrent keeps docs/catalog.md, which is made from the rows.
// UPDATE=1 rewrites it.
func TestDocIsCurrent(t *testing.T) {
	compare(t, "../../docs/catalog.md", document())
}

func TestDocHasEveryPlace(t *testing.T) {
	listed := 0
	for _, s := range sections() {
		listed += len(s.places)
	}
	if want := len(Places()); listed != want {
		t.Errorf("the document lists %d places of %d", listed, want)
	}
}

// TestMapHasEveryRow: doc.go names each type of rows, and its file.
func TestMapHasEveryRow(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^// (\w+) is a row:`).FindAllSubmatch(text, -1) {
			rows++
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^//\t%s  .*  %s(,|$)`, m[1], regexp.QuoteMeta(file))).Match(doc) {
				t.Errorf("doc.go has no line for %s in %s", m[1], file)
			}
		}
	}
	if listed := len(regexp.MustCompile(`(?m)^//\t\w`).FindAll(doc, -1)); rows < 20 || listed != rows {
		t.Errorf("doc.go lists %d types of rows, and there are %d", listed, rows)
	}
}

type section struct {
	title  string
	places []Place
}

func sections() []section {
	join := func(lists ...[]Place) []Place {
		var all []Place
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	return []section{
		{"kube-apiserver: signers, their bundles, what they sign", kubeAPIServerSignerPlaces()},
		{"kube-apiserver: what is put together", kubeAPIServerPlaces()},
		{"kube-controller-manager, kube-scheduler, and what every namespace has", join(kubeControllerManagerPlaces(), rootCAPlaces(), schedulerPlaces(), cloudConfigPlaces())},
		{"etcd", etcdPlaces()},
		{"service-ca", serviceCAPlaces()},
		{"Ingress and routes", join(ingressPlaces(), canaryPlaces(), gatewayPlaces(), routePlaces())},
		{"Authentication, console, and the API servers beside kube-apiserver", join(authenticationPlaces(), openShiftAPIPlaces())},
		{"Machine config", join(machineConfigPlaces(), controllerConfigPlaces(), machineConfigFilePlaces())},
		{"Network", networkPlaces()},
		{"Monitoring", monitoringPlaces()},
		{"Others, and what an administrator writes", join(otherOperatorPlaces(), userPlaces())},
		{"Files on nodes", join(nodeKubeletPlaces(), nodeNetworkPlaces(), nodeStaticPodPlaces())},
		{"Any Kubernetes, kubeadm, cert-manager", join(kubernetesPlaces(), kubeadmPlaces(), certManagerPlaces())},
	}
}

func cell(s string) string { return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(s) }

// withDoc is what a cell says, and what people must know beyond it.
func withDoc(text, doc string) string { return cell(strings.TrimSuffix(text+": "+doc, ": ")) }

func evidence(e Evidence) string { return cell(fmt.Sprintf("%s: %s", e.Mark, e.Source)) }

func refs(all []Ref) string {
	var names []string
	for _, r := range all {
		names = append(names, "`"+r.String()+"`")
	}
	return strings.Join(names, "<br>")
}

func lives(p Place) string {
	var all []string
	for _, l := range p.Lifetimes {
		s := length(l.Validity)
		if l.SelfRotating() {
			s += ", renewed at " + strings.ReplaceAll(renewal(l), "/", " or ")
			if l.Renewer != p.Owner {
				s += " by " + l.Renewer
			}
		} else {
			s += ", no automatic renewal"
		}
		if l.In != p.In {
			s += " (" + l.In.String() + ")"
		}
		if l.Doc != "" {
			s += ": " + l.Doc
		}
		if l.Detail != "" {
			s += "; " + l.Detail
		}
		all = append(all, cell(s))
	}
	if p.Restart != "" {
		all = append(all, "presented after `"+p.Restart+"`")
	}
	return strings.Join(all, "<br>")
}

// signs says what a signer signs.
func signs(r Rotation) string {
	all := refs(slices.Concat(r.Targets, r.Others))
	if r.Selector != (ObjectSelector{}) {
		all = "each " + rowName(Place{Ref: Ref{Kind: Secret}, Selector: r.Selector})
	}
	if r.Doc != "" {
		all += "<br>" + cell(r.Doc)
	}
	return all
}

// whoStays says which one counts, where two may issue it; empty: one does, or any counts.
func whoStays(t Trigger) string {
	if t.SettleTime == 0 {
		return ""
	}
	return fmt.Sprintf("; up to %s each may issue one, and which one stays is known after %.0f minutes; in later versions the first one stays", t.LastStays.To, t.SettleTime.Minutes())
}

func documentMovers(line func(string, ...any)) {
	line("## What moves nodes by itself")
	line("")
	line("What is asked before kubelets are restarted ([fix-api-int.md](fix-api-int.md#what-is-checked-before)). A kind that is not served is not there.")
	line("")
	line("| kind | asked for at | does | paused by | source |")
	line("|---|---|---|---|---|")
	for _, m := range ControlPlaneResources() {
		pause := m.Pause
		if pause != "" {
			pause = "`" + strings.ReplaceAll(pause, "|", `\|`) + "`"
		}
		kind := m.Kind
		if m.NamePrefix != "" {
			kind += " " + m.NamePrefix + "*"
		}
		line("| %s | `%s` | %s | %s | %s |", kind, m.Path, cell(strings.TrimSuffix(m.Effect+"; "+m.Doc, "; ")), pause, evidence(m.Evidence))
	}
}
