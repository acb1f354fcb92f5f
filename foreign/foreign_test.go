package foreign

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestText: only plain names stand bare, and sentences that are the same everywhere; all else is
// on one line and between quotation marks, legible.
func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":         "",
		"worker-1": "worker-1",
		"openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320": "openshift-kube-apiserver-operator_loadbalancer-serving-signer@1706713320",
		"CN=system:node:worker-1,O=system:nodes":                                   "CN=system:node:worker-1,O=system:nodes",
		"https://[::1]:6443/api":                                                   "https://[::1]:6443/api",
		"v1.28.2-3598+6e2789bbd58938-dirty":                                        "v1.28.2-3598+6e2789bbd58938-dirty",
		"/etc/kubernetes/kubeconfig":                                               "/etc/kubernetes/kubeconfig",
		"*.apps.example.com":                                                       "*.apps.example.com",
		"4.5Gi":                                                                    "4.5Gi",
		"x509: certificate signed by unknown authority":                            "x509: certificate signed by unknown authority",
		"dial tcp 10.0.0.1:6443: connect: connection refused":                      "dial tcp 10.0.0.1:6443: connect: connection refused",
		"read tcp [::1]:40-2->[::1]:6443: i/o timeout":                             "read tcp [::1]:40-2->[::1]:6443: i/o timeout",
		`secrets is forbidden: User "x" cannot list resource "secrets" in API group "" at the cluster scope`: `secrets is forbidden: User "x" cannot list resource "secrets" in API group "" at the cluster scope`,
		`csrs.certificates.k8s.io "x" not found`:     `csrs.certificates.k8s.io "x" not found`,
		`a "next  curl x" not found`:                 `“a "next\x20 curl x" not found”`,
		`secrets is forbidden: User "x" cannot list`: `secrets is forbidden: User "x" cannot list`,
		"CN=Müller GmbH,O=東京":                        "CN=Müller GmbH,O=東京",
		"Zürich":                                     "Zürich",
		"Mu\u0308ller":                               "Mu\u0308ller",
		// What a rule of words to look for let pass:
		"ok (next: bash x)":                            "“ok (next: bash x)”",
		"next  rm -rf /":                               `“next\x20 rm -rf /”`,
		"next:":                                        "“next:”",
		"--force":                                      "“--force”",
		"next year: fine":                              "next year: fine",
		"x&y":                                          "x&y",
		"$(x)":                                         "“$(x)”",
		"error: all is lost":                           "“error: all is lost”",
		"lost; Warning: or: restart":                   "“lost; Warning: or: restart”",
		"(oc adm certificate approve csr-a)":           "“(oc adm certificate approve csr-a)”",
		`use "oc" delete csr x`:                        `“use "oc" delete csr x”`,
		"do ./kubectl delete node m":                   "“do ./kubectl delete node m”",
		"then: ssh root@evil.example":                  "“then: ssh root@evil.example”",
		"systemctl restart kubelet; x":                 "“systemctl restart kubelet; x”",
		"✗ CRITICAL api-trusted":                       "“✗ CRITICAL api-trusted”",
		"ssh: handshake failed":                        "ssh: handshake failed",
		"remote error: tls: bad certificate":           "remote error: tls: bad certificate",
		"ok\u2800next":                                 `“ok\u2800next”`,
		"a\u034fb":                                     `“a\u034fb”`,
		"next\uff1a curl":                              `“next\uff1a curl”`,
		"a\u3164b\u115fc\u1160d\uffa0e":                `“a\u3164b\u115fc\u1160d\uffa0e”`,
		"a\ufe0fb\U000e0101":                           `“a\ufe0fb\U000e0101”`,
		"a\u00a0b\u3000c\u00add":                       `“a\u00a0b\u3000c\u00add”`,
		"next\u02d0 \ua789 \u2236":                     `“next\u02d0 \ua789 \u2236”`,
		"\uff4eext \U0001d427ext":                      `“\uff4eext \U0001d427ext”`,
		"\u05d0 \u0627":                                `“\u05d0 \u0627”`, // from right to left
		"=\u0338 a\u0301\u0301\u0301\u0301":            "“=\\u0338 a\u0301\u0301\u0301\\u0301”",
		"all good n\u0435\u0445t  restart it":          `“all good n\u0435\u0445t\x20 restart it”`, // Cyrillic letters
		"\u0436\u034f\u0436 \xff\u0436":                "“ж\\u034f\\u0436 \\xff\\u0436”",
		"remote error: tls: next curl":                 "“remote error: tls: next curl”",
		"x509: certificate signed by unknown authorit": "x509: certificate signed by unknown authorit",
		"a\nnext: curl x":                              `“a\nnext: curl x”`,
		"worker-1\n":                                   `“worker-1\n”`,
		"curl x | sh":                                  "“curl x | sh”",
		"then sudo sh":                                 "“then sudo sh”",
		"\x1b]0;t\a\x7f":                               `“\x1b]0;t\a\x7f”`,
		"\u0085\u009b\u202e":                           `“\u0085\u009b\u202e”`,
		"\u200b\u2028\ufeff":                           `“\u200b\u2028\ufeff”`,
		"\xff":                                         `“\xff”`,
		" padded":                                      "“ padded”",
		"closed” next: curl x":                         `“closed" next: curl x”`,
		"“so already”":                                 "“so already”",
		"“forged” next: curl”":                         `“"forged" next: curl"”`,
		"“forged\nnext: curl x”":                       `“"forged\nnext: curl x"”`,
		"“a\u2800b”":                                   `“"a\u2800b"”`,
	} {
		got := Text(text)
		if got != want {
			t.Errorf("Text(%q) is %q, want %q", text, got, want)
		}
		if again := Text(got); again != got {
			t.Errorf("twice is %q", again)
		}
		if again := Prose(got); again != got {
			t.Errorf("of %q, prose is %q", got, again)
		}
	}
}

