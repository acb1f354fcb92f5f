package collect

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	certificatesapi "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// manifest is what a file of Kubernetes objects holds.
type manifest struct {
	inspect.Snapshot
	sc    *pki.Scanner
	count int
	whole map[string]bool // Secrets and ConfigMaps that were read, each with all of its values
}

// kindNode is the kind of objects by which files list the nodes of the cluster.
const kindNode pki.Kind = "Node"

// header is what tells an object from any other document.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

// readObjects reads data as Kubernetes objects; false if its first document is
// none. Documents further on that are none become gaps.
func readObjects(sc *pki.Scanner, data []byte) (manifest, bool) {
	m := manifest{sc: sc, whole: map[string]bool{}}
	docs := documents{rest: data}
	if json.Valid(data) { // which is one document, and no YAML parser is needed
		docs.rest = nil
		if !m.json(data) {
			return manifest{}, false
		}
	} else if l, ok := splitJSON(data); ok && l.begun && jsonEnd(data, jsonSpace(data, 0)) < 0 {
		docs.rest = nil
		m.list(l)
	}
	for n, bad := 1, 0; ; n++ {
		doc, err := docs.next()
		if errors.Is(err, io.EOF) || bad == maxBad {
			if bad == maxBad {
				m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: fmt.Sprintf("document %d", n), Reason: fmt.Sprintf("%d documents before it can't be read: the others were not tried", bad)})
			}
			for i := range m.References { // what a file does not hold may be in another one
				if r := &m.References[i]; m.whole[objectID(r.To)] {
					r.Target = inspect.TargetThere
				}
			}
			return m, m.count > 0
		}
		ok := false
		if err == nil {
			ok, err = m.document(doc)
		}
		if !ok {
			bad++
		}
		switch {
		case ok:
		case m.count == 0:
			return manifest{}, false
		case err != nil:
			m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: fmt.Sprintf("document %d", n), Reason: err.Error()})
		default:
			m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: fmt.Sprintf("document %d", n), Reason: "is no Kubernetes object: not read"})
		}
	}
}

// json reads a document in JSON.
func (m *manifest) json(data []byte) bool {
	large := parsable(data)
	if large == nil {
		return m.object(data, "", "")
	}
	l, ok := splitJSON(data)
	return ok && !l.cut && m.list(l)
}

// document reads a document in YAML. A list that was cut off, or in which an object
// can't be read, gives its other objects.
func (m *manifest) document(doc []byte) (ok bool, err error) {
	if l, ok := splitLong(doc); ok {
		return m.list(l), nil
	}
	raw, err := toJSON(doc)
	if err == nil && (isNull(raw) || m.object(raw, "", "")) {
		return true, nil
	}
	if l, ok := splitYAML(doc); ok && l.begun {
		return m.list(l), nil
	}
	return false, err
}

// list reads a list whose objects are parsed one by one.
func (m *manifest) list(l *objectList) bool {
	m.count++ // an empty list is one too
	err := l.each(func(n int, raw []byte) error {
		if !m.object(raw, l.apiVersion, l.kind) {
			return fmt.Errorf("item %d of %sList can't be read as a Kubernetes object", n, l.kind)
		}
		return nil
	})
	if err != nil {
		next := "look at that list"
		if cut := (*cutOffError)(nil); errors.As(err, &cut) {
			next = "get the file again: there was no room for all of it, or what wrote it was interrupted"
		}
		m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: l.kind + "List", Reason: err.Error(), Next: next})
	}
	return true
}

// object reads one object, or the objects of a list. apiVersion and kind are
// those that a typed list implies for items that do not name their own.
func (m *manifest) object(raw []byte, apiVersion, kind string) bool {
	var h header
	if err := json.Unmarshal(raw, &h); err != nil {
		var o metav1.TypeMeta
		if json.Unmarshal(raw, &o) != nil || o.Kind == "" || o.APIVersion == "" {
			return false
		}
		m.count++ // an object, and a malformed one
		m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: foreign.Text(o.Kind), Reason: "decode metadata: " + undecodedMetadata(raw, err).Error(), Next: "look at that object; in YAML, a name such as n, no or 1 must stand in quotes"})
		return true
	}
	if h.Kind == "" {
		h.Kind = kind
	}
	if h.APIVersion == "" {
		h.APIVersion = apiVersion
	}
	if strings.HasSuffix(h.Kind, "List") && h.APIVersion != "" {
		implied := strings.TrimSuffix(h.Kind, "List")
		bad := 0
		for i, item := range h.Items {
			if m.object(item, h.APIVersion, implied) {
				continue
			}
			if bad++; bad > maxBad {
				m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: foreign.Text(h.Kind), Reason: fmt.Sprintf("more than %d of its items can't be read: the others were not tried", maxBad), Next: "look at that list"})
				break
			}
			m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: fmt.Sprintf("item %d of %s", i, foreign.Text(h.Kind)), Reason: "can't be read as a Kubernetes object", Next: "look at that item"})
		}
		m.count++ // an empty list is one too
		return true
	}
	if h.Kind == "" || h.Metadata.Name == "" {
		return false
	}
	m.count++
	obj := objectOf(pki.Kind(h.Kind), &h.Metadata)
	switch err := m.read(obj, h.APIVersion, raw); {
	case err != nil:
		m.Gaps = append(m.Gaps, inspect.Gap{What: "file", Where: foreign.Text(obj.ID()), Reason: err.Error()})
	case obj.Kind == "Secret" || obj.Kind == "ConfigMap":
		m.whole[obj.ID()] = true
	}
	return true
}

