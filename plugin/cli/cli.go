package cli

import (
	"errors"
	"flag"
	"io"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// Page is where a page of docs is read.
func Page(name string) string {
	return "https://github.com/kubectl-certrot/kubectl-certrot/blob/HEAD/docs/" + name
}

// LogTo has what Kubernetes' libraries log go to w as all other text does: servers'
// messages are in it. It is of the whole process, so main calls it, once.
func LogTo(w io.Writer) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	klog.SetOutput(ui.NewScreen(w))
	return nil
}

// App is what the program is and how it was called.
type App struct {
	Version     string
	ProgramName string // how usage lines name it, such as "kubectl certrot"
	Streams     genericiooptions.IOStreams
	// Now says by which time files are old; nil: this machine's clock.
	Now func() time.Time
	// Connection is how the cluster was named; nil: by nothing that was typed.
	Connection *Connection
}

// Hints are those of the cluster that was named.
func (a App) Hints() inspect.Hints { return inspect.LiveHints(a.ProgramName, a.Connection.Flags()...) }

// PrintError prints an error and its next step. What nodes, certificates and files say may
// be in the error: so none of its lines begins as the program's own do, but the first. What
// of that is in a next step is on one line (pki.Foreign).
func PrintError(streams genericiooptions.IOStreams, err error) {
	meant := ""
	if value := (*ui.ValueError)(nil); errors.As(err, &value) {
		meant = DidYouMean(value.Typed, value.Words)
	}
	ui.Printf(streams.ErrOut, "%s\n", barred("error: "+inspect.WithoutUserinfo(err.Error())+meant, ui.TerminalWidth(streams.ErrOut)))
	var h *HintError
	if errors.As(err, &h) {
		next := "  next: " + indented(ui.AsCalledOn(streams.ErrOut, inspect.WithoutUserinfo(h.Hint)))
		if !regexp.MustCompile(`: (kubectl|oc|certrot|sudo|ssh|curl|getent|systemctl) |\n`).MatchString(next) { // else it is to be copied
			next = strings.Join(wrapped(next, hintLead, ui.TerminalWidth(streams.ErrOut)), "\n")
		}
		ui.Printf(streams.ErrOut, "%s\n", next)
	}
}

// Warn prints an error that ends nothing, as report does: what a node or an API server says
// may be in it.
func Warn(streams genericiooptions.IOStreams, what string, err error) {
	ui.Printf(streams.ErrOut, "%s\n", barred("warning: "+inspect.WithoutUserinfo(what+err.Error()), ui.TerminalWidth(streams.ErrOut)))
}

// barred puts a bar before each further line, and breaks lines at the width of a terminal; 0: of none.
func barred(s string, width int) string {
	const bar = "  | "
	var lines []string
	for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i > 0 {
			line = bar + strings.TrimPrefix(line, "  ")
		}
		lines = append(lines, wrapped(line, bar, width)...)
	}
	return strings.Join(lines, "\n")
}

// wrapped breaks a line between words; before each further line stands the lead.
func wrapped(line, lead string, width int) (lines []string) {
	for width > 0 && utf8.RuneCountInString(line) > width {
		at := strings.LastIndexByte(string([]rune(line)[:width+1]), ' ')
		if at <= len(lead) {
			break
		}
		lines, line = append(lines, line[:at]), lead+line[at+1:]
	}
	return append(lines, line)
}

// hintLead stands before the further lines of a hint.
const hintLead = "        "

// indented puts each further line of a hint below its first one, so that no line of it
// begins as a line of its own does.
func indented(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = hintLead + strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// CalledAs is how the user calls the plugin: kubectl and oc start the same
// binary, and leave their own path in the variable _ that the shell set.
func CalledAs(argv0, underscore string) string {
	base := strings.TrimSuffix(filepath.Base(argv0), ".exe")
	caller, name, found := strings.Cut(base, "-")
	if !found || (caller != "kubectl" && caller != "oc") {
		return base
	}
	if filepath.Base(underscore) == "oc" {
		caller = "oc"
	}
	return caller + " " + strings.ReplaceAll(name, "_", "-")
}

// VersionOf returns the version that the linker was told, else what Go recorded
// when it built the module: a version, or a commit.
func VersionOf(linked string) string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
