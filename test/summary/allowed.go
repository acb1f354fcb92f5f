package main

import "strings"

// allowedSkips are the reasons for which a test may be skipped even where the
// whole lab has to run: what the machine can't be made to have by `make
// lab-prereq`. A reason matches by its beginning, so a test starts its reason
// with one of these and says the rest behind it.
var allowedSkips = []struct{ begins, why string }{
	{
		begins: "data file absent: ",
		why:    "captures of real clusters that may not be redistributed are fetched by hand, see docs/README.md",
	},
	{
		begins: "shellcheck is not installed",
		why:    "a second opinion on scripts that other tests run for real",
	},
	{
		begins: "keytool is not installed",
		why:    "a second opinion on keystores that other tests make by themselves",
	},
	{
		begins: "openssl is not installed",
		why:    "a second opinion on keystores and messages that other tests make by themselves",
	},
	{
		begins: "no name other than localhost leads to loopback here",
		why:    "what /etc/hosts says is the machine's; addresses of loopback are tested in any case",
	},
	{
		begins: "zsh is not installed",
		why:    "the shells that every Linux machine has are tested",
	},
	{
		begins: "ksh is not installed",
		why:    "the shells that every Linux machine has are tested",
	},
	{
		begins: "fish is not installed",
		why:    "the shells that every Linux machine has are tested",
	},
	{
		begins: "bash-completion is not installed",
		why:    "completion in zsh and fish is tested, and what the script of bash completes is",
	},
	{
		begins: "man is not installed",
		why:    "what pages say is tested without laying them out",
	},
	{
		begins: "dpkg is not installed",
		why:    "the same files are read from the rpm",
	},
	{
		begins: "busybox is not installed",
		why:    "the shim runs in an empty root with a busybox that needs no libraries; elsewhere it is run by the machine's shell",
	},
	{
		begins: "run by another test: ",
		why:    "the test binary starts itself on a node, or to be killed; alone there is nothing to test",
	},
	{
		begins: noTimeLeft,
		why:    "a CI machine with empty caches needs most of its time for what each run needs",
	},
	{
		begins: "not on this platform: ",
		why:    "says something about another operating system or processor",
	},
}

// noTimeLeft begins the reason for which a long step is skipped.
const noTimeLeft = "no time left for a long target: "

func allowed(reason string) bool {
	for _, a := range allowedSkips {
		if strings.HasPrefix(reason, a.begins) {
			return true
		}
	}
	return false
}