// read scans one object as its kind wants it.
func (m *manifest) read(obj *inspect.Object, apiVersion string, raw []byte) error {
	switch obj.Kind {
	case "Secret", "ConfigMap":
		return m.keyed(obj, raw)
	case "CertificateSigningRequest":
		var csr certificatesapi.CertificateSigningRequest
		if err := json.Unmarshal(raw, &csr); err != nil {
			return fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
		}
		r, issued := signingRequest(m.sc, &csr)
		m.Requests = append(m.Requests, r)
		m.Bundles = append(m.Bundles, issued...)
		return nil
	case "CustomResourceDefinition", "APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		// elsewhere in them, as in the descriptions of a CRD, are examples of certificates
		found, err := parseCaller(m.sc, obj, raw)
		take(&m.Snapshot, found)
		return err
	case kindNode:
		if apiVersion != "v1" { // of another group
			break
		}
		var n nodeJSON
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
		}
		m.OtherNodes = append(m.OtherNodes, n.object().node())
	}
	if found, ok, err := readOpenShift(m.sc, apiVersion, obj, raw); ok {
		take(&m.Snapshot, found)
		return err
	}
	if err := identify(&m.Cluster, apiVersion, string(obj.Kind), raw); err != nil {
		return fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
	}
	// any other kind: wherever a certificate stands in it
	for _, f := range m.sc.Scan(raw) {
		if strings.HasPrefix(f.Field, "metadata.") { // such as last-applied-configuration: a copy
			continue
		}
		at := pki.Location{Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name, Field: f.Field}
		m.Bundles = append(m.Bundles, inspect.Bundle{At: at, Object: obj, Content: f.Content})
	}
	return nil
}

// keyed reads a Secret or ConfigMap: every key. A value that should be base64
// and is not (an edited or redacted file) is read as it stands, and said.
func (m *manifest) keyed(obj *inspect.Object, raw []byte) error {
	var o struct {
		Type       string            `json:"type"`
		Data       map[string]string `json:"data"`
		StringData map[string]string `json:"stringData"`
		BinaryData map[string]string `json:"binaryData"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
	}
	obj.Type = o.Type
	values := map[string][]byte{}
	var odd []string
	decode := func(from map[string]string, encoded bool) {
		for k, v := range from {
			values[k] = []byte(v)
			if !encoded {
				continue
			}
			if decoded, err := base64.StdEncoding.DecodeString(v); err == nil {
				values[k] = decoded
			} else {
				odd = append(odd, k)
			}
		}
	}
	decode(o.Data, obj.Kind == "Secret")
	decode(o.BinaryData, true)
	decode(o.StringData, false)
	found := bundlesOf(m.sc, obj, values, true)
	m.Bundles = append(m.Bundles, found...)
	key, must := certificateKey(obj.Kind, obj.Namespace, obj.Name, obj.Type)
	switch hasKey := slices.ContainsFunc(found, func(b inspect.Bundle) bool { return b.At.Key == key }); {
	case !must || hasKey || slices.Contains(odd, key) || scannerFor(m.sc, obj.Namespace).Full():
	case obj.Kind == "Secret" && len(values) == 0: // no API server has such a Secret
		return fmt.Errorf("%s: its data were left out: their content is unknown", obj.ID())
	default: // as in Cluster.scanItem
		m.Bundles = append(m.Bundles, inspect.Bundle{At: pki.Location{Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name, Key: key}, Object: obj, Content: &pki.Content{}})
	}
	if len(odd) > 0 {
		return fmt.Errorf("%s: %d values are not base64, as in a redacted file: their content is unknown", obj.ID(), len(odd))
	}
	return nil
}
