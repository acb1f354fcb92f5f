package inspect

import (
	"strings"
	"testing"
)

// TestAskReadyz: what is no address of a server is in no command.
func TestAskReadyz(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"api-int.example.com:6443": "curl -kv https://api-int.example.com:6443/readyz",
		"192.0.2.7:6443":           "curl -kv https://192.0.2.7:6443/readyz",
		"[2001:db8::7]:6443":       "curl -kv 'https://[2001:db8::7]:6443/readyz'",
		"[::1]:6443":               "curl -kv 'https://[::1]:6443/readyz'",
		"a;reboot:6443":            "", "a:6443;reboot": "", "[::1';reboot;']:6443": "", "[::1]:6443;reboot": "", "$(reboot):1": "", "“a;reboot”:1": "", "a b:1": "", "": "",
	} {
		switch got := AskReadyz(address); {
		case want != "" && got != want:
			t.Errorf("%s: %s", address, got)
		case want == "" && (strings.Contains(got, "curl") || !strings.HasPrefix(got, "no command is printed for the name ")):
			t.Errorf("%q: %s", address, got)
		}
	}
}
