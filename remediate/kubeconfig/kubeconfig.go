package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// maxSize is the size of the largest text that is read or made, in bytes.
const maxSize = 1 << 20

// The keys of a cluster.
const (
	keyData     = "certificate-authority-data"
	keyFile     = "certificate-authority"
	keyInsecure = "insecure-skip-tls-verify"
)

// CA is the CA that a kubeconfig trusts: that of the cluster of its current context.
type CA struct {
	Cluster string // the cluster's name
	Server  string // its URL as written; x where it did not leave the node
	Field   string // where the value is: "clusters[0].cluster.certificate-authority-data"
	PEM     []byte // what the value decodes to: certificates in PEM, possibly with text around them
	// Offset and Length are the bytes of the value as it is written, with its quotes.
	Offset, Length int
}

// Edit replaces Length bytes at Offset by Insert. Nothing is changed if Length is
// 0 and Insert is empty.
type Edit struct {
	Offset, Length int
	Insert         []byte
}

// Apply returns the text with the edit. The text must be the one that the edit
// was made for, or the file that this is a redacted copy of.
func (e Edit) Apply(text []byte) []byte {
	return slices.Concat(text[:e.Offset], e.Insert, text[e.Offset+e.Length:])
}

// Find returns the CA of the cluster of the current context. Errors are of type
// *Refusal.
func Find(text []byte) (CA, error) {
	f, err := read(text)
	if err != nil {
		return CA{}, err
	}
	return f.ca, nil
}

// SetCA returns the edit that makes pem, byte for byte, the CA of the cluster of
// the current context. The edit changes nothing if it is up to date. Errors are
// of type *Refusal.
func SetCA(text, pem []byte) (Edit, error) {
	if r := certificates(pem); r != nil {
		return Edit{}, r
	}
	before, err := read(text)
	if err != nil {
		return Edit{}, err
	}
	edit := Edit{Offset: before.ca.Offset}
	if bytes.Equal(before.ca.PEM, pem) {
		return edit, nil
	}
	edit.Length = before.ca.Length
	value := base64.StdEncoding.EncodeToString(pem)
	edit.Insert = quoted(before.value.Style, value)
	if err := before.prove(edit.Apply(text), value, pem); err != nil {
		return Edit{}, err
	}
	return edit, nil
}

// certificates refuses what must not become a CA. A certificate that Go can't
// parse is no reason, as long as there is another one: clients skip it. Nor is one
// that takes too long to verify anything with, and it is no CA.
func certificates(text []byte) *Refusal {
	usable := 0
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return refuse(reasonNotCA, "the new CA has a PEM block of type %q in it: only certificates belong there", block.Type)
		}
		if _, err := pki.ParseCert(block.Bytes); err == nil {
			usable++
		}
	}
	// A block that pem.Decode skips may be a key all the same.
	if bytes.Contains(text, []byte("PRIVATE KEY")) {
		return refuse(reasonNotCA, "the new CA has a private key in it: only certificates belong there")
	}
	if usable == 0 {
		return refuse(reasonNotCA, "the new CA has no certificate in it: with it, nothing would be trusted")
	}
	return nil
}

// file is a text that was understood.
type file struct {
	ca    CA
	value *yaml.Node // where ca is
	index int        // of the cluster
	root  *yaml.Node
	view  view
}

// read understands a text, or refuses it.
func read(text []byte) (*file, error) {
	if err := plain(text); err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	f := &file{root: root}
	context, cluster, err := f.locate()
	if err != nil {
		return nil, err
	}
	if err := f.judge(cluster); err != nil {
		return nil, err
	}
	if err := f.measure(text); err != nil {
		return nil, err
	}
	if f.view, err = see(text); err != nil {
		return nil, err
	}
	if !f.view.agrees(context, f.ca) {
		return nil, refuse(reasonUnread, "client-go reads the file in another way than it is written: write it again, with \"kubectl config\"")
	}
	return f, nil
}

// locate follows the current context to its cluster.
func (f *file) locate() (context string, cluster *yaml.Node, err error) {
	context, ok := scalar(child(f.root, "current-context"))
	switch {
	case !ok || context == "":
		return "", nil, refuse(reasonNoContext, "no context is current, so no cluster is the one in use: set current-context")
	case masked(context):
		return "", nil, refuse(reasonMasked, "the name of the current context did not leave the node: change the CA on the node")
	}
	_, entry, err := named(f.root, "contexts", "context", context)
	if err != nil {
		return "", nil, err
	}
	if entry == nil {
		return "", nil, refuse(reasonNoContext, "the current context is %q, and there is no such context, or nothing in it: set current-context to one that is there", context)
	}
	name, ok := scalar(child(entry, "cluster"))
	switch {
	case !ok || name == "":
		return "", nil, refuse(reasonNoCluster, "the current context, %q, names no cluster: write one into it", context)
	case masked(name):
		return "", nil, refuse(reasonMasked, "the name of the cluster in use did not leave the node: change the CA on the node")
	}
	if f.index, cluster, err = named(f.root, "clusters", "cluster", name); err != nil {
		return "", nil, err
	}
	if cluster == nil {
		return "", nil, refuse(reasonNoCluster, "the current context, %q, names the cluster %q, and there is no such cluster, or nothing in it: correct the name", context, name)
	}
	f.ca.Cluster = name
	f.ca.Server, _ = scalar(child(cluster, "server"))
	f.ca.Field = fmt.Sprintf("clusters[%d].cluster.%s", f.index, keyData)
	return context, cluster, nil
}

