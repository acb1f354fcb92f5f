package collect

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// markSentences marks what a snapshot's file says in whole sentences: any user may have
// written it, and so they are not this program's, as those of a reading are. Names are
// marked with all others (inspect.Snapshot.MarkForeign).
func markSentences(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			markSentences(v.Elem())
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer:
			for i := range v.Len() {
				markSentences(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			switch {
			case !v.Type().Field(i).IsExported(): // of times
			case f.Kind() != reflect.String:
				markSentences(f)
			case isSentence(v.Type().Field(i).Name) && v.Type() != reflect.TypeFor[fileRefused](): // its reason is compared
				f.SetString(sentence(v.Type().Field(i).Name, f.String()))
			}
		}
	}
}

func isSentence(field string) bool {
	return slices.Contains([]string{"Unauthenticated", "Synthetic", "What", "Where", "Reason", "Bad", "Problem", "Unread", "Refused", "Detail", "How", "Format", "Why", "Silent"}, field)
}

// sentence is a foreign.Text, but for what readings say all the time: word for word, with
// nothing in it but numbers and plain names.
func sentence(field, s string) string {
	marked := foreign.Text(s)
	if marked == s || field == "Where" && several().MatchString(s) {
		return s
	}
	own, quoted := foreign.CutQuoted(s) // pki.Says is last: its first answer takes 2 ms
	if quoted && introduces().MatchString(own) || len(s) <= usualLength && (usual().MatchString(s) || gather.Says(s) || pki.Says(s)) {
		return s
	}
	return marked
}

// usualLength is longer than any of them.
const usualLength = 500

// several are names of namespaces or nodes.
var several = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant, made when it is needed
	return regexp.MustCompile(`^[-a-z0-9.]+(, [-a-z0-9.]+)+$`)
})

// introduces is what stands before a text of others that is marked already.
var introduces = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant, made when it is needed
	return regexp.MustCompile(`^(list [a-z]+[-a-z0-9.]*|certificate( request)? can't be parsed): $`)
})

var usual = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant, made when it is needed
	return regexp.MustCompile(`^(` + strings.Join([]string{
		`other secrets|hidden (secret|configmap)s|must-gather objects|logs of (TLS servers|machine-config-daemons)|objects (to compare with|that others refer to)|API server|API [-a-z0-9.]+|clean up|rollout of CAs|control plane nodes`,
		`list [a-z]+[-a-z0-9.]*: forbidden in the whole cluster and in [0-9]+ of [0-9]+ namespaces`,
		`context [-A-Za-z0-9_./:@]*[-A-Za-z0-9_./@]|a token|a password`,
		`[0-9]+ files(; [0-9]+ via (local|exec|ssh|debug))*|not served by this cluster`,
		`--insecure-skip-tls-verify|insecure-skip-tls-verify in the kubeconfig|its URL is http://[-A-Za-z0-9.:\[\]]+, without TLS`,
		`cut off: it has no END line|not base64(: a character is missing or too many)?|holds no certificate`,
		`the CA in the file does not verify (what [-A-Za-z0-9.:]+ shows|the certificate that [-A-Za-z0-9.:]+ presents) for the name [-A-Za-z0-9.]+; nothing was sent`,
		`it heeds [A-Z][A-Za-z]+ (True|False|Unknown)(, [A-Z][A-Za-z]+ (True|False|Unknown))*|it (does not scale|scales) down|it names machines to the ClusterAutoscaler|it is at work on node [-a-z0-9.]+`,
		`no heartbeat (for [0-9]+[smhd] \(Lease\)|\(there is no Lease\)|\(the Lease was never renewed\))`,
		`made by test/demo for demonstration; no such cluster exists`,
		`of [-0-9]+ [0-9:]+ UTC, by its timestamp file|a must-gather holds none of their files: what kubelets and static pods use is not in it`,
		`a must-gather holds those of some namespaces \(here [0-9]+\), and of their values only certificates`,
		`[0-9]+ values? in [0-9]+ (Secret|ConfigMap)s?( and [0-9]+ (Secret|ConfigMap)s?)? of [0-9]+ namespaces? were left out of the must-gather or replaced by their length: whether keys belong to their certificates, and what else stood there, is unknown(; of [0-9]+ of them the certificate itself)?`,
	}, "|") + `)$`)
})
