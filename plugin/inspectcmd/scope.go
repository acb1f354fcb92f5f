package inspectcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// scopeFlags choose objects, as with kubectl get.
type scopeFlags struct {
	allNamespaces bool
	selector      string
	fieldSelector string
}

func (f *scopeFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", true, "Read all namespaces, whatever -n says; the default unless -n is given.")
	flags.StringVarP(&f.selector, "selector", "l", "", "Label selector of the objects to read, such as -l app=router.")
	flags.StringVar(&f.fieldSelector, "field-selector", "", "Field selector of the objects to read: metadata.name, metadata.namespace, and of secrets type, such as type=kubernetes.io/tls.")
	ui.Must(cmd.RegisterFlagCompletionFunc("field-selector", cobra.FixedCompletions([]string{"metadata.name=", "metadata.namespace=", "type="}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)))
}

// toScope reads KIND and NAME arguments as kubectl get does.
func (f *inspectFlags) toScope(args []string, allNamespacesTyped bool) (collect.Scope, error) {
	var s collect.Scope
	switch {
	case f.scope.allNamespaces && allNamespacesTyped: // it wins over -n, as with kubectl
	case f.config.Context.Namespace != "":
		s.Namespace = f.config.Context.Namespace
	case !f.scope.allNamespaces: // -A=false: the context's namespace, as kubectl get
		ns, _, err := f.config.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return s, connect.Unquoted(err)
		}
		s.Namespace = ns
	}
	if f.scope.selector != "" {
		sel, err := labels.Parse(f.scope.selector)
		if err != nil {
			return s, fmt.Errorf("-l %q: %w", f.scope.selector, err)
		}
		s.Selector = sel
	}
	if err := parseArgs(&s, args); err != nil {
		var kind unknownKindError
		if errors.As(err, &kind) {
			for _, arg := range args {
				if _, absent := os.Stat(arg); absent == nil {
					return s, cli.WithHint(kind.error, "a file is read with --from:\n%s inspect%s", f.app.ProgramName, connect.Reading{From: []string{arg}}.Hints().From())
				}
			}
			return s, kind.hinted(f.app.Hints().Next("{}"), s.Namespace, f.from)
		}
		return s, err
	}
	if named := len(args) > 0 && slices.ContainsFunc(s.Resources, func(r collect.Resource) bool { return r.Plural == "nodes" }); named && s.Selector != nil {
		return s, cli.WithHint(errors.New("-l chooses objects by their labels, and a node's are not read: it would choose none"), "%s", f.app.Hints().Next("name them: {} inspect nodes NAME...; on a live cluster, --node-selector chooses which are read"))
	}
	var err error
	if s.Fields, err = collect.ParseFields(f.scope.fieldSelector, s.Resources); err != nil {
		return s, fmt.Errorf("--field-selector %q: %w", f.scope.fieldSelector, err)
	}
	if s.Namespace != "" && len(s.Resources) == 0 { // one namespace: what is in it, not what is of the cluster
		s.Resources = slices.DeleteFunc(collect.Resources(), func(r collect.Resource) bool { return !r.Namespaced })
	}
	return s, nil
}

// typedFilter is what of a command line leaves something out of the answer.
func typedFilter(flags *pflag.FlagSet, args []string) string {
	words := slices.Clone(args)
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "namespace":
			if all := flags.Lookup("all-namespaces"); all == nil || !all.Changed || all.Value.String() != "true" { // that one wins
				words = append(words, "-n "+f.Value.String())
			}
		case "selector":
			words = append(words, "-"+f.Shorthand+" "+f.Value.String())
		case "expired", "ca-only":
			words = append(words, "--"+f.Name)
		case "field-selector", "expiring-within", "subject", "issuer", "owner":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		case "sha256":
			words = append(words, "--"+f.Name+"="+strings.Trim(f.Value.String(), "[]"))
		}
	})
	return strings.Join(words, " ")
}

