package nodeexec

import "strings"

// Quote writes a command so that a POSIX shell reads back exactly these
// arguments, whatever bytes they hold, and so that a person can paste it. A NUL
// byte can't be in an argument, and Run and Stream refuse it.
func Quote(argv ...string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = quoteWord(a, i == 0)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(s string, first bool) string {
	if isPlain(s, first) {
		return s
	}
	// Nothing is special between single quotes but the quote itself.
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// isPlain is a positive list: a shell has more special characters than one
// remembers. As the first word, name=value would be an assignment, and a
// reserved word such as "if" would be syntax.
func isPlain(s string, first bool) bool {
	if s == "" || first && !strings.Contains(s, "/") && isReserved(s) {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '=' && !first && i > 0: // zsh expands =word
		case strings.IndexByte("_-./:,@+%", c) >= 0:
		default:
			return false
		}
	}
	return true
}

func isReserved(s string) bool {
	switch s {
	case "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
		"if", "in", "select", "then", "time", "until", "while":
		return true
	}
	return false
}
