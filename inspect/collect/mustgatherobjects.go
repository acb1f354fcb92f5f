package collect

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// gathered is one object of a must-gather.
type gathered struct {
	sum     [sha256.Size]byte // of its JSON
	version uint64            // resourceVersion; 0 unknown
	older   bool              // there was another copy that is not the same
	found   *inspect.Snapshot // nil: nothing
	hidden  *hiddenValues     // nil: none
}

// hiddenValues are what stood in a Secret before the must-gather replaced it.
type hiddenValues struct {
	values      int
	certificate bool // the one that the Secret is there for was among them
}

// readObjects reads the objects of one file: one, a list or a stream. An error
// says what could not be read; what stands before it was.
func (im *image) readObjects(sc *pki.Scanner, data []byte, at gatheredPlace) error {
	large := parsable(data)
	if large == nil && json.Valid(data) {
		return im.object(sc, data, "", "")
	}
	if l, ok := splitJSON(data); ok {
		return im.list(sc, l, at)
	}
	if large != nil && json.Valid(data) {
		return large
	}
	docs := documents{rest: data}
	for n := 0; ; {
		doc, err := docs.next()
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return errors.New("holds no Kubernetes object: it is empty")
		case errors.Is(err, io.EOF) && data[len(data)-1] != '\n': // oc ends each line
			return &cutOffError{}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if l, ok := splitLong(doc); ok {
			n++
			if err := im.list(sc, l, at); err != nil {
				return err
			}
			continue
		}
		raw, err := toJSON(doc)
		if err == nil {
			if isNull(raw) {
				continue
			}
			err = im.object(sc, raw, "", "")
		}
		n++
		var none noObjectError
		if raw == nil || errors.As(err, &none) {
			if l, ok := splitYAML(doc); ok {
				err = im.list(sc, l, at)
			}
		}
		if err != nil {
			return err
		}
	}
}

// list reads a list whose objects are parsed one by one. Those of one that was cut
// off are of the kind that they say, or else of that which the file's place says.
func (im *image) list(sc *pki.Scanner, l *objectList, at gatheredPlace) error {
	apiVersion, kind := l.apiVersion, l.kind
	if r, ok := at.holds(); ok && apiVersion == "" {
		apiVersion, kind = r.apiVersion, string(r.Kind)
	}
	return l.each(func(_ int, raw []byte) error {
		if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
			return noObject(err)
		}
		return im.object(sc, raw, apiVersion, cmp.Or(kind, "object"))
	})
}

// object reads one object, or those of a list, in JSON that is valid. apiVersion and kind are
// those that a list implies for its items.
func (im *image) object(sc *pki.Scanner, raw []byte, apiVersion, kind string) error {
	h, err := headerOf(raw)
	if err != nil {
		return noObject(err)
	}
	h.Kind, h.APIVersion = cmp.Or(h.Kind, kind), cmp.Or(h.APIVersion, apiVersion)
	if implied, list := strings.CutSuffix(h.Kind, "List"); list && h.APIVersion != "" {
		if kind != "" { // of the list around it
			return errors.New("holds a list in a list")
		}
		bad := 0
		var first error
		for _, item := range h.Items {
			if err := im.object(sc, item, h.APIVersion, cmp.Or(implied, "object")); err != nil {
				bad, first = bad+1, cmp.Or(first, err)
			}
		}
		if bad > 0 {
			return fmt.Errorf("%d of %s can't be read: %w", bad, numbered(len(h.Items), "object"), first)
		}
		return nil
	}
	if h.Kind == "" || h.Metadata.Name == "" {
		return noObjectError("holds no Kubernetes object: no kind or no name")
	}
	im.keep(sc, &h, raw)
	return nil
}