// parseArgs reads KIND/NAME arguments, of any kinds, or kinds and then names, which are asked for
// of each of them.
func parseArgs(s *collect.Scope, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if strings.Contains(args[0], "/") {
		for _, a := range args {
			kind, name, ok := strings.Cut(a, "/")
			if !ok || name == "" || strings.Contains(name, "/") {
				return fmt.Errorf("argument %q is no KIND/NAME", a)
			}
			err := addKind(s, kind, name)
			if unknown := (unknownKindError{}); errors.As(err, &unknown) {
				unknown.object = name
				return unknown
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	names := args[1:]
	for _, n := range names {
		if n == "" || strings.Contains(n, "/") {
			return fmt.Errorf("argument %q is no name of an object", n)
		}
	}
	for _, word := range strings.Split(args[0], ",") {
		if err := addKind(s, word, names...); err != nil {
			return err
		}
	}
	return nil
}

// addKind adds the resources of a word to a scope, and the objects of these names.
func addKind(s *collect.Scope, word string, names ...string) error {
	found, err := collect.ParseResource(word)
	if err != nil {
		return unknownKindError{error: err, word: word}
	}
	for _, r := range found {
		if len(s.Resources) == 0 || !s.Wants(r) {
			s.Resources = append(s.Resources, r)
		}
	}
	for _, n := range names {
		s.Names = append(s.Names, collect.Named{Resources: found, Name: n})
	}
	return nil
}

// inScope chooses places as the scope says: for files, where nothing else has.
func inScope(s collect.Scope) func(pki.Location, *inspect.Object) bool {
	if len(s.Resources) == 0 && s.Namespace == "" && s.Selector == nil && s.Fields == nil {
		return nil
	}
	return s.Has
}

// unknownKindError is the error about a word that is no kind which is read.
type unknownKindError struct {
	error
	word   string
	object string // of KIND/NAME
}

// kindColumns is how wide the list of kinds is, below what leads an error's next step.
const kindColumns = 70

// hinted is the error with what was meant: certificates are in objects of the kinds that are read.
func (k unknownKindError) hinted(program, namespace string, from []string) error {
	of, files := "", ""
	if namespace != "" {
		of = " -n " + nodeexec.Quote(namespace)
	}
	for _, file := range from {
		files += " --from " + nodeexec.Quote(file)
	}
	of += files
	plural, group, _ := strings.Cut(strings.ToLower(k.word), ".")
	switch {
	case slices.Contains([]string{"certificate", "certificates", "cert", "certs"}, plural) && group != "":
		return cli.WithHint(k.error, "certificates that cert-manager issues are in Secrets:\n%s inspect secrets --all%s", program, of)
	case slices.Contains([]string{"certificate", "certificates", "cert", "certs"}, plural):
		return cli.WithHint(k.error, "every certificate, those of cert-manager too:\n%s inspect --all%s", program, of)
	case group != "":
		return cli.WithHint(fmt.Errorf("%w%s", k.error, cli.DidYouMean(k.word, connect.KindWords())), "a server is named with its port, as api-int.example.com:6443")
	}
	if k.object != "" && foreign.Fit(k.word, k.object) { // as screens print an object: NAMESPACE/NAME
		meant := cli.DidYouMean(k.word, connect.KindWords())
		if strings.Contains(k.word, "-") || meant == "" { // no kind has a dash
			meant = "; is it a Secret or a ConfigMap?"
		}
		return cli.WithHint(fmt.Errorf("%w%s", k.error, meant), "in namespace %s:\n%s%s\n%s%s", k.word,
			foreign.Command("", "%s inspect secret/%s -n %s", foreign.Words(program), k.object, k.word), files,
			foreign.Command("", "%s inspect configmap/%s -n %s", foreign.Words(program), k.object, k.word), files)
	}
	if meant := cli.DidYouMean(k.word, connect.KindWords()); meant != "" {
		return fmt.Errorf("%w%s", k.error, meant)
	}
	text, line := "", "it reads"
	for i, kind := range connect.KindWords() {
		if i > 0 {
			line += ","
		}
		if len(line)+1+len(kind) > kindColumns {
			text, line = text+line+"\n", kind
		} else {
			line += " " + kind
		}
	}
	text += line
	if k.object == "" && foreign.Fit(k.word) && strings.ContainsAny(k.word, "-0123456789") { // no kind has one
		text = "if it is a node:\n" + foreign.Command("", "%s inspect nodes %s", foreign.Words(program), k.word) + files + "\n" + text
	}
	return cli.WithHint(k.error, "%s", text)
}
