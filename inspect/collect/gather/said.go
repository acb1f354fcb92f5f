package gather

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// maxNote bounds a note, in bytes: it is repeated at each path of its content. The program's have fewer.
const maxNote = 500

// said is what a node says of a file: bare where it is a sentence of the program's, else between
// quotation marks, since root on the node may send any other.
func said(text string) string {
	if isOwn(text) {
		return text
	}
	quoted := foreign.Quoted(cut(text, maxNote))
	if len(quoted) > 2*maxNote { // most of it are escapes
		quoted = foreign.Quoted(cut(text, maxNote/10))
	}
	return quoted
}

// cut leaves the first bytes of a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// numbers are those that the program puts into its sentences.
var numbers = regexp.MustCompile(`[0-9]{1,10}`)

// isOwn reports whether a text is a sentence of the program's.
func isOwn(text string) bool {
	if text == "" || len(text) > maxNote {
		return text == ""
	}
	if slices.Contains(ownSentences(), text) || slices.Contains(ownOmissions(), text) {
		return true
	}
	text = numbers.ReplaceAllString(text, "N")
	if reason, ok := strings.CutPrefix(text, "line N: "); ok {
		return slices.Contains(ownReasons(), reason)
	}
	return text == "has N bytes where its DER says N"
}

// ownSentences are those of gather.awk and node.awk in notes and of blocks.
func ownSentences() []string {
	return []string{
		"a kind of block that is not sent", "binary", "can not be opened or read", "DER that is not a certificate, or more than one",
		"does not start as DER does", "has a length that DER does not have", "has no END line", "is not base64", "is not the DER of a certificate",
		looksLike + " a Java keystore, which is not read", looksLike + " PKCS#12, which is not read",
		"more base64 than is decoded", "more than 200,000 lines", "more than 2000 blocks", "more than 2000 pieces of base64",
		"no room left in the output", "not text",
	}
}

// ownOmissions are those of gather.sh: why something of the node is missing, and why a file is.
func ownOmissions() []string {
	out := []string{
		"systemctl is not there", "chroot is not there", "systemctl gave no answer", "the kubelet's command line is not readable here",
		"/proc does not tell when the system was started", "not all were looked at: it took too long", "not each could be read",
		"could not be read: it changed all the time, or took too long", "vanished while it was read",
	}
	for _, aim := range []string{"tokens", "refused handshakes"} {
		for _, why := range []string{
			"it took too long before", "enough was read of other logs, or it took too long", "not readable", "there is no gzip", "there is no tail",
			"it changed, or took too long", "it took too long", "only its first part was read",
		} {
			out = append(out, "not searched for "+aim+": "+why)
		}
	}
	return out
}

// missing is what a node says of itself that it lacks.
func missing(what, why string) string {
	if !slices.Contains([]string{"units", "flags", "processes"}, what) {
		what = said(what)
	}
	return what + " of services: " + said(why)
}

// ownReasons are those of redact.awk, why a kubeconfig did not leave the node.
func ownReasons() []string {
	return []string{
		"a key where a value was expected", "a mask of another length", "a private key in an unusual place", "a quoted value over several lines",
		"a sign that fits nowhere", "a sign that is not read here", "a tab", "an anchor, a tag or a sign that is not read here", "control characters",
		"indentation that fits nowhere", "neither a key nor an item", "neither a kubeconfig nor a kubelet configuration", "text behind a value",
		"the text is cut off inside a value", "too long", "too long or too deep", "too many lines",
	}
}

// looksLike begins what is said of a file that may have certificates in it.
const looksLike = "looks like"
