package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

const (
	mostSuggestions = 4
	mostCompared    = 10_000
	longestTyped    = 100 // of a word that is compared; the names of this program are shorter
)

// DidYouMean is the end of an error about a word that is none of names: those that it may be a
// mistyped form of, else nothing. Names of a cluster's go through foreign first.
func DidYouMean(typed string, names []string) string {
	return oneOf(similar(typed, names))
}

// oneOf is the end of an error after which one of these is typed; none: nothing.
func oneOf(found []string) string {
	if len(found) == 0 {
		return ""
	}
	last := len(found) - 1
	if last == 0 {
		return "; did you mean " + found[0] + "?"
	}
	return "; did you mean " + strings.Join(found[:last], ", ") + " or " + found[last] + "?"
}

// similar are the names nearest to a word, by cobra's measure: by few letters that differ, or as
// its beginning; else those that share the most words between dashes with it.
func similar(typed string, names []string) []string {
	if typed == "" || len(typed) > longestTyped {
		return nil
	}
	most := max(1, min(3, (len(typed)+2)/3))
	if len(names) > mostCompared { // of a large cluster
		return nil
	}
	near := slices.DeleteFunc(slices.Clone(names), func(name string) bool { // others are not, whatever is in them
		return len(name) < len(typed)-most || len(name) > len(typed)+most && !strings.HasPrefix(strings.ToLower(name), strings.ToLower(typed))
	})
	for distance := 1; distance <= most; distance++ {
		list := cobra.Command{SuggestionsMinimumDistance: distance}
		for _, name := range near {
			if !strings.ContainsAny(name, " \t\n") { // cobra takes a name to its first blank
				list.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
			}
		}
		if found := list.SuggestionsFor(typed); len(found) > 0 {
			return first(found)
		}
	}
	return sharing(typed, names)
}

// sharing are the names that share the most words between dashes with a word; none, where more share
// them than are suggested: such words tell nothing.
func sharing(typed string, names []string) []string {
	most := 1
	var found []string
	for _, name := range names {
		n, long := shared(strings.ToLower(typed), strings.ToLower(name))
		if !long || n < most || slices.Contains(found, name) {
			continue
		}
		if n > most {
			most, found = n, nil
		}
		found = append(found, name)
	}
	if len(found) > mostSuggestions {
		return nil
	}
	return first(found)
}

// shared is how many words between dashes of what is typed are in a name; long: one of them is longer
// than "api" or "to".
func shared(typed, name string) (n int, long bool) {
	words := strings.Split(name, "-")
	for word := range strings.SplitSeq(typed, "-") {
		if tells := len(word) > 3; slices.Contains(words, word) || tells && strings.Contains(name, word) {
			n, long = n+1, long || tells
		}
	}
	return n, long
}

func first(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), mostSuggestions)]
}

// NoArgs refuses arguments; where there are commands below, one was meant.
func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasAvailableSubCommands():
		return WithHint(fmt.Errorf("%s takes no arguments, such as %q", cmd.Name(), args[0]), "%s --help", cmd.CommandPath())
	}
	of := ""
	if cmd.HasParent() {
		of = fmt.Sprintf(" for %q", cmd.CommandPath())
	}
	meant := cmp.Or(oneOf(elsewhere(cmd, args[0])), DidYouMean(args[0], SubCommands(cmd)))
	if meant == "" && cmd.Flags().Lookup("nodes") != nil && foreign.Fit(args[0]) {
		typed := &Connection{Typed: cmd.Root().PersistentFlags()}
		program := App{ProgramName: cmd.Root().CommandPath(), Connection: typed}.Hints()
		return WithHint(fmt.Errorf("unknown command %q%s", args[0], of), "%s\nif it is a node: %s", cmd.CommandPath()+" --help",
			program.Next("{} "+cmd.Name()+" --nodes %s --dry-run=client", args[0]))
	}
	return WithHint(fmt.Errorf("unknown command %q%s%s", args[0], of, meant), "%s --help", cmd.CommandPath())
}

// elsewhere are the commands below one that do what a command of this name does in other programs
// (SuggestFor), with those that are called so below another command.
func elsewhere(cmd *cobra.Command, name string) (out []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && slices.Contains(c.SuggestFor, strings.ToLower(name)) {
			out = append(out, c.Name())
		}
	}
	for _, c := range cmd.Commands() {
		for _, below := range c.Commands() {
			if c.IsAvailableCommand() && below.IsAvailableCommand() && below.Name() == strings.ToLower(name) {
				out = append(out, c.Name()+" "+below.Name())
			}
		}
	}
	return out
}

// UnknownCommand is the error for a command that is not there, whatever flags follow it; nil: it is
// there.
func UnknownCommand(root *cobra.Command, args []string) error {
	found, rest, err := root.Find(args)
	if err != nil || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || !found.HasAvailableSubCommands() {
		return err
	}
	return found.ValidateArgs(rest[:1])
}

// SubCommands are the names of the commands below one.
func SubCommands(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// NoFrom is the annotation of a command that takes no --from, as others do: it says why.
const NoFrom = "no-from"

// FlagError is the error for flags that can't be parsed. pflag suggests nothing.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if why := cmd.Annotations[NoFrom]; why != "" && unknown.GetSpecifiedName() == "from" {
			return WithHint(fmt.Errorf("%s does not take --from: %s", cmd.Name(), why), "%s --help", cmd.CommandPath())
		}
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, "--"+flag.Name)
			}
		})
		err = fmt.Errorf("%w%s", err, DidYouMean("--"+unknown.GetSpecifiedName(), names))
	}
	if unknown != nil && unknown.GetSpecifiedShortnames() != "" && unknown.GetSpecifiedName() == "f" && cmd.Flags().Lookup("from") != nil {
		err = fmt.Errorf("%w; did you mean --from?", err) // kubectl reads files with -f
	}
	return WithHint(err, "%s --help", cmd.CommandPath())
}
