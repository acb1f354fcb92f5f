package nodeexec

import "strings"

// loginPhrases are the known messages in what a login said that failed. Only these are kept:
// programs repeat their arguments where they complain, and a password may be anywhere in
// these, and in what the program makes of them.
func loginPhrases(said string) string {
	said = strings.ToLower(said)
	var found []string
	for _, phrase := range knownPhrases() {
		if strings.Contains(said, strings.ToLower(phrase)) {
			found = append(found, phrase)
		}
	}
	return strings.Join(found, "; ")
}

func knownPhrases() []string {
	return []string{
		// libc and shells
		"Could not resolve hostname", "Temporary failure in name resolution", "no such host",
		"Connection refused", "Connection timed out", "Operation timed out", "i/o timeout", "No route to host", "Network is unreachable",
		"Connection reset by peer", "Connection closed", "command not found", "No such file or directory",
		// OpenSSH
		"Permission denied", "Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED", "Too many authentication failures",
		"UNPROTECTED PRIVATE KEY FILE", "invalid format", "incorrect passphrase", "no matching host key type found", "no matching key exchange method found",
		"administratively prohibited", "Bad configuration option", "Bad owner or permissions", "error in libcrypto",
		// sudo and logins
		"a terminal is required", "a password is required", "is not in the sudoers file", "This account is not available", "This account is currently not available",
		// tsh, gcloud, aws, kubectl
		"not logged in", "access denied", "offline or does not exist", "certificate signed by unknown authority", "certificate has expired",
		"Reauthentication", "do not currently have an active account", "Required 'compute.", "Unable to locate credentials", "ExpiredToken", "TargetNotConnected",
		"SessionManagerPlugin is not found", "You must be logged in to the server", "is forbidden", "NotFound",
	}
}
