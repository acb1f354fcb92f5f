package nodeexec

import (
	"slices"
	"strings"
)

// lastLines is how many lines at the end of an output are looked through first: why a login
// fails is said last, and what a banner says does not count beside it.
const lastLines = 3

// loginPhrases are the known messages in what a login said that failed, the last line first. Only
// these are kept: programs repeat their arguments where they complain, and a password may be
// anywhere in these, and in what the program makes of them.
func loginPhrases(outputs ...string) string {
	var last, before []string
	for _, said := range outputs {
		lines := strings.FieldsFunc(strings.ToLower(said), func(r rune) bool { return r == '\n' || r == '\r' })
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
		slices.Reverse(lines)
		at := min(lastLines, len(lines))
		last, before = append(last, lines[:at]...), append(before, lines[at:]...)
	}
	for _, lines := range [][]string{last, before} {
		var found []string
		for _, line := range lines {
			for _, phrase := range phrasesIn(line) {
				if !slices.Contains(found, phrase) {
					found = append(found, phrase)
				}
			}
		}
		if len(found) > 0 {
			return strings.Join(found, "; ")
		}
	}
	return ""
}

// phrasesIn are the known messages in a line in lower case, without those that are a part of another.
func phrasesIn(line string) []string {
	for _, banner := range []string{"unauthorized access", "unauthorized use"} {
		line = strings.ReplaceAll(line, banner, "")
	}
	var found []string
	for _, phrase := range knownPhrases() {
		if strings.Contains(line, strings.ToLower(phrase)) {
			found = append(found, phrase)
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(part string) bool {
		return slices.ContainsFunc(found, func(whole string) bool {
			return whole != part && strings.Contains(strings.ToLower(whole), strings.ToLower(part))
		})
	})
}

func knownPhrases() []string {
	return []string{
		// libc and shells
		"Could not resolve hostname", "Temporary failure in name resolution", "name or service not known", "Name does not resolve", "no such host",
		"Connection refused", "Connection timed out", "Operation timed out", "i/o timeout", "No route to host", "Network is unreachable", "Host is down", "Host is unreachable",
		"Connection reset by peer", "Connection closed", "command not found", "Unknown command", "not found", "No such file or directory",
		// OpenSSH
		"Permission denied", "Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED", "Too many authentication failures",
		"UNPROTECTED PRIVATE KEY FILE", "invalid format", "incorrect passphrase", "no matching host key type found", "no matching key exchange method found",
		"administratively prohibited", "Bad configuration option", "Bad owner or permissions", "error in libcrypto", "Authentication failed", "unable to authenticate",
		// sudo and logins
		"a terminal is required", "no tty present", "must have a tty", "a password is required", "is not in the sudoers file", "may not run sudo", "is not allowed to run sudo", "is not allowed to execute",
		"This account is not available", "This account is currently not available", "account has expired", "password has expired",
		// tsh, gcloud, aws, kubectl
		"not logged in", "access denied", "offline or does not exist", "certificate signed by unknown authority", "certificate has expired",
		"token expired", "expired token", "token has expired", "token is expired", "security token included in the request is expired", "unauthorized", "not authorized",
		"Reauthentication", "do not currently have an active account", "Required 'compute.", "Unable to locate credentials", "ExpiredToken", "TargetNotConnected",
		"SessionManagerPlugin is not found", "You must be logged in to the server", "is forbidden", "NotFound",
	}
}
