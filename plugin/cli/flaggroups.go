package cli

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// flagGroup is the annotation of a flag that names its group in the help text.
const flagGroup = "certrot_group"

// NodeOptions is the group of flags that say which nodes, and how to get onto them.
const NodeOptions = "Options for nodes"

// NoCluster annotates commands that ask no cluster: global options mean nothing to them.
const NoCluster = "certrot_no_cluster"

// InGroup puts the flags that add adds into a group of the help text.
func InGroup(cmd *cobra.Command, group string, add func()) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] && len(f.Annotations[flagGroup]) == 0 {
			_ = cmd.Flags().SetAnnotation(f.Name, flagGroup, []string{group}) // the flag is there
		}
	})
}

// GroupOf is the group of a flag; empty: the command's own options.
func GroupOf(f *pflag.Flag) string {
	if groups := f.Annotations[flagGroup]; len(groups) > 0 {
		return groups[0]
	}
	return ""
}

// Connects reports whether a flag says which cluster is meant, and as which user: a next command has it, too. What is
// secret is none of them, nor is the namespace: each command names its own.
func Connects(f *pflag.Flag) bool {
	return slices.Contains([]string{
		"kubeconfig", "context", "cluster", "user", "server", "tls-server-name", "certificate-authority", "insecure-skip-tls-verify",
		"client-certificate", "client-key", "as", "as-uid", "as-group", // of the certificate and the key: their paths
	}, f.Name)
}

// Connection is how the cluster was named: by flags that were typed.
type Connection struct {
	Typed   *pflag.FlagSet                // of all commands
	command atomic.Pointer[cobra.Command] // nil: it did not begin
}

// Begin takes the command, which may read files.
func (c *Connection) Begin(cmd *cobra.Command) { c.command.Store(cmd) }

// option is a flag of the command's; nil: it has none of that name.
func (c *Connection) option(name string) *pflag.Flag {
	if cmd := c.command.Load(); cmd != nil {
		return cmd.Flags().Lookup(name)
	}
	return nil
}

// Flags are the flags with their values, as a shell reads them. Of one that reads files there are none: it means
// no cluster.
func (c *Connection) Flags() (words []string) {
	if c == nil {
		return nil
	}
	if from := c.option("from"); from != nil && from.Changed {
		return nil
	}
	c.Typed.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || !Connects(f) {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, value := range values {
			words = append(words, connectionFlag(f, value))
		}
	})
	return words
}

// PrintFlags prints, behind lines that call kubectl or oc, the flags that these lack: without them they would read or
// change another cluster. A document is followed by nothing: of one, the error stream says it.
func (c *Connection) PrintFlags(streams genericiooptions.IOStreams) {
	words := c.Flags()
	if len(words) == 0 {
		return
	}
	out, errs := ui.CallsClient(streams.Out), ui.CallsClient(streams.ErrOut)
	if output := c.option("output"); out && output != nil && output.Value.String() != "" && output.Value.String() != "wide" {
		out, errs = false, true
	}
	line := "Add to kubectl and oc: " + strings.Join(words, " ")
	if out {
		ui.Printf(streams.Out, "%s\n", line)
	}
	if errs {
		ui.Printf(streams.ErrOut, "%s\n", line)
	}
}

// connectionFlag is a flag with its value. Of a value that does not print, or would be read as the place of a
// program, its name stands there: such a command runs nowhere, rather than on another cluster.
func connectionFlag(f *pflag.Flag, value string) string {
	name := "--" + f.Name
	switch {
	case f.NoOptDefVal != "" && value == f.NoOptDefVal:
		return name
	case f.NoOptDefVal != "":
		return name + "=" + value
	case f.Name == "server":
		value = inspect.ServerURL(value)
	}
	if !foreign.Prints(value) || strings.ContainsAny(value, "“”") || strings.Contains(value, "{}") {
		return name + " " + strings.ToUpper(f.Name)
	}
	return nodeexec.Quote(name, value)
}
