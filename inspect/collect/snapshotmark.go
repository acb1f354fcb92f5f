package collect

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
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
			case isSentence(v.Type().Field(i).Name):
				f.SetString(sentence(f.String()))
			}
		}
	}
}

func isSentence(field string) bool {
	return slices.Contains([]string{"Unauthenticated", "Synthetic", "What", "Where", "Reason", "Bad", "Problem", "Unread", "Refused", "Detail", "How", "Format", "Why", "Silent"}, field)
}

// sentence is a foreign.Text, but for what readings say all the time: word for word, with
// nothing in it but numbers and plain names.
func sentence(s string) string {
	if len(s) <= usualLength && usual().MatchString(s) {
		return s
	}
	return foreign.Text(s)
}

// usualLength is longer than any of them.
const usualLength = 500

var usual = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant, made when it is needed
	return regexp.MustCompile(`^(` + strings.Join([]string{
		`other secrets|hidden (secret|configmap)s|must-gather objects|logs of (TLS servers|machine-config-daemons)|objects (to compare with|that others refer to)|API server|clean up`,
		`context [-A-Za-z0-9_./:@]+|a token|a password`,
		`[0-9]+ files(; [0-9]+ via (local|exec|ssh|debug))*|not served by this cluster`,
		`--insecure-skip-tls-verify|insecure-skip-tls-verify in the kubeconfig|its URL is http://[-A-Za-z0-9.:\[\]]+, without TLS`,
		`cut off: it has no END line|not base64(: a character is missing or too many)?|holds no certificate`,
		`the CA in the file does not verify (what [-A-Za-z0-9.:]+ shows|the certificate that [-A-Za-z0-9.:]+ presents) for the name [-A-Za-z0-9.]+; nothing was sent`,
		`it heeds [A-Z][A-Za-z]+ (True|False|Unknown)(, [A-Z][A-Za-z]+ (True|False|Unknown))*|it (does not scale|scales) down|it names machines to the ClusterAutoscaler|it is at work on node [-a-z0-9.]+`,
		`no heartbeat (for [0-9]+[smhd] \(Lease\)|\(there is no Lease\)|\(the Lease was never renewed\))`,
		`made by test/demo for demonstration; no such cluster exists`,
	}, "|") + `)$`)
})
