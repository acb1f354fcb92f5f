package inspect

import (
	"reflect"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// MarkForeign writes each text that came with the facts on one line, and between quotation
// marks where it reads as an instruction: foreign.Value. What plans and reports are made of is then
// harmless wherever it is printed. It leaves certificates and requests as they are, which are
// told from their bytes; the labels and annotations of objects, which are data; and next
// steps, which are this program's own. So are reasons: what others say in them is marked
// where it comes in, as are all that a snapshot's file has.
func (s *Snapshot) MarkForeign() { mark(reflect.ValueOf(s).Elem(), map[any]bool{}) }

// MarkForeign does the same for what moves nodes: the messages of operators, and names.
func (m *ControlPlaneStatus) MarkForeign() { mark(reflect.ValueOf(m).Elem(), map[any]bool{}) }

// MarkForeign does the same for what is asked before something is changed.
func (s *ClusterStatus) MarkForeign() { mark(reflect.ValueOf(s).Elem(), map[any]bool{}) }

// isProse reports whether a field has sentences of this program's, with texts of others in
// them.
func isProse(of reflect.Type, field string) bool {
	var fields []string
	switch of {
	case reflect.TypeFor[Cluster]():
		fields = []string{"Unauthenticated", "Synthetic"}
	case reflect.TypeFor[Read](), reflect.TypeFor[Gap]():
		fields = []string{"What", "Where", "Note", "Reason"}
	case reflect.TypeFor[SigningRequest]():
		fields = []string{"Bad"}
	case reflect.TypeFor[ProbeAnswer](), reflect.TypeFor[pki.Locked](), reflect.TypeFor[pki.BadBlock](), reflect.TypeFor[pki.Skipped]():
		fields = []string{"Format", "Reason", "Detail"}
	case reflect.TypeFor[Served](), reflect.TypeFor[Kubeconfig](), reflect.TypeFor[RestartProbe](), reflect.TypeFor[ProbedKubeconfig](), reflect.TypeFor[Access](), reflect.TypeFor[Lease]():
		fields = []string{"Problem", "Refused", "Unread", "How"}
	case reflect.TypeFor[Actor](), reflect.TypeFor[Revision](), reflect.TypeFor[SignerRead](), reflect.TypeFor[NetworkRead]():
		fields = []string{"Why", "Silent", "Unread"}
	}
	return slices.Contains(fields, field)
}

// isCompared reports whether a field is compared with what was not marked. It is marked
// where it is printed; pki.Location writes its own.
func isCompared(of reflect.Type, field string) bool {
	var fields []string
	switch of {
	case reflect.TypeFor[Actor]():
		fields = []string{"Paused"} // with what a run wrote
	case reflect.TypeFor[pki.Location]():
		fields = []string{"Key", "Path", "Field"}
	case reflect.TypeFor[NodeFile](), reflect.TypeFor[Kubeconfig]():
		fields = []string{"Path", "Link", "Target"} // in whose order they are
	case reflect.TypeFor[ProbedKubeconfig](), reflect.TypeFor[Access]():
		fields = []string{"Presents"} // with constants
	case reflect.TypeFor[pki.Skipped]():
		fields = []string{"By"} // with constants; it is not printed
	case reflect.TypeFor[Refused]():
		fields = []string{"Reason"} // with that of other lines; it is printed as a Go string
	}
	return slices.Contains(fields, field)
}

// isWord reports whether a field has one word, such as a state or a name: any sentence in it is another's, and stands
// in sentences of this program's. A name that a file made a sentence of is then marked wherever it is the same.
func isWord(of reflect.Type, field string) bool {
	fields := []string{"Node", "NodeName"}
	switch of {
	case reflect.TypeFor[Cluster]():
		fields = []string{"Server", "Topology", "Platform"}
	case reflect.TypeFor[catalog.Versions]():
		fields = []string{"Cluster", "Kubernetes"}
	case reflect.TypeFor[Node]():
		fields = []string{"Name", "Ready", "Via"}
	case reflect.TypeFor[Object]():
		fields = []string{"Kind", "Namespace", "Type", "Signer"} // a request may have any Name
	case reflect.TypeFor[pki.Location]():
		fields = []string{"Kind", "Node", "Namespace"}
	case reflect.TypeFor[Served]():
		fields = append(fields, "Of")
	case reflect.TypeFor[Kubelet]():
		fields = []string{"Active", "Sub"}
	case reflect.TypeFor[SigningRequest]():
		fields = []string{"Signer", "Condition"}
	case reflect.TypeFor[NodeState](), reflect.TypeFor[OperatorState](), reflect.TypeFor[Pool](), reflect.TypeFor[Update](), reflect.TypeFor[catalog.PoolState]():
		fields = []string{"Name", "Ready", "Available", "Progressing", "Degraded", "Updating", "Current", "Desired", "State"}
	case reflect.TypeFor[StaticPods](), reflect.TypeFor[Installer](), reflect.TypeFor[Actor](), reflect.TypeFor[Workload](), reflect.TypeFor[Pod](), reflect.TypeFor[Revision](), reflect.TypeFor[RootCA]():
		fields = append(fields, "Resource", "Kind", "Namespace", "Name", "Phase", "OwnerKind", "OwnerName", "Ready", "Installer")
	}
	return slices.Contains(fields, field)
}

func mark(v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.String:
		set(v, foreign.Value)
	case reflect.Pointer:
		if v.IsNil() || seen[v.Interface()] {
			return
		}
		seen[v.Interface()] = true
		mark(v.Elem(), seen)
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			mark(v.Index(i), seen)
		}
	case reflect.Map:
		markMap(v)
	case reflect.Struct:
		markFields(v, seen)
	}
}

func set(v reflect.Value, mark func(string) string) {
	if text := v.String(); text != "" {
		if marked := mark(text); marked != text {
			v.SetString(marked)
		}
	}
}

// markMap marks texts; what else maps hold has none.
func markMap(v reflect.Value) {
	if v.Type().Elem().Kind() != reflect.String {
		return
	}
	for _, k := range v.MapKeys() {
		text := v.MapIndex(k).String()
		if marked := foreign.Value(text); marked != text {
			v.SetMapIndex(k, reflect.ValueOf(marked).Convert(v.Type().Elem()))
		}
	}
}

func markFields(v reflect.Value, seen map[any]bool) {
	switch v.Type() {
	case reflect.TypeFor[pki.Cert](), reflect.TypeFor[pki.Request](), reflect.TypeFor[pki.CRL]():
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported() || f.Name == "Next" || f.Name == "Labels" || f.Name == "Annotations" || isCompared(v.Type(), f.Name):
		case isProse(v.Type(), f.Name):
			set(v.Field(i), foreign.Prose)
		case f.Type.Kind() == reflect.String && isWord(v.Type(), f.Name):
			set(v.Field(i), foreign.Text)
		default:
			mark(v.Field(i), seen)
		}
	}
}
