package apply

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
)

// CommandLine is how the command was called, with its flags by name but for some.
// What is secret is left out.
func CommandLine(cmd *cobra.Command, but ...string) string {
	return cmd.CommandPath() + flagsOf(cmd, func(flag *pflag.Flag) bool { return !slices.Contains(but, flag.Name) })
}

// ReadingFlags are the flags by which the command was told how to ask the cluster and which nodes to read, behind
// a blank, but for some; empty: none. Another command that reads them takes them, too. Which cluster it is, Hints say.
func ReadingFlags(cmd *cobra.Command, but ...string) string {
	return flagsOf(cmd, func(flag *pflag.Flag) bool {
		return !slices.Contains(but, flag.Name) && (cli.GroupOf(flag) == cli.NodeOptions || cmd.InheritedFlags().Lookup(flag.Name) != nil && !cli.Connects(flag))
	})
}

func flagsOf(cmd *cobra.Command, which func(*pflag.Flag) bool) string {
	var words []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !which(flag) {
			return
		}
		name := "--" + flag.Name
		values := []string{flag.Value.String()}
		if many, ok := flag.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
			if flag.Value.Type() == "stringSlice" {
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, value := range values {
			switch {
			case flag.Name == "token" || flag.Name == "password":
				words = append(words, name, "SECRET")
			case flag.Name == "node-command":
				words = append(words, name, connect.HiddenCommand)
			case flag.Name == "server" || flag.Name == "proxy-url":
				words = append(words, name, inspect.ServerURL(value))
			case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
				words = append(words, name)
			case flag.NoOptDefVal != "":
				words = append(words, name+"="+value)
			default:
				words = append(words, name, value)
			}
		}
	})
	if len(words) == 0 {
		return ""
	}
	return " " + nodeexec.Quote(words...)
}

// KeepFile writes a new file, and has it on the disk.
func KeepFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