// named returns what the entry of this name holds, and its position; nil if there
// is no such entry, or nothing in it.
func named(root *yaml.Node, list, what, name string) (index int, found *yaml.Node, err error) {
	entries := child(root, list)
	if entries == nil || entries.Kind != yaml.SequenceNode {
		return 0, nil, nil
	}
	times := 0
	for i, entry := range entries.Content {
		if is, _ := scalar(child(entry, "name")); is == name {
			index, found = i, child(entry, what)
			times++
		}
	}
	if times > 1 {
		return 0, nil, refuse(reasonTwice, "%s has %d entries with the name %q: remove all but one, as client-go refuses them", list, times, name)
	}
	if found != nil && found.Kind != yaml.MappingNode {
		found = nil
	}
	return index, found, nil
}

// judge decides whether the value of this cluster is what its client trusts.
func (f *file) judge(cluster *yaml.Node) error {
	name := f.ca.Cluster
	insecure, _ := scalar(child(cluster, keyInsecure))
	switch {
	case masked(insecure):
		return refuse(reasonMasked, "whether cluster %q is checked at all (%s) did not leave the node: write true or false there, or remove it", name, keyInsecure)
	case insecure != "" && insecure != "false":
		return refuse(reasonInsecure, "cluster %q has %s: %.20s, and client-go takes no CA beside it: remove that line, then try again", name, keyInsecure, insecure)
	}
	path, _ := scalar(child(cluster, keyFile))
	f.value = child(cluster, keyData)
	data, ok := scalar(f.value)
	switch {
	case f.value != nil && !ok:
		return refuse(reasonNotPEM, "%s of cluster %q is not a text: write base64 of PEM certificates there", keyData, name)
	case data != "" && path != "":
		return refuse(reasonTwoCAs, "cluster %q has %s beside %s, which client-go refuses: remove %s, then try again", name, keyFile, keyData, keyFile)
	case data != "":
	case masked(path):
		return refuse(reasonMasked, "cluster %q trusts a file, whose path did not leave the node: look at %s on the node, and change that file", name, keyFile)
	case path != "":
		r := refuse(CAFile, "cluster %q trusts the file %q (%s): change that file", name, path, keyFile)
		r.Path = path
		return r
	default:
		return refuse(reasonNoCA, "cluster %q has no CA, so its client trusts what the node's system trusts: add %s, if that is not meant", name, keyData)
	}
	if masked(strings.Join(strings.Fields(data), "")) {
		return refuse(reasonMasked, "the CA of cluster %q did not leave the node, as it is not base64 of PEM certificates and nothing else: change it on the node", name)
	}
	return nil
}

// measure finds the bytes of the value, and what it decodes to.
func (f *file) measure(text []byte) error {
	value := f.value.Value
	written := quoted(f.value.Style, value)
	at, ok := position(text, f.value.Line, f.value.Column)
	// Of a value on several lines the parser makes one: then, and where there are
	// escapes, what it returns is not what is written.
	if !ok || written == nil || strings.ContainsAny(value, "'\"\\\r\n") || !bytes.HasPrefix(text[at:], written) {
		return refuse(reasonSpelling, "the CA of cluster %q is written over several lines or with escapes: write its %s on one line, then try again", f.ca.Cluster, keyData)
	}
	f.ca.Offset, f.ca.Length = at, len(written)
	decoded, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return refuse(reasonNotPEM, "the CA of cluster %q is not base64: look at %s on the node", f.ca.Cluster, keyData)
	}
	for rest := decoded; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return refuse(reasonNotPEM, "the CA of cluster %q is base64, but of no PEM certificate: look at %s on the node", f.ca.Cluster, keyData)
		}
		if block.Type == "CERTIFICATE" {
			f.ca.PEM = decoded
			return nil
		}
	}
}

// quoted returns a value as a scalar of this style is written; nil for styles
// that need more than one line, or tags.
func quoted(style yaml.Style, value string) []byte {
	switch style {
	case 0:
		return []byte(value)
	case yaml.SingleQuotedStyle:
		return []byte("'" + value + "'")
	case yaml.DoubleQuotedStyle:
		return []byte(`"` + value + `"`)
	}
	return nil
}

// masked reports whether a value, a key or a name did not leave the node.
func masked(s string) bool { return s != "" && strings.Trim(s, "x") == "" }
