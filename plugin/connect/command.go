package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// CommandFlags say by which command of the user's own nodes are reached.
type CommandFlags struct {
	Line string
}

func (f *CommandFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Line, "node-command", "", "Command that leads onto a node, such as 'tsh ssh root@{node} --': {node} is the node's name; sh is added as the last word. No local shell reads it.")
	ui.Must(cmd.RegisterFlagCompletionFunc("node-command", cobra.NoFileCompletions))
}

// words are the command, for these ways onto nodes.
func (f *CommandFlags) words(via string, local bool) ([]string, error) {
	example := "--node-command 'tsh ssh root@{node} --'; what the command has to do:\n" + cli.Page("nodes-access.md")
	switch {
	case f.Line == "" && via == nodeexec.ViaCommand:
		return nil, cli.WithHint(fmt.Errorf("--via %s needs --node-command, the command that leads onto a node", via), "%s", example)
	case f.Line == "":
		return nil, nil
	case local:
		return nil, fmt.Errorf("--local and --node-command exclude each other")
	case via != ViaAuto && via != nodeexec.ViaCommand:
		return nil, fmt.Errorf("--via %s and --node-command exclude each other: --via %s, or auto", via, nodeexec.ViaCommand)
	}
	words, err := nodeexec.ParseCommand(f.Line)
	if err == nil {
		err = findProgram(words[0])
	}
	if err != nil {
		return nil, cli.WithHint(fmt.Errorf("--node-command: %w", err), "%s", example)
	}
	return words, nil
}

// findProgram says why a command's first word is no program, and quotes it only where it is
// nothing else than the name of one: a password may be in it, as in NAME=VALUE or between
// forgotten quotes.
func findProgram(word string) error {
	_, err := exec.LookPath(word)
	if err == nil {
		return nil
	}
	var look *exec.Error
	if errors.As(err, &look) {
		err = look.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if !isProgramName(word) {
		return fmt.Errorf("its first word is no program that is found here: %w", err)
	}
	return fmt.Errorf("exec: %q: %w", word, err)
}

// isProgramName reports whether a word can be nothing else than a program's name.
func isProgramName(word string) bool {
	return len(word) <= 255 && strings.Trim(word, programSigns) == ""
}

// checkExec refuses a kubeconfig whose exec plugin client-go would quote as a whole, although it is
// no program: its arguments, and passwords among them, may stand in its command.
func checkExec(plugin *clientcmdapi.ExecConfig) error {
	if plugin == nil || isProgramName(plugin.Command) {
		return nil // client-go says it when it is not found
	}
	if _, err := exec.LookPath(plugin.Command); err == nil {
		return nil
	}
	return cli.WithHint(errors.New("kubeconfig: the command of the user's exec plugin is no program that is found here"), "its command is the program alone: arguments stand in args")
}

// programSigns are those of names and paths of programs.
const programSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/"
