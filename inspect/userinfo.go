package inspect

import (
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// WithoutUserinfo is text in which no URL has a user or a password; of ssh:// the user
// stays. Errors quote URLs, and what clusters say of themselves does.
func WithoutUserinfo(text string) string {
	text = withoutPort(text)
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "://")
		if !found {
			out.WriteString(text)
			return out.String()
		}
		scheme := before[len(strings.TrimRight(before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-")):]
		size := urlSize(strings.TrimSuffix(before, scheme), after)
		user, rest := userinfo(after[:size])
		if name, _, _ := strings.Cut(user, ":"); strings.HasSuffix(scheme, "ssh") && name != "" {
			rest = name + "@" + rest
		}
		out.WriteString(before + "://" + rest)
		text = after[size:]
	}
}

// urlSize is how long a URL in a text is, behind its scheme. Between quotation marks, blanks
// are of the URL too. So they are in a password, and where client-go quotes without marks.
func urlSize(before, after string) int {
	if strings.HasSuffix(before, `"`) {
		for i := 0; i < len(after); i++ {
			switch after[i] {
			case '\\':
				i++
			case '"':
				return i
			}
		}
		return len(after)
	}
	size := strings.IndexAny(after, " \t\r\n\"'`<>")
	if size < 0 {
		return len(after)
	}
	line, _, _ := strings.Cut(after, "\n")
	if next := strings.Index(line, "://"); next >= 0 {
		line = line[:next]
	}
	at := strings.LastIndex(line, "@") + 1
	user, password, begun := strings.Cut(after[:size], ":")
	begun = begun && !strings.ContainsAny(user, "/?#@[") && strings.Trim(password, "0123456789:/,;.)]") != "" && !strings.Contains(password, "@")
	if at > size && (begun || strings.HasSuffix(before, "could not parse: ")) {
		end := strings.IndexAny(line[at:], " \t\r\"'`<>")
		if end < 0 {
			return len(line)
		}
		return at + end
	}
	return size
}

// withoutPort is text without what net/url takes for a port: a password may be in it.
func withoutPort(text string) string {
	const begin, end = `invalid port "`, `" after host`
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, begin)
		i := strings.Index(after, end)
		if !found || i < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(before + "invalid port after host")
		text = after[i+len(end):]
	}
}

// ServerURL is the server of a kubeconfig without what may be secret in it: the user and
// the password, which stand before a host without a scheme as well, and what follows a "?".
func ServerURL(server string) string {
	scheme, rest, found := strings.Cut(server, "://")
	if !found {
		scheme, rest = "", server
		if at := strings.LastIndex(server, "@"); at >= 0 && strings.Contains(server[:at], "/") { // it is no URL, and may have a password
			rest = server[at+1:]
		}
	}
	_, rest = userinfo(rest)
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	if found {
		return scheme + "://" + rest
	}
	return rest
}

func isPort(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// WithoutTLS says that a URL is one of a server that is asked without TLS, so that another
// one may have answered; empty: it is not.
func WithoutTLS(server string) string {
	scheme, _, found := strings.Cut(strings.TrimSpace(server), "://")
	if !found || strings.EqualFold(scheme, "https") { // without a scheme, it depends on the kubeconfig
		return ""
	}
	return "its URL is " + foreign.Text(ServerURL(strings.TrimSpace(server))) + noTLS
}

const noTLS = ", without TLS"

// WithoutTLS says that an API server was asked without TLS; empty: none was. Of several
// snapshots, the server may be that of another one.
func (c Cluster) WithoutTLS() string {
	if strings.HasSuffix(strings.TrimSuffix(c.Unauthenticated, "”"), noTLS) {
		return c.Unauthenticated
	}
	return WithoutTLS(c.Server)
}

// userinfo splits a URL behind its scheme. A password with a "/" in it, which should be
// written otherwise, makes a host of it that is none: then all before the last "@" goes.
func userinfo(rest string) (user, after string) {
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	at := strings.LastIndex(host, "@")
	if at < 0 {
		if port := host[strings.LastIndex(host, "]")+1:]; strings.Contains(port, ":") && !isPort(port[strings.LastIndex(port, ":")+1:]) {
			at = strings.LastIndex(rest, "@")
		}
	}
	if at < 0 {
		return "", rest
	}
	return rest[:at], rest[at+1:]
}