// keep reads an object, unless the image has a newer copy of it.
func (im *image) keep(sc *pki.Scanner, h *header, raw []byte) {
	if at := statusTime(h, raw); at.After(im.newest) {
		im.newest = at
	}
	obj := objectOf(pki.Kind(h.Kind), &h.Metadata)
	o := &gathered{sum: sha256.Sum256(raw)}
	o.version, _ = strconv.ParseUint(h.Metadata.ResourceVersion, 10, 64) // 0 where it is no number
	id := obj.ID()
	if had := im.objects[id]; had != nil {
		if had.sum == o.sum {
			return
		}
		same := had.version == o.version && o.version > 0 // a list's items may be written differently
		had.older = had.older || !same
		if had.version > o.version || same {
			return
		}
		o.older = true
	}
	im.objects[id] = o
	m := manifest{sc: sc, whole: map[string]bool{}}
	var err error
	switch obj.Kind {
	case "Secret", "ConfigMap":
		m.Bundles, o.hidden, err = readGatheredValues(sc, obj, raw)
	default:
		err = m.read(obj, h.APIVersion, raw)
		if h.Kind == "ClusterVersion" {
			im.id = cmp.Or(clusterID(raw), im.id)
		}
	}
	if err != nil {
		m.Gaps = append(m.Gaps, inspect.Gap{What: "must-gather", Where: id, Reason: err.Error()})
	}
	if len(m.Bundles)+len(m.Requests)+len(m.Reported)+len(m.References)+len(m.Gaps) > 0 || tellsOfCluster(obj.Kind) {
		o.found = &m.Snapshot
	}
}

// tellsOfCluster reports whether objects of a kind are what identify reads, or nodes.
func tellsOfCluster(kind pki.Kind) bool {
	switch kind {
	case "ClusterVersion", "ClusterOperator", "Infrastructure", "Namespace", kindNode:
		return true
	}
	return false
}

