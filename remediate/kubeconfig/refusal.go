package kubeconfig

import (
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// Reason is the kind of a Refusal.
type Reason string

// Why there is no edit.
const (
	reasonTooLarge      Reason = "too large"       // the text, before or after the edit
	reasonNotText       Reason = "not text"        // not UTF-8, or with a byte order mark or control characters
	reasonNotYAML       Reason = "not YAML"        // nor JSON, or no mapping where there should be one
	reasonManyDocuments Reason = "many documents"  // client-go reads the first and ignores the others
	reasonIndirect      Reason = "indirect"        // anchors, aliases, merge keys, tags, keys that are no plain words
	reasonTwice         Reason = "twice"           // a key or a name is there twice
	reasonNoContext     Reason = "no context"      // none is current, or that one is not there
	reasonNoCluster     Reason = "no cluster"      // the context names none, or one that is not there
	reasonNoCA          Reason = "no CA"           // the system's trust store counts
	CAFile              Reason = "CA file"         // the CA is another file; Refusal.Path is its path
	reasonTwoCAs        Reason = "two CAs"         // data and a file: client-go refuses that
	reasonInsecure      Reason = "insecure"        // the server is not checked at all
	reasonMasked        Reason = "masked"          // what has to be known did not leave the node
	reasonSpelling      Reason = "spelling"        // the value is on several lines, or written with escapes
	reasonNotPEM        Reason = "not PEM"         // the value is not base64 of PEM certificates
	reasonUnread        Reason = "unread"          // client-go does not read the text, or not as YAML says
	reasonUnproven      Reason = "unproven"        // with the edit, something else would change
	reasonNotCA         Reason = "not certificate" // what is to be written is not PEM certificates and nothing else
)

// Refusal is the error of all functions of this package: why a kubeconfig is
// left alone. Its text is one sentence for people, with what to do; it may quote
// names from the kubeconfig, marked.
type Refusal struct {
	Reason Reason
	// Path is the file that the cluster trusts, as it is written there. It is
	// relative to the kubeconfig's directory where it does not start with "/",
	// and empty for all reasons but CAFile.
	Path string

	text string
}

func (r *Refusal) Error() string { return r.text }

func refuse(reason Reason, format string, args ...any) *Refusal {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = foreignText(text)
		}
	}
	return &Refusal{Reason: reason, text: fmt.Sprintf(format, args...)}
}

// foreignText is what stands in a kubeconfig, or what a parser says of it: root on the node writes it.
type foreignText string

// Format writes %q as foreign.QuotedName does, and all else as foreign.Text.
func (t foreignText) Format(f fmt.State, verb rune) {
	text, mark := string(t), foreign.Text
	if verb == 'q' {
		mark = foreign.QuotedName
	}
	if most, ok := f.Precision(); ok {
		text = fmt.Sprintf("%.*s", most, text)
	}
	_, _ = io.WriteString(f, mark(text)) // fmt keeps what goes there
}

// Brief cuts an error of a parser of kubeconfigs: client-go's quote whole lists, with
// the tokens and keys in them, those of YAML what they can't read, and both URLs with passwords.
func Brief(err error) string {
	text := inspect.WithoutUserinfo(err.Error())
	for _, quote := range []string{" 'proxy-url' \"", " in list:", " map key of type:", " map key:", " `"} {
		text, _, _ = strings.Cut(text, quote)
	}
	if before, _, ok := strings.Cut(text, " anchor '"); ok {
		text = before + " anchor"
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "yaml: "), "\n")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
