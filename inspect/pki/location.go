package pki

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Kind is the kind of place: an API kind, or File.
type Kind string

// KindFile is a file: on a node (Location.Node), or a local one.
const KindFile Kind = "File"

// Location is the identity of a place that holds certificates. It is
// comparable, and String and ParseLocation are inverse to each other.
//
//	Secret/openshift-kube-apiserver/internal-loadbalancer-serving-certkey[tls.crt]
//	ConfigMap/kube-public/cluster-info[kubeconfig]#clusters[0].cluster.certificate-authority-data
//	APIService/v1beta1.metrics.k8s.io#spec.caBundle
//	node/worker-3:/var/lib/kubelet/kubeconfig#clusters[0].cluster.certificate-authority-data
//	file:./ca.pem
//
// A location is valid if it is that of a file (Kind KindFile, Path, and Node or
// none) or that of an object (any other Kind, and no Node and Path), with a
// Field or none. Where a name holds what is syntax here, it is written as %XX.
// A Key, or a key in a Field, that does not read like a name may be a token: it is
// its index among the keys (PlainKey, KeyIndex).
type Location struct {
	Kind      Kind
	Node      string // of a file on a node
	Namespace string // empty for cluster-scoped kinds
	Name      string // of the object; empty for files
	Key       string // of a Secret or ConfigMap
	Path      string // of a file
	Field     string // inside the object or document
}

// The prefixes of file locations. An API kind is written so that it never
// looks like one of them.
const (
	nodePrefix = "node/"
	filePrefix = "file:"
)

// String writes the location as people and reports read it. Bytes that would be
// mistaken for syntax, control characters and bytes that are not UTF-8 are
// written as %XX; ordinary names stay as they are.
func (l Location) String() string {
	var b strings.Builder
	switch {
	case l.Kind == KindFile && l.Node == "":
		b.WriteString(filePrefix)
		escape(&b, l.Path, "# "+quotationMarks)
	case l.Kind == KindFile:
		b.WriteString(nodePrefix)
		escape(&b, l.Node, "/:#[] ")
		if l.Path != "" || l.Field != "" { // else it is the node as a whole
			b.WriteByte(':')
			escape(&b, l.Path, "# "+quotationMarks)
		}
	default:
		l.writeObject(&b)
	}
	if l.Field != "" {
		b.WriteByte('#')
		escape(&b, l.Field, " "+quotationMarks)
	}
	return b.String()
}

func (l Location) writeObject(b *strings.Builder) {
	kind := string(l.Kind)
	if kind+"/" == nodePrefix {
		// A kind named "node" must not read as a file on a node.
		b.WriteString("%6E")
		kind = kind[1:]
	}
	escape(b, kind, "/:#[] ")
	b.WriteByte('/')
	if l.Namespace != "" {
		escape(b, l.Namespace, "/#[] ")
		b.WriteByte('/')
	}
	escape(b, l.Name, "/#[] ")
	if l.Key != "" {
		b.WriteByte('[')
		escape(b, l.Key, "#[] "+quotationMarks)
		b.WriteByte(']')
	}
}

// ParseLocation reads what String writes. It also takes %XX for any byte, and
// leaves alone what needs no escape, so that a location can be typed by hand.
func ParseLocation(s string) (Location, error) {
	l, err := parseLocation(s)
	if err != nil {
		return Location{}, fmt.Errorf("location %s: %w", foreign.Quoted(s[:min(len(s), 200)]), err)
	}
	return l, nil
}

func parseLocation(s string) (Location, error) {
	var l Location
	head, field, _ := strings.Cut(s, "#")
	var parts []part
	switch {
	case strings.HasPrefix(head, filePrefix):
		l.Kind = KindFile
		parts = []part{{&l.Path, head[len(filePrefix):]}}
	case strings.HasPrefix(head, nodePrefix):
		node, path, _ := strings.Cut(head[len(nodePrefix):], ":")
		if node == "" {
			return l, fmt.Errorf("a file on a node is written node/NAME:PATH")
		}
		l.Kind = KindFile
		parts = []part{{&l.Node, node}, {&l.Path, path}}
	default:
		object, key, err := cutKey(head)
		if err != nil {
			return l, err
		}
		words := strings.Split(object, "/")
		switch len(words) {
		case 2:
			parts = []part{{&l.Name, words[1]}}
		case 3:
			parts = []part{{&l.Namespace, words[1]}, {&l.Name, words[2]}}
		default:
			return l, fmt.Errorf("an object is written KIND/NAME or KIND/NAMESPACE/NAME")
		}
		parts = append(parts, part{(*string)(&l.Kind), words[0]}, part{&l.Key, key})
	}
	for _, p := range append(parts, part{&l.Field, field}) {
		text, err := unescape(p.text)
		if err != nil {
			return l, err
		}
		*p.to = text
	}
	if l.Kind == "" {
		return l, fmt.Errorf("the kind is missing")
	}
	if l.Kind == KindFile && (l.Name != "" || l.Namespace != "" || l.Key != "") {
		return l, fmt.Errorf("a file is written file:PATH or node/NAME:PATH")
	}
	return l, nil
}

// part is a piece of a location's text and the field that it fills.
type part struct {
	to   *string
	text string
}

// cutKey splits KIND/NAME[KEY].
func cutKey(s string) (object, key string, err error) {
	object, key, ok := strings.Cut(s, "[")
	if !ok {
		return object, "", nil
	}
	if !strings.HasSuffix(key, "]") {
		return "", "", fmt.Errorf("a key is written in brackets, as in Secret/ns/name[tls.crt]")
	}
	return object, key[:len(key)-1], nil
}

// quotationMarks stand around foreign texts, as names are marked where they are read. Paths, keys and fields are not, and a
// mark in them would begin or close what it does not.
const quotationMarks = "“”"

// escape writes s with the bytes of special, '%', and everything that does not
// print written as %XX.
func escape(b *strings.Builder, s, special string) {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		plain := r != '%' && foreign.Prints(s[:n]) && !strings.ContainsRune(special, r)
		if r == utf8.RuneError && n == 1 {
			plain = false
		}
		if plain {
			b.WriteString(s[:n])
		} else {
			for i := range n {
				fmt.Fprintf(b, "%%%02X", s[i])
			}
		}
		s = s[n:]
	}
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		c, ok := hexByte(s[i+1:])
		if !ok {
			return "", fmt.Errorf("%% must be followed by two hex digits (a percent sign itself is %%25)")
		}
		out = append(out, c)
		i += 2
	}
	return string(out), nil
}

// hexByte reads the two hex digits at the start of s.
func hexByte[T string | []byte](s T) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	hi, ok1 := hexDigit(s[0])
	lo, ok2 := hexDigit(s[1])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// Compare orders locations for lists: by kind, node, namespace, name, key, path
// and field. It returns -1, 0 or +1; 0 means that the locations are equal.
func Compare(a, b Location) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Field, b.Field),
	)
}

// MarshalText writes String.
func (l Location) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads String.
func (l *Location) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLocation(string(text))
	return err
}