// clusterID is the identity that a cluster gave itself.
func clusterID(raw []byte) string {
	var o struct {
		Spec struct {
			ClusterID string `json:"clusterID"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(raw, &o) // what can't be decoded is said where its version is read
	return o.Spec.ClusterID
}

// readGatheredValues reads a Secret or ConfigMap whose values may be hidden: of
// Secrets, a must-gather keeps tls.crt, ca.crt and service-ca.crt, and replaces
// other values by their length, "1704 bytes long".
func readGatheredValues(sc *pki.Scanner, obj *inspect.Object, raw []byte) ([]inspect.Bundle, *hiddenValues, error) {
	o, err := valuesOf(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
	}
	obj.Type = o.Type
	values, hidden := map[string][]byte{}, map[string]bool{}
	take := func(from map[string]string, encoded bool) {
		for k, v := range from {
			value := []byte(v)
			if encoded && !isLength(v) {
				decoded, err := base64.StdEncoding.DecodeString(v)
				if err != nil { // another tool's way to hide it
					hidden[k] = true
					continue
				}
				value = decoded
			}
			if isLength(string(value[:min(len(value), 64)])) {
				hidden[k] = true
				continue
			}
			values[k] = value
		}
	}
	take(o.Data, obj.Kind == "Secret")
	take(o.BinaryData, true)
	take(o.StringData, false)
	found := bundlesOf(sc, obj, values, true)
	key, must := certificateKey(obj.Kind, obj.Namespace, obj.Name, obj.Type)
	leftOut := obj.Kind == "Secret" && len(values)+len(hidden) == 0 // no API server has such a Secret of a type that wants a certificate
	hasKey := slices.ContainsFunc(found, func(b inspect.Bundle) bool { return b.At.Key == key })
	if must && !hasKey && !hidden[key] && !leftOut && !scannerFor(sc, obj.Namespace).Full() {
		found = append(found, inspect.Bundle{At: pki.Location{Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name, Key: key}, Object: obj, Content: &pki.Content{}})
	}
	h := &hiddenValues{certificate: must && (hidden[key] || leftOut)}
	for k := range hidden {
		if !neverCertificates(obj.Type, k) {
			h.values++
		}
	}
	if h.values == 0 && !h.certificate {
		h = nil
	}
	return found, h, nil
}

// isLength reports whether a value is what oc puts in the place of a secret one.
func isLength(value string) bool {
	digits, ok := strings.CutSuffix(value, " bytes long")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// neverCertificates reports whether a Secret of a type has something else under
// a key, by the API's rules.
func neverCertificates(secretType, key string) bool {
	switch corev1.SecretType(secretType) {
	case corev1.SecretTypeServiceAccountToken:
		return key == corev1.ServiceAccountTokenKey || key == corev1.ServiceAccountNamespaceKey
	case corev1.SecretTypeDockercfg:
		return key == corev1.DockerConfigKey
	case corev1.SecretTypeDockerConfigJson:
		return key == corev1.DockerConfigJsonKey
	case corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, corev1.SecretTypeBootstrapToken, helmRelease:
		return true
	}
	return false
}

// together is what the images of one must-gather hold.
type together struct {
	inspect.Snapshot
	objects   int                     // distinct
	older     int                     // found again, and not the same
	secretsIn int                     // namespaces
	hidden    map[string]*hiddenTally // by kind
}

// putTogether takes each object from the first image that has it.
func putTogether(images []*image) together {
	t := together{hidden: map[string]*hiddenTally{}}
	taken := map[string]*gathered{}
	var parts []inspect.Snapshot
	secretsIn := map[string]bool{}
	for _, im := range images {
		for _, id := range slices.Sorted(maps.Keys(im.objects)) {
			o := im.objects[id]
			if had := taken[id]; had != nil {
				had.older = had.older || had.sum != o.sum && (had.version != o.version || o.version == 0)
				continue
			}
			taken[id] = o
			if o.found != nil {
				parts = append(parts, *o.found)
			}
			kind, rest, _ := strings.Cut(id, "/")
			namespace, _, _ := strings.Cut(rest, "/")
			if kind == "Secret" {
				secretsIn[namespace] = true
			}
			if o.hidden != nil {
				if t.hidden[kind] == nil {
					t.hidden[kind] = &hiddenTally{kind: kind, namespaces: map[string]bool{}}
				}
				t.hidden[kind].add(namespace, o.hidden)
			}
		}
	}
	for _, o := range taken {
		if o.older {
			t.older++
		}
	}
	t.Snapshot = inspect.Merge(append(parts, inspect.Snapshot{})...) // of one alone, too
	for i := range t.References {
		t.References[i].Target = targetIn(images, taken, t.References[i].To)
	}
	t.Listed = listedIn(images, taken)
	t.objects, t.secretsIn = len(taken), len(secretsIn)
	return t
}

// listedIn are the lists that were read to their end, and of which nothing was hidden or
// unreadable: what is not in them is not in the cluster.
func listedIn(images []*image, taken map[string]*gathered) []inspect.Listed {
	incomplete := map[inspect.Listed]bool{}
	for id, o := range taken {
		kind, rest, _ := strings.Cut(id, "/")
		namespace, _, _ := strings.Cut(rest, "/")
		if o.hidden != nil || o.found != nil && len(o.found.Gaps) > 0 {
			incomplete[inspect.Listed{Kind: pki.Kind(kind), Namespace: namespace}] = true
		}
	}
	whole := map[inspect.Listed]bool{}
	for _, im := range images {
		for l := range im.lists {
			if l := (inspect.Listed{Kind: l.kind, Namespace: l.namespace}); !incomplete[l] {
				whole[l] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(whole), func(a, b inspect.Listed) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace))
	})
}

// targetIn says what a must-gather knows of an object that others refer to: where
// it holds the list of a namespace, what is not in that is not there.
func targetIn(images []*image, taken map[string]*gathered, to pki.Location) inspect.Target {
	o := taken[objectID(to)]
	listed := func(im *image) bool { return im.lists[listOf{to.Kind, to.Namespace}] }
	switch {
	case o != nil && o.hidden != nil: // what it holds is not to be seen
	case o != nil:
		return inspect.TargetThere
	case slices.ContainsFunc(images, listed):
		return inspect.TargetAbsent
	}
	return inspect.TargetUnknown
}

// listOf is the list of all objects of a kind in a namespace.
type listOf struct {
	kind      pki.Kind
	namespace string
}

// hiddenTally counts the hidden values of one kind of objects.
type hiddenTally struct {
	kind                          string
	values, objects, certificates int
	namespaces                    map[string]bool
}

func (t *hiddenTally) add(namespace string, h *hiddenValues) {
	t.values += h.values
	t.objects++
	t.namespaces[namespace] = true
	if h.certificate {
		t.certificates++
	}
}

// gap is one for all of them: a must-gather hides every private key, and says so
// in the same way everywhere.
func (t *hiddenTally) gap(where string) inspect.Gap {
	why := fmt.Sprintf("%s in %s of %s were left out of the must-gather or replaced by their length: whether keys belong to their certificates, and what else stood there, is unknown",
		numbered(t.values, "value"), numbered(t.objects, t.kind), numbered(len(t.namespaces), "namespace"))
	if t.certificates > 0 {
		why += fmt.Sprintf("; of %d of them the certificate itself", t.certificates)
	}
	return inspect.Gap{What: "hidden " + strings.ToLower(t.kind) + "s", Where: where, Reason: why}
}
