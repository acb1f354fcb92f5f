package nodeexec_test

import (
	"strings"
	"testing"
)

// Programs repeat their arguments where they complain, and what they say reaches reports and files.
// Of a login that fails, no more is kept than messages that are known.
func TestWhatALoginSaysHasNothingOfItsWords(t *testing.T) {
	for word, said := range map[string]string{
		"ProxyCommand=false --proxy-auth me:geheim77 %h %p":    "/bin/bash: geheim77: bad",
		"ProxyCommand=nc --auth %r-geheim77":                   "root-geheim77",
		"sshpass -p geheim77 ssh root@{node}":                  "geheim77",
		"export PW=geheim77 x; PW=ge heim77; sshpass -pgehe77": "sh: 1: heim77: gehe77",
		"https://proxy.example/?token=geheim77&x=1":            "geheim77",
		"user=root,password=geheim77,mode=1":                   "geheim77",
		"Authorization: Bearer geheim77":                       "geheim77",
		"root:geh@eim@77@host":                                 "geh@eim@77",
		"--auth=a!geh#eim77$d":                                 "a!geh#eim77$d",
		"ZzEhZWltNzc=":                                         "g7!eim77",
	} {
		for _, to := range []string{">&2", ""} {
			by := program(t, "echo 'Permission denied: "+said+"' "+to+"; exit 3")
			by.Words = append(by.Words, word)
			_, err := by.Dial(t.Context(), "node-1")
			if err == nil || strings.Contains(err.Error(), "eim") || strings.Contains(err.Error(), "gehe") || !strings.HasSuffix(err.Error(), "COMMAND sh: Permission denied") {
				t.Errorf("%s: %v", word, err)
			}
		}
	}
}

// What is known of it is kept: the fact, and none of the words around it. What is said last counts
// for more than a banner.
func TestWhatIsKnownOfAFailedLoginIsKept(t *testing.T) {
	for said, want := range map[string]string{
		"sh: 1: geheim77: not found":                                                              "not found",
		"sh: geheim77: not found":                                                                 "not found",
		"/bin/bash: line 1: geheim77: command not found":                                          "command not found",
		"zsh:1: command not found: geheim77":                                                      "command not found",
		"fish: Unknown command: geheim77":                                                         "Unknown command",
		"sudo: no tty present and no askpass program specified":                                   "no tty present",
		"sudo: sorry, you must have a tty to run sudo":                                            "must have a tty",
		"sudo: a password is required":                                                            "a password is required",
		"geheim77 is not in the sudoers file.":                                                    "is not in the sudoers file",
		"Sorry, user geheim77 may not run sudo on geheim77.":                                      "may not run sudo",
		"ssh: connect to host geheim77 port 22: Host is down":                                     "Host is down",
		"ssh: connect to host geheim77 port 22: No route to host":                                 "No route to host",
		"ssh: Could not resolve hostname g: Name does not resolve":                                "Could not resolve hostname; Name does not resolve",
		"ERROR: geheim77: token expired":                                                          "token expired",
		"ERROR: expired token geheim77":                                                           "expired token",
		"error: the token has expired geheim77":                                                   "token has expired",
		"error: Unauthorized geheim77":                                                            "unauthorized",
		"ERROR: Authentication failed. geheim77":                                                  "Authentication failed",
		"ERROR: ssh: handshake failed: ssh: unable to authenticate, attempted methods [geheim77]": "unable to authenticate",
		"ERROR: user geheim77 is not authorized":                                                  "not authorized",
		"x509: certificate has expired or is not yet valid: geheim77":                             "certificate has expired",
		"Unauthorized access is prohibited, access denied\n\n\ngeheim\ngeheim\nHost is down\r":    "Host is down",
		"Unauthorized access is prohibited\nPermission denied (publickey)":                        "Permission denied",
		"access denied\nHost is down":                                                             "Host is down; access denied",
		"Permission denied\ngeheim\ngeheim\ngeheim":                                               "Permission denied",
		"geheim77": "",
	} {
		for _, to := range []string{">&2", ""} {
			_, err := program(t, "printf '"+said+"' "+to+"; exit 3").Dial(t.Context(), "node-1")
			if err == nil || strings.Contains(err.Error(), "geheim") || !strings.HasSuffix(strings.NewReplacer("“", "", "”", "").Replace(err.Error()), strings.TrimSuffix("COMMAND sh: "+want, ": ")) {
				t.Errorf("%q: %v\nwant %s", said, err, want)
			}
		}
	}
}