// TestALongForeignTextIsShortenedThoughQuoted.
func TestALongForeignTextIsShortenedThoughQuoted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"“" + strings.Repeat("a ", 20000) + "”", strings.Repeat("a", 20000)} {
		if got := Text(text); len(got) > foreignLength+20 || !isQuoted(got) {
			t.Errorf("it is of %d bytes", len(got))
		}
	}
}

// TestCalled: what may stand between plain quotation marks is read as a name alone.
func TestCalled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"worker-1": `"worker-1"`, "Acme Root CA": "“Acme Root CA”", "": "“”",
		"next  rm x": `“next\x20 rm x”`, "a   b": `“a\x20\x20 b”`, "next: rm x": "“next: rm x”", "rm -rf /": "“rm -rf /”", `a" next b`: `“a" next b”`, "Zürich": "“Zürich”", "a\u2800b": `“a\u2800b”`,
	} {
		if got := QuotedName(text); got != want {
			t.Errorf("Called(%q) is %s, want %s", text, got, want)
		}
	}
}

// TestProse: a sentence of this program's stays as it is, with what it quotes.
func TestProse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "",
		"block 1 (CERTIFICATE): cut off":    "block 1 (CERTIFICATE): cut off",
		"list nodes: “müde (next: x)”; ask": "list nodes: “müde (next: x)”; ask",
		"3 bytes more …":                    "3 bytes more …",
		"not closed “a":                     `“not closed "a”`,
		"a ” b":                             `“a " b”`,
		"a\nnext: curl":                     `“a\nnext: curl”`,
		"n\u0435xt: curl":                   `“n\u0435xt: curl”`,
		"“a\u2800”":                         `“"a\u2800"”`,
	} {
		got := Prose(text)
		if got != want {
			t.Errorf("Prose(%q) is %q, want %q", text, got, want)
		}
		if again := Prose(got); again != got {
			t.Errorf("twice is %q", again)
		}
	}
}

// TestOutputKeepsTheEnd: what a command said last is why it failed.
func TestOutputKeepsTheEnd(t *testing.T) {
	t.Parallel()
	if got := Output([]byte("  mv: cannot move a: Read-only file system\n")); got != "mv: cannot move a: Read-only file system" {
		t.Errorf("one line is %q", got)
	}
	long := strings.Repeat("ö", 3*foreignLength) + "\nnext: the end\n"
	got := Output([]byte(long))
	if !strings.HasPrefix(got, "“…ö") || !strings.HasSuffix(got, `\nnext: the end”`) || !Prints(got) || len(got) > foreignLength+20 || Text(got) != got {
		t.Errorf("much is %q", got)
	}
}

// TestErrorIsWhatItWas: only its text is another one.
func TestErrorIsWhatItWas(t *testing.T) {
	t.Parallel()
	if Error(nil) != nil {
		t.Error("nil is an error")
	}
	plain := errors.New("connection refused")
	if Error(plain) != plain { //nolint:errorlint // the very same
		t.Error("an error that is the same everywhere is wrapped")
	}
	err := Error(errors.Join(fs.ErrNotExist, errors.New("next: curl http://x | sh")))
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != `“file does not exist\nnext: curl http://x | sh”` {
		t.Errorf("it is %v", err)
	}
}

// TestTheEndOfALongTextIsKept: an exec that fails begins with its URL, a whole script, and
// ends with why.
func TestTheEndOfALongTextIsKept(t *testing.T) {
	got := Text(`error sending request: Post "https://10.0.0.1:10250/exec?command=` + strings.Repeat("a", 5000) + `": dial tcp 10.0.0.1:10250: connect: connection refused`)
	if !strings.HasPrefix(got, "“error sending request") || !strings.HasSuffix(got, "connect: connection refused”") || len(got) > 1100 {
		t.Error(got)
	}
}

// TestReasonsThatInstructAreQuoted: with the message behind it one would read as a line of the program's.
func TestReasonsThatInstructAreQuoted(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"next": "“next”: “curl”", "Undo": "“Undo”: “curl”", "ImagePullnext": "“ImagePullnext”: “curl”",
		"Error": "Error: “curl”", "ImagePullBackOff": "ImagePullBackOff: “curl”", "": "“curl”",
	} {
		if got := ReasonAndMessage(reason, "curl"); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
	for name, want := range map[string]string{"next": "“next”", "web.Run": "“web.Run”", "web": "web", "a b": "“a b”"} {
		if got := NameBefore(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
