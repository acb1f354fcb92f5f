package foreign

import (
	"fmt"
	"net/netip"
	"strings"
)

// Words are words of this program's own, or of its user, in a printed command: several, or
// none. They are not checked.
type Words string

// Spaces are names in a printed command that follow each other.
type Spaces []string

// Commas are names in a printed command that are one argument.
type Commas []string

// Command is a command to be printed for a person to run, with names of others' in it: a
// cluster's objects, nodes, files. Each string among the arguments has to be a Word. Where
// one is not, no command is printed: pasted, it would be another one. What is said in its
// place names it, and look, a command that lists such names; empty: there is none.
func Command(look, format string, args ...any) string {
	written := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Spaces:
			written[i] = strings.Join(a, " ")
		case Commas:
			written[i] = strings.Join(a, ",")
		default:
			written[i] = a
		}
		for _, name := range namesIn(a) {
			if !Word(name) {
				return odd(look, name)
			}
		}
	}
	return fmt.Sprintf(format, written...)
}

// Fit reports whether Command writes a command with these arguments.
func Fit(args ...any) bool {
	for _, a := range args {
		for _, name := range namesIn(a) {
			if !Word(name) {
				return false
			}
		}
	}
	return true
}

// namesIn are the names in one argument of a command.
func namesIn(arg any) []string {
	switch arg := arg.(type) {
	case string:
		return []string{arg}
	case Spaces:
		return arg
	case Commas:
		return arg
	}
	return nil
}

// Name is a name in a text: between quotation marks where it is no Word.
func Name(s string) string {
	if Word(s) {
		return s
	}
	return Quoted(s)
}

func odd(look, name string) string {
	text := "no command is printed for the name " + Quoted(name) + ": a shell could read it as more than a name"
	if look != "" {
		text += "; what has such a name: " + look
	}
	return text
}

// Word reports whether a name is one word of a command, to every shell, and no option. So is
// a path, and KIND/NAME. One with a comma is none: to an option that takes several it is two. Nor
// is one that ends in a colon, but for an address: bare in a text, “next:” would be this program's.
func Word(name string) bool {
	if a, err := netip.ParseAddr(name); err == nil && a.Zone() == "" {
		return true
	}
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '/':
		case i > 0 && strings.ContainsRune("._:@-", r):
		default:
			return false
		}
	}
	return name != "" && !strings.HasSuffix(name, ":")
}
